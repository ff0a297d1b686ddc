package node

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// ended waits until the other end has closed a connection.
func ended(t testing.TB, conn net.Conn) {
	t.Helper()
	conn.SetDeadline(time.Now().Add(10 * time.Second))
	_, err := io.Copy(io.Discard, conn)
	require.False(t, isTimeout(err), "still open")
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error)
	return ok && timeout.Timeout()
}

func open(t testing.TB, conn net.Conn) {
	t.Helper()
	conn.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
	_, err := conn.Read(make([]byte, 1))
	require.True(t, isTimeout(err), "%v", err)
}

// More connections than are allowed do not keep a voter out: it is on trial like all
// others, but stays, and the oldest of the others goes.
func TestPlacesForVoters(t *testing.T) {
	n, _ := follower(t, 1) // on a connection that says it is of voter 2
	kept := n.net.places.kept
	require.Equal(t, trialPlaces+2*3, kept)

	var clients []*asker
	for range 1 + kept {
		a := dialAsker(t, n)
		ask[*kmsg.ApiVersionsResponse](a, apiVersions()) // which tells nothing of who asks
		clients = append(clients, a)
	}
	require.Zero(t, n.Network().Refused[RefusedConnection])

	voter := dialAsker(t, n)
	fetch := fetchRequest(5)
	require.EqualValues(t, 6, ask[*kmsg.FetchResponse](voter, fetch).Topics[0].Partitions[0].ErrorCode)
	ended(t, clients[1].conn)
	require.EqualValues(t, 1, n.Network().Refused[RefusedConnection])
	open(t, clients[0].conn) // is not on trial
	require.Equal(t, 2, n.Network().VoterConnections)
	require.Eventually(t, func() bool { return n.Network().Connections == 2+kept }, 10*time.Second, time.Millisecond)

	// A flood ends others on trial, and neither the voter nor who was there before.
	for range 2 * kept {
		dialAsker(t, n)
	}
	require.Eventually(t, func() bool { return n.Network().Refused[RefusedConnection] >= uint64(2*kept) }, 10*time.Second, time.Millisecond)
	ask[*kmsg.FetchResponse](voter, fetch)
	ask[*kmsg.ApiVersionsResponse](clients[0], apiVersions())

	// Nor does one voter take more than its share, or who only says that it is us or no
	// voter at all.
	voters := []*asker{voter}
	for range perVoter {
		a := dialAsker(t, n)
		ask[*kmsg.FetchResponse](a, fetch)
		voters = append(voters, a)
	}
	ended(t, voters[0].conn)
	require.Equal(t, 1+perVoter, n.Network().VoterConnections)
	for _, id := range []int32{1, 9, -1} {
		a := dialAsker(t, n)
		other := fetchRequest(5)
		other.ReplicaState.ID = id
		ask[*kmsg.FetchResponse](a, other)
		require.Equal(t, 1+perVoter, n.Network().VoterConnections)
	}
	for _, a := range voters {
		a.conn.Close()
	}
	require.Eventually(t, func() bool { return n.Network().VoterConnections == 1 }, 10*time.Second, time.Millisecond)
}

