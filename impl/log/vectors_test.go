package log

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// unhex reads hexadecimal with blanks and comments from # to the end of a line.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	var digits strings.Builder
	for line := range strings.Lines(s) {
		line, _, _ = strings.Cut(line, "#")
		for _, f := range strings.Fields(line) {
			digits.WriteString(f)
		}
	}
	b, err := hex.DecodeString(digits.String())
	require.NoError(t, err)
	return b
}

// leaderChangeHex is written from the published layout of record batches and of
// LeaderChangeMessage; the value is Kafka's own example. The checksum was
// computed bit by bit (reflected polynomial 0x82F63B78) outside Go.
const leaderChangeHex = `
	0000000000000007   # base offset 7
	0000005e           # 94 bytes follow
	00000005           # epoch 5
	02                 # magic
	1735ab2b           # CRC-32C of the rest
	0020               # control
	00000000           # last offset delta
	0000018bcfe56800   # 1700000000000
	0000018bcfe56800
	ffffffffffffffff ffff ffffffff
	00000001           # one record
	58                 # 44 bytes
	00 00 00           # attributes, timestamp delta, offset delta
	08 0000 0002       # key of 4 bytes: version 0, LEADER_CHANGE
	44                 # value of 34 bytes
	0000 00000001 04 00000001 00 00000002 00 00000003 00 03 00000001 00 00000002 00 00
	00                 # no headers`

// dataHex has the records "hi" and 100 times "x".
const dataHex = `
	0000000000000008   # base offset 8
	000000a7           # 167 bytes follow
	00000005           # epoch 5
	02
	3febe92f
	0000               # data
	00000001           # last offset delta
	0000018bcfe56801   # 1700000000001
	0000018bcfe56801
	ffffffffffffffff ffff ffffffff
	00000002           # two records
	10                 # 8 bytes
	00 00 00
	01                 # null key
	04 6869            # "hi"
	00
	d601               # 107 bytes
	00 00 02           # offset delta 1
	01
	c801               # 100 bytes
	78787878787878787878 78787878787878787878 78787878787878787878 78787878787878787878 78787878787878787878
	78787878787878787878 78787878787878787878 78787878787878787878 78787878787878787878 78787878787878787878
	00`

func TestVectors(t *testing.T) {
	change := LeaderChange{Leader: 1, Voters: []int32{1, 2, 3}, Granting: []int32{1, 2}}
	want := unhex(t, leaderChangeHex)
	assert.Equal(t, want, AppendLeaderChangeBatch(nil, 7, 5, change, 1700000000000))
	data := unhex(t, dataHex)
	values := [][]byte{[]byte("hi"), bytes.Repeat([]byte("x"), 100)}
	assert.Equal(t, data, AppendDataBatch(nil, 8, 5, values, 1700000000001))

	it := NewBatches(append(bytes.Clone(want), data...))
	require.True(t, it.Next())
	b := it.Batch()
	assert.Equal(t, Batch{Base: 7, End: 8, Epoch: 5, Control: true, Timestamp: 1700000000000, Bytes: want}, b)
	have, err := b.LeaderChange()
	require.NoError(t, err)
	assert.Equal(t, change, have)
	require.True(t, it.Next())
	b = it.Batch()
	var read [][]byte
	require.NoError(t, b.Records(func(r Record) error {
		assert.Nil(t, r.Key)
		assert.EqualValues(t, 8+len(read), r.Offset)
		read = append(read, r.Value)
		return nil
	}))
	assert.Equal(t, values, read)
	assert.False(t, it.Next())
	assert.NoError(t, it.Err())
}

