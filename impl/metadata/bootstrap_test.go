package metadata

import (
	"encoding/hex"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/stretchr/testify/require"
)

// What kafka-storage format -t X --standalone left: of Kafka 4.3.1, with --release-version
// 4.0, bootstrap.checkpoint and a zero checkpoint with voters alone; of Kafka 4.4.0 a zero
// checkpoint with both.
const (
	legacyHex = "00000000000000000000004700000000024a74cb85002000000000000001a22b5c586d000001a22b5c586dffffffffffffffffffffffffffff000000" +
		"012a00000008000000031600000000000000000000000000000000000000010000008b0000000002f347a644000000000002000001a22b5c586e0000" +
		"01a22b5c586effffffffffffffffffffffffffff000000033a000000012e010c00116d657461646174612e76657273696f6e00190000340000020128" +
		"010c000e67726f75702e76657273696f6e00010000400000040134010c00147472616e73616374696f6e2e76657273696f6e00020000000000000000" +
		"00040000003f0000000002df388c50002000000000000001a22b5c5873000001a22b5c5873ffffffffffffffffffffffffffff000000011a00000008" +
		"000000040600000000"
	oldZeroHex = "00000000000000000000009a0000000002d1168e6a002000000002000001a22b5c58e2000001a22b5c58e2ffffffffffffffffffffffffffff000000" +
		"032a0000000800000003160000000001a22b5c589600001e00000208000000050a000000010000820100000408000000066e00000200000001a51084" +
		"6e129d4e9496385c90b476fddf020b434f4e54524f4c4c45520a3132372e302e302e314af700000000010000000000000000000000030000003f0000" +
		"00000214a98665002000000000000001a22b5c5916000001a22b5c5916ffffffffffffffffffffffffffff000000011a000000080000000406000000" +
		"00"
	zeroHex = "00000000000000000000009a00000000023f9a4136002000000002000001a22b124f28000001a22b124f28ffffffffffffffffffffffffffff000000" +
		"032a0000000800000003160000000001a22b124f1a00001e00000208000000050a000000010000820100000408000000066e000002000000016d93b8" +
		"1f3cb4471d89267e597eb69337020b434f4e54524f4c4c45520a3132372e302e302e314af70000000001000000000000000000000003000000f10000" +
		"00000270b9a099000000000005000001a22b124f5c000001a22b124f5cffffffffffffffffffffffffffff000000063a000000012e010c00116d6574" +
		"61646174612e76657273696f6e002100005a000002014e010c0021656c696769626c652e6c65616465722e7265706c696361732e76657273696f6e00" +
		"010000340000040128010c000e67726f75702e76657273696f6e00010000340000060128010c000e73686172652e76657273696f6e00020000380000" +
		"08012c010c001073747265616d732e76657273696f6e000100004000000a0134010c00147472616e73616374696f6e2e76657273696f6e0002000000" +
		"000000000000090000003f0000000002ebd79724002000000000000001a22b124f60000001a22b124f60ffffffffffffffffffffffffffff00000001" +
		"1a00000008000000040600000000"
)

// put writes a file, and makes the directory that it is in.
func put(t testing.TB, d *fs.Double, name, content string) {
	b, err := hex.DecodeString(content)
	require.NoError(t, err)
	require.NoError(t, fs.MkdirAll(d, "d/"+LogDir))
	require.NoError(t, fs.WriteFile(d, "d/"+name, b))
}

var zeroFile = LogDir + "/" + ZeroID.FileName()

func words(t *testing.T, b Bootstrap) (list []string) {
	for _, r := range b.Records {
		record, err := Decode(r)
		require.NoError(t, err)
		list = append(list, record.String())
	}
	return list
}

func feature(name string, level string) string {
	return `{"type":"FEATURE_LEVEL_RECORD","version":0,"data":{"name":"` + name + `","featureLevel":` + level + `}}`
}

func TestLegacy(t *testing.T) {
	d := fs.NewDouble()
	_, ok, err := ReadLegacy(d, "d")
	require.NoError(t, err)
	require.False(t, ok)
	put(t, d, LegacyFile, legacyHex)
	b, ok, err := ReadLegacy(d, "d")
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []string{feature("metadata.version", "25"), feature("group.version", "1"), feature("transaction.version", "2")}, words(t, b))
	require.EqualValues(t, 25, b.Version)
	require.Equal(t, "d/"+LegacyFile, b.File)
	require.Zero(t, b.KRaftVersion)
}

