package traces

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// Rejection says which event is no step of the specification, and why.
type Rejection struct {
	File   string `json:"file"`
	Line   int64  `json:"line"`
	Node   int32  `json:"node"`
	Inc    int32  `json:"inc"`
	Seq    int64  `json:"seq"`
	Action string `json:"action"`
	// Why in one sentence.
	Why string `json:"why"`
	// Guard that failed, if the action was not enabled, and the values it looked at.
	Guard       string `json:"guard,omitempty"`
	GuardValues string `json:"guard_values,omitempty"`
	// Properties that the step violates.
	Properties []string `json:"properties,omitempty"`
	// Differences between the step and the event.
	Differences []Difference `json:"differences,omitempty"`
	// Received is the message that the event handles.
	Received string `json:"received,omitempty"`
	// Unmatched is the message most like the one handled that was sent on its
	// connection and that nobody has handled.
	Unmatched string `json:"unmatched,omitempty"`
	// Sent is what the event sends.
	Sent string `json:"sent,omitempty"`
	// Before is the replica before the event, as the specification has it.
	Before string `json:"before"`
	// Nearest are the actions that were enabled, with the fewest differences first;
	// none if the one that was logged is among them.
	Nearest []Near `json:"nearest,omitempty"`
	// Waiting are the next events of the other nodes, if none can go on.
	Waiting []PastEvent `json:"waiting,omitempty"`
	// Past are the events that led here, the latest first: of the node, and of who
	// sent what it received.
	Past []PastEvent `json:"past,omitempty"`

	nodes []int32 // all, for Behaviour
	drawn []lastly
}

// Near is an enabled action, and in how many fields its step differs.
type Near struct {
	Action      string `json:"action"`
	Differences int    `json:"differences"`
	First       string `json:"first,omitempty"`
}

// PastEvent is an event that led to another.
type PastEvent struct {
	File   string `json:"file"`
	Line   int64  `json:"line"`
	Node   int32  `json:"node"`
	Inc    int32  `json:"inc"`
	Seq    int64  `json:"seq"`
	Action string `json:"action"`
	What   string `json:"what,omitempty"`
}

// past is an event as the validator remembers it.
type past struct {
	node, inc int32
	index     int64 // among all events of the node, from 0
	line, seq int64
	action    string
	from      int32 // who sent what it received
	fromIndex int64
	recv      bool
	send      string // kind of what it sent
	answers   bool
	to        int32
	// For pictures: the place among all events, what was observed, and which messages.
	order         int64
	state         event.State
	gotID, sentID messageID
	gotKind       string
	got, sent     string // gotID and sentID in words, in a report
}

func (v *validator) pastOf(n int, e *event.Event) past {
	d := &v.nodes[n]
	p := past{node: v.who.ids[n], inc: e.Inc, index: d.taken, line: d.source.Line(), seq: e.Seq, action: e.Action, order: v.stats.Events, state: e.State}
	switch {
	case e.Action != "":
	case e.Attach != nil:
		p.action = "attach"
	case e.Detach != nil:
		p.action = "detach"
	}
	if len(e.Send) > 0 {
		m := &e.Send[0]
		p.send, p.answers, p.to, p.sentID = m.Kind, m.Response, idOf(m).receiver(), idOf(m)
	}
	return p
}

// remember puts an event into the ring of its node.
func (v *validator) remember(n int, e *event.Event) {
	p := v.pastOf(n, e)
	if v.receives(e) {
		p.recv, p.from, p.fromIndex, p.gotID, p.gotKind = true, idOf(e.Recv).sender(), v.lastFrom, idOf(e.Recv), e.Recv.Kind
	}
	d := &v.nodes[n]
	d.ring[d.taken%ringSize] = p
	d.taken++
}

