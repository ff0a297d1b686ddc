package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzName: a name is that of the snapshot that has it, and of no other.
func FuzzName(f *testing.F) {
	f.Add("00000000000000001000-0000000003.checkpoint")
	f.Add("00000000000000001000-0000000003-local.checkpoint.part")
	f.Add("00000000000000001000-0000000003.checkpoint.deleted")
	f.Add("99999999999999999999-9999999999.checkpoint")
	f.Add("-0000000000000000001-0000000003.checkpoint")
	f.Fuzz(func(t *testing.T, name string) {
		id, who, k := parse(name)
		switch k {
		case other:
			require.Zero(t, id)
		case frozen:
			require.Equal(t, name, id.FileName())
		case partial:
			require.Equal(t, name, id.partName(who))
		case deleted:
			require.Equal(t, name, id.stem()+deletedSuffix)
		}
		require.False(t, id.End < 0 || id.Epoch < 0)
	})
}
