package core

import (
	"slices"

	"github.com/quorate/quorate/traces/event"
)

// clientState are the appends of clients that this leader has not completed.
type clientState struct {
	queue      []queuedAppend // not yet in the log
	queueCount int
	queueBytes int
	drainAt    Ticks           // when the queue is written
	waiting    []waitingAppend // in the log, not committed; ascending
	head       int             // first of waiting
}

type queuedAppend struct {
	client  ClientID
	records [][]byte
	bytes   int
}

type waitingAppend struct {
	client    ClientID
	base, end Offset
}

func (c *clientState) wake() Ticks {
	if len(c.queue) == 0 {
		return Never
	}
	return c.drainAt
}

// clientAppend takes records of a client, to be written with others.
func (r *Replica) clientAppend(in *Input) {
	c := &r.clients
	bytes := 0
	for _, rec := range in.Records {
		bytes += len(rec)
	}
	refused := None
	switch {
	case r.role != Leader:
		refused = NotLeaderOrFollower
	case len(in.Records) == 0:
		refused = InvalidRequest
	case len(in.Records) > r.cfg.MaxBatchRecords, bytes > r.cfg.MaxBatchBytes:
		refused = MessageTooLarge
	case len(c.queue)+len(c.waiting)-c.head >= r.cfg.MaxPendingAppends:
		refused = ThrottlingQuotaExceeded
	}
	if refused != None {
		r.complete(in.Client, Result{Error: refused})
		return
	}
	if len(c.queue) == 0 {
		c.drainAt = r.now + r.cfg.AppendLinger
	}
	c.queue = append(c.queue, queuedAppend{client: in.Client, records: in.Records, bytes: bytes})
	c.queueCount += len(in.Records)
	c.queueBytes += bytes
}

// drain writes the queue when it has lingered long enough or a batch is full.
func (r *Replica) drain() {
	c := &r.clients
	full := c.queueCount >= r.cfg.MaxBatchRecords || c.queueBytes >= r.cfg.MaxBatchBytes
	if len(c.queue) == 0 || !full && r.now < c.drainAt {
		return
	}
	for i := 0; i < len(c.queue); {
		n, count, bytes := 0, 0, 0
		for _, q := range c.queue[i:] {
			if count+len(q.records) > r.cfg.MaxBatchRecords || bytes+q.bytes > r.cfg.MaxBatchBytes {
				break
			}
			n, count, bytes = n+1, count+len(q.records), bytes+q.bytes
		}
		r.append(c.queue[i : i+n])
		i += n
	}
	clear(c.queue)
	c.queue = c.queue[:0]
	c.queueCount, c.queueBytes = 0, 0
}

// append writes one batch. All records of a client are in it, or none.
func (r *Replica) append(appends []queuedAppend) {
	r.assert(r.role == Leader, "only a Leader appends")
	r.assert(r.lead.changeWritten, "append before the LeaderChange record of the epoch")
	base, first := r.log.end, len(r.batch)
	end := base
	for _, q := range appends {
		r.batch = append(r.batch, q.records...)
		next := end + Offset(len(q.records))
		r.clients.waiting = append(r.clients.waiting, waitingAppend{client: q.client, base: end, end: next})
		end = next
	}
	r.grow(end)
	r.recordAppend(base, r.epoch, event.Data, int64(end-base))
	o := r.op(OpAppendData)
	o.Base, o.End, o.Epoch, o.Records = base, end, r.epoch, r.batch[first:len(r.batch):len(r.batch)]
	r.finish(actAppend, event.Args{Count: int64(end - base)}, nil, nil)
}

// appendLeaderChange writes the first record of the epoch. Committing it commits
// everything before (Raft, figure 8; KAFKA-12619).
func (r *Replica) appendLeaderChange() {
	l := &r.lead
	r.assert(r.role == Leader, "only a Leader appends")
	r.assert(r.log.end == l.epochStart, "the epoch does not start with its LeaderChange record")
	l.changeWritten = true
	base, set := l.epochStart, r.firstVoterSet()
	end := base + 1
	if set != nil {
		end += 2
	}
	r.grow(end)
	r.recordAppend(base, r.epoch, event.LeaderChange, 1)
	o := r.op(OpAppendLeaderChange)
	o.Base, o.End, o.Epoch, o.VoterSet = base, end, r.epoch, set
	for _, v := range r.voters {
		o.Voters = append(o.Voters, v.ID)
	}
	o.Granting = l.granting
	if set != nil {
		r.history.add(base+2, set)
		r.recordAppend(base, r.epoch, event.KRaftVersion, 1)
		r.recordVoters(base, r.epoch, r.history.last())
		r.takeEffect()
	}
	r.done(actAppendLeaderChange, nil)
}

