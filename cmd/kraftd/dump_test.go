package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// batch makes a record batch of format 2 by hand, as Kafka publishes the layout.
func batch(base int64, epoch int32, control bool, records ...[]byte) []byte {
	var attributes uint16
	if control {
		attributes = 0x20
	}
	var tail []byte // what the checksum covers
	tail = binary.BigEndian.AppendUint16(tail, attributes)
	tail = binary.BigEndian.AppendUint32(tail, uint32(len(records)-1))
	tail = binary.BigEndian.AppendUint64(tail, 1700000000000)
	tail = binary.BigEndian.AppendUint64(tail, 1700000000000)
	tail = append(tail, bytes.Repeat([]byte{0xff}, 14)...) // no producer
	tail = binary.BigEndian.AppendUint32(tail, uint32(len(records)))
	for i, r := range records {
		body := append([]byte{0, 0, byte(2 * i)}, r...) // attributes, timestamp delta, offset delta
		body = append(body, 0)                          // headers
		tail = append(binary.AppendVarint(tail, int64(len(body))), body...)
	}
	b := binary.BigEndian.AppendUint64(nil, uint64(base))
	b = binary.BigEndian.AppendUint32(b, uint32(4+1+4+len(tail)))
	b = binary.BigEndian.AppendUint32(b, uint32(epoch))
	b = append(b, 2)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(tail, crc32.MakeTable(crc32.Castagnoli)))
	return append(b, tail...)
}

// record is key length, key, value length, value.
func record(key, value []byte) []byte {
	var b []byte
	if key == nil {
		b = append(b, 1) // -1
	} else {
		b = append(binary.AppendVarint(b, int64(len(key))), key...)
	}
	return append(binary.AppendVarint(b, int64(len(value))), value...)
}

func controlOf(kind byte, value ...byte) []byte { return record([]byte{0, 0, 0, kind}, value) }

// leader 1, voters 1, 2, 3, granted by 1, 2: the example of kafka's record.
var changed = []byte{0, 0, 0, 0, 0, 1, 4, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 3, 0, 3, 0, 0, 0, 1, 0, 0, 0, 0, 2, 0, 0}

func write(t testing.TB, name string, content []byte) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(name, content, 0o400))
	return name
}

func crc(b []byte) uint32 { return binary.BigEndian.Uint32(b[17:]) }

func TestDumpSegment(t *testing.T) {
	change := batch(7, 3, true, controlOf(2, changed...))
	data := batch(8, 3, false, record(nil, []byte("a\x00\"")), record(nil, []byte("b")))
	name := write(t, "00000000000000000007.log", append(append([]byte{}, change...), data...))
	code, out, errs := kraftd("dump", "-print-data-log", name)
	require.Equal(t, 0, code, errs)
	header := "baseSequence: -1 lastSequence: -1 producerId: -1 producerEpoch: -1 partitionLeaderEpoch: 3 isTransactional: false "
	require.Equal(t, sprint("Dumping %s\nLog starting offset: 7\n"+
		"baseOffset: 7 lastOffset: 7 count: 1 "+header+"isControl: true deleteHorizonMs: OptionalLong.empty position: 0 CreateTime: 1700000000000 size: %d magic: 2 compresscodec: none crc: %d isvalid: true\n"+
		`| offset: 7 CreateTime: 1700000000000 keySize: 4 valueSize: %d sequence: -1 headerKeys: [] LeaderChange {"version":0,"leaderId":1,"voters":[{"voterId":1},{"voterId":2},{"voterId":3}],"grantingVoters":[{"voterId":1},{"voterId":2}]}`+"\n"+
		"baseOffset: 8 lastOffset: 9 count: 2 "+header+"isControl: false deleteHorizonMs: OptionalLong.empty position: %[2]d CreateTime: 1700000000000 size: %[5]d magic: 2 compresscodec: none crc: %[6]d isvalid: true\n"+
		`| offset: 8 CreateTime: 1700000000000 keySize: -1 valueSize: 3 sequence: -1 headerKeys: [] payload: "a\x00\""`+"\n"+
		`| offset: 9 CreateTime: 1700000000000 keySize: -1 valueSize: 1 sequence: -1 headerKeys: [] payload: "b"`+"\n",
		name, len(change), crc(change), len(changed), len(data), crc(data)), out)
	_, out, _ = kraftd("dump", "-print-data-log", "-skip-record-metadata", name)
	require.Contains(t, out, "\n| payload: \"b\"\n")
	_, out, _ = kraftd("dump", "-skip-record-metadata", name)
	require.NotContains(t, out, "payload")

	config := batch(8, 3, false, record(nil, []byte("\x01\x04\x00\x02\x04foo\x0bsegment.ms\x027\x00")))
	_, out, _ = kraftd("dump", "-print-data-log", "-skip-record-metadata", write(t, "00000000000000000008.log", config))
	require.Contains(t, out, `| payload: {"type":"CONFIG_RECORD","version":0,"data":{"resourceType":2,"resourceName":"foo","name":"segment.ms","value":"7"}}`+"\n")
}

