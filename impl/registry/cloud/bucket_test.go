package cloud_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/quorate/quorate/impl/registry"
	"github.com/quorate/quorate/impl/registry/cloud"
	"github.com/quorate/quorate/impl/registry/journal"
	"github.com/quorate/quorate/impl/registry/objects"
	"github.com/quorate/quorate/impl/registry/objects/objectstest"
	"github.com/quorate/quorate/impl/registry/state"
	"github.com/stretchr/testify/require"
	_ "gocloud.dev/blob/fileblob"
	"gocloud.dev/blob/memblob"
)

func stores(t *testing.T) map[string]objects.Store {
	u, err := url.Parse("file://" + t.TempDir() + "?no_tmp_dir=true&metadata=skip")
	require.NoError(t, err)
	file, err := cloud.Open(context.Background(), u)
	require.NoError(t, err)
	return map[string]objects.Store{"memory": cloud.New(memblob.OpenBucket(nil)), "file": file}
}

func TestStore(t *testing.T) {
	for name, s := range stores(t) {
		t.Run(name, func(t *testing.T) { objectstest.Run(t, s) })
	}
}

// An upload that fails half-way leaves no object.
func TestAbort(t *testing.T) {
	ctx := context.Background()
	broken := errors.New("the reader is broken")
	for name, s := range stores(t) {
		err := s.Put(ctx, "images/x", io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)), iotest.ErrReader(broken)))
		require.ErrorIs(t, err, broken, name)
		_, err = s.Get(ctx, "images/x")
		require.ErrorIs(t, err, objects.ErrNotExist, name)
	}
}

// A registry over a bucket starts from an image, of a journal that has lost its beginning.
func TestRegistry(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for name, s := range stores(t) {
		j := journal.NewMemory("j")
		start := func(n int) *registry.Instance {
			i, err := registry.Start(registry.Config{Dir: filepath.Join(t.TempDir(), fmt.Sprint(n)), Journal: j, Objects: s, Grace: time.Nanosecond})
			require.NoError(t, err)
			t.Cleanup(func() { i.Close() })
			select {
			case <-i.Ready():
			case <-i.Done():
				t.Fatal(name, i.Err())
			}
			return i
		}
		a := start(1)
		for k := range 3 {
			_, _, err := a.Write(ctx, state.Op{Type: state.OpRegister, Subject: "s", SchemaType: "AVRO", Schema: fmt.Sprint(k)})
			require.NoError(t, err)
			_, err = a.Checkpoint(ctx)
			require.NoError(t, err)
		}
		_, err := a.Trim(ctx, false)
		require.NoError(t, err)
		_, err = a.Collect(ctx)
		require.NoError(t, err)
		b := start(2)
		require.NotNil(t, b.Began().From, name)
		v, err := b.DB().Versions(ctx, "s", false)
		require.NoError(t, err)
		require.Equal(t, []int{1, 2, 3}, v)
	}
}
