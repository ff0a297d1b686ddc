package traces

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// How the fields of an event stand for those of the specification:
//
//	event               spec                          remark
//	node.id             Replica.ID, Msg.Src, Msg.Dst  the ids in ascending order are 1, 2, …
//	leader, voted       Election.Leader, .Voted       -1 is Nobody
//	role                Role                          by name; Down leaves no events
//	hw, offsets         HighWatermark, Offset         both count from 0, ends exclusive, -1 unknown
//	flushed             FlushedEnd()
//	logStart, snapshot  LogStart, Snapshots.Latest()
//	fetching, position  Fetching, Position            bytes are parts of the specification, see snapshots.go
//	durable.election    Stored changed
//	durable.logEnd      the offset of Flush
//	error               Error                         see errorCodes
//	read                ReadRound                     by identity, see below
//	digest              the record before it          one digest for each, see digestKey
//
// Known differences, all of names or of what cannot matter, are listed in
// [Differences].

// Difference is one field in which specification and trace differ.
type Difference struct {
	Field string `json:"field"`
	// Spec is what the specification has, Trace what was recorded. Spec is empty if
	// the event contradicts itself.
	Spec  string `json:"spec"`
	Trace string `json:"trace"`
}

func (d *Difference) text() string {
	if d.Spec == "" {
		return d.Field + ": " + d.Trace
	}
	return fmt.Sprintf("%s: specification %s, trace %s", d.Field, d.Spec, d.Trace)
}

// Tolerated names a difference between specification and implementation that is
// not held against a trace.
type Tolerated string

// Tolerated differences.
const (
	LeaderForgetsVote  Tolerated = "vote of a leader"
	OldFollowerNoVote  Tolerated = "vote of a follower before Pre-Vote"
	ParkedFetchRefused Tolerated = "error of a parked fetch"
	ReadNotOnWire      Tolerated = "read number at the answering side"
	DiedBeforeSending  Tolerated = "nothing sent before the end of an incarnation"
	ElectionRewritten  Tolerated = "quorum state written again at a restart"
	ResignedForgets    Tolerated = "high watermark forgotten by a leader that resigned"
)

// Differences are the tolerated differences with the reasons.
var Differences = map[Tolerated]string{
	LeaderForgetsVote: "A replica that leads, or led, its epoch keeps its vote for itself in the specification and drops it in Kafka " +
		"(LeaderState.election). It will not vote in that epoch either way: who leads never grants.",
	OldFollowerNoVote: "Before Kafka 4.0 a follower's quorum-state file has no vote beside a leader. It will not vote in that epoch: who knows a leader does not grant.",
	ParkedFetchRefused: "A parked fetch that ends because its leader has stepped down is refused with NOT_LEADER_OR_FOLLOWER, as in Kafka; the specification, " +
		"which looks at the epoch first, says FENCED_LEADER_EPOCH if there is a newer one. Who is answered does the same with both.",
	ReadNotOnWire: "The number of a read is not in BeginQuorumEpoch; only who sent the request knows it, from the correlation id. The answering side may say 0.",
	DiedBeforeSending: "An action that took effect on disk may be the last of a process, before its answer left: to have sent nothing then is to have sent a message that is lost. " +
		"Only the last event of an incarnation may leave its message out.",
	ElectionRewritten: "A process writes the quorum-state file when it starts, even if nothing has changed.",
	ResignedForgets: "A leader that resigns keeps its high watermark in the specification; in Kafka it knows none until it learns it again (ResignedState.highWatermark). " +
		"To know less of what is committed is always safe: every start does so. The specification is made to forget it there too, and goes on from that.",
}

var errorCodes = [...]int16{
	spec.NoErrorCode:         0,
	spec.NotLeaderOrFollower: 6,
	spec.FencedLeaderEpoch:   74,
	spec.UnknownLeaderEpoch:  75,
	spec.SnapshotNotFound:    98,
	spec.PositionOutOfRange:  99,
}

var recordKinds = [...]string{
	spec.LeaderChange: event.LeaderChange, spec.Data: event.Data, spec.KRaftVersion: event.KRaftVersion, spec.KRaftVoters: event.KRaftVoters,
}

// comparison notes in what an event and a step differ.
type comparison struct {
	// verbose keeps the differences; without, they are only counted.
	verbose bool
	n       int
	list    []Difference
	blocked bool // a guard kept the action from being taken
	taken   bool // the action was enabled, whatever came of it
	// guard, if blocked and known, is which one, values what it looked at.
	guard  spec.Guard
	values string
	// digests is how many of the differences are of digests, seen where the digest
	// of the same records was noted first.
	digests int
	seen    noted
	// forgets: the high watermark is not compared, see ResignedForgets.
	forgets bool
}

