package traces

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// Options of a validation.
type Options struct {
	// Run says who took part. Nil: every node that has a trace is a voter, with
	// Pre-Vote.
	Run *Run
	// Hidden is how many hidden steps there may be between two events of a node.
	Hidden int
	// NoInvariants leaves the properties of the specification out.
	NoInvariants bool
	// Rules are those of the protocol; nil: spec.CleanRules.
	Rules *spec.Rules
	// MaxWorlds is how many explanations are followed at once (256), MaxSearch how
	// many hidden actions are tried at one place (100000).
	MaxWorlds, MaxSearch int
	// At, unless nil, is called after each Every events, to watch a long validation.
	At    func(events int64)
	Every int64
}

// Verdict is what came of a validation.
type Verdict int

// Verdicts. Accepted: the run is a behaviour of the specification, with the hidden
// steps that are reported, and its properties hold. OutOfBudget: a bound was
// reached before an answer.
const (
	Accepted Verdict = iota
	Rejected
	OutOfBudget
)

var verdictNames = [...]string{"accepted", "rejected", "out of budget"}

func (v Verdict) String() string { return verdictNames[v] }

// MarshalText is String.
func (v Verdict) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// Result of a validation.
type Result struct {
	Verdict   Verdict    `json:"verdict"`
	Stats     Stats      `json:"stats"`
	Rejection *Rejection `json:"rejection,omitempty"`
}

// Validate holds a run against the specification. The error is of the input: a
// [*MalformedError], or one of reading.
//
// Hidden steps are taken only where the next event needs some, as few as it needs. If that
// leads nowhere, and opt.Hidden allows steps of every kind, the run is validated again with
// all ways in which hidden steps may explain it so far, so that a rejection is a proof for
// the budget; if they are too many, the verdict is out of budget.
func Validate(inputs []Input, opt Options) (*Result, error) {
	res, err := validate(inputs, opt, false)
	if err != nil || res.Verdict != Rejected || opt.Hidden == 0 {
		return res, err
	}
	all, err := validate(inputs, opt, true)
	if err != nil || all.Verdict != OutOfBudget {
		return all, err
	}
	res.Verdict = OutOfBudget
	res.Rejection.Why += "; there are more ways to take hidden steps before it than were tried"
	return res, nil
}

func validate(inputs []Input, opt Options, exhaustive bool) (*Result, error) {
	v, err := newValidator(inputs, opt)
	if err != nil {
		return nil, err
	}
	v.exhaustive = exhaustive
	defer v.close()
	if opt.Hidden > 0 {
		if v.unlogged, err = neverSent(inputs, nil); err != nil {
			return nil, err
		}
	}
	if err := v.load(); err != nil {
		return nil, err
	}
	res, err := v.run()
	if err == nil && res.Rejection != nil {
		if left, ok := v.left(); ok {
			res.Stats.Total = res.Stats.Events + left
		}
	}
	return res, err
}

// left reads the rest of the traces and counts it; false if it cannot be read.
func (v *validator) left() (events int64, ok bool) {
	for n := range v.who.ids {
		d := &v.nodes[n]
		if !d.ready {
			continue
		}
		var e event.Event
		for err := error(nil); err != io.EOF; err = d.source.Read(&e) {
			if err != nil {
				return 0, false
			}
			events++
		}
	}
	return events, true
}

// node is the position in the trace of one node.
type node struct {
	input  Input
	source Source
	event  event.Event // the next
	ready  bool        // event is set
	ended  bool
	// inc, seq and step are of the event last taken; 0: none.
	inc       int32
	seq, step int64
	id        event.Node
	// ring are the events last taken, for reports.
	ring  [ringSize]past
	taken int64
	incs  int
}

const ringSize = 32

type validator struct {
	opt    Options
	inputs []Input
	who    *members
	ctx    spec.Ctx
	outbox spec.Outbox
	nodes  [spec.MaxReplicas]node
	worlds []*world
	at     int // the node that took the last event
	stats  counters

	// unlogged are the messages that are received and that no event sends.
	unlogged map[messageID]bool
	// unsaid is what the recorder leaves out; budget is how many hidden steps there may be
	// between two events of a node.
	unsaid     unlogged
	budget     int
	exhaustive bool // hidden steps are tried also where none are needed
	tries      int
	exhausted  bool
	outcomes   []outcome
	lastFrom   int64 // position, at its node, of the event that sent what was last received
	quiet      bool  // a rejection needs no reasons
	muted      bool  // noting of tolerated differences is off
	cut        recordings
	news       nodeSet // what the event taken tells its node of recordings that begin late
}

