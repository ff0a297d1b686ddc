// Package objectstest is what every store of images must pass.
package objectstest

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/quorate/quorate/impl/registry/objects"
	"github.com/stretchr/testify/require"
)

// Run tests an empty store, and leaves it empty.
func Run(t *testing.T, s objects.Store) {
	ctx := context.Background()
	require.NoError(t, s.Put(ctx, "images/a/1", strings.NewReader("one")))
	require.NoError(t, s.Put(ctx, "images/b/2", strings.NewReader("two")))
	require.ErrorIs(t, s.Put(ctx, "images/a/1", strings.NewReader("other")), objects.ErrExist)
	r, err := s.Get(ctx, "images/a/1")
	require.NoError(t, err)
	b, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.Equal(t, "one", string(b), "it is written once")
	_, err = s.Get(ctx, "images/c")
	require.ErrorIs(t, err, objects.ErrNotExist)
	all, err := s.List(ctx, "images/")
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "images/a/1", all[0].Key)
	require.EqualValues(t, 3, all[0].Size)
	require.False(t, all[0].Time.IsZero())
	some, err := s.List(ctx, "images/b")
	require.NoError(t, err)
	require.Len(t, some, 1)

	// Of several who write the same name one does.
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() { errs[i] = s.Put(ctx, "images/same", strings.NewReader("x")) })
	}
	wg.Wait()
	won := 0
	for _, err := range errs {
		if err == nil {
			won++
		} else {
			require.ErrorIs(t, err, objects.ErrExist)
		}
	}
	require.Equal(t, 1, won)
	for _, key := range []string{"images/a/1", "images/b/2", "images/same", "images/none"} {
		require.NoError(t, s.Delete(ctx, key))
	}
	all, err = s.List(ctx, "")
	require.NoError(t, err)
	require.Empty(t, all)
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	require.Error(t, s.Put(ctx, "images/never", strings.NewReader("x")))
}