func same[T comparable](c *comparison, field string, want, seen T) {
	if want != seen {
		c.n++
		if c.verbose {
			c.list = append(c.list, Difference{field, fmt.Sprint(want), fmt.Sprint(seen)})
		}
	}
}

// sameAt is same for a field of a message: names are put together only if needed.
func sameAt[T comparable](c *comparison, at, field string, want, seen T) {
	if want != seen {
		same(c, at+field, want, seen)
	}
}

func (c *comparison) differ(field, want, seen string) {
	c.n++
	if c.verbose {
		c.list = append(c.list, Difference{field, want, seen})
	}
}

// message compares a message with what was recorded of it, all but its identity.
func (v *validator) message(c *comparison, at string, m *spec.Msg, e *event.Message) {
	sameAt(c, at, ".kind", m.Kind.String(), e.Kind)
	sameAt(c, at, ".dir", direction(m.Response), direction(e.Response))
	sameAt(c, at, ".epoch", int32(m.Epoch), e.Epoch)
	leader, code := int32(0), int16(0)
	if m.Response {
		leader, code = v.who.node(m.Leader), errorCodes[m.Error]
	}
	sameAt(c, at, ".leader", leader, e.Leader)
	sameAt(c, at, ".error", code, e.Error)
	sameAt(c, at, ".preVote", m.PreVote, e.PreVote)
	sameAt(c, at, ".granted", m.Granted, e.Granted)
	offset, last, hw := int64(0), int32(0), int64(0)
	switch {
	case !m.Response:
		offset, last = int64(m.Offset), int32(m.LastEpoch)
	case m.Kind == spec.Fetch:
		hw = int64(m.HighWatermark)
		if m.Records.End() > 0 {
			offset = int64(m.Offset)
		}
	}
	sameAt(c, at, ".offset", offset, e.Offset)
	sameAt(c, at, ".lastEpoch", last, e.LastEpoch)
	sameAt(c, at, ".hw", hw, e.HighWatermark)
	switch {
	case m.Diverging != (e.Diverging != nil):
		sameAt(c, at, ".diverging", m.Diverging, e.Diverging != nil)
	case m.Diverging:
		sameAt(c, at, ".diverging.epoch", int32(m.DivergingEpoch), e.Diverging.Epoch)
		sameAt(c, at, ".diverging.endOffset", int64(m.DivergingEnd), e.Diverging.EndOffset)
	}
	v.snapshotMessage(c, at, m, e)
	if v.untold(e) {
		sameAt(c, at, ".records", m.Records.End() > 0, e.Bytes > 0)
		return
	}
	if m.Kind == spec.FetchSnapshot {
		sameAt(c, at, ".records", 0, len(e.Records)) // what the snapshot holds is not shown
		return
	}
	v.runs(c, at, ".records", m.Records.Runs(), e.Records)
}

func direction(response bool) string {
	if response {
		return "response"
	}
	return "request"
}

// runs compares records. Runs of the specification tell origins apart, those of a
// trace do not, and may be split anywhere.
func (v *validator) runs(c *comparison, at, field string, want []spec.Run, seen []event.Run) {
	i, j, left, right := 0, 0, int64(0), int64(0)
	for {
		if left == 0 && i < len(want) {
			left = want[i].Count
		}
		if right == 0 && j < len(seen) {
			right = seen[j].Count
		}
		if i == len(want) && j == len(seen) {
			return
		}
		ok := i < len(want) && j < len(seen) && right > 0 &&
			int32(want[i].Epoch) == seen[j].Epoch && recordKinds[want[i].Kind] == seen[j].Kind &&
			(want[i].Kind != spec.KRaftVoters || want[i].Voters == v.who.voterSet(seen[j].Voters))
		if !ok {
			c.n++
			if c.verbose {
				c.list = append(c.list, Difference{at + field, runsText(v.who.recordedAs(want)), runsText(seen)})
			}
			return
		}
		n := min(left, right)
		if left -= n; left == 0 {
			i++
		}
		if right -= n; right == 0 {
			j++
		}
	}
}

// recordedAs are runs of the specification as a trace has them.
func (m *members) recordedAs(runs []spec.Run) []event.Run {
	var list []event.Run
	for _, r := range runs {
		run := event.Run{Epoch: int32(r.Epoch), Kind: recordKinds[r.Kind], Count: r.Count}
		if r.Kind == spec.KRaftVoters { // each is a run of its own
			run.Count, run.Voters = 1, m.recordedVoters(r.Voters)
			for range r.Count - 1 {
				list = append(list, run)
			}
		}
		list = append(list, run)
	}
	return list
}