// Who is on trial and does nothing, sends a request that does not end, or does not take
// his response, does not stay.
func TestTimeLimits(t *testing.T) {
	captured := captureLogs(t)
	c := newCluster(t, 1, false, func(cfg *Config) {
		cfg.MaxConnections = 2
		cfg.limits = defaultLimits
		cfg.limits.trial, cfg.limits.frame, cfg.limits.write = 50*time.Millisecond, 50*time.Millisecond, 50*time.Millisecond
	})
	n := c.nodes[0]
	c.append(strings.Repeat("x", 1<<20))
	ordinary := []*asker{dialAsker(t, n), dialAsker(t, n)}
	ask[*kmsg.ApiVersionsResponse](ordinary[0], apiVersions())
	ask[*kmsg.ApiVersionsResponse](ordinary[1], apiVersions())
	ended(t, dialAsker(t, n).conn)
	require.EqualValues(t, 1, n.Network().Refused[RefusedConnection])

	ordinary[0].conn.Write([]byte{0, 0, 0, 20, 0, 1}) // and no more
	ended(t, ordinary[0].conn)
	require.EqualValues(t, 1, n.Network().Refused[RefusedSlowSender])

	// Many responses are asked for and none is read: of them one at a time is made.
	slow := ordinary[1]
	slow.conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	fetch := fetchRequest(int32(n.State().Epoch))
	fetch.MaxBytes = 1 << 30
	require.Eventually(t, func() bool {
		slow.conn.SetWriteDeadline(time.Now().Add(time.Millisecond))
		slow.next++
		slow.conn.Write(slow.form.AppendRequest(nil, fetch, slow.next))
		return n.Network().Refused[RefusedSlowReader] == 1
	}, 10*time.Second, time.Millisecond)
	require.Eventually(t, func() bool { s := n.Network(); return s.Unsent == 0 && s.Requests == 0 && s.Connections == 0 }, 10*time.Second, time.Millisecond)
	for _, why := range []string{"too many connections", "has not arrived as a whole", "a response was not taken"} {
		require.Contains(t, captured.String(), why)
	}
}

// What waits to be read by all together is bounded.
func TestUnsentLimit(t *testing.T) {
	c := newCluster(t, 1, false, func(cfg *Config) {
		cfg.limits = defaultLimits
		cfg.limits.unsent = 3 << 20
	})
	n := c.nodes[0]
	for range 4 {
		c.append(strings.Repeat("x", 1<<20))
	}
	a := dialAsker(t, n)
	fetch := fetchRequest(int32(n.State().Epoch))
	fetch.MaxBytes = 1 << 30
	_, err := a.try(fetch)
	require.Error(t, err)
	require.EqualValues(t, 1, n.Network().Refused[RefusedMemory])
	require.Eventually(t, func() bool { return n.Network().Unsent == 0 }, 10*time.Second, time.Millisecond)
	fetch.MaxBytes = 1 << 20
	require.NotEmpty(t, ask[*kmsg.FetchResponse](dialAsker(t, n), fetch).Topics[0].Partitions[0].RecordBatches)
	require.Eventually(t, func() bool { return n.Network().Unsent == 0 }, 10*time.Second, time.Millisecond)
}

// Whatever length is announced, memory grows with what arrives, and what cannot be a
// request ends the connection.
func TestLyingLengths(t *testing.T) {
	c := newCluster(t, 1, false, nil)
	n := c.nodes[0]
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 50 {
		for _, b := range [][]byte{
			binary.BigEndian.AppendUint32(nil, 1<<31-1),                                                              // 2 GiB
			binary.BigEndian.AppendUint32(nil, 1<<31),                                                                // less than nothing
			append(framed(0, 52, 0, 2, 0, 0, 0, 1), 0xff),                                                            // no client id
			framed(0, 1, 0, 17, 0, 0, 0, 1, 0, 200, 'x'),                                                             // a client id that is longer than the frame
			framed(append([]byte{0, 52, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1}, 0xff, 0xff, 0xff, 0xff, 0x0f)...), // 2^32 topics
			framed(append([]byte{0, 52, 0, 2, 0, 0, 0, 1, 0, 0, 0}, bytes.Repeat([]byte{0xff}, 65<<10)...)...),       // larger than a replica's request
		} {
			conn, err := net.Dial("tcp", n.Addr().String())
			require.NoError(t, err)
			conn.Write(b)
			ended(t, conn)
			conn.Close()
		}
		if testing.Short() && i == 5 {
			break
		}
	}
	// A frame of 1 MiB is announced by many, and some bytes of it come.
	var conns []net.Conn
	for range 100 {
		conn, err := net.Dial("tcp", n.Addr().String())
		require.NoError(t, err)
		defer conn.Close()
		conn.Write(append(binary.BigEndian.AppendUint32(nil, 1<<20), 0, 52))
		conns = append(conns, conn)
	}
	require.Eventually(t, func() bool { return n.Network().Connections == len(conns) }, 10*time.Second, time.Millisecond)
	runtime.ReadMemStats(&after)
	require.Less(t, int64(after.HeapAlloc)-int64(before.HeapAlloc), int64(32<<20))
	s := n.Network()
	require.Positive(t, s.Refused[RefusedFrame])
	require.Positive(t, s.Refused[RefusedRequest])
	c.append("still here")
}