func newValidator(inputs []Input, opt Options) (*validator, error) {
	if opt.MaxWorlds == 0 {
		opt.MaxWorlds = 256
	}
	if opt.MaxSearch == 0 {
		opt.MaxSearch = 100_000
	}
	if opt.Rules == nil {
		opt.Rules = spec.CleanRules()
	}
	if len(inputs) == 0 {
		return nil, errors.New("no trace")
	}
	if opt.At != nil && opt.Every < 1 {
		return nil, fmt.Errorf("every is %d, and At is to be called after each that many events", opt.Every)
	}
	v := &validator{opt: opt, inputs: inputs}
	first := make([]event.Event, len(inputs))
	sources := make([]Source, len(inputs))
	var ids []int32
	fail := func(err error) (*validator, error) {
		for _, s := range sources {
			closeSource(s)
		}
		return nil, err
	}
	for i, in := range inputs {
		var err error
		if sources[i], err = in.Open(); err != nil {
			return fail(err)
		}
		switch err := sources[i].Read(&first[i]); {
		case err == io.EOF:
			if t, ok := sources[i].(interface{ Torn() int }); ok && t.Torn() > 0 {
				return fail(&MalformedError{in.Name, 1, fmt.Errorf("no events: from here on every line is torn (%d)", t.Torn())})
			}
			return fail(&MalformedError{Name: in.Name, Err: errors.New("no events")})
		case err != nil:
			return fail(malformed(in.Name, err))
		}
		id := first[i].Node.ID
		if k := slices.Index(ids, id); k >= 0 {
			return fail(&MalformedError{in.Name, sources[i].Line(), fmt.Errorf("node %d has another trace, %s", id, inputs[k].Name)})
		}
		if ids = append(ids, id); len(ids) > spec.MaxReplicas {
			return fail(&MalformedError{Name: in.Name, Err: fmt.Errorf("one of %d traces, the specification has room for %d replicas", len(inputs), spec.MaxReplicas)})
		}
	}
	run := opt.Run
	if run == nil {
		run = &Run{Voters: ids, PreVote: PreVote{All: true}}
	}
	var err error
	if v.who, err = run.members(); err != nil {
		return fail(err)
	}
	if v.unsaid, err = run.Unlogged.check(); err != nil {
		return fail(err)
	}
	if v.budget = opt.Hidden; run.Unlogged != nil {
		v.budget = max(v.budget, run.Unlogged.Hidden)
	}
	v.ctx = spec.Ctx{Rules: opt.Rules, Voters: v.who.voters}
	for i, in := range inputs {
		n, line, dir := v.who.index(ids[i]), sources[i].Line(), first[i].Node.Dir
		if n < 0 {
			return fail(&MalformedError{in.Name, line, fmt.Errorf("node %d takes no part in the run (replicas %v)", ids[i], v.who.ids)})
		}
		if want := run.dir(ids[i]); want != "" && dir != "" && dir != want {
			return fail(&MalformedError{in.Name, line, fmt.Errorf("node %d has directory %q, in the description of the run %q", ids[i], dir, want)})
		}
		v.nodes[n] = node{input: in, source: sources[i], event: first[i], ready: true, id: first[i].Node}
	}
	for n := range v.who.ids {
		if v.nodes[n].source == nil {
			v.nodes[n].ended = true
		}
	}
	v.worlds = []*world{newWorld(v.who)}
	v.stats.MaxWorlds = 1
	return v, nil
}

func malformed(name string, err error) error {
	var m *MalformedError
	if errors.As(err, &m) {
		return err
	}
	return &MalformedError{Name: name, Err: err}
}

func closeSource(s Source) {
	if c, ok := s.(io.Closer); ok {
		c.Close()
	}
}

func (v *validator) close() {
	for i := range v.nodes {
		closeSource(v.nodes[i].source)
	}
}

