package audit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
)

// Every mutation that has a counterexample leaves the clean protocol just where it
// says.
func TestCounterexamplesPartWhereTheMutationIs(t *testing.T) {
	for i := range spec.Mutations {
		mu := &spec.Mutations[i]
		t.Run(mu.ID, func(t *testing.T) {
			m, ok := spec.ModelNamed(mu.Model)
			require.True(t, ok)
			res, err := checker.Run(checker.Interned(spec.NewSystem(m, spec.Variant{Mutation: mu})),
				checker.Options{Properties: []string{mu.Property}})
			require.NoError(t, err)
			if len(res.Violations) == 0 {
				require.Contains(t, res.Never(), mu.Property, "neither violated nor never reached")
				return
			}
			parting, err := Replay(m, mu, res.Violations[0].Trace)
			require.NoError(t, err)
			t.Log(parting)
			assert.Equal(t, mu.Action, parting.Action)
			assert.Equal(t, mu.Guard, parting.Guard)
		})
	}
}
