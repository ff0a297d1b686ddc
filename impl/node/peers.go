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

	conn     net.Conn
	r        *bufio.Reader
	versions wire.Negotiated
	in, out  []byte
	warned   bool
}

type outRequest struct {
	correlation int32
	message     core.Message
}

// conn is the connection on which the next request to a peer leaves.
func (n *Node) conn(peer core.ReplicaID) *outConn {
	c := n.peers[peer]
	if c != nil && !c.busy {
		return c
	}
	if c != nil {
		c.drop() // its request has been given up
	}
	n.opened++
	c = &outConn{
		n: n, peer: peer, requests: make(chan outRequest, 1),
		name: event.Conn{From: int32(n.cfg.ID), To: int32(peer), Inc: n.incarnation, N: n.opened}, dialing: n.dialing(peer),
	}
	for _, v := range n.cfg.Voters {
		if v.ID == peer {
			c.addr = v.Addr
		}
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
	version, ok := c.versions[expect.API]
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
	if c.in, err = wire.ReadFrame(c.r, expect.Limit(), c.in); err != nil {
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
	ctx, cancel := context.WithTimeout(c.ctx, timeout)
	defer cancel()
	raw, err := new(net.Dialer).DialContext(ctx, "tcp", c.addr)
	if err != nil {
		return 0, err
	}
	context.AfterFunc(c.ctx, func() { raw.Close() })
	raw.SetDeadline(time.Now().Add(timeout))
	conn := raw
	if t := c.n.cfg.TLS; t != nil {
		host, _, _ := net.SplitHostPort(c.addr) // checked
		secure := tls.Client(raw, t.Client(host))
		if err := secure.HandshakeContext(ctx); err != nil {
			return 0, fmt.Errorf("TLS: %w", err)
		}
		conn = secure
	}
	r := bufio.NewReaderSize(conn, 4<<10)
	h := wire.Header{API: wire.ApiVersions, Version: 3, Correlation: apiVersionsCorrelation, ClientID: clientID(c.name)}
	if _, err := conn.Write(c.n.codec.AppendApiVersionsRequest(nil, h)); err != nil {
		return 0, err
	}
	frame, err := wire.ReadFrame(r, wire.MaxRequest, nil)
	if err != nil {
		return 0, fmt.Errorf("ApiVersions: %w", err)
	}
	versions, code, err := c.n.codec.ReadApiVersions(frame, h)
	if err != nil || code != core.None {
		return code, err
	}
	c.conn, c.r, c.versions = conn, r, versions
	return core.None, nil
}