// neverSent reads all traces for messages that are received, but not sent. see, if there,
// is called with every event.
func neverSent(inputs []Input, see func(e *event.Event)) (map[messageID]bool, error) {
	sent, missing := map[messageID]bool{}, map[messageID]bool{}
	for _, in := range inputs {
		s, err := in.Open()
		if err != nil {
			return nil, err
		}
		var e event.Event
		for {
			if err = s.Read(&e); err != nil {
				break
			}
			if see != nil {
				see(&e)
			}
			if m := e.Recv; m != nil && !m.External && !sent[idOf(m)] {
				missing[idOf(m)] = true
			}
			for i := range e.Send {
				id := idOf(&e.Send[i])
				if sent[id] = true; missing[id] {
					delete(missing, id)
				}
			}
		}
		closeSource(s)
		if err != io.EOF {
			return nil, malformed(in.Name, err)
		}
	}
	return missing, nil
}

// load checks the first events, which newValidator has read.
func (v *validator) load() error {
	for n := range v.who.ids {
		if v.nodes[n].ready {
			if err := v.admit(n); err != nil {
				return err
			}
		}
	}
	return nil
}

// next reads the next event of node n.
func (v *validator) next(n int) error {
	d := &v.nodes[n]
	d.ready = false
	switch err := d.source.Read(&d.event); {
	case err == io.EOF:
		d.ended = true
		return nil
	case err != nil:
		return malformed(d.input.Name, err)
	}
	d.ready = true
	return v.admit(n)
}

// admit checks that the event read is the next of its node, and sound in itself.
func (v *validator) admit(n int) error {
	d := &v.nodes[n]
	e := &d.event
	err := v.check(e)
	switch {
	case err != nil:
	case e.Node != d.id:
		err = fmt.Errorf("node %d (directory %q) in the trace of node %d (directory %q)", e.Node.ID, e.Node.Dir, d.id.ID, d.id.Dir)
	case e.Inc < d.inc || e.Inc < 1:
		err = fmt.Errorf("incarnation %d after incarnation %d", e.Inc, d.inc)
	case e.Inc == d.inc && e.Seq != d.seq+1, e.Inc > d.inc && e.Seq != 1:
		err = fmt.Errorf("incarnation %d, event %d after incarnation %d, event %d: a gap", e.Inc, e.Seq, d.inc, d.seq)
	case e.Attach != nil && d.inc != 0:
		err = errors.New("recording begins, in a trace that has an event")
	case v.cut.ends[n] != nil:
		err = errors.New("recording had ended with the event before")
	case e.Inc == d.inc && e.Step < d.step:
		err = fmt.Errorf("step %d after step %d", e.Step, d.step)
	default:
		return nil
	}
	return &MalformedError{d.input.Name, d.source.Line(), err}
}

// run takes events until none is left or none can be.
func (v *validator) run() (*Result, error) {
	if err := v.survey(); err != nil {
		return nil, err
	}
	if rejection := v.begin(); rejection != nil {
		return v.result(rejection), nil
	}
	for {
		n := v.choose()
		if n < 0 {
			return v.end(), nil
		}
		rejection := v.take(n)
		if rejection != nil {
			return v.result(rejection), nil
		}
		if v.nodes[n].event.Detach != nil {
			if err := v.detached(n); err != nil {
				return nil, err
			}
		}
		if err := v.next(n); err != nil {
			return nil, err
		}
	}
}

func (v *validator) result(rejection *Rejection) *Result {
	res := &Result{Stats: v.summary(), Rejection: rejection}
	switch {
	case rejection == nil:
	case v.exhausted:
		res.Verdict = OutOfBudget
	default:
		res.Verdict = Rejected
	}
	return res
}

// end: no node can go on.
func (v *validator) end() *Result {
	for n := range v.who.ids {
		if v.nodes[n].ready {
			return v.result(v.stuck())
		}
	}
	return v.result(nil)
}

// choose finds a node whose next event can be taken: what it receives has been
// sent. It stays with a node as long as it can; a restart waits until nobody else
// can go on, if hidden steps before it may still be asked for.
func (v *validator) choose() int {
	if v.opt.Hidden > 0 && len(v.unlogged) > 0 {
		return v.chooseHidden()
	}
	if v.canTake(v.at) {
		return v.at
	}
	for n := range v.who.ids {
		if v.canTake(n) {
			v.at = n
			return n
		}
	}
	if n := v.ending(); n >= 0 || !v.cut.partial {
		return n
	}
	v.cut.twice = true
	defer func() { v.cut.twice = false }()
	for n := range v.who.ids {
		if v.canTake(n) {
			v.at = n
			return n
		}
	}
	return -1
}

