package sim

import (
	"slices"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/driver"
	"github.com/quorate/quorate/traces/event"
)

// conn is a connection. Requests go one way and responses the other, one at a
// time, as in Kafka.
type conn struct {
	id       core.ConnID
	name     event.Conn
	from, to *node
	open     bool  // for who opened it
	busy     bool  // a request is not answered
	awaits   int32 // its correlation
	accepted int32 // incarnation of who accepted it; 0: not yet
	gone     bool  // for who accepted it
}

func (c *cluster) connect(from, to *node) *conn {
	c.lastConn++
	from.connCount++
	cn := &conn{
		id: c.lastConn, from: from, to: to, open: true,
		name: event.Conn{From: int32(from.id), To: int32(to.id), Inc: from.inc, N: from.connCount},
	}
	c.conns[cn.id] = cn
	return cn
}

// outgoing is the connection on which the next request to a peer leaves. One
// whose request was given up is closed.
func (n *node) outgoing(peer core.ReplicaID) *conn {
	i := int(peer) - 1
	cn := n.conns[i]
	if cn != nil && cn.open && !cn.busy {
		return cn
	}
	if cn != nil {
		n.c.close(cn)
	}
	cn = n.c.connect(n, n.c.nodes[i])
	n.conns[i] = cn
	return cn
}

// close ends a connection for who opened it; the other side hears of it later,
// or never.
func (c *cluster) close(cn *conn) {
	if !cn.open {
		return
	}
	cn.open = false
	if r := c.link(cn.from, cn.to); !r.chance(c.knobs.loss) {
		c.after(c.delay(r), item{kind: disconnects, conn: cn})
	}
}

// dropConns ends all connections of a node that crashed.
func (c *cluster) dropConns(n *node) {
	for i, cn := range n.conns {
		if cn != nil {
			c.close(cn)
		}
		n.conns[i] = nil
	}
	n.connCount = 0
	for _, other := range c.nodes {
		if cn := other.conns[n.index]; cn != nil && cn.open {
			cn.gone = true
			if r := c.link(n, other); r.chance(700) { // the others hear of it only by a timeout
				c.after(c.delay(r), item{kind: connectionResets, conn: cn})
			}
		}
	}
}

// link has the numbers of what goes from one node to another. Each direction has its own,
// so that what happens to one message changes little for others.
func (c *cluster) link(from, to *node) *rng { return &c.links[from.index*len(c.nodes)+to.index] }

// delay of a message.
func (c *cluster) delay(r *rng) Time {
	switch {
	case c.calm:
		return r.between(c.knobs.delayMin, c.knobs.delayMin+millisecond)
	case r.chance(c.knobs.slow):
		late := r.between(c.knobs.delayMin, c.knobs.slowMax)
		if c.happens(Slow, nil, nil) {
			return late
		}
	}
	return r.between(c.knobs.delayMin, c.knobs.delayMax)
}

func (c *cluster) isBlocked(from, to *node) bool { return c.blocked[from.index*len(c.nodes)+to.index] }

// lost decides whether a message is lost; now and then with its connection.
func (c *cluster) lost(cn *conn, from, to *node) bool {
	c.stats.Sent++
	r := c.link(from, to)
	switch {
	case c.isBlocked(from, to), !c.calm && r.chance(c.knobs.loss) && c.happens(Loss, from, to):
		c.stats.Dropped++
		return true
	case !c.calm && r.chance(c.knobs.reset) && c.happens(Reset, from, to):
		c.stats.Dropped++
		c.after(c.delay(r), item{kind: connectionResets, conn: cn})
		return true
	}
	return false
}

// resetConn ends a connection for both sides.
func (c *cluster) resetConn(cn *conn) {
	if !cn.open {
		return
	}
	c.stats.Resets++
	if cn.busy {
		c.after(0, item{kind: requestFails, node: cn.from.index, inc: cn.name.Inc, correlation: cn.awaits, conn: cn})
	}
	c.close(cn)
}

// RequestLink implements [driver.Hooks].
func (n *node) RequestLink(peer core.ReplicaID) driver.Link {
	return driver.Link{Conn: n.outgoing(peer).name}
}

// ResponseLink implements [driver.Hooks].
func (n *node) ResponseLink(id core.ConnID) driver.Link {
	return driver.Link{Conn: n.c.conns[id].name}
}

