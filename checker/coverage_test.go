package checker

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCoverage(t *testing.T) {
	g := &grid{side: 30, properties: []Property{
		{Name: "OfUp", Kind: Invariant, Subject: "Up"}, {Name: "OfWall", Kind: Invariant, Subject: "Never"}, {Name: "Never", Kind: Sometimes},
	}}
	for _, workers := range []int{1, 2, 8} {
		r, err := Run(g, Options{Workers: workers, Coverage: true})
		require.NoError(t, err)
		plain, err := Run(g, Options{Workers: workers})
		require.NoError(t, err)
		assert.Equal(t, counts(plain), counts(r))
		assert.Nil(t, plain.Coverage)
		c := r.Coverage
		require.Len(t, c.Actions, 2)
		fresh, share := r.Initial, c.TableShare+c.IdleShare
		for _, a := range c.Actions {
			assert.EqualValues(t, 30*31, a.Enabled)
			assert.EqualValues(t, 30*31, a.Taken)
			assert.Equal(t, 1, a.FirstDepth+1, "from the first state")
			fresh += a.New
			share += a.Share
		}
		assert.Equal(t, r.Distinct, fresh, "every state but the first was reached by an action")
		assert.InDelta(t, 1, share, 1e-6)
		assert.Contains(t, c.Warnings, "Never is never reached")
		assert.Contains(t, c.Warnings, "OfWall holds of nothing: Never does not happen")
		assert.Len(t, c.Warnings, 2, "%q", c.Warnings)
		var b bytes.Buffer
		require.NoError(t, r.WriteText(&b))
		assert.Contains(t, b.String(), "warning: OfWall holds of nothing")
	}
	r, err := Run(&grid{side: 30}, Options{Coverage: true, MaxDepth: 5})
	require.NoError(t, err)
	assert.Len(t, r.Coverage.Warnings, 1, "of a run that did not end nothing more can be said")
	for _, opt := range []Options{{Order: DepthFirst}, {Counterexamples: 2}, {Mem: 1 << 30}} {
		opt.Coverage = true
		_, err := Run(&grid{side: 3}, opt)
		assert.ErrorContains(t, err, "coverage goes with")
	}
}

// What an action does later than at the beginning is found at its depth.
func TestFirstDepth(t *testing.T) {
	r, err := Run(Interned(&relay{processes: 2, inFlight: 2, maxSeq: 2, budgets: [4]uint8{0, 1, 1, 1}}), Options{Coverage: true, KeepGoing: true, Workers: 2})
	require.NoError(t, err)
	for _, a := range r.Coverage.Actions {
		found, err := Run(Interned(&relay{processes: 2, inFlight: 2, maxSeq: 2, budgets: [4]uint8{0, 1, 1, 1}}), Options{KeepGoing: true, MaxDepth: a.FirstDepth + 1})
		require.NoError(t, err)
		more, err := Run(Interned(&relay{processes: 2, inFlight: 2, maxSeq: 2, budgets: [4]uint8{0, 1, 1, 1}}), Options{KeepGoing: true, MaxDepth: a.FirstDepth + 2})
		require.NoError(t, err)
		if a.Taken == 0 {
			continue
		}
		for i := range found.Actions {
			if found.Actions[i].Name == a.Name {
				assert.Zero(t, found.Actions[i].Fired, a.Name)
				assert.NotZero(t, more.Actions[i].Fired, a.Name)
			}
		}
	}
}
