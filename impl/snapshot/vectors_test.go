package snapshot

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// unhex reads hexadecimal with blanks and comments from # to the end of a line. The
// lengths and checksums of batches, written as LLLLLLLL and CCCCCCCC, are computed
// here from the published layout: the length is of what follows it, the CRC-32C of
// what follows that.
func unhex(t testing.TB, s string) []byte {
	t.Helper()
	var all []byte
	for batch := range strings.SplitSeq(s, "batch:") {
		var digits strings.Builder
		for line := range strings.Lines(batch) {
			line, _, _ = strings.Cut(line, "#")
			for _, f := range strings.Fields(line) {
				digits.WriteString(strings.NewReplacer("LLLLLLLL", "00000000", "CCCCCCCC", "00000000").Replace(f))
			}
		}
		b, err := hex.DecodeString(digits.String())
		require.NoError(t, err)
		all = append(all, sealed(b)...)
	}
	return all
}

// sealed fills length and checksum of a batch in.
func sealed(b []byte) []byte {
	if len(b) >= 21 {
		binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
		binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	}
	return b
}

const headerHex = `batch:
	0000000000000000   # base offset 0
	LLLLLLLL
	00000003           # epoch 3
	02                 # magic
	CCCCCCCC
	0020               # control
	00000000           # last offset delta
	0000018bcfe56800   # 1700000000000
	0000018bcfe56800
	ffffffffffffffff ffff ffffffff
	00000001           # one record
	2a                 # 21 bytes
	00 00 00           # attributes, timestamp delta, offset delta
	08 0000 0003       # key of 4 bytes: version 0, SNAPSHOT_HEADER
	16                 # value of 11 bytes
	0000 0000018bcfe56800 00  # version, LastContainedLogTimestamp, no tagged fields
	00                 # no headers
`

const dataHex = `batch:
	0000000000000001   # base offset 1: offsets are those of the file
	LLLLLLLL
	00000003
	02
	CCCCCCCC
	0000               # data
	00000001           # last offset delta: two records
	0000018bcfe56800
	0000018bcfe56800
	ffffffffffffffff ffff ffffffff
	00000002
	10 00 00 00 01 04 6869 00       # 8 bytes, null key, "hi"
	0e 00 00 02 01 02 78 00         # 7 bytes, offset delta 1, "x"
`

const footerHex = `batch:
	0000000000000003
	LLLLLLLL
	00000003
	02
	CCCCCCCC
	0020
	00000000
	0000018bcfe56800
	0000018bcfe56800
	ffffffffffffffff ffff ffffffff
	00000001
	1a                 # 13 bytes
	00 00 00
	08 0000 0004       # SNAPSHOT_FOOTER
	06                 # value of 3 bytes
	0000 00
	00
`

// votersHex is a header batch as Kafka writes it with kraft.version 1: three records.
const votersHex = `batch:
	0000000000000000
	LLLLLLLL
	00000003
	02
	CCCCCCCC
	0020
	00000002
	0000018bcfe56800
	0000018bcfe56800
	ffffffffffffffff ffff ffffffff
	00000003
	2a 00 00 00 08 0000 0003 16 0000 0000018bcfe56800 00 00
	1e 00 00 02 08 0000 0005 0a 0000 0001 00 00
	1c 00 00 04 08 0000 0006 08 0000 01 00 00 # no voters
`

// quorumHex is the same with a voter: id, directory, endpoint C at h:9092, kraft.version
// 0 to 1.
const quorumHex = `batch:
	0000000000000000
	LLLLLLLL
	00000003
	02
	CCCCCCCC
	0020
	00000002
	0000018bcfe56800
	0000018bcfe56800
	ffffffffffffffff ffff ffffffff
	00000003
	2a 00 00 00 08 0000 0003 16 0000 0000018bcfe56800 00 00
	1e 00 00 02 08 0000 0005 0a 0000 0001 00 00
	60 00 00 04 08 0000 0006  # 48 bytes
	4c 0000 02                # value of 38 bytes: version, one voter
	00000001 1964b4eaa3bb489d8ef87bad8154104b
	02 02 43 02 68 2384 00    # one endpoint
	0000 0001 00 00           # feature, no tagged fields of it and of the voter
	00                        # none of the record
	00                        # no headers
`

const vectorTime = 1700000000000

var vectorID = ID{End: 1000, Epoch: 3}

const dir = "topic-0"

func newDir(t testing.TB) *fs.Double {
	d := fs.NewDouble()
	require.NoError(t, d.Mkdir(dir))
	require.NoError(t, d.SyncDir("/"))
	return d
}

