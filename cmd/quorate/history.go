package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/checker"

	"github.com/quorate/quorate/checker/linear"
	"github.com/quorate/quorate/traces/event/ndjson"
	"github.com/quorate/quorate/traces/history"
)

func newHistoryCommand() *cobra.Command {
	cmd := &cobra.Command{Use: "history", Short: "Judge what clients saw, without a look at the protocol"}
	cmd.AddCommand(newHistoryCheck())
	return cmd
}

func newHistoryCheck() *cobra.Command {
	var c historyCheck
	var prof profileFlag
	cmd := &cobra.Command{
		Use:   "check DIR|FILE...",
		Short: "Say whether what the clients of runs saw is linearizable",
		Long: `Say whether what the clients of runs saw is linearizable.

A directory is searched for files named history*.ndjson or history*.ndjson.zst. The
first line of a file may name an object (key-value, registry, cluster-id); else the
history is of a log.

A history of an object is held against a model of it by search (porcupine), each key,
node, or part of a registry that shares no subject, schema or id with others alone.

Of the log there are two checks. The first places every operation in the log by its offset; it
is exact, and the verdict is its. The second (porcupine) knows of no offset, and
searches for an order of the register that holds the value of the last record; it
is a second opinion, on the beginning of a history that is longer than its limit.

The committed log at the end of the run is taken from committed.ndjson(.zst) beside
the history. Without that file an acknowledged append that is lost shows only if a
client saw the log without it, or another record at its offset.

Marks in a history are drawn beside the operations in a picture. Events of a trace are
not: they have no time.

Exit codes: 0 all linearizable, 1 one is not, 2 malformed input, 3 undecided. The
second opinion alone, if undecided, does not make it 3: its column, register, then says how
many operations it looked at, in which it found nothing wrong.`,
		Example: `  quorate history check traces/recorded
  quorate history check -picture out/pictures out/run`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if c.limits.Ops < 0 || c.limits.Time < 0 {
				return fmt.Errorf("-register-ops %d, -register-time %s: they cannot be negative", c.limits.Ops, c.limits.Time)
			}
			if c.objects.Time <= 0 {
				return fmt.Errorf("-object-time %s: it must be positive", c.objects.Time)
			}
			list, err := historyFiles(args)
			if err != nil {
				return err
			}
			c.out = cmd.OutOrStdout()
			return prof.run(func() error { return c.run(list) })
		},
	}
	prof.register(cmd)
	f := cmd.Flags()
	f.BoolVar(&c.json, "json", false, "print a line of JSON for each run")
	f.StringVar(&c.pictures, "picture", "", "a directory for porcupine's pages, one for each run that is not linearizable, with its marks beside the operations")
	f.IntVar(&c.limits.Ops, "register-ops", 500, "how many operations to search for an order of the register")
	f.DurationVar(&c.objects.Time, "object-time", 30*time.Second, "how long to search for an order of a history of objects")
	f.DurationVar(&c.limits.Time, "register-time", 0, "how long to search for one, for each run (default 1s)")
	return cmd
}

// historyFile is a history on disk. Its name is that of its directory, if
// tracegen may have written it, else its own.
type historyFile struct{ name, path string }

func isHistoryFile(name string) bool {
	return strings.HasPrefix(name, "history") && (strings.HasSuffix(name, ".ndjson") || strings.HasSuffix(name, ".ndjson.zst"))
}

// historyFiles finds the histories in directories; a file is one whatever its
// name. They come in the order of the arguments and of their paths.
func historyFiles(args []string) ([]historyFile, error) {
	var list []historyFile
	for _, arg := range args {
		info, err := os.Stat(arg)
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			list = append(list, historyFile{arg, arg})
			continue
		}
		before := len(list)
		err = filepath.WalkDir(arg, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !isHistoryFile(d.Name()) {
				return err
			}
			name := path
			if stem, _, _ := strings.Cut(d.Name(), "."); stem == "history" {
				name = filepath.Dir(path)
			}
			list = append(list, historyFile{name, path})
			return nil
		})
		if err != nil {
			return nil, err
		}
		if len(list) == before {
			return nil, fmt.Errorf("%s: no file named history*.ndjson or history*.ndjson.zst", arg)
		}
	}
	return list, nil
}

// historyCheck is `quorate history check`.
type historyCheck struct {
	out      io.Writer
	json     bool
	pictures string // a directory; empty: none
	limits   linear.Limits
	objects  linear.Limits
}

// historyReport is the result of one run as JSON.
type historyReport struct {
	Name    string `json:"name"`
	Run     string `json:"run"`
	Verdict string `json:"verdict"`
	Why     string `json:"why,omitempty"`
	// Picture is where the page is, NoPicture why there is none.
	Picture   string `json:"picture,omitempty"`
	NoPicture string `json:"noPicture,omitempty"`

	Operations      int `json:"operations"`
	Clients         int `json:"clients"`
	Appends         int `json:"appends"`
	Reads           int `json:"reads"`
	Known           int `json:"known"`
	Unknown         int `json:"unknown"`
	Failed          int `json:"failed"`
	LeaderChanges   int `json:"leaderChanges"`
	InFailover      int `json:"inFailover"`
	ConcurrentReads int `json:"concurrentReads"`

	Log      historyPart `json:"log"`
	Register historyPart `json:"register"`
}

// historyPart is one of the two checks.
type historyPart struct {
	Verdict  string `json:"verdict"`
	Searched int    `json:"searched"`
	Reason   string `json:"reason,omitempty"`
}

