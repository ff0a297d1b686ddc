package sim

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces/event"
)

var seedFlag = flag.Uint64("seed", 0, "run only this seed")

// seeds is how many seeds to run: QUORATE_SEEDS, or n.
func seeds(n int) uint64 {
	if v, err := strconv.Atoi(os.Getenv("QUORATE_SEEDS")); err == nil {
		return uint64(v)
	}
	return uint64(n)
}

func TestSeeds(t *testing.T) {
	first, last := uint64(1), seeds(250)
	if *seedFlag > 0 {
		first, last = *seedFlag, *seedFlag
	}
	var total Stats
	failed := 0
	for seed := first; seed <= last && failed < 5; seed++ {
		s, err := Run(Config{Seed: seed}, Sinks{})
		total.Add(&s)
		if err != nil {
			failed++
			t.Errorf("%v", err)
		}
	}
	t.Logf("%+v", total)
	for i, n := range total.Sometimes {
		t.Logf("%-26s %d", Sometimes(i), n)
		if last >= 250 && (Sometimes(i) < SnapshotTaken || i == int(DiskStayedFull) || i == int(ClockApart)) {
			require.NotZero(t, n, "%v never happened", Sometimes(i))
		}
	}
}

// TestSeedsWithSnapshots: all that holds without them holds with them.
func TestSeedsWithSnapshots(t *testing.T) {
	first, last := uint64(1), seeds(250)
	if *seedFlag > 0 {
		first, last = *seedFlag, *seedFlag
	}
	var total Stats
	failed := 0
	for seed := first; seed <= last && failed < 5; seed++ {
		s, err := Run(Config{Seed: seed, Snapshots: true}, Sinks{})
		total.Add(&s)
		if err != nil {
			failed++
			t.Errorf("%v", err)
		}
	}
	t.Logf("%+v", total)
	for i := SnapshotTaken; i < Paused; i++ {
		t.Logf("%-26s %d", i, total.Sometimes[i])
		if last >= 150 {
			require.NotZero(t, total.Sometimes[i], "%v never happened", i)
		}
	}
}

// TestSeedsWithMembers: and with voters that come and go.
func TestSeedsWithMembers(t *testing.T) {
	first, last := uint64(1), seeds(60)
	if *seedFlag > 0 {
		first, last = *seedFlag, *seedFlag
	}
	var total Stats
	failed := 0
	for seed := first; seed <= last && failed < 5; seed++ {
		s, err := Run(Config{Seed: seed, Members: true, Snapshots: seed%2 == 0}, Sinks{})
		total.Add(&s)
		if err != nil {
			failed++
			t.Errorf("%v", err)
		}
	}
	t.Logf("%+v", total)
	for i := VoterChangeDone; i < DiskStayedFull; i++ {
		t.Logf("%-26s %d", i, total.Sometimes[i])
		if last >= 60 {
			require.NotZero(t, total.Sometimes[i], "%v never happened", i)
		}
	}
}

// TestSeedsWithPauses: and with processes that stop and go on.
func TestSeedsWithPauses(t *testing.T) {
	first, last := uint64(1), seeds(60)
	if *seedFlag > 0 {
		first, last = *seedFlag, *seedFlag
	}
	var total Stats
	for seed := first; seed <= last; seed++ {
		cfg := Config{Seed: seed, Snapshots: true, Pauses: true}
		s, err := Run(cfg, Sinks{})
		require.NoError(t, err)
		if seed%20 == 0 {
			again, err := Run(cfg, Sinks{})
			require.NoError(t, err)
			require.Equal(t, s, again)
		}
		total.Add(&s)
	}
	for i := Paused; i < VoterChangeDone; i++ {
		t.Logf("%-26s %d", i, total.Sometimes[i])
		if last >= 60 {
			require.NotZero(t, total.Sometimes[i], "%v never happened", i)
		}
	}
}

// TestHeals: the cluster makes progress whenever faults stop, also in between, and within
// the bounds in rounds.
func TestHeals(t *testing.T) {
	var total Stats
	for seed := uint64(1); seed <= seeds(30); seed++ {
		s, err := Run(Config{Seed: seed, Snapshots: true, Pauses: true, Heals: 3}, Sinks{})
		require.NoError(t, err)
		require.EqualValues(t, 3, s.Sometimes[HealedWithin])
		total.Add(&s)
	}
	t.Logf("in thousandths of a round: %v", total.Slowest)
	require.NotZero(t, total.Slowest[2])
}

