package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/spec/audit"
)

// deletionModels are explored for each guard and effect taken away, the smallest
// first: in `quorate check` those that take no time, in `-deep` more.
var (
	deletionModels     = []string{"single", "truncation", "commit", "observer", "vote-restart", "prevote-exchanges", "flush", "snapshot", "snapshot-diverged", "snapshot-transfer"}
	deepDeletionModels = append(deletionModels, "reads", "upgrade", "check-quorum", "leader-restart", "late-leader", "figure8", "divergence")
)

// Pinned: how many deletions a property catches. A reason explains what nobody
// misses, so without this a property that has become weaker would only make room for
// more reasons.
const (
	deletionsCaught     = 123
	deepDeletionsCaught = 157
)

// suite is `quorate check` without a model: every model against its pinned
// numbers, and what the specification would not notice.
type suite struct {
	out  io.Writer
	opt  checker.Options
	deep bool
	fail int
	runs *output
	// limited: a run ended before its end, so there is no verdict on the whole.
	limited bool
	// distinct has how many states each model had.
	distinct map[string]uint64
}

func runSuite(cmd *cobra.Command, f *runFlags, deep bool) error {
	s := &suite{out: cmd.OutOrStdout(), opt: f.options(cmd), deep: deep, runs: &f.output, distinct: map[string]uint64{}}
	if err := s.models(); err != nil {
		return err
	}
	if !s.limited {
		if err := s.concerns(); err != nil {
			return err
		}
	}
	if !s.limited {
		if err := s.pairs(); err != nil {
			return err
		}
	}
	if !s.limited {
		if err := s.byConcern(); err != nil {
			return err
		}
	}
	if err := s.examples(); err != nil {
		return err
	}
	if !s.limited {
		if err := s.symmetry(); err != nil {
			return err
		}
	}
	if !s.limited {
		if err := s.deletions(); err != nil {
			return err
		}
	}
	if !s.limited {
		fmt.Fprintln(s.out)
		fail, limited, err := liveTable(cmd.Context(), s.out, s.opt.Workers)
		if err != nil {
			return err
		}
		fmt.Fprintln(s.out)
		more, cut, err := liveConcerns(cmd.Context(), s.out)
		if err != nil {
			return err
		}
		s.fail, s.limited = s.fail+fail+more, limited || cut
	}
	if err := s.runs.finish(cmd); err != nil {
		return err
	}
	switch {
	case s.fail > 0:
		fmt.Fprintf(s.out, "\n%d of these are not as they should be\n", s.fail)
		return verdict(exitViolated)
	case s.limited:
		fmt.Fprintln(s.out, "\nEnded before the end: there is no verdict on what was not explored")
		return verdict(exitLimit)
	}
	return nil
}

// record keeps a run for -report; before is how many things were wrong before it.
func (s *suite) record(name string, res *checker.Result, before int) error {
	e, err := lookUp(name)
	if err != nil {
		return err
	}
	code := verdict(exitHolds)
	if s.fail > before {
		code = exitViolated
	} else if res.Status == checker.Limit {
		code = exitLimit
	}
	s.runs.record(e, Variant{}, res, code, "")
	return nil
}

func (s *suite) row(columns ...any) string {
	texts := make([]string, len(columns))
	for i, c := range columns {
		texts[i] = fmt.Sprint(c)
	}
	return strings.Join(texts, "\t")
}

// models explores each model and compares it with its pin.
func (s *suite) models() error {
	fmt.Fprintf(s.out, "Models of the specification (voters/epochs and bounds; * differs from what is pinned)\n\n")
	tw := checker.NewColumns(s.out)
	fmt.Fprintln(tw, s.row("model", "distinct", "without budgets", "generated", "depth", "properties", "sometimes", "seconds", "constants"))
	var distinct, generated uint64
	var seconds float64
	reached := map[string]bool{}
	fired := map[string]uint64{}
	var large *checker.Result
	for i := range spec.Models {
		m := &spec.Models[i]
		if m.Deep && !s.deep {
			continue
		}
		opt := s.opt
		opt.Projected, opt.KeepGoing = m.HasBudgets(), m.Unsafe != ""
		res, err := checker.Run(checker.Interned(spec.NewSystem(m, spec.Variant{})), opt)
		if err != nil {
			return fmt.Errorf("model %s: %w", m.Name, err)
		}
		if !opt.Projected {
			res.Projected = res.Distinct
		}
		pin, _ := m.Pin()
		before := s.fail
		cut := res.Status == checker.Limit
		s.limited = s.limited || cut
		mark := func(now, then uint64) string {
			if now != then && !cut {
				s.fail++
				return fmt.Sprintf("%s* (pinned %s)", count(now), count(then))
			}
			return count(now)
		}
		fmt.Fprintln(tw, s.row(m.Name, mark(res.Distinct, pin.Distinct), mark(res.Projected, pin.Projected), count(res.Generated),
			mark(uint64(res.Depth), uint64(pin.Depth)), s.judge(m, res), sometimes(res), fmt.Sprintf("%.2f", res.Seconds), m.Constants()))
		if err := s.record(m.Name, res, before); err != nil {
			return err
		}
		if m.Name == spillModel {
			large = res
		}
		s.distinct[m.Name] = res.Distinct
		distinct, generated, seconds = distinct+res.Distinct, generated+res.Generated, seconds+res.Seconds
		for _, p := range res.Properties {
			reached[p.Name] = reached[p.Name] || p.Verdict == "reached"
		}
		for _, a := range res.Actions {
			fired[a.Name] += a.Fired + a.Within
		}
	}
	fmt.Fprintln(tw, s.row("all", count(distinct), "", count(generated), "", "", "", fmt.Sprintf("%.2f", seconds), ""))
	if err := tw.Flush(); err != nil {
		return err
	}
	s.never(reached, fired)
	if m, ok := spec.ModelNamed(spillModel); ok && large != nil && !s.limited {
		return s.spill(m, large)
	}
	return nil
}

