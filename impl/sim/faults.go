package sim

import (
	"slices"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/driver"
	"github.com/quorate/quorate/impl/fs"
)

// numFaults is how many knobs are faults that strike.
const numFaults = int(Resign) + 1

func (c *cluster) nextFault() {
	if c.knobs.faultEvery > 0 {
		c.after(c.faultRNG.between(1, 2*c.knobs.faultEvery), item{kind: faultStrikes, inc: c.healed})
	}
}

// strike makes one thing go wrong.
func (c *cluster) strike() error {
	if c.calm {
		return nil
	}
	c.nextFault()
	total := 0
	for _, w := range c.knobs.weights {
		total += w
	}
	// Each has numbers of its own, so that the others stay what they are if it is left out.
	r := rng{state: c.faultRNG.next()}
	at := r.below(total)
	for fault, w := range c.knobs.weights {
		if at < w {
			return c.fault(Knob(fault), &r)
		}
		at -= w
	}
	return nil
}

func (c *cluster) fault(fault Knob, r *rng) error {
	n, l := c.nodes[r.below(len(c.nodes))], c.leader()
	switch fault {
	case CrashLeader, Resign:
		n = l
	case CrashInStep, Partition, OneWay, Isolate:
		if r.chance(500) && l != nil {
			n = l
		}
	}
	if n == nil || !c.happens(fault, n, nil) {
		return nil
	}
	switch fault {
	case CrashOne, CrashLeader:
		return c.kill(n, r)
	case CrashInStep:
		c.light(n, fs.Crash, r)
	case Storage:
		kind := pick(r, fs.Error, fs.TornWrite, fs.DiskFull)
		if kind == fs.DiskFull && r.chance(c.knobs.fullDisk) && n.up && n.fuse == 0 && n.fullUntil == 0 {
			n.fullUntil = c.now + r.between(1, c.knobs.fullMax)
			n.arm()
			break
		}
		c.light(n, kind, r)
	case FlipBit:
		c.flip(n, r)
	case CrashAll:
		for _, n := range c.nodes {
			if err := c.kill(n, r); err != nil {
				return err
			}
		}
	case Partition, OneWay, Isolate:
		c.partition(fault, n, r)
	case ResetConnections:
		for _, cn := range n.conns {
			if cn != nil && r.chance(500) {
				c.resetConn(cn)
			}
		}
	case Resign:
		c.stats.Resignations++
		return l.input(&core.Input{Kind: core.InputResign}, driver.Link{})
	}
	return nil
}

// kill crashes a node between two steps.
func (c *cluster) kill(n *node, r *rng) error {
	if !n.up {
		return nil
	}
	c.stepNode = n.index
	n.killed = r.chance(300)
	return n.crash()
}

// light makes a node crash, or its disk fail, at some point in what it does next.
func (c *cluster) light(n *node, kind fs.Fault, r *rng) {
	if !n.up || n.fuse > 0 || n.fullUntil > 0 {
		return
	}
	n.fuse, n.faultKind, n.killed = 1+r.below(30), kind, r.chance(300)
	n.arm()
}

// flip lets one of the next reads of a node change a bit. The log must notice
// and stop the replica; the disk itself is fine.
func (c *cluster) flip(n *node, r *rng) {
	if !n.up {
		return
	}
	left := 1 + r.below(5)
	n.disk.FailRead(func(int, string) fs.Fault {
		if left--; left != 0 {
			return fs.None
		}
		n.burnt, n.faultKind, n.killed = true, fs.BitFlip, true
		return fs.BitFlip
	})
}

// leader is the running leader with the highest epoch, nil if there is none.
func (c *cluster) leader() *node {
	var found *node
	var epoch core.Epoch
	for _, n := range c.nodes {
		if !n.up {
			continue
		}
		if s := n.core.State(); s.Role == core.Leader && (found == nil || s.Epoch > epoch) {
			found, epoch = n, s.Epoch
		}
	}
	return found
}

// partition blocks some pairs for a while. A later one replaces it.
func (c *cluster) partition(fault Knob, victim *node, r *rng) {
	c.heal()
	c.stats.Partitions++
	side := make([]bool, len(c.nodes))
	for i := range side {
		side[i] = r.chance(500)
	}
	in, out := r.chance(700), r.chance(700)
	for i := range c.nodes {
		for j := range c.nodes {
			blocked := false
			switch fault {
			case Partition:
				blocked = side[i] != side[j]
			case OneWay:
				blocked = side[i] && !side[j]
			case Isolate:
				blocked = i != j && (in && j == victim.index || out && i == victim.index)
			}
			c.blocked[i*len(c.nodes)+j] = blocked
		}
	}
	c.cuts++
	c.after(r.between(10*millisecond, 4*second), item{kind: partitionHeals, inc: c.cuts})
	if c.pauseRNG.chance(c.knobs.flap) && c.happens(Flap, victim, nil) {
		c.cut = slices.Clone(c.blocked)
		c.after(c.pauseRNG.between(1, 2*c.knobs.flapEvery), item{kind: partitionFlaps, inc: c.cuts})
	}
}

func (c *cluster) heal() {
	clear(c.blocked)
	c.cut = nil
}