// record is everything that a run gives, as bytes.
func record(t *testing.T, cfg Config) (text []byte, stats Stats) {
	stats, err := Run(cfg, Sinks{
		Event: func(e *event.Event) error {
			text = append(event.AppendJSON(text, e), '\n')
			return nil
		},
		Invoke: func(op Operation) error {
			text = fmt.Appendf(text, "invoke %+v\n", op)
			return nil
		},
		Return: func(op Operation) error {
			text = fmt.Appendf(text, "return %+v\n", op)
			return nil
		},
		Committed: func(offset int64, value []byte) error {
			text = fmt.Appendf(text, "%d %s\n", offset, value)
			return nil
		},
	})
	require.NoError(t, err)
	return text, stats
}

// TestDeterminism: one seed, one run, byte by byte.
func TestDeterminism(t *testing.T) {
	for seed := range seeds(40) {
		cfg := Config{Seed: seed}
		a, statsA := record(t, cfg)
		b, statsB := record(t, cfg)
		require.Equal(t, statsA, statsB)
		if string(a) != string(b) {
			t.Fatalf("seed %d: two runs differ", seed)
		}
		require.NotEmpty(t, a)
		stats, err := Run(cfg, Sinks{})
		require.NoError(t, err)
		require.Equal(t, statsA, stats, "seed %d: a run depends on who watches it", seed)
	}
	a, _ := record(t, Config{Seed: 1})
	b, _ := record(t, Config{Seed: 2})
	require.NotEqual(t, a, b)
}

// TestEventsAreInSequence: each node's events can be written to a trace file.
func TestEventsAreInSequence(t *testing.T) {
	for seed := range seeds(20) {
		writers := map[int32]*event.Writer{}
		events := int64(0)
		stats, err := Run(Config{Seed: seed}, Sinks{Event: func(e *event.Event) error {
			w := writers[e.Node.ID]
			if w == nil {
				w = event.NewWriter(discard{}, e.Node)
				writers[e.Node.ID] = w
			}
			events++
			return w.WriteGroup([]event.Event{*e})
		}})
		require.NoError(t, err)
		require.Equal(t, stats.Events, events)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

// TestSetups: what the caller asks for, not the seed.
func TestSetups(t *testing.T) {
	for voters := 1; voters <= 5; voters++ {
		for _, preVote := range []Choice{On, Off} {
			cfg := Config{Seed: uint64(voters), Voters: voters, Observers: 1, PreVote: preVote, NoFaults: true, Duration: 2 * second, Clients: 3}
			stats, err := Run(cfg, Sinks{})
			require.NoError(t, err)
			require.Zero(t, stats.Crashes+stats.Duplicated+stats.Partitions+stats.AppendsUnknown, "%+v", stats)
			require.NotZero(t, stats.AppendsAcked)
			require.NotZero(t, stats.Reads)
			setup, err := cfg.Setup()
			require.NoError(t, err)
			require.Equal(t, Setup{Voters: voters, Observers: 1, PreVote: preVote == On}, setup)
		}
	}
	for _, bad := range []Config{{Voters: 10}, {Voters: -1}, {Observers: 10}, {Observers: -2}} {
		_, err := Run(bad, Sinks{})
		require.Error(t, err)
	}
}

// TestSteps: the limit ends the phase with faults.
func TestSteps(t *testing.T) {
	all, err := Run(Config{Seed: 3}, Sinks{})
	require.NoError(t, err)
	some, err := Run(Config{Seed: 3, Steps: 200}, Sinks{})
	require.NoError(t, err)
	require.Less(t, some.Steps, all.Steps/2)
	require.Greater(t, some.Steps, int64(200))
}

// TestSinkError: a sink that fails ends the run.
func TestSinkError(t *testing.T) {
	_, err := Run(Config{Seed: 3}, Sinks{Event: func(*event.Event) error { return os.ErrClosed }})
	require.ErrorIs(t, err, os.ErrClosed)
	require.ErrorContains(t, err, "seed 3")
}

// BenchmarkRun measures core steps with all that is around them: disk, network,
// events, checks.
func BenchmarkRun(b *testing.B) {
	steps, events := int64(0), int64(0)
	for seed := uint64(1); b.Loop(); seed++ {
		s, err := Run(Config{Seed: seed}, Sinks{})
		if err != nil {
			b.Fatal(err)
		}
		steps += s.Steps
		events += s.Events
	}
	b.ReportMetric(float64(steps)/b.Elapsed().Seconds(), "steps/s")
	b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
}

// BenchmarkRunTraced also encodes every event.
func BenchmarkRunTraced(b *testing.B) {
	steps := int64(0)
	var buf []byte
	sinks := Sinks{Event: func(e *event.Event) error {
		buf = event.AppendJSON(buf[:0], e)
		return nil
	}}
	for seed := uint64(1); b.Loop(); seed++ {
		s, err := Run(Config{Seed: seed}, sinks)
		if err != nil {
			b.Fatal(err)
		}
		steps += s.Steps
	}
	b.ReportMetric(float64(steps)/b.Elapsed().Seconds(), "steps/s")
}
