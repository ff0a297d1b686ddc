package traces_test

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/impl/sim"
	"github.com/quorate/quorate/traces"
	"github.com/quorate/quorate/traces/event"
)

// number reads a number from the environment.
func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// record runs the simulator and keeps the events of each node.
func record(t testing.TB, cfg sim.Config) ([]traces.Input, *traces.Run) {
	byNode, run := recordEvents(t, cfg)
	var inputs []traces.Input
	for id := int32(1); int(id) <= len(run.Voters)+len(run.Observers); id++ {
		if len(byNode[id]) > 0 {
			inputs = append(inputs, traces.Events(fmt.Sprintf("node-%d", id), byNode[id]))
		}
	}
	return inputs, run
}

func recordEvents(t testing.TB, cfg sim.Config) (map[int32][]event.Event, *traces.Run) {
	byNode := map[int32][]event.Event{}
	setup, err := cfg.Setup()
	require.NoError(t, err)
	_, err = sim.Run(cfg, sim.Sinks{Event: func(e *event.Event) error {
		byNode[e.Node.ID] = append(byNode[e.Node.ID], *e)
		return nil
	}})
	require.NoError(t, err, "seed %d", cfg.Seed)
	run := &traces.Run{PreVote: traces.PreVote{All: setup.PreVote}}
	for id := int32(1); int(id) <= setup.Voters+setup.Observers; id++ {
		if int(id) <= setup.Voters {
			run.Voters = append(run.Voters, id)
		} else {
			run.Observers = append(run.Observers, id)
		}
	}
	return byNode, run
}

// TestSimulated validates runs of the simulator: nothing is hidden there. SEEDS is
// how many, FROM the first.
func TestSimulated(t *testing.T) {
	from, seeds := number("FROM", 1), number("SEEDS", 30)
	events, rejected, took := int64(0), 0, time.Duration(0)
	tolerated := map[traces.Tolerated]int{}
	for seed := from; seed < from+seeds; seed++ {
		inputs, run := record(t, sim.Config{Seed: uint64(seed)})
		began := time.Now()
		res, err := traces.Validate(inputs, traces.Options{Run: run})
		took += time.Since(began)
		require.NoError(t, err, "seed %d", seed)
		events += res.Stats.Events
		for what, n := range res.Stats.Tolerated {
			tolerated[what] += n
		}
		if res.Verdict != traces.Accepted {
			rejected++
			t.Errorf("seed %d, %d voters, %d observers, Pre-Vote %v: %v after %d events\n%s", seed, len(run.Voters), len(run.Observers),
				run.PreVote.All, res.Verdict, res.Stats.Events, res.Rejection.Text())
		}
	}
	t.Logf("%d runs, %d rejected; %d events, %.0f events/s; tolerated: %v", seeds, rejected, events, float64(events)/took.Seconds(), tolerated)
}

// TestSimulatedSnapshots validates runs in which replicas take, transfer and install
// snapshots.
func TestSimulatedSnapshots(t *testing.T) {
	from, seeds := number("FROM", 1), number("SEEDS", 20)
	reached := map[string]int{}
	events := int64(0)
	for seed := from; seed < from+seeds; seed++ {
		inputs, run := record(t, sim.Config{Seed: uint64(seed), Snapshots: true})
		res, err := traces.Validate(inputs, traces.Options{Run: run})
		require.NoError(t, err, "seed %d", seed)
		events += res.Stats.Events
		if res.Verdict != traces.Accepted {
			t.Errorf("seed %d: %v after %d events\n%s", seed, res.Verdict, res.Stats.Events, res.Rejection.Text())
		}
		for _, name := range res.Stats.Reached {
			reached[name]++
		}
	}
	t.Logf("%d runs, %d events, reached in so many of them: %v", seeds, events, reached)
	for _, name := range []string{"SnapshotTaken", "LogStartAdvanced", "SnapshotInstalled", "TransferResumed", "LogContinuedSnapshot"} {
		require.NotZero(t, reached[name], "no run with %s", name)
	}
}

// TestSimulatedInterruptedInstall: a process was killed between the name of a snapshot and
// its event, which the simulator knows and a real process could not have recorded. What the
// next one finds, and makes up for, is enough.
func TestSimulatedInterruptedInstall(t *testing.T) {
	dropped := 0
	for seed := uint64(50); dropped < 2; seed++ {
		require.Less(t, seed, uint64(2000), "no process is killed in an install any more")
		cfg := sim.Config{Seed: seed, Snapshots: true}
		stats, err := sim.Run(cfg, sim.Sinks{})
		require.NoError(t, err, "seed %d", seed)
		if stats.Sometimes[sim.UnrecordedInstallKept] == 0 {
			continue
		}
		byNode, run := recordEvents(t, cfg)
		var inputs []traces.Input
		in := 0 // this run
		for id := int32(1); int(id) <= len(run.Voters)+len(run.Observers); id++ {
			events := byNode[id]
			for i := len(events) - 2; i >= 0; i-- {
				if events[i].Action == "InstallSnapshot" && events[i+1].Action == "Restart" {
					events = slices.Delete(events, i, i+1)
					in++
				}
			}
			if len(events) > 0 {
				inputs = append(inputs, traces.Events(fmt.Sprintf("node-%d", id), events))
			}
		}
		require.NotZero(t, in, "seed %d", seed)
		res, err := traces.Validate(inputs, traces.Options{Run: run})
		require.NoError(t, err, "seed %d", seed)
		if res.Verdict != traces.Accepted {
			t.Fatalf("seed %d: %v after %d events\n%s", seed, res.Verdict, res.Stats.Events, res.Rejection.Text())
		}
		require.Equal(t, in, res.Stats.Hidden["InstallSnapshot"], "seed %d", seed)
		dropped += in
	}
}

// TestSimulatedChanges changes every field of simulated runs.
func TestSimulatedChanges(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	for _, seed := range []uint64{7} {
		inputs, run := record(t, sim.Config{Seed: seed, Voters: 3, Observers: -1, Steps: 400})
		report, err := traces.MutateFields(inputs, traces.Options{Run: run})
		require.NoError(t, err, "seed %d", seed)
		t.Logf("seed %d: %s", seed, report.Text())
		for _, m := range report.Unexplained[:min(20, len(report.Unexplained))] {
			t.Errorf("seed %d: accepted: node %d, incarnation %d, event %d, %s: %s", seed, m.Node, m.Inc, m.Seq, m.Action, m.Change)
		}
	}
}
