package spec_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
)

// model is one of the models, with constants set, under a variant.
func model(t *testing.T, name string, v spec.Variant, set ...string) checker.Runnable {
	t.Helper()
	m, ok := spec.ModelNamed(name)
	require.True(t, ok, name)
	n := *m
	for i := 0; i < len(set); i += 2 {
		require.NoError(t, n.Set(set[i], set[i+1]))
	}
	require.NoError(t, n.Check())
	return checker.Erase(checker.Interned(spec.NewSystem(&n, v)))
}

// Every mutation changes what may happen, on the model that catches it; where it
// drops a guard, that is what refuses the first step that only it has.
func TestEveryMutationDiffers(t *testing.T) {
	for i := range spec.Mutations {
		mu := &spec.Mutations[i]
		t.Run(mu.ID, func(t *testing.T) {
			t.Parallel()
			c, err := checker.Diff(model(t, mu.Model, spec.Variant{}), model(t, mu.Model, spec.Variant{Mutation: mu}), checker.DiffOptions{First: true})
			require.NoError(t, err)
			require.Equal(t, checker.Differ, c.Status)
			v := c.OnlyB
			if v == nil {
				v = c.OnlyA
			}
			if mu.Steps > 0 {
				assert.LessOrEqual(t, len(v.Trace)-1, mu.Steps, "the difference comes before the violation")
			}
			if mu.Guard != spec.NoGuard {
				require.NotNil(t, c.OnlyB, "what a guard refuses, the protocol lacks")
				assert.Equal(t, []checker.Refusal{{Name: mu.Guard.String()}}, c.OnlyB.Refused)
			} else {
				assert.NotEmpty(t, slices.Concat(v.Refused, refusalsOf(v.Effect)), "refused by a guard, or with another effect")
			}
		})
	}
}

func refusalsOf(changes []checker.Change) (list []checker.Refusal) {
	for _, c := range changes {
		list = append(list, checker.Refusal{Name: c.String()})
	}
	return list
}

func dropped(a spec.ActionID, g spec.Guard) spec.Variant {
	return spec.Variant{DropAction: a, DropGuard: g}
}

func TestDroppedGuards(t *testing.T) {
	base := func(name string) checker.Runnable { return model(t, name, spec.Variant{}) }
	t.Run("one that matters", func(t *testing.T) {
		c, err := checker.Diff(base("vote-restart"), model(t, "vote-restart", dropped(spec.ActionBecomeLeader, spec.HasMajority)), checker.DiffOptions{Count: true})
		require.NoError(t, err)
		assert.Equal(t, checker.Differ, c.Status)
		assert.Nil(t, c.OnlyA, "without a guard nothing is lost")
		assert.False(t, c.OnlyAOpen)
		require.NotNil(t, c.OnlyB)
		assert.Len(t, c.OnlyB.Trace, 3, "A stands, and leads")
		assert.Equal(t, []checker.Refusal{{Name: "HasMajority"}}, c.OnlyB.Refused)
		m, _ := spec.ModelNamed("vote-restart")
		pin, _ := m.Pin()
		assert.Equal(t, pin.Distinct, c.Counts.Common)
		assert.Zero(t, c.Counts.OnlyA)
		assert.NotZero(t, c.Counts.OnlyB)
	})
	t.Run("one that no state of the model needs", func(t *testing.T) {
		for _, v := range []spec.Variant{
			dropped(spec.ActionFlush, spec.FlushInRange),      // the model flushes to the end
			dropped(spec.ActionHandleVoteRequest, spec.IsUp),  // nothing crashes
			dropped(spec.ActionBecomeCandidate, spec.IsVoter), // all are voters
		} {
			c, err := checker.Diff(base("commit"), model(t, "commit", v), checker.DiffOptions{})
			require.NoError(t, err)
			assert.Equal(t, checker.Same, c.Status, "%v", v.DropGuard)
			assert.Equal(t, &checker.SideCounts{Common: 11707}, c.Counts)
		}
	})
	t.Run("on one replica", func(t *testing.T) {
		v := dropped(spec.ActionBecomeLeader, spec.HasMajority)
		v.On = spec.SetOf(2) // who never stands
		c, err := checker.Diff(base("vote-restart"), model(t, "vote-restart", v), checker.DiffOptions{})
		require.NoError(t, err)
		assert.Equal(t, checker.Same, c.Status)
	})
}

// Constants that begin alike are compared by whole states: the bound is what refuses.
func TestDiffOfBounds(t *testing.T) {
	c, err := checker.Diff(model(t, "commit", spec.Variant{}), model(t, "commit", spec.Variant{}, "records", "2"), checker.DiffOptions{})
	require.NoError(t, err)
	assert.Nil(t, c.OnlyA)
	require.NotNil(t, c.OnlyB)
	assert.Equal(t, []checker.Refusal{{Name: "budget of client records", Bound: true}}, c.OnlyB.Refused)
	c, err = checker.Diff(model(t, "commit", spec.Variant{}), model(t, "commit", spec.Variant{}, "crashes", "1"), checker.DiffOptions{})
	require.NoError(t, err)
	require.NotNil(t, c.OnlyB)
	assert.Equal(t, "the model allows no crashes", c.OnlyB.Unoffered)
}

// With Pre-Vote replicas begin in other states, so only what both have is compared.
// A replica that is asked for a pre-vote in a newer epoch adopts the epoch without
// voting, which without Pre-Vote nobody does for a live candidate; and nothing is lost.
func TestDiffOfPreVote(t *testing.T) {
	small := []string{"epochs", "1", "stand", "A"}
	without := model(t, "upgrade", spec.Variant{}, append(small, "pre-vote", "none")...)
	with := model(t, "upgrade", spec.Variant{}, append(small, "pre-vote", "all")...)
	opt := checker.DiffOptions{Default: []string{"epoch", "leader", "voted", "log", "highWatermark"}}
	c, err := checker.Diff(without, with, opt)
	require.NoError(t, err)
	assert.Equal(t, opt.Default, c.On)
	assert.Nil(t, c.OnlyA)
	assert.False(t, c.OnlyAOpen)
	require.NotNil(t, c.OnlyB)
	assert.Equal(t, []string{"A.epoch: 0 -> 1", "A.voted: - -> A", "B.epoch: 0 -> 1"}, c.OnlyB.Observed)
	assert.Equal(t, []checker.Change{{Path: "B.voted", Old: "A", New: "-"}}, c.OnlyB.Effect)
	opt.On = []string{"role"}
	c, err = checker.Diff(without, with, opt)
	require.NoError(t, err)
	require.NotNil(t, c.OnlyB)
	assert.Len(t, c.OnlyB.Trace, 2, "to be prospective is enough")
	assert.Equal(t, []string{"A.role: Unattached -> Prospective"}, c.OnlyB.Observed)
	assert.Equal(t, "SupportsPreVote", c.OnlyB.Refused[0].Name)
	require.NotNil(t, c.OnlyA)
	assert.Equal(t, []string{"A.role: Unattached -> Candidate"}, c.OnlyA.Observed)
}