func partOf(r *linear.Result) historyPart {
	p := historyPart{Verdict: r.Verdict.String(), Searched: r.Searched, Reason: r.Reason}
	if r.Violation != nil {
		p.Reason = r.Violation.Text
	}
	return p
}

// exitOf is the exit code of a verdict.
func exitOf(v linear.Verdict) verdict {
	switch v {
	case linear.Linearizable:
		return exitHolds
	case linear.NotLinearizable:
		return exitViolated
	}
	return exitLimit
}

// worse is the one of two exit codes that counts more: a violation more than a
// limit.
func worse(a, b verdict) verdict {
	if a == exitViolated || b == exitHolds {
		return a
	}
	return b
}

func (c *historyCheck) run(list []historyFile) error {
	if c.pictures != "" {
		if err := os.MkdirAll(c.pictures, 0o755); err != nil {
			return err
		}
	}
	table := checker.NewColumns(c.out)
	headed := c.json
	head := func() {
		if headed {
			return
		}
		headed = true
		fmt.Fprintln(table, "run\toperations\tappends\treads\tknown\tunknown\tfailed\tin failover\treads beside appends\tlog\tregister\tverdict")
	}
	worst := verdict(exitHolds)
	var explained []string
	for i, file := range list {
		object, err := history.ObjectOf(file.path)
		if err != nil {
			return err
		}
		if object != "" {
			text, v, err := c.object(file, i)
			if err != nil {
				table.Flush()
				return err
			}
			worst = worse(worst, exitOf(v))
			if text != "" {
				explained = append(explained, text)
			}
			continue
		}
		head()
		r, v, err := c.check(file, i)
		if err != nil {
			if i > 0 { // else there is nothing but the head
				table.Flush()
			}
			return err
		}
		worst = worse(worst, exitOf(v))
		if c.json {
			if err := json.NewEncoder(c.out).Encode(r); err != nil {
				return err
			}
			continue
		}
		failover := "-" // no leader change is marked
		if r.LeaderChanges > 0 {
			failover = fmt.Sprint(r.InFailover)
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%s\t%d\t%s\t%s\t%s\n", r.Name, r.Operations, r.Appends, r.Reads,
			r.Known, r.Unknown, r.Failed, failover, r.ConcurrentReads, r.Log.Verdict, r.registerText(), r.Verdict)
		if v != linear.Linearizable {
			explained = append(explained, r.explanation())
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for i, text := range explained {
		if i > 0 || headed {
			fmt.Fprintln(c.out)
		}
		fmt.Fprintln(c.out, text)
	}
	if worst == exitHolds {
		return nil
	}
	return worst
}

// picture is the page of the nth history, empty if none is wanted.
func (c *historyCheck) picture(file historyFile, n int) string {
	if c.pictures == "" {
		return ""
	}
	return filepath.Join(c.pictures, fmt.Sprintf("%d-%s.html", n+1, filepath.Base(file.name)))
}

// check reads and judges one history of a log.
func (c *historyCheck) check(file historyFile, n int) (*historyReport, linear.Verdict, error) {
	h, err := history.Open(file.path)
	if err != nil {
		return nil, 0, named(file.path, err)
	}
	opt := history.Options{Register: c.limits, Picture: c.picture(file, n)}
	log, err := committedLog(file.path)
	if err != nil {
		return nil, 0, err
	}
	opt.Whole = log != nil
	res, err := history.Check(h, log, opt)
	if res == nil {
		return nil, 0, named(file.path, err)
	}
	s := &res.Stats
	r := &historyReport{
		Name: file.name, Run: res.Run, Verdict: res.Verdict.String(), Why: res.Why,
		Operations: s.Ops(), Clients: s.Clients, Appends: s.Appends, Reads: s.Reads,
		Known: s.Known, Unknown: s.Unknown, Failed: s.Failed,
		LeaderChanges: s.LeaderChanges, InFailover: s.InFailover, ConcurrentReads: s.ConcurrentReads,
		Log: partOf(&res.Log), Register: partOf(&res.Register),
	}
	switch {
	case err != nil: // the verdict stands without a picture
		r.NoPicture = err.Error()
	case res.Log.Violation != nil:
		r.Picture = opt.Picture
	}
	return r, res.Verdict, nil
}

// committedLog is the log that was recorded beside a history, nil if there is none.
func committedLog(path string) ([]history.Record, error) {
	for _, ext := range []string{".ndjson.zst", ".ndjson"} {
		log, err := history.ReadLog(filepath.Join(filepath.Dir(path), history.LogFile+ext))
		if !errors.Is(err, os.ErrNotExist) {
			return log, err
		}
	}
	return nil, nil
}

// registerText is the second opinion; of one that is undecided, how far it came.
func (r *historyReport) registerText() string {
	if r.Register.Verdict == linear.Undecided.String() {
		return fmt.Sprintf("%s (%d of %d searched)", r.Register.Verdict, r.Register.Searched, r.Operations)
	}
	return r.Register.Verdict
}

func (r *historyReport) explanation() string {
	text := fmt.Sprintf("%s: %s\n  %s", r.Name, r.Verdict, r.Why)
	if r.Register.Verdict == linear.NotLinearizable.String() {
		text += "\n  register: " + r.Register.Reason
	}
	if r.Picture != "" {
		text += "\n  picture: " + r.Picture
	}
	if r.NoPicture != "" {
		text += "\n  no picture: " + r.NoPicture
	}
	return text
}

// named puts the file before an error that does not say where it is.
func named(path string, err error) error {
	var f *ndjson.FileError
	var p *fs.PathError
	if errors.As(err, &f) || errors.As(err, &p) {
		return err
	}
	return fmt.Errorf("%s: %w", path, err)
}
