package spec_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
)

// Each violation that a mutation leads to says which part of its property fails, and
// of whom.
func TestViolationsSayWhy(t *testing.T) {
	want := map[string]string{
		"KAFKA-10527":          "holds [L1A] at offset 0",
		"KAFKA-10661":          "leads epoch 1, which",
		"KAFKA-10533":          "was exposed at offset 0 in epoch 1; C leads epoch 2 and holds nothing there",
		"majority-of-one-less": "leads epoch 1, which",
		"majority-of-half":     "leads epoch 1, which",
		"late-response":        "and not where its leader began it",
		"snapshot-without-set": "the voter set {ABC} follows {A}",
		"read-before-commit":   "answers a read as of offset",
	}
	for i := range spec.Mutations {
		mu := &spec.Mutations[i]
		says, ok := want[mu.ID]
		if !ok {
			continue
		}
		t.Run(mu.ID, func(t *testing.T) {
			t.Parallel()
			r, err := model(t, mu.Model, spec.Variant{Mutation: mu}).Run(checker.Options{Workers: 1, Properties: []string{mu.Property}})
			require.NoError(t, err)
			require.Equal(t, checker.Violated, r.Status)
			require.NotEmpty(t, r.Violations[0].Because)
			assert.Contains(t, r.Violations[0].Because[0], says)
		})
	}
}
