package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/spec/concern"
)

func newLive() *cobra.Command {
	var f runFlags
	var models, properties []string
	cmd := &cobra.Command{
		Use:   "live [-model NAME]... [-mutate ID]",
		Short: "Ask what comes about in the end, for ever",
		Long: `Judge the liveness properties of models: that a leader is elected and stays, that an
append ends, that followers catch up; of a bootstrap, a cluster id and the
checkpoints of kafkasql, that they come about. A counterexample is a lasso: a way
to some state, and a cycle that repeats for ever and is fair. Each model says what
it assumes; a bound of the model that would decide the question is refused, with
exit code 2, and a property without a behaviour to judge is vacuous, with exit code 1.

Without -model: all of them, against their pinned numbers, and every liveness bug.
With -mutate: the models that are meant for that bug.

Live models:
` + wrapped(strings.Join(liveModelNames(), ", ")) + `

Bugs that they are meant for:
` + wrapped(strings.Join(liveMutationNames(), ", ")),
		Example: `  quorate live
  quorate live -model live-prevote
  quorate live -mutate etcd-8243
  quorate live -model live-kafkasql-t -mutate damaged-counts-as-recent
  quorate live -mutate KAFKA-15489 -format html -o bug.html`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return f.profiled(func() error {
				if len(models) == 0 && f.mutate == "" {
					return liveAll(cmd, &f, properties)
				}
				return liveSome(cmd, &f, models, properties)
			})
		},
	}
	flags := cmd.Flags()
	flags.IntVar(&f.workers, "workers", 0, "models explored at once (default: one for each core)")
	flags.BoolVar(&f.json, "json", false, "write JSON, one line for each model: as -format json")
	f.output.register(cmd)
	f.profile.register(cmd)
	flags.StringVar(&f.mutate, "mutate", "", "explore with this mutation of the protocol")
	flags.StringSliceVar(&models, "model", nil, "a live model; may be given several times")
	flags.StringSliceVar(&properties, "property", nil, "a property to judge; may be given several times (default: all)")
	complete(cmd, "model", completeLiveModels)
	complete(cmd, "mutate", completeLiveMutations)
	return cmd
}

// runLive judges one live model.
func runLive(ctx context.Context, m *spec.LiveModel, mu *spec.Mutation, properties []string) (*checker.LiveResult, error) {
	system := spec.NewLiveSystem(m, spec.Variant{Mutation: mu})
	return checker.RunLiveness(checker.InternedLive(system), checker.Options{Context: ctx, Properties: properties})
}

// liveReport is a result as JSON.
type liveReport struct {
	Model    string `json:"model"`
	Module   string `json:"module"`
	Mutation string `json:"mutation,omitempty"`
	*checker.LiveResult
}

// liveSome shows the results of models in full.
func liveSome(cmd *cobra.Command, f *runFlags, models, properties []string) error {
	var mutation liveMutation
	out := cmd.OutOrStdout()
	if f.mutate != "" {
		var err error
		if mutation, err = liveMutationNamed(f.mutate); err != nil {
			return err
		}
	}
	subjects, err := mutation.chosen(models)
	if err != nil {
		return err
	}
	if f.mutate != "" && !f.output.quiet() {
		fmt.Fprintf(out, "%s: %s\n%s\n", mutation.id, mutation.title, wrapped(mutation.story))
	}
	worst := verdict(exitHolds)
	for _, s := range subjects {
		r, err := s.run(cmd.Context(), f.mutate, properties)
		if err != nil {
			return explainLimit(cmd.ErrOrStderr(), err)
		}
		switch {
		case f.json:
			if err := json.NewEncoder(out).Encode(liveReport{s.name, s.module, f.mutate, r}); err != nil {
				return err
			}
		case f.output.draws():
			f.output.behaviours = append(f.output.behaviours, checker.Counterexamples(s.name, r.Legend, r.Processes, r.Violations)...)
		default:
			if f.mutate != "" {
				fmt.Fprintf(out, "\nwith mutation %s, ", f.mutate)
			}
			if err := r.WriteText(out); err != nil {
				return err
			}
		}
		if code := verdict(r.Status.ExitCode()); code == exitViolated || worst == exitHolds {
			worst = code
		}
		if f.mutate == "" && properties == nil && !f.output.quiet() && r.Status == checker.Holds && livePin(r) != s.pin {
			fmt.Fprintf(out, "  NOT AS PINNED: %+v (%s)\n", s.pin, s.pinned)
			worst = exitViolated
		}
	}
	if err := f.output.finish(cmd); err != nil {
		return err
	}
	if worst != exitHolds {
		return worst
	}
	return nil
}

func livePin(r *checker.LiveResult) concern.LivePin {
	return concern.LivePin{Distinct: r.Distinct, Suffix: r.Suffix, Fair: r.Fair}
}

// explainLimit shows the way to the bound that leaves a model without a verdict.
func explainLimit(w io.Writer, err error) error {
	var limit *checker.LimitError
	if errors.As(err, &limit) {
		if e := checker.WriteTrace(w, limit.Trace); e != nil {
			return e
		}
	}
	return err
}

// liveAll is all models against their pins, and all bugs.
func liveAll(cmd *cobra.Command, f *runFlags, properties []string) error {
	if properties != nil || f.output.format != formatText {
		return fmt.Errorf("-property, -format and -json go with -model or -mutate")
	}
	fail, limited, err := liveTable(cmd.Context(), cmd.OutOrStdout(), f.workers)
	if err != nil {
		return explainLimit(cmd.ErrOrStderr(), err)
	}
	fmt.Fprintln(cmd.OutOrStdout())
	missed, cut, err := liveBugs(cmd.Context(), cmd.OutOrStdout(), f.workers, false)
	if err != nil {
		return err
	}
	fmt.Fprintln(cmd.OutOrStdout())
	more, short, err := liveConcerns(cmd.Context(), cmd.OutOrStdout())
	switch {
	case err != nil:
		return explainLimit(cmd.ErrOrStderr(), err)
	case fail+missed+more > 0:
		return verdict(exitViolated)
	case limited || cut || short:
		return verdict(exitLimit)
	}
	return nil
}

