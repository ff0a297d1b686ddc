package checker

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/expr-lang/expr"
	"github.com/expr-lang/expr/ast"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/types"
	"github.com/expr-lang/expr/vm"
)

// Names that a predicate of Find may use besides those of the state: of the step that
// led to it. In the first state, to which no step led, action and process are empty
// and nothing has changed; before is then that state itself.
const (
	nameAction  = "action"  // the name of the action
	nameProcess = "process" // who took it, as "A", or "environment"
	nameBefore  = "was"     // the names of the state before the step
	nameChanged = "changed" // changed("A.role"), changed("role"): a field differs
)

// inquiry is a question of Find about states of type S.
type inquiry[S any] struct {
	words     map[string][]string // that fields may have, by the name of the field
	text      string
	spec      Spec[S]
	env       Environment[S]
	names     types.Map
	atoms     []*predicate
	automaton *automaton
	root      int
}

// predicate is a part of a question that is judged in one state.
type predicate struct {
	text    string
	program *vm.Program
	// Which names of the step it uses.
	step, before, changed bool
}

// inquire reads a question and compiles its predicates. It returns the only predicate of a
// question that is not about time.
func inquire[S any](spec Spec[S], env Environment[S], text string) (*inquiry[S], *predicate, error) {
	q := &inquiry[S]{text: text, spec: spec, env: env, automaton: newAutomaton()}
	var first map[string]any
	spec.Init(newCollector(func(c successor[S]) {
		if first == nil {
			first = env.Env(c.state)
			q.names = typesOf(first)
		}
	}))
	state := q.names
	q.names = types.Map{}
	for name, t := range state {
		q.names[name] = t
	}
	info := spec.Info()
	q.words = maps.Clone(info.Words)
	if q.words == nil {
		q.words = map[string][]string{}
	}
	if q.own(nameAction, types.String) {
		q.words[nameAction] = info.Actions
	}
	if q.own(nameProcess, types.String) {
		q.words[nameProcess] = append(slices.Clone(info.Processes), info.processName(-1))
	}
	q.own(nameBefore, state)
	q.own(nameChanged, types.TypeOf(func(string) bool { return false }))
	p, err := parseQuestion(text)
	if err != nil {
		return nil, nil, err
	}
	if p.op == "" {
		only, err := q.compile(p)
		if err != nil {
			return nil, nil, tellNames(fmt.Errorf("predicate: %w", err), first)
		}
		if !only.step {
			return q, only, nil
		}
		p = &phrase{op: "eventually", parts: []*phrase{p}, at: p.at, text: p.text}
	}
	if err := q.build(p); err != nil {
		return nil, nil, tellNames(err, first)
	}
	return q, nil, nil
}

// own adds a name of a step, unless states have it already.
func (q *inquiry[S]) own(name string, t types.Type) bool {
	_, taken := q.names[name]
	if !taken {
		q.names[name] = t
	}
	return !taken
}

func (q *inquiry[S]) build(p *phrase) (err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case *questionError:
			err = cause
		case *predicateError:
			err = &questionError{q.text, 0, cause.cause.Error()}
		default:
			panic(cause)
		}
	}()
	q.root = q.automaton.build(p, false, func(p *phrase) int {
		i := slices.IndexFunc(q.atoms, func(a *predicate) bool { return a.text == p.text })
		if i >= 0 {
			return i
		}
		if len(q.atoms) == maxAtoms {
			panic(&questionError{q.text, p.at, fmt.Sprintf("more than %d predicates", maxAtoms)})
		}
		a, err := q.compile(p)
		if err != nil {
			panic(q.misplaced(p, err))
		}
		q.atoms = append(q.atoms, a)
		return len(q.atoms) - 1
	})
	return nil
}

// misplaced is an error of expr-lang as one of the whole question.
func (q *inquiry[S]) misplaced(p *phrase, err error) *questionError {
	var e *file.Error
	if !errors.As(err, &e) {
		return &questionError{q.text, p.at, err.Error()}
	}
	at := p.at
	for n := e.From; n > 0 && at < len(q.text); n-- {
		_, size := utf8.DecodeRuneInString(q.text[at:])
		at += size
	}
	return &questionError{q.text, at, e.Message}
}

