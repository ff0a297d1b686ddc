package event

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLast(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	check := func(text string, seq int64) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		e, found, err := Last(path)
		require.NoError(t, err)
		require.Equal(t, seq > 0, found)
		if found {
			require.Equal(t, seq, e.Seq)
		}
	}
	_, found, err := Last(path)
	require.NoError(t, err)
	require.False(t, found)
	line := func(seq int64) string {
		return string(AppendJSON(nil, &Event{Inc: 1, Seq: seq, Action: "Restart"})) + "\n"
	}
	check("", 0)
	check(line(1), 1)
	check(line(1)+line(2), 2)
	check(line(1)+line(2)[:30], 0)
	check(line(1)+"garbage\n", 0)
	long := ""
	for i := range int64(3000) {
		long += line(i + 1)
	}
	check(long, 3000)
}
