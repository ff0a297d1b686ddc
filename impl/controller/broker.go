package controller

import (
	"context"
	"encoding/binary"

	"github.com/quorate/quorate/impl/metadata"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// inconsistentClusterID: Kafka's INCONSISTENT_CLUSTER_ID.
const inconsistentClusterID = 104

// registerBroker answers BrokerRegistration with a RegisterBrokerRecord
// (ClusterControlManager.registerBroker). Nobody sends heartbeats here and nothing asks for
// them, so a broker stays fenced, and one that registers again takes the place of what it
// was. Its epoch grows from one to the next.
func (c *Controller) registerBroker(ctx context.Context, q *kmsg.BrokerRegistrationRequest) kmsg.Response {
	resp := kmsg.NewPtrBrokerRegistrationResponse()
	epoch, quorum := c.activeEpoch(), c.quorum.Load()
	if epoch <= 0 || quorum == nil {
		resp.ErrorCode = notController
		return resp
	}
	if resp.ErrorCode = c.refuseBroker(q); resp.ErrorCode != 0 {
		return resp
	}
	c.mu.RLock()
	brokerEpoch := c.last + 1
	c.mu.RUnlock()
	c.writes(epoch)
	record := appendBroker(nil, q, brokerRecordVersion(c.version()), brokerEpoch)
	c.writes(epoch)
	if _, err := (*quorum).ProposeIn(ctx, epoch, [][]byte{record}); err != nil {
		resp.ErrorCode, _ = refusalOf(err).fields()
		return resp
	}
	resp.BrokerEpoch = brokerEpoch
	return resp
}

// refuseBroker makes Kafka's checks, in its order.
func (c *Controller) refuseBroker(q *kmsg.BrokerRegistrationRequest) int16 {
	if own := c.knownID(); own != "" && q.ClusterID != own {
		return inconsistentClusterID
	}
	version := c.version()
	if brokerRecordVersion(version) >= 3 && len(q.LogDirs) == 0 {
		return invalidRegistration
	}
	for _, l := range q.Listeners {
		if l.SecurityProtocol < 0 || l.SecurityProtocol > lastProtocol {
			return invalidRegistration
		}
	}
	for _, f := range q.Features {
		if f.Name == metadata.VersionFeature && (int16(version) < f.MinSupportedVersion || int16(version) > f.MaxSupportedVersion) {
			return unsupportedVersion
		}
	}
	return 0
}

// Version is the metadata.version, 0 if there is none yet.
func (c *Controller) Version() metadata.Version { return c.version() }

// brokerRecordVersion is that of a RegisterBrokerRecord (MetadataVersion.
// registerBrokerRecordVersion).
func brokerRecordVersion(v metadata.Version) int {
	switch {
	case v >= 17: // 3.7-IV2: directories
		return 3
	case v >= 8: // 3.4-IV0
		return 2
	}
	return 1
}

// appendBroker appends a RegisterBrokerRecord with its frame.
func appendBroker(dst []byte, q *kmsg.BrokerRegistrationRequest, version int, epoch int64) []byte {
	dst = metadata.AppendFrame(dst, metadata.TypeRegisterBroker, uint64(version))
	dst = binary.BigEndian.AppendUint32(dst, uint32(q.BrokerID))
	if version >= 2 {
		dst = append(dst, 0) // IsMigratingZkBroker
	}
	dst = append(dst, q.IncarnationID[:]...)
	dst = binary.BigEndian.AppendUint64(dst, uint64(epoch))
	dst = binary.AppendUvarint(dst, uint64(len(q.Listeners))+1)
	for _, l := range q.Listeners {
		dst = metadata.AppendString(metadata.AppendString(dst, l.Name), l.Host)
		dst = binary.BigEndian.AppendUint16(dst, l.Port)
		dst = binary.BigEndian.AppendUint16(dst, uint16(l.SecurityProtocol))
		dst = append(dst, 0)
	}
	dst = binary.AppendUvarint(dst, uint64(len(q.Features))+1)
	for _, f := range q.Features {
		dst = metadata.AppendString(dst, f.Name)
		dst = binary.BigEndian.AppendUint16(dst, uint16(f.MinSupportedVersion))
		dst = binary.BigEndian.AppendUint16(dst, uint16(f.MaxSupportedVersion))
		dst = append(dst, 0)
	}
	if q.Rack == nil {
		dst = append(dst, 0)
	} else {
		dst = metadata.AppendString(dst, *q.Rack)
	}
	dst = append(dst, 1, 0) // Fenced, InControlledShutdown
	if version < 3 || len(q.LogDirs) == 0 {
		return append(dst, 0)
	}
	dst = append(dst, 1, 0) // one tagged field, 0: LogDirs
	size := uint64(len(q.LogDirs)*16 + len(binary.AppendUvarint(nil, uint64(len(q.LogDirs))+1)))
	dst = binary.AppendUvarint(dst, size)
	dst = binary.AppendUvarint(dst, uint64(len(q.LogDirs))+1)
	for _, d := range q.LogDirs {
		dst = append(dst, d[:]...)
	}
	return dst
}

// registerBroker notes what a broker that has registered supports. All registrations stay,
// in order: what changes one refers to the one before it.
func (s *state) registerBroker(b []byte) {
	id, features, err := metadata.BrokerFeatures(b)
	if err != nil { // of a later version, say
		s.brokers = true
		return
	}
	if s.brokerSupport == nil {
		s.brokerSupport = map[int32]versions{}
	}
	delete(s.brokerSupport, id)
	if r, ok := features[metadata.VersionFeature]; ok {
		s.brokerSupport[id] = versions{metadata.Version(r[0]), metadata.Version(r[1])}
	}
}
