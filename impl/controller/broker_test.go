package controller

import (
	"context"
	"encoding/hex"
	"testing"

	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/node"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func asBroker() *kmsg.BrokerRegistrationRequest {
	q := kmsg.NewPtrBrokerRegistrationRequest()
	q.Version, q.BrokerID, q.ClusterID, q.IncarnationID = 4, 4, "A", [16]byte{1, 2}
	q.Listeners = []kmsg.BrokerRegistrationRequestListener{{Name: "PLAINTEXT", Host: "h", Port: 9092}}
	q.Features = []kmsg.BrokerRegistrationRequestFeature{{Name: metadata.VersionFeature, MinSupportedVersion: 7, MaxSupportedVersion: 33}}
	q.LogDirs = [][16]byte{{9}, {8}}
	return q
}

// A broker is registered with a record of Kafka's layout (RegisterBrokerRecord.json), of the
// version that the metadata.version asks for; and what it supports bounds upgrades.
func TestBrokerRegistration(t *testing.T) {
	c := New(Config{ClusterID: "A"})
	ask := func(change func(q *kmsg.BrokerRegistrationRequest)) *kmsg.BrokerRegistrationResponse {
		q := asBroker()
		change(q)
		return c.Handle(context.Background(), q).(*kmsg.BrokerRegistrationResponse)
	}
	same := func(*kmsg.BrokerRegistrationRequest) {}
	require.EqualValues(t, 41, ask(same).ErrorCode, "no node yet")
	require.NoError(t, c.LoadBootstrap(memory{mv(20)}))
	q := lead(t, c)
	for want, change := range map[int16]func(q *kmsg.BrokerRegistrationRequest){
		104: func(q *kmsg.BrokerRegistrationRequest) { q.ClusterID = "B" },
		119: func(q *kmsg.BrokerRegistrationRequest) { q.LogDirs = nil },
		35:  func(q *kmsg.BrokerRegistrationRequest) { q.Features[0].MaxSupportedVersion = 19 },
	} {
		require.Equal(t, want, ask(change).ErrorCode)
	}
	require.EqualValues(t, 119, ask(func(q *kmsg.BrokerRegistrationRequest) { q.Listeners[0].SecurityProtocol = 4 }).ErrorCode)
	n := len(q.records)
	r := ask(same)
	require.Zero(t, r.ErrorCode)
	require.Len(t, q.records, n+1)
	record := q.records[n]
	require.Equal(t, "010003"+"00000004"+"00"+"01020000000000000000000000000000"+hex.EncodeToString([]byte{0, 0, 0, 0, 0, 0, 0, byte(r.BrokerEpoch)})+
		"02"+"0a504c41494e54455854"+"0268"+"2384"+"0000"+"00"+
		"02"+"116d657461646174612e76657273696f6e"+"0007"+"0021"+"00"+
		"00"+"01"+"00"+
		"01"+"00"+"21"+"03"+"09000000000000000000000000000000"+"08000000000000000000000000000000", hex.EncodeToString(record))
	require.NoError(t, c.Apply(node.Batch{End: 99, Records: []node.Record{{Value: record}}}))
	code, message := update(c, metadata.VersionFeature, 34, upgrade)
	require.EqualValues(t, 96, code)
	require.Contains(t, message, "broker 4 supports metadata.version")
	require.Greater(t, ask(same).BrokerEpoch, r.BrokerEpoch)

	for version := range 4 {
		b := appendBroker(nil, asBroker(), version, 5)
		if version == 0 {
			b = append(b[:len(b)-2], 0) // no InControlledShutdown
		}
		id, features, err := metadata.BrokerFeatures(b)
		require.NoError(t, err, "version %d", version)
		require.EqualValues(t, 4, id)
		require.Equal(t, map[string][2]int16{metadata.VersionFeature: {7, 33}}, features)
		for cut := range b {
			_, _, err := metadata.BrokerFeatures(b[:cut])
			require.ErrorIs(t, err, metadata.ErrRecord, "version %d, %d bytes", version, cut)
		}
	}
}