func put(t testing.TB, d fs.FS, name string, content []byte) {
	t.Helper()
	f, err := d.Create(dir + "/" + name)
	require.NoError(t, err)
	_, err = f.WriteAt(content, 0)
	require.NoError(t, err)
	require.NoError(t, f.Sync())
	require.NoError(t, d.SyncDir(dir))
}

func recordsOf(t testing.TB, r *Reader) []string {
	var all []string
	require.NoError(t, r.Records(func(v []byte) error { all = append(all, string(v)); return nil }))
	return all
}

// TestVectors: our bytes are those of the published layout, and those are read.
func TestVectors(t *testing.T) {
	d := newDir(t)
	w, err := Create(d, dir, vectorID, vectorTime)
	require.NoError(t, err)
	require.NoError(t, w.Append([][]byte{[]byte("hi"), []byte("x")}))
	require.NoError(t, w.Freeze())
	names, err := d.List(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"00000000000000001000-0000000003.checkpoint"}, names)
	have, err := fs.ReadFile(d, dir+"/"+names[0])
	require.NoError(t, err)
	want := unhex(t, headerHex+dataHex+footerHex)
	require.Equal(t, hex.Dump(want), hex.Dump(have))

	put(t, d, ID{End: 7, Epoch: 3}.FileName(), want)
	r, err := Open(d, dir, ID{End: 7, Epoch: 3})
	require.NoError(t, err)
	assert.EqualValues(t, vectorTime, r.LastTimestamp())
	assert.EqualValues(t, len(want), r.Size())
	assert.Equal(t, []string{"hi", "x"}, recordsOf(t, r))
	raw := make([]byte, 10)
	_, err = r.ReadAt(raw, 5)
	require.NoError(t, err)
	assert.Equal(t, want[5:15], raw)
	require.NoError(t, r.Close())
}

// TestKafka: what Kafka writes and we do not is read too.
func TestKafka(t *testing.T) {
	d := newDir(t)
	id := ID{Epoch: 3} // as the bootstrap snapshot of kafka-storage format: offset 0
	footer := unhex(t, footerHex)
	put(t, d, id.FileName(), append(unhex(t, votersHex), footer...))
	r, err := Open(d, dir, id)
	require.NoError(t, err)
	require.NoError(t, r.Verify())
	assert.Empty(t, recordsOf(t, r))

	put(t, d, id.FileName(), append(unhex(t, quorumHex), footer...))
	r, err = Open(d, dir, id)
	require.NoError(t, err)
	require.NoError(t, r.Verify())
	assert.EqualValues(t, vectorTime, r.LastTimestamp())

	// A tagged field of the future.
	header := unhex(t, strings.NewReplacer("2a   ", "30   ", "16   ", "1c   ", "fe56800 00  #", "fe56800 01 07 01 55  #").Replace(headerHex))

	put(t, d, id.FileName(), append(header, unhex(t, dataHex+footerHex)...))
	r, err = Open(d, dir, id)
	require.NoError(t, err)
	require.NoError(t, r.Verify())
	assert.EqualValues(t, vectorTime, r.LastTimestamp())
}

func TestStructure(t *testing.T) {
	with := func(s, old, new string) string {
		require.Contains(t, s, old)
		return strings.Replace(s, old, new, 1)
	}
	for _, c := range []struct {
		name, content, reason string
		pos                   int // of the batch: 0 header, 1 data, 2 footer, 3 after all
	}{
		{"empty", "", "ends without a footer after 0 bytes", 0},
		{"no header", with(dataHex, "0000000000000001", "0000000000000000"), "the first batch is no control batch", 0},
		{"footer first", with(footerHex, "0000000000000003", "0000000000000000"), "starts with SnapshotFooter instead", 0},
		{"unknown first", with(headerHex, "0000 0003", "0000 0009"), "starts with control record of type 9", 0},
		{"header version", with(headerHex, "0000 0000018bcfe56800 00", "0001 0000018bcfe56800 00"), "malformed SnapshotHeader", 0},
		{"header tags", with(headerHex, "0000 0000018bcfe56800 00", "0000 0000018bcfe56800 01"), "malformed SnapshotHeader", 0},
		{"leader change in header", with(votersHex, "0000 0005", "0000 0002"), "LeaderChange in the batch of the header", 0},
		{"other epoch", headerHex + with(dataHex, "00000003", "00000004"), "batch of epoch 4", 1},
		{"older epoch", headerHex + with(dataHex, "00000003", "00000002"), "epoch 2 after epoch 3", 1},
		{"gap", headerHex + with(dataHex, "0000000000000001", "0000000000000002"), "base offset is 2", 1},
		{"compressed", headerHex + with(dataHex, "0000  ", "0001  "), "attributes", 1},
		{"record", headerHex + with(dataHex, "04 6869", "06 6869"), "record 1:", 1},
		{"second header", headerHex + with(headerHex, "0000000000000000", "0000000000000001"), "SnapshotHeader instead of data or a footer", 1},
		{"footer version", headerHex + dataHex + with(footerHex, "0000 00\n", "0001 00\n"), "malformed SnapshotFooter", 2},
		{"footer tags", headerHex + dataHex + with(footerHex, "0000 00\n", "0000 01\n"), "malformed SnapshotFooter", 2},
		{"no footer", headerHex + dataHex, "ends without a footer", 2},
		{"data after footer", headerHex + dataHex + footerHex + with(dataHex, "0000000000000001", "0000000000000004"), "bytes follow the footer", 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDir(t)
			put(t, d, vectorID.FileName(), unhex(t, c.content))
			r, err := Open(d, dir, vectorID)
			if err == nil {
				err = r.Verify()
			}
			if r != nil { // whoever reads the records finds the same
				require.Equal(t, err, r.Records(func([]byte) error { return nil }))
			}
			var corrupt *CorruptError
			require.ErrorAs(t, err, &corrupt)
			assert.Equal(t, dir+"/"+vectorID.FileName(), corrupt.File)
			assert.ErrorContains(t, corrupt, c.reason)
			pos := len(unhex(t, strings.Join([]string{headerHex, dataHex, footerHex}[:c.pos], "")))
			assert.EqualValues(t, pos, corrupt.Pos)
		})
	}
}

