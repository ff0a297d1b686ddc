package node

import (
	"fmt"
	"runtime/debug"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/driver"
)

// run is the loop: the only goroutine that touches the core.
func (n *Node) run() {
	defer n.stopped()
	n.begin()
	if err := n.carryOut(nil); err != nil {
		n.fail(err)
		return
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	resign := n.resign
	for n.ctx.Err() == nil {
		timer.Reset(n.untilWake())
		var err error
		select {
		case in := <-n.inputs:
			err = n.step(&in)
		case op := <-n.ops:
			err = n.clientOp(op)
		case ask := <-n.asks:
			ask()
		case <-timer.C:
			err = n.step(&input{})
		case <-resign:
			resign = nil
			n.resigned, n.deadline = true, time.Now().Add(closeTimeout)
			err = n.step(&input{Input: core.Input{Kind: core.InputResign}})
		case <-n.ctx.Done():
		}
		if err != nil {
			n.fail(err)
		} else if n.resigned && (!n.announcing() || !time.Now().Before(n.deadline)) {
			n.fail(ErrStopped)
		}
	}
}

// untilWake is how long the loop may sleep.
func (n *Node) untilWake() time.Duration {
	d := time.Hour
	if n.effects.Wake != core.Never {
		// Ticks are cut off: wake in the tick after, never before.
		d = min(d, time.Duration(n.effects.Wake)*time.Millisecond-time.Since(n.start))
	}
	if n.resigned {
		d = min(d, time.Until(n.deadline))
	}
	return max(d, 0)
}

// announcing says whether a leader that resigned still has somebody to tell.
func (n *Node) announcing() bool {
	if n.replica.State().Role != core.Resigned {
		return false
	}
	for _, c := range n.peers {
		if c.busy {
			return true
		}
	}
	return false
}

// step gives the core an input and carries out what it asks for.
func (n *Node) step(in *input) error {
	n.begin()
	switch in.Kind {
	case core.InputRequest:
		c := in.accepted
		c.header, c.link = in.header, in.link
		n.inbound[c.id] = c
	case core.InputDisconnected:
		delete(n.inbound, in.Conn)
	case core.InputResponse, core.InputRequestFailed:
		in.from.busy = false
		if in.broken && n.peers[in.from.peer] == in.from {
			delete(n.peers, in.from.peer)
		}
	}
	if err := n.guarded(func() error {
		n.replica.Step(n.now(), &in.Input, &n.effects)
		return nil
	}); err != nil {
		return err
	}
	return n.carryOut(in)
}

// guarded calls the core. If an invariant of it is broken, nothing that it asked for
// in this step is carried out: the replica ends as one whose storage fails does, and
// the error has what the core remembers.
func (n *Node) guarded(call func() error) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case string: // an assertion, which says "core: ..."
			err = fmt.Errorf("replica %d: %s", n.cfg.ID, p)
		default:
			err = fmt.Errorf("replica %d: core: %v\n%s", n.cfg.ID, p, debug.Stack())
		}
	}()
	return call()
}

// carryOut carries out the effects of a step: storage and trace first, then what
// others see.
func (n *Node) carryOut(in *input) error {
	n.steps++
	if in == nil {
		in = &input{}
		if err := n.driver.Apply(nil, in.link, n.effects.Ops, n); err != nil {
			return err
		}
	} else {
		if n.pending != nil {
			if err := n.pending.write(n, in, n.driver.Events()); err != nil {
				return err
			}
		}
		if err := n.driver.Apply(&in.Input, in.link, n.effects.Ops, n); err != nil {
			return err
		}
	}
	n.dispatch()
	news := n.publish()
	n.observe()
	if len(n.results) > 0 {
		news = true
		n.finish()
	}
	if news {
		n.applier.awake()
	}
	return nil
}

// dispatch lets go what the step sends. Nothing here blocks: a connection has one
// request or response at a time, and room for it.
func (n *Node) dispatch() {
	for i := range n.sends {
		s := &n.sends[i]
		if s.to != nil {
			s.to.requests <- s.request
		} else {
			s.back.respond(s.frame)
		}
	}
	clear(n.sends)
	n.sends = n.sends[:0]
}

// publish shows what the replica is now, and says whether that is news for the machine.
func (n *Node) publish() bool {
	n.useVoters()
	s := &State{State: n.replica.State(), ID: n.cfg.ID, Incarnation: n.incarnation, VoterSet: n.voterSet}
	if !n.oneLeader(s.Leader) {
		return false
	}
	was := n.state.Swap(s)
	return was == nil || s.HighWatermark > was.HighWatermark || s.LogStart > was.LogStart ||
		s.Role != was.Role || s.Epoch != was.Epoch || s.Leader != was.Leader
}

// oneLeader ends a node that does not know its cluster id and turns to a second leader:
// before anything of that one can be seen.
func (n *Node) oneLeader(l core.ReplicaID) bool {
	if !n.cfg.Discover || l == core.NoReplica || n.codec.Cluster() != "" {
		return true
	}
	if n.followed == nil {
		n.followed = &l
	}
	if *n.followed == l {
		return true
	}
	n.fail(fmt.Errorf("%w: replica %d, after replica %d", ErrOtherLeader, l, *n.followed))
	return false
}

// stopped ends everything after the loop.
func (n *Node) stopped() {
	n.cancel()
	n.listener.Close()
	if n.clients != nil {
		n.clients.Close()
	}
	n.mu.Lock()
	for c := range n.conns {
		c.Close()
	}
	n.mu.Unlock()
	n.abandon()
	close(n.ended) // who waits for an operation may be one of those that are waited for
	n.wg.Wait()
	n.release()
	close(n.done)
}

// The hooks of the driver.
var _ driver.Hooks = (*Node)(nil)

// Time implements [driver.Hooks].
func (n *Node) Time() int64 { return time.Now().UnixMilli() }

// RequestLink implements [driver.Hooks].
func (n *Node) RequestLink(peer core.ReplicaID) driver.Link {
	return driver.Link{Conn: n.conn(peer).name}
}

// ResponseLink implements [driver.Hooks].
func (n *Node) ResponseLink(conn core.ConnID) driver.Link {
	if c := n.inbound[conn]; c != nil {
		return c.link
	}
	return driver.Link{External: true}
}

// Flush implements [driver.Hooks].
func (n *Node) Flush(id core.FlushID, end core.Offset) error {
	n.flushMu.Lock()
	n.flushID, n.flushEnd = id, end
	n.flushMu.Unlock()
	select {
	case n.flushWake <- struct{}{}:
	default:
	}
	return nil
}

// SendRequest implements [driver.Hooks].
func (n *Node) SendRequest(peer core.ReplicaID, correlation int32, m *core.Message) error {
	c := n.conn(peer)
	c.busy = true
	n.sends = append(n.sends, send{to: c, request: keep(correlation, m)})
	return nil
}

// SendResponse implements [driver.Hooks].
func (n *Node) SendResponse(conn core.ConnID, correlation int32, m *core.Message) error {
	c := n.inbound[conn]
	if c == nil {
		return nil // closed
	}
	h := c.header
	h.Correlation = correlation
	f := frames.Get().(*frame)
	f.b = n.codec.AppendResponse(f.b[:0], h, m)
	n.sends = append(n.sends, send{back: c, frame: f})
	return nil
}

// Complete implements [driver.Hooks].
func (n *Node) Complete(client core.ClientID, result core.Result) error {
	n.results = append(n.results, finished{client, result})
	return nil
}
