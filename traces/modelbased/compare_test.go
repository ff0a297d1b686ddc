package modelbased_test

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces"
	"github.com/quorate/quorate/traces/event"
)

// What is compared, and the same differences that a trace is allowed to have
// ([traces.Differences]):
//
//	LeaderForgetsVote, OldFollowerNoVote   a vote that can no longer matter is not compared
//
// The others cannot come up here: nothing dies before it sends, all cores write the
// quorum-state file when the specification says so or at a start, and the number of a
// read is handed on with its message.
var _ = [...]string{traces.Differences[traces.LeaderForgetsVote], traces.Differences[traces.OldFollowerNoVote]}

var errorCodes = map[spec.Error]core.ErrorCode{
	spec.NoErrorCode:         core.None,
	spec.NotLeaderOrFollower: core.NotLeaderOrFollower,
	spec.FencedLeaderEpoch:   core.FencedLeaderEpoch,
	spec.UnknownLeaderEpoch:  core.UnknownLeaderEpoch,
	spec.SnapshotNotFound:    core.SnapshotNotFound,
	spec.PositionOutOfRange:  core.PositionOutOfRange,
}

type differences []string

func (d *differences) note(field string, want, have any) {
	*d = append(*d, fmt.Sprintf("%s: specification %v, code %v", field, want, have))
}

func is[T comparable](d *differences, field string, want, have T) {
	if want != have {
		d.note(field, want, have)
	}
}

func (d *differences) logs(field string, want, have *spec.Log) {
	if !want.SameAs(have) {
		d.note(field, show(want), show(have))
	}
}

func id(i spec.ID) core.ReplicaID {
	if i == spec.Nobody {
		return core.NoReplica
	}
	return core.ReplicaID(i)
}

// votedMatters: see votedMatters of package traces.
func votedMatters(r *spec.Replica) bool {
	return r.Election.Leader != r.ID && (r.Version&spec.PreVote != 0 || r.Election.Leader == spec.Nobody)
}

func (d *differences) voted(field string, r *spec.Replica, want spec.ID, have core.ReplicaID) {
	if votedMatters(r) || have != core.NoReplica {
		is(d, field, id(want), have)
	}
}

func (d *differences) state(r *spec.Replica, s *core.State) {
	is(d, "role", r.Role.String(), s.Role.String())
	is(d, "epoch", core.Epoch(r.Election.Epoch), s.Epoch)
	is(d, "leader", id(r.Election.Leader), s.Leader)
	d.voted("voted", r, r.Election.Voted, s.Voted.ID)
	is(d, "high watermark", core.Offset(r.HighWatermark), s.HighWatermark)
	is(d, "log start", core.Offset(r.LogStart), s.LogStart)
	is(d, "log end", core.Offset(r.Log.End()), s.LogEnd)
	is(d, "last epoch", core.Epoch(r.Log.LastEpoch()), s.LastEpoch)
	is(d, "flushed", core.Offset(r.FlushedEnd()), s.Flushed)
	if r.Role == spec.Leader {
		is(d, "epoch start", core.Offset(r.EpochStart), s.EpochStart)
	}
	is(d, "snapshot", snapshotID(r.Snapshots.Latest()), s.Snapshot)
	is(d, "fetching", snapshotID(r.Fetching.Snapshot), s.Fetching)
	is(d, "position", r.Fetching.Position*partBytes, s.Position)
}

func snapshotID(s spec.Snapshot) core.SnapshotID {
	return core.SnapshotID{End: core.Offset(s.End), Epoch: core.Epoch(s.Epoch)}
}

// stored is the quorum-state file. There is none before the first start has written it.
func (d *differences) stored(r *spec.Replica, n *member) {
	is(d, "stored epoch", core.Epoch(r.Stored.Epoch), n.stored.Epoch)
	is(d, "stored leader", id(r.Stored.Leader), n.stored.Leader)
	d.voted("stored vote", r, r.Stored.Voted, n.stored.Voted.ID)
}

