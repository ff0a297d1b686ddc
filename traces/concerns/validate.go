package concerns

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/quorate/quorate/spec/bootstrap"
	"github.com/quorate/quorate/spec/clusterid"
	"github.com/quorate/quorate/spec/composed"
	"github.com/quorate/quorate/spec/concern"
	"github.com/quorate/quorate/traces"
	event "github.com/quorate/quorate/traces/event/concern"
)

// Source gives the events of one node in order, io.EOF at the end. [event.Reader] is one.
type Source interface {
	Read(e *event.Event) error
	// Line is where the event last read stands, from 1.
	Line() int64
}

// Input is what one node recorded.
type Input struct {
	// Name is for reports: a file.
	Name string
	// Open starts reading from the beginning. A Source that is an io.Closer is closed.
	Open func() (Source, error)
	// Replica is the trace of its replica, nil if there is none.
	Replica *traces.Input
}

// Events is an input from memory.
func Events(name string, events []event.Event) Input {
	return Input{Name: name, Open: func() (Source, error) { return &traces.Memory[event.Event]{Events: events}, nil }}
}

// Find is what nodes recorded beside their traces, whose files are the inputs. A node that
// recorded nothing of this has no file, and is left out.
func Find(inputs []traces.Input) (list []Input, err error) {
	var dirs []string
	for _, in := range inputs {
		if dir := filepath.Dir(in.Name); !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		names, err := filepath.Glob(filepath.Join(dir, "concerns-*"))
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			node, ok := event.IsFileName(name)
			if !ok {
				continue
			}
			in := File(name)
			for i := range inputs {
				of := filepath.Join(dir, fmt.Sprintf("node-%d.", node)) // in whatever form
				if strings.HasPrefix(filepath.Clean(inputs[i].Name), of) {
					in.Replica = &inputs[i]
				}
			}
			list = append(list, in)
		}
	}
	return list, nil
}

// File is an input from a file.
func File(name string) Input {
	return Input{Name: name, Open: func() (Source, error) {
		r, err := event.Open(name)
		if err != nil {
			return nil, err
		}
		return r, nil
	}}
}

// Options of a validation.
type Options struct {
	// Hidden is how many steps on disk a process may have taken, at each of its ends, that it
	// had no time to record.
	Hidden int
	// Rules are those of the specification; nil: composed.CleanRules.
	Rules *composed.Rules
}

// Result of a validation.
type Result struct {
	Verdict traces.Verdict `json:"verdict"`
	// Events counts those that were held against the specification, by concern and action.
	Events map[string]map[string]int `json:"events"`
	// Processes that ran, and how many of their ends a later process has seen.
	Processes, Ends int
	// Tied counts the events that were held against the trace of the replica too.
	Tied int `json:"tied"`
	// Hidden steps that were needed, and events that change nothing to the specification.
	Hidden, Idle int
	Rejection    *Rejection `json:"rejection,omitempty"`
}

// Of is how many events of a concern there were.
func (r *Result) Of(concern string) (n int) {
	for _, k := range r.Events[concern] {
		n += k
	}
	return n
}

// Text is the result in a line.
func (r *Result) Text() string {
	hidden := ""
	if r.Hidden > 0 {
		hidden = fmt.Sprintf(", %d hidden steps", r.Hidden)
	}
	return fmt.Sprintf("%d events of bootstrap and %d of cluster ids (%d held against the log of their replica too), %d processes%s",
		r.Of(event.Bootstrap), r.Of(event.ClusterID), r.Tied, r.Processes, hidden)
}

// line is an event with its place.
type line struct {
	event.Event
	number int64
}

// node is what one node recorded.
type node struct {
	name    string
	id      int32
	lines   []line
	replica *replica
}

type validator struct {
	opt      Options
	rules    *composed.Rules
	boot     bootstrap.Ctx
	ids      clusterid.Ctx
	refused  concern.Refusal
	nodes    []*node
	clusters []string     // cluster ids, by clusterid.ID less one
	contents []event.File // bootstraps, by bootstrap.Content less firstContent
	records  records
	res      Result
}

