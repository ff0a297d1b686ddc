package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// fake serves requests of Kafka's protocol on loopback by a function, which returns the
// response, or bytes that are sent as they are.
func fake(t *testing.T, answer func(kmsg.Request) (kmsg.Response, []byte)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	go serve(l, answer)
	return l.Addr().String()
}

func serve(l net.Listener, answer func(kmsg.Request) (kmsg.Response, []byte)) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			for serveOne(conn, answer) == nil {
			}
		}()
	}
}

func serveOne(conn net.Conn, answer func(kmsg.Request) (kmsg.Response, []byte)) error {
	var size [4]byte
	if _, err := io.ReadFull(conn, size[:]); err != nil {
		return err
	}
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	if _, err := io.ReadFull(conn, b); err != nil {
		return err
	}
	req := kmsg.RequestForKey(int16(binary.BigEndian.Uint16(b)))
	req.SetVersion(int16(binary.BigEndian.Uint16(b[2:])))
	body := b[10+binary.BigEndian.Uint16(b[8:]):]
	if req.IsFlexible() {
		body = body[1:]
	}
	if err := req.ReadFrom(body); err != nil {
		return err
	}
	resp, raw := answer(req)
	if resp == nil {
		conn.Write(raw)
		return io.EOF
	}
	out := append([]byte{}, b[4:8]...)
	if resp.SetVersion(req.GetVersion()); resp.IsFlexible() && req.Key() != 18 {
		out = append(out, 0)
	}
	out = resp.AppendTo(out)
	_, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(out))), out...))
	return err
}

func versions(keys ...[2]int16) *kmsg.ApiVersionsResponse {
	r := kmsg.NewPtrApiVersionsResponse()
	for _, k := range keys {
		r.ApiKeys = append(r.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: k[0], MaxVersion: k[1]})
	}
	return r
}

// describes answers as the leader of a quorum, or as another node of it.
func describes(code int16, nodes []kmsg.DescribeQuorumResponseNode) func(kmsg.Request) (kmsg.Response, []byte) {
	return func(req kmsg.Request) (kmsg.Response, []byte) {
		switch req := req.(type) {
		case *kmsg.ApiVersionsRequest:
			return versions([2]int16{18, 4}, [2]int16{55, 2}, [2]int16{60, 1}), nil
		case *kmsg.DescribeClusterRequest:
			r := kmsg.NewPtrDescribeClusterResponse()
			if r.ClusterID = "Vp1Q"; req.EndpointType != 2 {
				r.ErrorCode = 114 // MISMATCHED_ENDPOINT_TYPE
			}
			return r, nil
		case *kmsg.DescribeQuorumRequest:
			p := kmsg.NewDescribeQuorumResponseTopicPartition()
			p.ErrorCode, p.LeaderID, p.LeaderEpoch, p.HighWatermark = code, 2, 5, 90
			p.CurrentVoters = []replica{
				{ReplicaID: 1, LogEndOffset: 80, LastFetchTimestamp: 1000, LastCaughtUpTimestamp: 900},
				{ReplicaID: 2, ReplicaDirectoryID: [16]byte{15: 200}, LogEndOffset: 100, LastFetchTimestamp: 1500, LastCaughtUpTimestamp: 1500},
			}
			p.Observers = []replica{{ReplicaID: 9, LogEndOffset: -1, LastFetchTimestamp: -1, LastCaughtUpTimestamp: -1}}
			r := kmsg.NewPtrDescribeQuorumResponse()
			r.Topics = []kmsg.DescribeQuorumResponseTopic{{Topic: req.Topics[0].Topic, Partitions: []kmsg.DescribeQuorumResponseTopicPartition{p}}}
			r.Nodes = nodes
			return r, nil
		}
		return nil, nil
	}
}

func nodesAt(addr string) []kmsg.DescribeQuorumResponseNode {
	host, port, _ := net.SplitHostPort(addr)
	var p uint16
	fmt.Sscan(port, &p)
	return []kmsg.DescribeQuorumResponseNode{{NodeID: 2, Listeners: []kmsg.DescribeQuorumResponseNodeListener{{Name: "CONTROLLER", Host: host, Port: p}}}}
}

// The leader is found through another node, and the output is that of Kafka's tool.
func TestQuorum(t *testing.T) {
	leader := fake(t, describes(0, nodesAt("n2:9092")))
	other := fake(t, describes(6, nodesAt(leader)))
	for _, args := range [][]string{
		{"quorum", "describe", "--status", "--bootstrap-controller", other},
		{"quorum", "-bootstrap-controller", "127.0.0.1:1," + other, "describe", "-status"},
	} {
		code, out, errs := kraftd(args...)
		require.Equal(t, 0, code, errs)
		require.Equal(t, `ClusterId:              Vp1Q
LeaderId:               2
LeaderEpoch:            5
HighWatermark:          90
MaxFollowerLag:         20
MaxFollowerLagTimeMs:   600
CurrentVoters:          [{"id": 1}, {"id": 2, "directoryId": "AAAAAAAAAAAAAAAAAAAAyA", "endpoints": ["CONTROLLER://n2:9092"]}]
CurrentObservers:       [{"id": 9}]
`, out)
	}
	code, out, errs := kraftd("quorum", "describe", "-replication", "-bootstrap-controller", leader)
	require.Equal(t, 0, code, errs)
	require.Equal(t, ""+
		"NodeId\tDirectoryId           \tLogEndOffset\tLag\tLastFetchTimestamp\tLastCaughtUpTimestamp\tStatus  \t\n"+
		"2     \tAAAAAAAAAAAAAAAAAAAAyA\t100         \t0  \t1500              \t1500                 \tLeader  \t\n"+
		"1     \tAAAAAAAAAAAAAAAAAAAAAA\t80          \t20 \t1000              \t900                  \tFollower\t\n"+
		"9     \tAAAAAAAAAAAAAAAAAAAAAA\t-1          \t101\t-1                \t-1                   \tObserver\t\n", out)
	_, out, _ = kraftd("quorum", "describe", "-replication", "-human-readable", "-bootstrap-controller", leader)
	require.Regexp(t, `\t\d{13} ms ago *\t\d{13} ms ago *\tLeader`, out)
	require.Regexp(t, `\t-1 *\t-1 *\tObserver`, out)
}