// runsText prints runs as they stand in a file.
func runsText(runs []event.Run) string {
	list := make([]string, len(runs))
	for i, r := range runs {
		list[i] = fmt.Sprintf("[%d,%q,%d]", r.Epoch, r.Kind, r.Count)
		if len(r.Voters) > 0 {
			list[i] = fmt.Sprintf("[%d,%q,%d,%v]", r.Epoch, r.Kind, r.Count, idsOf(r.Voters))
		}
	}
	return "[" + strings.Join(list, ",") + "]"
}

// votedMatters says whether the vote of a replica is compared.
func votedMatters(r *spec.Replica) (Tolerated, bool) {
	switch {
	case r.Election.Leader == r.ID:
		return LeaderForgetsVote, false
	case r.Version&spec.PreVote == 0 && r.Election.Leader != spec.Nobody:
		return OldFollowerNoVote, false
	}
	return "", true
}

// state compares the replica after the step with what was observed.
func (v *validator) state(c *comparison, r *spec.Replica, s *event.State) {
	if s.Has&event.HasRole != 0 {
		same(c, "state.role", r.Role.String(), s.Role)
	}
	if s.Has&event.HasEpoch != 0 {
		same(c, "state.epoch", int32(r.Election.Epoch), s.Epoch)
	}
	if s.Has&event.HasLeader != 0 {
		same(c, "state.leader", v.who.node(r.Election.Leader), s.Leader)
	}
	if s.Has&event.HasVoted != 0 {
		if want := v.who.node(r.Election.Voted); want != s.Voted {
			// Where it is not compared it may be gone, but not another.
			if t, matters := votedMatters(r); matters || s.Voted != -1 {
				same(c, "state.voted", want, s.Voted)
			} else {
				v.tolerate(t)
			}
		}
	}
	if s.Has&event.HasHighWatermark != 0 && !c.forgets {
		same(c, "state.hw", int64(r.HighWatermark), s.HighWatermark)
	}
	v.votersState(c, r, s)
	snapshotState(c, r, s)
	if s.Has&event.HasLogEnd != 0 {
		same(c, "state.logEnd", int64(r.Log.End()), s.LogEnd)
	}
	if s.Has&event.HasLastEpoch != 0 {
		same(c, "state.lastEpoch", int32(r.Log.LastEpoch()), s.LastEpoch)
	}
	if s.Has&event.HasFlushed != 0 {
		same(c, "state.flushed", int64(r.FlushedEnd()), s.Flushed)
	}
}

// logChange compares what a step did to the log with what was recorded.
func (v *validator) logChange(c *comparison, a spec.ActionID, old, now *spec.Replica, l *event.LogChange) {
	common := now.Log.End()
	if old.Log.End() != now.Log.End() || l != nil {
		common = spec.CommonPrefix(&old.Log, &now.Log)
	}
	truncated := int64(-1)
	if common < old.Log.End() {
		truncated = int64(common)
	}
	changed := truncated >= 0 || common < now.Log.End()
	if l == nil && v.unsaid.log {
		return
	}
	if changed != (l != nil) {
		same(c, "log", changed, l != nil)
		return
	}
	if l == nil {
		return
	}
	reset := int64(0)
	if a == spec.ActionInstallSnapshot {
		reset, truncated, common = int64(now.LogStart), -1, now.LogStart
	}
	same(c, "log.reset", reset, l.Reset)
	same(c, "log.truncated", truncated, l.Truncated)
	same(c, "log.base", int64(common), l.Base)
	appended := now.Log.Slice(common, now.Log.End())
	v.runs(c, "log", ".appended", appended.Runs(), l.Appended)
}

// durable compares what a step made durable with what was recorded.
func (v *validator) durable(c *comparison, a spec.ActionID, old, now *spec.Replica, d *event.Durable) {
	election, logEnd, snapshot := now.Stored != old.Stored, int64(-1), event.SnapshotID{}
	switch a {
	case spec.ActionFlush:
		logEnd = int64(now.Disk.End())
	case spec.ActionInstallSnapshot:
		logEnd, snapshot = int64(now.Disk.End()), nameOf(now.Snapshots.Latest())
	case spec.ActionTakeSnapshot:
		snapshot = nameOf(now.Snapshots.Latest())
	case spec.ActionRestart:
		logEnd = int64(now.Log.End())
		if d != nil {
			if d.Election != election {
				v.tolerate(ElectionRewritten)
			}
			same(c, "durable.logEnd", logEnd, d.LogEnd)
			same(c, "durable.snapshot", snapshot, d.Snapshot)
			return
		}
		logEnd = -1 // nothing was written: what is there is as it was found
	}
	seen := event.Durable{LogEnd: -1}
	if d == nil && v.unsaid.durable {
		return
	}
	if d != nil {
		seen = *d
		if seen == (event.Durable{LogEnd: -1}) {
			c.differ("durable", "something or absent", "nothing")
		}
	}
	same(c, "durable.election", election, seen.Election)
	same(c, "durable.logEnd", logEnd, seen.LogEnd)
	same(c, "durable.snapshot", snapshot, seen.Snapshot)
}

