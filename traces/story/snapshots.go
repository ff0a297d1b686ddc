package story

import (
	"fmt"

	"github.com/quorate/quorate/spec"
)

// SnapshotParts is in how many parts snapshots are transferred, one after the other.
const SnapshotParts = 2

// Snapshots is what is shown of the snapshots of a replica, if there is anything.
type Snapshots struct {
	LogStart spec.Offset
	Latest   spec.Snapshot
	// Fetching is the snapshot that is being received, Position how much is there.
	Fetching spec.Snapshot
	Position int64
}

func (s Snapshots) text() string {
	text := ""
	if s.LogStart > 0 {
		text += fmt.Sprintf(" log start %d", s.LogStart)
	}
	if s.Latest.End > 0 {
		text += " snapshot " + s.Latest.String()
	}
	if s.Fetching.End > 0 {
		text += fmt.Sprintf(" fetching %s, has %d of %d parts", s.Fetching, s.Position, SnapshotParts)
	}
	return text
}

func (s *specCast) snapshots(r *spec.Replica) Snapshots {
	return Snapshots{
		LogStart: r.LogStart, Latest: r.Snapshots.Latest(), Fetching: r.Fetching.Snapshot, Position: r.Fetching.Position,
	}
}

// Snapshot implements Cast.
func (s *specCast) Snapshot(id spec.ID, end spec.Offset) error {
	if !s.take(spec.ActionTakeSnapshot, id, nil, spec.Args{Count: int64(end)}) {
		return fmt.Errorf("%s may not take a snapshot that ends at %d", id, end)
	}
	s.calm()
	return nil
}

// AdvanceLogStart implements Cast.
func (s *specCast) AdvanceLogStart(id spec.ID, to spec.Offset) error {
	if !s.take(spec.ActionAdvanceLogStart, id, nil, spec.Args{Count: int64(to)}) {
		return fmt.Errorf("%s holds no snapshot that ends at %d, or its log starts there", id, to)
	}
	s.calm()
	return nil
}

// Verified implements Cast.
func (s *specCast) Verified(id spec.ID, good bool) error {
	a := spec.ActionInstallSnapshot
	if !good {
		a = spec.ActionAbandonSnapshot
	}
	if s.at(id).Fetching.Position != SnapshotParts || !s.take(a, id, nil, spec.Args{}) {
		return fmt.Errorf("%s verifies no snapshot", id)
	}
	s.calm()
	return nil
}

// handleFetchSnapshot answers with the next part.
func (s *specCast) handleFetchSnapshot(id spec.ID, m spec.Msg) {
	if !s.take(spec.ActionHandleFetchSnapshotRequest, id, &m, spec.Args{Count: 1, Size: SnapshotParts}) {
		s.take(spec.ActionHandleFetchSnapshotRequest, id, &m, spec.Args{Size: SnapshotParts})
	}
}
