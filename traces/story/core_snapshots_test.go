package story_test

import (
	"fmt"
	"slices"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/story"
)

// snapshotDisk is what the disk of a machine holds of snapshots. A part is a byte.
type snapshotDisk struct {
	held     []core.Snapshot
	start    spec.Offset
	received spec.Log // what the snapshot holds that is being received
	verify   *core.Op // asked for and not answered
}

func specSnapshot(id core.SnapshotID) spec.Snapshot {
	return spec.Snapshot{End: spec.Offset(id.End), Epoch: spec.Epoch(id.Epoch)}
}

func (m *machine) snapshots() story.Snapshots {
	st := m.core.State()
	return story.Snapshots{
		LogStart: spec.Offset(st.LogStart), Latest: specSnapshot(st.Snapshot), Fetching: specSnapshot(st.Fetching), Position: st.Position,
	}
}

// carryOutSnapshot does what the replica asked for, if it is about snapshots.
func (m *machine) carryOutSnapshot(op *core.Op) {
	d := &m.disks
	switch op.Kind {
	case core.OpReceiveSnapshot:
		d.received = m.incoming.records
	case core.OpVerifySnapshot:
		v := *op
		d.verify = &v
	case core.OpAbandonSnapshot:
		d.verify = nil
	case core.OpInstallSnapshot:
		d.held = []core.Snapshot{{ID: op.SnapshotID, Size: story.SnapshotParts}}
		d.start = spec.Offset(op.SnapshotID.End)
		m.log, m.disk = d.received, d.received
	case core.OpAdvanceLogStart:
		d.start = spec.Offset(op.SnapshotID.End)
		d.held = slices.DeleteFunc(d.held, func(s core.Snapshot) bool { return s.ID.End < op.SnapshotID.End })
	}
}

// Snapshot implements story.Cast.
func (s *coreCast) Snapshot(id spec.ID, end spec.Offset) error {
	m := s.at(id)
	name := core.SnapshotID{End: core.Offset(end)}
	if end > 0 && end <= m.log.End() {
		name.Epoch = core.Epoch(m.log.At(end - 1).Epoch)
	}
	if err := m.core.MayTakeSnapshot(name); err != nil {
		return fmt.Errorf("%s may not take a snapshot that ends at %d", id, end)
	}
	m.disks.held = append(m.disks.held, core.Snapshot{ID: name, Size: story.SnapshotParts})
	s.step(m, core.Input{Kind: core.InputSnapshotTaken, SnapshotID: name, Size: story.SnapshotParts})
	s.calm()
	return nil
}

// AdvanceLogStart implements story.Cast.
func (s *coreCast) AdvanceLogStart(id spec.ID, to spec.Offset) error {
	m := s.at(id)
	for _, held := range m.disks.held {
		if held.ID.End == core.Offset(to) && to > m.disks.start {
			s.step(m, core.Input{Kind: core.InputAdvanceLogStart, SnapshotID: held.ID})
			s.calm()
			return nil
		}
	}
	return fmt.Errorf("%s holds no snapshot that ends at %d, or its log starts there", id, to)
}

// Verified implements story.Cast.
func (s *coreCast) Verified(id spec.ID, good bool) error {
	m := s.at(id)
	v := m.disks.verify
	if v == nil {
		return fmt.Errorf("%s verifies no snapshot", id)
	}
	m.disks.verify = nil
	in := core.Input{Kind: core.InputSnapshotVerified, SnapshotID: v.SnapshotID, Transfer: v.Transfer}
	if !good {
		in.Error = core.InvalidRequest
	}
	s.step(m, in)
	s.calm()
	return nil
}
