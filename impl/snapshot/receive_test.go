package snapshot

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/impl/fs"
)

// Verify finds what is bad before the name is given, and what comes after it is looked
// at again.
func TestVerify(t *testing.T) {
	fsys := fs.NewDouble()
	require.NoError(t, fsys.Mkdir("d"))
	id := ID{End: 7, Epoch: 2}
	w, err := Create(fsys, "d", id, 5)
	require.NoError(t, err)
	require.NoError(t, w.Append([][]byte{{1}, {2}}))
	require.NoError(t, w.Freeze())
	r, err := Open(fsys, "d", id)
	require.NoError(t, err)
	raw := make([]byte, r.Size())
	_, err = r.ReadAt(raw, 0)
	require.NoError(t, err)

	require.NoError(t, fsys.Mkdir("e"))
	p, err := Receive(fsys, "e", id, 3)
	require.NoError(t, err)
	require.NoError(t, p.Append(0, raw[:len(raw)-1]))
	var corrupt *CorruptError
	require.ErrorAs(t, p.Verify(), &corrupt)
	require.NoError(t, p.Append(int64(len(raw)-1), raw[len(raw)-1:]))
	require.NoError(t, p.Verify())
	ids, err := List(fsys, "e")
	require.NoError(t, err)
	require.Empty(t, ids)
	require.NoError(t, p.Append(int64(len(raw)), []byte{0}))
	require.ErrorAs(t, p.Freeze(), &corrupt)
	require.NoError(t, p.Discard())

	p, err = Receive(fsys, "e", id, 3)
	require.NoError(t, err)
	require.NoError(t, p.Append(0, raw))
	require.NoError(t, p.Verify())
	require.NoError(t, p.Freeze())
	ids, err = List(fsys, "e")
	require.NoError(t, err)
	require.Equal(t, []ID{id}, ids)
}
