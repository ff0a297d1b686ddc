//go:build interop

package interop

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ask sends a request to a node of either kind, and reads the response.
func ask(addr string, q kmsg.Request) (kmsg.Response, error) {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	const correlation = 7
	if _, err := conn.Write(kmsg.NewRequestFormatter(kmsg.FormatterClientID("interop")).AppendRequest(nil, q, correlation)); err != nil {
		return nil, err
	}
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return nil, err
	}
	frame := make([]byte, min(binary.BigEndian.Uint32(size[:]), 1<<20))
	if _, err := io.ReadFull(conn, frame); err != nil {
		return nil, err
	}
	if len(frame) < 5 || binary.BigEndian.Uint32(frame) != correlation || frame[4] != 0 {
		return nil, fmt.Errorf("%s: header %x", addr, frame[:min(len(frame), 5)])
	}
	r := q.ResponseKind()
	r.SetVersion(q.GetVersion())
	return r, r.ReadFrom(frame[5:]) // all versions asked for are flexible
}

// status is what a leader says of its quorum.
type status struct {
	leader, epoch int
	highWatermark int64
	ends          map[int32]int64 // by voter
}

// describe asks all that run; ok is false if no leader answers that has committed
// something in its epoch.
func describe(members []*member) (s status, ok bool) {
	q := kmsg.NewPtrDescribeQuorumRequest()
	q.Version = 2
	q.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
	for _, m := range members {
		if m.process == nil || !m.process.running() {
			continue
		}
		resp, err := ask(m.addr, q)
		if err != nil {
			continue // it starts, say
		}
		r := resp.(*kmsg.DescribeQuorumResponse)
		if r.ErrorCode != 0 || len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
			continue
		}
		p := r.Topics[0].Partitions[0]
		if p.ErrorCode != 0 || p.HighWatermark < 1 || int(p.LeaderEpoch) < s.epoch {
			continue
		}
		s, ok = status{leader: int(p.LeaderID), epoch: int(p.LeaderEpoch), highWatermark: p.HighWatermark, ends: map[int32]int64{}}, true
		for _, v := range p.CurrentVoters {
			s.ends[v.ReplicaID] = v.LogEndOffset
		}
	}
	return s, ok
}

// awaitLeader waits for a leader that has committed something in its epoch.
func awaitLeader(t *testing.T, members []*member) (*member, status) {
	t.Helper()
	var s status
	eventually(t, "there is a leader", func() bool {
		var ok bool
		s, ok = describe(members)
		return ok
	})
	for _, m := range members {
		if m.id == s.leader {
			return m, s
		}
	}
	t.Fatalf("leader %d is none of the cluster", s.leader)
	return nil, s
}

// setConfig sets a configuration of all brokers on a node that leads, of either kind
// (IncrementalAlterConfigs).
func (m *member) setConfig(t *testing.T, name, value string) {
	t.Helper()
	const broker, set = 4, 0
	q := kmsg.NewPtrIncrementalAlterConfigsRequest()
	q.Version = 1
	q.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: broker, Configs: []kmsg.IncrementalAlterConfigsRequestResourceConfig{
		{Name: name, Op: set, Value: &value},
	}}}
	resp, err := ask(m.addr, q)
	require.NoError(t, err)
	r := resp.(*kmsg.IncrementalAlterConfigsResponse).Resources
	require.Len(t, r, 1)
	require.Zero(t, r[0].ErrorCode, "%s %d: %v", m.kind(), m.id, r[0].ErrorMessage)
}

// setConfigs sets a configuration n times, each a record and a batch.
func (m *member) setConfigs(t *testing.T, n int) {
	t.Helper()
	for i := range n {
		m.setConfig(t, "log.cleaner.backoff.ms", fmt.Sprint(20000+i))
	}
}
