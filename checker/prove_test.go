package checker_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
)

// jug is a counter that goes up by two and is reset, and one that remembers the
// highest value. That n stays even is inductive; that n is not 5 holds of every
// reachable state and is not: from 3 a step leads there.
type jug struct{ n, most int }

const (
	jugAdd checker.ActionID = iota
	jugReset
)

type jugs struct{ by int }

func (j jugs) Init(f func(*jug))                  { f(&jug{}) }
func (j jugs) Construct(d checker.Dice, s *jug)   { *s = jug{n: 2 * d.Intn(5), most: 8} }
func (j jugs) Perturb(d checker.Dice, s *jug)     { s.n, s.most = d.Intn(12), d.Intn(14) }
func (j jugs) Size(s *jug) int                    { return s.n + s.most }
func (j jugs) Tell(_ *jug, m checker.Move) string { return fmt.Sprint("action ", m.Action) }
func (j jugs) Describe(s *jug) []checker.Field {
	return []checker.Field{{Path: "n", Value: fmt.Sprint(s.n)}, {Path: "most", Value: fmt.Sprint(s.most)}}
}

func (j jugs) Steps(s *jug, f func(checker.Move, *jug)) {
	t := jug{n: s.n + j.by, most: max(s.most, s.n+j.by)}
	f(checker.Move{Instance: checker.Instance{Action: jugAdd}, Message: -1, Reached: checker.Props(1 & (s.n >> 2))}, &t)
	t = jug{n: 0, most: s.most}
	f(checker.Move{Instance: checker.Instance{Action: jugReset}, Message: -1}, &t)
}

var (
	even  = checker.Conjunct[jug]{Name: "Even", Doc: "n is even", Holds: func(s *jug) bool { return s.n%2 == 0 }}
	not5  = checker.Conjunct[jug]{Name: "NotFive", Doc: "n is not 5", Holds: func(s *jug) bool { return s.n != 5 }}
	below = checker.Conjunct[jug]{Name: "Below", Doc: "n was never above most", Holds: func(s *jug) bool { return s.n <= s.most }}
)

func jugProof(by int, theorem checker.Conjunct[jug], invariant ...checker.Conjunct[jug]) *checker.Proof[jug] {
	return &checker.Proof[jug]{
		Name: "jugs", Actions: []string{"Add", "Reset"}, Invariant: invariant, Theorem: []checker.Conjunct[jug]{theorem},
		Domain: func() checker.Domain[jug] { return jugs{by: by} },
	}
}

func prove(t *testing.T, p *checker.Proof[jug], o checker.ProveOptions) *checker.ProofResult {
	t.Helper()
	if o.Samples == 0 {
		o.Samples = 2000
	}
	r, err := checker.Prove(p, o)
	require.NoError(t, err)
	return r
}

func TestProveHolds(t *testing.T) {
	r := prove(t, jugProof(2, not5, even, below), checker.ProveOptions{})
	assert.Empty(t, r.Failed())
	assert.Empty(t, r.Vacuous)
	assert.Equal(t, 0, r.ExitCode())
	assert.EqualValues(t, 2000, r.Drawn)
	assert.Equal(t, checker.UseNeeded, r.Step("Even").Use)
	assert.Equal(t, "NotFive", r.Step("Even").Breaks.Step)
	assert.Equal(t, []string{"Even"}, r.Step("NotFive").Without)
	assert.Equal(t, checker.UseConclusion, r.Step("Below").Use, "nothing leans on it")
	for _, f := range r.Firings {
		assert.Equal(t, r.Satisfy, f.Count, f.Name)
	}
}

// What holds of every reachable state need not be inductive: the state from which a
// step breaks it is shown, the smallest.
func TestProveFindsWhatIsNotInductive(t *testing.T) {
	any := checker.Conjunct[jug]{Name: "Any", Holds: func(*jug) bool { return true }}
	r := prove(t, jugProof(2, any, not5, below), checker.ProveOptions{Samples: 5000})
	require.Equal(t, []string{"NotFive"}, r.Failed())
	assert.Equal(t, 1, r.ExitCode())
	s := r.Step("NotFive")
	assert.Equal(t, []string{"Add"}, s.Under)
	assert.Equal(t, []checker.Field{{Path: "n", Value: "3"}, {Path: "most", Value: "3"}}, s.Failure.Before)
	assert.Equal(t, "5", s.Failure.After[0].Value)
	var out bytes.Buffer
	require.NoError(t, r.WriteText(&out))
	assert.Contains(t, out.String(), "jugs: fails: NotFive")
	assert.Contains(t, out.String(), "n: 3 -> 5")
}

// A step that breaks the invariant is found, with the action that does.
func TestProveFindsBrokenStep(t *testing.T) {
	r := prove(t, jugProof(3, not5, even), checker.ProveOptions{})
	assert.Equal(t, []string{"Even"}, r.Failed())
	assert.Equal(t, []string{"Add"}, r.Step("Even").Under)
}