// describe prints a message with node ids.
func (v *validator) describe(m *event.Message) string {
	id := idOf(m)
	name := m.Kind
	if m.PreVote {
		name = "Pre" + name
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %d->%d epoch %d", name, direction(m.Response), id.sender(), id.receiver(), m.Epoch)
	switch {
	case m.Error != 0:
		fmt.Fprintf(&b, " error %d", m.Error)
	case m.Kind == event.Vote && m.Response:
		fmt.Fprintf(&b, " granted %v", m.Granted)
	case m.Diverging != nil:
		fmt.Fprintf(&b, " diverging epoch %d ends at %d", m.Diverging.Epoch, m.Diverging.EndOffset)
	case m.Kind == event.Fetch && m.Response:
		fmt.Fprintf(&b, " from %d records %s hw %d", m.Offset, runsText(m.Records), m.HighWatermark)
	case m.Kind == event.Vote || m.Kind == event.Fetch:
		fmt.Fprintf(&b, " offset %d last epoch %d", m.Offset, m.LastEpoch)
	}
	fmt.Fprintf(&b, " (connection %d->%d inc %d n %d, correlation %d)", m.Conn.From, m.Conn.To, m.Conn.Inc, m.Conn.N, m.Correlation)
	return b.String()
}

func hex(d uint64) string { return fmt.Sprintf("%016x", d) }

// replica prints a replica with node ids.
func (v *validator) replica(r *spec.Replica) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s epoch %d leader %d voted %d, log end %d last epoch %d flushed %d hw %d", r.Role, r.Election.Epoch,
		v.who.node(r.Election.Leader), v.who.node(r.Election.Voted), r.Log.End(), r.Log.LastEpoch(), r.FlushedEnd(), r.HighWatermark)
	if r.Role == spec.Leader {
		fmt.Fprintf(&b, " epoch start %d, followers", r.EpochStart)
		for i, id := range v.who.ids {
			if spec.ID(i+1) != r.ID && r.End[i] != spec.Unknown {
				fmt.Fprintf(&b, " %d:%d", id, r.End[i])
			}
		}
	}
	if r.Granted != 0 {
		b.WriteString(", granted by")
		for i, id := range v.who.ids {
			if r.Granted.Has(spec.ID(i + 1)) {
				fmt.Fprintf(&b, " %d", id)
			}
		}
	}
	if r.Role == spec.Follower {
		fmt.Fprintf(&b, ", has fetched %v", r.HasFetched)
	}
	return b.String()
}

// logText prints the runs of a log: 3@7x12 are twelve records that node 7 wrote in
// epoch 3, with a L its LeaderChange.
func (v *validator) logText(l *spec.Log) string {
	var runs []string
	for _, r := range l.Runs() {
		t := fmt.Sprintf("%d@%d", r.Epoch, v.who.node(r.Origin))
		if r.Kind == spec.LeaderChange {
			t = "L" + t
		}
		if r.Count > 1 || r.Kind == spec.Data {
			t += fmt.Sprintf("x%d", r.Count)
		}
		runs = append(runs, t)
	}
	const most = 8
	if n := len(runs); n > most {
		runs = append([]string{"…"}, runs[n-most:]...)
	}
	return "[" + strings.Join(runs, " ") + "]"
}

// about begins the report on the next event of node n.
func (v *validator) about(n int) *Rejection {
	d := &v.nodes[n]
	e := &d.event
	r := &Rejection{File: d.input.Name, Line: d.source.Line(), Node: v.who.ids[n], Inc: e.Inc, Seq: e.Seq, Action: e.Action}
	if r.Action == "" {
		r.Action = "(not logged)"
	}
	if e.Recv != nil {
		r.Received = v.describe(e.Recv)
	}
	if len(e.Send) > 0 {
		r.Sent = v.describe(&e.Send[0])
	}
	r.Before = v.replica(&v.worlds[0].replicas[n])
	return r
}

