package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/traces"
	"github.com/quorate/quorate/traces/concerns"
	"github.com/quorate/quorate/traces/event/concern"
	"github.com/quorate/quorate/traces/kafkalog"
)

func newTraceCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "trace", Short: "Hold recorded runs against the specification"}
	cmd.AddCommand(newTraceCheck(), newTraceImport(), newTraceDegrade(), newTraceHard(), newTraceStrength(), newTraceShrink(), newTraceLines())
	return cmd
}

// traceReport is the result of one run as JSON.
type traceReport struct {
	Name string `json:"name"`
	*traces.Result
	// Concerns is about bootstrap and cluster ids, if that was recorded.
	Concerns *concerns.Result `json:"concerns,omitempty"`
}

func newTraceCheck() *cobra.Command {
	var opt traces.Options
	var asJSON, invariants bool
	var runFile string
	var kafkaLog, stats bool
	var out output
	var prof profileFlag
	cmd := &cobra.Command{
		Use:   "check DIR|FILE...",
		Short: "Say whether recorded runs are behaviours of the specification",
		Long: `Say whether recorded runs are behaviours of the specification.

A directory is a run: a file node-*.ndjson or node-*.events for each node, maybe
with .zst, and run.json, which says who took part; or it holds such directories. Files named one
by one are one run, with the run.json beside them if they are in one directory.
Without run.json every node is a voter, with Pre-Vote.

What nodes recorded beside that, of bootstrap and cluster ids, is in files
concerns-*.ndjson of the same directory, and is judged too.

Exit codes: 0 all accepted, 1 one rejected, 2 malformed input or a file that cannot be
read or written, 3 a search budget was used up before an answer.`,
		Example: `  quorate trace check traces/recorded
  quorate trace check -hidden 0 out/run
  quorate trace check -kafka-log raft-1.log raft-2.log raft-3.log`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("trace check: which runs? Give directories that hold files node-*.ndjson, or such files themselves")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if opt.Hidden < 0 {
				return fmt.Errorf("trace check: --hidden %d: how many hidden steps there may be, from 0", opt.Hidden)
			}
			opt.NoInvariants = !invariants
			if err := out.check(); err != nil {
				return err
			}
			asJSON = asJSON || out.format == formatJSON
			find := recordings
			if kafkaLog {
				find = func(args []string) ([]traces.Recording, error) { return kafkaLogs(cmd.OutOrStdout(), args) }
			}
			recordings, err := find(args)
			if err != nil {
				return err
			}
			var run *traces.Run
			if runFile != "" {
				if run, err = traces.ReadRun(runFile); err != nil {
					return err
				}
				if kafkaLog && run.Unlogged == nil {
					run.Unlogged = recordings[0].Run.Unlogged
				}
			}
			return prof.run(func() error { return checkTraces(cmd, recordings, run, opt, asJSON, stats, &out) })
		},
	}
	prof.register(cmd)
	out.register(cmd)
	f := cmd.Flags()
	f.Lookup("format").Usage = "text, json, or the past of a rejected run as svg, html or itf"
	f.Lookup("output").Usage = "write the picture of a rejected run to this file; of an accepted run there is none"
	f.IntVar(&opt.Hidden, "hidden", 0, "how many hidden steps there may be between two events of a node (default 0)")
	f.Int32SliceVar(&opt.HiddenAt, "hidden-at", nil, "the nodes that may take hidden steps (default all)")
	f.BoolVar(&asJSON, "json", false, "print a line of JSON for each run")
	f.BoolVar(&stats, "stats", false, "print what it cost: events a second, memory, hidden steps")
	f.BoolVar(&invariants, "invariants", true, "check the properties of the specification too")
	f.BoolVar(&kafkaLog, "kafka-log", false, "the files are logs of one cluster of Apache Kafka (docs/kafka-logs.md)")
	f.StringVar(&runFile, "run", "", "a run.json to use for all runs")
	return cmd
}

// kafkaLogs is the run of a cluster of Apache Kafka.
func kafkaLogs(w io.Writer, args []string) ([]traces.Recording, error) {
	log, err := kafkalog.Read(args...)
	if err != nil {
		return nil, err
	}
	unknownLines(w, log)
	return []traces.Recording{{Name: nameOf(args), Inputs: log.Inputs(), Run: &log.Run}}, nil
}

