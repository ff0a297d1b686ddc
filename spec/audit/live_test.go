package audit_test

import (
	"slices"
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

// TestLockOfCheckpoints: how far one may be behind in the coordination topic decides nothing. (A
// round of the lock has four records; that who is more than one behind is as who is one behind
// is TestRoundForgets.)
func TestLockOfCheckpoints(t *testing.T) {
	c := audit.Concerns[slices.IndexFunc(audit.Concerns, func(c *concern.Concern) bool { return c.Name == "kafkasql" })]
	at := slices.IndexFunc(c.Lives, func(l concern.Live) bool { return l.Name == "live-kafkasql-a-lock" })
	require.GreaterOrEqual(t, at, 0)
	l := c.Lives[at]
	l.Set = []concern.Setting{{Name: "unread", Value: "4"}}
	for _, id := range []string{"", "quiet-restarts", "abort-on-request", "withdraws-on-expiry", "waiters-refresh", "old-lock-holds", "stays-frozen", "probe-kills"} {
		res, err := audit.RunLive(c, &l, id, checker.Options{})
		require.NoError(t, err)
		assert.Equal(t, id == "", res.Status == checker.Holds, id)
	}
	further := []string{"5", "6"}
	if testing.Short() {
		further = nil
	}
	for _, unread := range further {
		l.Set[0].Value = unread
		res, err := audit.RunLive(c, &l, "", checker.Options{})
		require.NoError(t, err)
		assert.Equal(t, checker.Holds, res.Status, unread)
	}
}
