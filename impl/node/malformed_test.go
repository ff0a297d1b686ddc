package node

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/wire"
	"github.com/stretchr/testify/require"
)

// talk sends bytes to a listener and returns what comes back before the other end
// closes the connection, or falls silent for a while.
func talk(t testing.TB, addr net.Addr, b []byte) (answer []byte, closed bool) {
	t.Helper()
	conn, err := net.Dial("tcp", addr.String())
	require.NoError(t, err)
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(150 * time.Millisecond))
	conn.Write(b)
	answer, err = io.ReadAll(conn)
	var timeout net.Error
	return answer, !(errors.As(err, &timeout) && timeout.Timeout())
}

func framed(b ...byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)
}

func TestMalformedRequests(t *testing.T) {
	c := newCluster(t, 1, true, nil)
	c.append("a")
	n := c.nodes[0]
	vote, _ := n.codec.AppendRequest(nil, wire.Header{Version: 2, ClientID: "x"}, &core.Message{
		Kind: core.Vote, From: core.ReplicaKey{ID: 7}, To: core.ReplicaKey{ID: 1}, Epoch: 1 << 30,
	})
	closing := map[string][]byte{
		"negative length":   {0xff, 0xff, 0xff, 0xff, 0},
		"huge length":       {0x7f, 0xff, 0xff, 0xff, 0},
		"no header":         framed(0, 1),
		"lying client id":   framed(0, 52, 0, 2, 0, 0, 0, 1, 0x7f, 0xff),
		"unknown API":       framed(0, 99, 0, 0, 0, 0, 0, 1, 0, 0),
		"unknown version":   framed(0, 1, 0, 99, 0, 0, 0, 1, 0, 0),
		"lying array":       framed(0, 52, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0xff, 0xff, 0xff, 0xff, 7),
		"truncated vote":    framed(vote[4 : len(vote)-20]...),
		"plain garbage":     []byte("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
		"bytes after a tag": framed(0, 18, 0, 3, 0, 0, 0, 1, 0, 0, 9, 9, 9, 9),
	}
	for name, b := range closing {
		answer, closed := talk(t, n.Addr(), b)
		require.True(t, closed, name)
		require.Empty(t, answer, name)
	}
	// A frame that never ends is waited for, and gets no answer.
	answer, closed := talk(t, n.Addr(), vote[:len(vote)-1])
	require.False(t, closed)
	require.Empty(t, answer)

	// Another cluster, and an unknown version of ApiVersions, are told so.
	other := n.cfg.codec()
	other.ClusterID = "another"
	b, _ := other.AppendRequest(nil, wire.Header{Version: 2}, &core.Message{Kind: core.Vote, From: core.ReplicaKey{ID: 7}, To: core.NoKey})
	answer, _ = talk(t, n.Addr(), b)
	require.Equal(t, wire.InconsistentClusterID, core.ErrorCode(binary.BigEndian.Uint16(answer[9:])))
	answer, _ = talk(t, n.Addr(), framed(0, 18, 0, 77, 0, 0, 0, 1, 0, 0, 0))
	require.Equal(t, core.UnsupportedVersion, core.ErrorCode(binary.BigEndian.Uint16(answer[8:])))

	random := rand.New(rand.NewPCG(1, 2))
	for range 30 {
		b := make([]byte, random.IntN(200))
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		talkBriefly(t, n.Addr(), framed(b...))
		mutated := append([]byte{}, vote...)
		mutated[4+random.IntN(len(vote)-4)] ^= byte(1 + random.IntN(255))
		talkBriefly(t, n.Addr(), mutated)
	}
	require.NoError(t, n.Err())
	c.append("b")
}

func talkBriefly(t testing.TB, addr net.Addr, b []byte) {
	conn, err := net.Dial("tcp", addr.String())
	require.NoError(t, err)
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(10 * time.Millisecond))
	conn.Write(b)
	io.Copy(io.Discard, conn)
}

