package event

import "fmt"

// sequence is the position in the file of one node. Writer and Reader hold every
// event against it, so that a file with a gap is neither written nor believed.
type sequence struct {
	node  Node
	known bool // node is set
	inc   int32
	seq   int64 // 0: no event yet
	step  int64
	ended bool // the last event is a detach
	torn  bool // torn lines follow the last event
	// tornInc is the incarnation of the last of them, or a lower one.
	tornInc int32
}

// admit moves on by one event, or says why the event cannot be the next.
func (q *sequence) admit(e *Event) error {
	switch {
	case q.known && e.Node != q.node:
		return fmt.Errorf("node %d (directory %q) in the file of node %d (directory %q)",
			e.Node.ID, e.Node.Dir, q.node.ID, q.node.Dir)
	case q.ended:
		return fmt.Errorf("incarnation %d, event %d: recording had ended with the event before", e.Inc, e.Seq)
	case e.Attach != nil && q.inc > 0:
		return fmt.Errorf("incarnation %d, event %d: recording begins, in a file that has an event", e.Inc, e.Seq)
	case e.Inc < 1:
		return fmt.Errorf("incarnation %d, they are numbered from 1", e.Inc)
	case e.Inc < q.inc:
		return fmt.Errorf("incarnation %d after incarnation %d", e.Inc, q.inc)
	case q.torn && e.Inc <= q.tornInc && e.Inc > q.inc:
		return fmt.Errorf("incarnation %d after torn lines of %d incarnations or more: each has at most one, its last", e.Inc, q.tornInc-q.inc+1)
	case e.Inc == q.inc && q.torn:
		return fmt.Errorf("incarnation %d goes on after a torn line: only a crash may tear a line, and a new incarnation follows it", e.Inc)
	case e.Inc == q.inc && e.Seq != q.seq+1:
		return fmt.Errorf("incarnation %d: event %d follows event %d, want %d", e.Inc, e.Seq, q.seq, q.seq+1)
	case e.Inc != q.inc && e.Seq != 1:
		return fmt.Errorf("incarnation %d begins with event %d, want 1", e.Inc, e.Seq)
	case e.Inc == q.inc && e.Step < q.step:
		return fmt.Errorf("incarnation %d, event %d: step %d after step %d", e.Inc, e.Seq, e.Step, q.step)
	case e.Step < 0:
		return fmt.Errorf("incarnation %d, event %d: step %d is negative", e.Inc, e.Seq, e.Step)
	}
	q.node, q.known = e.Node, true
	q.inc, q.seq, q.step, q.torn, q.ended = e.Inc, e.Seq, e.Step, false, e.Detach != nil
	return nil
}

// tear moves on by a torn line, which is the last of its incarnation, or says why it
// cannot be: inc, 0 if unknown.
func (q *sequence) tear(inc int32) error {
	least := q.inc
	if q.torn {
		least = q.tornInc + 1
	}
	switch {
	case inc != 0 && inc < least && q.torn:
		return fmt.Errorf("another torn line of incarnation %d: it may have one, its last", inc)
	case inc != 0 && inc < least:
		return fmt.Errorf("incarnation %d after incarnation %d", inc, q.inc)
	}
	q.torn, q.tornInc = true, max(inc, least)
	return nil
}
