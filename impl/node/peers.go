package node

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/driver"
	"github.com/quorate/quorate/impl/wire"
	"github.com/quorate/quorate/traces/event"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// apiVersionsCorrelation is that of the first request on a connection; the core
// counts from 1.
const apiVersionsCorrelation = -1

// outConn is a connection to a peer: opened by its first request, gone with its
// first error.
type outConn struct {
	n        *Node
	peer     core.ReplicaID
	addr     string
	name     event.Conn
	dialing  *dialing
	ctx      context.Context
	drop     context.CancelFunc
	requests chan outRequest // one at most
	busy     bool            // a request is not answered; owned by the loop

	conn    *peerConn // nil: not open
	in, out []byte
	warned  bool
}

type outRequest struct {
	correlation int32
	message     core.Message
}

// conn is the connection on which the next request to a peer leaves.
func (n *Node) conn(peer core.ReplicaID) *outConn {
	c, addr := n.peers[peer], n.book.addr(peer)
	if c != nil && !c.busy && c.addr == addr {
		return c
	}
	if c != nil {
		c.drop() // its request has been given up, or it listens elsewhere
	}
	n.opened++
	c = &outConn{
		n: n, peer: peer, addr: addr, requests: make(chan outRequest, 1), dialing: n.dialing(peer),
		// A server of Kafka that has not told who it is has a number of ours.
		name: event.Conn{From: int32(n.cfg.ID), To: max(-1, int32(peer)), Inc: n.incarnation, N: n.opened},
	}
	c.ctx, c.drop = context.WithCancel(n.ctx)
	n.peers[peer] = c
	n.wg.Go(c.run)
	return c
}

// keep makes the copy of a request that outlives the hook.
func keep(correlation int32, m *core.Message) outRequest {
	r := outRequest{correlation: correlation, message: *m}
	r.message.Preferred = slices.Clone(m.Preferred)
	return r
}

func (c *outConn) run() {
	defer c.drop()
	for {
		var q outRequest
		select {
		case q = <-c.requests:
		case <-c.ctx.Done():
			return
		}
		in := input{from: c, link: driver.Link{Conn: c.name}}
		in.Peer, in.Correlation = c.peer, q.correlation
		m, code, err := c.exchange(&q)
		switch {
		case err != nil:
			in.Kind, in.Error, in.broken = core.InputRequestFailed, core.BrokerNotAvailable, true
		case code != core.None:
			in.Kind, in.Error = core.InputRequestFailed, code
		default:
			in.Kind, in.Message = core.InputResponse, m
		}
		if !c.n.give(in) || in.broken {
			return
		}
	}
}

// exchange sends a request and waits for its response. The message has parts of
// c.in, which is not written to again before the core has asked for more. After an
// error the connection is closed.
func (c *outConn) exchange(q *outRequest) (m *core.Message, code core.ErrorCode, err error) {
	timeout := time.Duration(c.n.coreCfg.RequestTimeout) * time.Millisecond
	if c.conn == nil {
		if err := c.dialing.wait(c.ctx); err != nil {
			return nil, 0, err
		}
		code, err := c.open(timeout)
		err = errors.Join(err, refused(code))
		if c.ctx.Err() == nil || err == nil {
			c.n.dialed(c.dialing, c.peer, c.addr, err)
		}
		if err != nil {
			return nil, code, err
		}
	}
	h := wire.Header{Correlation: q.correlation, ClientID: clientID(c.name)}
	expect := wire.ExpectFor(h, &q.message)
	version, ok := c.conn.peer.Versions[expect.API]
	if !ok {
		return nil, core.UnsupportedVersion, nil
	}
	h.Version, expect.Version = version, version
	if c.out, code = c.n.codec.AppendRequest(c.out[:0], h, &q.message); code != core.None {
		return nil, code, nil
	}
	// The core gives up before; this is for a request that it has forgotten.
	c.conn.SetDeadline(time.Now().Add(2 * timeout))
	if _, err := c.conn.Write(c.out); err != nil {
		return nil, 0, err
	}
	if c.in, err = wire.ReadFrame(c.conn.r, expect.Limit(), c.in); err != nil {
		return nil, 0, err
	}
	m = new(core.Message)
	if code, err = c.n.codec.ReadResponse(c.in, expect, m); err != nil || code != core.None {
		c.refused(code)
		return nil, code, err
	}
	if err := driver.TakeBatches(m); err != nil && len(m.Batches) == 0 {
		return nil, 0, err
	}
	return m, core.None, nil
}

