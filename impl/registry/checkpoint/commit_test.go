package checkpoint

import (
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/registry/journal"
	"github.com/stretchr/testify/require"
)

func commit(offset int64) Commit {
	return Commit{
		FormatVersion: FormatVersion, ID: "C", Instance: "I", Attempt: 1, Journal: "j", Offset: offset, Epoch: 3,
		Key: KeyOf("j", offset, "C"), Size: 10, SHA256: strings.Repeat("0", 64), Codec: codec, Schema: 1, Vocabulary: 1,
	}
}

func TestCommit(t *testing.T) {
	c := commit(17)
	b, err := c.Encode()
	require.NoError(t, err)
	got, err := Decode(b)
	require.NoError(t, err)
	require.Equal(t, c, got)
	for _, bad := range []string{"", "{}", "null", `{"formatVersion":2}`, string(b[:len(b)-1]), strings.Replace(string(b), `"offset":17`, `"offset":-1`, 1)} {
		_, err := Decode([]byte(bad))
		require.ErrorIs(t, err, ErrFormat, bad)
	}
	offset, ok := OffsetOfKey(c.Key)
	require.True(t, ok)
	require.EqualValues(t, 17, offset)
	offset, ok = OffsetOfKey(ManifestOf(c.Key))
	require.True(t, ok)
	require.EqualValues(t, 17, offset)
	_, ok = OffsetOfKey("images/j/x")
	require.False(t, ok)
	require.Less(t, KeyOf("j", 9, "Z"), KeyOf("j", 10, "A"), "keys sort as offsets do")
}

func FuzzDecode(f *testing.F) {
	c := commit(17)
	b, err := c.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(b)
	f.Add([]byte(`{"formatVersion":1,"offset":-1}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		c, err := Decode(b)
		if err != nil {
			require.ErrorIs(t, err, ErrFormat)
			return
		}
		again, err := c.Encode()
		require.NoError(t, err)
		back, err := Decode(again)
		require.NoError(t, err)
		require.Equal(t, c, back)
	})
}

func TestUsable(t *testing.T) {
	epochs := map[int64]int32{9: 3, 10: 3, 11: 4}
	v := View{Journal: "j", Bounds: journal.Bounds{Start: 9, End: 12}, Schema: 2, Vocabulary: 1,
		Epoch: func(o int64) (int32, bool) { e, ok := epochs[o]; return e, ok }}
	with := func(offset int64, f func(*Commit)) Commit {
		c := commit(offset)
		if f != nil {
			f(&c)
		}
		return c
	}
	for _, c := range []struct {
		commit Commit
		want   error
	}{
		{with(9, nil), nil},
		{with(10, nil), nil},
		{with(8, nil), nil}, // its record is gone, the next one is there
		{with(7, nil), ErrBeforeStart},
		{with(12, nil), ErrAhead},
		{with(11, nil), ErrOtherEpoch},
		{with(10, func(c *Commit) { c.Journal = "i" }), ErrOtherJournal},
		{with(10, func(c *Commit) { c.Schema = 3 }), ErrNewer},
		{with(10, func(c *Commit) { c.Vocabulary = 2 }), ErrNewer},
	} {
		require.ErrorIs(t, usable(c.commit, v), c.want, "%+v", c.commit)
	}
}

func TestOrder(t *testing.T) {
	a, b, c := commit(5), commit(9), commit(9)
	a.ID, b.ID, c.ID = "a", "b", "c"
	a.Time, b.Time = 100, 1
	all := []Commit{b, a, c}
	order(all)
	require.Equal(t, []Commit{c, b, a}, all, "by offset, and then the later one; time is nothing")
}

func TestTrimTo(t *testing.T) {
	require.EqualValues(t, -1, trimTo([]Commit{commit(9)}, 2))
	require.EqualValues(t, -1, trimTo([]Commit{commit(9)}, 1), "one is never enough")
	require.EqualValues(t, 5, trimTo([]Commit{commit(9), commit(5)}, 2))
	require.EqualValues(t, -1, trimTo([]Commit{commit(9), commit(5)}, 3))
}

func TestGarbage(t *testing.T) {
	kept := []Commit{commit(9), commit(5)}
	key := func(offset int64) string { return KeyOf("j", offset, "X") }
	for _, c := range []struct {
		key  string
		age  time.Duration
		kept []Commit
		want bool
	}{
		{key(4), time.Hour, kept, true},
		{key(5), time.Hour, kept, true}, // of the same record, and not kept
		{key(6), time.Hour, kept, false},
		{key(4), time.Minute, kept, false},
		{key(4), time.Hour, kept[:1], false},
		{kept[1].Key, time.Hour, kept, false},
		{"images/j/readme", time.Hour, kept, false},
	} {
		require.Equal(t, c.want, garbage(c.key, c.age, time.Hour, c.kept, 2), "%+v", c)
	}
}

func TestDue(t *testing.T) {
	require.True(t, due(-1, 5, time.Hour, 1), "there is none")
	require.True(t, due(time.Hour, 5, time.Hour, 1))
	require.False(t, due(time.Minute, 5, time.Hour, 1))
	require.False(t, due(2*time.Hour, 5, time.Hour, 6))
	require.False(t, due(2*time.Hour, 0, time.Hour, 0), "nothing is new")
	require.False(t, due(2*time.Hour, 5, 0, 1))
}
