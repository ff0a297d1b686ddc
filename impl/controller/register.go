package controller

import (
	"context"
	"encoding/binary"

	"github.com/quorate/quorate/impl/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// invalidRegistration: Kafka's INVALID_REGISTRATION.
const invalidRegistration = 119

// lastProtocol is the highest number of a security protocol: PLAINTEXT, SSL,
// SASL_PLAINTEXT, SASL_SSL.
const lastProtocol = 3

// register answers ControllerRegistration with a RegisterControllerRecord
// (ClusterControlManager.registerController). Every controller of Kafka sends it once, to
// the leader that it knows, and goes on until it finds the record in the log. Nodes of
// ours do not: nothing here asks who is registered.
func (c *Controller) register(ctx context.Context, q *kmsg.ControllerRegistrationRequest) kmsg.Response {
	resp := kmsg.NewPtrControllerRegistrationResponse()
	for _, l := range q.Listeners {
		if l.SecurityProtocol < 0 || l.SecurityProtocol > lastProtocol {
			resp.ErrorCode, resp.ErrorMessage = invalidRegistration, kmsg.StringPtr("Unknown security protocol in the listener "+l.Name)
			return resp
		}
	}
	epoch, quorum := c.activeEpoch(), c.quorum.Load()
	if epoch <= 0 || quorum == nil {
		resp.ErrorCode = notController
		return resp
	}
	c.writes(epoch)
	_, err := (*quorum).ProposeIn(ctx, epoch, [][]byte{appendRegistration(nil, q)})
	resp.ErrorCode, resp.ErrorMessage = refusalOf(err).fields()
	return resp
}

// appendRegistration appends a RegisterControllerRecord, version 0, with its frame.
func appendRegistration(dst []byte, q *kmsg.ControllerRegistrationRequest) []byte {
	dst = metadata.AppendFrame(dst, metadata.TypeRegisterController, 0)
	dst = binary.BigEndian.AppendUint32(dst, uint32(q.ControllerID))
	dst = append(dst, q.IncarnationID[:]...)
	if q.ZkMigrationReady {
		dst = append(dst, 1)
	} else {
		dst = append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(q.Listeners))+1)
	for _, l := range q.Listeners {
		dst = metadata.AppendString(metadata.AppendString(dst, l.Name), l.Host)
		dst = binary.BigEndian.AppendUint16(dst, l.Port)
		dst = binary.BigEndian.AppendUint16(dst, uint16(l.SecurityProtocol))
		dst = append(dst, 0) // no tagged fields
	}
	dst = binary.AppendUvarint(dst, uint64(len(q.Features))+1)
	for _, f := range q.Features {
		dst = metadata.AppendString(dst, f.Name)
		dst = binary.BigEndian.AppendUint16(dst, uint16(f.MinSupportedVersion))
		dst = binary.BigEndian.AppendUint16(dst, uint16(f.MaxSupportedVersion))
		dst = append(dst, 0)
	}
	return append(dst, 0)
}

// versions are the levels of metadata.version that a controller supports.
type versions struct{ Min, Max metadata.Version }

// register notes what a controller that has registered supports.
func (s *state) register(id int32, record []byte) error {
	features, err := metadata.ControllerFeatures(record)
	if err != nil {
		return err
	}
	if s.supported == nil {
		s.supported = map[int32]versions{}
	}
	delete(s.supported, id)
	if r, ok := features[metadata.VersionFeature]; ok {
		s.supported[id] = versions{metadata.Version(r[0]), metadata.Version(r[1])}
	}
	return nil
}