// The invariant must hold initially, and a conjunct that follows from the others says
// so.
func TestProveBaseAndImplied(t *testing.T) {
	positive := checker.Conjunct[jug]{Name: "Positive", Holds: func(s *jug) bool { return s.n > 0 }}
	r := prove(t, jugProof(2, not5, positive), checker.ProveOptions{})
	require.NotNil(t, r.Step("Positive").Failure)
	assert.True(t, r.Step("Positive").Failure.Initial)
	four := checker.Conjunct[jug]{Name: "NotFiveEither", Holds: func(s *jug) bool { return s.n != 7 }}
	r = prove(t, jugProof(2, not5, even, four), checker.ProveOptions{})
	assert.Equal(t, checker.UseImplied, r.Step("NotFiveEither").Use)
}

// What was never tried is no proof.
func TestProveIsNotVacuous(t *testing.T) {
	p := jugProof(2, not5, even)
	p.Actions = append(p.Actions, "Never")
	p.Branches = []string{"AtLeastFour"}
	r := prove(t, p, checker.ProveOptions{})
	assert.Equal(t, []string{"Never never fired"}, r.Vacuous)
	assert.Equal(t, 3, r.ExitCode())
	assert.NotZero(t, r.Branches[0].Count)
	p.Actions[2], p.Branches = "", []string{"", "Elsewhere"}
	r = prove(t, p, checker.ProveOptions{})
	assert.Equal(t, []string{"Elsewhere was never reached"}, r.Vacuous)
	none := checker.Conjunct[jug]{Name: "None", Holds: func(s *jug) bool { return false }}
	r = prove(t, jugProof(2, not5, none), checker.ProveOptions{})
	assert.Contains(t, r.Vacuous, "no state satisfies the invariant")
}

// The result does not depend on the number of workers, and does on the seed.
func TestProveIsDeterministic(t *testing.T) {
	result := func(seed uint64, workers int) *checker.ProofResult {
		r := prove(t, jugProof(3, below, not5, even), checker.ProveOptions{Seed: seed, Workers: workers, Samples: 5000})
		r.Seconds = 0
		return r
	}
	want := result(1, 1)
	for _, workers := range []int{2, 5} {
		assert.Equal(t, want, result(1, workers), "%d workers", workers)
	}
	assert.NotEqual(t, want.Satisfy, result(2, 1).Satisfy)
}

func TestProveLemmas(t *testing.T) {
	p := jugProof(2, not5, even)
	p.Lemmas = []checker.Lemma{{
		Facts:   []checker.Fact{{Name: "Low"}, {Name: "High"}},
		Actions: []string{"Up", "Down", "Aside"},
		Cases: func(f func(checker.ActionID, uint64, func() string) bool) {
			for i := range 10 {
				failed := uint64(0)
				if i == 7 {
					failed = 1 << 1
				}
				if !f(checker.ActionID(i%2), failed, func() string { return fmt.Sprint("case ", i) }) {
					return
				}
			}
		},
	}}
	r := prove(t, p, checker.ProveOptions{})
	assert.Equal(t, []string{"High"}, r.Failed())
	s := r.Step("High")
	assert.Equal(t, "case 7", s.Failure.Told)
	assert.Equal(t, []string{"Down"}, s.Under)
	assert.EqualValues(t, 10, s.Checks)
	assert.Contains(t, r.Vacuous, "Low: Aside never fired")
	r = prove(t, p, checker.ProveOptions{Only: "High"})
	assert.EqualValues(t, 8, r.Step("High").Checks, "it ends where the step fails")
	assert.Zero(t, r.Drawn)
}

func TestProveStops(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	r := prove(t, jugProof(2, not5, even), checker.ProveOptions{Context: ctx})
	assert.True(t, r.Stopped)
	assert.Equal(t, 3, r.ExitCode())
	r = prove(t, jugProof(3, not5, even), checker.ProveOptions{Only: "Even", Samples: 1_000_000})
	assert.False(t, r.Stopped)
	assert.Less(t, r.Drawn, uint64(10_000), "it ends where the step fails")
}

func TestProveRefusesNonsense(t *testing.T) {
	for want, p := range map[string]*checker.Proof[jug]{
		"two steps are named Even": jugProof(2, even, even),
	} {
		_, err := checker.Prove(p, checker.ProveOptions{})
		assert.ErrorContains(t, err, want)
	}
	_, err := checker.Prove(jugProof(2, not5, even), checker.ProveOptions{Only: "Odd"})
	assert.ErrorContains(t, err, "no step Odd")
	_, err = checker.Prove(jugProof(2, not5, even), checker.ProveOptions{Samples: -1})
	assert.ErrorContains(t, err, "-1 samples")
	var many []checker.Conjunct[jug]
	for i := range 65 {
		many = append(many, checker.Conjunct[jug]{Name: strings.Repeat("x", i+1)})
	}
	_, err = checker.Prove(jugProof(2, not5, many...), checker.ProveOptions{})
	assert.ErrorContains(t, err, "want at most 64")
}

func TestWriteWithout(t *testing.T) {
	r := prove(t, jugProof(2, not5, even, below), checker.ProveOptions{})
	for step, want := range map[string]string{
		"Even":    "without Even of jugs, NotFive does not hold",
		"Below":   "nothing in the proof of jugs leans on Below",
		"NotFive": "cannot be left out",
	} {
		var out bytes.Buffer
		require.NoError(t, r.WriteWithout(&out, r.Step(step)))
		assert.Contains(t, out.String(), want)
	}
}
