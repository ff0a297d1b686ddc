package defects

func activation(old, new string) Edit { return Edit{"impl/controller/activation.go", old, new} }
func control(old, new string) Edit    { return Edit{"impl/controller/controller.go", old, new} }

// bootstraps are defects of how a cluster begins (KIP-1170) and of how a node learns to
// which cluster it belongs (KIP-1262). Simulated controllers over an abstract log find them.
var bootstraps = []Defect{
	// Activation.
	{Name: "bootstrap-again", Bootstrap: true, Wrong: "every new leader writes the bootstrap", Edits: []Edit{
		activation("\tif version > 0 {\n", "\tif version > 0 && open {\n"),
	}},
	{Name: "bootstrap-beside-part", Bootstrap: true, Wrong: "a leader writes the bootstrap without aborting the part that one before left", Edits: []Edit{
		activation("\tif open {\n\t\trecords = append(records, metadata.AppendAbortTransaction(nil, failover))\n\t}\n", ""),
	}},
	{Name: "bootstrap-open", Bootstrap: true, Wrong: "the transaction of the bootstrap is not ended", Edits: []Edit{
		activation("return append(records, metadata.AppendEndTransaction(nil)), nil", "return records, nil"),
	}},
	{Name: "bootstrap-no-transaction", Bootstrap: true, Wrong: "a bootstrap of several batches is no transaction", Edits: []Edit{
		activation("\tif b.version < metadata.TransactionVersion {\n\t\tif open {", "\tif b.version < 1000 {\n\t\tif open {"),
		activation("if n := len(chunksOf(b.records, maxBatchRecords)); n > 1 {", "if n := len(chunksOf(b.records, maxBatchRecords)); n > 1<<20 {"),
	}},
	{Name: "bootstrap-legacy-first", Bootstrap: true, Wrong: "bootstrap.checkpoint comes before the zero checkpoint", Edits: []Edit{
		{"impl/controller/bootstrap.go", "\tif c.zero != nil {\n\t\treturn *c.zero, nil\n", "\tif c.zero != nil && c.cfg.Legacy.Name == \"\" {\n\t\treturn *c.zero, nil\n"},
	}},
	{Name: "bootstrap-loaded", Bootstrap: true, Wrong: "what the zero checkpoint holds counts as committed", Edits: []Edit{
		{"impl/controller/bootstrap.go", "\tc.zero = &b\n", "\tc.zero = &b\n\tfor _, r := range records {\n\t\tif err := c.state.replay(r); err != nil {\n\t\t\treturn err\n\t\t}\n\t}\n"},
	}},
	{Name: "active-early", Bootstrap: true, Wrong: "a leader is active before its bootstrap is committed", Edits: []Edit{
		activation("\tif err == nil && len(records) == 0 {\n\t\tt.active = true\n\t\tclose(t.activated)\n\t\treturn\n\t}\n",
			"\tt.active = err == nil\n\tclose(t.activated)\n\tif err == nil && len(records) == 0 {\n\t\treturn\n\t}\n"),
		activation("\t\tdefer close(t.activated)\n", ""),
	}},

	// Adoption of the cluster id.
	{Name: "id-of-open-transaction", Bootstrap: true, Wrong: "a cluster id counts before its transaction ends", Edits: []Edit{
		{"impl/controller/state.go", "\tif s.transaction != nil {\n\t\ts.transaction = append(s.transaction, slices.Clone(b))\n\t\treturn nil\n",
			"\tif s.transaction != nil {\n\t\tif r.ClusterID != \"\" {\n\t\t\ts.cluster = r.ClusterID\n\t\t}\n\t\ts.transaction = append(s.transaction, slices.Clone(b))\n\t\treturn nil\n"},
	}},
	{Name: "id-not-stored", Bootstrap: true, Wrong: "a node uses the cluster id that it learned and does not store it", Edits: []Edit{
		control("\tif c.cfg.Learn != nil {\n", "\tif c.cfg.Learn != nil && committed == \"\" {\n"),
	}},
	{Name: "id-of-others", Bootstrap: true, Wrong: "a node of another cluster goes on with the log", Edits: []Edit{
		control("\tcase committed == \"\" || committed == own:\n", "\tcase committed == \"\" || own != \"\":\n"),
	}},
	{Name: "id-half-stored", Bootstrap: true, Wrong: "a node goes on when the directory of its log could not be given the cluster id", Edits: []Edit{
		{"impl/metaprops/adopt.go", "\t\t\treturn fmt.Errorf(\"metadata directory %s: %w\", d.Path, err)\n", "\t\t\t_ = fmt.Errorf\n"},
	}},
	{Name: "id-unflushed", Bootstrap: true, Wrong: "the file with the cluster id is written and not flushed", Edits: []Edit{
		{"impl/metaprops/metaprops.go", "fs.WriteFile(fsys, path.Join(dir, FileName), content)",
			"func() error {\n\t\tf, err := fsys.Create(path.Join(dir, FileName))\n\t\tif err == nil {\n\t\t\t_, err = f.WriteAt(content, 0)\n\t\t}\n\t\treturn err\n\t}()"},
	}},
}
