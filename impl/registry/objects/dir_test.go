package objects_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/quorate/quorate/impl/registry/objects"
	"github.com/quorate/quorate/impl/registry/objects/objectstest"
	"github.com/stretchr/testify/require"
)

func TestDir(t *testing.T) {
	root := t.TempDir()
	d, err := objects.NewDir(root)
	require.NoError(t, err)
	objectstest.Run(t, d)
	ctx := context.Background()
	for _, key := range []string{"", ".", "..", "../x", "/x", "a//b", "a/../b", ".partial/x", "a b", "ä", "a\x00"} {
		require.Error(t, d.Put(ctx, key, strings.NewReader("x")), "%q", key)
		_, err := d.Get(ctx, key)
		require.Error(t, err, "%q", key)
		require.Error(t, d.Delete(ctx, key), "%q", key)
	}
	broken := errors.New("the reader is broken")
	require.ErrorIs(t, d.Put(ctx, "images/x", io.MultiReader(strings.NewReader("half"), iotest.ErrReader(broken))), broken)
	_, err = d.Get(ctx, "images/x")
	require.ErrorIs(t, err, objects.ErrNotExist)

	// What a process leaves that is killed while it writes is no object, and is swept.
	left := filepath.Join(root, ".partial", "half")
	require.NoError(t, os.WriteFile(left, []byte("half"), 0o644))
	all, err := d.List(ctx, "")
	require.NoError(t, err)
	require.Empty(t, all)
	require.NoError(t, d.Sweep(ctx, 1<<60))
	require.FileExists(t, left)
	require.NoError(t, d.Sweep(ctx, 0))
	require.NoFileExists(t, left)
}
