package traces

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// received walks until a follower that has a log has all of a snapshot that it has not
// installed yet; not ok if it never comes to that.
func received(seed uint64) (g *generator, follower int, ok bool) {
	g = newGenerator(seed, three)
	for g.total < 1000 {
		for i, r := range g.replicas {
			if r.Log.End() > 0 && g.ctx.Take(spec.ActionInstallSnapshot, &r, nil, spec.Args{}, &g.out) {
				return g, i, true
			}
		}
		g.once()
	}
	return nil, 0, false
}

// TestInterruptedInstall: a process is killed while it installs a snapshot, which it could
// not record. Before the snapshot had its name nothing has happened. After that the next
// process has to empty the log, whether the one before got so far or not.
func TestInterruptedInstall(t *testing.T) {
	runs := 0
	for seed := uint64(0); runs < 3; seed++ {
		require.Less(t, seed, uint64(1000), "no follower receives a snapshot any more")
		g, n, ok := received(seed)
		if !ok {
			continue
		}
		runs++
		before := g.replicas[n]
		name := nameOf(before.Fetching.Snapshot)
		others := g.events

		// restarted is the run up to a start of that process, which finds change on its
		// disk, and goes on for so many events.
		restarted := func(change func(r *spec.Replica), more int) [][]event.Event {
			again, at, _ := received(seed)
			require.Equal(t, n, at)
			require.Equal(t, others, again.events)
			change(&again.replicas[n])
			again.crash(n)
			return read(t, again.walk(again.total+more))
		}
		install := func(r *spec.Replica) {
			require.True(t, g.ctx.Take(spec.ActionInstallSnapshot, r, nil, spec.Args{}, &g.out))
		}
		validate := func(all [][]event.Event) *Result {
			res, err := Validate(write(all), Options{Run: three})
			require.NoError(t, err)
			return res
		}
		accepted := func(all [][]event.Event, hidden map[string]int) {
			t.Helper()
			res := validate(all)
			if res.Verdict != Accepted {
				t.Fatalf("seed %d: %v\n%s", seed, res.Verdict, res.Rejection.Text())
			}
			require.Equal(t, hidden, res.Stats.Hidden, "seed %d", seed)
		}
		last := func(all [][]event.Event) *event.Event { return &all[n][len(all[n])-1] }

		accepted(restarted(func(*spec.Replica) {}, 0), map[string]int{})
		accepted(restarted(install, 0), map[string]int{"InstallSnapshot": 1})
		accepted(restarted(install, 300), map[string]int{"InstallSnapshot": 1})

		kept := last(restarted(func(*spec.Replica) {}, 0)).State // of the log
		for what, wrong := range map[string]func(s *event.State){
			"the log is as it was": func(s *event.State) {
				s.LogStart, s.LogEnd, s.LastEpoch, s.Flushed, s.Digest = kept.LogStart, kept.LogEnd, kept.LastEpoch, kept.Flushed, kept.Digest
				s.HighWatermark = kept.HighWatermark
			},
			"only the log start moved": func(s *event.State) {
				s.LogEnd, s.LastEpoch, s.Flushed, s.Digest = kept.LogEnd, kept.LastEpoch, kept.Flushed, kept.Digest
			},
			"the log is empty and starts where it did": func(s *event.State) {
				s.LogStart, s.HighWatermark = kept.LogStart, kept.HighWatermark
			},
			"the log is empty and the snapshot is not there": func(s *event.State) { s.Snapshot = kept.Snapshot },
		} {
			all := restarted(install, 0)
			e := last(all)
			require.Equal(t, "Restart", e.Action)
			require.Equal(t, name, e.State.Snapshot)
			good := e.State
			wrong(&e.State)
			require.NotEqual(t, good, e.State, "seed %d: %s", seed, what)
			e.Durable.LogEnd = e.State.LogEnd
			res := validate(all)
			require.Equal(t, Rejected, res.Verdict, "seed %d: %s", seed, what)
			require.Equal(t, three.Voters[n], res.Rejection.Node, "seed %d: %s", seed, what)
			require.Equal(t, "Restart", res.Rejection.Action, "seed %d: %s", seed, what)
		}
	}
}
