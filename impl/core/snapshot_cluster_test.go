package core

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// testSnapshots is what a node of a test cluster has of snapshots. Their bytes are the
// records that they hold, so that what is installed can be held against what is
// committed. All of it is durable but the part that is being received.
type testSnapshots struct {
	base    []testRecord // before the log start
	files   []testFile   // frozen, ascending
	part    []byte
	partID  SnapshotID
	writing SnapshotID
}

type testFile struct {
	id  SnapshotID
	raw []byte
}

func (s *testSnapshots) held() (held []Snapshot) {
	for _, f := range s.files {
		held = append(held, Snapshot{f.id, int64(len(f.raw))})
	}
	return held
}

func (s *testSnapshots) read(id SnapshotID) []byte {
	for _, f := range s.files {
		if f.id == id {
			return f.raw
		}
	}
	return nil
}

func (s *testSnapshots) restart(n *testNode) {
	s.part, s.partID, s.writing = nil, NoSnapshot, NoSnapshot
	n.durable = from(n.durable, n.start())
}

// from is what a log has at and after an offset.
func from(log []testBatch, start Offset) []testBatch {
	for len(log) > 0 && log[0].Base < start {
		log = log[1:]
	}
	return log
}

type testContent struct {
	Epoch   Epoch
	Control bool
	Value   string
	Voters  []Voter
}

func pack(records []testRecord) []byte {
	var all []testContent
	for _, r := range records {
		all = append(all, testContent{r.epoch, r.control, r.value, r.voters})
	}
	raw, err := json.Marshal(all)
	if err != nil {
		panic(err)
	}
	return raw
}

func unpack(raw []byte) (records []testRecord, err error) {
	var all []testContent
	err = json.Unmarshal(raw, &all)
	for _, r := range all {
		records = append(records, testRecord{r.Epoch, r.Control, r.Value, r.Voters})
	}
	return records, err
}

func (c *cluster) carryOutSnapshot(n *testNode, o *Op) {
	s := &n.snaps
	switch o.Kind {
	case OpReceiveSnapshot:
		if o.Position == 0 {
			s.part, s.partID = nil, o.SnapshotID
		}
		require.Equal(c.t, s.partID, o.SnapshotID)
		require.Equal(c.t, int64(len(s.part)), o.Position)
		s.part = append(s.part, o.Raw...)
	case OpVerifySnapshot:
		require.Equal(c.t, s.partID, o.SnapshotID)
		require.Equal(c.t, int64(len(s.part)), o.Size)
		in := Input{Kind: InputSnapshotVerified, SnapshotID: o.SnapshotID, Transfer: o.Transfer}
		if records, err := unpack(s.part); err == nil {
			in.VoterSet = lastVoters(records)
		}
		if c.rng.IntN(8) == 0 {
			in.Error = InvalidRequest // bits that flipped on the way
		}
		c.after(Ticks(c.rng.IntN(3000)), n, func(n *testNode) { c.step(n, in) })
	case OpInstallSnapshot:
		require.Equal(c.t, s.partID, o.SnapshotID)
		records, err := unpack(s.part)
		require.NoError(c.t, err)
		require.Len(c.t, records, int(o.SnapshotID.End))
		s.base, s.files = records, []testFile{{o.SnapshotID, s.part}}
		n.log, n.durable, n.flushes = nil, nil, nil
		s.part, s.partID = nil, NoSnapshot
	case OpAbandonSnapshot:
		require.Equal(c.t, s.partID, o.SnapshotID)
		s.part, s.partID = nil, NoSnapshot
	case OpAdvanceLogStart:
		require.NotEmpty(c.t, s.read(o.SnapshotID), "the log starts after a snapshot that is not there")
		require.LessOrEqual(c.t, o.SnapshotID.End, n.end())
		s.base = n.records(o.SnapshotID.End)
		n.log, n.durable = from(n.log, n.start()), from(n.durable, n.start())
		for s.files[0].id != o.SnapshotID {
			s.files = s.files[1:]
		}
	case OpDeleteSnapshot:
		for i, f := range s.files {
			if f.id == o.SnapshotID {
				s.files = append(append([]testFile(nil), s.files[:i]...), s.files[i+1:]...)
				break
			}
		}
	default:
		require.Failf(c.t, "unknown op", "%d", o.Kind)
	}
}

// checkSnapshots holds what a replica says of its snapshots against the disk, and every
// so often has the state machine write one, or the log start advance.
func (c *cluster) checkSnapshots(n *testNode, state State) {
	s := &n.snaps
	require.Equal(c.t, n.start(), state.LogStart)
	if len(n.log) > 0 {
		require.Equal(c.t, n.start(), n.log[0].Base, "a gap after the log start")
	}
	held := n.r.log.snapshots
	for _, h := range held {
		raw := s.read(h.ID)
		require.NotEmpty(c.t, raw, "a snapshot is not there")
		require.Len(c.t, raw, int(h.Size))
	}
	if n.start() > 0 {
		require.NotEmpty(c.t, held, "no snapshot of what is before the log")
		require.Equal(c.t, n.start(), held[0].ID.End)
	}
	if c.snapEvery == 0 || s.writing != NoSnapshot {
		return
	}
	end := state.LogStart
	for _, b := range n.log {
		if b.End <= min(state.HighWatermark, state.Flushed) {
			end = b.End
		}
	}
	if end-max(state.LogStart, state.Snapshot.End) < c.snapEvery {
		return
	}
	records := n.records(end)
	s.writing = SnapshotID{end, records[end-1].epoch}
	require.NoError(c.t, n.r.MayTakeSnapshot(s.writing))
	c.after(Ticks(c.rng.IntN(200)), n, func(n *testNode) {
		id := s.writing
		s.writing = NoSnapshot
		raw := pack(records)
		if s.read(id) == nil && (len(s.files) == 0 || s.files[len(s.files)-1].id.End < id.End) {
			s.files = append(s.files, testFile{id, raw})
		}
		c.step(n, Input{Kind: InputSnapshotTaken, SnapshotID: id, Size: int64(len(raw))})
		if held := n.r.log.snapshots; len(held) > 1 && c.rng.IntN(2) == 0 {
			c.step(n, Input{Kind: InputAdvanceLogStart, SnapshotID: held[1+c.rng.IntN(len(held)-1)].ID})
		}
	})
}

// Everything that chaos shows holds with snapshots taken all the time, logs that begin
// late, and followers that come back far behind.
func TestClusterSurvivesChaosWithSnapshots(t *testing.T) {
	both(t, func(t *testing.T, change func(*Config)) {
		seen := map[string]int{}
		for seed := range uint64(12) {
			small := func(cfg *Config) { change(cfg); cfg.MaxSnapshotBytes = 500 }
			c := chaos(t, seed, 1+int(seed)%5, small, func(c *cluster) { c.snapEvery = 1 + Offset(seed%4) })
			for a, n := range c.actions {
				seen[a] += n
			}
			present := map[string]bool{}
			for _, rec := range c.committed {
				present[rec.value] = true
			}
			for id, v := range c.appends {
				if r, ended := c.results[id]; ended && r.Error == None {
					require.True(t, present[v], "an acknowledged append is gone")
				}
			}
		}
		for _, action := range []string{actTakeSnapshot, actAdvanceLogStart, actSendFetchSnapshot,
			actHandleFetchSnapshotRequest, actHandleFetchSnapshotResponse, actInstallSnapshot} {
			require.Positive(t, seen[action], action)
		}
		t.Log(seen)
	})
}
