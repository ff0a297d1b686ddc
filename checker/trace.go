package checker

import (
	"fmt"
	"slices"
)

// trace rebuilds the behaviour that ends with the step r, by taking the steps
// of the log again.
func (s *search[S]) trace(r ref) ([]TraceStep, error) {
	var edges []uint32
	for {
		edges = append(edges, r.edge())
		if r.parent() == initial {
			break
		}
		var err error
		if r, err = s.refOf(r.parent()); err != nil {
			return nil, err
		}
	}
	slices.Reverse(edges)
	spec := s.workers[0].spec
	if canon := s.workers[0].canon; canon != nil {
		var err error
		if edges, err = realEdges(spec, canon, edges); err != nil {
			return nil, err
		}
	}
	return retrace(spec, s.info, edges)
}

// retrace is the behaviour that takes of the initial states, and then of the
// successors of each state, the one with the next number.
func retrace[S any](spec Spec[S], info *Info, edges []uint32) ([]TraceStep, error) {
	var steps []TraceStep
	var state S
	for _, want := range edges {
		found := false
		var next TraceStep
		var after S
		sink := newCollector(func(c successor[S]) {
			if c.edge != want {
				return
			}
			found = true
			after = *c.state
			next = TraceStep{Process: c.process, Instance: c.instance, Message: c.detail.message, Kept: c.detail.kept, Sends: c.detail.sends, Inner: c.detail.inner}
		})
		if len(steps) == 0 {
			spec.Init(sink)
			next.Process = -1
		} else {
			spec.Next(&state, sink)
		}
		if !found {
			return nil, fmt.Errorf("%s: successor %d of a state is not there the second time", info.Name, want)
		}
		state = after
		if len(steps) == 0 {
			next = TraceStep{Process: -1, Step: "initial state"}
		} else {
			next.Actor = info.processName(next.Process)
			next.Step = info.stepText(next.Process, next.Instance)
		}
		for j := range next.Inner {
			in := &next.Inner[j]
			in.Actor = info.processName(in.Process)
			if !in.Lost {
				in.Step = info.stepText(in.Process, in.Instance)
			}
		}
		next.State = after
		next.Fields = spec.Describe(&after)
		steps = append(steps, next)
	}
	return steps, nil
}

// stepText is a step in words.
func (info *Info) stepText(process int, i Instance) string {
	if info.FormatStep != nil {
		return info.FormatStep(process, i)
	}
	name := fmt.Sprintf("action %d", i.Action)
	if int(i.Action) < len(info.Actions) {
		name = info.Actions[i.Action]
	}
	return fmt.Sprintf("%s(%d)", name, i.Args)
}

// processName is how a reader knows a process.
func (info *Info) processName(process int) string {
	switch {
	case process < 0:
		return "environment"
	case process < len(info.Processes):
		return info.Processes[process]
	default:
		return fmt.Sprint(process)
	}
}
