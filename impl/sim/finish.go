package sim

import (
	"fmt"

	"github.com/quorate/quorate/impl/log"
)

// Bounds of progress once there are no more faults, in rounds: with whatever state the
// faults have left a leader must be elected within the first, records of clients committed
// within the second, and all logs equal and clients answered within the third, each counted
// from when the one before was reached. A round is as long as the timeouts of the run make
// all of an election, if every timer takes its longest, and a request be given up.
const (
	electedWithin   = 4
	committedWithin = 6
	agreedWithin    = 12
)

// round is the length of a round.
func (c *cluster) round() Time {
	k := &c.knobs.core
	ticks := 2*k.ElectionTimeout + k.FetchTimeout + k.FetchTimeout/2 + k.ElectionBackoffMax + k.RequestTimeout
	// A client gives up only after ten seconds, where its node does not lead any more and
	// does not know it.
	return Time(ticks)*millisecond + second
}

// endFaults heals everything.
func (c *cluster) endFaults() error {
	c.stepNode = -1
	c.calm = true
	c.healed++
	c.heal()
	for _, n := range c.nodes {
		n.fuse, n.burnt, n.paused = 0, false, 0
		n.disk.Fail(nil)
		n.disk.FailRead(nil)
		if n.fullUntil > 0 {
			n.roomAgain()
		}
		if !n.up {
			if err := n.start(); err != nil {
				return err
			}
		}
	}
	return nil
}

// within demands that something comes about in so many rounds, and notes in how many.
func (c *cluster) within(stage, rounds int, property, what string, done func() bool) error {
	began, round := c.now, c.round()
	if err := c.until(began+Time(rounds)*round, done); err != nil {
		return err
	}
	if !done() {
		c.stepNode = -1
		return violated(property, "no faults for %d rounds of %.1f s, and %s: %s", rounds, float64(round)/float64(second), what, c.describe())
	}
	c.stats.Slowest[stage] = max(c.stats.Slowest[stage], int64((c.now-began)*1000/round))
	return nil
}

// progress demands that a leader is elected, and what clients append is committed.
func (c *cluster) progress() error {
	err := c.within(0, electedWithin, "Progress", "no leader", func() bool { return c.leader() != nil })
	if err != nil {
		return err
	}
	before := c.committed
	return c.within(1, committedWithin, "Progress", "fewer than three appends are committed",
		func() bool { return c.committed >= before+3 && c.leader() != nil })
}

// healInBetween stops all faults until there is progress, and goes on with them.
func (c *cluster) healInBetween() error {
	if err := c.endFaults(); err != nil {
		return err
	}
	if err := c.progress(); err != nil {
		return err
	}
	c.met(HealedWithin)
	c.calm = false
	c.nextFault()
	c.nextPause()
	return nil
}

// finish stops all faults and demands progress, then agreement.
func (c *cluster) finish() error {
	if err := c.endFaults(); err != nil {
		return err
	}
	if err := c.progress(); err != nil {
		return err
	}
	c.quiet = true
	if err := c.within(2, agreedWithin, "Agreement", "logs differ, or a client waits", c.agreed); err != nil {
		return err
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
