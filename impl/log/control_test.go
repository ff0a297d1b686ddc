package log

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func TestControl(t *testing.T) {
	assert.Equal(t, "SnapshotHeader", ControlSnapshotHeader.String())
	assert.Equal(t, "control record of type 9", ControlType(9).String())
	assert.EqualValues(t, -1, Record{Key: []byte{0, 0, 0}}.Control())
	assert.Equal(t, ControlKRaftVoters, Record{Key: []byte{0, 0, 0, 6}}.Control())
	time, ok := ParseSnapshotHeader(unhex(t, "0000 0000018bcfe56800 00"))
	assert.True(t, ok)
	assert.EqualValues(t, 1700000000000, time)
	for _, bad := range []string{"", "0000", "0001 0000018bcfe56800 00", "0000 0000018bcfe56800", "0000 0000018bcfe56800 0000",
		"0000 0000018bcfe56800 01", "0000 0000018bcfe56800 01 05", "0000 0000018bcfe56800 01 05 02 00"} {
		_, ok := ParseSnapshotHeader(unhex(t, bad))
		assert.False(t, ok, bad)
	}
	assert.True(t, ParseSnapshotFooter(unhex(t, "0000 00")))
	assert.True(t, ParseSnapshotFooter(unhex(t, "0000 02 05 00 06 01 ff")), "tagged fields of the future")
	for _, bad := range []string{"", "00", "0000", "0001 00", "0000 00 00", "0000 01 ff"} {
		assert.False(t, ParseSnapshotFooter(unhex(t, bad)), bad)
	}
	var b Builder
	for range 2 {
		b.Reset(8, 5, 1700000000001)
		b.Add([]byte("hi"))
		b.Add(make([]byte, 100))
		assert.Equal(t, 2, b.Count())
		assert.Equal(t, AppendDataBatch(nil, 8, 5, [][]byte{[]byte("hi"), make([]byte, 100)}, 1700000000001), b.Batch())
		assert.Equal(t, b.Size(), len(b.Batch()))
	}
}

func FuzzControl(f *testing.F) {
	f.Add(unhex(f, "0000 0000018bcfe56800 00"))
	f.Add(unhex(f, "0000 02 05 00 06 01 ff"))
	change := kmsg.NewLeaderChangeMessage()
	change.Voters = append(change.Voters, kmsg.LeaderChangeMessageVoter{VoterID: 1})
	f.Add(change.AppendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if time, ok := ParseSnapshotHeader(b); ok && len(b) == 11 {
			raw := AppendSnapshotHeaderBatch(nil, 0, 1, time, 2)
			require.Equal(t, b, raw[len(raw)-12:len(raw)-1])
		}
		_ = ParseSnapshotFooter(b)
		if c, ok := parseLeaderChange(b); ok {
			require.Equal(t, b, appendLeaderChange(nil, c))
		}
	})
}
