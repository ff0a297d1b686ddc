package spec

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
)

// proofNamed is a proof under a variant.
func proofNamed(t *testing.T, name string, v Variant) *checker.Proof[ProofState] {
	t.Helper()
	for _, p := range Proofs(v) {
		if p.Name == name {
			return &p
		}
	}
	t.Fatalf("no proof %s", name)
	return nil
}

// Every step of every proof holds, every action and branch is taken, and no conjunct
// can be left out.
func TestProofsHold(t *testing.T) {
	for _, p := range Proofs(Variant{}) {
		t.Run(p.Name, func(t *testing.T) {
			r, err := checker.Prove(&p, checker.ProveOptions{})
			require.NoError(t, err)
			for i := range r.Steps {
				s := &r.Steps[i]
				assert.Nil(t, s.Failure, "%s: %+v", s.Name, s.Failure)
				assert.NotZero(t, s.Checks, s.Name)
				if s.Kind == checker.StepInvariant {
					assert.Equal(t, checker.UseNeeded, s.Use, "%s alone failed in %d states", s.Name, s.Alone)
				}
			}
			assert.Empty(t, r.Vacuous)
			assert.Equal(t, 0, r.ExitCode())
			t.Logf("%d of %d states, %.1f s", r.Satisfy, r.Drawn, r.Seconds)
		})
	}
}

// Each step fails under the change that is named for it.
func TestProofsBreak(t *testing.T) {
	broken := map[string]bool{}
	for i := range ProofBreaks {
		b := &ProofBreaks[i]
		broken[b.Proof+" "+b.Step] = true
		if b.Without != "" {
			continue // TestTheoremsNeedTheInvariant
		}
		t.Run(b.Step+" "+b.String(), func(t *testing.T) {
			if b.Mutation != "" {
				_, ok := ProofMutationNamed(b.Mutation)
				require.True(t, ok, "no mutation %s", b.Mutation)
			}
			r, err := checker.Prove(proofNamed(t, b.Proof, b.Variant()), checker.ProveOptions{Only: b.Step})
			require.NoError(t, err)
			assert.Contains(t, r.Failed(), b.Step, "it holds under %s", b)
			assert.Equal(t, 1, r.ExitCode())
			t.Logf("%d states", r.Drawn)
		})
	}
	for _, p := range Proofs(Variant{}) {
		for _, name := range p.StepNames() {
			if _, none := ProofUnbroken[name]; !none {
				assert.True(t, broken[p.Name+" "+name], "nothing is named that breaks %s of %s", name, p.Name)
			}
		}
	}
}

// A theorem follows by logic: it fails without the conjunct that is named for it.
func TestTheoremsNeedTheInvariant(t *testing.T) {
	for _, p := range Proofs(Variant{}) {
		var r *checker.ProofResult
		for i := range ProofBreaks {
			b := &ProofBreaks[i]
			if b.Proof != p.Name || b.Without == "" {
				continue
			}
			if r == nil {
				var err error
				r, err = checker.Prove(&p, checker.ProveOptions{})
				require.NoError(t, err)
			}
			assert.Contains(t, r.Step(b.Step).Without, b.Without, b.Step)
		}
	}
}
