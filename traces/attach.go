package traces

import (
	"fmt"
	"slices"

	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// A recording may begin in the life of a replica, and end in it. What follows from that:
//
//   - Its first event has all of the replica, so that from there on every step is held
//     against the specification as in any trace.
//   - A message that was sent before its sender began to record, or after it ended, is in
//     no event. One that could be such a message is assumed to have been sent, and counted.
//     Of a request that is exact: events that begin or end a recording have the correlation
//     id of the last one. A response is assumed only if its request was sent by a replica
//     that knew nothing yet of what the other recorded, directly or by others.
//   - Recordings do not begin at one moment. Properties of several replicas are judged from
//     where each has heard, directly or by others, of the beginnings of all (only then is
//     what they are together a state that there can have been), and until the first ends;
//     not at all if a replica has no trace. That logs match, and that what is known to be
//     committed is the same, holds of replicas at different times too, and is judged always.
//   - What a log holds below its start is taken from the others, or, where none has it, to
//     be one run of records of the epoch of the last.

// recordings is what a validation knows of where recordings begin and end.
type recordings struct {
	partial bool // one of them begins late, or is missing
	begins  [spec.MaxReplicas]*event.Event
	ends    [spec.MaxReplicas]*event.Event // as soon as it was taken
	whole   bool                           // each replica has a trace
	all     nodeSet                        // whose recordings begin late
	past    [spec.MaxReplicas]nodeSet      // of the beginnings of whom each has heard
	leaders map[int32]int32                // who led an epoch, by any event
	unsent  map[messageID]bool
	twice   bool                           // assume also what an event sends: the response to a copy
	starts  [spec.MaxReplicas]spec.Replica // as recordings begin
	judged  bool                           // properties of several replicas, now
	over    bool                           // one of the recordings has ended
	first   int64                          // the event from which they are
	// gapEnd: below it, a run that stands for what a snapshot holds is in some log. blurred:
	// records came to another that may be others.
	gapEnd    spec.Offset
	blurred   bool
	assumedBy map[string]int // how many messages
}

type nodeSet uint16

func (s nodeSet) with(n int) nodeSet { return s | 1<<n }
func (s nodeSet) has(n int) bool     { return s>>n&1 == 1 }

// survey looks whether recordings begin late. If any does it reads all of them, for who
// led which epoch and for messages that were received, but never sent.
func (v *validator) survey() error {
	c := &v.cut
	for n := range v.who.ids {
		if d := &v.nodes[n]; d.ready && d.event.Attach != nil {
			e := d.event
			c.begins[n], c.all, c.partial = &e, c.all.with(n), true
			c.past[n] = c.past[n].with(n)
		}
	}
	if !c.partial {
		return nil
	}
	c.whole, c.assumedBy, c.leaders = true, map[string]int{}, map[int32]int32{}
	for n := range v.who.ids {
		c.whole = c.whole && v.nodes[n].source != nil
	}
	var err error
	c.unsent, err = neverSent(v.inputs, func(e *event.Event) {
		if e.State.Has&event.HasLeader != 0 && e.State.Has&event.HasEpoch != 0 && e.State.Leader >= 0 {
			c.leaders[e.State.Epoch] = e.State.Leader
		}
	})
	return err
}

// begin puts the replicas whose recordings begin late into the world, as their first
// events have them. It returns what is wrong with one.
func (v *validator) begin() *Rejection {
	c := &v.cut
	var order []int
	for n := range v.who.ids {
		if c.begins[n] != nil {
			order = append(order, n)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return int(min(1, max(-1, c.begins[a].State.LogStart-c.begins[b].State.LogStart)))
	})
	w := v.worlds[0]
	for i, n := range order {
		var diff comparison
		diff.verbose = true
		v.attached(n, order[:i], &diff)
		if diff.n > 0 {
			r := v.about(n)
			r.Action, r.Differences = "attach", diff.list
			r.Why = "the event with which recording begins is no state of a replica"
			return r
		}
		e := c.begins[n]
		w.replicas[n] = c.starts[n]
		w.ghost.NoteStarts(&w.replicas[n])
		w.digestless[n] = e.State.Has&event.HasDigest == 0
		if l := e.Attach.Leading; l != nil {
			w.reading[n] = l.Read
		}
		if !w.digestless[n] {
			v.note(w, n, e.State.Digest)
		}
	}
	return nil
}

// needed is what of State an event with Attach must have.
const needed = event.HasRole | event.HasEpoch | event.HasLeader | event.HasVoted | event.HasHighWatermark |
	event.HasLogStart | event.HasLogEnd | event.HasLastEpoch | event.HasFlushed

// attached makes the replica that an event tells of. earlier are the nodes that are made
// already, whose logs start earlier.
func (v *validator) attached(n int, earlier []int, c *comparison) {
	e := v.cut.begins[n]
	s, a := &e.State, e.Attach
	if s.Has&needed != needed {
		c.differ("state", "every field", "some are missing")
		return
	}
	version := spec.Version(0)
	if v.who.pre[n] {
		version = spec.PreVote
	}
	r := spec.NewLargeReplica(spec.ID(n+1), version)
	id := v.who.ids[n]
	v.attachElection(&r, id, s, c)
	r.LogStart, r.HighWatermark = spec.Offset(s.LogStart), spec.Offset(s.HighWatermark)
	v.attachLog(&r, n, earlier, c)
	if c.n > 0 {
		return
	}
	for _, held := range a.Snapshots {
		if held.End < s.LogStart || held.End <= int64(r.Snapshots.Latest().End) || held.End > s.LogEnd || int32(r.EpochBefore(spec.Offset(held.End))) != held.Epoch {
			c.differ("attach.snapshots", fmt.Sprintf("ascending, from the log start %d to the log end %d, with epochs of the log", s.LogStart, s.LogEnd), fmt.Sprint(a.Snapshots))
			return
		}
		r.Hold(snapshotOf(held))
	}
	if s.LogStart > 0 && int64(r.Snapshots.First().End) != s.LogStart {
		c.differ("attach.snapshots", fmt.Sprintf("one that ends at the log start %d", s.LogStart), fmt.Sprint(a.Snapshots))
	}
	latest := event.SnapshotID{}
	if s.Has&event.HasSnapshot != 0 {
		latest = s.Snapshot
	}
	same(c, "state.snapshot", nameOf(r.Snapshots.Latest()), latest)
	if s.Has&event.HasFetching != 0 && s.Fetching.Snapshot.End > 0 {
		f := &r.Fetching
		f.Snapshot, f.Position, f.Size = snapshotOf(s.Fetching.Snapshot), s.Fetching.Position, a.FetchingSize
		f.From = r.Election.Leader
		if f.Size > 0 && f.Position >= f.Size || f.Size == 0 && f.Position > 0 {
			c.differ("attach.fetchingSize", fmt.Sprintf("more than the %d bytes received", f.Position), fmt.Sprint(f.Size))
		}
	}
	v.attachRole(&r, id, a, c)
	if s.HighWatermark > s.LogEnd {
		c.differ("state.hw", fmt.Sprintf("at most the log end %d", s.LogEnd), fmt.Sprint(s.HighWatermark))
	}
	if c.n == 0 {
		v.state(c, &r, s)
	}
	v.cut.starts[n] = r
}

func snapshotOf(id event.SnapshotID) spec.Snapshot {
	return spec.Snapshot{End: spec.Offset(id.End), Epoch: spec.Epoch(id.Epoch)}
}

// attachElection takes over epoch, leader and vote, all of them durable at the end of a
// step. Who leads an epoch, or has led it, has voted for itself (see LeaderForgetsVote).
func (v *validator) attachElection(r *spec.Replica, id int32, s *event.State, c *comparison) {
	leader, ok := v.who.spec(s.Leader)
	if !ok {
		c.differ("state.leader", fmt.Sprintf("one of %v", v.who.ids), fmt.Sprint(s.Leader))
	}
	voted, ok := v.who.spec(s.Voted)
	if !ok {
		c.differ("state.voted", fmt.Sprintf("one of %v", v.who.ids), fmt.Sprint(s.Voted))
	}
	if s.Leader == id && s.Voted == -1 {
		voted = leader
	}
	r.Election = spec.Election{Epoch: spec.Epoch(s.Epoch), Leader: leader, Voted: voted}
	r.Stored = r.Election
	roles := map[string]spec.Role{}
	for role := spec.Unattached; role < spec.Down; role++ {
		roles[role.String()] = role
	}
	r.Role = roles[s.Role] // known: see check
	self, voter := leader == r.ID, v.mayVote(r)
	good := true
	switch r.Role {
	case spec.Leader:
		good = self && voter
	case spec.Resigned:
		good = self
	case spec.Follower:
		good = leader != spec.Nobody && !self
	case spec.Candidate:
		good = voter && leader == spec.Nobody && voted == r.ID
	case spec.Prospective:
		good = voter && !self
	default:
		good = !self
	}
	if !good || s.Epoch == 0 && (leader != spec.Nobody || voted != spec.Nobody) {
		c.differ("state", fmt.Sprintf("role, leader and vote that go together, at node %d", id),
			fmt.Sprintf("%s in epoch %d, leader %d, vote for %d", s.Role, s.Epoch, s.Leader, s.Voted))
	}
}

// attachLog makes the log, with what is below its start.
func (v *validator) attachLog(r *spec.Replica, n int, earlier []int, c *comparison) {
	s, a := &v.cut.begins[n].State, v.cut.begins[n].Attach
	epoch := spec.Epoch(0)
	if s.LogStart > 0 {
		if len(a.Snapshots) > 0 {
			epoch = spec.Epoch(a.Snapshots[0].Epoch)
		}
		if epoch < 1 {
			c.differ("attach.snapshots", fmt.Sprintf("one that ends at the log start %d", s.LogStart), fmt.Sprint(a.Snapshots))
			return
		}
		v.below(r, spec.Offset(s.LogStart), epoch, earlier)
	}
	for _, run := range a.Log {
		if spec.Epoch(run.Epoch) < epoch || run.Epoch < 1 || run.Epoch > s.Epoch {
			c.differ("attach.log", fmt.Sprintf("epochs that ascend from %d to %d at most", max(1, epoch), s.Epoch), runsText(a.Log))
			return
		}
		epoch = spec.Epoch(run.Epoch)
		r.Log.Append(v.runOf(run))
	}
	same(c, "attach.log: its end, to state.logEnd", int64(r.Log.End()), s.LogEnd)
	if s.Flushed > s.LogEnd || s.Flushed < s.LogStart {
		c.differ("state.flushed", fmt.Sprintf("from the log start %d to the log end %d", s.LogStart, s.LogEnd), fmt.Sprint(s.Flushed))
		return
	}
	r.Disk = r.Log.Slice(0, spec.Offset(s.Flushed))
	v.ctx.ReadVoters(r)
}

// runOf is a run as the specification has it: by who led its epoch, if that is known.
func (v *validator) runOf(run event.Run) spec.Run {
	out := spec.Run{Count: run.Count, Epoch: spec.Epoch(run.Epoch), Kind: spec.Data}
	for kind, name := range recordKinds {
		if run.Kind == name {
			out.Kind = spec.RecordKind(kind)
		}
	}
	out.Voters = v.who.voterSet(run.Voters)
	if leader, ok := v.cut.leaders[run.Epoch]; ok {
		out.Origin, _ = v.who.spec(leader)
	}
	return out
}

// below adds what a log has below its start, whose last record is of an epoch: as another
// log has it that has that record, now or later, or a record of that epoch before it,
// behind which there can only be more of the same; or else what is known to be committed,
// and a run that stands for the rest.
func (v *validator) below(r *spec.Replica, start spec.Offset, epoch spec.Epoch, earlier []int) {
	rest := v.runOf(event.Run{Epoch: int32(epoch), Kind: event.Data})
	var longest, known spec.Log // of the same epoch; committed
	for _, m := range earlier {
		o := &v.cut.starts[m]
		if end := min(o.Log.End(), start); o.EpochBefore(end) == epoch && end > longest.End() {
			longest = o.Log.Slice(0, end)
		}
		if end := min(max(o.HighWatermark, o.LogStart, o.Snapshots.Latest().End), start); end > known.End() {
			known = o.Log.Slice(0, end)
		}
	}
	if longest.End() < start {
		if l, ok := v.later(start, epoch, earlier); ok {
			longest = l
		}
	}
	switch {
	case longest.End() > 0:
		known = longest
	default:
		if known.LastEpoch() > epoch {
			known = spec.Log{} // it cannot be: the properties will say so
		}
		for _, m := range earlier {
			v.cut.blurred = v.cut.blurred || v.cut.starts[m].Log.End() > known.End()
		}
		v.cut.gapEnd = max(v.cut.gapEnd, start)
	}
	r.Log.AppendAll(&known)
	rest.Count = int64(start - known.End())
	voters := v.who.voterSet(v.cut.begins[int(r.ID)-1].Attach.Voters)
	if voters != 0 && rest.Count > 0 { // of what stands for a snapshot the last record has its set
		rest.Count--
	}
	r.Log.Append(rest)
	if known.End() < start && voters != 0 {
		rest.Count, rest.Kind, rest.Voters = 1, spec.KRaftVoters, voters
		r.Log.Append(rest)
	}
}

// later looks for the log below a start in what events of others make of theirs: their
// recordings may have begun before records were written that another had below its start
// when its own began.
func (v *validator) later(start spec.Offset, epoch spec.Epoch, earlier []int) (spec.Log, bool) {
	for n := range v.who.ids {
		log := spec.NewLargeLog()
		switch d := &v.nodes[n]; {
		case d.source == nil:
			continue
		case slices.Contains(earlier, n):
			log = v.cut.starts[n].Log
		case v.cut.begins[n] != nil:
			continue
		}
		if v.becomes(n, nil, start, epoch) && v.becomes(n, &log, start, epoch) {
			return log.Slice(0, start), true
		}
	}
	return spec.Log{}, false
}

// becomes says whether events of a node append the record of an epoch before an offset.
// It applies what they do until then to a log, if there is one.
func (v *validator) becomes(n int, log *spec.Log, start spec.Offset, epoch spec.Epoch) bool {
	s, err := v.nodes[n].input.Open()
	if err != nil {
		return false
	}
	defer closeSource(s)
	var e event.Event
	for s.Read(&e) == nil {
		if log != nil && e.Log == nil && e.Attach == nil && e.State.Has&event.HasLogEnd != 0 {
			log.TruncateTo(spec.Offset(e.State.LogEnd)) // a crash
		}
		if e.Log == nil {
			continue
		}
		if e.Log.Reset > 0 {
			return false // of what is below, nothing is known
		}
		at := spec.Offset(e.Log.Base)
		if log != nil {
			log.TruncateTo(at)
		}
		found := false
		for _, run := range e.Log.Appended {
			if log != nil {
				log.Append(v.runOf(run))
			}
			at += spec.Offset(run.Count)
			found = found || at >= start && at-spec.Offset(run.Count) < start && spec.Epoch(run.Epoch) == epoch
		}
		if found {
			return true
		}
	}
	return false
}

// attachRole takes over what only some roles have.
func (v *validator) attachRole(r *spec.Replica, id int32, a *event.Attach, c *comparison) {
	nominee := r.Role == spec.Candidate || r.Role == spec.Prospective
	granted, ok := v.setOf(a.Granted)
	if !ok || nominee != granted.Has(r.ID) || !nominee && granted != 0 || granted&^v.mayVoters() != 0 {
		c.differ("attach.granted", "voters, the nominee itself among them; none in another role", fmt.Sprint(a.Granted))
	}
	r.Granted = granted
	if a.Fetched && r.Role != spec.Follower {
		c.differ("attach.fetched", "false: "+r.Role.String(), "true")
	}
	r.HasFetched = a.Fetched
	l := a.Leading
	if (l != nil) != (r.Role == spec.Leader) {
		c.differ("attach.leading", fmt.Sprint(r.Role == spec.Leader), fmt.Sprint(l != nil))
	}
	if l == nil || c.n > 0 {
		return
	}
	r.EpochStart, r.LeaderChangeWritten = spec.Offset(l.EpochStart), l.LeaderChange
	known := r.EpochStart >= r.LogStart // what is below stands for a snapshot
	if start := min(r.EpochStart, r.Log.End()); r.EpochStart > r.Log.End() || known && r.EpochBefore(start) >= r.Election.Epoch ||
		l.LeaderChange != (r.Log.LastEpoch() == r.Election.Epoch) || l.LeaderChange && known && r.EpochBefore(start+1) != r.Election.Epoch {
		c.differ("attach.leading.epochStart", fmt.Sprintf("where epoch %d begins in the log", r.Election.Epoch), fmt.Sprint(l.EpochStart))
	}
	for i := range r.End {
		r.End[i] = spec.Unknown
	}
	for _, end := range l.Ends {
		i := v.who.index(end.ID)
		if i < 0 || end.ID == id || !v.mayVoters().Has(spec.ID(i+1)) || end.Offset > int64(r.Log.End()) {
			c.differ("attach.leading.ends", fmt.Sprintf("other voters, and offsets up to the log end %d", r.Log.End()), fmt.Sprintf("node %d at %d", end.ID, end.Offset))
			continue
		}
		r.End[i] = spec.Offset(end.Offset)
	}
	if l.Read == 0 {
		if l.ReadOffset != 0 || len(l.Confirmed) > 0 {
			c.differ("attach.leading.read", "a number", "0, with readOffset or confirmed")
		}
		return
	}
	r.Reading, r.ReadRound, r.ReadOffset = true, 1, spec.Offset(l.ReadOffset)
	if r.Confirmed, ok = v.setOf(l.Confirmed); !ok || !r.Confirmed.Has(r.ID) || r.Confirmed&^v.mayVoters() != 0 {
		c.differ("attach.leading.confirmed", "voters, the leader among them", fmt.Sprint(l.Confirmed))
	}
	if r.ReadOffset > r.HighWatermark || r.ReadOffset <= r.EpochStart {
		c.differ("attach.leading.readOffset", fmt.Sprintf("above the epoch start %d and up to the high watermark %d", r.EpochStart, r.HighWatermark), fmt.Sprint(l.ReadOffset))
	}
}

// setOf is a set of nodes; false if one takes no part.
func (v *validator) setOf(ids []int32) (set spec.Set, ok bool) {
	for _, id := range ids {
		i := v.who.index(id)
		if i < 0 {
			return 0, false
		}
		set = set.With(spec.ID(i + 1))
	}
	return set, true
}

// tell adds to statistics what is known of recordings that begin or end in a life.
func (c *recordings) tell(s *Stats, ids []int32) {
	if !c.partial {
		return
	}
	s.Assumed = c.assumedBy
	for n, id := range ids {
		if c.begins[n] != nil {
			s.Attached = append(s.Attached, id)
		}
		if c.ends[n] != nil {
			s.Detached = append(s.Detached, id)
		}
	}
	if c.all == 0 {
		return
	}
	if s.JudgedFrom = c.first; c.first == 0 {
		s.JudgedFrom = -1
	}
}
