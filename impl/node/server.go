package node

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"os"
	"sync"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/driver"
	"github.com/quorate/quorate/impl/wire"
	"github.com/quorate/quorate/traces/event"
)

// limits are what others may use of a node. Tests have tighter ones.
type limits struct {
	// handshake bounds a handshake of TLS.
	handshake time.Duration
	// trial ends a connection that must turn out to be a voter's and has not.
	trial time.Duration
	// idle ends an accepted connection on which nothing comes (connections.max.idle.ms).
	idle time.Duration
	// frame ends one on which a request has begun and does not end.
	frame time.Duration
	// write ends one whose other end does not take what it asked for.
	write time.Duration
	// unsent bounds the bytes of responses to others than voters that were not taken yet.
	unsent int64
}

const (
	idleTimeout  = 10 * time.Minute
	writeTimeout = 30 * time.Second
)

var defaultLimits = limits{
	handshake: 10 * time.Second, trial: 5 * time.Second, idle: idleTimeout, frame: 30 * time.Second, write: writeTimeout,
	unsent: 256 << 20,
}

const (
	// keptBuffer is the largest buffer of a response that is used again, keptRequest that
	// of a request.
	keptBuffer  = 16 << 20
	keptRequest = wire.MaxMessage
)

// inConn is an accepted connection. One request at a time is with the core.
type inConn struct {
	n    *Node
	id   core.ConnID
	raw  net.Conn      // closes at once, where TLS would take leave first
	conn net.Conn      // raw, or TLS on it; set before read and write begin
	out  chan *frame   // the response, written by write
	free chan struct{} // holds a token while no request is unanswered
	done chan struct{} // closed when write has ended

	caller Caller
	ctx    context.Context // of the requests that are answered beside the core
	place  place           // guarded by places.mu, as is voter
	voter  core.ReplicaID
	proven bool // that it is of a replica; owned by read

	mu      sync.Mutex
	closed  bool  // guarded by mu
	pending bool  // the core has a request; guarded by mu
	unsent  int64 // bytes of the response; guarded by mu
	// Owned by the loop: the request in progress and the name for the trace.
	header wire.Header
	link   driver.Link
}

// frame is a pooled buffer.
type frame struct{ b []byte }

var frames = sync.Pool{New: func() any { return new(frame) }}

func (f *frame) free() {
	if cap(f.b) <= keptBuffer {
		f.b = f.b[:0]
		frames.Put(f)
	}
}

// accept serves the listener until it is closed. There are at most limit connections at a
// time, if limit is not 0.
func (n *Node) accept(l net.Listener, limit int, serve func(net.Conn)) {
	tokens := make(chan struct{}, limit)
	for {
		conn, err := l.Accept()
		if err != nil {
			if n.ctx.Err() != nil {
				return
			}
			select { // out of file descriptors, say
			case <-time.After(10 * time.Millisecond):
				continue
			case <-n.ctx.Done():
				return
			}
		}
		if limit > 0 {
			select {
			case tokens <- struct{}{}:
			default:
				conn.Close()
				continue
			}
		}
		if !n.track(conn) {
			conn.Close()
			return
		}
		n.wg.Go(func() {
			serve(conn)
			n.untrack(conn)
			if limit > 0 {
				<-tokens
			}
		})
	}
}

// serveReplica serves a connection until it ends, if there is a place for it.
func (n *Node) serveReplica(conn net.Conn) {
	defer conn.Close()
	c := &inConn{
		n: n, id: core.ConnID(n.accepted.Add(1)), raw: conn, conn: conn,
		out: make(chan *frame, 1), free: make(chan struct{}, 1), done: make(chan struct{}),
	}
	c.evict(n.net.places.take(c))
	defer n.net.places.leave(c)
	if !c.handshake() {
		return
	}
	var cancel context.CancelFunc
	c.ctx, cancel = context.WithCancel(context.WithValue(n.ctx, callerKey{}, c.caller))
	defer cancel()
	c.free <- struct{}{}
	stop := make(chan struct{})
	n.wg.Go(func() { c.write(stop) })
	known := c.read()
	close(stop)
	conn.Close()
	<-c.done
	c.settle(true)
	if known {
		n.give(input{Input: core.Input{Kind: core.InputDisconnected, Conn: c.id}})
	}
}

// evict ends another connection, if there is one, to make room.
func (c *inConn) evict(other *inConn) {
	if other != nil {
		c.n.refuse(RefusedConnection, other.raw, "there are too many connections, and this one is not known to be a voter's, or is the oldest of a voter")
		other.raw.Close()
	}
}

// handshake finds out who is at the other end. Without TLS it does not.
func (c *inConn) handshake() bool {
	t := c.n.cfg.TLS
	if t == nil {
		c.caller = c.n.caller(c.conn, nil)
		return true
	}
	cfg, err := t.Server()
	if err != nil {
		c.n.refuse(RefusedHandshake, c.raw, err.Error())
		return false
	}
	ctx, cancel := context.WithTimeout(c.n.ctx, c.n.net.limits.handshake)
	defer cancel()
	conn := tls.Server(c.raw, cfg)
	if err := conn.HandshakeContext(ctx); err != nil {
		why := "the handshake of TLS failed"
		if plain := new(tls.RecordHeaderError); errors.As(err, plain) {
			why = "it speaks plain text, or something else, and the listener TLS"
		}
		c.n.refuse(RefusedHandshake, c.raw, why, "error", err)
		return false
	}
	c.conn = conn
	c.caller = c.n.caller(conn, conn.ConnectionState().PeerCertificates)
	return true
}