// mismatch reports an event that is no step in any world.
func (v *validator) mismatch(n int) *Rejection {
	if v.quiet {
		return &Rejection{}
	}
	r := v.about(n)
	e := &v.nodes[n].event
	v.muted = true
	defer func() { v.muted = false }()
	best := comparison{n: 1 << 30}
	var in *world
	for _, w := range v.worlds {
		c := comparison{verbose: true}
		v.ctx.Trial = &spec.Trial{}
		v.outcomes = v.outcomes[:0]
		v.apply(w, n, &w.replicas[n], e, &c)
		v.ctx.Trial = nil
		if in == nil || c.n < best.n {
			best, in = c, w
		}
	}
	r.Before = v.replica(&in.replicas[n])
	r.Differences = best.list
	switch {
	case best.blocked:
		r.Guard, r.GuardValues = best.guard.String(), best.values
		r.Why = fmt.Sprintf("%s is not enabled: guard %s is false", r.Action, r.Guard)
		if r.GuardValues != "" {
			r.Why += " (" + r.GuardValues + ")"
		}
	case e.Inc != v.nodes[n].inc && v.nodes[n].inc != 0:
		r.Why = "what the process found on its disk is not what a crash can have left of it"
		if v.budgets[n] == 0 && v.mayVote(&in.replicas[n]) {
			r.Why += " (that a disk was lost is a hidden step: -hidden 1 would allow it)"
		}
	case len(r.Differences) > 0 && strings.HasPrefix(r.Differences[0].Field, "recv."):
		r.Why = "the message handled is not the one that was sent"
		if near := v.unmatched(in, n); near.same {
			r.Unmatched = near.text
		}
	case best.digests > 0 && best.digests == best.n:
		r.Why = v.otherDigest(&best)
	case e.Action == "":
		r.Why = "no action of the specification has this effect here"
	case best.taken:
		r.Why = fmt.Sprintf("%s was possible, but not with this effect", r.Action)
	default:
		r.Why = fmt.Sprintf("the event cannot be a %s", r.Action)
	}
	if v.budgets[n] > 0 {
		r.Why += fmt.Sprintf("; nor after up to %d hidden steps", v.budgets[n])
	}
	v.lineOf(n, r)
	if first := e.Inc != v.nodes[n].inc; !first && !in.mute[n] && (best.blocked || !best.taken || e.Action == "") {
		r.Nearest = v.nearest(in, n, e)
	}
	r.Past = v.causes(n, maxPast)
	v.draw(n, r)
	return r
}

// lineOf takes the line that says what differs, if the trace was made of a log in which
// an event is several lines.
func (v *validator) lineOf(n int, r *Rejection) {
	s, ok := v.nodes[n].source.(interface{ LineOf(field string) int64 })
	if !ok || len(r.Differences) == 0 {
		return
	}
	if line := s.LineOf(r.Differences[0].Field); line > 0 {
		r.Line = line
	}
}

// otherDigest says why a digest cannot be. The specification has no digests of its
// own, it only knows which logs are equal.
func (v *validator) otherDigest(c *comparison) string {
	if c.list[0].Spec == "" {
		return "the event contradicts itself: the digests of its log in state and in log differ"
	}
	why := "the log has another digest than the same records had"
	if s := v.who.index(c.seen.node); s >= 0 && c.seen.line > 0 {
		why += fmt.Sprintf(" at node %d (%s:%d)", c.seen.node, short(v.nodes[s].input.Name), c.seen.line)
	}
	return why
}

// guarded prints what a guard looks at, where that is a few values.
func (v *validator) guarded(g spec.Guard, r *spec.Replica, args spec.Args, m *spec.Msg, e *event.Event) string {
	switch g {
	case spec.FlushInRange:
		field := "state.flushed"
		if e.Durable != nil && e.Durable.LogEnd >= 0 {
			field = "durable.logEnd"
		}
		return fmt.Sprintf("%s %d, flushed %d, log end %d", field, args.Count, r.FlushedEnd(), r.Log.End())
	case spec.SomethingToFlush, spec.LogFlushed, spec.TruncationFlushed:
		return fmt.Sprintf("flushed %d, log end %d", r.FlushedEnd(), r.Log.End())
	case spec.PrefixInRange:
		return fmt.Sprintf("%d records sent, fetch offset %d, log end %d", args.Count, m.Offset, r.Log.End())
	case spec.IsUp, spec.MayStand, spec.IsProspective, spec.IsNominee, spec.IsCandidate, spec.IsLeader, spec.IsResigned, spec.IsFetcher, spec.IsFollower:
		return "role " + r.Role.String()
	case spec.IsVoter, spec.OthersVote:
		return fmt.Sprintf("voters %v", v.nodeIDs(v.ctx.VotersOf(r)))
	case spec.HasMajority, spec.HasPreVotes:
		return fmt.Sprintf("granted by %v, voters %v", v.nodeIDs(r.Granted), v.nodeIDs(v.ctx.VotersOf(r)))
	case spec.NotGranted:
		return fmt.Sprintf("to %d, granted by %v", v.who.node(args.Dst), v.nodeIDs(r.Granted))
	case spec.ToOther, spec.ToOtherVoter:
		return fmt.Sprintf("to %d, voters %v", v.who.node(args.Dst), v.nodeIDs(v.ctx.VotersOf(r)))
	case spec.ToLeader:
		return fmt.Sprintf("to %d, leader %d", v.who.node(args.Dst), v.who.node(r.Election.Leader))
	case spec.SnapshotIsLater, spec.SnapshotInLog, spec.BelowHighWatermark, spec.BelowFlushed:
		return fmt.Sprintf("snapshot ends at %d, log start %d, latest snapshot %s, hw %d, flushed %d, log end %d",
			args.Count, r.LogStart, r.Snapshots.Latest(), r.HighWatermark, r.FlushedEnd(), r.Log.End())
	case spec.LogStartIsLater, spec.SnapshotHeld:
		return fmt.Sprintf("at %d, log start %d, snapshots %s", args.Count, r.LogStart, r.Snapshots.String())
	case spec.PartInRange:
		return fmt.Sprintf("%d bytes from %d of %d", args.Count, m.Position, args.Size)
	case spec.IsReceiving, spec.SnapshotReceived, spec.SnapshotWanted:
		return fmt.Sprintf("fetching %s of %d, log start %d, log end %d, hw %d", r.Fetching.String(), r.Fetching.Size, r.LogStart, r.Log.End(), r.HighWatermark)
	case spec.NoUncommittedChange, spec.NotInVoterSet, spec.InVoterSet, spec.NotLastVoter:
		return fmt.Sprintf("voter %d, voters %v, hw %d, log %s", v.who.node(args.Voter), v.nodeIDs(v.ctx.VotersOf(r)), r.HighWatermark, runsText(v.who.recordedAs(r.Log.Runs())))
	case spec.EpochCommitted:
		return fmt.Sprintf("hw %d, epoch start %d", r.HighWatermark, r.EpochStart)
	case spec.ReadConfirmed:
		return fmt.Sprintf("confirmed by %v, voters %v", v.nodeIDs(r.Confirmed), v.nodeIDs(v.ctx.VotersOf(r)))
	}
	return ""
}