// Parked fetches have no goroutine of their own beyond the two of their connection, and
// all of them are answered by one append.
func TestParkedFetches(t *testing.T) {
	const many = 100
	c := newCluster(t, 1, false, nil)
	c.append("a")
	n := c.nodes[0]
	s := n.State()
	before := runtime.NumGoroutine()
	var all []*asker
	answers := make(chan error, many)
	for i := range many {
		a := dialAsker(t, n)
		fetch := fetchRequest(int32(s.Epoch))
		fetch.MaxWaitMillis, fetch.ReplicaState.ID = 20_000, -1
		p := &fetch.Topics[0].Partitions[0]
		p.FetchOffset, p.LastFetchedEpoch = int64(s.LogEnd), int32(s.LastEpoch)
		a.next = int32(i)
		_, err := a.conn.Write(a.form.AppendRequest(nil, fetch, a.next))
		require.NoError(t, err)
		all = append(all, a)
	}
	require.Eventually(t, func() bool { return n.Network().Requests == many }, 10*time.Second, time.Millisecond)
	require.LessOrEqual(t, runtime.NumGoroutine()-before, 2*many)
	all[0].conn.Close()
	require.Eventually(t, func() bool { return n.Network().Requests == many-1 }, 10*time.Second, time.Millisecond)
	c.append("b")
	for _, a := range all[1:] {
		go func() {
			a.conn.SetDeadline(time.Now().Add(10 * time.Second))
			var size [4]byte
			_, err := io.ReadFull(a.conn, size[:])
			answers <- err
		}()
	}
	for range all[1:] {
		require.NoError(t, <-answers)
	}
	require.Zero(t, n.Network().Requests)
}

// Who cannot be reached is tried less and less often.
func TestReconnectBackoff(t *testing.T) {
	for timeout, want := range map[core.Ticks][2]time.Duration{
		0: {50 * time.Millisecond, 500 * time.Millisecond}, 1000: {50 * time.Millisecond, 500 * time.Millisecond},
		150: {50 * time.Millisecond, 75 * time.Millisecond}, 20: {10 * time.Millisecond, 10 * time.Millisecond}, 60_000: {50 * time.Millisecond, 500 * time.Millisecond},
	} {
		least, most := (&Config{Core: core.Config{ElectionTimeout: timeout}}).reconnectBackoff()
		require.Equal(t, want, [2]time.Duration{least, most})
	}
	captured := captureLogs(t)
	n, _ := follower(t, 0)
	d := new(dialing)
	for i, want := range []time.Duration{50, 100, 200, 400, 500, 500} {
		began := time.Now()
		n.dialed(d, 2, "h:1", fmt.Errorf("attempt %d", i/3))
		wait := d.next.Sub(began)
		require.GreaterOrEqual(t, wait, want*time.Millisecond*8/10)
		require.LessOrEqual(t, wait, want*time.Millisecond*12/10+time.Second)
	}
	require.Equal(t, 2, strings.Count(captured.String(), `addr=h:1 error="attempt`), "the same failure is logged once")
	began := time.Now()
	require.NoError(t, d.wait(n.ctx))
	require.GreaterOrEqual(t, time.Since(began), 300*time.Millisecond)
	n.dialed(d, 2, "h:1", nil)
	require.NoError(t, d.wait(n.ctx))
	require.Contains(t, captured.String(), "connected again")
	n.Kill()
	d.next = time.Now().Add(time.Hour)
	require.Error(t, d.wait(n.ctx))
}
