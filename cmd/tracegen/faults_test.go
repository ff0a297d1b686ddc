package main

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker/linear"
	"github.com/quorate/quorate/traces"
	"github.com/quorate/quorate/traces/history"
)

// A run with faults of all kinds is a behaviour of the specification, with nothing hidden,
// and what its clients saw is linearizable.
func TestChaos(t *testing.T) {
	out := t.TempDir()
	var stdout, stderr bytes.Buffer
	code := run([]string{"-nodes", "3", "-crashes", "6", "-seconds", "8", "-faults", "all", "-snapshot-bytes", "3000", "-out", out}, &stdout, &stderr)
	require.Equal(t, exitOK, code, "%s%s", stdout.String(), stderr.String())
	require.Regexp(t, `faults: kill \d, pause \d, .*cut \d, drop \d, delay \d; messages passed [1-9]`, stdout.String())
	require.Contains(t, stdout.String(), "linearizable")
	dir := filepath.Join(out, "real-1")
	recordings, err := traces.Recordings(dir)
	require.NoError(t, err)
	res, err := traces.Validate(recordings[0].Inputs, traces.Options{Run: recordings[0].Run})
	require.NoError(t, err)
	if res.Rejection != nil {
		t.Fatal(res.Rejection.Text())
	}
	require.Equal(t, traces.Accepted, res.Verdict)
	h, err := history.Open(filepath.Join(dir, "history.ndjson.zst"))
	require.NoError(t, err)
	acked := 0
	for _, op := range h.Ops {
		if op.Kind == linear.Append && op.Outcome == linear.Known {
			acked++
		}
	}
	require.Greater(t, acked, 20)
	t.Log(stdout.String())
}

func TestParseFaults(t *testing.T) {
	got, err := parseFaults("cut,kill,cut")
	require.NoError(t, err)
	require.Equal(t, []string{faultCut, faultKill}, got)
	got, err = parseFaults("all")
	require.NoError(t, err)
	require.Equal(t, allFaults, got)
	_, err = parseFaults("kill,fire")
	require.ErrorContains(t, err, `no fault "fire"; there are all, kill, pause`)
}

// speaker is one end of a connection on which frames go.
type speaker struct {
	t *testing.T
	net.Conn
}

func (s speaker) say(text string) {
	_, err := s.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(text))), text...))
	require.NoError(s.t, err)
}

func (s speaker) hear() string {
	require.NoError(s.t, s.SetReadDeadline(time.Now().Add(30*time.Second)))
	var size [4]byte
	_, err := io.ReadFull(s, size[:])
	require.NoError(s.t, err)
	b := make([]byte, binary.BigEndian.Uint32(size[:]))
	_, err = io.ReadFull(s, b)
	require.NoError(s.t, err)
	return string(b)
}

// Of one direction messages are lost as a whole, and those of the other arrive; when the
// network is healed, so do the next ones, on the same connection.
func TestNetwork(t *testing.T) {
	var nodes []net.Listener
	var to []string
	for range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		nodes, to = append(nodes, l), append(to, l.Addr().String())
		defer l.Close()
	}
	w, addr, err := newNetwork(to)
	require.NoError(t, err)
	defer w.close()
	require.Equal(t, to[0], addr[0][0], "a node finds itself where it is")
	near, err := net.Dial("tcp", addr[0][1])
	require.NoError(t, err)
	far, err := nodes[1].Accept()
	require.NoError(t, err)
	a, b := speaker{t, near}, speaker{t, far}
	a.say("one")
	require.Equal(t, "one", b.hear())
	b.say("two")
	require.Equal(t, "two", a.hear())

	w.links[0][1].set(condition{cut: true})
	a.say("lost")
	b.say("three")
	require.Equal(t, "three", a.hear())
	require.Eventually(t, func() bool { return w.dropped.Load() == 1 }, 30*time.Second, time.Millisecond)
	w.heal()
	a.say("four")
	require.Equal(t, "four", b.hear())

	w.links[1][0].set(condition{loss: 1})
	b.say("lost")
	require.Eventually(t, func() bool { return w.dropped.Load() == 2 }, 30*time.Second, time.Millisecond)
	w.links[1][0].set(condition{delay: time.Millisecond})
	b.say("late")
	require.Equal(t, "late", a.hear())
	require.Equal(t, int64(1), w.delayed.Load())

	far.Close() // and so the other end
	near.SetReadDeadline(time.Now().Add(30 * time.Second))
	_, err = near.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF)
}