// ending finds a node whose recording ends next. That waits until nobody else can go on,
// since nothing is known of the node from then on.
func (v *validator) ending() int {
	for n := range v.who.ids {
		if d := &v.nodes[n]; d.ready && d.event.Detach != nil {
			return n
		}
	}
	return -1
}

// canTake also assumes the message that the event needs, if it may.
func (v *validator) canTake(n int) bool {
	d := &v.nodes[n]
	if !d.ready || d.event.Detach != nil {
		return false
	}
	if !v.receives(&d.event) {
		return true
	}
	id := idOf(d.event.Recv)
	for _, w := range v.worlds {
		for l := w.bag[id]; l != nil; l = l.next {
			// A response that differs may be the one to a copy of the request.
			if !id.response || v.isSame(l, d.event.Recv) {
				return true
			}
		}
	}
	return v.assumed(n, d.event.Recv)
}

// isSame says whether a letter is the message that was recorded.
func (v *validator) isSame(l *letter, m *event.Message) bool {
	var c comparison
	v.message(&c, "", &l.msg, m)
	return c.n == 0
}

// chooseHidden is choose where messages are received that no event sends. What
// sent them is most likely the last thing that a process did, so a node stops
// before it starts again until nobody else can go on.
func (v *validator) chooseHidden() int {
	for {
		for n := range v.who.ids {
			if v.canTake(n) && !v.restarts(n) {
				return n
			}
		}
		if n := v.ending(); n >= 0 {
			return n
		}
		if !v.findHidden(true) && !v.findHidden(false) {
			break
		}
	}
	owing := func(n int) bool {
		for id := range v.unlogged {
			if id.sender() == v.who.ids[n] {
				return true
			}
		}
		return false
	}
	last := -1
	for n := range v.who.ids {
		if v.canTake(n) {
			if !owing(n) {
				return n
			}
			last = n
		}
	}
	return last
}

// restarts says whether the next event of a node begins another incarnation.
func (v *validator) restarts(n int) bool {
	d := &v.nodes[n]
	return d.ready && d.inc != 0 && d.event.Inc != d.inc
}

// findHidden looks for hidden steps that send what somebody waits for; ending:
// only of nodes whose incarnation has no further event.
func (v *validator) findHidden(ending bool) bool {
	var waiting []int
	for n := range v.who.ids {
		d := &v.nodes[n]
		if !d.ready || !v.receives(&d.event) || v.canTake(n) {
			continue
		}
		s := v.who.index(idOf(d.event.Recv).sender())
		if s >= 0 && (!ending || v.nodes[s].ended || v.restarts(s)) {
			waiting = append(waiting, n)
		}
	}
	// Requests have been sent in the order of their correlation ids, if their sender counts
	// them; before them, answers.
	slices.SortStableFunc(waiting, func(a, b int) int {
		x, y := idOf(v.nodes[a].event.Recv), idOf(v.nodes[b].event.Recv)
		if x.response || y.response {
			return 0
		}
		return cmp.Compare(x.corr, y.corr)
	})
	if v.exhaustive {
		return v.anyHidden(waiting)
	}
	for _, n := range waiting {
		if v.hiddenSend(n) {
			return true
		}
	}
	return false
}

// anyHidden follows whichever of the messages that nodes wait for is sent first.
func (v *validator) anyHidden(waiting []int) bool {
	var all []*world
	before := v.worlds
	for _, n := range waiting {
		if v.worlds = before; v.hiddenSend(n) {
			for _, w := range v.worlds {
				if all = v.join(all, w); len(all) > v.opt.MaxWorlds {
					v.exhausted = true
				}
			}
		}
		if v.exhausted {
			break
		}
	}
	if v.worlds = before; len(all) == 0 || v.exhausted {
		return false
	}
	v.worlds = all
	return true
}

