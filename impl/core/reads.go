package core

import "github.com/quorate/quorate/traces/event"

// Linearizable reads: ReadIndex, in a protocol where followers pull. A fetch cannot
// confirm a read, as it may have been sent before the read began; BeginQuorumEpoch
// goes from the leader to a voter, so an answer proves that when the read had
// begun the voter still followed this leader.

type readState struct {
	round   int64 // of the latest round; grows for the life of the process
	active  bool
	offset  Offset     // high watermark when the round began
	serving []ClientID // clients of the round
	waiting []ClientID // for the next one
}

func (r *Replica) clientRead(in *Input) {
	if r.role != Leader {
		r.complete(in.Client, Result{Error: NotLeaderOrFollower})
		return
	}
	r.reads.waiting = append(r.reads.waiting, in.Client)
}

// serveReads ends a round that is confirmed, and begins one if reads wait and the
// high watermark is known: a new leader may know less than was acknowledged until
// it has committed a record of its own epoch.
func (r *Replica) serveReads() {
	rs := &r.reads
	for {
		switch {
		case rs.active && r.confirmations() >= majority(len(r.voters)):
			r.serveRead()
		case !rs.active && len(rs.waiting) > 0 && r.hw != UnknownOffset:
			r.startRead()
		default:
			return
		}
	}
}

// startRead begins a round for all reads that wait.
func (r *Replica) startRead() {
	rs := &r.reads
	r.assert(r.role == Leader, "only a Leader serves reads")
	r.assert(r.hw > r.lead.epochStart, "a read before a record of the epoch is committed")
	rs.round++
	rs.active, rs.offset = true, r.hw
	rs.serving, rs.waiting = rs.waiting, rs.serving[:0]
	for i := range r.lead.voters {
		r.lead.voters[i].confirmed = false
	}
	if r.self >= 0 {
		r.lead.voters[r.self].confirmed = true
	}
	r.finish(actStartRead, event.Args{Read: rs.round}, nil, nil)
}

// confirmRead counts a voter whose answer is to a request that was sent after the
// round began.
func (r *Replica) confirmRead(p *peer) {
	if p.voter < 0 {
		return // it is none any more
	}
	v := &r.lead.voters[p.voter]
	if r.reads.active && p.read == r.reads.round && !v.confirmed {
		v.confirmed = true
	}
}

// confirmations are how many of the voters in force have confirmed the round.
func (r *Replica) confirmations() (n int) {
	for i := range r.lead.voters {
		if r.lead.voters[i].confirmed {
			n++
		}
	}
	return n
}

// serveRead answers the reads of a round.
func (r *Replica) serveRead() {
	rs := &r.reads
	r.assert(r.role == Leader, "only a Leader serves reads")
	rs.active = false
	r.finish(actServeRead, event.Args{Read: rs.round}, nil, nil)
	for _, c := range rs.serving {
		r.complete(c, Result{Offset: rs.offset})
	}
	rs.serving = rs.serving[:0]
}

func (r *Replica) failReads() {
	rs := &r.reads
	for _, c := range rs.serving {
		r.complete(c, Result{Error: NotLeaderOrFollower})
	}
	for _, c := range rs.waiting {
		r.complete(c, Result{Error: NotLeaderOrFollower})
	}
	rs.active, rs.serving, rs.waiting = false, rs.serving[:0], rs.waiting[:0]
}
