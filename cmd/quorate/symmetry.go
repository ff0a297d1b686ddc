package main

import (
	"fmt"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
)

// largeOrbits is up to how many orbits a model is explored again up to symmetry in
// `quorate check`; with -deep all are.
const largeOrbits = 1_000_000

// symmetry explores models again, one state of each orbit: as many orbits as are
// pinned, which stand for all states of the model, and the same verdicts.
func (s *suite) symmetry() error {
	fmt.Fprintf(s.out, "\nUp to symmetry: states that differ only in the names of interchangeable replicas count once\n\n")
	tw := checker.NewColumns(s.out)
	fmt.Fprintln(tw, s.row("model", "distinct", "renamings", "stand for", "fewer", "properties", "seconds"))
	for i := range spec.Models {
		m := &spec.Models[i]
		pin, _ := m.Pin()
		want, ok := m.Orbits()
		if !ok || !s.deep && (m.Deep || want > largeOrbits) {
			continue
		}
		opt := s.opt
		opt.Symmetry = true
		res, err := checker.Run(checker.Interned(spec.NewSystem(m, spec.Variant{})), opt)
		if err != nil {
			return fmt.Errorf("model %s up to symmetry: %w", m.Name, err)
		}
		mark := func(now, then uint64) string {
			if now != then && res.Status != checker.Limit {
				s.fail++
				return fmt.Sprintf("%s* (pinned %s)", count(now), count(then))
			}
			return count(now)
		}
		s.limited = s.limited || res.Status == checker.Limit
		fmt.Fprintln(tw, s.row(m.Name, mark(res.Distinct, want), res.Symmetry, mark(res.Unreduced, pin.Distinct),
			fmt.Sprintf("%.1f x", float64(res.Unreduced)/float64(max(1, res.Distinct))), s.judge(m, res), fmt.Sprintf("%.2f", res.Seconds)))
	}
	for _, k := range []struct {
		name                string
		distinct, generated uint64
	}{{"2pc5", 314, 2_047}, {"2pc7", 920, 8_409}, {"2pc10", 3_300, 43_297}, {"elect3_3", 32_514, 107_204}} {
		e, err := lookUp(k.name)
		if err != nil {
			return err
		}
		run, err := e.New(Variant{})
		if err != nil {
			return err
		}
		opt := s.opt
		opt.Symmetry = true
		res, err := run.Run(opt)
		if err != nil {
			return err
		}
		note := "as known"
		if res.Status == checker.Limit {
			note, s.limited = "limit reached", true
		} else if res.Distinct != k.distinct || res.Generated != k.generated {
			s.fail++
			note = fmt.Sprintf("* known: %s distinct, %s generated", count(k.distinct), count(k.generated))
		}
		fmt.Fprintln(tw, s.row(k.name, count(res.Distinct), "", "", "", note, fmt.Sprintf("%.2f", res.Seconds)))
	}
	return tw.Flush()
}