// take takes the next event of node n in every world. It returns why none is left.
func (v *validator) take(n int) *Rejection {
	d := &v.nodes[n]
	e := &d.event
	old := v.worlds
	if len(old) == 1 && !v.exhaustive { // nearly always
		w := old[0]
		v.outcomes = v.outcomes[:0]
		var c comparison
		v.apply(w, n, &w.replicas[n], e, &c)
		if len(v.outcomes) == 1 {
			if bad := v.commit(w, n, &v.outcomes[0], e); bad != 0 {
				return v.violated(w, n, bad)
			}
			v.done(n)
			return nil
		}
	}
	var next []*world
	var dead *world
	hidden := v.exhaustive
	if v.exhaustive && v.receives(e) && v.unlogged[idOf(e.Recv)] {
		old = v.withMessage(old, n)
	}
	for {
		for _, w := range old {
			if len(next) > v.opt.MaxWorlds {
				break
			}
			v.outcomes = v.outcomes[:0]
			if hidden {
				v.applyHidden(w, n, e)
			} else {
				v.apply(w, n, &w.replicas[n], e, &comparison{})
			}
			for i := range v.outcomes {
				to := w.clone()
				if bad := v.commit(to, n, &v.outcomes[i], e); bad != 0 {
					to.bad, dead = bad, to
					continue
				}
				next = v.join(next, to)
			}
		}
		if len(next) > 0 || hidden || v.budget == 0 || dead != nil {
			break
		}
		hidden = true
	}
	switch {
	case len(next) == 0 && v.exhausted:
		return v.mismatch(n)
	case len(next) == 0 && dead != nil:
		return v.violated(dead, n, dead.bad)
	case len(next) == 0:
		return v.mismatch(n)
	case len(next) > v.opt.MaxWorlds:
		v.exhausted = true
		return v.tooMany(n, len(next))
	}
	v.worlds = next
	v.stats.MaxWorlds = max(v.stats.MaxWorlds, len(next))
	v.done(n)
	return nil
}

// withMessage makes hidden steps send what node n receives, where they have not yet: they
// may have sent something else before.
func (v *validator) withMessage(worlds []*world, n int) []*world {
	id := idOf(v.nodes[n].event.Recv)
	s := v.who.index(id.sender())
	var list []*world
	for _, w := range worlds {
		if w.bag[id] != nil {
			list = v.join(list, w)
		} else if s >= 0 {
			list = v.produce(list, w, s, n)
		}
	}
	return list
}

// join adds a world unless an equal one is there.
func (v *validator) join(list []*world, w *world) []*world {
	w.key = v.keyOf(w)
	for _, o := range list {
		if o.key == w.key && v.sameWorld(o, w) {
			if sum(o.hidden[:]) > sum(w.hidden[:]) {
				o.hidden, o.reached = w.hidden, w.reached
			}
			return list
		}
	}
	return append(list, w)
}

func sum(list []int32) (n int32) {
	for _, k := range list {
		n += k
	}
	return n
}

func (v *validator) sameWorld(a, b *world) bool {
	if a.reading != b.reading || a.mute != b.mute || a.digestless != b.digestless || len(a.bag) != len(b.bag) || len(a.digests) != len(b.digests) {
		return false
	}
	for n := range v.who.ids {
		if !sameReplica(&a.replicas[n], &b.replicas[n]) {
			return false
		}
	}
	if a.ghost.ReadFloor != b.ghost.ReadFloor || !a.ghost.Exposed.SameAs(&b.ghost.Exposed) || !a.ghost.ExposedIn.SameAs(&b.ghost.ExposedIn) ||
		!a.ghost.Chosen.SameAs(&b.ghost.Chosen) || !a.ghost.ChosenIn.SameAs(&b.ghost.ChosenIn) || a.ghost.Starts != b.ghost.Starts {
		return false
	}
	for id, l := range a.bag {
		o := b.bag[id]
		if o == l {
			continue
		}
		if o == nil || o.read != l.read || o.open != l.open || o.parked != l.parked || o.handled != l.handled || o.next != l.next || !o.msg.Records.SameAs(&l.msg.Records) {
			return false
		}
		x, y := o.msg, l.msg
		x.Records, y.Records = spec.Log{}, spec.Log{}
		if x != y {
			return false
		}
	}
	for k, d := range a.digests {
		if o, ok := b.digests[k]; !ok || o.digest != d.digest {
			return false
		}
	}
	return true
}