// TestDecay flips a bit of every byte, and cuts the file at every byte: each is seen.
func TestDecay(t *testing.T) {
	good := unhex(t, headerHex+dataHex+footerHex)
	check := func(content []byte, what string, at int) {
		d := newDir(t)
		put(t, d, vectorID.FileName(), content)
		r, err := Open(d, dir, vectorID)
		if err == nil {
			err = r.Verify()
		}
		var corrupt *CorruptError
		require.ErrorAs(t, err, &corrupt, "%s at %d", what, at)
		require.LessOrEqual(t, corrupt.Pos, int64(at))
	}
	for at := range good {
		bad := bytes.Clone(good)
		bad[at] ^= 1 << (at % 8)
		check(bad, "flip", at)
		check(good[:at], "cut", at)
	}
}

func FuzzReader(f *testing.F) {
	f.Add(unhex(f, headerHex+dataHex+footerHex), false)
	f.Add(unhex(f, votersHex+footerHex), true)
	f.Add(unhex(f, headerHex+footerHex)[:150], true)
	f.Add([]byte{}, false)
	f.Fuzz(func(t *testing.T, b []byte, seal bool) {
		if seal { // so that mutated records get past the checksums
			b = sealAll(b)
		}
		d := newDir(t)
		put(t, d, vectorID.FileName(), b)
		verdict := func(err error) bool {
			if err == nil {
				return true
			}
			var corrupt *CorruptError
			require.ErrorAs(t, err, &corrupt)
			require.True(t, corrupt.Pos >= 0 && corrupt.Pos <= int64(len(b)))
			return false
		}
		good := false
		if r, err := Open(d, dir, vectorID); verdict(err) {
			good = verdict(r.Verify())
			n, last := int64(1), int64(1)
			it := r.Batches()
			for it.Next() {
				n += it.Batch().End - it.Batch().Base
				require.GreaterOrEqual(t, it.Batch().Base, last)
				last = it.Batch().End
			}
			require.Equal(t, good, it.Err() == nil)
		}
		// Received in two pieces, with a restart between them, it is the same.
		p, err := Receive(d, dir, ID{End: 9, Epoch: 3}, 2)
		require.NoError(t, err)
		require.NoError(t, p.Append(0, b[:len(b)/2]))
		require.NoError(t, p.Close())
		p, err = Receive(d, dir, ID{End: 9, Epoch: 3}, 2)
		require.NoError(t, err)
		require.LessOrEqual(t, p.Size(), int64(len(b)/2))
		require.NoError(t, p.Append(p.Size(), b[p.Size():]))
		require.Equal(t, good, verdict(p.Freeze()))
		if good {
			have, err := fs.ReadFile(d, dir+"/"+ID{End: 9, Epoch: 3}.FileName())
			require.NoError(t, err)
			require.True(t, bytes.Equal(b, have))
		} else {
			require.NoError(t, p.Discard())
		}
	})
}

// sealAll makes the checksums of all batches right, as far as their lengths lead.
func sealAll(b []byte) []byte {
	b = bytes.Clone(b)
	for rest := b; len(rest) >= 61; {
		n := int64(binary.BigEndian.Uint32(rest[8:])) + 12
		if n < 61 || n > int64(len(rest)) {
			break
		}
		sealed(rest[:n])
		rest = rest[n:]
	}
	return b
}
