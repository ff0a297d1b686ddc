package scenarios

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/quorate/quorate/impl/metaprops"
	"github.com/stretchr/testify/require"
)

// metaV1 is meta.properties as format writes it.
func metaV1(cluster string, node int32, directory metaprops.DirectoryID) string {
	return fmt.Sprintf("cluster.id=%s\ndirectory.id=%s\nnode.id=%d\nversion=1\n", cluster, directory, node)
}

// Records of a zero checkpoint in hexadecimal, as Kafka 4.4.0 writes them but for the level
// of metadata.version and the cluster id.
const (
	headerKey, kraftKey, votersKey, footerKey = "00000003", "00000005", "00000006", "00000004"

	kraftVersion1 = "0000" + "0001" + "00"
	footerValue   = "0000" + "00"

	eligibleLeaders1 = "010c00" + "21656c696769626c652e6c65616465722e7265706c696361732e76657273696f6e" + "0001" + "00"
	group1           = "010c00" + "0e67726f75702e76657273696f6e" + "0001" + "00"
	share2           = "010c00" + "0e73686172652e76657273696f6e" + "0002" + "00"
	streams1         = "010c00" + "1073747265616d732e76657273696f6e" + "0001" + "00"
	transaction2     = "010c00" + "147472616e73616374696f6e2e76657273696f6e" + "0002" + "00"
)

// version is the FeatureLevelRecord of a metadata.version.
func version(level int16) string {
	return "010c00" + "116d657461646174612e76657273696f6e" + fmt.Sprintf("%04x", level) + "00"
}

// clusterID is a ClusterIdRecord.
func clusterID(id string) string {
	return "011e00" + fmt.Sprintf("%02x", len(id)+1) + hex.EncodeToString([]byte(id)) + "00"
}

// latest are the records of the features that go with the latest metadata.versions.
var latest = []string{eligibleLeaders1, group1, share2, streams1, transaction2}

// checkpoint is a zero checkpoint: control records that follow the header, as key and
// value, and data records, all in hexadecimal. timestamp is that of its batches.
func checkpoint(t *testing.T, timestamp uint64, controls [][2]string, records []string) []byte {
	t.Helper()
	header := [][2]string{{headerKey, fmt.Sprintf("0000%016x00", timestamp)}}
	b := batch(t, nil, 0, timestamp, append(header, controls...))
	base := 1 + len(controls)
	var data [][2]string
	for _, r := range records {
		data = append(data, [2]string{"", r})
	}
	b = batch(t, b, base, timestamp, data)
	return batch(t, b, base+len(data), timestamp, [][2]string{{footerKey, footerValue}})
}

// batch appends a record batch of epoch 0 (DefaultRecordBatch). It is written here once more,
// so that what format writes is not compared with itself.
func batch(t *testing.T, dst []byte, base int, timestamp uint64, records [][2]string) []byte {
	t.Helper()
	attributes := uint16(0)
	var body []byte
	for i, r := range records {
		key, err := hex.DecodeString(r[0])
		require.NoError(t, err)
		value, err := hex.DecodeString(r[1])
		require.NoError(t, err)
		one := binary.AppendVarint(binary.AppendVarint([]byte{0}, 0), int64(i))
		if len(key) == 0 {
			one = binary.AppendVarint(one, -1)
		} else {
			attributes = 0x20
			one = append(binary.AppendVarint(one, int64(len(key))), key...)
		}
		one = append(binary.AppendVarint(one, int64(len(value))), value...)
		one = append(one, 0)
		body = append(binary.AppendVarint(body, int64(len(one))), one...)
	}
	tail := binary.BigEndian.AppendUint16(nil, attributes)
	tail = binary.BigEndian.AppendUint32(tail, uint32(len(records)-1))
	tail = binary.BigEndian.AppendUint64(tail, timestamp)
	tail = binary.BigEndian.AppendUint64(tail, timestamp)
	tail = append(tail, strings.Repeat("\xff", 14)...)
	tail = binary.BigEndian.AppendUint32(tail, uint32(len(records)))
	tail = append(tail, body...)
	dst = binary.BigEndian.AppendUint64(dst, uint64(base))
	dst = binary.BigEndian.AppendUint32(dst, uint32(9+len(tail)))
	dst = append(dst, 0, 0, 0, 0, 2)
	dst = binary.BigEndian.AppendUint32(dst, crc32.Checksum(tail, crc32.MakeTable(crc32.Castagnoli)))
	return append(dst, tail...)
}

// timestampOf is that of the first batch of a checkpoint.
func timestampOf(content string) uint64 { return binary.BigEndian.Uint64([]byte(content[27:])) }

// requireZero compares the zero checkpoint of a place byte by byte.
func (p *place) requireZero(controls [][2]string, records ...string) {
	p.t.Helper()
	have := p.read(zeroName)
	want := checkpoint(p.t, timestampOf(have), controls, records)
	require.Equal(p.t, hex.Dump(want), hex.Dump([]byte(have)))
}
