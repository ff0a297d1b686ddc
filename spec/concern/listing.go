package concern

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/quorate/quorate/checker"
)

// Listing is what a concern with models of type M and rules of type R lists of itself.
type Listing[M, R any] struct {
	Name, Doc string
	Actions   []string
	Mutants   []string
	// Guards has the names of the guards, and GuardsOf those that an action asks for.
	Guards     []string
	GuardsOf   func(action uint8) []Guard
	Properties []checker.Property
	Models     []M
	// About is what a model says of itself, but for its pin.
	About     func(*M) Model
	Constants []Constant[M]
	Mutations []Mutated[R]
	Lives     []Live
	Pins      map[string]Pin
	Steps     map[string]int
	Clean     func() *R
	// New is a Spec of a model under rules, without a guard.
	New func(*M, *R, Drop) any
}

// Mutated is a bug put back: one rule overridden.
type Mutated[R any] struct {
	Mutation
	Override func(*R)
}

// Constant is a number of a model that may be set by its name.
type Constant[M any] struct {
	Name        string
	Least, Most int
	get         func(*M) int
	set         func(*M, int)
}

// Number is a constant in a range.
func Number[M any, N ~int | ~int32 | ~uint8](name string, least, most int, at func(*M) *N) Constant[M] {
	return Constant[M]{name, least, most, func(m *M) int { return int(*at(m)) }, func(m *M, v int) { *at(m) = N(v) }}
}

// Switch is a constant that is 0 or 1.
func Switch[M any](name string, at func(*M) *bool) Constant[M] {
	return Constant[M]{name, 0, 1, func(m *M) int {
		if *at(m) {
			return 1
		}
		return 0
	}, func(m *M, v int) { *at(m) = v == 1 }}
}

// Concern is the listing without its types.
func (l *Listing[M, R]) Concern() *Concern {
	c := &Concern{Name: l.Name, Doc: l.Doc, Actions: l.Actions, Mutants: l.Mutants, Properties: l.Properties, Lives: l.Lives}
	for i := range l.Models {
		about := l.About(&l.Models[i])
		about.Pin = l.Pins[about.Name]
		c.Models = append(c.Models, about)
	}
	for i := range l.Mutations {
		mu := l.Mutations[i].Mutation
		mu.Steps = l.Steps[mu.ID]
		c.Mutations = append(c.Mutations, mu)
	}
	for a, name := range l.Actions {
		for _, g := range l.GuardsOf(uint8(a)) {
			c.Guards = append(c.Guards, name+"."+l.Guards[g])
		}
	}
	c.New, c.Constants, c.Changed = l.make, l.constants, l.changed
	return c
}

// find is a model with constants set.
func (l *Listing[M, R]) find(name string, set []Setting) (*M, error) {
	i := slices.IndexFunc(l.Models, func(m M) bool { return l.About(&m).Name == name })
	if i < 0 {
		return nil, fmt.Errorf("%s has no model %q", l.Name, name)
	}
	m := l.Models[i]
	for _, s := range set {
		at := slices.IndexFunc(l.Constants, func(c Constant[M]) bool { return c.Name == s.Name })
		if at < 0 {
			var names []string
			for _, c := range l.Constants {
				names = append(names, c.Name)
			}
			return nil, fmt.Errorf("no constant %q; there are %s", s.Name, strings.Join(names, ", "))
		}
		c := &l.Constants[at]
		v, err := strconv.Atoi(s.Value)
		if err != nil || v < c.Least || v > c.Most {
			return nil, fmt.Errorf("%s=%s: want a number from %d to %d", s.Name, s.Value, c.Least, c.Most)
		}
		c.set(&m, v)
	}
	return &m, nil
}

func (l *Listing[M, R]) constants(model string) (list [][3]string) {
	m, err := l.find(model, nil)
	if err != nil {
		return nil
	}
	for _, c := range l.Constants {
		list = append(list, [3]string{c.Name, strconv.Itoa(c.get(m)), fmt.Sprintf("%d to %d", c.Least, c.Most)})
	}
	return list
}

func (l *Listing[M, R]) changed(model string, set []Setting) (*Model, error) {
	m, err := l.find(model, set)
	if err != nil {
		return nil, err
	}
	about := l.About(m)
	return &about, nil
}

func (l *Listing[M, R]) make(model string, v Variant) (any, error) {
	m, err := l.find(model, v.Set)
	if err != nil {
		return nil, err
	}
	rules := l.Clean()
	if v.Mutation != "" {
		i := slices.IndexFunc(l.Mutations, func(mu Mutated[R]) bool { return mu.ID == v.Mutation })
		if i < 0 {
			return nil, fmt.Errorf("%s has no mutation %q", l.Name, v.Mutation)
		}
		l.Mutations[i].Override(rules)
	}
	var drop Drop
	if v.Guard != "" {
		if drop, err = l.guard(v.Guard); err != nil {
			return nil, err
		}
	}
	return l.New(m, rules, drop), nil
}

// guard finds a guard by Action.Guard.
func (l *Listing[M, R]) guard(name string) (Drop, error) {
	action, guard, _ := strings.Cut(name, ".")
	if a := slices.Index(l.Actions, action); a >= 0 {
		for _, g := range l.GuardsOf(uint8(a)) {
			if l.Guards[g] == guard {
				return Drop{Action: uint8(a), Guard: g}, nil
			}
		}
	}
	return Drop{}, fmt.Errorf("%s has no guard %q", l.Name, name)
}