// compile also finds out which names of the step a predicate uses.
func (q *inquiry[S]) compile(p *phrase) (*predicate, error) {
	a := &predicate{text: p.text}
	uses := &stepNames{predicate: a, words: q.words}
	var err error
	a.program, err = expr.Compile(p.text, expr.Env(q.names), expr.AsBool(), expr.Patch(uses))
	if err == nil {
		err = uses.unknown
	}
	if err == nil && len(uses.fields) > 0 {
		err = q.knows(uses.fields)
	}
	return a, err
}

// knows refuses names of fields that no state has.
func (q *inquiry[S]) knows(fields []string) error {
	l := &lookout{names: fields, seen: map[string]bool{}, known: map[string]bool{}}
	side := &observedSide[S]{Spec: q.spec}
	if err := side.observe(l); err != nil {
		return err
	}
	return l.missing(q.spec.Info())
}

type stepNames struct {
	*predicate
	fields  []string
	words   map[string][]string
	unknown error // a word that a field is compared with and cannot have
}

// compared holds a word to those of the field that it is compared with.
func (u *stepNames) compared(field, word ast.Node) {
	name := ""
	switch f := field.(type) {
	case *ast.IdentifierNode:
		name = f.Value
	case *ast.MemberNode:
		if p, ok := f.Property.(*ast.StringNode); ok {
			name = p.Value
		}
	}
	known, ok := u.words[name]
	if !ok {
		return
	}
	switch w := word.(type) {
	case *ast.StringNode:
		if u.unknown == nil && !slices.Contains(known, w.Value) {
			u.unknown = Unknown(name, w.Value, known)
		}
	case *ast.ArrayNode:
		for _, one := range w.Nodes {
			u.compared(field, one)
		}
	}
}

// Visit implements ast.Visitor.
func (u *stepNames) Visit(node *ast.Node) {
	switch n := (*node).(type) {
	case *ast.IdentifierNode:
		switch n.Value {
		case nameAction, nameProcess:
			u.step = true
		case nameBefore:
			u.step, u.before = true, true
		case nameChanged:
			u.step, u.changed = true, true
		}
	case *ast.BinaryNode:
		switch n.Operator {
		case "==", "!=":
			u.compared(n.Left, n.Right)
			u.compared(n.Right, n.Left)
		case "in":
			u.compared(n.Left, n.Right)
		}
	case *ast.CallNode:
		if id, ok := n.Callee.(*ast.IdentifierNode); ok && id.Value == nameChanged && len(n.Arguments) == 1 {
			if s, ok := n.Arguments[0].(*ast.StringNode); ok {
				u.fields = append(u.fields, s.Value)
			}
		}
	}
}

// asked is a state, and what a behaviour that led to it still needs.
type asked struct {
	S parcel
	Q uint64
}

// asking is a specification whose behaviours are those that may still answer a
// question.
type asking[S any] struct {
	*inquiry[S]
	info   *Info
	finger func(*S) uint64
	idle   sync.Pool
}

func newAsking[S any](q *inquiry[S]) *asking[S] {
	info := *q.spec.Info()
	info.Properties = nil
	a := &asking[S]{inquiry: q, info: &info, finger: fingerprintOf(q.spec)}
	a.idle.New = func() any { return a.fork() }
	return a
}

func (a *asking[S]) Info() *Info { return a.info }

func (a *asking[S]) Init(out *Sink[asked]) { a.fork().(*askingWorker[S]).Init(out) }

func (a *asking[S]) Next(s *asked, out *Sink[asked]) {
	w := a.idle.Get().(*askingWorker[S])
	w.Next(s, out)
	a.idle.Put(w)
}

func (a *asking[S]) Check(*asked) (violated, reached Props) { return 0, 0 }

func (a *asking[S]) Fingerprint(s *asked) uint64 {
	return mix(a.finger(opened[S](&s.S))^s.Q*spread, hashK1)
}

func (a *asking[S]) Describe(s *asked) []Field {
	fields := a.spec.Describe(opened[S](&s.S))
	for i, text := range a.automaton.waits(uint32(s.Q)) {
		fields = append(fields, Field{fmt.Sprintf("question.waits for %d", i+1), text})
	}
	return fields
}

