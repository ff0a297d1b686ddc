package node

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/quorate/quorate/impl/log"
	"github.com/stretchr/testify/require"
)

// What a node that was told to stop has on its disk is all flushed, and says so: no
// damage to it is taken for the trace of a crash.
func TestDamageAfterCleanStop(t *testing.T) {
	c := newCluster(t, 1, false, nil)
	for i := range 20 {
		c.append(fmt.Sprint(i))
	}
	n := c.nodes[0]
	c.nodes[0] = nil
	require.NoError(t, n.Close())
	segment := filepath.Join(c.config(0).Dir, logDir, "00000000000000000000.log")
	whole, err := os.ReadFile(segment)
	require.NoError(t, err)
	for _, damaged := range [][]byte{nil, whole[:len(whole)-1], append(bytes.Clone(whole[:len(whole)-2]), '?', '?')} {
		require.NoError(t, os.WriteFile(segment, damaged, 0o644))
		_, err = Start(c.config(0))
		var corrupt *log.CorruptError
		require.ErrorAs(t, err, &corrupt)
		require.Equal(t, segment, corrupt.File)
	}
	require.NoError(t, os.WriteFile(segment, whole, 0o644))
	c.start(0)
	c.append("last")
}

// A torn tail that is cut off is told of, with its place.
func TestTornTailIsReported(t *testing.T) {
	c := newCluster(t, 1, false, nil)
	c.append("a")
	c.kill(0)
	segment := filepath.Join(c.config(0).Dir, logDir, "00000000000000000000.log")
	whole, err := os.ReadFile(segment)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(segment, append(bytes.Clone(whole), "torn"...), 0o644))
	var said bytes.Buffer
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&said, nil)))
	c.start(0)
	require.Contains(t, said.String(), fmt.Sprintf("file=%s byte=%d bytes=4", segment, len(whole)))
	require.Contains(t, said.String(), "reason=")
	c.append("b")
}