// liveTable writes a line for each live model, and says how many are not as they
// should be, and whether the run was ended before its end.
func liveTable(ctx context.Context, w io.Writer, workers int) (fail int, limited bool, err error) {
	fmt.Fprintf(w, "What comes about in the end (suffix: states in which the assumptions may hold; fair: components in which a behaviour may stay; * differs from what is pinned)\n\n")
	results, err := atOnce(workers, len(spec.LiveModels), func(i int) (*checker.LiveResult, error) {
		return runLive(ctx, &spec.LiveModels[i], nil, nil)
	})
	if err != nil {
		return 0, false, err
	}
	tw := checker.NewColumns(w)
	fmt.Fprintln(tw, "live model\tstates\tsuffix\tcomponents\tfair\tproperties\tseconds\twhy")
	for i, r := range results {
		m := &spec.LiveModels[i]
		if r.Status == checker.Limit {
			limited = true
			continue
		}
		held, text := 0, ""
		for _, p := range r.Properties {
			if p.Verdict == "holds" {
				held++
			} else {
				text += fmt.Sprintf(", %s %s", p.Name, p.Verdict)
			}
		}
		mark := ""
		if livePin(r) != concern.LivePin(m.Pin) || r.Hopeless > 0 {
			mark = fmt.Sprintf("* (pinned %s, %s, %s)", count(m.Pin.Distinct), count(m.Pin.Suffix), count(m.Pin.Fair))
		}
		if mark != "" || text != "" {
			fail++
		}
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s%s\t%d hold%s\t%.2f\t%s\n", m.Name, count(r.Distinct), count(r.Suffix), count(r.Components), count(r.Fair), mark, held, text, r.Seconds, m.Why)
	}
	return fail, limited, tw.Flush()
}

// liveBug is a liveness bug and how it was caught, as JSON.
type liveBug struct {
	ID       string  `json:"id"`
	Title    string  `json:"title"`
	Source   string  `json:"source"`
	Module   string  `json:"module"`
	Model    string  `json:"model"`
	Property string  `json:"property"`
	Caught   bool    `json:"caught"`
	Stem     int     `json:"stem"`
	Cycle    int     `json:"cycle"`
	Distinct uint64  `json:"distinct"`
	Seconds  float64 `json:"seconds"`
}

// liveBugs puts each liveness bug back, and says how many are not caught as pinned.
func liveBugs(ctx context.Context, w io.Writer, workers int, asJSON bool) (missed int, limited bool, err error) {
	all := spec.LivenessMutations
	results, err := atOnce(workers, len(all), func(i int) (*checker.LiveResult, error) {
		m, ok := spec.LiveModelNamed(all[i].Model)
		if !ok {
			return nil, fmt.Errorf("mutation %s: no live model %q", all[i].ID, all[i].Model)
		}
		return runLive(ctx, m, &all[i].Mutation, []string{all[i].Property})
	})
	if err != nil {
		return 0, false, err
	}
	tw := checker.NewColumns(w)
	if !asJSON {
		fmt.Fprintln(tw, "liveness bug\tcaught by\tstem\tcycle\tmodel\tstates\tseconds\twhat is wrong")
	}
	for i, r := range results {
		mu := &all[i]
		if r.Status == checker.Limit {
			limited = true
			continue
		}
		p := r.Properties[0]
		b := liveBug{
			mu.ID, mu.Title, mu.Source, moduleElection, mu.Model, mu.Property, p.Verdict == "violated", p.Stem, p.Cycle, r.Distinct, r.Seconds,
		}
		note := ""
		switch {
		case !b.Caught:
			missed++
			note = "NOT CAUGHT by "
		case b.Stem != mu.Stem || b.Cycle != mu.Cycle:
			missed++
			note = fmt.Sprintf("* (pinned %d and %d) ", mu.Stem, mu.Cycle)
		}
		if asJSON {
			if err := json.NewEncoder(w).Encode(b); err != nil {
				return missed, limited, err
			}
			continue
		}
		fmt.Fprintf(tw, "%s\t%s%s\t%d\t%d\t%s\t%s\t%.2f\t%s\n", b.ID, note, b.Property, b.Stem, b.Cycle, b.Model, count(b.Distinct), b.Seconds, b.Title)
	}
	if err := tw.Flush(); err != nil {
		return missed, limited, err
	}
	if !asJSON {
		fmt.Fprintf(w, "\n%d liveness bugs, %d caught as pinned\n", len(all), len(all)-missed)
	}
	return missed, limited, nil
}

// atOnce runs n pieces of work, so many at once, and returns their results in order.
// Each is one goroutine, and those of one table do not depend on each other.
func atOnce[T any](workers, n int, work func(i int) (T, error)) ([]T, error) {
	if workers <= 0 {
		workers = runtime.GOMAXPROCS(0)
	}
	results, errs := make([]T, n), make([]error, n)
	next := make(chan int)
	var wg sync.WaitGroup
	for range min(workers, n) {
		wg.Go(func() {
			for i := range next {
				results[i], errs[i] = work(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	wg.Wait()
	return results, errors.Join(slices.DeleteFunc(errs, func(err error) bool { return err == nil })...)
}