func TestDumpCheckpoint(t *testing.T) {
	voters := []byte{0, 0, 2, 0, 0, 0, 1}
	voters = append(voters, bytes.Repeat([]byte{0xff}, 16)...)
	voters = append(voters, 2, 2, 'C', 2, 'h', 0x23, 0x82, 0, 0, 0, 0, 1, 0, 0, 0)
	b := batch(0, 3, true, controlOf(3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0), controlOf(5, 0, 0, 0, 1, 0), controlOf(6, voters...))
	b = append(b, batch(3, 3, false, record(nil, []byte("x")))...)
	b = append(b, batch(4, 3, true, controlOf(4, 0, 0, 0))...)
	code, out, errs := kraftd("dump", "-skip-record-metadata", write(t, "00000000000000000120-0000000003.checkpoint", b))
	require.Equal(t, 0, code, errs)
	for _, want := range []string{
		"Snapshot end offset: 120, epoch: 3\n",
		`| SnapshotHeader {"version":0,"lastContainedLogTimestamp":9}` + "\n",
		`| KRaftVersion {"version":0,"kRaftVersion":1}` + "\n",
		`| KRaftVoters {"version":0,"voters":[{"voterId":1,"voterDirectoryId":"_____________________w","endpoints":[{"name":"C","host":"h","port":9090}],"kRaftVersionFeature":{"minSupportedVersion":0,"maxSupportedVersion":1}}]}` + "\n",
		`| SnapshotFooter {"version":0}` + "\n",
	} {
		require.Contains(t, out, want)
	}
	_, out, _ = kraftd("dump", write(t, "bootstrap.checkpoint", b))
	require.Contains(t, out, "KRaft bootstrap snapshot\n")
}

func TestDumpDamage(t *testing.T) {
	good := batch(0, 1, false, record(nil, []byte("x")))
	flipped := bytes.Clone(good)
	flipped[len(flipped)-2]++
	const segment = "00000000000000000000.log"
	for _, c := range []struct {
		name      string
		content   []byte
		out, errs string
	}{
		{segment, flipped, "isvalid: false", "the checksum of the batch at byte 0 is wrong"},
		{segment, append(bytes.Clone(good), good[:30]...), "Found 30 invalid bytes at the end of " + segment, ""},
		{segment, append(bytes.Clone(good), make([]byte, 100)...), "Found 100 invalid bytes", ""},
		{segment, append(bytes.Clone(good), batch(5, 1, false, record(nil, []byte("x")))...), "baseOffset: 5", "Non-consecutive offsets in "},
		{segment, batch(0, 1, true, controlOf(9, 0, 0)), "controlType: 9", "control record of type 9"},
		{segment, batch(0, 1, true, controlOf(2, changed[:20]...)), "LeaderChange malformed", "record 0: malformed LeaderChange"},
		{segment, batch(0, 1, true, controlOf(4, 0, 0, 0, 0)), "SnapshotFooter malformed", "malformed SnapshotFooter"},
		{segment, batch(0, 1, false, record([]byte("k"), []byte("x"))), "isvalid: true", "data record with a key"},
		{"7.log", good, "", "the name is not an offset of 20 digits"},
		{"x.checkpoint", good, "", "the name is not an offset of 20 digits and an epoch of 10"},
		{"quorum-state", []byte("{}"), "", "data_version is missing"},
		{"meta.properties", []byte("version=1"), "", "node.id is missing"},
		{"leader-epoch-checkpoint", []byte("0\n2\n1 0\n"), "", `"2" entries, and 1 lines of them`},
		{"leader-epoch-checkpoint", []byte("1\n0\n"), "", `version "1" is not 0`},
		{"leader-epoch-checkpoint", []byte("0\n1\n1\n"), "", `line 3: "1" is not an epoch and an offset`},
		{"x.index", make([]byte, 8), "", "the name is not an offset"},
		{"other", nil, "", "not a file that kraftd dump knows"},
	} {
		code, out, errs := kraftd("dump", write(t, c.name, c.content))
		require.Equal(t, 1, code, "%s %q", c.name, c.content)
		require.Contains(t, out, c.out)
		require.Contains(t, errs, c.errs)
		require.Contains(t, errs, "kraftd dump: something is wrong")
	}
}

