// Package judge has no code: its test is built once for each defect, with the defect
// in it, and runs seeds until the checks have spoken. See package defects.
package judge

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/quorate/quorate/checker/linear"
	"github.com/quorate/quorate/impl/sim"
	"github.com/quorate/quorate/traces"
	"github.com/quorate/quorate/traces/defects"
	"github.com/quorate/quorate/traces/event"
	"github.com/quorate/quorate/traces/history"
)

var (
	last = flag.Uint64("judge.seeds", 5, "the last seed")
	more = flag.Uint64("judge.more", 0, "how many seeds to go on after the first finding, for the checks that have found nothing")
	out  = flag.String("judge.out", "", "file to write the report to, as JSON; then what is found is no failure")
)

// TestSeeds holds simulated runs against each check by itself.
func TestSeeds(t *testing.T) {
	var r defects.Report
	first := uint64(0)
	for seed := uint64(1); seed <= *last; seed++ {
		r.Seeds = seed
		if err := judge(&r, seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		if len(r.Found) > 0 && first == 0 {
			first = seed
		}
		if err := r.Write(*out); err != nil {
			t.Fatal(err)
		}
		if first > 0 && enough(&r, seed-first) {
			break
		}
	}
	if *out == "" {
		for _, f := range r.Found {
			t.Errorf("seed %d: %s: %s", f.Seed, f.By, f.What)
		}
	}
}

// enough: so many seeds after the first finding. The history of the clients is given
// less time, since most defects do not show in it.
func enough(r *defects.Report, since uint64) bool {
	if r.By(defects.Simulation) == nil || r.By(defects.Trace) == nil {
		return since >= *more
	}
	return r.By(defects.History) != nil || since >= *more/6
}

// judge runs a seed. A run that breaks a property ends there, so it is made again
// with nobody watching, or the other checks would see only what came before.
func judge(r *defects.Report, seed uint64) error {
	if r.By(defects.Simulation) == nil {
		broken, err := run(r, seed, false)
		if err != nil || !broken {
			return err
		}
	}
	_, err := run(r, seed, true)
	return err
}

// run makes a run and gives it to every check. broken: it broke a property of the
// cluster, and so did not go to its end.
func run(r *defects.Report, seed uint64, blind bool) (broken bool, err error) {
	cfg := sim.Config{Seed: seed, Snapshots: seed%2 == 0} // half of the runs have logs that begin at 0 for good
	setup, err := cfg.Setup()
	if err != nil {
		return false, err
	}
	if blind {
		os.Setenv(defects.Blind, "1")
		defer os.Unsetenv(defects.Blind)
	}
	rec := record{events: map[int32][]event.Event{}, pending: map[int64]sim.Operation{}}
	stats, failed := sim.Run(cfg, sim.Sinks{Event: rec.event, Invoke: rec.invoke, Return: rec.returned, Committed: rec.commit})
	if failed != nil {
		var v *sim.ViolationError
		broken = errors.As(failed, &v)
		r.Note(defects.Simulation, seed, nameOf(failed))
	}
	if r.By(defects.Trace) == nil {
		if err := validate(r, seed, rec.events, setup); err != nil {
			return false, err
		}
	}
	if r.By(defects.History) == nil {
		if failed != nil || blind {
			rec.committed = nil // not known, or not the whole
		}
		if err := rec.check(r, seed, &stats); err != nil {
			return false, err
		}
	}
	return broken, nil
}

var (
	panicked = regexp.MustCompile(`panic: (.*)`)
	number   = regexp.MustCompile(`[0-9]+`)
	place    = regexp.MustCompile(`^sim: .*?step \d+(, replica \d+)?: (replica \d+: )?`)
)

// nameOf says what ended a run: a property of the cluster, an assertion of the core,
// or what the driver or the disk refused.
func nameOf(err error) string {
	var v *sim.ViolationError
	if errors.As(err, &v) {
		return v.Property
	}
	if m := panicked.FindStringSubmatch(err.Error()); m != nil {
		if what, ok := strings.CutPrefix(m[1], "core: "); ok {
			return "assertion: " + what
		}
		return "panic: " + m[1]
	}
	text, _, _ := strings.Cut(err.Error(), "\n")
	return "refused: " + number.ReplaceAllString(place.ReplaceAllString(text, ""), "n")
}

func validate(r *defects.Report, seed uint64, events map[int32][]event.Event, setup sim.Setup) error {
	run := &traces.Run{PreVote: traces.PreVote{All: setup.PreVote}}
	var inputs []traces.Input
	for id := int32(1); int(id) <= setup.Voters+setup.Observers; id++ {
		if int(id) <= setup.Voters {
			run.Voters = append(run.Voters, id)
		} else {
			run.Observers = append(run.Observers, id)
		}
		if len(events[id]) > 0 {
			inputs = append(inputs, traces.Events(fmt.Sprintf("node-%d", id), events[id]))
		}
	}
	if len(inputs) == 0 {
		return nil
	}
	res, err := traces.Validate(inputs, traces.Options{Run: run})
	var malformed *traces.MalformedError
	switch {
	case errors.As(err, &malformed):
		r.Note(defects.Trace, seed, "malformed: "+number.ReplaceAllString(malformed.Err.Error(), "n"))
	case err != nil:
		return err
	case res.Verdict == traces.Rejected:
		r.Note(defects.Trace, seed, reason(res.Rejection))
	}
	return nil
}

// reason is a rejection in a few words.
func reason(j *traces.Rejection) string {
	switch {
	case len(j.Properties) > 0:
		return j.Action + ": " + strings.Join(j.Properties, ", ")
	case j.Guard != "":
		return j.Action + ": " + j.Guard
	case len(j.Differences) > 0:
		return j.Action + ": " + j.Differences[0].Field
	}
	return j.Action + ": " + number.ReplaceAllString(j.Why, "n")
}

// record keeps what a run gives, in memory.
type record struct {
	events    map[int32][]event.Event
	history   history.History
	pending   map[int64]sim.Operation
	committed []history.Record
}

func (r *record) event(e *event.Event) error {
	r.events[e.Node.ID] = append(r.events[e.Node.ID], *e)
	return nil
}

func (r *record) invoke(op sim.Operation) error {
	r.pending[op.ID] = op
	return nil
}

func (r *record) returned(op sim.Operation) error {
	delete(r.pending, op.ID)
	h := history.Op{Client: int32(op.Client), Call: int64(op.Invoked), Return: int64(op.Returned), Value: string(op.Value), Kind: linear.Append}
	if op.Kind == sim.Read {
		h.Kind = linear.Read
	}
	switch op.Outcome {
	case sim.OK:
		h.Outcome, h.Offset = linear.Known, op.Offset
	case sim.Failed:
		h.Outcome = linear.Failed
	default:
		h.Outcome = linear.Unknown
	}
	r.history.Ops = append(r.history.Ops, h)
	return nil
}

func (r *record) commit(offset int64, value []byte) error {
	for int64(len(r.committed)) < offset {
		r.committed = append(r.committed, history.Record{Internal: true})
	}
	r.committed = append(r.committed, history.Record{Value: string(value)})
	return nil
}

// check holds what clients saw against a log. Without the committed log it is only
// asked whether there is one that explains it.
func (r *record) check(to *defects.Report, seed uint64, stats *sim.Stats) error {
	for id := range int64(len(r.history.Ops) + len(r.pending) + 1) {
		if op, ok := r.pending[id]; ok {
			op.Outcome, op.Returned = sim.Unknown, stats.VirtualTime
			if err := r.returned(op); err != nil {
				return err
			}
		}
	}
	r.history.Header = history.Header{Run: fmt.Sprintf("seed %d", seed), Clock: "us"}
	whole := r.committed != nil
	for whole && int64(len(r.committed)) < stats.Committed {
		r.committed = append(r.committed, history.Record{Internal: true})
	}
	report, err := history.Check(&r.history, r.committed, history.Options{Whole: whole})
	if err != nil {
		// Not what a client of a correct cluster could have written down.
		to.Note(defects.History, seed, "malformed: "+err.Error())
		return nil
	}
	if report.Verdict == linear.NotLinearizable {
		to.Note(defects.History, seed, report.Why)
	}
	return nil
}
