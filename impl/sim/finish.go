package sim

import (
	"fmt"

	"github.com/quorate/quorate/impl/log"
)

// patience is how long, in virtual time, a cluster without faults may take to
// elect a leader and commit, and then to agree.
const patience = 120 * second

// finish stops all faults and demands progress, then agreement.
func (c *cluster) finish() error {
	c.stepNode = -1
	c.calm = true
	c.heal()
	for _, n := range c.nodes {
		n.fuse, n.burnt, n.paused = 0, false, 0
		n.disk.Fail(nil)
		n.disk.FailRead(nil)
		if !n.up {
			if err := n.start(); err != nil {
				return err
			}
		}
	}
	before := c.committed
	err := c.until(c.now+patience, func() bool { return c.committed >= before+3 && c.leader() != nil })
	if err != nil {
		return err
	}
	if c.committed < before+3 {
		c.stepNode = -1
		return violated("Progress", "no faults for %d s, and %d appends committed: %s", patience/second, c.committed-before, c.describe())
	}
	c.quiet = true
	if err := c.until(c.now+patience, c.agreed); err != nil {
		return err
	}
	if !c.agreed() {
		c.stepNode = -1
		return violated("Agreement", "no faults for %d s, and logs differ: %s", patience/second, c.describe())
	}
	return c.final()
}

// agreed: clients have their answers, and all replicas know that all is committed.
func (c *cluster) agreed() bool {
	for _, cl := range c.clients {
		if cl.op != nil {
			return false
		}
	}
	leader := c.leader()
	if leader == nil {
		return false
	}
	want := leader.core.State()
	if want.HighWatermark != want.LogEnd {
		return false
	}
	digest := leader.driver.Log().Digest()
	for _, n := range c.nodes {
		if !n.up {
			return false
		}
		s := n.core.State()
		if s.LogEnd != want.LogEnd || s.HighWatermark != want.HighWatermark || s.Flushed != want.LogEnd || n.driver.Log().Digest() != digest {
			return false
		}
	}
	return true
}

func (c *cluster) describe() string {
	text := ""
	for _, n := range c.nodes {
		if !n.up {
			text += fmt.Sprintf(" [%d down]", n.id)
			continue
		}
		s := n.core.State()
		text += fmt.Sprintf(" [%d %s epoch %d leader %d log %d flushed %d hw %d]", n.id, s.Role, s.Epoch, s.Leader, s.LogEnd, s.Flushed, s.HighWatermark)
	}
	return text
}

// final reads the committed log, and holds it against what was acknowledged.
func (c *cluster) final() error {
	l := c.leader().driver.Log()
	c.stats.Batches = int64(len(c.check.committed))
	c.stats.Committed = l.EndOffset()
	acked := 0
	seen := map[int64]int64{} // operation → offset
	see := func(offset int64, value []byte) error {
		c.stats.Records++
		got := operation(value)
		if other, ok := seen[got]; ok {
			return violated("AppendOnce", "operation %d is at offsets %d and %d", got, other, offset)
		}
		seen[got] = offset
		if op, ok := c.check.values[offset]; ok {
			acked++
			if got != op {
				return violated("AckDurable", "offset %d holds the value of operation %d, acknowledged was operation %d", offset, got, op)
			}
		}
		if c.sinks.Committed != nil {
			return c.sinks.Committed(offset, value)
		}
		return nil
	}
	for _, a := range c.machines.values {
		if a.offset < l.StartOffset() {
			if err := see(a.offset, a.value); err != nil {
				return err
			}
		}
	}
	var span log.Span
	for offset := l.StartOffset(); offset < l.EndOffset(); offset = span.End {
		if err := l.Read(&span, offset, 1<<20, l.EndOffset()); err != nil {
			return err
		}
		for it := log.NewBatchesAt(span.Bytes, offset, 0); it.Next(); {
			b := it.Batch()
			if b.Control {
				continue
			}
			if err := b.Records(func(r log.Record) error { return see(r.Offset, r.Value) }); err != nil {
				return err
			}
		}
	}
	if acked != len(c.check.values) {
		return violated("AckDurable", "%d appends were acknowledged, the log has %d of them", len(c.check.values), acked)
	}
	return nil
}

// operation is the id in a value.
func operation(value []byte) int64 {
	var client, id int64
	fmt.Sscanf(string(value), "%d/%d", &client, &id)
	return id
}