// commit makes an outcome of an event the state of its world.
func (v *validator) commit(w *world, n int, o *outcome, e *event.Event) checker.Props {
	if bad := v.walk(w, n, o.hidden); bad != 0 {
		return bad
	}
	if o.crashed != nil {
		if bad := v.move(w, n, spec.ActionCrash, o.crashed); bad != 0 {
			return bad
		}
	}
	w.mute[n], w.reading[n] = o.mute, o.read
	w.reached |= o.reached
	if o.mute {
		v.tolerate(DiedBeforeSending)
	}
	var bad checker.Props
	v.news = 0
	if v.receives(e) {
		l := w.bag[idOf(e.Recv)]
		if v.news = l.past; l.assumed {
			w.ghost.NoteStarts(&o.replica)
		}
	}
	if !o.stutter && !sendsOnly(o.action) {
		bad = v.move(w, n, o.action, &o.replica)
	}
	if o.forgets {
		v.tolerate(ResignedForgets)
		w.replicas[n].HighWatermark = spec.Unknown
	}
	if v.receives(e) {
		id := idOf(e.Recv)
		l := *w.bag[id]
		v.lastFrom = l.by.index
		if id.response {
			delete(w.bag, id)
		} else {
			if o.action == spec.ActionHandleFetchRequest && !o.hasSent && !o.mute {
				l.parked = true
			} else {
				if l.handled {
					v.stats.Copies++
				}
				l.handled = true
			}
			l.gen = v.stats.Events / pruneEvery
			w.bag[id] = &l
		}
	}
	if o.hasSent {
		s := v.sends(e)
		l := &letter{msg: o.sent, read: o.sentRead, by: origin{v.who.ids[n], v.nodes[n].taken, v.nodes[n].source.Line()}, past: v.cut.past[n] | v.news}
		if id := idOf(&s[0]); id.response {
			q := w.bag[id.other()]
			l.unread = q != nil && q.unread
		}
		id := idOf(&s[0])
		l.open = v.untold(&s[0]) && s[0].Bytes > 0
		if r := v.who.index(id.receiver()); r >= 0 {
			l.inc = v.nodes[r].inc
		}
		l.next = w.bag[id]
		w.bag[id] = l
		if o.action == spec.ActionHandleFetchSnapshotRequest && s[0].Size > 0 {
			w.sizes[sizeOf{n, e.Inc, s[0].Snapshot}] = s[0].Size
		}
	}
	if o.action == spec.ActionInstallSnapshot && e.Log != nil {
		w.digestless[n] = e.Log.NoDigest
	}
	if e.State.Has&event.HasDigest != 0 {
		v.note(w, n, e.State.Digest)
	} else if e.Log != nil && !e.Log.NoDigest {
		v.note(w, n, e.Log.Digest)
	}
	return bad
}

func (v *validator) note(w *world, n int, digest uint64) {
	k := digestKeyOf(&w.replicas[n].Log)
	if _, known := w.digests[k]; !known {
		w.digests[k] = noted{digest, v.who.ids[n], v.nodes[n].source.Line()}
	}
}

func sendsOnly(a spec.ActionID) bool {
	switch a {
	case spec.ActionSendVoteRequest, spec.ActionSendBeginQuorumEpoch, spec.ActionSendEndQuorumEpoch, spec.ActionSendFetch:
		return true
	}
	return false
}

// walk takes hidden steps.
func (v *validator) walk(w *world, n int, steps []hiddenStep) checker.Props {
	for i := range steps {
		w.hidden[steps[i].action]++
		w.reached |= steps[i].reached
		if bad := v.move(w, n, steps[i].action, &steps[i].after); bad != 0 {
			return bad
		}
		if steps[i].action == spec.ActionInstallSnapshot {
			w.digestless[n] = true // nobody has said
		}
		if steps[i].recv != nil {
			delete(w.bag, *steps[i].recv)
		}
	}
	return 0
}

// done moves the position of node n past its event.
func (v *validator) done(n int) {
	d := &v.nodes[n]
	e := &d.event
	v.remember(n, e)
	if e.Inc != d.inc {
		if d.inc != 0 {
			v.stats.Crashes++
		}
		d.incs++
	}
	d.inc, d.seq, d.step = e.Inc, e.Seq, e.Step
	if v.receives(e) && len(v.unlogged) > 0 {
		delete(v.unlogged, idOf(e.Recv))
	}
	v.stats.event(e, v.receives(e) && !e.Args.Park, len(e.Send))
	v.heard(n)
	if v.opt.At != nil && v.stats.Events%v.opt.Every == 0 {
		v.opt.At(v.stats.Events)
	}
	if v.stats.Events%condenseEvery == 0 && !v.opt.NoInvariants {
		for _, w := range v.worlds {
			spec.Condense(&w.ghost, w.ptrs[:len(v.who.ids)])
		}
	}
	if v.stats.Events%pruneEvery == 0 {
		for _, w := range v.worlds {
			v.prune(w)
		}
	}
}

func short(name string) string { return filepath.Base(name) }