func TestDumpIndex(t *testing.T) {
	dir := t.TempDir()
	first, second := batch(100, 1, false, record(nil, []byte("x")), record(nil, []byte("y"))), batch(102, 1, false, record(nil, []byte("z")))
	index := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, 1), 0)
	index = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(index, 2), uint32(len(first)))
	index = append(index, make([]byte, 80)...) // preallocated
	name := filepath.Join(dir, "00000000000000000100.index")
	require.NoError(t, os.WriteFile(name, index, 0o600))
	code, out, _ := kraftd("dump", name)
	require.Equal(t, 0, code)
	require.Equal(t, sprint("Dumping %s\noffset: 101 position: 0\noffset: 102 position: %d\n", name, len(first)), out)

	segment := filepath.Join(dir, "00000000000000000100.log")
	require.NoError(t, os.WriteFile(segment, append(first, second...), 0o600))
	code, _, _ = kraftd("dump", name)
	require.Equal(t, 0, code)
	require.NoError(t, os.WriteFile(segment, first, 0o600))
	code, _, errs := kraftd("dump", name)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "offset 102 is at position "+sprint("%d", len(first))+", where the segment has no batch")
	require.NoError(t, os.WriteFile(segment, append(bytes.Clone(first), first...), 0o600))
	_, _, errs = kraftd("dump", name)
	require.Contains(t, errs, "where a batch ends with offset 101")

	times := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, 1700000000000), 2)
	_, out, _ = kraftd("dump", write(t, "00000000000000000100.timeindex", times))
	require.Contains(t, out, "timestamp: 1700000000000 offset: 102\n")
	_, out, _ = kraftd("dump", write(t, "00000000000000000100.timeindex", nil))
	require.Contains(t, out, ".timeindex is empty.\n")
}

func TestDumpText(t *testing.T) {
	for name, c := range map[string]struct{ content, out string }{
		"quorum-state":            {`{"leaderId":-1,"leaderEpoch":2,"votedId":1,"votedDirectoryId":"GGS06qO7SJ2O-HutgVQQSw","data_version":1}`, "version: 1 leaderEpoch: 2 leaderId: -1 votedId: 1 votedDirectoryId: GGS06qO7SJ2O-HutgVQQSw\n"},
		"meta.properties":         {"version=1\nnode.id=3\ncluster.id=a b\ndirectory.id=GGS06qO7SJ2O-HutgVQQSw\nx=y\n", "version: 1 cluster.id: \"a b\" node.id: 3 directory.id: GGS06qO7SJ2O-HutgVQQSw\nx: y\n"},
		"leader-epoch-checkpoint": {"0\n2\n1 0\n4 17\n", "epoch: 1 startOffset: 0\nepoch: 4 startOffset: 17\n"},
		"partition.metadata":      {"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ", "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAQ\n"},
	} {
		code, out, errs := kraftd("dump", write(t, name, []byte(c.content)))
		require.Equal(t, 0, code, errs)
		_, rest, _ := strings.Cut(out, "\n")
		require.Equal(t, c.out, rest)
	}
}

// Whatever is in a file, a dump ends, and says so if something is wrong.
func FuzzDump(f *testing.F) {
	for _, b := range [][]byte{batch(0, 1, true, controlOf(2, changed...)), batch(0, 1, true, controlOf(3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0)),
		batch(3, 1, false, record(nil, []byte("x"))), []byte(`{"data_version":0}`), []byte("version=1"), []byte("0\n1\n1 0\n")} {
		f.Add(b, false)
		f.Add(b, true)
	}
	f.Fuzz(func(t *testing.T, b []byte, seal bool) {
		if len(b) > headerSize && seal { // past the checksum
			b = bytes.Clone(b)
			binary.BigEndian.PutUint32(b[8:], uint32(len(b)-12))
			b[16] = 2
			binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[21:], castagnoli))
		}
		var errs bytes.Buffer
		d := &dumper{out: io.Discard, err: &errs, data: true}
		require.NoError(t, d.batchesIn(bytes.NewReader(b), int64(len(b)), "f", "00000000000000000000-0000000001.checkpoint"))
		if errs.Len() > 0 {
			require.True(t, d.bad)
		}
		for _, text := range d.texts() {
			text(b)
		}
	})
}

func sprint(format string, args ...any) string { return fmt.Sprintf(format, args...) }