// SendRequest implements [driver.Hooks].
func (n *node) SendRequest(peer core.ReplicaID, correlation int32, m *core.Message) error {
	if err := n.point(); err != nil {
		return err
	}
	c, cn := n.c, n.outgoing(peer)
	cn.busy, cn.awaits = true, correlation
	f := &flight{conn: cn, correlation: correlation, message: *m}
	f.message.Preferred = slices.Clone(m.Preferred)
	r := c.link(n, cn.to)
	if !c.calm && r.chance(c.knobs.duplicate) && c.happens(Duplicate, n, cn.to) {
		late := *f
		late.late = true
		c.stats.Duplicated++
		c.after(c.delay(r)+r.between(0, c.knobs.slowMax), item{kind: requestArrives, flight: &late})
	}
	if !c.lost(cn, n, cn.to) {
		c.after(c.delay(r), item{kind: requestArrives, flight: f})
	}
	return nil
}

// requestArrives gives a request to who it is for, if that runs.
func (c *cluster) requestArrives(it *item) error {
	f := it.flight
	cn, n := f.conn, f.conn.to
	if c.isBlocked(cn.from, n) {
		c.stats.Dropped++
		return nil
	}
	if !n.up || cn.gone && !f.late {
		c.stats.Dropped++
		c.resetConn(cn) // refused
		return nil
	}
	if f.late {
		c.met(LateCopyHandled)
		copied := &conn{id: c.lastConn + 1, name: cn.name, from: cn.from, to: n}
		c.lastConn++
		c.conns[copied.id] = copied
		c.after(c.delay(c.link(cn.from, n)), item{kind: disconnects, conn: copied})
		cn = copied
	}
	cn.accepted = n.inc
	in := core.Input{Kind: core.InputRequest, Conn: cn.id, Correlation: f.correlation, Message: &f.message}
	return n.input(&in, driver.Link{Conn: cn.name})
}

// SendResponse implements [driver.Hooks].
func (n *node) SendResponse(id core.ConnID, correlation int32, m *core.Message) error {
	if err := n.point(); err != nil {
		return err
	}
	c, cn := n.c, n.c.conns[id]
	if !cn.open || c.lost(cn, n, cn.from) {
		return nil
	}
	f := &flight{conn: cn, correlation: correlation, message: *m}
	f.message.Batches = nil
	f.message.Records = slices.Clone(m.Records)
	f.message.Chunk = slices.Clone(m.Chunk)
	if len(m.Chunk) > 0 && !c.calm && c.snapRNG.chance(c.knobs.damage) && c.happens(Damage, n, cn.from) {
		f.message.Chunk[c.snapRNG.below(len(m.Chunk))] ^= 1 << c.snapRNG.below(8)
	}
	c.after(c.delay(c.link(n, cn.from)), item{kind: responseArrives, flight: f})
	return nil
}

// responseArrives gives a response to who asked, if it still waits.
func (c *cluster) responseArrives(it *item) error {
	f := it.flight
	cn, n := f.conn, f.conn.from
	if c.isBlocked(cn.to, n) || !n.up || n.inc != cn.name.Inc || !cn.open || !cn.busy || cn.awaits != f.correlation {
		c.stats.Dropped++
		return nil
	}
	cn.busy = false
	if err := driver.TakeBatches(&f.message); err != nil {
		return err // nothing here damages messages
	}
	in := core.Input{Kind: core.InputResponse, Peer: cn.to.id, Correlation: f.correlation, Message: &f.message}
	return n.input(&in, driver.Link{Conn: cn.name})
}

func (c *cluster) requestFails(it *item) error {
	n := c.nodes[it.node]
	if !n.up || n.inc != it.inc || n.conns[it.conn.to.index] != it.conn {
		return nil
	}
	in := core.Input{Kind: core.InputRequestFailed, Peer: it.conn.to.id, Correlation: it.correlation, Error: core.BrokerNotAvailable}
	return n.input(&in, driver.Link{})
}

// disconnects tells who accepted a connection that it is closed.
func (c *cluster) disconnects(it *item) error {
	cn := it.conn
	gone := cn.gone
	cn.gone = true
	n := cn.to
	if gone || !n.up || cn.accepted != n.inc {
		return nil
	}
	return n.input(&core.Input{Kind: core.InputDisconnected, Conn: cn.id}, driver.Link{})
}
