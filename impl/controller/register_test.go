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

// registered is a RegisterControllerRecord that a Kafka 4.4.0 controller wrote.
const registered = "011b00" + "00000003" + "3ce7d5f38e6a45999ce5acd9a9f3fc47" + "00" +
	"02" + "0b434f4e54524f4c4c4552" + "0a3132372e302e302e31" + "24b1" + "0000" + "00" +
	"08" + "0e67726f75702e76657273696f6e" + "0000" + "0001" + "00" +
	"0e6b726166742e76657273696f6e" + "0000" + "0001" + "00" +
	"116d657461646174612e76657273696f6e" + "0007" + "0021" + "00" +
	"0e73686172652e76657273696f6e" + "0000" + "0002" + "00" +
	"1073747265616d732e76657273696f6e" + "0000" + "0001" + "00" +
	"147472616e73616374696f6e2e76657273696f6e" + "0000" + "0002" + "00" +
	"21656c696769626c652e6c65616465722e7265706c696361732e76657273696f6e" + "0000" + "0001" + "00" + "00"

// asRegistered is the request that it had got.
func asRegistered() *kmsg.ControllerRegistrationRequest {
	q := kmsg.NewPtrControllerRegistrationRequest()
	q.ControllerID = 3
	q.IncarnationID = [16]byte{0x3c, 0xe7, 0xd5, 0xf3, 0x8e, 0x6a, 0x45, 0x99, 0x9c, 0xe5, 0xac, 0xd9, 0xa9, 0xf3, 0xfc, 0x47}
	q.Listeners = []kmsg.ControllerRegistrationRequestListener{{Name: "CONTROLLER", Host: "127.0.0.1", Port: 9393}}
	for _, f := range []struct {
		name     string
		min, max int16
	}{
		{"group.version", 0, 1}, {"kraft.version", 0, 1}, {"metadata.version", 7, 33}, {"share.version", 0, 2},
		{"streams.version", 0, 1}, {"transaction.version", 0, 2}, {"eligible.leader.replicas.version", 0, 1},
	} {
		q.Features = append(q.Features, kmsg.ControllerRegistrationRequestFeature{Name: f.name, MinSupportedVersion: f.min, MaxSupportedVersion: f.max})
	}
	return q
}

func register(t *testing.T, c *Controller, q *kmsg.ControllerRegistrationRequest) int16 {
	t.Helper()
	r, ok := c.Handle(context.Background(), q).(*kmsg.ControllerRegistrationResponse)
	require.True(t, ok)
	return r.ErrorCode
}

// The first registration in a log stands behind the bootstrap; each is the record
// that Kafka writes; and only the last one of a controller goes into snapshots.
func TestRegistration(t *testing.T) {
	c := New(Config{})
	require.EqualValues(t, 41, register(t, c, asRegistered()), "no node yet")
	q := &quorum{c: c, epoch: 5}
	c.Use(q)
	require.EqualValues(t, 41, register(t, c, asRegistered()))
	require.Empty(t, q.records)
	c.LeaderChange(node.Leadership{Epoch: 5, Self: true})
	require.Zero(t, register(t, c, asRegistered()))
	version := "010c00" + "116d657461646174612e76657273696f6e" + "0021" + "00"
	require.Equal(t, []string{"011700" + "01001" + "2" + "12" + hex.EncodeToString([]byte("Bootstrap records")), version, "01180000", registered}, hexOf(q.records))
	again := asRegistered()
	again.IncarnationID[0], again.ZkMigrationReady = 9, true
	other := asRegistered()
	other.ControllerID = 300
	require.Zero(t, register(t, c, again))
	require.Zero(t, register(t, c, other))
	require.Len(t, q.records, 6)

	bad := asRegistered()
	bad.Listeners[0].SecurityProtocol = 4
	require.EqualValues(t, 119, register(t, c, bad))
	q.epoch = 6
	require.EqualValues(t, 41, register(t, c, other), "deposed")

	require.Equal(t, hexOf(q.records[4:]), hexOf(c.other))
	require.Equal(t, versions{7, 33}, c.supported[3])
	write, err := c.Snapshot()
	require.NoError(t, err)
	var m memory
	require.NoError(t, write(&m))
	loaded := New(Config{})
	require.NoError(t, loaded.Load(m))
	require.Equal(t, c.other, loaded.other)
	require.Equal(t, c.supported, loaded.supported)
}

func hexOf(records [][]byte) (out []string) {
	for _, r := range records {
		out = append(out, hex.EncodeToString(r))
	}
	return out
}

// A registration that is cut off is no record.
func TestRegistrationCutOff(t *testing.T) {
	b, err := hex.DecodeString(registered)
	require.NoError(t, err)
	r, err := metadata.Decode(b)
	require.NoError(t, err)
	require.EqualValues(t, 3, r.Controller)
	_, err = metadata.Decode(b[:6])
	require.ErrorIs(t, err, metadata.ErrRecord)
	for n := range b {
		_, err = metadata.ControllerFeatures(b[:n])
		require.ErrorIs(t, err, metadata.ErrRecord, "%d bytes", n)
	}
}