// Requests that are well-formed but say what no replica would.
func TestStrangeRequests(t *testing.T) {
	c := newCluster(t, 3, true, nil)
	c.append("a")
	big := core.Offset(1) << 62
	for _, id := range []core.ReplicaID{-1, 1, 2, 77, 1<<31 - 1} {
		key := core.ReplicaKey{ID: id, Directory: core.DirectoryID{1}}
		for _, m := range []core.Message{
			{Kind: core.Fetch, From: key, To: core.NoKey, Epoch: 0, MaxWait: 0},
			{Kind: core.Fetch, From: key, To: core.NoKey, Epoch: 1<<31 - 1, Offset: big, LastEpoch: 1<<31 - 1, MaxWait: 1 << 30},
			{Kind: core.Fetch, From: key, To: core.NoKey, Epoch: 1, Offset: big, LastEpoch: 1, MaxBytes: -5},
			{Kind: core.Fetch, From: key, To: core.NoKey, Epoch: 1, MaxWait: 1 << 30, MaxBytes: 1<<31 - 1, HighWatermark: -9},
			{Kind: core.BeginQuorumEpoch, From: key, To: key, Epoch: 0},
			{Kind: core.EndQuorumEpoch, From: key, To: core.NoKey, Epoch: 0, Preferred: []core.ReplicaKey{key, key, core.NoKey}},
			{Kind: core.Vote, From: key, To: core.ReplicaKey{ID: 99}, Epoch: 3, Offset: big, LastEpoch: 7, PreVote: true},
			{Kind: core.Vote, From: key, To: core.NoKey, Epoch: 0, Offset: big, LastEpoch: 0, PreVote: false},
			{Kind: core.Vote, From: key, To: core.NoKey, Epoch: 1<<31 - 1},
			{Kind: core.Vote, From: key, To: core.NoKey, Epoch: 1<<31 - 1, PreVote: true},
			{Kind: core.BeginQuorumEpoch, From: key, To: core.NoKey, Epoch: 1<<31 - 1},
			{Kind: core.EndQuorumEpoch, From: key, To: core.NoKey, Epoch: 1<<31 - 1},
		} {
			for _, n := range c.nodes {
				version := n.codec.Supported(map[core.MessageKind]wire.API{
					core.Fetch: wire.Fetch, core.Vote: wire.Vote,
					core.BeginQuorumEpoch: wire.BeginQuorumEpoch, core.EndQuorumEpoch: wire.EndQuorumEpoch,
				}[m.Kind]).Max
				b, code := n.codec.AppendRequest(nil, wire.Header{Version: version, ClientID: "strange"}, &m)
				require.Equal(t, core.None, code)
				talkBriefly(t, n.Addr(), b)
			}
		}
	}
	for i, n := range c.nodes {
		require.NoError(t, n.Err(), "node %d", i+1)
	}
	c.append("b")
}

// A peer that answers garbage is a failed request, never more.
func TestMalformedResponses(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	answers := [][]byte{
		{0xff, 0xff, 0xff, 0xff}, {0, 0, 0, 0}, framed(1, 2, 3), framed(0xff, 0xff, 0xff, 0xff, 0, 0),
		[]byte("HTTP/1.1 400 Bad Request\r\n\r\n"), {}, {0x01, 0xff, 0xff, 0xff, 1, 2, 3},
	}
	asked := make(chan struct{}, 1000)
	go func() {
		for i := 0; ; i++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			bufio.NewReader(conn).ReadByte()
			conn.Write(answers[i%len(answers)])
			conn.Close()
			asked <- struct{}{}
		}
	}()
	c := newCluster(t, 2, false, func(cfg *Config) {
		cfg.Voters = append(append([]Voter{}, cfg.Voters...), Voter{ID: 9, Addr: l.Addr().String()})
	})
	c.append("a") // two of three
	for range 2 * len(answers) {
		select {
		case <-asked:
		case <-time.After(10 * time.Second):
			t.Fatal("the peer is not asked any more")
		}
	}
	c.append("b")
}

func TestClientProtocol(t *testing.T) {
	c := newCluster(t, 1, false, func(cfg *Config) { cfg.ClientListen = "127.0.0.1:0" })
	c.leader()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	client, err := DialClient(ctx, c.nodes[0].ClientAddr().String())
	require.NoError(t, err)
	defer client.Close()
	do := func(q Request) *Response {
		p, err := client.Do(ctx, &q)
		require.NoError(t, err)
		return p
	}
	p := do(Request{Op: "read"})
	require.NoError(t, p.Err())
	require.Equal(t, int64(-1), p.Offset)
	require.Equal(t, int64(1), p.End)
	p = do(Request{Op: "append", Value: []byte("hello")})
	require.NoError(t, p.Err())
	require.Equal(t, int64(1), p.Offset)
	p = do(Request{Op: "read"})
	require.Equal(t, Response{Offset: 1, End: 2, Value: []byte("hello")}, *p)
	p = do(Request{Op: "values"})
	require.Equal(t, []ClientValue{{Offset: 1, Value: []byte("hello")}}, p.Values)
	p = do(Request{Op: "state"})
	require.Equal(t, "Leader", p.State.Role)
	require.Equal(t, int64(2), p.State.Applied)
	p = do(Request{Op: "append"})
	require.Error(t, p.Err())
	require.Equal(t, int16(core.InvalidRequest), p.Code)
	require.False(t, p.Unknown)
	require.Error(t, do(Request{Op: "dance"}).Err())

	answer, _ := talk(t, c.nodes[0].ClientAddr(), []byte("garbage\n{\"op\":\"read\",\"what\":1}\n"))
	require.Contains(t, string(answer), "INVALID_REQUEST")
}
