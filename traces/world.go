package traces

import (
	"maps"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// messageID is the identity of a message.
type messageID struct {
	conn     event.Conn
	corr     int32
	response bool
}

func idOf(m *event.Message) messageID { return messageID{m.Conn, m.Correlation, m.Response} }

// sender and receiver are node ids.
func (id messageID) sender() int32 {
	if id.response {
		return id.conn.To
	}
	return id.conn.From
}

func (id messageID) receiver() int32 {
	if id.response {
		return id.conn.From
	}
	return id.conn.To
}

func (id messageID) other() messageID { id.response = !id.response; return id }

// letter is a message that was sent. It is never changed. A response is gone when
// it is handled. A request stays for a while, since a copy of it may come.
type letter struct {
	msg spec.Msg
	// next is another message of the same identity: the response to a copy.
	next *letter
	// read is the number under which the sender knows the read that it confirms.
	read int64
	// parked and handled: what was done with the request; gen is when.
	parked, handled bool
	gen             int64
	// open: of the records, which are all that there were, a part was sent, and it is not
	// known which.
	open bool
	// inc is the incarnation of the receiver when it was sent.
	inc int32
	// by is the event that sent it.
	by origin
	// past is what its sender knew of recordings that begin late. assumed: no event sends
	// it. unread: the number of the read is not known.
	past            nodeSet
	assumed, unread bool
}

// origin is where an event stands: its place in its node's events, and its line.
type origin struct {
	node        int32
	index, line int64
}

// digestKey names a record: who wrote it, in which epoch, where. Two logs that hold
// it are equal up to it, so they have one digest there.
type digestKey struct {
	end    spec.Offset
	epoch  spec.Epoch
	origin spec.ID
	life   uint8
}

// noted is a digest and the event that had it first; node 0: none had to say it.
type noted struct {
	digest uint64
	node   int32
	line   int64
}

func digestKeyOf(l *spec.Log) digestKey {
	if l.End() == 0 {
		return digestKey{}
	}
	r := l.LastRun()
	return digestKey{l.End(), r.Epoch, r.Origin, r.Life}
}

// world is a state of the specification that agrees with all events so far.
type world struct {
	replicas [spec.MaxReplicas]spec.Replica
	ptrs     [spec.MaxReplicas]*spec.Replica
	// reading is the number of the read that a leader has in progress.
	reading [spec.MaxReplicas]int64
	// mute: the last event left out what it should have sent, so it must be the
	// last of its incarnation.
	mute [spec.MaxReplicas]bool
	// digestless: the log began with a snapshot of which the process knows no digest.
	digestless [spec.MaxReplicas]bool
	ghost      spec.Ghost
	bag        map[messageID]*letter
	digests    map[digestKey]noted
	sizes      map[sizeOf]int64 // of snapshots, as processes said
	hidden     [spec.NumReplicaActions]int32
	reached    checker.Props // the sometimes properties reached so far
	bad        checker.Props // why the world ended
	key        uint64        // see keyOf
}

func newWorld(m *members) *world {
	w := &world{
		ghost: spec.NewLargeGhost(), bag: map[messageID]*letter{},
		digests: map[digestKey]noted{{}: {}}, sizes: map[sizeOf]int64{},
	}
	for i := range m.ids {
		version := spec.Version(0)
		if m.pre[i] {
			version = spec.PreVote
		}
		r := spec.NewLargeReplica(spec.ID(i+1), version)
		r.Role = spec.Down // until its first start
		w.replicas[i] = r
	}
	w.link()
	return w
}

func (w *world) link() {
	for i := range w.replicas {
		w.ptrs[i] = &w.replicas[i]
	}
}

func (w *world) clone() *world {
	c := *w
	c.bag, c.digests, c.sizes = maps.Clone(w.bag), maps.Clone(w.digests), maps.Clone(w.sizes)
	c.link()
	return &c
}

// sameReplica says whether two replicas are in the same state.
func sameReplica(a, b *spec.Replica) bool {
	if !a.Log.SameAs(&b.Log) || !a.Disk.SameAs(&b.Disk) || !a.Snapshots.Same(&b.Snapshots) || !a.Fetching.Contents.SameAs(&b.Fetching.Contents) {
		return false
	}
	x, y := *a, *b
	for _, r := range []*spec.Replica{&x, &y} {
		r.Log, r.Disk, r.Snapshots, r.Fetching.Contents = spec.Log{}, spec.Log{}, spec.Snapshots{}, spec.Log{}
	}
	return x == y
}

// keyOf is equal for equal worlds.
func (v *validator) keyOf(w *world) uint64 {
	h := uint64(len(w.bag))
	add := func(x uint64) { h = (h ^ x) * 0x9e3779b97f4a7c15; h ^= h >> 29 }
	for i := range v.who.ids {
		r := &w.replicas[i]
		add(uint64(r.Role) | uint64(r.Election.Leader)<<8 | uint64(r.Election.Voted)<<24 | uint64(r.Granted)<<40)
		add(uint64(r.Election.Epoch)<<32 ^ uint64(r.HighWatermark))
		add(uint64(r.Log.End())<<32 ^ uint64(r.Disk.End()))
	}
	return h
}

// move takes replica n to its next state and returns the properties that the new
// cut violates.
func (v *validator) move(w *world, n int, a spec.ActionID, next *spec.Replica) checker.Props {
	old := w.replicas[n]
	w.replicas[n] = *next
	w.reached |= spec.ReachStep(a, &old, &w.replicas[n])
	if v.opt.NoInvariants {
		return 0
	}
	now := &w.replicas[n]
	bad := spec.CheckStep(a, &old, now)
	v.stats.Checked++
	others := w.ptrs[:len(v.who.ids)]
	all := v.cut.judging()
	if !all {
		w.ghost.NoteStarts(now)
	} else if spec.Concerns(&old, now) {
		exposed, chosen := w.ghost.Exposed.End(), w.ghost.Chosen.End()
		bad |= w.ghost.Observe(v.ctx.Quorum(), others, n, &old)
		if w.ghost.Exposed.End() != exposed || w.ghost.Chosen.End() != chosen {
			for i, r := range others {
				if i != n {
					bad |= spec.CheckOne(r, &w.ghost)
				}
			}
		}
	}
	logs := old.Log.End() != now.Log.End() || a == spec.ActionCrash || a == spec.ActionHandleFetchResponse || a == spec.ActionInstallSnapshot
	snapshots := old.LogStart != now.LogStart || !old.Snapshots.Same(&now.Snapshots)
	if all && (logs || snapshots || old.HighWatermark != now.HighWatermark || old.Role != now.Role || old.Election != now.Election) {
		bad |= spec.CheckOne(now, &w.ghost)
	}
	if !v.cut.blurred && (logs || old.HighWatermark != now.HighWatermark) {
		for i, r := range others {
			if i != n {
				bad |= spec.CheckPair(now, r)
			}
		}
	}
	return bad
}

// A copy of a request may come for so long after the request was handled, in
// events of all nodes.
const (
	pruneEvery      = 1 << 15
	condenseEvery   = 1 << 12 // how often logs come to share what they all hold
	keepGenerations = 4
	// What nobody has received is forgotten after so many: if it still comes, there is no
	// verdict. Without it, runs in which no process ends would grow with what is lost.
	keepUnreceived = 32
)

// generation counts how often there was something to forget.
func (v *validator) generation() int64 { return v.stats.Events / v.pruneEvery }

// hash is a number for a message, equal for equal ones.
func (id messageID) hash() uint64 {
	h := uint64(0)
	for _, x := range [...]uint64{uint64(uint32(id.conn.From)), uint64(uint32(id.conn.To)), uint64(uint32(id.conn.Inc)), uint64(id.conn.N), uint64(uint32(id.corr)), uint64(len(direction(id.response)))} {
		h = (h ^ x + 1) * 0x9e3779b97f4a7c15
		h ^= h >> 29
	}
	return h
}

// prune forgets what no later event can ask for: digests below what all replicas
// have for good, and messages whose connection is gone at both ends.
func (v *validator) prune(w *world) {
	committed := spec.Unknown
	for i := range v.who.ids {
		committed = max(committed, w.replicas[i].HighWatermark)
	}
	floor := committed
	for i := range v.who.ids {
		floor = min(floor, w.replicas[i].FlushedEnd())
	}
	for k := range w.digests {
		if k.end < floor && k.end > 0 {
			delete(w.digests, k)
		}
	}
	for id, l := range w.bag {
		switch age := v.generation() - l.gen; {
		case l.parked, v.opt.Hidden > 0: // an unseen step may handle it
		case !l.handled && age > keepUnreceived:
			if v.forgotten == nil {
				v.forgotten = map[uint64]bool{}
			}
			v.forgotten[id.hash()] = true
			v.stats.Lost++
			delete(w.bag, id)
			continue
		}
		if l.handled && v.generation() > l.gen+keepGenerations {
			delete(w.bag, id)
			continue
		}
		opener, receiver := v.who.index(id.conn.From), v.who.index(id.receiver())
		if v.nodes[opener].inc > id.conn.Inc+1 && v.nodes[receiver].inc > l.inc+1 {
			delete(w.bag, id)
			if !l.handled && !l.parked {
				v.stats.Lost++
			}
		}
	}
}
