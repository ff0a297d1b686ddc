//go:build unix

package registry_test

import (
	"testing"

	"github.com/quorate/quorate/impl/registry"
	"github.com/stretchr/testify/require"
)

// Two instances do not use one directory, whatever their journal is.
func TestLock(t *testing.T) {
	w := newWorld(t, mutation{})
	a := w.start("")
	other := a.cfg
	other.Metrics = nil
	_, err := registry.Start(other)
	require.ErrorContains(t, err, "lock "+a.dir)
	a.fill("a", 3)
	a.stop()
	w.start(a.dir)
}
