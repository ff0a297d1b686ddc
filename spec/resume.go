package spec

// Histories that are taken up in their middle, from what replicas are by then: traces may
// begin so. The checker never does.

// Hold gives a replica a snapshot that it holds.
func (r *Replica) Hold(name Snapshot) { r.Snapshots.add(name) }

// ReadVoters brings the voter set in force that the log of a replica has.
func (c *Ctx) ReadVoters(r *Replica) { c.takeVoters(r, Started) }

// EpochBefore is the epoch of the record before an offset, 0 if the log has none there.
func (r *Replica) EpochBefore(o Offset) Epoch { return r.epochBefore(o) }

// NoteStarts notes where the epochs in the log of a replica begin, and the one that it
// leads, as far as that is not known yet.
func (g *Ghost) NoteStarts(r *Replica) {
	at, previous := Offset(0), Epoch(0)
	for _, run := range r.Log.Runs() {
		if run.Epoch != previous {
			g.noteStart(EpochStart{Offset: at, Epoch: run.Epoch, Previous: previous, Leader: run.Origin})
		}
		at, previous = at+Offset(run.Count), run.Epoch
	}
	if r.Role == Leader {
		g.noteStart(EpochStart{Offset: r.EpochStart, Epoch: r.Election.Epoch, Previous: r.epochBefore(r.EpochStart), Leader: r.ID})
	}
}

func (g *Ghost) noteStart(e EpochStart) {
	for _, s := range g.Starts.all() {
		if s.Epoch == e.Epoch {
			return
		}
	}
	g.Starts.add(e)
}

// Resume begins a history with replicas at a consistent cut. What any of them knows to be
// committed was exposed by then: in the latest epoch of any at the latest, so that no
// leader is held to what may have come after it. What was chosen shows from here on.
func (g *Ghost) Resume(replicas []*Replica) {
	latest, exposed := Epoch(0), Offset(0)
	for _, r := range replicas {
		g.NoteStarts(r)
		latest = max(latest, r.Election.Epoch)
		if r.Reading {
			g.ReadFloor[r.ID.index()] = r.ReadOffset
		}
		if end := min(max(r.HighWatermark, r.LogStart, r.Snapshots.Latest().End), r.Log.End()); end > exposed {
			exposed, g.Exposed = end, r.Log.Slice(0, end)
		}
	}
	g.ExposedIn.TruncateTo(0)
	g.ExposedIn.Append(Run{Count: int64(exposed), Epoch: latest})
}
