package log

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
)

// votersHex is the value of the KRaftVoters record that kafka-storage format
// --initial-controllers (Kafka 4.4.0) wrote for 1@127.0.0.1:19191:JEXY6aqzQY-32P5TStzaFg and
// 2@127.0.0.1:19292:MvDxzVmcRsaTz33bUuRU6A.
const votersHex = "000003" +
	"000000012445d8e9aab3418fb7d8fe534adcda16" + "020b434f4e54524f4c4c45520a3132372e302e302e314af700" + "0000000100" + "00" +
	"0000000232f0f1cd599c46c693cf7ddb52e454e8" + "020b434f4e54524f4c4c45520a3132372e302e302e314b5c00" + "0000000100" + "00" + "00"

func voter(id int32, directory string, port uint16) Voter {
	b, err := hex.DecodeString(directory)
	if err != nil {
		panic(err)
	}
	return Voter{ID: id, Directory: [16]byte(b), Endpoints: []VoterEndpoint{{"CONTROLLER", "127.0.0.1", port}}, MaxVersion: 1}
}

func TestVoters(t *testing.T) {
	voters := []Voter{voter(1, "2445d8e9aab3418fb7d8fe534adcda16", 19191), voter(2, "32f0f1cd599c46c693cf7ddb52e454e8", 19292)}
	r := KRaftVotersControl(voters)
	require.Equal(t, ControlKRaftVoters, r.Kind)
	require.Equal(t, votersHex, hex.EncodeToString(r.Value))
	have, err := ParseKRaftVoters(r.Value)
	require.NoError(t, err)
	require.Equal(t, voters, have)
	for n := range r.Value {
		_, err := ParseKRaftVoters(r.Value[:n])
		require.Error(t, err, "%d bytes", n)
	}
	_, err = ParseKRaftVoters(append(r.Value[:len(r.Value):len(r.Value)], 0))
	require.Error(t, err)
	_, err = ParseKRaftVoters([]byte{0, 1, 1, 0})
	require.ErrorContains(t, err, "version 1, want 0")

	r = KRaftVersionControl(1)
	require.Equal(t, ControlKRaftVersion, r.Kind)
	require.Equal(t, "0000000100", hex.EncodeToString(r.Value))
	level, ok := ParseKRaftVersion(r.Value)
	require.True(t, ok)
	require.EqualValues(t, 1, level)
	for _, bad := range []string{"", "00000001", "0001000100", "000000010000"} {
		b, _ := hex.DecodeString(bad)
		_, ok := ParseKRaftVersion(b)
		require.False(t, ok, bad)
	}
}

func FuzzVoters(f *testing.F) {
	f.Add(KRaftVotersControl([]Voter{voter(1, "2445d8e9aab3418fb7d8fe534adcda16", 19191)}).Value)
	f.Add(KRaftVotersControl(nil).Value)
	f.Add([]byte("\x00\x00\x02\x00\x00\x00\x01abcdefghijklmnop\x01\x00\x00\x00\x01\x01\x05\x01x\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		voters, err := ParseKRaftVoters(b)
		if err != nil {
			return
		}
		again, err := ParseKRaftVoters(KRaftVotersControl(voters).Value)
		require.NoError(t, err)
		require.Equal(t, voters, again)
	})
}