// TestKmsg compares with franz-go's codec, which is not ours.
func TestKmsg(t *testing.T) {
	var batch kmsg.RecordBatch
	require.NoError(t, batch.ReadFrom(unhex(t, leaderChangeHex)))
	assert.EqualValues(t, 7, batch.FirstOffset)
	assert.EqualValues(t, 5, batch.PartitionLeaderEpoch)
	assert.EqualValues(t, 0x20, batch.Attributes)
	assert.EqualValues(t, -1, batch.ProducerID)
	assert.EqualValues(t, 1, batch.NumRecords)
	for _, c := range []LeaderChange{
		{Leader: 1, Voters: []int32{1, 2, 3}, Granting: []int32{1, 2}},
		{Leader: 3000, Voters: []int32{3000}, Granting: []int32{3000}},
	} {
		m := kmsg.NewLeaderChangeMessage()
		m.LeaderID = c.Leader
		for _, id := range c.Voters {
			m.Voters = append(m.Voters, kmsg.LeaderChangeMessageVoter{VoterID: id})
		}
		for _, id := range c.Granting {
			m.GrantingVoters = append(m.GrantingVoters, kmsg.LeaderChangeMessageVoter{VoterID: id})
		}
		assert.Equal(t, m.AppendTo(nil), appendLeaderChange(nil, c))
	}
}

// TestXXH64 compares with published values and with zstd, whose frames end with
// the low half of XXH64 of the content.
func TestXXH64(t *testing.T) {
	assert.EqualValues(t, uint64(0xef46db3751d8e999), xxh64(0, nil))
	assert.EqualValues(t, uint64(0xd24ec4f1a98c6e5b), xxh64(0, []byte("a")))
	assert.EqualValues(t, uint64(0x44bc2cf5ad770999), xxh64(0, []byte("abc")))
	enc, err := zstd.NewWriter(nil, zstd.WithEncoderCRC(true), zstd.WithEncoderConcurrency(1))
	require.NoError(t, err)
	var b []byte
	for n := range 200 {
		b = append(b, byte(n*37))
		frame := enc.EncodeAll(b, nil)
		assert.Equal(t, binary.LittleEndian.Uint32(frame[len(frame)-4:]), uint32(xxh64(0, b)), "%d bytes", n+1)
	}
	assert.NotEqual(t, xxh64(1, b), xxh64(2, b))
}

func TestBadBatches(t *testing.T) {
	good := unhex(t, leaderChangeHex)
	next := unhex(t, dataHex)
	for _, c := range []struct {
		name   string
		damage func(b []byte) []byte
		reason string
		short  bool
	}{
		{"empty length", func(b []byte) []byte { b[11] = 0; return b }, "length 0 is out of range", false},
		{"huge length", func(b []byte) []byte { b[8] = 0x7f; return b }, "out of range", false},
		{"negative length", func(b []byte) []byte { b[8] = 0xff; return b }, "out of range", false},
		{"magic", func(b []byte) []byte { b[16] = 1; return b }, "magic 1 is not 2", false},
		{"checksum", func(b []byte) []byte { b[len(b)-1] ^= 1; return b }, "checksum", false},
		{"compressed", func(b []byte) []byte { b[22] = 1; return seal(b, 0) }, "attributes", false},
		{"count", func(b []byte) []byte { b[60] = 3; return seal(b, 0) }, "3 records", false},
		{"negative delta", func(b []byte) []byte { b[23] = 0x80; return seal(b, 0) }, "last offset delta", false},
		{"offset", func(b []byte) []byte { b[7] = 9; return b }, "base offset is 9", false},
		{"negative offset", func(b []byte) []byte { b[0] = 0x80; return b }, "base offset", false},
		{"epoch", func(b []byte) []byte { b[15] = 4; return b }, "epoch 4 after epoch 5", false},
		{"short", func(b []byte) []byte { return b[:100] }, "100 of 179 bytes", true},
		{"very short", func(b []byte) []byte { return b[:5] }, "too few", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := append(bytes.Clone(good), c.damage(bytes.Clone(next))...)
			it := NewBatchesAt(b, 7, 0)
			assert.True(t, it.Next())
			assert.False(t, it.Next())
			assert.False(t, it.Next())
			var e *BatchError
			require.ErrorAs(t, it.Err(), &e)
			assert.Equal(t, len(good), e.Pos)
			assert.EqualValues(t, 8, e.Offset)
			assert.Equal(t, c.short, e.Incomplete)
			assert.ErrorContains(t, e, c.reason)
		})
	}
}

