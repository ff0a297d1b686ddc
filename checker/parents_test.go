package checker

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestParentLogKeepsRefs has refs of all kinds, in memory and in a file.
func TestParentLogKeepsRefs(t *testing.T) {
	for _, onDisk := range []bool{false, true} {
		var l parentLog
		defer l.free()
		if onDisk {
			f, err := os.Create(filepath.Join(t.TempDir(), "log"))
			require.NoError(t, err)
			defer f.Close()
			l.file = &spillFile{f: f}
		}
		r := rand.New(rand.NewPCG(1, 2))
		want := []ref{makeRef(initial, 0), makeRef(initial, maxEdge)}
		for len(want) < 300_000 {
			parent := want[len(want)-1].parent()
			switch r.IntN(20) {
			case 0:
				parent = makeOrdinal(r.IntN(maxWorkers-1), r.Uint32())
			case 1:
				parent += ordinal(r.IntN(300)) - 150
			case 2:
				parent++
			}
			edge := uint32(r.IntN(40))
			if r.IntN(100) == 0 {
				edge = uint32(r.IntN(maxEdge + 1))
			}
			want = append(want, makeRef(parent&initial, edge))
		}
		for _, ref := range want {
			l.add(ref)
		}
		for i, ref := range want {
			if i%97 < 3 || i > len(want)-300 {
				got, err := l.at(uint32(i))
				require.NoError(t, err)
				require.Equal(t, ref, got, "ref %d", i)
			}
		}
		require.EqualValues(t, len(want), l.used)
		assert.Less(t, l.size, int64(len(want)*5/2))
		if onDisk {
			require.NoError(t, l.file.f.Truncate(1000))
			_, err := l.at(5000)
			require.ErrorContains(t, err, "/log: ")
			_, err = l.file.f.WriteAt([]byte{1, 2, 3}, 500)
			require.NoError(t, err)
			require.NoError(t, l.file.f.Truncate(1<<20))
			_, err = l.at(100)
			require.ErrorContains(t, err, "/log: the 65")
			require.ErrorContains(t, err, "damaged")
		}
	}
	assert.Equal(t, initial, makeRef(initial, 7).parent())
	assert.NotEqual(t, initial, makeOrdinal(maxWorkers-2, 1<<32-1), "no state may have the ordinal of none")
}
