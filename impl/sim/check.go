package sim

import (
	"fmt"
	"slices"

	"github.com/quorate/quorate/traces/event"
)

// boundary is the end of a batch in a log, with the chained digest there. Two
// logs with one boundary agree on all before it.
type boundary struct {
	end    int64
	digest uint64
	epoch  int32
}

// history is what the events of one node say of it.
type history struct {
	id     int32
	voter  bool
	voters []int32    // of the set in force, if that is in the log
	log    []boundary // as recorded; what is flushed and what is not
	// durable is the end below which all is flushed.
	durable int64
	// cut is what a truncation removed that is not known to be durable.
	cut                  []boundary
	epoch, leader, voted int32 // what the quorum-state file holds
	seen                 bool
	start                int64 // of the log, and the latest snapshot; both durable
	snapshot             event.SnapshotID

	incarnation int32
	role        string
	highest     int64 // high watermark exposed in this incarnation, -1 if none
	epochSeen   int32 // highest epoch exposed
	votedEpoch  int32 // the latest epoch with a vote, and the vote
	votedFor    int32
}

func (h *history) end() int64 {
	if len(h.log) == 0 {
		return 0
	}
	return h.log[len(h.log)-1].end
}

func (h *history) digest() uint64 {
	if len(h.log) == 0 {
		return 0
	}
	return h.log[len(h.log)-1].digest
}

// at finds the boundary that ends at an offset.
func at(log []boundary, end int64) (boundary, bool) {
	if end == 0 {
		return boundary{}, true
	}
	i, ok := find(log, end)
	if !ok {
		return boundary{}, false
	}
	return log[i], true
}

func find(log []boundary, end int64) (int, bool) {
	return slices.BinarySearchFunc(log, end, func(b boundary, end int64) int {
		switch {
		case b.end < end:
			return -1
		case b.end > end:
			return 1
		}
		return 0
	})
}

func (h *history) has(b boundary) bool {
	have, ok := at(h.log, b.end)
	return ok && have.digest == b.digest
}

// durably says whether a prefix of the log is flushed.
func (h *history) durably(b boundary) bool { return b.end <= h.durable && h.has(b) }

// checker follows the events of a cluster and says which broke it. It knows
// properties and no rules: what a leader is, not how one is made.
type checker struct {
	nodes   []*history
	voters  int
	leaders map[int32]int32 // of an epoch
	// committed are the boundaries below the highest high watermark ever exposed,
	// with the epoch of who exposed it first.
	committed []boundary
	acked     int64           // end of the highest append acknowledged
	values    map[int64]int64 // offset → operation acknowledged there, and back
	offsets   map[int64]int64
	sometimes func(Sometimes)
	stats     *Stats
}

// ViolationError is a property of the cluster that does not hold.
type ViolationError struct {
	// Property is its name.
	Property string
	Detail   string
}

// Error implements error.
func (e *ViolationError) Error() string { return e.Property + ": " + e.Detail }

func violated(property, format string, args ...any) error {
	return &ViolationError{Property: property, Detail: fmt.Sprintf(format, args...)}
}

func newChecker(ids []int32, voters int, stats *Stats, sometimes func(Sometimes)) *checker {
	c := &checker{voters: voters, leaders: map[int32]int32{}, values: map[int64]int64{}, offsets: map[int64]int64{}, stats: stats, sometimes: sometimes}
	for i, id := range ids {
		c.nodes = append(c.nodes, &history{id: id, voter: i < voters, leader: -1, voted: -1, highest: -1, votedFor: -1})
	}
	return c
}

// observe takes one event of node i; appended are the batches that it appended.
func (c *checker) observe(i int, e *event.Event, appended []boundary) error {
	h := c.nodes[i]
	if e.Inc != h.incarnation {
		h.incarnation, h.highest = e.Inc, -1
	}
	if err := c.observeLog(h, e, appended); err != nil {
		return err
	}
	if err := c.observeElection(h, e); err != nil {
		return err
	}
	h.role = e.State.Role
	if e.State.Has&event.HasVoters != 0 {
		h.voters = nil
		for _, v := range e.State.Voters {
			h.voters = append(h.voters, v.ID)
		}
	}
	if h.role == "Leader" {
		if err := c.observeLeader(h, e); err != nil {
			return err
		}
	}
	return c.observeHighWatermark(h, e)
}

