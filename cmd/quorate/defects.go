package main

import (
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/traces/defects"
)

func newDefects() *cobra.Command {
	var o defects.Options
	var only string
	var prof profileFlag
	cmd := &cobra.Command{
		Use:   "defects",
		Short: "Put defects into the implementation and show which check finds them",
		Long: `Put defects into the implementation and show which check finds each, and after how
many simulated runs: every flush is left out in turn, and core and storage break their
rules one at a time. The source stays as it is: changed copies are compiled in its place.

It needs the go command, and a working copy of the module as the working directory.
It takes some minutes. Exits with 1 if something goes unnoticed, with 2 if it could
not be tried.`,
		Example: `  quorate defects
  quorate defects -only candidate-unflushed`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return prof.run(func() error { return runDefects(cmd, only, o) })
		},
	}
	prof.register(cmd)
	f := cmd.Flags()
	f.IntVar(&o.Seeds, "seeds", 200, "the last seed to try for a defect of the core")
	f.IntVar(&o.FlushSeeds, "flush-seeds", 40, "the last seed to try for a flush")
	f.IntVar(&o.More, "more", 10, "how many seeds to go on after the first finding, for the checks that have found nothing")
	f.IntVar(&o.Workers, "workers", 2, "how many defects to try at once")
	f.BoolVar(&o.Walk, "walk", false, "have a replica with each defect walk along the state graphs of small models, too: some minutes more")
	f.StringVar(&only, "only", "", "try only what matches this regular expression: names of defects, and of files with flushes")
	return cmd
}

func runDefects(cmd *cobra.Command, only string, o defects.Options) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	root, err := defects.Root()
	if err != nil {
		return err
	}
	sites, err := defects.Sites(root)
	if err != nil {
		return err
	}
	pairs, err := defects.Match(sites)
	if err != nil {
		return err
	}
	var flushes []defects.FlushResult
	for _, p := range pairs {
		if match.MatchString(p.Key()) {
			flushes = append(flushes, p)
		}
	}
	var list []defects.Defect
	for _, d := range defects.Core {
		if match.MatchString(d.Name) {
			list = append(list, d)
		}
	}
	if len(flushes)+len(list) == 0 {
		return fmt.Errorf("nothing matches %q", only)
	}

	const control = 60
	ctx, out := cmd.Context(), cmd.OutOrStdout()
	clean, err := defects.Clean(ctx, root, control, o)
	if err != nil {
		return err
	}
	tests, err := defects.CleanTests(ctx, root, o)
	if err != nil {
		return err
	}
	if found := append(clean.Found, tests.Found...); len(found) > 0 {
		f := found[0]
		return fmt.Errorf("without a defect, %s finds at seed %d: %s", f.By, f.Seed, f.What)
	}
	fmt.Fprintf(out, "without a defect: %d seeds and all tests, nothing found\n", clean.Seeds)

	done, all := 0, len(flushes)+len(list)
	progress := func(name string, err error) {
		done++
		fmt.Fprintf(cmd.ErrOrStderr(), "%d of %d: %s\n", done, all, name)
		if err != nil {
			fmt.Fprintf(cmd.ErrOrStderr(), "%v\n", err)
		}
	}
	worst := verdict(exitHolds)
	note := func(missed int, err error) {
		switch {
		case err != nil:
			worst = exitUsage
		case missed > 0 && worst == exitHolds:
			worst = exitViolated
		}
	}
	if len(flushes) > 0 {
		defects.RunFlushes(ctx, root, flushes, o, func(r *defects.FlushResult) {
			progress(fmt.Sprintf("%s:%d", r.File, r.Line), r.Error)
			note(0, r.Error)
		})
		fmt.Fprintln(out)
		note(defects.WriteFlushes(out, flushes))
	}
	if len(list) > 0 {
		results := defects.RunCore(ctx, root, list, o, func(r *defects.CoreResult) {
			progress(r.Name, r.Error)
			note(0, r.Error)
		})
		fmt.Fprintln(out)
		note(defects.WriteCore(out, results))
	}
	if worst == exitHolds {
		return nil
	}
	return worst
}