// never says which sometimes properties and actions no model reaches.
func (s *suite) never(reached map[string]bool, fired map[string]uint64) {
	var missing []string
	for _, p := range spec.Properties {
		if p.Kind == checker.Sometimes && !reached[p.Name] {
			missing = append(missing, p.Name)
		}
	}
	for a := spec.ActionID(0); a < spec.NumActions; a++ {
		if fired[a.String()] == 0 {
			missing = append(missing, a.String())
		}
	}
	if s.limited {
		return
	}
	if len(missing) == 0 {
		fmt.Fprintln(s.out, "\nEvery action is taken and every sometimes property is reached in some model.")
		return
	}
	s.fail += len(missing)
	fmt.Fprintf(s.out, "\nNever reached in any model: %s\n", strings.Join(missing, ", "))
}

// judge compares the verdict with what the model is for.
func (s *suite) judge(m *spec.Model, res *checker.Result) string {
	held, violated := 0, []string{}
	for _, p := range res.Properties {
		switch p.Verdict {
		case "holds":
			held++
		case "violated":
			violated = append(violated, p.Name)
		}
	}
	switch {
	case res.Status == checker.Limit:
		return "limit reached"
	case m.Unsafe != "" && slices.Contains(violated, m.Unsafe):
		return fmt.Sprintf("%s violated, as expected", m.Unsafe)
	case m.Unsafe != "":
		s.fail++
		return fmt.Sprintf("%s is expected to be violated", m.Unsafe)
	case len(violated) > 0:
		s.fail++
		return "VIOLATED: " + strings.Join(violated, ", ")
	}
	return fmt.Sprintf("%d hold", held)
}

func sometimes(res *checker.Result) string {
	n, all := 0, 0
	for _, p := range res.Properties {
		if p.Kind == "sometimes" {
			all++
			if p.Verdict == "reached" {
				n++
			}
		}
	}
	return fmt.Sprintf("%d of %d", n, all)
}

// examples holds the engine to counts known from other checkers.
func (s *suite) examples() error {
	known := []struct {
		name                string
		distinct, generated uint64
	}{{"2pc3", 288, 1_145}, {"2pc7", 296_448, 2_744_705}, {"elect3_2", 6_140, 18_867}, {"elect3_3", 194_179, 639_858}, {"elect3_4", 5_881_161, 19_725_699}}
	fmt.Fprintf(s.out, "\nExamples with counts known from TLC, rumur and Spin\n\n")
	tw := checker.NewColumns(s.out)
	fmt.Fprintln(tw, s.row("example", "distinct", "generated", "depth", "seconds", ""))
	for _, k := range known {
		e, err := lookUp(k.name)
		if err != nil {
			return err
		}
		spec, err := e.New(Variant{})
		if err != nil {
			return err
		}
		res, err := spec.Run(s.opt)
		if err != nil {
			return err
		}
		note, before := "as known", s.fail
		if res.Status == checker.Limit {
			note, s.limited = "limit reached", true
		} else if res.Distinct != k.distinct || res.Generated != k.generated {
			s.fail++
			note = fmt.Sprintf("* known: %s, %s", count(k.distinct), count(k.generated))
		}
		if err := s.record(k.name, res, before); err != nil {
			return err
		}
		fmt.Fprintln(tw, s.row(k.name, count(res.Distinct), count(res.Generated), res.Depth, fmt.Sprintf("%.2f", res.Seconds), note))
	}
	return tw.Flush()
}

// deletions takes guards and effects away.
func (s *suite) deletions() error {
	names, pinned := deletionModels, deletionsCaught
	if s.deep {
		names, pinned = deepDeletionModels, deepDeletionsCaught
	}
	var models []*spec.Model
	for _, n := range names {
		m, ok := spec.ModelNamed(n)
		if !ok {
			return unknown("model", n, nil)
		}
		models = append(models, m)
	}
	all, err := audit.Deletions(models, s.opt.Workers, nil)
	if err != nil {
		return err
	}
	if err := s.concernGuards(); err != nil {
		return err
	}
	var t takenAway
	for _, d := range all {
		t.add(d.Name(), d.Property, d.Reason)
	}
	s.judgeTakenAway(&t, pinned, fmt.Sprintf("Guards and effects taken away one by one, in %s: %d; ", strings.Join(names, ", "), len(all)),
		fmt.Sprintf(" (score %d%%)", 100*t.caught/max(1, len(all))))
	return nil
}

// takenAway counts what became of guards and effects that were taken away.
type takenAway struct {
	caught, explained int
	open              []string // noticed by nothing, and no reason is given
}

func (t *takenAway) add(name, property, reason string) {
	switch {
	case property != "":
		t.caught++
	case reason != "":
		t.explained++
	default:
		t.open = append(t.open, name)
	}
}

// judgeTakenAway prints the counts between two texts, and holds them to what is pinned.
func (s *suite) judgeTakenAway(t *takenAway, pinned int, before, after string) {
	fmt.Fprintf(s.out, "\n%scaught by a property %d, redundant there for a stated reason %d, unexplained %d%s\n", before, t.caught, t.explained, len(t.open), after)
	if t.caught != pinned {
		s.fail++
		fmt.Fprintf(s.out, "  * pinned: %d caught\n", pinned)
	}
	if len(t.open) > 0 {
		s.fail++
		fmt.Fprintf(s.out, "  unexplained: %s\n", strings.Join(t.open, ", "))
	}
}

// count prints a number with its thousands set apart.
func count(n uint64) string {
	text := fmt.Sprint(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
