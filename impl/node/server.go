package node

import (
	"bufio"
	"net"
	"sync"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/driver"
	"github.com/quorate/quorate/impl/wire"
	"github.com/quorate/quorate/traces/event"
)

const (
	// idleTimeout ends an accepted connection on which nothing comes
	// (connections.max.idle.ms).
	idleTimeout = 10 * time.Minute
	// writeTimeout ends one whose other end does not take what it asked for.
	writeTimeout = 30 * time.Second
	// keptBuffer is the largest buffer of a response that is used again.
	keptBuffer = 16 << 20
)

// inConn is an accepted connection. One request at a time is with the core.
type inConn struct {
	n    *Node
	id   core.ConnID
	conn net.Conn
	out  chan *frame   // the response, written by write
	free chan struct{} // holds a token while no request is unanswered
	done chan struct{} // closed when write has ended
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

// accept serves the listener until it is closed.
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
		select {
		case tokens <- struct{}{}:
		default:
			conn.Close()
			continue
		}
		if !n.track(conn) {
			conn.Close()
			return
		}
		n.wg.Go(func() {
			serve(conn)
			n.untrack(conn)
			<-tokens
		})
	}
}

// serveReplica reads the requests of a connection.
func (n *Node) serveReplica(conn net.Conn) {
	c := &inConn{
		n: n, id: core.ConnID(n.accepted.Add(1)), conn: conn,
		out: make(chan *frame, 1), free: make(chan struct{}, 1), done: make(chan struct{}),
	}
	c.free <- struct{}{}
	stop := make(chan struct{})
	n.wg.Go(func() { c.write(stop) })
	known := c.read()
	close(stop)
	conn.Close()
	<-c.done
	if known {
		n.give(input{Input: core.Input{Kind: core.InputDisconnected, Conn: c.id}})
	}
}

// read hands requests over until the connection fails or is of no more use. known
// says whether the core has heard of it.
func (c *inConn) read() (known bool) {
	r := bufio.NewReaderSize(c.conn, 4<<10)
	var buf []byte
	for {
		c.conn.SetReadDeadline(time.Now().Add(idleTimeout))
		var err error
		if buf, err = wire.ReadFrame(r, wire.MaxRequest, buf); err != nil {
			return known
		}
		req := new(wire.Request)
		if err := c.n.codec.ReadRequest(buf, req); err != nil {
			return known
		}
		select { // the response to the one before has been written
		case <-c.free:
		case <-c.done:
			return known
		}
		if req.Message.Kind == 0 || req.Invalid {
			f := frames.Get().(*frame)
			f.b = c.n.answerAside(f.b[:0], req)
			c.out <- f
			continue
		}
		known = true
		in := input{accepted: c, header: req.Header, link: c.name(req)}
		in.Kind, in.Conn, in.Correlation, in.Message = core.InputRequest, c.id, req.Correlation, &req.Message
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

// write writes responses. After an error it ends the connection.
func (c *inConn) write(stop <-chan struct{}) {
	defer close(c.done)
	for {
		select {
		case f := <-c.out:
			c.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
			_, err := c.conn.Write(f.b)
			f.free()
			if err != nil {
				c.conn.Close()
				return
			}
			c.free <- struct{}{}
		case <-stop:
			return
		}
	}
}