func TestZero(t *testing.T) {
	d := fs.NewDouble()
	_, ok, err := ReadZero(d, "d")
	require.NoError(t, err)
	require.False(t, ok)
	put(t, d, zeroFile, oldZeroHex)
	b, ok, err := ReadZero(d, "d")
	require.NoError(t, err)
	require.True(t, ok)
	require.Empty(t, b.Records)
	require.Zero(t, b.Version)
	require.EqualValues(t, 1, b.KRaftVersion)
	require.True(t, b.IsVoter(1))
	require.False(t, b.IsVoter(2))

	put(t, d, zeroFile, zeroHex)
	b, _, err = ReadZero(d, "d")
	require.NoError(t, err)
	require.Equal(t, []string{feature("metadata.version", "33"), feature("eligible.leader.replicas.version", "1"), feature("group.version", "1"),
		feature("share.version", "2"), feature("streams.version", "1"), feature("transaction.version", "2")}, words(t, b))
	require.Equal(t, LatestProduction, b.Version)
	require.Equal(t, []log.VoterEndpoint{{Name: "CONTROLLER", Host: "127.0.0.1", Port: 19191}}, b.Voters[0].Endpoints)

	// One that a snapshot of the log has replaced does not count.
	w, err := snapshot.Create(d, "d/"+LogDir, snapshot.ID{End: 9, Epoch: 1}, 0)
	require.NoError(t, err)
	require.NoError(t, w.Freeze())
	_, ok, err = ReadZero(d, "d")
	require.NoError(t, err)
	require.False(t, ok)
}

// write writes a checkpoint of records.
func write(t *testing.T, d *fs.Double, id snapshot.ID, records ...[]byte) {
	require.NoError(t, fs.MkdirAll(d, "d/"+LogDir))
	w, err := snapshot.Replace(d, "d/"+LogDir, id, 0)
	require.NoError(t, err)
	require.NoError(t, w.Append(records))
	require.NoError(t, w.Freeze())
}

func TestBadBootstrap(t *testing.T) {
	version := AppendFeatureLevel(nil, VersionFeature, 35)
	for says, records := range map[string][][]byte{
		"none of its 1 records sets metadata.version": {AppendFeatureLevel(nil, "group.version", 1)},
		"record 1: not a metadata record":             {version, []byte("x")},
		`record 2: cluster id "B", and before it "A"`: {version, AppendClusterID(nil, "A"), AppendClusterID(nil, "B")},
	} {
		d := fs.NewDouble()
		write(t, d, ZeroID, records...)
		_, ok, err := ReadZero(d, "d")
		require.False(t, ok)
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, "d/"+zeroFile)
	}
	d := fs.NewDouble()
	put(t, d, LegacyFile, legacyHex[:200])
	_, _, err := ReadLegacy(d, "d")
	require.ErrorContains(t, err, "d/"+LegacyFile)
}

func TestLocal(t *testing.T) {
	version := AppendFeatureLevel(nil, VersionFeature, 35)
	d := fs.NewDouble()
	l, err := ReadLocal(d, "d")
	require.NoError(t, err)
	require.Equal(t, Local{}, l)
	write(t, d, ZeroID, version, AppendClusterID(nil, "Z"))
	l, err = ReadLocal(d, "d")
	require.NoError(t, err)
	require.Equal(t, Local{HasZero: true, ZeroClusterID: "Z"}, l)
	require.NoError(t, fs.WriteFile(d, "d/"+LogDir+"/quorum-state", nil))
	l, err = ReadLocal(d, "d")
	require.NoError(t, err)
	require.Equal(t, Local{HasZero: true, ZeroClusterID: "Z", HasLog: true}, l)
	write(t, d, snapshot.ID{End: 5, Epoch: 1}, version, AppendClusterID(nil, "S"))
	write(t, d, snapshot.ID{End: 7, Epoch: 1}, []byte("no record of ours"))
	l, err = ReadLocal(d, "d")
	require.NoError(t, err)
	require.Equal(t, Local{HasZero: true, HasLog: true}, l, "the latest counts")
	write(t, d, snapshot.ID{End: 6, Epoch: 2}, version, AppendClusterID(nil, "S"))
	l, err = ReadLocal(d, "d")
	require.NoError(t, err)
	require.Equal(t, Local{HasZero: true, HasLog: true, SnapshotClusterID: "S"}, l)
	put(t, d, zeroFile, zeroHex[:300])
	_, err = ReadLocal(d, "d")
	require.NoError(t, err, "it counts no more")
	put(t, d, LogDir+"/"+snapshot.ID{End: 6, Epoch: 2}.FileName(), "00")
	_, err = ReadLocal(d, "d")
	require.Error(t, err)
}

// FuzzBootstrap reads whatever stands in the place of a checkpoint.
func FuzzBootstrap(f *testing.F) {
	for _, s := range []string{legacyHex, oldZeroHex, zeroHex} {
		b, err := hex.DecodeString(s)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		d := fs.NewDouble()
		put(t, d, LegacyFile, hex.EncodeToString(b))
		boot, ok, err := ReadLegacy(d, "d")
		if err != nil {
			require.ErrorContains(t, err, LegacyFile)
			return
		}
		require.True(t, ok)
		require.Equal(t, len(boot.Records) > 0, boot.Version != 0)
	})
}
