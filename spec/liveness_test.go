package spec

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
)

func runLive(t *testing.T, m *LiveModel, v Variant, properties ...string) *checker.LiveResult {
	t.Helper()
	r, err := checker.RunLiveness(checker.InternedLive(NewLiveSystem(m, v)), checker.Options{Properties: properties})
	require.NoError(t, err, m.Name)
	return r
}

// Live models hold, give what is pinned, and the assumptions rule out no state in
// which they may begin to hold: whatever came before, there is a fair behaviour.
func TestLiveModels(t *testing.T) {
	for i := range LiveModels {
		m := &LiveModels[i]
		if testing.Short() && m.Pin.Distinct > 100_000 {
			continue
		}
		r := runLive(t, m, Variant{})
		assert.Equal(t, checker.Holds, r.Status, "%s: %+v", m.Name, r.Properties)
		assert.Equal(t, m.Pin, LivePin{r.Distinct, r.Suffix, r.Fair}, m.Name)
		assert.Zero(t, r.Hopeless, m.Name)
		assert.GreaterOrEqual(t, len(r.Properties), len(m.Claims), "%s: every claim is a property", m.Name)
	}
}

// Each bug is caught by its property, with the lasso that is pinned. Its cycle is
// repeated by hand: the states are the same, whatever the graph says.
func TestLivenessMutations(t *testing.T) {
	for i := range LivenessMutations {
		mu := &LivenessMutations[i]
		m, ok := LiveModelNamed(mu.Model)
		require.True(t, ok, "%s: model %s", mu.ID, mu.Model)
		if testing.Short() && m.Pin.Distinct > 100_000 {
			continue
		}
		r := runLive(t, m, Variant{Mutation: &mu.Mutation}, mu.Property)
		if !assert.Equal(t, checker.Violated, r.Status, mu.ID) {
			continue
		}
		got := r.Properties[0]
		assert.Equal(t, [2]int{mu.Stem, mu.Cycle}, [2]int{got.Stem, got.Cycle}, mu.ID)
		trace, loop := r.Violations[0].Trace, *r.Violations[0].Loop
		assert.Equal(t, trace[loop].Fields, trace[len(trace)-1].Fields, mu.ID)
		for _, s := range trace[loop+1:] {
			for _, in := range s.Inner {
				assert.False(t, in.Lost, "%s: nothing is lost in the end", mu.ID)
			}
			a := ActionID(s.Instance.Action)
			assert.NotContains(t, []ActionID{ActionCrash, ActionAppend}, a, mu.ID)
			assert.False(t, a == ActionBecomeCandidate && ID(s.Process+1) != m.First, "%s: only %s stands in the end", mu.ID, m.First)
		}
	}
}

// The names of the mutations of safety and of liveness do not clash, so that either
// can be asked for.
func TestMutationNamesAreUnique(t *testing.T) {
	seen := map[string]bool{}
	for i := range Mutations {
		seen[Mutations[i].ID] = true
	}
	for i := range LivenessMutations {
		id := LivenessMutations[i].ID
		assert.False(t, seen[id], id)
		seen[id] = true
	}
}

// Without room for one more election the model proves nothing, and says so.
func TestLiveModelWithTooFewEpochsIsRefused(t *testing.T) {
	m, _ := LiveModelNamed("live-append")
	small := *m
	small.Epochs = small.Prefix
	_, err := checker.RunLiveness(checker.InternedLive(NewLiveSystem(&small, Variant{})), checker.Options{})
	var limit *checker.LimitError
	require.ErrorAs(t, err, &limit)
	assert.Equal(t, "epochs of A", limit.Bound)
	assert.NotEmpty(t, limit.Trace)
	assert.ErrorContains(t, err, `the bound "epochs of A" keeps steps from being taken`)
}

// Without Pre-Vote a replica that is cut off from a majority raises its epoch for
// ever, so no bound on epochs is high enough.
func TestEndlessElectionsAreRefused(t *testing.T) {
	m, _ := LiveModelNamed("live-cut-off")
	old := *m
	old.PreVote = 0
	for epochs := Epoch(3); epochs <= 5; epochs++ {
		old.Epochs = epochs
		_, err := checker.RunLiveness(checker.InternedLive(NewLiveSystem(&old, Variant{})), checker.Options{})
		var limit *checker.LimitError
		require.ErrorAs(t, err, &limit, "%d epochs", epochs)
	}
}

// If clients never stop, their budget is what makes appends end.
func TestLivenessRefusesABudgetOfWhatMayGoOn(t *testing.T) {
	m, _ := LiveModelNamed("live-append")
	s := &endlessClients{NewLiveSystem(m, Variant{})}
	_, err := checker.RunLiveness(checker.InternedLive[LiveReplica, Msg, uint64](s), checker.Options{})
	var limit *checker.LimitError
	require.ErrorAs(t, err, &limit)
	assert.Equal(t, "client records", limit.Bound)
}

type endlessClients struct{ *LiveSystem }

func (s *endlessClients) Liveness() *checker.Liveness {
	l := s.LiveSystem.Liveness()
	for i, n := range l.Finally.Never {
		var actions []checker.ActionID
		for _, a := range n.Actions {
			if ActionID(a) != ActionAppend {
				actions = append(actions, a)
			}
		}
		l.Finally.Never[i].Actions = actions
	}
	return l
}

// Both engines judge alike.
func TestLivenessEnginesAgree(t *testing.T) {
	m, _ := LiveModelNamed("live-append")
	small := *m
	small.Voters, small.PreVote, small.Records = 2, 0, 0
	hw, ok := LivenessMutationNamed("high-watermark-not-told")
	require.True(t, ok)
	for _, v := range []Variant{{}, {Mutation: &hw.Mutation}} {
		a := runLive(t, &small, v)
		b, err := checker.RunLiveness(checker.FlatLive(NewLiveSystem(&small, v)), checker.Options{})
		require.NoError(t, err)
		assert.Equal(t, a.Properties, b.Properties)
		assert.Equal(t, []uint64{a.Distinct, a.Edges, a.Suffix, a.Components, a.Fair, a.Hopeless},
			[]uint64{b.Distinct, b.Edges, b.Suffix, b.Components, b.Fair, b.Hopeless})
		assert.Equal(t, v.Mutation == nil, a.Status == checker.Holds)
	}
}