// A quorum that elects is given time.
func TestQuorumWaits(t *testing.T) {
	var asked atomic.Int32
	addr := fake(t, func(r kmsg.Request) (kmsg.Response, []byte) {
		if r.Key() == 55 && asked.Add(1) < 3 {
			return describes(6, nil)(r)
		}
		return describes(0, nil)(r)
	})
	code, _, errs := kraftd("quorum", "describe", "-status", "-bootstrap-controller", addr)
	require.Equal(t, 0, code, errs)
	require.EqualValues(t, 3, asked.Load())
}

// Nodes that do not listen yet are given time too, up to -timeout.
func TestQuorumWaitsForListener(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := l.Addr().String()
	require.NoError(t, l.Close())
	code, _, errs := kraftd("quorum", "describe", "-status", "-timeout", "250ms", "-bootstrap-controller", addr)
	require.Equal(t, 1, code)
	require.Contains(t, errs, addr+" cannot be reached")

	// It listens only once it has been asked in vain.
	started := make(chan error, 1)
	deadline := time.Now().Add(time.Minute)
	_, again, err := describeOnce([]string{addr}, nil, deadline)
	require.ErrorIs(t, err, syscall.ECONNREFUSED)
	require.True(t, again)
	go func() {
		time.Sleep(2 * retryAfter)
		l, err := net.Listen("tcp", addr)
		if err == nil {
			t.Cleanup(func() { l.Close() })
			go serve(l, describes(0, nil))
		}
		started <- err
	}()
	q, err := describeQuorum([]string{addr}, nil, deadline)
	require.NoError(t, <-started)
	require.NoError(t, err)
	require.EqualValues(t, 2, q.LeaderID)

	// Who is there and says no is believed, whoever else is not there.
	no := fake(t, describes(31, nil))
	_, again, err = describeOnce([]string{"127.0.0.1:1", no}, nil, deadline)
	require.ErrorContains(t, err, "answers with error 31")
	require.False(t, again)
}

func TestQuorumRefused(t *testing.T) {
	none := fake(t, describes(6, nil))
	for addr, want := range map[string]string{
		none:                                 "no leader is found within ",
		fake(t, describes(6, nodesAt(none))): none + " is not the leader",
		fake(t, describes(31, nil)):          "answers with error 31",
		fake(t, func(kmsg.Request) (kmsg.Response, []byte) { return nil, nil }):                               "does not answer ApiVersions: EOF",
		fake(t, func(kmsg.Request) (kmsg.Response, []byte) { return versions(), nil }):                        "does not serve DescribeQuorum",
		fake(t, func(kmsg.Request) (kmsg.Response, []byte) { return nil, []byte{0x7f, 0xff, 0xff, 0xff, 0} }): "answers with 2147483647 bytes",
		fake(t, func(kmsg.Request) (kmsg.Response, []byte) { return nil, []byte{0, 0, 0, 9, 0, 0} }):          "ends its answer too soon",
		fake(t, func(kmsg.Request) (kmsg.Response, []byte) { return nil, []byte{0, 0, 0, 4, 0, 0, 0, 9} }):    "answers request 9 instead of 1",
		fake(t, func(kmsg.Request) (kmsg.Response, []byte) { return nil, []byte{0, 0, 0, 5, 0, 0, 0, 1, 0} }): "answers ApiVersions with what is none",
		fake(t, func(kmsg.Request) (kmsg.Response, []byte) {
			return nil, []byte{0, 0, 0, 10, 0, 0, 0, 1, 0, 35, 0, 0, 0, 0}
		}): "answers with error 35",
		fake(t, func(r kmsg.Request) (kmsg.Response, []byte) {
			if r.Key() == 18 {
				return versions([2]int16{55, 2}), nil
			}
			return nil, []byte{0, 0, 0, 7, 0, 0, 0, 2, 0x80, 0x80, 0x80}
		}): "answers with a malformed header",
		fake(t, func(r kmsg.Request) (kmsg.Response, []byte) {
			if r.Key() == 18 {
				return versions([2]int16{55, 0}), nil
			}
			return kmsg.NewPtrDescribeQuorumResponse(), nil
		}): "answers about 0 topics",
		fake(t, func(r kmsg.Request) (kmsg.Response, []byte) {
			resp, raw := describes(0, nil)(r)
			if d, ok := resp.(*kmsg.DescribeQuorumResponse); ok {
				d.Topics[0].Partitions[0].LeaderID = 7
			}
			return resp, raw
		}): "names leader 7, which is neither among the voters nor among the observers",
	} {
		code, out, errs := kraftd("quorum", "describe", "-status", "-timeout", "5s", "-bootstrap-controller", addr)
		require.Equal(t, 1, code, want)
		require.Empty(t, out)
		require.Contains(t, errs, want)
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	code, _, errs := kraftd("quorum", "describe", "-status", "-timeout", "50ms", "-bootstrap-controller", silent.Addr().String())
	require.Equal(t, 1, code)
	require.True(t, strings.Contains(errs, "timeout"), errs)
}
