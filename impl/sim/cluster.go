package sim

import (
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/traces/event"
)

// cluster is a run in progress.
type cluster struct {
	cfg   Config
	knobs knobs
	sinks Sinks
	rng   rng
	now   Time
	queue queue
	nodes []*node // voters, then observers
	check *checker
	stats Stats

	conns    map[core.ConnID]*conn // accepted, or about to be; only looked up
	lastConn core.ConnID
	blocked  []bool // from*len(nodes)+to
	cuts     int32  // partitions so far

	clients     []*client
	attempts    map[core.ClientID]*attempt // in progress; only looked up
	lastAttempt core.ClientID
	lastOp      int64
	committed   int64 // appends acknowledged, for progress

	machines machines
	snapRNG  rng // of what concerns snapshots, so that runs without are what they were
	pauseRNG rng // the same, of pauses
	// The same, of voter sets; and changes of them in progress, by whom they were asked.
	memberRNG rng
	changes   map[core.ClientID]*node
	cut       []bool // what a partition that comes and goes blocks
	// Numbers of their own: of when faults strike, and of each link.
	faultRNG rng
	links    []rng

	calm     bool  // faults have stopped
	healed   int32 // how often they have
	quiet    bool  // clients have stopped
	stepNode int   // whose step is in progress, for errors; -1: none
}

// Run makes one run. The error is a [*ViolationError], an assertion of a core, an
// error of the storage that was not asked for, or one of a sink, wrapped with
// the seed and the place.
func Run(cfg Config, sinks Sinks) (stats Stats, err error) {
	k, err := cfg.draw()
	if err != nil {
		return stats, err
	}
	c := &cluster{
		cfg: cfg, knobs: k, sinks: sinks, rng: rng{state: mix(cfg.Seed ^ 0x72756e)},
		snapRNG: rng{state: mix(cfg.Seed ^ 0x736e6170)}, pauseRNG: rng{state: mix(cfg.Seed ^ 0x7061)}, memberRNG: rng{state: mix(cfg.Seed ^ 0x6d62)}, changes: map[core.ClientID]*node{},
		faultRNG: rng{state: mix(cfg.Seed ^ 0x6661756c74)},
		conns:    map[core.ConnID]*conn{}, attempts: map[core.ClientID]*attempt{}, stepNode: -1,
	}
	defer func() {
		if p := recover(); p != nil {
			err = c.where(fmt.Errorf("panic: %v\n%s", p, debug.Stack()))
		}
		stats = c.stats
	}()
	if err := errors.Join(c.build(), c.run()); err != nil {
		return c.stats, c.where(err)
	}
	return c.stats, nil
}

// where says how to find the place again.
func (c *cluster) where(err error) error {
	preVote := "without Pre-Vote"
	if c.knobs.preVote {
		preVote = "Pre-Vote"
	}
	who := ""
	if c.stepNode >= 0 {
		who = fmt.Sprintf(", replica %d", c.nodes[c.stepNode].id)
	}
	return fmt.Errorf("sim: seed %d (%d voters, %d observers, %s) at %d us, step %d%s: %w",
		c.cfg.Seed, c.knobs.voters, c.knobs.observers, preVote, c.now, c.stats.Steps, who, err)
}

func (c *cluster) build() error {
	n := c.knobs.voters + c.knobs.observers
	c.blocked = make([]bool, n*n)
	c.links = make([]rng, n*n)
	for i := range c.links {
		c.links[i].state = mix(c.cfg.Seed ^ uint64(i+1)<<20 ^ 0x6c696e6b)
	}
	var voters []core.ReplicaKey
	var ids []int32
	for i := range n {
		id := core.ReplicaID(i + 1)
		ids = append(ids, int32(id))
		key := core.ReplicaKey{ID: id}
		if c.knobs.dirsKnown {
			key.Directory = c.cfg.Directory(id)
		}
		if i < c.knobs.voters {
			voters = append(voters, key)
		}
	}
	c.check = newChecker(ids, c.knobs.voters, &c.stats, c.met)
	for i := range n {
		c.nodes = append(c.nodes, newNode(c, i, voters))
		if c.cfg.Members {
			if err := c.nodes[i].memberOf(c.knobs.voters, n); err != nil {
				return err
			}
		}
		c.at(c.rng.between(0, 100*millisecond), item{kind: restarts, node: i})
		if c.cfg.Attach > 0 {
			c.nodes[i].silent = true
			c.at(c.cfg.Attach+Time(i)*7*millisecond, item{kind: attaches, node: i})
		}
		if c.cfg.Detach > 0 {
			c.at(c.cfg.Detach+Time(i)*7*millisecond, item{kind: detaches, node: i})
		}
	}
	for i := range c.knobs.clients {
		c.clients = append(c.clients, &client{id: i + 1, leader: c.rng.below(n), rng: rng{state: c.rng.next()}})
		c.startClient(c.clients[i], c.rng.between(0, second))
	}
	c.nextFault()
	c.nextPause()
	slow, fast := c.nodes[0].clockRate, c.nodes[0].clockRate
	for _, n := range c.nodes {
		slow, fast = min(slow, n.clockRate), max(fast, n.clockRate)
	}
	if fast-slow >= 100_000 {
		c.met(ClockApart)
	}
	c.nextChange()
	return nil
}

