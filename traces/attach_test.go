package traces_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/impl/sim"
	"github.com/quorate/quorate/traces"
	"github.com/quorate/quorate/traces/event"
)

// Recordings that begin and end while replicas live, crash and restart, are accepted, with
// nothing hidden.
func TestAttached(t *testing.T) {
	from, seeds := number("FROM", 1), number("SEEDS", 30)
	attached, assumed, judged, events := 0, map[string]int{}, 0, int64(0)
	for seed := from; seed < from+seeds; seed++ {
		cfg := sim.Config{Seed: uint64(seed), Snapshots: seed%2 == 0, Attach: sim.Time(500_000 + seed%7*400_000)}
		if seed%3 == 0 {
			cfg.Detach = cfg.Attach + 2_500_000
		}
		inputs, run := record(t, cfg)
		if len(inputs) == 0 {
			continue
		}
		res, err := traces.Validate(inputs, traces.Options{Run: run})
		require.NoError(t, err, "seed %d", seed)
		if res.Verdict != traces.Accepted {
			t.Errorf("seed %d, %d voters, %d observers, Pre-Vote %v: %v after %d events\n%s", seed, len(run.Voters), len(run.Observers),
				run.PreVote.All, res.Verdict, res.Stats.Events, res.Rejection.Text())
		}
		events += res.Stats.Events
		attached += len(res.Stats.Attached)
		for what, n := range res.Stats.Assumed {
			assumed[what] += n
		}
		if res.Stats.JudgedFrom > 0 {
			judged++
		}
	}
	require.Positive(t, attached, "recordings that begin late")
	require.NotEmpty(t, assumed, "messages under way at that time")
	require.Positive(t, judged, "runs judged as a whole")
	t.Logf("%d runs, %d events, %d recordings begun late, assumed %v, %d judged as a whole", seeds, events, attached, assumed, judged)
}

// What an event with which recording begins says is held against all that follows: with a
// false value in it a run is rejected, always or, where nothing may come of the value, in
// some runs.
func TestAttachedDamaged(t *testing.T) {
	type damage struct {
		name   string
		always bool
		change func(e *event.Event) bool // false: this one has no such value
	}
	run := func(e *event.Event) *event.Run {
		if len(e.Attach.Log) == 0 {
			return &event.Run{}
		}
		return &e.Attach.Log[len(e.Attach.Log)-1]
	}
	damages := []damage{
		{"role", true, func(e *event.Event) bool { e.State.Role = "Resigned"; return e.State.Leader != e.Node.ID }},
		{"epoch", true, func(e *event.Event) bool { e.State.Epoch++; return true }},
		{"leader", true, func(e *event.Event) bool { e.State.Leader = -1; return e.State.Role == "Follower" }},
		{"hw forward", false, func(e *event.Event) bool { e.State.HighWatermark++; return true }},
		{"hw back", false, func(e *event.Event) bool { e.State.HighWatermark--; return e.State.HighWatermark >= 0 }},
		{"logEnd", true, func(e *event.Event) bool { e.State.LogEnd++; return true }},
		{"logStart", true, func(e *event.Event) bool { e.State.LogStart++; return true }},
		{"lastEpoch", true, func(e *event.Event) bool { e.State.LastEpoch++; return true }},
		{"flushed", false, func(e *event.Event) bool { e.State.Flushed--; return e.State.Flushed >= e.State.LogStart }},
		{"digest", false, func(e *event.Event) bool { e.State.Digest ^= 1; return true }},
		{"voted", false, func(e *event.Event) bool {
			was := e.State.Voted
			e.State.Voted = e.Node.ID
			return was != e.Node.ID && e.State.Leader != e.Node.ID
		}},
		{"records", true, func(e *event.Event) bool { run(e).Count++; return run(e).Epoch > 0 }},
		{"a record less", true, func(e *event.Event) bool { run(e).Count--; return run(e).Epoch > 0 && run(e).Count > 0 }},
		{"epoch of records", true, func(e *event.Event) bool { run(e).Epoch--; return run(e).Epoch > 0 }},
		{"kind of records", false, func(e *event.Event) bool {
			run(e).Kind = event.LeaderChange
			return run(e).Epoch > 0 && run(e).Count > 1
		}},
		{"snapshot", true, func(e *event.Event) bool { e.State.Snapshot.End++; return e.State.Has&event.HasSnapshot != 0 }},
		{"snapshots", true, func(e *event.Event) bool { e.Attach.Snapshots = nil; return e.State.Has&event.HasSnapshot != 0 }},
		{"epoch start", true, func(e *event.Event) bool {
			if e.Attach.Leading == nil || e.Attach.Leading.EpochStart < e.State.LogStart {
				return false
			}
			e.Attach.Leading.EpochStart++
			return true
		}},
		{"ends", true, func(e *event.Event) bool {
			if e.Attach.Leading == nil || len(e.Attach.Leading.Ends) == 0 {
				return false
			}
			ends := make([]event.ReplicaEnd, len(e.Attach.Leading.Ends))
			for i, end := range e.Attach.Leading.Ends {
				ends[i] = event.ReplicaEnd{ID: end.ID, Offset: e.State.LogEnd + 1}
			}
			e.Attach.Leading.Ends = ends
			return true
		}},
		{"leading", true, func(e *event.Event) bool { e.Attach.Leading = nil; return e.State.Role == "Leader" }},
		{"granted", true, func(e *event.Event) bool { e.Attach.Granted = []int32{e.Node.ID}; return e.State.Role == "Follower" }},
		{"fetched", true, func(e *event.Event) bool { e.Attach.Fetched = true; return e.State.Role != "Follower" }},
		{"correlation", false, func(e *event.Event) bool { e.Attach.Correlation += 1000; return true }},
	}
	tried, caught := map[string]int{}, map[string]int{}
	for seed := 1; seed <= number("SEEDS", 12); seed++ {
		cfg := sim.Config{Seed: uint64(seed), Snapshots: seed%2 == 0, Attach: 800_000, Duration: 2_500_000}
		byNode, who := recordEvents(t, cfg)
		for node, all := range byNode {
			if len(all) == 0 || all[0].Attach == nil {
				continue
			}
			for _, d := range damages {
				first := all[0]
				a := *first.Attach
				a.Log = append([]event.Run(nil), a.Log...)
				if a.Leading != nil {
					l := *a.Leading
					a.Leading = &l
				}
				first.Attach = &a
				if !d.change(&first) {
					continue
				}
				var inputs []traces.Input
				for n, list := range byNode {
					if n == node {
						list = append([]event.Event{first}, list[1:]...)
					}
					if len(list) > 0 {
						inputs = append(inputs, traces.Events(fmt.Sprint("node-", n), list))
					}
				}
				res, err := traces.Validate(inputs, traces.Options{Run: who})
				var malformed *traces.MalformedError
				require.True(t, err == nil || errors.As(err, &malformed), "%v", err)
				tried[d.name]++
				if err != nil || res.Verdict == traces.Rejected {
					caught[d.name]++
				} else if d.always {
					t.Errorf("seed %d, node %d: accepted with another %s", seed, node, d.name)
				}
			}
		}
	}
	for _, d := range damages {
		require.NotZero(t, caught[d.name], d.name)
		t.Logf("%s: rejected in %d of %d runs", d.name, caught[d.name], tried[d.name])
	}
}
