package registry_test

import (
	"testing"

	"github.com/quorate/quorate/impl/registry"
	"github.com/quorate/quorate/impl/registry/checkpoint"
	"github.com/stretchr/testify/require"
)

// A start without a digest of the rows takes an image that is what was committed, and none that
// is larger, even if its digest were believed.
func TestLook(t *testing.T) {
	w := newWorld(t, mutation{change: func(r *checkpoint.Rules) {
		r.Intact = func(checkpoint.Commit, int64, string) error { return nil }
	}})
	plain := func(c *registry.Config) { c.StateDigest = false }
	a := w.start("", plain)
	a.fill("a", 5)
	c := a.checkpoint()
	require.Empty(t, c.State)
	b := w.start("", plain)
	require.Equal(t, c.ID, b.Began().From.ID)
	require.Equal(t, a.digest(), b.digest())
	w.change(c.Key, func(image []byte) []byte {
		return compressBytes(t, append(expandBytes(t, image), make([]byte, 4096)...))
	})
	d := w.start("", plain)
	require.Nil(t, d.Began().From)
	require.EqualValues(t, 1, d.metric("images_rejected_total"))
	require.Error(t, a.Verify(w.ctx, c))
}
