//go:build interop

package interop

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/quorate/quorate/impl/log"
	"github.com/stretchr/testify/require"
)

// batchesOf reads the segments of a log, up to a torn tail.
func batchesOf(t *testing.T, dir string) (batches []log.Batch) {
	t.Helper()
	segments, err := filepath.Glob(filepath.Join(dir, metadataLogDir, "*.log"))
	require.NoError(t, err)
	require.NotEmpty(t, segments, dir)
	slices.Sort(segments)
	for _, name := range segments {
		b, err := os.ReadFile(name)
		require.NoError(t, err)
		for it := log.NewBatches(b); it.Next(); {
			batches = append(batches, it.Batch())
		}
	}
	return batches
}

func endOf(t *testing.T, m *member) int64 {
	b := batchesOf(t, m.dir)
	if len(b) == 0 {
		return 0
	}
	return b[len(b)-1].End
}

// requireSameLogs waits until all have what is committed, and compares that batch by
// batch, every byte, from where all logs have begun.
func requireSameLogs(t *testing.T, members []*member, highWatermark int64) {
	t.Helper()
	for _, m := range members {
		eventually(t, fmt.Sprintf("node %d has the log up to %d", m.id, highWatermark), func() bool { return endOf(t, m) >= highWatermark })
	}
	logs := map[*member][]log.Batch{}
	longest := members[0]
	for _, m := range members {
		logs[m] = slices.DeleteFunc(batchesOf(t, m.dir), func(b log.Batch) bool { return b.Base >= highWatermark })
		require.NotEmpty(t, logs[m], "node %d (%s)", m.id, m.kind())
		if logs[m][0].Base < logs[longest][0].Base {
			longest = m
		}
	}
	for _, m := range members {
		begin, size := logs[m][0].Base, 0
		want := slices.DeleteFunc(slices.Clone(logs[longest]), func(b log.Batch) bool { return b.Base < begin })
		require.Len(t, logs[m], len(want), "node %d (%s)", m.id, m.kind())
		epochs := map[int32]bool{}
		for i, w := range want {
			size += len(w.Bytes)
			epochs[w.Epoch] = true
			have := logs[m][i]
			require.True(t, bytes.Equal(w.Bytes, have.Bytes), "the batch at offset %d is not the same on node %d (%s) as on node %d (%s):\n%x\n%x",
				w.Base, m.id, m.kind(), longest.id, longest.kind(), have.Bytes, w.Bytes)
		}
		if m != longest {
			t.Logf("logs of %s %d and %s %d are identical from offset %d to the high watermark %d: %d batches of %d epochs, %d bytes",
				longest.kind(), longest.id, m.kind(), m.id, begin, highWatermark, len(want), len(epochs), size)
		}
	}
}