// firstVoterSet is the voter set that a leader writes behind its LeaderChange record, nil if
// none: the one of the zero checkpoint, which no other replica has from the log, or one
// in which this leader is described otherwise (LeaderState.appendStartOfEpochControlRecords).
func (r *Replica) firstVoterSet() []Voter {
	s := r.voterSet
	if !s.Dynamic() {
		return nil
	}
	r.assert(r.self >= 0 || s.Offset >= 0, "a leader that is no voter begins the log")
	same := r.cfg.Info == "" || r.self < 0 || s.Voters[r.self].Info == r.cfg.Info
	if s.Offset >= 0 && same {
		return nil
	}
	set := slices.Clone(s.Voters)
	if !same {
		set[r.self].Info = r.cfg.Info
	}
	return set
}

// grow is the leader's own append.
func (r *Replica) grow(end Offset) {
	r.assert(!r.log.truncating, "append before a truncation is durable")
	r.assert(r.epoch >= r.log.lastEpoch(), "epochs in the log go back")
	r.assert(r.durable.Epoch == r.epoch, "append before the epoch is durable")
	r.log.grow(r.epoch, end)
	r.flush = true
}

// askFlush asks for a flush of everything written so far.
func (r *Replica) askFlush() {
	r.flush = false
	r.log.lastFlush++
	o := r.op(OpFlush)
	o.Flush, o.End = r.log.lastFlush, r.log.end
}

// flushed is the action Flush: more of the log is durable. A leader counts its own
// records from here on, not from when it wrote them. A flush that began before the
// latest truncation says nothing about what was written after it.
func (r *Replica) flushed(in *Input) {
	l := &r.log
	r.assert(in.Flush <= l.lastFlush, "a flush that was never asked for")
	if in.Flush < l.truncFlush {
		return
	}
	r.assert(in.End <= l.end, "flushed past the log end")
	if in.End <= l.flushed && !l.truncating {
		return
	}
	l.truncating = false
	l.flushed = max(l.flushed, in.End)
	r.recording.flushed = l.flushed
	if r.role == Leader {
		if r.self >= 0 {
			r.lead.voters[r.self].end = l.flushed
		}
		r.advanceHighWatermark()
	}
	r.done(actFlush, nil)
}

// advanceHighWatermark moves the high watermark of a leader to what a majority of
// voters has, if that is past the start of the epoch: strictly, so that it covers
// a record of the epoch (KAFKA-12619).
func (r *Replica) advanceHighWatermark() {
	l := &r.lead
	for i := range l.voters {
		l.scratch[i] = l.voters[i].end
	}
	hw := majorityOffset(l.scratch)
	if hw <= l.epochStart || hw <= r.hw {
		return
	}
	r.assert(hw <= r.log.end, "the high watermark is past the log end")
	r.assert(hw >= r.hwFloor, "the high watermark goes back")
	r.hw, r.hwFloor = hw, hw
}

// completeAppends tells clients what is committed.
func (r *Replica) completeAppends() {
	c := &r.clients
	for c.head < len(c.waiting) && c.waiting[c.head].end <= r.hw {
		w := &c.waiting[c.head]
		r.complete(w.client, Result{Offset: w.base})
		c.head++
	}
	switch {
	case c.head == len(c.waiting):
		c.waiting, c.head = c.waiting[:0], 0
	case c.head > 1024 && c.head > len(c.waiting)/2:
		c.waiting, c.head = c.waiting[:copy(c.waiting, c.waiting[c.head:])], 0
	}
}

// failAppends ends all appends on the loss of leadership. What is in the log may
// yet be committed by another leader; what was only queued is gone for certain.
func (r *Replica) failAppends() {
	c := &r.clients
	for _, w := range c.waiting[c.head:] {
		r.complete(w.client, Result{Error: NotLeaderOrFollower, Unknown: true, Offset: w.base})
	}
	for _, q := range c.queue {
		r.complete(q.client, Result{Error: NotLeaderOrFollower})
	}
	c.waiting, c.head = c.waiting[:0], 0
	clear(c.queue)
	c.queue, c.queueCount, c.queueBytes = c.queue[:0], 0, 0
}
