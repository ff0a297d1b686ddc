package audit

import (
	"reflect"
	"regexp"
	"strings"
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

var elsewhere = regexp.MustCompile(`^caught by (\w+) in the model ([\w-]+),`)

// Reasons speak of what there is; and what is said to be caught in a larger model is
// caught there.
func TestReasonsAreTrue(t *testing.T) {
	fields := reflect.TypeFor[spec.Replica]()
	checked := 0
	for key, reason := range redundant {
		action, part, ok := strings.Cut(key, ".")
		require.True(t, ok, key)
		a, known := spec.ActionNamed(action)
		assert.True(t, known || action == "*", key)
		guard := spec.NoGuard
		for g := spec.NoGuard + 1; g < spec.NumGuards; g++ {
			if g.String() == part {
				guard = g
			}
		}
		_, field := fields.FieldByName(part)
		assert.True(t, guard != spec.NoGuard || field || part == "send" || part == "*", key)
		m := elsewhere.FindStringSubmatch(reason)
		if m == nil {
			assert.NotContains(t, reason, "caught by", key)
			continue
		}
		checked++
		model, ok := spec.ModelNamed(m[2])
		require.True(t, ok, key)
		res, err := checker.Run(checker.Interned(spec.NewSystem(model, spec.Variant{DropAction: a, DropGuard: guard})),
			checker.Options{Properties: []string{m[1]}})
		require.NoError(t, err)
		assert.NotEmpty(t, res.Violations, "%s is not caught by %s in %s", key, m[1], m[2])
	}
	assert.NotZero(t, checked)
}
