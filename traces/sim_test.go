package traces_test

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/sim"
	"github.com/quorate/quorate/traces"
	"github.com/quorate/quorate/traces/event"
)

// record runs the simulator and keeps the events of each node.
var patch func(map[int32][]event.Event)

func record(t testing.TB, cfg sim.Config) ([]traces.Input, *traces.Run, error) {
	byNode := map[int32][]event.Event{}
	sinks := sim.Sinks{Event: func(e *event.Event) error {
		byNode[e.Node.ID] = append(byNode[e.Node.ID], *e)
		return nil
	}}
	if patch != nil {
		defer func() {}()
	}
	setup, err := cfg.Setup()
	if err != nil {
		t.Fatal(err)
	}
	_, runErr := sim.Run(cfg, sinks)
	if patch != nil {
		patch(byNode)
	}
	run := &traces.Run{PreVote: traces.PreVote{All: setup.PreVote}}
	var inputs []traces.Input
	for id := int32(1); int(id) <= setup.Voters+setup.Observers; id++ {
		if int(id) <= setup.Voters {
			run.Voters = append(run.Voters, id)
		} else {
			run.Observers = append(run.Observers, id)
		}
		if len(byNode[id]) > 0 {
			inputs = append(inputs, traces.Events(fmt.Sprintf("node-%d", id), byNode[id]))
		}
	}
	return inputs, run, runErr
}

// TestSimulated validates runs of the simulator: nothing is hidden there.
func TestSimulated(t *testing.T) {
	from, seeds := 1, 30
	if s := os.Getenv("SEEDS"); s != "" {
		seeds, _ = strconv.Atoi(s)
	}
	if s := os.Getenv("FROM"); s != "" {
		from, _ = strconv.Atoi(s)
	}
	events, rejected, took := int64(0), 0, time.Duration(0)
	for seed := from; seed < from+seeds; seed++ {
		inputs, run, err := record(t, sim.Config{Seed: uint64(seed)})
		if err != nil {
			t.Logf("seed %d: the run ended with %v", seed, err)
		}
		began := time.Now()
		res, err := traces.Validate(inputs, traces.Options{Run: run})
		took += time.Since(began)
		if err != nil {
			t.Errorf("seed %d: %v", seed, err)
			continue
		}
		events += res.Stats.Events
		if res.Verdict != traces.Accepted {
			rejected++
			t.Errorf("seed %d, %d voters, %d observers, Pre-Vote %v: %v after %d events\n%s", seed, len(run.Voters), len(run.Observers),
				run.PreVote.All, res.Verdict, res.Stats.Events, res.Rejection.Text())
		}
	}
	t.Logf("%d runs, %d rejected; %d events, %.0f events/s", seeds, rejected, events, float64(events)/took.Seconds())
}
