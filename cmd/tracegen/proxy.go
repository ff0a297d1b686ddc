package main

import (
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// network is what lies between the nodes of a run: a proxy on loopback for each node and
// each other that it may call. What goes through is frames of Kafka's protocol, a length of
// four bytes and so many bytes, so that a message can be lost and the next one arrive.
type network struct {
	links     [][]*link // from, to
	listeners []net.Listener
	wg        sync.WaitGroup
	mu        sync.Mutex
	conns     map[net.Conn]struct{} // guarded by mu
	closed    bool                  // guarded by mu
	// What became of messages.
	passed, dropped, delayed atomic.Int64
}

// link is one direction between two nodes, whoever opened the connection.
type link struct {
	mu  sync.Mutex
	now condition // guarded by mu
}

// condition is how a link is: nothing arrives, some of it does not, or all of it late.
type condition struct {
	cut   bool
	loss  float64       // of each message, from 0 to 1
	delay time.Duration // at most, of each message
}

func (l *link) set(c condition) {
	l.mu.Lock()
	l.now = c
	l.mu.Unlock()
}

func (l *link) get() condition {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.now
}

// maxFrame is more than any message of a run has.
const maxFrame = 64 << 20

// newNetwork lets each node call each other through a proxy. addr[i][j] is where node i
// finds node j, of which to is the true address.
func newNetwork(to []string) (w *network, addr [][]string, err error) {
	w = &network{conns: map[net.Conn]struct{}{}}
	for from := range to {
		w.links = append(w.links, nil)
		addr = append(addr, nil)
		for range to {
			w.links[from] = append(w.links[from], &link{})
		}
	}
	for from := range to {
		for i, target := range to {
			if i == from {
				addr[from] = append(addr[from], target)
				continue
			}
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				w.close()
				return nil, nil, err
			}
			w.listeners = append(w.listeners, l)
			addr[from] = append(addr[from], l.Addr().String())
			w.wg.Go(func() { w.serve(l, target, w.links[from][i], w.links[i][from]) })
		}
	}
	return w, addr, nil
}

// heal lets everything through again.
func (w *network) heal() {
	for _, row := range w.links {
		for _, l := range row {
			l.set(condition{})
		}
	}
}

func (w *network) close() {
	w.mu.Lock()
	w.closed = true
	for _, l := range w.listeners {
		l.Close()
	}
	for c := range w.conns {
		c.Close()
	}
	w.mu.Unlock()
	w.wg.Wait()
}

// track lists a connection, to be closed at the end; false if that has come.
func (w *network) track(c net.Conn) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.conns[c] = struct{}{}
	return true
}

func (w *network) untrack(c net.Conn) {
	c.Close()
	w.mu.Lock()
	delete(w.conns, c)
	w.mu.Unlock()
}

func (w *network) serve(l net.Listener, target string, there, back *link) {
	for {
		near, err := l.Accept()
		if err != nil {
			return
		}
		if !w.track(near) {
			near.Close()
			return
		}
		w.wg.Go(func() {
			defer w.untrack(near)
			far, err := net.DialTimeout("tcp", target, time.Second)
			if err != nil {
				return // the node is down
			}
			if !w.track(far) {
				far.Close()
				return
			}
			defer w.untrack(far)
			var wg sync.WaitGroup
			wg.Go(func() {
				w.pump(near, far, there)
				far.Close()
			})
			w.pump(far, near, back)
			near.Close()
			wg.Wait()
		})
	}
}

// pump moves messages until one of the connections ends.
func (w *network) pump(from, to net.Conn, l *link) {
	var frame []byte
	for {
		var size [4]byte
		if _, err := io.ReadFull(from, size[:]); err != nil {
			return
		}
		n := int(binary.BigEndian.Uint32(size[:]))
		if n > maxFrame {
			return
		}
		frame = append(frame[:0], size[:]...)
		frame = append(frame, make([]byte, n)...)
		if _, err := io.ReadFull(from, frame[4:]); err != nil {
			return
		}
		c := l.get()
		if c.delay > 0 {
			w.delayed.Add(1)
			time.Sleep(time.Duration(rand.Int64N(int64(c.delay))))
			c = l.get()
		}
		if c.cut || c.loss > 0 && rand.Float64() < c.loss {
			w.dropped.Add(1)
			continue
		}
		if _, err := to.Write(frame); err != nil {
			return
		}
		w.passed.Add(1)
	}
}