// await waits for the next request to begin, and sets the time by which it must end.
func (c *inConn) await(r *bufio.Reader, trial time.Time) error {
	deadline := time.Now().Add(c.n.net.limits.idle)
	onTrial := c.n.net.places.onTrial(c)
	if onTrial {
		deadline = trial
	}
	c.conn.SetReadDeadline(deadline)
	if _, err := r.Peek(1); err != nil {
		if onTrial && errors.Is(err, os.ErrDeadlineExceeded) {
			c.evict(c)
		}
		return err
	}
	c.conn.SetReadDeadline(time.Now().Add(c.n.net.limits.frame))
	return nil
}

// request reads the next request, and says why if it is refused with its connection.
func (c *inConn) request(r *bufio.Reader, buf []byte) (req *wire.Request, kept []byte, err error) {
	buf, err = wire.ReadFrame(r, wire.MaxRequest, buf)
	switch {
	case errors.Is(err, wire.ErrMalformed):
		c.n.refuse(RefusedFrame, c.raw, "it is no request of Kafka's protocol, or too large", "error", err)
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.n.refuse(RefusedSlowSender, c.raw, "a request has not arrived as a whole", "after", c.n.net.limits.frame)
	}
	if err != nil {
		return nil, nil, err
	}
	req = new(wire.Request)
	if err := c.n.codec.ReadRequest(buf, req); err != nil {
		c.n.refuse(RefusedRequest, c.raw, "it is no request that is served", "error", err)
		return nil, nil, err
	}
	if cap(buf) > keptRequest {
		buf = nil
	}
	return req, buf, nil
}

// read hands requests over until the connection fails or is of no more use. known
// says whether the core has heard of it.
func (c *inConn) read() (known bool) {
	r := bufio.NewReaderSize(c.conn, 4<<10)
	var buf []byte
	trial := time.Now().Add(c.n.net.limits.trial)
	for {
		if c.await(r, trial) != nil {
			return known
		}
		req, kept, err := c.request(r, buf)
		if err != nil {
			return known
		}
		buf = kept
		select { // the response to the one before has been written
		case <-c.free:
		case <-c.done:
			return known
		}
		if !c.authorise(req) || req.Message.Kind == 0 || req.Invalid {
			f := frames.Get().(*frame)
			if f.b = c.n.answerAside(c.ctx, f.b[:0], req); len(f.b) == 0 {
				return known
			}
			c.out <- f
			continue
		}
		if !c.proven {
			c.proven = true
			c.evict(c.n.net.places.proven(c, req.Message.From.ID))
		}
		known = true
		in := input{accepted: c, header: req.Header, link: c.name(req)}
		in.Kind, in.Conn, in.Correlation, in.Message = core.InputRequest, c.id, req.Correlation, &req.Message
		c.begin()
		if !c.n.give(in) {
			return known
		}
	}
}

// name is what a trace calls the connection. A sender that does not tell who it is,
// or another id than its request, is external.
func (c *inConn) name(req *wire.Request) driver.Link {
	if conn, ok := parseClientID(req.ClientID, c.n.cfg.ID); ok && conn.From == int32(req.Message.From.ID) {
		return driver.Link{Conn: conn}
	}
	return driver.Link{External: true, Conn: event.Conn{From: -1, To: int32(c.n.cfg.ID), Inc: c.n.incarnation, N: int64(c.id)}}
}

// begin notes that the core has a request.
func (c *inConn) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pending = true
	c.n.net.requests.Add(1)
}

// respond hands a response of the core over to be written. The loop calls it.
func (c *inConn) respond(f *frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pending {
		c.pending = false
		c.n.net.requests.Add(-1)
	}
	if c.closed {
		f.free()
		return
	}
	c.unsent = int64(len(f.b))
	if all := c.n.net.unsent.Add(c.unsent); all > c.n.net.limits.unsent && !c.n.net.places.isVoter(c) {
		c.n.refuse(RefusedMemory, c.raw, "too much waits to be taken by others", "bytes", all)
		c.raw.Close()
		return
	}
	select {
	case c.out <- f:
	default: // not reached: one request at a time is with the core
		c.raw.Close()
	}
}

// settle notes that the response was taken, or that the connection is closed and takes
// none any more.
func (c *inConn) settle(closed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n.net.unsent.Add(-c.unsent)
	c.unsent = 0
	if c.closed = closed; closed && c.pending {
		c.pending = false
		c.n.net.requests.Add(-1)
	}
}

// write writes responses. After an error it ends the connection.
func (c *inConn) write(stop <-chan struct{}) {
	defer close(c.done)
	for {
		select {
		case f := <-c.out:
			c.conn.SetWriteDeadline(time.Now().Add(c.n.net.limits.write))
			_, err := c.conn.Write(f.b)
			f.free()
			if err != nil {
				if errors.Is(err, os.ErrDeadlineExceeded) {
					c.n.refuse(RefusedSlowReader, c.raw, "a response was not taken", "after", c.n.net.limits.write)
				}
				c.raw.Close()
				return
			}
			c.settle(false)
			c.free <- struct{}{}
		case <-stop:
			return
		}
	}
}