// nameOf is what a run of several files is called: by their directory, if it is one.
func nameOf(files []string) string {
	if len(files) == 1 {
		return files[0]
	}
	dir := filepath.Dir(files[0])
	for _, file := range files {
		if filepath.Dir(file) != dir {
			return fmt.Sprintf("%s and %d more", files[0], len(files)-1)
		}
	}
	return dir
}

// recordings takes directories one by one, and files together as one run.
func recordings(args []string) ([]traces.Recording, error) {
	var list []traces.Recording
	var files []string
	at := 0
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			if _, ok := concern.IsFileName(arg); ok {
				return nil, fmt.Errorf("%s is judged with the run beside it: give the directory, or the trace of a replica", arg)
			}
			if len(files) == 0 {
				at = len(list)
				list = append(list, traces.Recording{})
			}
			files = append(files, arg)
			continue
		}
		found, err := traces.Recordings(arg)
		if err != nil {
			return nil, err
		}
		list = append(list, found...)
	}
	if len(files) > 0 {
		rec, err := traces.Files(files...)
		if err != nil {
			return nil, err
		}
		rec.Name = nameOf(files)
		list[at] = rec
	}
	return list, nil
}

func checkTraces(cmd *cobra.Command, list []traces.Recording, run *traces.Run, opt traces.Options, asJSON, stats bool, out *output) error {
	w := cmd.OutOrStdout()
	if out.draws() && out.file == "" {
		w = io.Discard // the picture is what goes to standard output
	}
	table := checker.NewColumns(w)
	header := "run\tnodes\tevents\tcrashes\tlost\thidden\tverdict\n" // with the first row
	worst := verdict(exitHolds)
	var reports []string
	show := func() error {
		if err := table.Flush(); err != nil {
			return err
		}
		for _, r := range reports {
			fmt.Fprintf(w, "\n%s\n", r)
		}
		return nil
	}
	for i := range list {
		rec := &list[i]
		o := opt
		if o.Run = run; run == nil {
			o.Run = rec.Run
		}
		var cost measure
		if stats {
			cost.watch(&o)
		}
		res, err := traces.Validate(rec.Inputs, o)
		if err != nil {
			return errors.Join(show(), err)
		}
		switch {
		case res.Verdict == traces.Rejected:
			worst = exitViolated
		case res.Verdict == traces.OutOfBudget && worst == exitHolds:
			worst = exitLimit
		}
		beside, err := checkConcerns(rec, opt.Hidden)
		if err != nil {
			return errors.Join(show(), err)
		}
		judged := res.Verdict
		switch {
		case beside == nil || beside.Verdict == traces.Accepted:
		case beside.Verdict == traces.Rejected:
			worst, judged = exitViolated, traces.Rejected
		case judged == traces.Accepted:
			judged = traces.OutOfBudget
			if worst == exitHolds {
				worst = exitLimit
			}
		}
		if res.Rejection != nil && out.draws() {
			out.behaviours = append(out.behaviours, res.Rejection.Behaviour(rec.Name))
		}
		if asJSON {
			if err := json.NewEncoder(w).Encode(traceReport{rec.Name, res, beside}); err != nil {
				return err
			}
			continue
		}
		s := &res.Stats
		fmt.Fprint(table, header)
		header = ""
		fmt.Fprintf(table, "%s\t%d\t%s\t%d\t%d\t%s\t%s\n", rec.Name, len(s.Nodes), s.EventsText(), s.Crashes, s.Lost, s.HiddenText(), judged)
		if text := s.PartialText(); text != "" {
			reports = append(reports, rec.Name+": "+text)
		}
		if text := s.TornText(); text != "" {
			reports = append(reports, rec.Name+": "+text)
		}
		if text := s.UndecidedText(); text != "" && (stats || res.Verdict == traces.OutOfBudget) {
			reports = append(reports, rec.Name+": "+text)
		}
		if stats {
			var b strings.Builder
			cost.print(&b, s)
			reports = append(reports, rec.Name+"\n"+strings.TrimSpace(b.String()))
		}
		if res.Rejection != nil {
			reports = append(reports, rec.Name+": "+res.Verdict.String()+"\n"+res.Rejection.Text())
		}
		if beside != nil {
			reports = append(reports, concernsText(rec.Name, beside))
		}
	}
	if out.draws() && len(out.behaviours) == 0 {
		why := "accepted"
		if worst != exitHolds {
			why = "not rejected"
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "quorate: %s: no picture was written\n", why)
		if err := show(); err != nil {
			return err
		}
	} else if err := errors.Join(show(), out.finish(cmd)); err != nil {
		return err
	}
	if worst == exitHolds {
		return nil
	}
	return worst
}