// refused makes an error of a refusal that leaves a connection useless.
func refused(code core.ErrorCode) error {
	if code == core.None {
		return nil
	}
	return &OpError{Code: code}
}

// refused logs that a peer does not serve this node at all.
func (c *outConn) refused(code core.ErrorCode) {
	if code == wire.InconsistentClusterID {
		c.n.inconsistent.Store(true)
	}
	if (code == clusterAuthorizationFailed || code == wire.InconsistentClusterID) && !c.warned {
		c.warned = true
		slog.Error("a peer refuses all requests", "node", int(c.n.cfg.ID), "peer", int(c.peer), "addr", c.addr, "error", codeName(code))
	}
}

// open dials and asks for the versions that the peer understands.
func (c *outConn) open(timeout time.Duration) (core.ErrorCode, error) {
	if c.addr == "" {
		return 0, fmt.Errorf("it is not known where replica %d listens", c.peer)
	}
	conn, err := c.n.dial(c.ctx, c.addr, timeout, clientID(c.name))
	var refusal *OpError
	switch {
	case errors.As(err, &refusal):
		return refusal.Code, nil
	case err != nil:
		return 0, err
	case conn.peer.Node != core.NoReplica && c.peer >= 0 && conn.peer.Node != c.peer:
		conn.Close()
		return 0, fmt.Errorf("replica %d answers at %s", conn.peer.Node, c.addr)
	}
	c.conn = conn
	return core.None, nil
}

// peerConn is a connection to a node that has told what it understands.
type peerConn struct {
	net.Conn
	r    *bufio.Reader
	peer wire.Peer
	name string
}

// dial connects to an address, as a client of a name, and asks for versions. The connection
// is closed when the context ends. An [*OpError] is an answer that refuses.
func (n *Node) dial(ctx context.Context, addr string, timeout time.Duration, name string) (*peerConn, error) {
	if name == "" {
		name = fmt.Sprintf("%snode-%d", clientPrefix, n.cfg.ID)
	}
	within, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	raw, err := new(net.Dialer).DialContext(within, "tcp", addr)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { raw.Close() })
	raw.SetDeadline(time.Now().Add(timeout))
	c := &peerConn{Conn: raw, name: name}
	if t := n.cfg.TLS; t != nil {
		host, _, _ := net.SplitHostPort(addr) // it was dialled
		secure := tls.Client(raw, t.Client(host))
		if err := secure.HandshakeContext(within); err != nil {
			raw.Close()
			return nil, fmt.Errorf("TLS: %w", err)
		}
		c.Conn = secure
	}
	c.r = bufio.NewReaderSize(c.Conn, 4<<10)
	if err := c.versions(n.codec); err != nil {
		raw.Close()
		return nil, err
	}
	return c, nil
}

func (c *peerConn) versions(codec *wire.Codec) error {
	h := wire.Header{API: wire.ApiVersions, Version: 4, Correlation: apiVersionsCorrelation, ClientID: c.name}
	for {
		if _, err := c.Write(codec.AppendApiVersionsRequest(nil, h)); err != nil {
			return err
		}
		frame, err := wire.ReadFrame(c.r, wire.MaxRequest, nil)
		if err != nil {
			return fmt.Errorf("ApiVersions: %w", err)
		}
		var code core.ErrorCode
		c.peer, code, err = codec.ReadPeer(frame, h)
		switch {
		case err != nil:
			return err
		case code == core.UnsupportedVersion && h.Version == 4:
			h.Version = 3 // Kafka before 4.0
		case code != core.None:
			return &OpError{Code: code, Leader: core.NoReplica}
		default:
			return nil
		}
	}
}

// ask sends one request, and waits for its answer.
func (c *peerConn) ask(codec *wire.Codec, q kmsg.Request, timeout time.Duration) (kmsg.Response, error) {
	h := wire.Header{ClientID: c.name, Correlation: 1}
	c.SetDeadline(time.Now().Add(timeout))
	if _, err := c.Write(codec.AppendBodyRequest(nil, h, q)); err != nil {
		return nil, err
	}
	frame, err := wire.ReadFrame(c.r, wire.MaxResponse, nil)
	if err != nil {
		return nil, err
	}
	return codec.ReadBody(frame, h, q)
}
