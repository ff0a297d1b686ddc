package spec_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
)

// watched compares, for everything that the engine asks a system, the steps that it
// lists with the attempts that nothing refuses.
type watched struct {
	*spec.System
	t       *testing.T
	mu      sync.Mutex
	refused map[string]int // by action and guard
}

func (w *watched) compare(r *spec.Replica, m *spec.Msg, b checker.Budget, out *checker.Steps[spec.Replica, spec.Msg]) {
	listed := map[checker.Instance]bool{}
	for _, e := range out.List {
		listed[e.Instance] = true
	}
	bounded := uint32(0)
	w.mu.Lock()
	defer w.mu.Unlock()
	for a := checker.ActionID(0); a < checker.ActionID(spec.NumReplicaActions); a++ {
		w.Attempts(a, r, m, func(at checker.Attempt) {
			if at.Budget != b {
				return
			}
			for _, no := range at.Refused {
				w.refused[spec.ActionID(a).String()+"."+no.Name]++
			}
			if len(at.Refused) == 1 && at.Refused[0].Bound {
				bounded++
			}
			if want := len(at.Refused) == 0; want != listed[at.Instance] {
				w.t.Errorf("%s of %s, listed %v: refused by %v", spec.ActionID(a), r.ID, listed[at.Instance], at.Refused)
			}
			delete(listed, at.Instance)
		})
	}
	assert.Empty(w.t, listed, "steps that are no attempts")
	assert.Equal(w.t, out.Bounded != 0, bounded > 0)
}

func (w *watched) Local(r *spec.Replica, b checker.Budget, out *checker.Steps[spec.Replica, spec.Msg]) {
	w.System.Local(r, b, out)
	w.compare(r, nil, b, out)
}

func (w *watched) Deliver(r *spec.Replica, m *spec.Msg, out *checker.Steps[spec.Replica, spec.Msg]) {
	w.System.Deliver(r, m, out)
	w.compare(r, m, 0, out)
}

// What is said to refuse a step and what the model does are written twice, and must
// not drift apart.
func TestAttemptsAreTheStepsOfTheModel(t *testing.T) {
	for _, name := range []string{"single", "truncation", "vote-restart", "flush", "reads", "observer", "prevote-exchanges", "check-quorum", "parked"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, ok := spec.ModelNamed(name)
			require.True(t, ok)
			w := &watched{System: spec.NewSystem(m, spec.Variant{}), t: t, refused: map[string]int{}}
			_, err := checker.Run(checker.Interned(w), checker.Options{Workers: 1, MaxDistinct: 100_000})
			require.NoError(t, err)
			assert.NotZero(t, w.refused["BecomeLeader.HasMajority"])
			assert.NotZero(t, w.refused["BecomeLeader.IsCandidate"])
		})
	}
}

// A guard that refuses is granted to see whether another would refuse too.
func TestRefusalsBehindRefusals(t *testing.T) {
	m, _ := spec.ModelNamed("commit")
	s := spec.NewSystem(m, spec.Variant{})
	a := spec.NewReplica(1, 0)
	var names []string
	s.Attempts(checker.ActionID(spec.ActionBecomeLeader), &a, nil, func(at checker.Attempt) {
		for _, r := range at.Refused {
			names = append(names, r.Name)
		}
	})
	assert.Equal(t, []string{"IsCandidate", "HasMajority"}, names)
	b := spec.NewReplica(2, 0)
	names = nil
	s.Attempts(checker.ActionID(spec.ActionBecomeCandidate), &b, nil, func(at checker.Attempt) {
		for _, r := range at.Refused {
			names = append(names, r.Name)
			assert.True(t, r.Bound)
		}
	})
	assert.Equal(t, []string{"who may stand"}, names)
}

// What a model does not offer at all it says in words, and then lists no attempt.
func TestUnoffered(t *testing.T) {
	for _, c := range []struct {
		model  string
		action spec.ActionID
		says   string
	}{
		{"commit", spec.ActionCrash, "the model allows no crashes"},
		{"commit", spec.ActionRestart, "nothing crashes"},
		{"commit", spec.ActionHandleBeginQuorumEpochResponse, "loses every answer to BeginQuorumEpoch"},
		{"flush", spec.ActionRestart, "restarts a replica in the step that crashes it"},
		{"election", spec.ActionFlush, "MergeFlush"},
		{"check-quorum", spec.ActionResign, "by check-quorum only"},
		{"resign", spec.ActionCheckQuorumResign, "on request only"},
		{"commit", spec.ActionBecomeLeader, ""},
	} {
		m, ok := spec.ModelNamed(c.model)
		require.True(t, ok)
		s := spec.NewSystem(m, spec.Variant{})
		says := s.Unoffered(checker.ActionID(c.action))
		if c.says == "" {
			assert.Empty(t, says)
			continue
		}
		assert.Contains(t, says, c.says)
		r := spec.NewReplica(1, 0)
		s.Attempts(checker.ActionID(c.action), &r, nil, func(checker.Attempt) { t.Errorf("%s offers %s", c.model, c.action) })
	}
}