// observeLog keeps the log of a node: LogMatching of what is recorded with what
// is there.
func (c *checker) observeLog(h *history, e *event.Event, appended []boundary) error {
	if l := e.Log; l != nil && l.Truncated >= 0 {
		keep, ok := find(h.log, l.Truncated)
		if ok {
			keep++
		}
		if l.Truncated > 0 && !ok {
			return violated("LogMatching", "truncated to offset %d, in the middle of a batch", l.Truncated)
		}
		c.stats.Truncations++
		c.sometimes(TruncatedDivergence)
		h.cut = append(h.cut[:0], h.log[keep:]...)
		h.log = h.log[:keep]
		h.durable = min(h.durable, l.Truncated)
		for _, b := range h.cut {
			if known, ok := at(c.committed, b.end); ok && known.digest == b.digest {
				return violated("CommittedStable", "truncated to offset %d, and %d is committed", l.Truncated, b.end)
			}
		}
	}
	if err := c.observeSnapshots(h, e); err != nil {
		return err
	}
	h.log = append(h.log, appended...)
	if d := e.Durable; d != nil && d.LogEnd >= 0 {
		h.durable = max(h.durable, d.LogEnd)
		if d.LogEnd == h.end() {
			h.cut = h.cut[:0]
		}
	}
	if h.end() != e.State.LogEnd || h.digest() != e.State.Digest {
		return violated("LogMatching", "log ends at %d (digest %016x), and by its changes at %d (%016x)",
			e.State.LogEnd, e.State.Digest, h.end(), h.digest())
	}
	return nil
}

// observeSnapshots: SnapshotCommitted, SnapshotCovers, MonotonicLogStart.
func (c *checker) observeSnapshots(h *history, e *event.Event) error {
	s := &e.State
	if id := s.Snapshot; id != h.snapshot {
		if b, ok := at(c.committed, id.End); !ok || id.End <= h.snapshot.End {
			return violated("SnapshotCommitted", "snapshot %v after %v, and %d is not the end of a batch that is committed (%v)", id, h.snapshot, id.End, b)
		}
		h.snapshot = id
	}
	if l := e.Log; l != nil && l.Reset > 0 {
		i, ok := find(c.committed, l.Reset)
		if !ok || c.committed[i].digest != l.Digest {
			return violated("SnapshotCommitted", "log begins anew at %d (digest %016x), and that is not what is committed", l.Reset, l.Digest)
		}
		if l.Reset < h.highest {
			return violated("CommittedStable", "log begins anew at %d below the high watermark %d", l.Reset, h.highest)
		}
		c.sometimes(SnapshotInstalled)
		if h.end() >= l.Reset {
			c.sometimes(SnapshotOverRecords)
		}
		h.log, h.cut = slices.Clone(c.committed[:i+1]), h.cut[:0]
		h.durable, h.start = l.Reset, l.Reset
	}
	if s.LogStart < h.start {
		return violated("MonotonicLogStart", "log starts at %d, after %d", s.LogStart, h.start)
	}
	if s.LogStart > h.start {
		c.sometimes(LogStartAdvanced)
		h.start = s.LogStart
	}
	if h.start > h.snapshot.End || h.start > s.LogEnd {
		return violated("SnapshotCovers", "log is from %d to %d, and the latest snapshot ends at %d", h.start, s.LogEnd, h.snapshot.End)
	}
	return nil
}

// observeElection: MonotonicEpoch, OneVotePerEpoch, ElectionDurable.
func (c *checker) observeElection(h *history, e *event.Event) error {
	s := &e.State
	if s.Epoch < h.epochSeen {
		return violated("MonotonicEpoch", "epoch %d after epoch %d", s.Epoch, h.epochSeen)
	}
	h.epochSeen = s.Epoch
	if s.Voted >= 0 {
		if h.votedEpoch == s.Epoch && h.votedFor != s.Voted {
			return violated("OneVotePerEpoch", "voted for %d and for %d in epoch %d", h.votedFor, s.Voted, s.Epoch)
		}
		h.votedEpoch, h.votedFor = s.Epoch, s.Voted
	}
	if e.Durable != nil && e.Durable.Election {
		h.epoch, h.leader, h.voted, h.seen = s.Epoch, s.Leader, s.Voted, true
	}
	// The event may be followed by a message that says so.
	if s.Epoch != h.epoch || s.Voted != h.voted {
		return violated("ElectionDurable", "epoch %d and vote %d, durable are %d and %d", s.Epoch, s.Voted, h.epoch, h.voted)
	}
	return nil
}

