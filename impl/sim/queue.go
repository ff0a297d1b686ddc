package sim

import (
	"github.com/quorate/quorate/impl/core"
)

// Time is a virtual time in microseconds since the run began.
type Time int64

const (
	millisecond Time = 1000
	second      Time = 1000 * millisecond
)

type kind uint8

// What can happen at a time. The fields of item that each uses are in brackets.
const (
	wake           kind = iota + 1 // [node]
	requestArrives                 // [node, flight]
	responseArrives
	requestFails     // [node, conn, correlation]
	disconnects      // [node, conn]
	flushes          // [node, inc]
	flushed          // [node, inc]
	clientStarts     // [node: client]
	clientArrives    // [node, attempt]
	clientAnswered   // [attempt]
	clientTimesOut   // [attempt]
	crashes          // [node]
	restarts         // [node]
	faultStrikes     //
	connectionResets // [node, conn]
	partitionHeals   // [inc: which one]
	snapshots        // [node, inc]
	verifies         // [node, inc, snapshot, transfer]
	pauses           //
	resumes          // [node, inc]
	partitionFlaps   // [inc: which one]
	attaches         // [node]
	detaches         // [node]
	checksVoter      // [node, inc, client, voter]
	votersChange     //
)

type item struct {
	at          Time
	kind        kind
	node        int
	inc         int32
	correlation int32
	conn        *conn
	flight      *flight
	attempt     *attempt
	snapshot    core.SnapshotID
	transfer    int64
	client      core.ClientID
	voter       core.ReplicaKey
}

// flight is a message on its way.
type flight struct {
	conn        *conn
	correlation int32
	message     core.Message
	late        bool // a copy that arrives on a connection of its own, closed already
}

// queue is a binary heap by (at, seq). The heap holds no pointers, so moving its
// entries costs the garbage collector nothing.
type queue struct {
	heap  []entry
	items []item
	free  []int32 // places in items
	seq   uint64
}

type entry struct {
	at    Time
	seq   uint64 // what was put first comes first
	place int32
}

func (a *entry) before(b *entry) bool { return a.at < b.at || a.at == b.at && a.seq < b.seq }

func (q *queue) push(it item) {
	var place int32
	if n := len(q.free); n > 0 {
		place = q.free[n-1]
		q.free = q.free[:n-1]
		q.items[place] = it
	} else {
		place = int32(len(q.items))
		q.items = append(q.items, it)
	}
	q.seq++
	e := entry{at: it.at, seq: q.seq, place: place}
	i := len(q.heap)
	q.heap = append(q.heap, e)
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&q.heap[parent]) {
			break
		}
		q.heap[i] = q.heap[parent]
		i = parent
	}
	q.heap[i] = e
}

func (q *queue) pop() item {
	place := q.heap[0].place
	n := len(q.heap) - 1
	last := q.heap[n]
	q.heap = q.heap[:n]
	i := 0
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && q.heap[child+1].before(&q.heap[child]) {
			child++
		}
		if !q.heap[child].before(&last) {
			break
		}
		q.heap[i] = q.heap[child]
		i = child
	}
	if n > 0 {
		q.heap[i] = last
	}
	it := q.items[place]
	q.items[place] = item{} // keep nothing alive
	q.free = append(q.free, place)
	return it
}

// next is when the first item is due; false: there is none.
func (q *queue) next() (Time, bool) {
	if len(q.heap) == 0 {
		return 0, false
	}
	return q.heap[0].at, true
}