// differ compares a replica of the specification with what an event says.
func differ(r *spec.Replica, s *event.State) string {
	var d differences
	is(&d, "role", r.Role.String(), s.Role)
	is(&d, "epoch", int32(r.Election.Epoch), s.Epoch)
	is(&d, "leader", int32(id(r.Election.Leader)), s.Leader)
	d.voted("voted", r, r.Election.Voted, core.ReplicaID(s.Voted))
	is(&d, "high watermark", int64(r.HighWatermark), s.HighWatermark)
	is(&d, "log start", int64(r.LogStart), s.LogStart)
	is(&d, "log end", int64(r.Log.End()), s.LogEnd)
	is(&d, "last epoch", int32(r.Log.LastEpoch()), s.LastEpoch)
	is(&d, "flushed", int64(r.FlushedEnd()), s.Flushed)
	return strings.Join(d, "; ")
}

// differMessages compares a message of the specification with what a core sends: with
// what has the records, which the driver reads.
func differMessages(m *spec.Msg, w *wire) string {
	var d differences
	e := &w.message
	is(&d, "kind", m.Kind.String(), e.Kind.String())
	is(&d, "response", m.Response, e.Response)
	is(&d, "epoch", core.Epoch(m.Epoch), e.Epoch)
	is(&d, "to", m.Dst, receiver(w, e.Response))
	is(&d, "pre-vote", m.PreVote, e.PreVote)
	is(&d, "read", int64(m.Read), e.Read)
	snapshot := m.Snapshot
	is(&d, "snapshot", snapshotID(snapshot), e.SnapshotID)
	is(&d, "position", m.Position*partBytes, e.Position)
	if !m.Response {
		is(&d, "offset", core.Offset(m.Offset), e.Offset)
		is(&d, "last epoch", core.Epoch(m.LastEpoch), e.LastEpoch)
		return strings.Join(d, "; ")
	}
	is(&d, "leader", id(m.Leader), e.Leader)
	is(&d, "error", errorCodes[m.Error], e.Error)
	is(&d, "granted", m.Granted, e.Granted)
	if m.Kind == spec.Fetch {
		is(&d, "high watermark", core.Offset(m.HighWatermark), e.HighWatermark)
		diverging := core.NoEpochEnd
		if m.Diverging {
			diverging = core.EpochEnd{Epoch: core.Epoch(m.DivergingEpoch), End: core.Offset(m.DivergingEnd)}
		}
		is(&d, "diverging", diverging, e.Diverging)
		if m.Records.End() > 0 {
			is(&d, "records from", core.Offset(m.Offset), e.Offset)
		}
		d.logs("records", &m.Records, &w.records)
	}
	if m.Kind == spec.FetchSnapshot {
		is(&d, "bytes", m.Bytes*partBytes, int64(len(e.Chunk)))
		is(&d, "size", m.Size*partBytes, e.Size)
	}
	return strings.Join(d, "; ")
}

func receiver(w *wire, response bool) spec.ID {
	if response {
		return w.opener
	}
	return w.acceptor
}

func show(l *spec.Log) string {
	text := "["
	for i, r := range l.Runs() {
		if i > 0 {
			text += " "
		}
		kind := "record"
		if r.Kind == spec.LeaderChange {
			kind = "LeaderChange"
		}
		text += fmt.Sprintf("%d x %s of %v's epoch %d", r.Count, kind, r.Origin, r.Epoch)
	}
	return text + "]"
}

// text shows a replica of the specification.
func text(r *spec.Replica) string {
	return fmt.Sprintf("%v of epoch %d, leader %v, vote %v, log %s, flushed %d, high watermark %d, granted %v",
		r.Role, r.Election.Epoch, r.Election.Leader, r.Election.Voted, show(&r.Log), r.FlushedEnd(), r.HighWatermark, r.Granted)
}

// apart says in which fields two replicas of the specification differ.
func apart(want, have *spec.Replica) string {
	var list []string
	a, b := reflect.ValueOf(want).Elem(), reflect.ValueOf(have).Elem()
	for i := range a.NumField() {
		if x, y := a.Field(i).Interface(), b.Field(i).Interface(); x != y {
			list = append(list, fmt.Sprintf("%s %v, here %v", a.Type().Field(i).Name, x, y))
		}
	}
	return strings.Join(list, "; ")
}