func (a *asking[S]) fork() Spec[asked] {
	w := &askingWorker[S]{asking: a, spec: a.inquiry.spec}
	if f, ok := w.spec.(forker[S]); ok {
		w.spec = f.fork()
	}
	w.sink = newCollector(func(c successor[S]) { w.took(c) })
	return w
}

// askingWorker is a fork for one worker.
type askingWorker[S any] struct {
	*asking[S]
	spec    Spec[S]
	sink    *Sink[S]
	out     *Sink[asked]
	from    *asked // nil: initial states are taken
	machine vm.VM
	// recent has what the predicates of states are in states that were seen lately.
	recent [1 << 12]judgedState
	// of from, when something asks for them
	before map[string]any
	fields []Field
}

type judgedState struct{ fp, atoms uint64 }

func (w *askingWorker[S]) Init(out *Sink[asked]) {
	w.begin(nil, out)
	w.spec.Init(w.sink)
}

func (w *askingWorker[S]) Next(s *asked, out *Sink[asked]) {
	w.begin(s, out)
	w.spec.Next(opened[S](&s.S), w.sink)
	out.bounded |= w.sink.bounded
}

func (w *askingWorker[S]) begin(from *asked, out *Sink[asked]) {
	w.from, w.out, w.before, w.fields = from, out, nil, nil
	w.sink.plain, w.sink.edge, w.sink.bounded = !out.explains(), 0, 0
}

// took passes a successor on if a behaviour that goes there may still answer.
func (w *askingWorker[S]) took(c successor[S]) {
	atoms := w.judge(&c)
	var q uint32
	if w.from == nil {
		q = w.automaton.begin(w.root, atoms)
	} else {
		q = w.automaton.step(uint32(w.from.Q), atoms)
	}
	if q == 0 && w.from != nil {
		return
	}
	if w.out.explains() {
		w.out.detail = c.detail
	}
	*w.out.Slot() = asked{parcelOf(c.state), uint64(q)}
	w.out.Commit(c.process, c.instance, 0, 0)
}

// judge evaluates the predicates.
func (w *askingWorker[S]) judge(c *successor[S]) uint64 {
	fp := w.finger(c.state)
	known := &w.recent[fp*spread>>52]
	var env map[string]any
	eval := func(a *predicate) bool {
		if env == nil {
			env = w.env.Env(c.state)
		}
		if a.step {
			w.addStep(env, c, a)
		}
		out, err := w.machine.Run(a.program, env)
		if err != nil {
			panic(&predicateError{err})
		}
		return out.(bool)
	}
	if known.fp != fp || fp == 0 {
		*known = judgedState{fp: fp}
		for i, a := range w.atoms {
			if !a.step && eval(a) {
				known.atoms |= 1 << i
			}
		}
	}
	atoms := known.atoms
	for i, a := range w.atoms {
		if a.step && eval(a) {
			atoms |= 1 << i
		}
	}
	return atoms
}

// addStep adds the names of the step to those of the state after it.
func (w *askingWorker[S]) addStep(env map[string]any, c *successor[S], a *predicate) {
	set := func(name string, value func() any) {
		if _, taken := env[name]; !taken {
			env[name] = value()
		}
	}
	first := w.from == nil
	set(nameAction, func() any {
		if first {
			return ""
		}
		return w.info.Actions[c.instance.Action]
	})
	set(nameProcess, func() any {
		if first {
			return ""
		}
		return w.info.processName(c.process)
	})
	if a.before {
		set(nameBefore, func() any {
			if first {
				return w.env.Env(c.state)
			}
			if w.before == nil {
				w.before = w.env.Env(opened[S](&w.from.S))
			}
			return w.before
		})
	}
	if a.changed {
		set(nameChanged, func() any {
			var changes []Change
			if !first {
				if w.fields == nil {
					w.fields = w.spec.Describe(opened[S](&w.from.S))
				}
				changes = Changes(w.fields, w.spec.Describe(c.state))
			}
			return func(name string) bool {
				return slices.ContainsFunc(changes, func(c Change) bool { return c.Path == name || lastPart(c.Path) == name })
			}
		})
	}
}