// Validate holds what nodes recorded against the specification. The error is of the input: a
// [*traces.MalformedError], or one of reading.
func Validate(inputs []Input, opt Options) (*Result, error) {
	v := &validator{opt: opt, rules: opt.Rules}
	if v.rules == nil {
		v.rules = composed.CleanRules()
	}
	v.boot = bootstrap.Ctx{Rules: v.rules.Bootstrap, Drop: concern.Drop{Refused: &v.refused}}
	v.ids = clusterid.Ctx{Rules: v.rules.ClusterID, Drop: concern.Drop{Refused: &v.refused}}
	v.res.Events = map[string]map[string]int{event.Bootstrap: {}, event.ClusterID: {}}
	for _, in := range inputs {
		n, err := load(in)
		if err != nil {
			return nil, err
		}
		v.nodes = append(v.nodes, n)
	}
	slices.SortFunc(v.nodes, func(a, b *node) int { return cmp.Compare(a.id, b.id) })
	for _, n := range v.nodes {
		v.records.collect(n)
	}
	v.records.settle()
	for _, n := range v.nodes {
		err := v.run(n)
		switch {
		case errors.Is(err, errBounds):
			v.res.Verdict = traces.OutOfBudget
			return &v.res, nil
		case err != nil:
			return nil, err
		case v.res.Rejection != nil:
			v.res.Verdict = traces.Rejected
			return &v.res, nil
		}
	}
	if v.judge(); v.res.Rejection != nil {
		v.res.Verdict = traces.Rejected
	}
	return &v.res, nil
}

// load reads what a node recorded.
func load(in Input) (*node, error) {
	source, err := in.Open()
	if err != nil {
		return nil, err
	}
	if c, ok := source.(io.Closer); ok {
		defer c.Close()
	}
	n := &node{name: in.Name, id: -1}
	for {
		var e event.Event
		switch err := source.Read(&e); {
		case err == io.EOF:
			n.replica, err = openReplica(in.Replica)
			return n, err
		case err != nil:
			var path *fs.PathError
			if errors.As(err, &path) {
				return nil, err
			}
			return nil, &traces.MalformedError{Name: in.Name, Line: source.Line(), Err: err}
		}
		n.id = e.Node
		n.lines = append(n.lines, line{e, source.Line()})
	}
}

// run holds the events of a node against the specification.
func (v *validator) run(n *node) (err error) {
	defer n.replica.close()
	at := 0
	defer func() {
		if p := recover(); p == error(errBounds) {
			r := because("%v", errBounds)
			v.res.Rejection, err = v.reject(n, at, r), errBounds
		} else if p != nil {
			panic(p)
		}
	}()
	states := []*state{{}}
	process := int32(0)
	for i := range n.lines {
		e := &n.lines[i]
		at = i
		if e.Process != process {
			if process > 0 {
				states = v.end(states)
				v.res.Ends++
			}
			process = e.Process
			v.res.Processes++
		}
		if err := n.replica.advance(e.Inc, e.After); err != nil {
			return err
		}
		var next []*state
		var why *refusal
		for _, s := range states {
			now := s.clone()
			now.idle = false
			v.refused = concern.Refusal{}
			r := v.step(n, now, &e.Event)
			if r == nil {
				next = append(next, now)
			} else if why == nil || len(r.differences) < len(why.differences) {
				r.before = v.describe(s)
				why = r
			}
		}
		if len(next) == 0 {
			v.res.Rejection = v.reject(n, i, why)
			return nil
		}
		states = fewest(next)
		if states[0].idle {
			v.res.Idle++
		}
		v.res.Events[e.Concern][e.Action]++
		if n.replica.tied(e.Inc, e.After) {
			v.res.Tied++
		}
	}
	v.res.Hidden += states[0].hidden
	return nil
}

// fewest are the states that differ, and of those that do not the one with the fewest hidden
// steps.
func fewest(list []*state) (kept []*state) {
	slices.SortStableFunc(list, func(a, b *state) int { return cmp.Compare(a.hidden, b.hidden) })
	seen := map[string]bool{}
	for _, s := range list {
		if key := s.key(); !seen[key] {
			seen[key] = true
			kept = append(kept, s)
		}
	}
	return kept
}
