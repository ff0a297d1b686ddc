package checker

import (
	"fmt"
	"math/bits"
	"time"
)

// result puts together what the workers counted, and rebuilds counterexamples.
func (s *search[S]) result() (*Result, error) {
	r := &Result{
		Spec: s.info.Name, Processes: s.info.Processes, Legend: s.info.Legend, Status: Holds, LimitedBy: s.limitedBy, Partial: s.partial,
		Initial: s.initial, Depth: s.depth, Widest: s.widest, Levels: s.levels, Workers: len(s.workers),
	}
	var bitten [boundBits]uint64
	fired := make([]ActionCount, len(s.info.Actions))
	for i, name := range s.info.Actions {
		fired[i].Name = name
	}
	r.Distinct = s.others.used()
	for _, w := range s.workers {
		r.Distinct += w.log.used
		r.Generated += w.generated
		r.Projected += w.projected
		r.Stuck += w.stuck
		r.Stopped += w.stopped
		for i := range fired {
			fired[i].Fired += w.sink.fired[i]
			fired[i].Within += w.sink.within[i]
		}
		for i, n := range w.bits {
			bitten[i] += n
		}
	}
	s.countOrbits(r)
	r.Actions = fired
	r.Bounds = boundCounts(s.info, &bitten)
	r.Memory, r.TableBytes = s.memory, s.memory.Tables
	if r.Exact = s.opt.Exact; !r.Exact {
		r.Omission = omissions(r.Distinct, r.Generated)
	}
	if s.limitedBy != "" {
		r.Status, r.Checkpoint = Limit, s.last
	}
	r.Seconds = time.Since(s.began).Seconds()
	if s.goal != nil {
		return r, s.judgeGoal(r)
	}
	if err := s.judge(r); err != nil {
		return r, err
	}
	if s.opt.Coverage {
		r.Coverage = s.coverage(r)
		r.Coverage.warn(s.info, r)
	}
	if !s.opt.Explain {
		return r, nil
	}
	var tallies []*cutTally[S]
	for _, w := range s.workers {
		if w.cuts != nil {
			tallies = append(tallies, w.cuts)
		}
	}
	r.Explanation = explain(s.workers[0].spec, &s.opt, s.selected, r, tallies)
	return r, nil
}

func (s *search[S]) judge(r *Result) error {
	known := s.known & s.selected
	r.Properties = verdicts(s.info, s.selected, known, s.reached, s.limitedBy != "")
	if known == 0 {
		return nil
	}
	r.Status = Violated
	for _, set := range []Props{known &^ s.restating, known & s.restating} {
		for ; set != 0; set &= set - 1 {
			i := bits.TrailingZeros64(uint64(set))
			if i >= len(s.info.Properties) {
				return fmt.Errorf("%s: property %d is violated and has no name", s.info.Name, i)
			}
			trace, err := s.trace(s.found[i].ref)
			if err != nil {
				return err
			}
			if s.opt.Explain {
				noteOneShort(s.workers[0].spec, trace)
			}
			p := s.info.Properties[i]
			r.Violations = append(r.Violations, Violation{
				Property: p.Name, Kind: p.Kind.String(), Doc: p.Doc, Restates: p.Restates, Trace: trace,
				Because: accuse(s.workers[0].spec, i, trace),
			})
		}
	}
	return nil
}

// verdicts judges the selected properties: those violated, those reached, and
// the others, of which a search that ended early says nothing.
func verdicts(info *Info, selected, known, reached Props, early bool) []PropertyResult {
	var list []PropertyResult
	for i, p := range info.Properties {
		if selected>>i&1 == 0 {
			continue
		}
		verdict, never := "holds", "never"
		if early {
			verdict, never = "open", "open"
		}
		switch {
		case p.Kind == Sometimes && reached>>i&1 == 1:
			verdict = "reached"
		case p.Kind == Sometimes:
			verdict = never
		case known>>i&1 == 1:
			verdict = "violated"
		}
		list = append(list, PropertyResult{Name: p.Name, Kind: p.Kind.String(), Restates: p.Restates, Verdict: verdict})
	}
	return list
}

func (s *search[S]) judgeGoal(r *Result) error {
	if s.known == 0 {
		if r.Status != Limit {
			r.Status = Absent
		}
		return nil
	}
	r.Status = Found
	for known := s.known; known != 0; known &= known - 1 {
		i := bits.TrailingZeros64(uint64(known))
		trace, err := s.trace(s.found[i].ref)
		if err != nil {
			return err
		}
		if r.Witness == nil {
			r.Witness = trace
		}
		r.nearest[i] = trace
	}
	return nil
}

func boundCounts(info *Info, bitten *[boundBits]uint64) []BoundCount {
	var list []BoundCount
	for i, name := range info.Bounds {
		list = append(list, BoundCount{Name: name, Kind: "bound", States: bitten[i]})
	}
	for i, b := range info.Budgets {
		if i > 0 {
			list = append(list, BoundCount{
				Name: b.Name, Kind: "budget", Limit: int(b.Limit), States: bitten[budgetBit+i],
			})
		}
	}
	if info.MaxInFlight > 0 {
		list = append(list, BoundCount{
			Name: "messages", Kind: "in flight", Limit: info.MaxInFlight, States: bitten[inFlightBit],
		})
	}
	return list
}

// omissions is the expected number of states that share their fingerprint with
// another: each of the generated states that is not new had the chance to be
// new and be taken for an old one. It is TLC's optimistic estimate.
func omissions(distinct, generated uint64) float64 {
	repeated := float64(0)
	if generated > distinct {
		repeated = float64(generated - distinct)
	}
	n := float64(distinct)
	return (n*n/2 + n*repeated) / (1 << 63) / 2
}
