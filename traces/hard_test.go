package traces_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/impl/sim"
	"github.com/quorate/quorate/traces"
	"github.com/quorate/quorate/traces/event"
)

// hardCase is one of a simulated run.
func hardCase(t testing.TB, seed uint64, change bool) (*traces.HardCase, traces.Options, error) {
	cfg := sim.Config{Seed: seed, Voters: 3, Observers: -1, Steps: 200}
	var events []event.Event
	_, err := sim.Run(cfg, sim.Sinks{Event: func(e *event.Event) error {
		events = append(events, *e)
		return nil
	}})
	require.NoError(t, err, "seed %d", seed)
	setup, err := cfg.Setup()
	require.NoError(t, err)
	c, err := traces.Hard(&traces.Run{Voters: []int32{1, 2, 3}, PreVote: traces.PreVote{All: setup.PreVote}}, events, 100, change)
	if err != nil {
		return nil, traces.Options{}, err
	}
	return c, traces.Options{Run: c.Run, Hidden: c.Hidden, HiddenAt: []int32{c.Lost}}, nil
}

// TestHard: what was recorded is accepted, of whatever is not said; what was changed is decided.
func TestHard(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 15
	}
	verdicts, hidden := map[traces.Verdict]int{}, uint64(0)
	for seed := uint64(1); seed <= seeds; seed++ {
		c, opt, err := hardCase(t, seed, false)
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, 100, c.Events, "seed %d", seed)
		res, err := traces.Validate(c.Inputs, opt)
		require.NoError(t, err, "seed %d", seed)
		require.Equal(t, traces.Accepted, res.Verdict, "seed %d: %v", seed, res.Rejection)
		if len(res.Stats.Hidden) > 0 {
			hidden++
		}
		if c, opt, err = hardCase(t, seed, true); err != nil {
			continue
		}
		res, err = traces.Validate(c.Inputs, opt)
		require.NoError(t, err, "seed %d", seed)
		require.NotEqual(t, traces.OutOfBudget, res.Verdict, "seed %d", seed)
		verdicts[res.Verdict]++
	}
	t.Log(verdicts)
	require.Greater(t, hidden, seeds*9/10)
	require.Greater(t, verdicts[traces.Rejected], verdicts[traces.Accepted])
}

// TestHardGivenUp: a search that is given up is no answer.
func TestHardGivenUp(t *testing.T) {
	verdicts := map[traces.Verdict]int{}
	for seed := uint64(1); seed <= 15; seed++ {
		for _, change := range []bool{false, true} {
			c, opt, err := hardCase(t, seed, change)
			require.NoError(t, err)
			opt.MaxSearch = 1
			res, err := traces.Validate(c.Inputs, opt)
			require.NoError(t, err)
			wrong := traces.Rejected
			if change {
				wrong = traces.Accepted
			}
			require.NotEqual(t, wrong, res.Verdict, "seed %d, changed %v", seed, change)
			if res.Verdict == traces.OutOfBudget {
				require.NotEmpty(t, res.Rejection.Why)
			}
			verdicts[res.Verdict]++
		}
	}
	t.Log(verdicts)
	require.NotZero(t, verdicts[traces.OutOfBudget])
}

func BenchmarkHard(b *testing.B) {
	for name, change := range map[string]bool{"as it was": false, "changed": true} {
		b.Run(name, func(b *testing.B) {
			var list []*traces.HardCase
			var opts []traces.Options
			for seed := uint64(1); seed <= 50; seed++ {
				if c, opt, err := hardCase(b, seed, change); err == nil {
					list, opts = append(list, c), append(opts, opt)
				}
			}
			for i := 0; b.Loop(); i++ {
				_, err := traces.Validate(list[i%len(list)].Inputs, opts[i%len(list)])
				require.NoError(b, err)
			}
		})
	}
}