// nodeIDs are the ids of the nodes in a set.
func (v *validator) nodeIDs(set spec.Set) []int32 {
	ids := []int32{}
	for i, id := range v.who.ids {
		if set.Has(spec.ID(i + 1)) {
			ids = append(ids, id)
		}
	}
	return ids
}

// nearest tries all other actions.
func (v *validator) nearest(w *world, n int, e *event.Event) []Near {
	var list []Near
	for a := spec.ActionID(0); a < spec.NumReplicaActions; a++ {
		switch a {
		case spec.ActionCrash, spec.ActionLoseDisk, spec.ActionRestart, spec.ActionAbandonSnapshot: // no event here can be one
			continue
		}
		if a.String() == e.Action || a.Handles() != v.receives(e) {
			continue
		}
		c := comparison{verbose: true}
		v.outcomes = v.outcomes[:0]
		v.attempt(w, n, &w.replicas[n], a, e, &c)
		if c.blocked || a.Handles() && w.bag[idOf(e.Recv)] != nil && spec.HandlerOf(&w.bag[idOf(e.Recv)].msg) != a {
			continue
		}
		near := Near{Action: a.String(), Differences: c.n}
		if len(c.list) > 0 {
			d := c.list[0]
			if near.First = d.text(); d.Spec != "" {
				near.First = fmt.Sprintf("%s %s, recorded %s", d.Field, d.Spec, d.Trace)
			}
		}
		list = append(list, near)
	}
	slices.SortStableFunc(list, func(a, b Near) int { return a.Differences - b.Differences })
	return list[:min(3, len(list))]
}

// violated reports a step of the specification after which a property fails.
func (v *validator) violated(w *world, n int, bad checker.Props) *Rejection {
	if v.quiet {
		return &Rejection{}
	}
	r := v.about(n)
	r.Properties = propertyNames(bad)
	r.Before = ""
	r.Why = "a step of the specification, after which a property does not hold: " + strings.Join(r.Properties, ", ")
	for i := range v.who.ids {
		r.Before += fmt.Sprintf("\n    node %d after it: %s, log %s", v.who.ids[i], v.replica(&w.replicas[i]), v.logText(&w.replicas[i].Log))
	}
	r.Past = v.causes(n, maxPast)
	v.draw(n, r)
	return r
}

func (v *validator) tooMany(n, worlds int) *Rejection {
	r := v.about(n)
	r.Why = fmt.Sprintf("%d ways to explain the run so far, more than the budget of %d", worlds, v.opt.MaxWorlds)
	return r
}

