package audit

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
)

// Deletion is one guard or effect taken away, and what came of it.
type Deletion struct {
	Action spec.ActionID
	// Guard, or, if it is NoGuard, Field: a field of spec.Replica, or "send".
	Guard spec.Guard
	Field string
	// Caught by a property, in a model; empty if nothing noticed.
	Property, Model string
	// Reason why it is redundant in the models that were tried; empty if nobody
	// has given one.
	Reason string
}

// Name is Action.Guard or Action.Field.
func (d Deletion) Name() string {
	if d.Guard != spec.NoGuard {
		return d.Action.String() + "." + d.Guard.String()
	}
	return d.Action.String() + "." + d.Field
}

// Deletions takes away, in turn, each guard that ever refused and each effect that
// ever happened in the given models, and explores them, the first that notices
// being enough. Models should be small, the smallest first. done is told of each.
func Deletions(models []*spec.Model, workers int, done func(Deletion)) ([]Deletion, error) {
	guards, effects, clean, err := exercised(models, workers)
	if err != nil {
		return nil, err
	}
	var all []Deletion
	try := func(d Deletion, v spec.Variant, in []*spec.Model) error {
		for _, m := range in {
			property, err := broken(m, v, clean[m].Never(), clean[m].Distinct, workers)
			if err != nil {
				return err
			}
			if property != "" {
				d.Property, d.Model = property, m.Name
				break
			}
		}
		if d.Property == "" {
			d.Reason = reason(d)
		}
		all = append(all, d)
		if done != nil {
			done(d)
		}
		return nil
	}
	for _, g := range guards {
		d := Deletion{Action: g.action, Guard: g.guard}
		if err := try(d, spec.Variant{DropAction: g.action, DropGuard: g.guard}, g.models); err != nil {
			return nil, err
		}
	}
	for _, e := range effects {
		d := Deletion{Action: e.effect.Action, Field: e.effect.Field}
		if err := try(d, spec.Variant{DropEffect: e.effect}, e.models); err != nil {
			return nil, err
		}
	}
	return all, nil
}

type usedGuard struct {
	action spec.ActionID
	guard  spec.Guard
	models []*spec.Model
}

type usedEffect struct {
	effect spec.Effect
	models []*spec.Model
}

// exercised explores the clean models and lists what they use, and in which.
func exercised(models []*spec.Model, workers int) ([]usedGuard, []usedEffect, map[*spec.Model]*checker.Result, error) {
	guards := map[[2]int]*usedGuard{}
	effects := map[spec.Effect]*usedEffect{}
	clean := map[*spec.Model]*checker.Result{}
	for _, m := range models {
		s := spec.NewSystem(m, spec.Variant{})
		seen := &watcher{System: s, merged: m.MergeFlush, effects: map[spec.Effect]bool{}}
		res, err := checker.Run(checker.Interned[spec.Replica, spec.Msg, spec.Ghost](seen), checker.Options{Workers: workers})
		if err != nil {
			return nil, nil, nil, fmt.Errorf("model %s: %w", m.Name, err)
		}
		clean[m] = res
		for a, byGuard := range s.Coverage() {
			for g, n := range byGuard {
				if n[0] == 0 {
					continue
				}
				key := [2]int{a, g}
				if guards[key] == nil {
					guards[key] = &usedGuard{action: spec.ActionID(a), guard: spec.Guard(g)}
				}
				guards[key].models = append(guards[key].models, m)
			}
		}
		for e := range seen.effects {
			if effects[e] == nil {
				effects[e] = &usedEffect{effect: e}
			}
			effects[e].models = append(effects[e].models, m)
		}
	}
	var gs []usedGuard
	for _, g := range guards {
		gs = append(gs, *g)
	}
	slices.SortFunc(gs, func(a, b usedGuard) int {
		return (int(a.action)-int(b.action))<<8 + int(a.guard) - int(b.guard)
	})
	var es []usedEffect
	for _, e := range effects {
		es = append(es, *e)
	}
	slices.SortFunc(es, func(a, b usedEffect) int {
		if a.effect.Action != b.effect.Action {
			return int(a.effect.Action) - int(b.effect.Action)
		}
		if a.effect.Field < b.effect.Field {
			return -1
		}
		return 1
	})
	return gs, es, clean, nil
}

// watcher notes which fields each action changes.
type watcher struct {
	*spec.System
	// merged: what the model flushes at once is not an effect of the action.
	merged  bool
	effects map[spec.Effect]bool
}

func (w *watcher) Local(r *spec.Replica, b checker.Budget, out *checker.Steps[spec.Replica, spec.Msg]) {
	n := len(out.List)
	w.System.Local(r, b, out)
	w.note(r, out.List[n:])
}

func (w *watcher) Deliver(r *spec.Replica, m *spec.Msg, out *checker.Steps[spec.Replica, spec.Msg]) {
	n := len(out.List)
	w.System.Deliver(r, m, out)
	w.note(r, out.List[n:])
}

func (w *watcher) note(r *spec.Replica, steps []checker.Step[spec.Replica, spec.Msg]) {
	old := reflect.ValueOf(r).Elem()
	for i := range steps {
		a := spec.ActionID(steps[i].Instance.Action)
		now := reflect.ValueOf(&steps[i].Next).Elem()
		for f := range old.NumField() {
			field := old.Type().Field(f).Name
			if w.merged && (field == "Disk" || field == "HighWatermark") {
				continue
			}
			if !old.Field(f).Equal(now.Field(f)) {
				w.effects[spec.Effect{Action: a, Field: field}] = true
			}
		}
		if steps[i].SendN > 0 {
			w.effects[spec.Effect{Action: a, Field: "send"}] = true
		}
	}
}

// broken explores a model under a variant, and returns what shows it: a property
// that does not restate a guard, a sometimes property that is no longer reached,
// or a value that no longer fits the model.
func broken(m *spec.Model, v spec.Variant, never []string, distinct uint64, workers int) (string, error) {
	var names []string
	for _, p := range spec.Properties {
		if p.Restates == "" {
			names = append(names, p.Name)
		}
	}
	opt := checker.Options{Workers: workers, Properties: names, MaxDistinct: 5 * distinct}
	res, err := checker.Run(checker.Interned(spec.NewSystem(m, v)), opt)
	var outside *checker.ModelError
	if errors.As(err, &outside) {
		return "model error", nil
	}
	if err != nil {
		return "", fmt.Errorf("model %s: %w", m.Name, err)
	}
	if len(res.Violations) > 0 {
		return res.Violations[0].Property, nil
	}
	if res.Status == checker.Limit {
		return "", nil // it is a larger protocol, and so far not a wrong one
	}
	for _, p := range res.Never() {
		if !slices.Contains(never, p) {
			return p + " never reached", nil
		}
	}
	return "", nil
}
