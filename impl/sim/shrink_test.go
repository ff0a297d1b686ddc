package sim

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// forgetful are defects that need a fault: what one replica is told is lost in a crash.
var forgetful = []struct {
	name string
	cfg  Config
	// faults is how many are left at most.
	faults int
}{
	{name: "a disk goes back to an earlier state", faults: 4},
	{name: "every vote is taken for granted", cfg: Config{PreVote: Off}, faults: 6},
	{name: "appends are acknowledged when they are written", faults: 0},
}

// TestShrink: a run that fails becomes a small one that fails in the same way, the same
// each time.
func TestShrink(t *testing.T) {
	for _, f := range forgetful {
		t.Run(f.name, func(t *testing.T) {
			var m = mutants[0]
			for i := range mutants {
				if mutants[i].name == f.name {
					m = mutants[i]
				}
			}
			require.Equal(t, f.name, m.name)
			run := func(c Config) (Stats, error) {
				c.wrap = m.wrap
				if m.swap != nil {
					c.swap = m.swap()
				}
				return Run(c, Sinks{})
			}
			fails := func(c Config) (Stats, bool) {
				stats, err := run(c)
				var v *ViolationError
				return stats, errors.As(err, &v) && v.Property == m.property
			}
			cfg, stats, failed := f.cfg, Stats{}, false
			cfg.Pauses, cfg.Snapshots, cfg.Heals = true, true, 1
			for !failed {
				cfg.Seed++
				require.Less(t, cfg.Seed, uint64(200))
				stats, failed = fails(cfg)
			}
			small, after := Shrink(cfg, stats, 400, fails)
			again, _ := Shrink(cfg, stats, 400, fails)
			require.Equal(t, small, again)

			left := int64(0)
			for n := int64(1); n <= after.Faults; n++ {
				if !small.Skip.has(n) {
					left++
				}
			}
			t.Logf("seed %d: from %d steps and %d faults to %d and %d: voters %d, steps %d, without %v, skip %v",
				cfg.Seed, stats.Steps, stats.Faults, after.Steps, left, small.Voters, small.Steps, small.Without, small.Skip)
			require.LessOrEqual(t, left, int64(f.faults))
			require.Less(t, after.Steps, stats.Steps)

			// What is printed makes it again.
			parsed := small
			var err error
			parsed.Without, err = ParseKnobs(small.Without.String())
			require.NoError(t, err)
			parsed.Skip, err = ParseRanges(small.Skip.String())
			require.NoError(t, err)
			require.Equal(t, small, parsed)
			_, failed = fails(parsed)
			require.True(t, failed)
		})
	}
}

func TestRanges(t *testing.T) {
	var l Ranges
	require.False(t, l.has(1))
	l = l.With(7, 9).With(3, 3).With(12, math.MaxInt64)
	require.Equal(t, "3,7-9,12-", l.String())
	for n := int64(1); n < 20; n++ {
		require.Equal(t, n == 3 || n >= 7 && n <= 9 || n >= 12, l.has(n), n)
	}
	l = l.With(10, 10)
	require.Equal(t, "3,7-10,12-", l.String())
	require.Equal(t, "3-", l.With(4, 11).String())
	for _, bad := range []string{"0", "x", "5-3", "1,,2", "-3", "1-x", "99999999999999999999"} {
		_, err := ParseRanges(bad)
		require.ErrorContains(t, err, "want numbers", bad)
	}
	_, err := ParseKnobs("loss,bug")
	require.ErrorContains(t, err, `"bug": want crash, `)
	s, err := ParseKnobs("wipe,loss")
	require.NoError(t, err)
	require.Equal(t, "loss,wipe", s.String())
}

// TestWithout: what is left out does not happen, nor does what is skipped.
func TestWithout(t *testing.T) {
	for k := range numKnobs {
		for seed := uint64(1); seed <= 3; seed++ {
			cfg := Config{Seed: seed, Snapshots: true, Pauses: true, Without: Knobs(0).With(k), Skip: Ranges{{5, 20}}}
			_, err := Run(cfg, Sinks{Fault: func(h *Happening) {
				require.NotEqual(t, k, h.Kind)
				require.False(t, cfg.Skip.has(h.Number))
				require.NotEmpty(t, h.String())
			}})
			require.NoError(t, err)
		}
	}
	none := Config{Seed: 1, Skip: Ranges{{1, math.MaxInt64}}}
	stats, err := Run(none, Sinks{Fault: func(h *Happening) { t.Errorf("%v happens", h) }})
	require.NoError(t, err)
	require.Zero(t, stats.Crashes+stats.Partitions+stats.Duplicated)
}