// observeLeader: ElectionSafety, and LeaderCompleteness when it begins to lead.
func (c *checker) observeLeader(h *history, e *event.Event) error {
	epoch := e.State.Epoch
	if id, ok := c.leaders[epoch]; ok {
		if id != h.id {
			return violated("ElectionSafety", "replicas %d and %d both lead epoch %d", id, h.id, epoch)
		}
		return nil
	}
	c.leaders[epoch] = h.id
	c.stats.Elections++
	for _, other := range c.nodes {
		if other.epochSeen > epoch {
			c.sometimes(LateLeader)
			break
		}
	}
	for i := len(c.committed) - 1; i >= 0; i-- {
		if b := c.committed[i]; b.epoch < epoch {
			return c.complete(h, b, epoch)
		}
	}
	return nil
}

func (c *checker) complete(h *history, b boundary, epoch int32) error {
	if h.has(b) {
		return nil
	}
	return violated("LeaderCompleteness", "replica %d leads epoch %d without what was committed in epoch %d up to offset %d",
		h.id, epoch, b.epoch, b.end)
}

// observeHighWatermark: MonotonicHighWatermark, StateMachineSafety.
func (c *checker) observeHighWatermark(h *history, e *event.Event) error {
	hw := e.State.HighWatermark
	if hw < 0 || hw == h.highest {
		return nil
	}
	if hw < h.highest {
		return violated("MonotonicHighWatermark", "high watermark %d after %d", hw, h.highest)
	}
	h.highest = hw
	b, ok := at(h.log, hw)
	if !ok {
		return violated("StateMachineSafety", "high watermark %d is not the end of a batch in a log that ends at %d", hw, h.end())
	}
	n := len(c.committed)
	last := boundary{}
	if n > 0 {
		last = c.committed[n-1]
	}
	if hw <= last.end {
		known, ok := at(c.committed, hw)
		if !ok || known.digest != b.digest {
			return violated("StateMachineSafety", "log up to high watermark %d (digest %016x) is not what was committed (%016x)", hw, b.digest, known.digest)
		}
		return nil
	}
	if !h.has(last) {
		return violated("StateMachineSafety", "high watermark %d over a log without what was committed up to %d", hw, last.end)
	}
	return c.extend(h, e, last.end, b)
}

// extend notes that more is committed: HighWatermarkOnMajority, and
// LeaderCompleteness of those that lead later epochs already.
func (c *checker) extend(h *history, e *event.Event, from int64, to boundary) error {
	first, ok := find(h.log, from)
	if ok {
		first++
	}
	for _, b := range h.log[first:] {
		if b.end > to.end {
			break
		}
		b.epoch = e.State.Epoch
		c.committed = append(c.committed, b)
	}
	have, voters := 0, c.voters
	if h.voters != nil {
		voters = len(h.voters)
	}
	for _, other := range c.nodes {
		voter := other.voter
		if h.voters != nil {
			voter = slices.Contains(h.voters, other.id)
		}
		if voter && other.durably(to) {
			have++
		}
	}
	if have <= voters/2 {
		return violated("HighWatermarkOnMajority", "offset %d is committed and durable on %d of %d voters", to.end, have, voters)
	}
	to.epoch = e.State.Epoch
	for _, other := range c.nodes {
		if other.role == "Leader" && other.epochSeen > to.epoch {
			if err := c.complete(other, to, other.epochSeen); err != nil {
				return err
			}
		}
	}
	return nil
}

// crashed forgets the role of a node that does not run.
func (c *checker) crashed(i int) { c.nodes[i].role = "" }

// ack takes an append that a replica acknowledges.
func (c *checker) ack(operation, offset int64) error {
	n := len(c.committed)
	if n == 0 || c.committed[n-1].end <= offset {
		return violated("AckCommitted", "append at offset %d acknowledged, nothing there is committed", offset)
	}
	if other, ok := c.values[offset]; ok && other != operation {
		return violated("AckUnique", "operations %d and %d both acknowledged at offset %d", other, operation, offset)
	}
	if other, ok := c.offsets[operation]; ok && other != offset {
		return violated("AckUnique", "operation %d acknowledged at offsets %d and %d", operation, other, offset)
	}
	c.values[offset], c.offsets[operation] = operation, offset
	c.acked = max(c.acked, offset+1)
	return nil
}

// read takes the answer to a read that reached its replica when everything below
// floor had been acknowledged.
func (c *checker) read(offset, floor int64) error {
	if offset < floor {
		return violated("ReadSeesAcknowledged", "read up to offset %d began after offset %d was acknowledged", offset, floor-1)
	}
	if n := len(c.committed); offset > 0 && (n == 0 || c.committed[n-1].end < offset) {
		return violated("ReadCommitted", "read up to offset %d, which is not committed", offset)
	}
	return nil
}
