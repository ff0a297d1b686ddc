package history

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLogFile(t *testing.T) {
	want := []Record{{Internal: true}, {Value: "1-1"}, {Value: "<2>"}}
	for _, ext := range []string{".ndjson", ".ndjson.zst"} {
		path := filepath.Join(t.TempDir(), LogFile+ext)
		require.NoError(t, WriteLog(path, want))
		got, err := ReadLog(path)
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.ErrorIs(t, WriteLog(path, want), os.ErrExist, "it overwrites")
	}
}

func TestDamagedLogFile(t *testing.T) {
	for _, text := range []string{"{\"value\":\"1\"}\n{}\n", "{\"value\":\"1\"}\n{\"value\":\"1\",\"internal\":true}\n", "{\"value\":\"1\"}\nnull x\n", "{\"value\":\"1\"}\n{\"offset\":1}\n"} {
		path := filepath.Join(t.TempDir(), "committed.ndjson")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		_, err := ReadLog(path)
		require.ErrorContains(t, err, "committed.ndjson:2")
	}
}
