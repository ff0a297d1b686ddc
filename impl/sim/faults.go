package sim

import (
	"slices"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/driver"
	"github.com/quorate/quorate/impl/fs"
)

// Faults, by how often they strike.
const (
	faultCrash = iota
	faultCrashLeader
	faultCrashInStep
	faultCrashAll
	faultStorage
	faultBitFlip
	faultPartition
	faultOneWay
	faultIsolate
	faultReset
	faultResign
	numFaults
)

func (c *cluster) nextFault() {
	if c.knobs.faultEvery > 0 {
		c.after(c.rng.between(1, 2*c.knobs.faultEvery), item{kind: faultStrikes})
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
	at := c.rng.below(total)
	for fault, w := range c.knobs.weights {
		if at < w {
			return c.fault(fault)
		}
		at -= w
	}
	return nil
}

func (c *cluster) fault(fault int) error {
	n := c.nodes[c.rng.below(len(c.nodes))]
	switch fault {
	case faultCrash:
		return c.kill(n)
	case faultCrashLeader:
		if l := c.leader(); l != nil {
			return c.kill(l)
		}
	case faultCrashInStep:
		if l := c.leader(); l != nil && c.rng.chance(500) {
			n = l
		}
		c.light(n, fs.Crash)
	case faultStorage:
		c.light(n, pick(&c.rng, fs.Error, fs.TornWrite, fs.DiskFull))
	case faultBitFlip:
		c.flip(n)
	case faultCrashAll:
		for _, n := range c.nodes {
			if err := c.kill(n); err != nil {
				return err
			}
		}
	case faultPartition, faultOneWay, faultIsolate:
		c.partition(fault, n)
	case faultReset:
		for _, cn := range n.conns {
			if cn != nil && c.rng.chance(500) {
				c.resetConn(cn)
			}
		}
	case faultResign:
		if l := c.leader(); l != nil {
			c.stats.Resignations++
			return l.input(&core.Input{Kind: core.InputResign}, driver.Link{})
		}
	}
	return nil
}

// kill crashes a node between two steps.
func (c *cluster) kill(n *node) error {
	if !n.up {
		return nil
	}
	c.stepNode = n.index
	n.killed = c.rng.chance(300)
	return n.crash()
}

// light makes a node crash, or its disk fail, at some point in what it does next.
func (c *cluster) light(n *node, kind fs.Fault) {
	if !n.up || n.fuse > 0 {
		return
	}
	n.fuse, n.faultKind, n.killed = 1+c.rng.below(30), kind, c.rng.chance(300)
	n.arm()
}

// flip lets one of the next reads of a node change a bit. The log must notice
// and stop the replica; the disk itself is fine.
func (c *cluster) flip(n *node) {
	if !n.up {
		return
	}
	left := 1 + c.rng.below(5)
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
func (c *cluster) partition(fault int, victim *node) {
	c.heal()
	c.stats.Partitions++
	if l := c.leader(); l != nil && c.rng.chance(500) {
		victim = l
	}
	side := make([]bool, len(c.nodes))
	for i := range side {
		side[i] = c.rng.chance(500)
	}
	in, out := c.rng.chance(700), c.rng.chance(700)
	for i := range c.nodes {
		for j := range c.nodes {
			blocked := false
			switch fault {
			case faultPartition:
				blocked = side[i] != side[j]
			case faultOneWay:
				blocked = side[i] && !side[j]
			case faultIsolate:
				blocked = i != j && (in && j == victim.index || out && i == victim.index)
			}
			c.blocked[i*len(c.nodes)+j] = blocked
		}
	}
	c.cuts++
	c.after(c.rng.between(10*millisecond, 4*second), item{kind: partitionHeals, inc: c.cuts})
	if c.pauseRNG.chance(c.knobs.flap) {
		c.cut = slices.Clone(c.blocked)
		c.after(c.pauseRNG.between(1, 2*c.knobs.flapEvery), item{kind: partitionFlaps, inc: c.cuts})
	}
}

func (c *cluster) heal() {
	clear(c.blocked)
	c.cut = nil
}
