package traces

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

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
	// HiddenAt are the nodes that may take them; nil: all.
	HiddenAt []int32
	// NoInvariants leaves the properties of the specification out.
	NoInvariants bool
	// Rules are those of the protocol; nil: spec.CleanRules.
	Rules *spec.Rules
	// Trial, unless nil, is told of the guards of all actions that were tried.
	Trial *spec.Trial
	// MaxWorlds is how many explanations are followed at once (256), MaxSearch how
	// many hidden actions are tried at one place (100000).
	MaxWorlds, MaxSearch int
	// At, unless nil, is called after each Every events, to watch a long validation.
	At    func(events int64)
	Every int64

	pruneEvery int64 // for tests
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

// UnmarshalText reads what MarshalText writes.
func (v *Verdict) UnmarshalText(text []byte) error {
	for i, name := range verdictNames {
		if name == string(text) {
			*v = Verdict(i)
			return nil
		}
	}
	return fmt.Errorf("unknown verdict %q", text)
}

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
// the budget; if they are too many, the verdict is out of budget. So it is if the events alone
// can be explained in too many ways to follow them as worlds.
func Validate(inputs []Input, opt Options) (*Result, error) {
	res, err := validate(inputs, opt, likely)
	if err != nil || res.Verdict == Accepted || res.Verdict == Rejected && opt.Hidden == 0 {
		return res, err
	}
	all, err := validate(inputs, opt, apart)
	if errors.Is(err, errTogether) {
		all, err = validate(inputs, opt, together)
	}
	if err != nil || all.Verdict != OutOfBudget {
		return all, err
	}
	if res.Verdict == Rejected {
		res.Verdict = OutOfBudget
		res.Rejection.Why += "; there are more ways to take hidden steps before it than were tried"
	}
	return res, nil
}

// way is how hidden steps are looked for.
type way int

const (
	likely   way = iota // where an event needs some, the fewest
	apart               // all, of each node for itself
	together            // all, as worlds
)

// errTogether: hidden steps of nodes cannot be followed apart.
var errTogether = errors.New("only whole worlds can be followed here")

func validate(inputs []Input, opt Options, how way) (*Result, error) {
	return validateTo(inputs, opt, how, 0)
}

// validateTo is validate where it is known which event is the first that cannot be, if stop
// is not 0.
func validateTo(inputs []Input, opt Options, how way, stop int64) (*Result, error) {
	v, err := newValidator(inputs, opt)
	if err != nil {
		return nil, err
	}
	v.exhaustive = how != likely
	defer v.close()
	if opt.Hidden > 0 {
		if how == apart {
			err = v.foresee()
		} else {
			v.unlogged, err = neverSent(inputs, nil)
		}
		if err != nil {
			return nil, err
		}
	}
	if err := v.load(); err != nil {
		return nil, err
	}
	v.stopAt = stop
	if v.silent = -1; how == apart {
		v.hush()
		v.scenes = []*scene{newScene(v.worlds[0], len(v.who.ids))}
	}
	res, err := v.run()
	switch {
	case v.violates, v.tangled:
		return nil, errTogether
	case v.stopAt > 0 && stop == 0 && err == nil:
		return validateTo(inputs, opt, how, v.stopAt)
	}
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
	// scenes, if there are any, are what is followed in place of worlds, of which there is
	// then one: a choice of what the scenes have left (see scene.go).
	scenes   []*scene
	tangled  bool                // the moves of the choice cannot be put in an order
	violates bool                // the choice violates a property
	awaited  map[messageID]int32 // messages that events are still to receive, and how often
	// missing are the messages of each node that no event sends. inOrder: requests are
	// numbered in the order in which they are sent.
	missing [spec.MaxReplicas][]owed
	inOrder bool
	silent  int // the node without a trace that is judged by itself, -1 if there is none
	silence *silence
	stopAt  int64 // the event, among all, that is known not to be; 0: none
	order   int64
	// pruneEvery is how many events there are between two looks at what can be forgotten;
	// forgotten are messages that nobody had received for long, by their hashes.
	pruneEvery int64
	forgotten  map[uint64]bool
	shown      *world
	spare      hiddenStep
	flushTo    int64       // where a flush ends that does not say it; 0: as far as it can
	clean      *spec.Rules // the rules, if they are those of the protocol and the voter set stays

	at    int // the node that took the last event
	stats counters

	// unlogged are the messages that are received and that no event sends.
	unlogged map[messageID]bool
	// unsaid is what the recorder leaves out; budgets are how many hidden steps there may
	// be between two events of each node, and free says whether they may be of any kind.
	unsaid     unlogged
	budgets    [spec.MaxReplicas]int
	free       [spec.MaxReplicas]bool
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
	var clean *spec.Rules
	if opt.Rules == nil {
		clean = spec.CleanRules()
		opt.Rules = clean
	}
	if len(inputs) == 0 {
		return nil, errors.New("no trace")
	}
	if opt.At != nil && opt.Every < 1 {
		return nil, fmt.Errorf("every is %d, and At is to be called after each that many events", opt.Every)
	}
	v := &validator{opt: opt, inputs: inputs, clean: clean, pruneEvery: cmp.Or(opt.pruneEvery, pruneEvery)}
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
	for n, id := range v.who.ids {
		if run.Unlogged != nil {
			v.budgets[n] = run.Unlogged.Hidden
		}
		if v.free[n] = opt.Hidden > 0 && (opt.HiddenAt == nil || slices.Contains(opt.HiddenAt, id)); v.free[n] {
			v.budgets[n] = max(v.budgets[n], opt.Hidden)
		}
	}
	for _, id := range opt.HiddenAt {
		if v.who.index(id) < 0 {
			return fail(fmt.Errorf("hidden steps at node %d, which takes no part in the run (replicas %v)", id, v.who.ids))
		}
	}
	if v.who.dynamic {
		v.clean = nil // what follows from the rules is said of a set that stays (deadend.go, lazy.go, silent.go)
	}
	if run.AsksVoters {
		rules := *opt.Rules
		rules.MayAsk = func(*spec.Ctx, *spec.Replica, spec.ID) bool { return true }
		opt.Rules, v.clean = &rules, nil
	}
	v.ctx = spec.Ctx{Rules: opt.Rules, Voters: v.who.voters, Dynamic: v.who.dynamic, Trial: opt.Trial}
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
	if v.scenes != nil && v.cut.partial {
		return nil, errTogether
	}
	if rejection := v.begin(); rejection != nil {
		return v.result(rejection), nil
	}
	for {
		n := v.choose()
		if n < 0 {
			return v.end(), nil
		}
		take := v.take
		if v.scenes != nil {
			take = v.takeApart
		}
		if v.stopAt > 0 && v.stats.Events+1 == v.stopAt {
			v.represent()
			return v.result(v.unsent(n)), nil
		}
		rejection := take(n)
		if rejection != nil {
			return v.result(rejection), nil
		}
		if v.nodes[n].event.Detach != nil {
			if v.scenes != nil {
				return nil, errTogether
			}
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
	if v.scenes != nil {
		if r := v.judgeSilent(); r != nil {
			return v.result(r)
		}
		v.represent()
	}
	for n := range v.who.ids {
		if v.nodes[n].ready {
			return v.result(v.stuck())
		}
	}
	return v.result(nil)
}

func short(name string) string { return filepath.Base(name) }
