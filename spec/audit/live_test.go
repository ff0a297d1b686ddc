package audit_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec/audit"
	"github.com/quorate/quorate/spec/concern"
)

// TestLives judges what comes about in the end, and puts bugs back that keep it from
// coming about.
func TestLives(t *testing.T) {
	for _, c := range audit.Concerns {
		for i := range c.Lives {
			l := &c.Lives[i]
			t.Run(l.Name, func(t *testing.T) {
				res, err := audit.RunLive(c, l, "", checker.Options{})
				require.NoError(t, err)
				for _, p := range res.Properties {
					assert.Equal(t, "holds", p.Verdict, p.Name)
				}
				assert.Zero(t, res.Hopeless)
				assert.Equal(t, l.Pin, concern.LivePin{Distinct: res.Distinct, Suffix: res.Suffix, Fair: res.Fair})
				for _, mu := range l.Mutations {
					res, err := audit.RunLive(c, l, mu.ID, checker.Options{Properties: []string{mu.Property}})
					require.NoError(t, err)
					p := res.Properties[0]
					assert.Equal(t, "violated", p.Verdict, mu.ID)
					assert.Equal(t, [2]int{mu.Stem, mu.Cycle}, [2]int{p.Stem, p.Cycle}, mu.ID)
				}
			})
		}
	}
}