// stuck reports that every node waits for a message.
func (v *validator) stuck() *Rejection {
	if v.quiet {
		return &Rejection{}
	}
	for n := range v.who.ids {
		if d := &v.nodes[n]; d.ready && v.worlds[0].bag[idOf(d.event.Recv)] != nil {
			return v.mismatch(n) // it was sent, but looked different
		}
	}
	for n := range v.who.ids {
		if d := &v.nodes[n]; d.ready && v.forgotten[idOf(d.event.Recv).hash()] {
			v.exhausted = true
			r := v.about(n)
			r.Why = fmt.Sprintf("the message that it handles was sent more than %d events before, and what nobody receives is not kept for longer", keepUnreceived*v.pruneEvery)
			return r
		}
	}
	missing, err := neverSent(v.inputs, nil)
	// Who is to blame, rather than waits for them: who handles what never was, or what
	// another event handles too, or what is nearly what is there.
	worst, most := -1, -1
	var near unmatched
	var twice int64
	for n := range v.who.ids {
		d := &v.nodes[n]
		if !d.ready {
			continue
		}
		id, blame := idOf(d.event.Recv), 0
		also, like := v.handledToo(n), v.unmatched(v.worlds[0], n)
		if err == nil && missing[id] {
			blame += 8
		}
		if s := v.who.index(id.sender()); also != 0 || s >= 0 && v.nodes[s].ended {
			blame += 4
		}
		if like.same {
			blame += 2
		}
		if like.text != "" {
			blame++
		}
		if blame > most {
			worst, most, near, twice = n, blame, like, also
		}
	}
	r := v.about(worst)
	r.Unmatched = near.text
	for n := range v.who.ids {
		d := &v.nodes[n]
		if n == worst || !d.ready {
			continue
		}
		e := &d.event
		r.Waiting = append(r.Waiting, PastEvent{
			File: d.input.Name, Line: d.source.Line(), Node: v.who.ids[n], Inc: e.Inc, Seq: e.Seq, Action: e.Action,
			What: fmt.Sprintf("for the %s %s of %d, correlation %d", e.Recv.Kind, direction(e.Recv.Response), idOf(e.Recv).sender(), e.Recv.Correlation),
		})
	}
	id := idOf(v.nodes[worst].event.Recv)
	switch s := v.who.index(id.sender()); {
	case err == nil && missing[id]:
		r.Why = fmt.Sprintf("the message that it handles was never sent: no event of node %d shows it", id.sender())
		if s >= 0 && v.nodes[s].source == nil {
			r.Why = fmt.Sprintf("the message that it handles is of node %d, of which there is no trace", id.sender())
		}
	case twice != 0 && twice < r.Line:
		r.Why = fmt.Sprintf("the message that it handles has been handled before (%s:%d)", short(r.File), twice)
	case twice != 0:
		r.Why = fmt.Sprintf("the message that it handles was not sent before, and a later event handles it (%s:%d)", short(r.File), twice)
	case v.nodes[s].ended:
		r.Why = "the message that it handles has been handled before"
	default:
		r.Why = fmt.Sprintf("nobody can go on: the message that it handles was not sent before, and node %d waits too", id.sender())
	}
	r.Past = v.causes(worst, maxPast)
	v.draw(worst, r)
	return r
}

// unmatched is a message that was sent and not handled, in words; same: but for the
// correlation id it is the one looked for.
type unmatched struct {
	text string
	same bool
}

// unmatched finds what is most like the message that node n handles next, on the
// same connection in the same direction.
func (v *validator) unmatched(w *world, n int) unmatched {
	m := v.nodes[n].event.Recv
	want := idOf(m)
	var best unmatched
	var from *letter
	var found messageID
	distance := func(id messageID) int64 { return max(int64(id.corr)-int64(want.corr), int64(want.corr)-int64(id.corr)) }
	for _, id := range v.addressed(w, n) {
		if id.conn != want.conn || id.response != want.response || id == want {
			continue
		}
		for l := w.bag[id]; l != nil; l = l.next {
			if l.handled || l.msg.Kind.String() != m.Kind {
				continue
			}
			same := v.isSame(l, m)
			if from == nil || same && !best.same || same == best.same && distance(id) < distance(found) {
				best.same, from, found = same, l, id
			}
		}
	}
	if from == nil {
		return best
	}
	like := "another"
	if best.same {
		like = "the same"
	}
	where := ""
	if s := v.who.index(from.by.node); s >= 0 && from.by.line > 0 {
		where = fmt.Sprintf(" (%s:%d)", short(v.nodes[s].input.Name), from.by.line)
	}
	best.text = fmt.Sprintf("node %d sent correlation %d%s, %s %s %s on this connection, which nobody handled; the event names %d",
		found.sender(), found.corr, where, like, m.Kind, direction(m.Response), want.corr)
	return best
}

