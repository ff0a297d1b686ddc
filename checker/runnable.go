package checker

import "context"

// Runnable is a specification whose type of states does not show, so that a
// command can list and explore any of them.
type Runnable interface {
	Info() *Info
	Run(opt Options) (*Result, error)
	Find(question string, opt Options) (*Result, error)
	Why(action, at string, opt Options) (*WhyResult, error)
	WhyStep(action string, step int, opt Options) (*WhyResult, error)
	Graph(limit int) (*StateGraph, error)
	Replay(ctx context.Context, f *ITF, limit int) (*Replayed, error)
	Simulate(opt SimulateOptions) (*Simulation, error)
	Witnesses(names []string, opt Options) (*Result, error)
}

// Erase makes a Runnable of a specification.
func Erase[S any](spec Spec[S]) Runnable { return erased[S]{spec} }

type erased[S any] struct{ spec Spec[S] }

func (e erased[S]) Info() *Info                      { return e.spec.Info() }
func (e erased[S]) Run(opt Options) (*Result, error) { return Run(e.spec, opt) }
func (e erased[S]) Find(predicate string, opt Options) (*Result, error) {
	return Find(e.spec, predicate, opt)
}
func (e erased[S]) Why(action, at string, opt Options) (*WhyResult, error) {
	return Why(e.spec, action, at, opt)
}
func (e erased[S]) WhyStep(action string, step int, opt Options) (*WhyResult, error) {
	return WhyStep(e.spec, action, step, opt)
}
func (e erased[S]) Graph(limit int) (*StateGraph, error) { return Graph(e.spec, limit) }

func (e erased[S]) Replay(ctx context.Context, f *ITF, limit int) (*Replayed, error) {
	return Replay(ctx, e.spec, f, limit)
}
func (e erased[S]) Simulate(opt SimulateOptions) (*Simulation, error) { return Simulate(e.spec, opt) }

func (e erased[S]) Witnesses(names []string, opt Options) (*Result, error) {
	return Witnesses(e.spec, names, opt)
}