func (c *cluster) met(s Sometimes) { c.stats.Sometimes[s]++ }

// after puts an item into the queue.
func (c *cluster) after(d Time, it item) {
	it.at = c.now + max(d, 0)
	c.queue.push(it)
}

func (c *cluster) at(t Time, it item) { c.after(t-c.now, it) }

func (c *cluster) run() error {
	enough := func() bool { return c.cfg.Steps > 0 && c.stats.Steps >= c.cfg.Steps }
	phase := c.knobs.duration / Time(c.cfg.Heals+1)
	for range c.cfg.Heals {
		if err := c.until(c.now+phase, enough); err != nil {
			return err
		}
		if err := c.healInBetween(); err != nil {
			return err
		}
	}
	if err := c.until(c.now+phase, enough); err != nil {
		return err
	}
	return c.finish()
}

// until runs until a time, or until done says so.
func (c *cluster) until(end Time, done func() bool) error {
	for !done() {
		if at, ok := c.queue.next(); !ok || at > end {
			return nil
		}
		it := c.queue.pop()
		c.now = it.at
		c.stats.VirtualTime = c.now
		if err := c.happen(&it); err != nil {
			return err
		}
	}
	return nil
}

func (c *cluster) happen(it *item) error {
	if c.waits(it) {
		return nil
	}
	switch it.kind {
	case wake:
		return c.nodes[it.node].woken()
	case requestArrives:
		return c.requestArrives(it)
	case responseArrives:
		return c.responseArrives(it)
	case requestFails:
		return c.requestFails(it)
	case disconnects:
		return c.disconnects(it)
	case connectionResets:
		c.resetConn(it.conn)
	case flushes:
		return c.nodes[it.node].flush(it.inc)
	case flushed:
		return c.nodes[it.node].flushDone(it.inc)
	case clientStarts:
		return c.clientStarts(c.clients[it.node], it.inc)
	case clientArrives:
		return c.clientArrives(it)
	case clientAnswered:
		return c.clientAnswered(it.attempt)
	case clientTimesOut:
		return c.clientTimesOut(it.attempt)
	case crashes:
		if n := c.nodes[it.node]; n.up {
			return n.crash()
		}
	case restarts:
		if n := c.nodes[it.node]; !n.up {
			return n.start()
		}
	case snapshots:
		return c.nodes[it.node].snapshots(it.inc)
	case votersChange:
		return c.changeVoters()
	case checksVoter:
		return c.nodes[it.node].voterChecked(it)
	case verifies:
		return c.nodes[it.node].verify(it)
	case attaches:
		return c.nodes[it.node].attach()
	case detaches:
		return c.nodes[it.node].detach()
	case faultStrikes:
		if it.inc == c.healed {
			return c.strike()
		}
	case pauses:
		if it.inc == c.healed {
			c.pause()
		}
	case resumes:
		c.resume(c.nodes[it.node], it.inc)
	case partitionFlaps:
		c.flaps(it.inc)
	case partitionHeals:
		if it.inc == c.cuts {
			c.heal()
		}
	}
	return nil
}

// emit takes an event of a node, gives it to the sink and checks the cluster.
func (c *cluster) emit(n *node, e *event.Event, appended []boundary) error {
	c.stats.Events++
	if c.sinks.Clock != nil {
		c.sinks.Clock(c.now)
	}
	if err := c.give(n, e); err != nil {
		return err
	}
	if e.Action == "BecomeCandidate" {
		for _, other := range c.nodes {
			if other != n && other.standing == e.State.Epoch {
				c.met(ElectionSplit)
				break
			}
		}
		n.standing = e.State.Epoch
	}
	n.last = e
	c.meetVoters(n, e)
	if e.State.Snapshot.End == n.machine.frozen.End {
		n.machine.frozen.End = 0
	}
	return c.check.observe(n.index, e, appended)
}

// give hands an event to the sink, if its node records.
func (c *cluster) give(n *node, e *event.Event) error {
	if c.sinks.Event == nil || n.silent {
		return nil
	}
	if err := c.sinks.Event(e); err != nil {
		return fmt.Errorf("event sink: %w", err)
	}
	if e.Attach != nil {
		n.attachDue = false
	}
	return nil
}

// errCrash is what a hook returns where a crash was to happen.
var errCrash = errors.New("sim: crash")
