package main

import (
	"fmt"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
)

// spillModel is explored a second time by `quorate check -deep`, within a quarter of
// the memory that it took the first time: the same numbers must come out.
const spillModel = "five-epochs"

// spill compares such a second run with the first.
func (s *suite) spill(m *spec.Model, first *checker.Result) error {
	opt := s.opt
	needed := first.Memory.Total()
	opt.Mem = needed / 4
	again, err := checker.Run(checker.Interned(spec.NewSystem(m, spec.Variant{})), opt)
	if err != nil {
		return fmt.Errorf("model %s within %d MiB: %w", m.Name, opt.Mem>>20, err)
	}
	if again.Status == checker.Limit {
		s.limited = true
	}
	fmt.Fprintf(s.out, "\n%s again within %d MiB, a quarter of the %d MiB that it took: %s distinct, %s generated, depth %d in %.1f s, %.0f%% of the rate, %d MiB held\n",
		m.Name, opt.Mem>>20, needed>>20, count(again.Distinct), count(again.Generated), again.Depth, again.Seconds, 100*again.Rate()/first.Rate(), again.Memory.Total()>>20)
	for i, a := range again.Actions {
		if a != first.Actions[i] && !s.limited {
			s.fail++
			fmt.Fprintf(s.out, "  * %s was taken %s and %s times\n", a.Name, count(first.Actions[i].Fired), count(a.Fired))
		}
	}
	if (again.Distinct != first.Distinct || again.Generated != first.Generated || again.Depth != first.Depth) && !s.limited {
		s.fail++
		fmt.Fprintf(s.out, "  * in memory: %s distinct, %s generated, depth %d\n", count(first.Distinct), count(first.Generated), first.Depth)
	}
	return nil
}
