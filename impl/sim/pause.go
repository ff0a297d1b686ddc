package sim

// A process may be stopped and go on later, as by SIGSTOP or a virtual machine that is
// moved: its clock goes on, and all that came meanwhile comes at once. And a partition may
// come and go faster than anybody gives up.

func (c *cluster) nextPause() {
	if c.knobs.pauseEvery > 0 && !c.calm {
		c.after(c.pauseRNG.between(1, 2*c.knobs.pauseEvery), item{kind: pauses, inc: c.healed})
	}
}

// pause stops a process, every second time that of the leader.
func (c *cluster) pause() {
	if c.calm {
		return
	}
	c.nextPause()
	n := c.nodes[c.pauseRNG.below(len(c.nodes))]
	leader := c.leader()
	if leader != nil && c.pauseRNG.chance(500) {
		n = leader
	}
	if !n.up || n.paused > c.now {
		return
	}
	until := c.now + c.pauseRNG.between(millisecond, c.knobs.pauseMax)
	if !c.happens(Pause, n, nil) {
		return
	}
	n.paused = until
	if n == leader {
		c.met(LeaderPaused)
		c.at(n.paused, item{kind: resumes, node: n.index, inc: n.inc})
	}
	c.met(Paused)
}

// resume is when a leader goes on.
func (c *cluster) resume(n *node, inc int32) {
	if l := c.leader(); n.up && n.inc == inc && l != nil && l != n {
		c.met(PausedLeaderReplaced)
	}
}

// waits puts off what is for a process that is stopped.
func (c *cluster) waits(it *item) bool {
	n := c.receiver(it)
	if n == nil || !n.up || n.paused <= c.now {
		return false
	}
	if it.kind == wake {
		if c.now != n.wakeQueued {
			return true // stale
		}
		n.wakeQueued = n.paused
	}
	c.at(n.paused, *it)
	return true
}

// receiver is the node whose process takes what happens, nil if none does.
func (c *cluster) receiver(it *item) *node {
	switch it.kind {
	case wake, requestFails, flushes, flushed, snapshots, verifies:
		return c.nodes[it.node]
	case requestArrives:
		return it.flight.conn.to
	case responseArrives:
		return it.flight.conn.from
	case disconnects:
		return it.conn.to
	case clientArrives:
		return it.attempt.node
	}
	return nil
}

// flaps lets a partition go or come back, as long as it is the last one.
func (c *cluster) flaps(cut int32) {
	if c.calm || cut != c.cuts || c.cut == nil {
		return
	}
	c.met(PartitionFlapped)
	blocked := false
	for i := range c.blocked {
		blocked = blocked || c.blocked[i]
	}
	if blocked {
		clear(c.blocked)
	} else {
		copy(c.blocked, c.cut)
	}
	c.after(c.pauseRNG.between(1, 2*c.knobs.flapEvery), item{kind: partitionFlaps, inc: cut})
}