// handledToo is the line of another event of node n that handles the response which
// its next event handles, 0 if there is none.
func (v *validator) handledToo(n int) int64 {
	d := &v.nodes[n]
	want := idOf(d.event.Recv)
	if !want.response {
		return 0 // networks may copy requests
	}
	s, err := d.input.Open()
	if err != nil {
		return 0
	}
	defer closeSource(s)
	for {
		var e event.Event
		if s.Read(&e) != nil {
			return 0
		}
		if v.receives(&e) && idOf(e.Recv) == want && s.Line() != d.source.Line() {
			return s.Line()
		}
	}
}

const maxPast = 6

// causes are the latest events that the next event of node n depends on.
func (v *validator) causes(n, most int) []PastEvent {
	type at struct {
		n     int
		index int64
	}
	open := []at{{n, v.nodes[n].taken - 1}}
	if e := &v.nodes[n].event; v.receives(e) {
		if l := v.worlds[0].bag[idOf(e.Recv)]; l != nil {
			if s := v.who.index(l.by.node); s >= 0 {
				open = append([]at{{s, l.by.index}}, open...)
			}
		}
	}
	seen := map[at]bool{}
	var list []PastEvent
	for len(open) > 0 && len(list) < most {
		a := open[0]
		open = open[1:]
		d := &v.nodes[a.n]
		if a.index < 0 || a.index < d.taken-ringSize || seen[a] {
			continue
		}
		seen[a] = true
		p := &d.ring[a.index%ringSize]
		e := PastEvent{File: d.input.Name, Line: p.line, Node: p.node, Inc: p.inc, Seq: p.seq, Action: p.action}
		if p.recv {
			e.What = fmt.Sprintf("received from %d", p.from)
			if s := v.who.index(p.from); s >= 0 {
				open = append(open, at{s, p.fromIndex})
			}
		}
		if p.send != "" {
			if e.What != "" {
				e.What += ", "
			}
			e.What += fmt.Sprintf("sent %s %s to %d", p.send, direction(p.answers), p.to)
		}
		list = append(list, e)
		open = append(open, at{a.n, a.index - 1})
	}
	return list
}

// Text is the report for a reader, of at most 20 lines.
func (r *Rejection) Text() string {
	var lines []string
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	add("%s:%d: node %d, incarnation %d, event %d: %s", short(r.File), r.Line, r.Node, r.Inc, r.Seq, r.Action)
	add("  why: %s", r.Why)
	const most = 5
	for i, d := range r.Differences {
		if i == most {
			add("    … and %d more", len(r.Differences)-most)
			break
		}
		add("    %s", d.text())
	}
	if r.Received != "" {
		add("  received: %s", r.Received)
	}
	if r.Unmatched != "" {
		add("  unmatched: %s", r.Unmatched)
	}
	if r.Sent != "" {
		add("  sent: %s", r.Sent)
	}
	if strings.HasPrefix(r.Before, "\n") {
		lines = append(lines, strings.Split(r.Before[1:], "\n")...)
	} else {
		add("  before: %s", r.Before)
	}
	for _, p := range r.Waiting {
		add("  waiting: node %d inc %d event %d %s %s (%s:%d)", p.Node, p.Inc, p.Seq, p.Action, p.What, short(p.File), p.Line)
	}
	for i, n := range r.Nearest {
		if i == 2 {
			break
		}
		switch n.Differences {
		case 0:
			add("  nearest enabled: %s, which the event is but for its name", n.Action)
		case 1:
			add("  nearest enabled: %s, 1 difference (%s)", n.Action, n.First)
		default:
			add("  nearest enabled: %s, %d differences (%s)", n.Action, n.Differences, n.First)
		}
	}
	for i, p := range r.Past {
		label := "  after:"
		if i > 0 {
			label = "        "
		}
		add("%s node %d inc %d event %d %s %s (%s:%d)", label, p.Node, p.Inc, p.Seq, p.Action, p.What, short(p.File), p.Line)
	}
	if len(lines) > 20 {
		lines = lines[:20]
	}
	return strings.Join(lines, "\n")
}
