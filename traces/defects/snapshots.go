package defects

func driver(old, new string) Edit { return Edit{"impl/driver/snapshots.go", old, new} }

// further are defects mostly of how snapshots are taken, named, transferred and installed,
// and of how a log forgets its beginning: in the core, and in what carries it out.
var further = []Defect{
	// Advance of the log start.
	{Name: "start-keeps-snapshots", Wrong: "a log that starts later still names the snapshots before its start", Edits: []Edit{
		in("snapshots.go", "\tfor len(l.snapshots) > 0 && l.snapshots[0].ID.End < id.End {\n\t\tl.snapshots = l.snapshots[1:]\n\t}\n", ""),
	}},
	{Name: "start-serves-below", Wrong: "a leader takes a fetch below its log start for one that it can serve", Edits: []Edit{
		in("snapshots.go", "return offset == 0 || offset < l.start || offset == l.start && epoch != first.Epoch || epoch < first.Epoch",
			"return offset == 0 || offset == l.start && epoch != first.Epoch || epoch < first.Epoch"),
	}},
	{Name: "start-uncommitted", Wrong: "a log may start at a snapshot that is not held", Edits: []Edit{
		in("snapshots.go", "\tif !l.holds(id) || id.End <= l.start {\n\t\treturn\n\t}\n\tr.assert(id.End <= r.hwFloor, \"the log start passes the high watermark\")\n\tr.assert(id.End <= l.flushed, \"the log start passes what is flushed\")\n",
			"\tif id.End <= l.start {\n\t\treturn\n\t}\n\tif id.End+1 <= l.flushed {\n\t\tid.End++\n\t}\n"),
	}},
	{Name: "start-deletes-first", Wrong: "snapshots before the new log start are deleted before it is stored", Edits: []Edit{
		driver("\tif err := d.log.AdvanceStart(id.End, id.Epoch); err != nil {\n\t\treturn err\n\t}\n\tif err := d.deleteBefore(id); err != nil {\n\t\treturn err\n\t}\n",
			"\tif err := d.deleteBefore(id); err != nil {\n\t\treturn err\n\t}\n\tif err := d.log.AdvanceStart(id.End, id.Epoch); err != nil {\n\t\treturn err\n\t}\n"),
	}},

	// Transfer.
	{Name: "transfer-other-name", Wrong: "a follower asks for a snapshot under the epoch that it is in", Edits: []Edit{
		in("snapshot_follower.go", "*s = receiving{id: id, epoch: r.epoch, transfer: s.transfer + 1}",
			"*s = receiving{id: SnapshotID{End: id.End, Epoch: r.epoch}, epoch: r.epoch, transfer: s.transfer + 1}"),
	}},
	{Name: "transfer-size", Wrong: "a transfer ends one chunk early", Edits: []Edit{
		in("snapshot_follower.go", "\t\tif s.position == s.size {\n", "\t\tif s.position+length >= s.size {\n"),
	}},
	{Name: "transfer-unverified", Wrong: "a snapshot is installed whatever its verification said", Edits: []Edit{
		in("snapshot_follower.go", "\tif in.Error != None || r.role != Follower {\n", "\tif r.role != Follower {\n"),
	}},

	// Install.
	{Name: "install-keeps-epochs", Wrong: "a log that a snapshot replaced remembers its old epochs", Edits: []Edit{
		in("snapshots.go", "\tl.epochs = l.epochs[:0]\n\tl.snapshots = append(l.snapshots[:0], s)\n", "\tl.snapshots = append(l.snapshots[:0], s)\n"),
	}},
	{Name: "install-log-first", Wrong: "the log is emptied before the snapshot that replaces it has its name", Edits: []Edit{
		driver("\tif err := s.part.Freeze(); err != nil {\n\t\treturn err\n\t}\n\ts.part = nil\n\tif err := d.reset(id); err != nil {\n\t\treturn err\n\t}\n",
			"\tif err := d.log.ResetTo(id.End, id.Epoch, log.StartDigest(id.End, id.Epoch)); err != nil {\n\t\treturn err\n\t}\n"+
				"\tif err := s.part.Freeze(); err != nil {\n\t\treturn err\n\t}\n\ts.part = nil\n\tif err := d.reset(id); err != nil {\n\t\treturn err\n\t}\n"),
	}},
	{Name: "install-half", Wrong: "a start does not finish an install that a crash cut short", Edits: []Edit{
		driver("if n := len(ids); n > 0 && !contains(d.log, ids[n-1]) {", "if n := len(ids); n > 1<<30 && !contains(d.log, ids[n-1]) {"),
	}},

	// Take.
	{Name: "snapshot-name-early", Wrong: "a snapshot has its name before its content is flushed", Edits: []Edit{
		{"impl/snapshot/part.go", "\tif p.err = p.file.Sync(); p.err != nil {\n\t\tp.err = fmt.Errorf(\"flush %s: %w\", p.name, p.err)\n\t\treturn p.err\n\t}\n\tif p.err = p.fsys.Rename(p.name, to); p.err != nil {\n\t\tp.err = fmt.Errorf(\"rename %s: %w\", p.name, p.err)\n\t\treturn p.err\n\t}\n\tp.gone = true\n",
			"\tif p.err = p.fsys.Rename(p.name, to); p.err != nil {\n\t\tp.err = fmt.Errorf(\"rename %s: %w\", p.name, p.err)\n\t\treturn p.err\n\t}\n\tp.gone = true\n\tif p.err = p.fsys.SyncDir(p.dir); p.err != nil {\n\t\treturn p.err\n\t}\n\tif p.err = p.file.Sync(); p.err != nil {\n\t\tp.err = fmt.Errorf(\"flush %s: %w\", p.name, p.err)\n\t\treturn p.err\n\t}\n"},
	}},

	// Flush.
	{Name: "flush-covers-all", Wrong: "a flush counts for what was appended after it began", Edits: []Edit{
		in("commit.go", "\tl.flushed = max(l.flushed, in.End)\n", "\tl.flushed = l.end\n"),
	}},

	// Elections.
	{Name: "pre-vote-of-follower", Wrong: "a follower whose leader lives grants a pre-vote", Edits: []Edit{
		in("quorum.go", "return q.preVote && q.upToDate && !q.fetched", "return q.preVote && q.upToDate"),
	}},
}
