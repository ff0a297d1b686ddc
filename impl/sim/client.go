package sim

import (
	"fmt"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/driver"
	"github.com/quorate/quorate/impl/log"
)

// client does one operation after the other. It follows whoever answered last.
type client struct {
	id     int
	leader int // the node that it asks first
	op     *Operation
	tries  int
	last   *attempt
	rng    rng
	starts int32 // numbers the clientStarts that counts; others are stale
}

// attempt is an operation sent to one node.
type attempt struct {
	id     core.ClientID
	client *client
	op     *Operation
	node   *node
	inc    int32
	floor  int64 // of a read: what had been acknowledged when it arrived
	result core.Result
	saw    []byte // value that a read saw
}

const maxTries = 12

// startClient lets a client begin or go on later, once.
func (c *cluster) startClient(cl *client, after Time) {
	cl.starts++
	c.after(after, item{kind: clientStarts, node: cl.id - 1, inc: cl.starts})
}

func (c *cluster) clientStarts(cl *client, inc int32) error {
	if inc != cl.starts {
		return nil
	}
	if cl.op == nil {
		if c.quiet {
			return nil
		}
		if err := c.invoke(cl); err != nil {
			return err
		}
	}
	c.lastAttempt++
	a := &attempt{id: c.lastAttempt, client: cl, op: cl.op, node: c.nodes[cl.leader]}
	cl.tries++
	cl.last = a
	timeout := c.knobs.clientTimeout
	if c.calm {
		timeout = 10 * second
	}
	c.after(timeout, item{kind: clientTimesOut, attempt: a})
	if c.calm || !cl.rng.chance(c.knobs.clientLoss) || !c.happens(ClientLoss, nil, nil) {
		c.after(c.delay(&cl.rng), item{kind: clientArrives, attempt: a})
	}
	return nil
}

func (c *cluster) invoke(cl *client) error {
	c.lastOp++
	op := &Operation{Client: cl.id, ID: c.lastOp, Kind: Append, Invoked: c.now}
	if cl.rng.chance(c.knobs.readPermille) {
		op.Kind = Read
	} else {
		op.Value = fmt.Appendf(nil, "%d/%d", cl.id, op.ID)
		for range c.knobs.valueBytes {
			op.Value = append(op.Value, '.')
		}
	}
	cl.op, cl.tries = op, 0
	if c.sinks.Invoke != nil {
		return c.sinks.Invoke(*op)
	}
	return nil
}

// clientArrives gives the operation to the node.
func (c *cluster) clientArrives(it *item) error {
	a := it.attempt // its client may have given up meanwhile
	n := a.node
	if !n.up {
		a.result = core.Result{Error: core.BrokerNotAvailable} // refused: it never was there
		c.after(c.delay(&a.client.rng), item{kind: clientAnswered, attempt: a})
		return nil
	}
	a.inc, a.floor = n.inc, c.check.acked
	c.attempts[a.id] = a
	in := core.Input{Kind: core.InputRead, Client: a.id}
	if a.op.Kind == Append {
		in.Kind, in.Records = core.InputAppend, [][]byte{a.op.Value}
	}
	return n.input(&in, driver.Link{})
}

// completed takes the result that a node has for a client.
func (c *cluster) completed(n *node, id core.ClientID, result core.Result) error {
	if is, err := c.changed(n, id, result); is {
		return err
	}
	a := c.attempts[id]
	if a == nil || a.node != n || a.inc != n.inc {
		return violated("CompletedOnce", "client operation %d completed twice, or at another node", id)
	}
	delete(c.attempts, id)
	a.result = result
	if result.Error == core.None {
		var err error
		if a.op.Kind == Append {
			err = c.check.ack(a.op.ID, int64(result.Offset))
			c.committed++
		} else {
			err = c.check.read(int64(result.Offset), a.floor)
			if err == nil {
				a.saw, err = n.lastValue(int64(result.Offset))
			}
		}
		if err != nil {
			return err
		}
	}
	if !c.calm && a.client.rng.chance(c.knobs.clientLoss) && c.happens(ClientLoss, n, nil) {
		if result.Error == core.None && a.op.Kind == Append {
			c.met(AckLost)
		}
		return nil
	}
	c.after(c.delay(&a.client.rng), item{kind: clientAnswered, attempt: a})
	return nil
}

// lastValue is the last value that a client wrote below an offset, nil if there is none.
func (n *node) lastValue(below int64) ([]byte, error) {
	if !n.c.cfg.Snapshots {
		return lastValue(n.driver.Log(), below)
	}
	if err := n.machineTo(below); err != nil {
		return nil, err
	}
	return n.c.machines.moments[below].last, nil
}

// lastValue finds it in a log that has all.
func lastValue(l *log.Log, below int64) (value []byte, err error) {
	var span log.Span
	for below > 0 && value == nil {
		if err := l.Read(&span, below-1, 1, l.EndOffset()); err != nil {
			return nil, err
		}
		it := log.NewBatches(span.Bytes)
		it.Next()
		b := it.Batch()
		if !b.Control {
			err = b.Records(func(r log.Record) error {
				if r.Offset < below {
					value = r.Value // of memory that is ours
				}
				return nil
			})
		}
		below = b.Base
	}
	return value, err
}

func (c *cluster) clientAnswered(a *attempt) error {
	cl := a.client
	if cl.op != a.op {
		return nil
	}
	a.op.Error = a.result.Error
	switch {
	case a.result.Error == core.None:
		if a.op.Kind == Read && cl.tries > 1 {
			c.met(ReadRetried)
		}
		cl.leader = a.node.index
		a.op.Offset = int64(a.result.Offset)
		if a.op.Kind == Read {
			a.op.Value = a.saw
		}
		return c.ends(cl, OK)
	case a != cl.last: // another attempt is in progress
		return nil
	case a.result.Unknown:
		return c.ends(cl, Unknown)
	case cl.tries >= maxTries && !c.calm:
		return c.ends(cl, Failed)
	}
	c.tryNext(cl)
	return nil
}

// tryNext tries the operation at another node, after a while.
func (c *cluster) tryNext(cl *client) {
	cl.leader = cl.rng.below(len(c.nodes))
	cl.last = nil
	c.startClient(cl, cl.rng.between(millisecond, 50*millisecond))
}

// clientTimesOut: an append may or may not have happened; a read did nothing, so
// it is tried elsewhere.
func (c *cluster) clientTimesOut(a *attempt) error {
	cl := a.client
	if cl.op != a.op || cl.last != a {
		return nil
	}
	if a.op.Kind == Read && (cl.tries < 4 || c.calm) {
		c.tryNext(cl)
		return nil
	}
	cl.leader = cl.rng.below(len(c.nodes))
	return c.ends(cl, Unknown)
}

func (c *cluster) ends(cl *client, outcome Outcome) error {
	op := cl.op
	op.Outcome, op.Returned = outcome, c.now
	cl.op, cl.last = nil, nil
	switch {
	case op.Kind == Append && outcome == OK:
		c.stats.AppendsAcked++
	case op.Kind == Append && outcome == Failed:
		c.stats.AppendsFailed++
	case op.Kind == Append:
		c.stats.AppendsUnknown++
	case outcome == OK:
		c.stats.Reads++
	default:
		c.stats.ReadsFailed++
	}
	c.startClient(cl, cl.rng.between(0, c.knobs.thinkMax))
	if c.sinks.Return != nil {
		return c.sinks.Return(*op)
	}
	return nil
}
