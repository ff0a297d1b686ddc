package spec_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/spec"
)

// Every constant of every model can be read and set again, and every model fits.
func TestConstantsAreReadAsTheyAreWritten(t *testing.T) {
	for i := range spec.Models {
		m := &spec.Models[i]
		require.NoError(t, m.Check(), m.Name)
		c := spec.Model{Name: m.Name, Why: m.Why, Deep: m.Deep, Unsafe: m.Unsafe}
		for _, k := range spec.Constants {
			require.NoError(t, c.Set(k.Name, k.Get(m)), "%s of %s", k.Name, m.Name)
		}
		assert.Equal(t, m, &c, "a constant of the model has no name")
	}
}

func TestConstantsOutOfRange(t *testing.T) {
	for _, c := range []struct{ name, value, says string }{
		{"epoch", "2", "no constant \"epoch\"; there are voters, "},
		{"voters", "7", "voters=7: want a number from 1 to 6"},
		{"voters", "0", "from 1 to 6"},
		{"epochs", "many", "epochs=many: want a number"},
		{"epochs", "7", "from 1 to 6"},
		{"records", "256", "from 0 to 255"},
		{"records", "-1", "from 0 to 255"},
		{"in-flight", "7", "from 1 to 6"},
		{"pre-vote", "A,D", `no replica "D"; there are {ABC}`},
		{"pre-vote", "AB", `no replica "AB"`},
		{"stand", "A/E", `no replica "E"`},
		{"immediate", "Vote,Ping", `no kind of message "Ping"; there are Vote, `},
		{"park", "yes", "neither true nor false"},
	} {
		m, _ := spec.ModelNamed("commit")
		n := *m
		assert.ErrorContains(t, n.Set(c.name, c.value), c.says)
	}
}

func TestConstantsThatDoNotFitEachOther(t *testing.T) {
	for _, c := range []struct{ model, name, value, says string }{
		{"commit", "epochs", "2", "who may stand in 1 epochs of 2"},
		{"commit", "observers", "4", "6 replicas fit"},
		{"election", "crashes", "1", "merge-flush hides"},
		{"figure8", "voters", "2", "{C} may stand in epoch 2; the voters are {AB}"},
		{"upgrade", "voters", "3", ""},
		{"prevote", "voters", "2", ""},
	} {
		m, _ := spec.ModelNamed(c.model)
		n := *m
		require.NoError(t, n.Set(c.name, c.value))
		if err := n.Check(); c.says == "" {
			assert.NoError(t, err)
		} else {
			assert.ErrorContains(t, err, c.says)
		}
	}
	m, _ := spec.ModelNamed("prevote")
	n := *m
	require.NoError(t, n.Set("voters", "4"))
	assert.Equal(t, spec.All(4), n.PreVote, "what all knew, all know")
}
