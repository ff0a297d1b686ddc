package main

import (
	"context"
	"fmt"
	"io"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec/audit"
	"github.com/quorate/quorate/spec/concern"
)

// liveConcerns judges the live models of the concerns over an abstract log, and puts bugs
// back that keep something from ever coming about. It says how many are not as they
// should be.
func liveConcerns(ctx context.Context, w io.Writer) (fail int, limited bool, err error) {
	tw := checker.NewColumns(w)
	fmt.Fprintln(tw, "live model\tstates\tsuffix\tfair\tproperty\tverdict\tseconds\twhy, or the bug that is put back")
	row := func(c *concern.Concern, l *concern.Live, mu *concern.LiveMutation) error {
		opt, id, why := checker.Options{Context: ctx}, "", l.Why
		if mu != nil {
			opt.Properties, id = []string{mu.Property}, mu.ID
			why = "with " + mu.ID
		}
		r, err := audit.RunLive(c, l, id, opt)
		if err != nil {
			return err
		}
		if r.Status == checker.Limit {
			limited = true
			return nil
		}
		for _, p := range r.Properties {
			verdict, wrong := p.Verdict, p.Verdict != "holds" || r.Hopeless > 0
			if mu != nil {
				verdict = fmt.Sprintf("violated: %d steps, then for ever the last %d", p.Stem+p.Cycle, p.Cycle)
				if p.Cycle == 0 {
					verdict = fmt.Sprintf("violated: %d steps, then nothing", p.Stem)
				}
				wrong = p.Verdict != "violated" || p.Stem != mu.Stem || p.Cycle != mu.Cycle
				if p.Verdict != "violated" {
					verdict = "NOT CAUGHT"
				}
			} else if pin := (concern.LivePin{Distinct: r.Distinct, Suffix: r.Suffix, Fair: r.Fair}); pin != l.Pin {
				wrong = true
				verdict += fmt.Sprintf(" (pinned %s, %s, %s)", count(l.Pin.Distinct), count(l.Pin.Suffix), count(l.Pin.Fair))
			}
			if wrong {
				fail++
				verdict += "*"
			}
			fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%s\t%s\t%.2f\t%s\n", l.Name, count(r.Distinct), count(r.Suffix), count(r.Fair), p.Name, verdict, r.Seconds, why)
		}
		return nil
	}
	for _, c := range audit.Concerns {
		for i := range c.Lives {
			l := &c.Lives[i]
			if err := row(c, l, nil); err != nil {
				return fail, limited, err
			}
			for j := range l.Mutations {
				if err := row(c, l, &l.Mutations[j]); err != nil {
					return fail, limited, err
				}
			}
		}
	}
	return fail, limited, tw.Flush()
}
