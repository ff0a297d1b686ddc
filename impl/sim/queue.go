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
)

type item struct {
	at          Time
	seq         uint64 // what was put first comes first
	kind        kind
	node        int
	inc         int32
	correlation int32
	conn        *conn
	flight      *flight
	attempt     *attempt
}

// flight is a message on its way.
type flight struct {
	conn        *conn
	correlation int32
	message     core.Message
	late        bool // a copy that arrives on a connection of its own, closed already
}

// queue is a binary heap by (at, seq).
type queue struct {
	items []item
	seq   uint64
}

func (q *queue) less(a, b int) bool {
	x, y := &q.items[a], &q.items[b]
	return x.at < y.at || x.at == y.at && x.seq < y.seq
}

func (q *queue) push(it item) {
	q.seq++
	it.seq = q.seq
	q.items = append(q.items, it)
	for i := len(q.items) - 1; i > 0; {
		parent := (i - 1) / 2
		if !q.less(i, parent) {
			return
		}
		q.items[i], q.items[parent] = q.items[parent], q.items[i]
		i = parent
	}
}

func (q *queue) pop() item {
	top := q.items[0]
	n := len(q.items) - 1
	q.items[0] = q.items[n]
	q.items[n] = item{} // keep nothing alive
	q.items = q.items[:n]
	for i := 0; ; {
		small, left := i, 2*i+1
		if left < n && q.less(left, small) {
			small = left
		}
		if right := left + 1; right < n && q.less(right, small) {
			small = right
		}
		if small == i {
			return top
		}
		q.items[i], q.items[small] = q.items[small], q.items[i]
		i = small
	}
}