func TestBadRecords(t *testing.T) {
	record := func(b ...byte) []byte { return append(binary.AppendVarint(nil, int64(len(b))), b...) }
	for _, c := range []struct {
		name, reason string
		attributes   uint16
		records      []byte
	}{
		{"attributes", "attributes", 0, record(1, 0, 0, 1, 2, 'a', 0)},
		{"timestamp delta", "timestamp delta", 0, record(0, 2, 0, 1, 2, 'a', 0)},
		{"offset delta", "offset delta", 0, record(0, 0, 2, 1, 2, 'a', 0)},
		{"key", "with a key", 0, record(0, 0, 0, 2, 'k', 2, 'a', 0)},
		{"no value", "without a value", 0, record(0, 0, 0, 1, 1, 0)},
		{"empty value", "without a value", 0, record(0, 0, 0, 1, 0, 0)},
		{"headers", "headers", 0, record(0, 0, 0, 1, 2, 'a', 2, 2, 'h', 1)},
		{"control without key", "without key", attributeControl, record(0, 0, 0, 1, 2, 'a', 0)},
		{"length", "bad length", 0, []byte{100}},
		{"negative length", "bad length", 0, []byte{1}},
		{"value length", "bad value", 0, record(0, 0, 0, 1, 100, 'a', 0)},
		{"too many bytes", "after record", 0, append(record(0, 0, 0, 1, 2, 'a', 0), 0)},
	} {
		t.Run(c.name, func(t *testing.T) {
			raw := seal(append(appendHeader(nil, 0, 1, c.attributes, 1, 0), c.records...), 0)
			it := NewBatches(raw)
			require.True(t, it.Next())
			assert.ErrorContains(t, it.Batch().Records(func(Record) error { return nil }), c.reason)
		})
	}
	stop := errors.New("stop")
	it := NewBatches(unhex(t, dataHex))
	require.True(t, it.Next())
	assert.Equal(t, stop, it.Batch().Records(func(Record) error { return stop }))
	_, err := it.Batch().LeaderChange()
	assert.ErrorContains(t, err, "not a control batch")
}

func FuzzBatches(f *testing.F) {
	f.Add(unhex(f, leaderChangeHex))
	f.Add(append(unhex(f, leaderChangeHex), unhex(f, dataHex)...))
	f.Add(append(unhex(f, dataHex), 0, 0, 0))
	f.Add(AppendLeaderChangeBatch(nil, 7, 2, LeaderChange{Leader: 1, Voters: []int32{1}, Granting: []int32{1}}, 9,
		KRaftVersionControl(1), KRaftVotersControl([]Voter{voter(1, "2445d8e9aab3418fb7d8fe534adcda16", 19191)})))
	f.Fuzz(func(t *testing.T, b []byte) {
		// So that mutated records get past the checksum.
		if len(b) > HeaderSize && len(b) < 1<<16 {
			fixed := seal(bytes.Clone(b), 0)
			fuzzBatches(t, fixed)
		}
		fuzzBatches(t, b)
	})
}

func fuzzBatches(t *testing.T, b []byte) {
	it := NewBatches(b)
	pos, end := 0, int64(-1)
	for it.Next() {
		batch := it.Batch()
		require.Equal(t, b[pos:pos+len(batch.Bytes)], batch.Bytes)
		require.Less(t, batch.Base, batch.End)
		require.True(t, end < 0 || batch.Base == end)
		pos, end = pos+len(batch.Bytes), batch.End
		n := int64(0)
		if batch.Records(func(Record) error { n++; return nil }) == nil {
			require.Equal(t, batch.End-batch.Base, n)
		}
		_, _ = batch.LeaderChange()
		controls := int64(0)
		if batch.Control && batch.Controls(func(Record, []Voter) error { controls++; return nil }) == nil {
			require.Equal(t, n, controls)
		}
		for _, r := range batch.AppendRuns(nil) { // whatever they are, none is left out
			n -= r.Count
		}
		require.LessOrEqual(t, n, int64(0))
	}
	require.Equal(t, pos, it.Pos())
	require.Equal(t, pos == len(b), it.Err() == nil)
}
