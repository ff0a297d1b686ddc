package traces

import (
	"slices"

	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// What events say of snapshots. The specification has parts of a snapshot, a trace has
// bytes: position and size are counts in both.

func nameOf(s spec.Snapshot) event.SnapshotID {
	return event.SnapshotID{End: int64(s.End), Epoch: int32(s.Epoch)}
}

// snapshotMessage compares what messages say of snapshots.
func (v *validator) snapshotMessage(c *comparison, at string, m *spec.Msg, e *event.Message) {
	sameAt(c, at, ".snapshot", nameOf(m.Snapshot), e.Snapshot)
	sameAt(c, at, ".position", m.Position, e.Position)
	if !v.untold(e) {
		sameAt(c, at, ".bytes", m.Bytes, e.Bytes)
	}
	sameAt(c, at, ".size", m.Size, e.Size)
}

// snapshotState compares what was observed of snapshots.
func snapshotState(c *comparison, r *spec.Replica, s *event.State) {
	if s.Has&event.HasLogStart != 0 {
		same(c, "state.logStart", int64(r.LogStart), s.LogStart)
	}
	if s.Has&event.HasSnapshot != 0 {
		same(c, "state.snapshot", nameOf(r.Snapshots.Latest()), s.Snapshot)
	}
	if s.Has&event.HasFetching != 0 {
		f := &r.Fetching
		same(c, "state.fetching", event.Fetching{Snapshot: nameOf(f.Snapshot), Position: f.Position}, s.Fetching)
	}
}

// snapshotArgs are the parameters of actions of snapshots, and the snapshot that the
// event should name.
func snapshotArgs(a spec.ActionID, base *spec.Replica, e *event.Event, sends []event.Message) (args spec.Args, name event.SnapshotID) {
	id := e.Args.Snapshot
	switch a {
	case spec.ActionTakeSnapshot:
		if e.Action == "" {
			id = snapshotSeen(e)
			name = e.Args.Snapshot
		} else if id.End > 0 && id.End <= int64(base.Log.End()) {
			name = event.SnapshotID{End: id.End, Epoch: int32(base.Log.At(spec.Offset(id.End) - 1).Epoch)}
		}
		args.Count = id.End
	case spec.ActionAdvanceLogStart:
		if e.Action == "" {
			id.End = e.State.LogStart
			name = e.Args.Snapshot
		} else {
			for _, held := range base.Snapshots.All() {
				if int64(held.End) == id.End {
					name = nameOf(held)
				}
			}
		}
		args.Count = id.End
	case spec.ActionInstallSnapshot:
		if e.Action != "" {
			name = nameOf(base.Fetching.Snapshot)
		}
	case spec.ActionHandleFetchSnapshotRequest:
		if len(sends) > 0 {
			args.Count, args.Size = sends[0].Bytes, sends[0].Size
		}
	}
	return args, name
}

// snapshotSeen is the snapshot that an event shows to be held.
func snapshotSeen(e *event.Event) event.SnapshotID {
	if e.Durable != nil && e.Durable.Snapshot.End > 0 {
		return e.Durable.Snapshot
	}
	return e.State.Snapshot
}

// abandoned applies an event to a replica that has forgotten what it received of a
// snapshot, which leaves no event, if this one shows that it did.
func (v *validator) abandoned(w *world, n int, base *spec.Replica, e *event.Event) {
	if e.State.Has&event.HasFetching == 0 || e.State.Fetching != (event.Fetching{}) {
		return
	}
	after := *base
	if !v.ctx.Take(spec.ActionAbandonSnapshot, &after, nil, spec.Args{}, &v.outbox) {
		return
	}
	step := hiddenStep{action: spec.ActionAbandonSnapshot, after: after}
	was := len(v.outcomes)
	v.attemptOne(w, n, &step.after, e, &comparison{})
	for i := was; i < len(v.outcomes); i++ {
		v.outcomes[i].hidden = append([]hiddenStep{step}, v.outcomes[i].hidden...)
	}
}

// interrupted are the steps that a process may have taken, on disk, when it was killed
// before it could record them, if a start shows that it did: a snapshot was taken or
// installed, the log start moved.
func (v *validator) interrupted(base *spec.Replica, e *event.Event) []hiddenStep {
	var steps []hiddenStep
	at := *base
	take := func(a spec.ActionID, args spec.Args) {
		next := at
		if v.ctx.Take(a, &next, nil, args, &v.outbox) {
			steps = append(steps, hiddenStep{action: a, after: next, reached: v.ctx.Reached})
			at = next
		}
	}
	if id := e.State.Snapshot; e.State.Has&event.HasSnapshot != 0 && id.End > int64(at.Snapshots.Latest().End) {
		if nameOf(at.Fetching.Snapshot) == id {
			take(spec.ActionInstallSnapshot, spec.Args{})
		} else {
			take(spec.ActionTakeSnapshot, spec.Args{Count: id.End})
		}
	}
	if e.State.Has&event.HasLogStart != 0 && e.State.LogStart > int64(at.LogStart) {
		take(spec.ActionAdvanceLogStart, spec.Args{Count: e.State.LogStart})
	}
	return slices.Clip(steps)
}

// sizeOf names the snapshot whose size a process said.
type sizeOf struct {
	node int
	inc  int32
	name event.SnapshotID
}

// sameSize holds the size that an answer gives against what the process said before.
func (v *validator) sameSize(c *comparison, w *world, n int, e *event.Event, m *event.Message) {
	if size, said := w.sizes[sizeOf{n, e.Inc, m.Snapshot}]; said && size != m.Size {
		same(c, "send.size", size, m.Size)
	}
}
