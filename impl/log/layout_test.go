package log

import (
	"fmt"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// crc32c is CRC-32C by its definition: reflected, polynomial 0x82F63B78, bit by bit.
func crc32c(b []byte) uint32 {
	crc := ^uint32(0)
	for _, c := range b {
		crc ^= uint32(c)
		for range 8 {
			if crc&1 != 0 {
				crc = crc>>1 ^ 0x82F63B78
			} else {
				crc >>= 1
			}
		}
	}
	return ^crc
}

// TestKafkaDirectory: each file of a directory as Kafka lays it out, written here by
// hand, is read; and what is written when the log is closed is written here by hand too.
func TestKafkaDirectory(t *testing.T) {
	assert.EqualValues(t, 0xe3069283, crc32c([]byte("123456789")), "the check value of the catalogue")
	segment := append(unhex(t, leaderChangeHex), unhex(t, dataHex)...)
	for _, b := range [][]byte{segment[:106], segment[106:]} {
		assert.Equal(t, fmt.Sprintf("%08x", crc32c(b[21:])), fmt.Sprintf("%x", b[17:21]))
	}
	const stem = "00000000000000000007"
	kafka := map[string]string{
		stem + ".log":                   string(segment),
		stem + ".index":                 "",
		stem + ".timeindex":             string(unhex(t, "0000018bcfe56801 00000002 # 1700000000001, offset 9")),
		"leader-epoch-checkpoint":       "0\n1\n5 7\n", // version, entries, epoch and start offset
		"partition.metadata":            "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ",
		"quorum-state":                  `{"leaderId":1,"leaderEpoch":5,"votedId":-1,"votedDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA","data_version":1}`,
		stem + "-0000000004.checkpoint": "of a package that the log knows nothing of",
	}
	d := fs.NewDouble()
	require.NoError(t, d.Mkdir(testDir))
	for name, content := range kafka {
		require.NoError(t, fs.WriteFile(d, testDir+"/"+name, []byte(content)))
	}
	l, found, err := Open(d, testDir, Config{})
	require.NoError(t, err)
	assert.Equal(t, Recovered{End: 10}, found)
	assert.EqualValues(t, []int64{7, 10, 4, 5}, []int64{l.StartOffset(), l.EndOffset(), int64(l.StartEpoch()), int64(l.LastEpoch())})
	var span Span
	require.NoError(t, l.Read(&span, 7, 1000, 10))
	assert.Equal(t, segment, span.Bytes)
	it := NewBatches(span.Bytes)
	require.True(t, it.Next())
	change, err := it.Batch().LeaderChange()
	require.NoError(t, err)
	assert.Equal(t, LeaderChange{Leader: 1, Voters: []int32{1, 2, 3}, Granting: []int32{1, 2}}, change)
	require.True(t, it.Next())
	var values []string
	require.NoError(t, it.Batch().Records(func(r Record) error {
		values = append(values, fmt.Sprintf("%d %.2s", r.Offset, r.Value))
		return nil
	}))
	assert.Equal(t, []string{"8 hi", "9 xx"}, values)
	require.NoError(t, l.Close())

	have, err := files(d, testDir)
	require.NoError(t, err)
	for name, content := range kafka {
		assert.Equal(t, content, have[name], name)
		delete(have, name)
	}
	digits := "00000000000000000010"
	assert.Equal(t, fmt.Sprintf("%s %08x\n", digits, crc32c([]byte(digits))), have[pointFile])
	start := fmt.Sprintf("start 7 4 %016x", StartDigest(7, 4))
	assert.Equal(t, fmt.Sprintf("%s %08x\n", start, crc32c([]byte(start))), have[startFile])
	assert.Len(t, have, 2, "ours")
}