// maxRecords is how many records one event may have: offsets have room for any
// number of events that a trace may hold.
const maxRecords = math.MaxInt32

// check finds what no event may have, whatever the specification says: nothing at
// all, names that are not in the schema's vocabulary, numbers of records that no
// step can have, and nodes that take no part.
func (v *validator) check(e *event.Event) error {
	if e.Attach != nil || e.Detach != nil {
		if err := v.checkEnds(e); err != nil {
			return err
		}
	}
	if e.Action == "" {
		switch {
		case e.Args != (event.Args{}):
			return errors.New("args without an action: they are those of an action that has a name")
		case e.Recv == nil && len(e.Send) == 0 && e.State.Has == 0 && e.Log == nil && e.Durable == nil && e.Detach == nil:
			return errors.New("an event that says nothing: no action, recv, send, state, log or durable")
		}
	}
	if err := v.checkVoters(e); err != nil {
		return err
	}
	if e.Args.Count > maxRecords {
		return fmt.Errorf("args.count %d: an event appends at most %d records", e.Args.Count, maxRecords)
	}
	if e.Log != nil {
		if err := v.checkRuns(e.Log.Appended); err != nil {
			return fmt.Errorf("log.appended: %w", err)
		}
	}
	if e.Action != "" {
		if _, ok := spec.ActionNamed(e.Action); !ok {
			return fmt.Errorf("unknown action %q", e.Action)
		}
	}
	if e.Recv != nil {
		if err := v.checkMessage(e.Recv); err != nil {
			return fmt.Errorf("recv: %w", err)
		}
	}
	for i := range e.Send {
		if err := v.checkMessage(&e.Send[i]); err != nil {
			return fmt.Errorf("send: %w", err)
		}
	}
	if s := &e.State; s.Has&event.HasRole != 0 {
		switch s.Role {
		case "Unattached", "Prospective", "Candidate", "Leader", "Follower", "Resigned":
		default:
			return fmt.Errorf("unknown role %q", s.Role)
		}
	}
	return nil
}

func (v *validator) checkMessage(m *event.Message) error {
	if m.External {
		return nil
	}
	switch m.Kind {
	case event.Vote, event.BeginQuorumEpoch, event.EndQuorumEpoch, event.Fetch, event.FetchSnapshot:
	default:
		return fmt.Errorf("unknown kind of message %q", m.Kind)
	}
	for _, id := range [...]int32{m.Conn.From, m.Conn.To} {
		if v.who.index(id) < 0 {
			return fmt.Errorf("node %d takes no part in the run (replicas %v)", id, v.who.ids)
		}
	}
	return v.checkRuns(m.Records)
}

func (v *validator) checkRuns(runs []event.Run) error {
	n := int64(0)
	for _, r := range runs {
		if err := v.checkKind(&r); err != nil {
			return err
		}
		if r.Count > maxRecords-n {
			return fmt.Errorf("%d records and %d before them: an event has at most %d", r.Count, n, maxRecords)
		}
		n += r.Count
	}
	return nil
}

// untold says whether a message is a Fetch response that has records which the recorder
// does not tell, or has none.
func (v *validator) untold(m *event.Message) bool {
	return v.unsaid.records && m.Kind == event.Fetch && m.Response && m.Records == nil
}

// checkEnds is check for an event with which recording begins or ends.
func (v *validator) checkEnds(e *event.Event) error {
	what := "detach"
	if e.Attach != nil {
		what = "attach"
	}
	switch {
	case e.Attach != nil && e.Detach != nil:
		return errors.New("attach and detach in one event")
	case e.Action != "" && !(e.Attach != nil && e.Action == spec.ActionRestart.String()):
		return fmt.Errorf("%s in a %s", what, e.Action)
	case e.Recv != nil || len(e.Send) > 0 || e.Log != nil || e.Durable != nil && e.Action == "" || e.Args != (event.Args{}):
		return fmt.Errorf("%s in an event in which something happens", what)
	case e.Attach == nil:
		return nil
	}
	if err := v.checkRuns(e.Attach.Log); err != nil {
		return fmt.Errorf("attach.log: %w", err)
	}
	return nil
}
