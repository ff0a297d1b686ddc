package node

import (
	"context"

	"github.com/quorate/quorate/impl/core"
)

// Limits of what is put together for one append of the core.
const (
	groupRecords = 1000
	groupBytes   = 1 << 20
)

// Read is the answer to a linearizable read.
type Read struct {
	// End is the offset up to which the read saw everything.
	End int64
	// Last is the last value below End; its Offset is -1 if there is none.
	Last Value
}

// clientOp is an append, or a read if it has no value.
type clientOp struct {
	value []byte
	done  chan clientResult // room for one
}

type clientResult struct {
	offset int64
	last   Value
	err    error
}

// finished is a result that the core gave in the step in progress.
type finished struct {
	client core.ClientID
	result core.Result
}

// Append appends a value and returns its offset when it is committed. An error is an
// [OpError], which says whether the value may yet be committed.
func (n *Node) Append(ctx context.Context, value []byte) (int64, error) {
	if len(value) == 0 {
		// Kafka's reader takes a record without a value for a broken one.
		return 0, &OpError{Code: core.InvalidRequest, Leader: core.NoReplica}
	}
	r := n.do(ctx, value)
	return r.offset, r.err
}

// ReadIndex is a linearizable read: it sees every append that was acknowledged
// before it began.
func (n *Node) ReadIndex(ctx context.Context) (Read, error) {
	r := n.do(ctx, nil)
	return Read{End: r.offset, Last: r.last}, r.err
}

func (n *Node) do(ctx context.Context, value []byte) clientResult {
	op := &clientOp{value: value, done: make(chan clientResult, 1)}
	failed := func(unknown bool, cause error) clientResult {
		return clientResult{err: &OpError{Unknown: unknown && value != nil, Leader: core.NoReplica, Cause: cause}}
	}
	select {
	case n.ops <- op:
	case <-ctx.Done():
		return failed(false, ctx.Err())
	case <-n.ctx.Done():
		return failed(false, ErrStopped)
	}
	select {
	case r := <-op.done:
		return r
	case <-ctx.Done():
		return failed(true, ctx.Err())
	case <-n.done:
		select {
		case r := <-op.done:
			return r
		default:
			return failed(true, ErrStopped)
		}
	}
}

// clientOp gives the core a client's operation: with an append all others that wait
// behind it, up to a limit, so that they share a batch and a flush.
func (n *Node) clientOp(op *clientOp) error {
	if op.value == nil {
		return n.single(op)
	}
	group, records, size := []*clientOp{op}, [][]byte{op.value}, len(op.value)
	for {
		var next *clientOp
		if len(group) < groupRecords && size < groupBytes {
			select {
			case next = <-n.ops:
			default:
			}
		}
		if next == nil || next.value == nil || size+len(next.value) > groupBytes {
			if err := n.request(core.InputAppend, records, group); err != nil || next == nil {
				return err
			}
			return n.single(next)
		}
		group, records, size = append(group, next), append(records, next.value), size+len(next.value)
	}
}

func (n *Node) single(op *clientOp) error {
	if op.value == nil {
		return n.request(core.InputRead, nil, []*clientOp{op})
	}
	return n.request(core.InputAppend, [][]byte{op.value}, []*clientOp{op})
}

func (n *Node) request(kind core.InputKind, records [][]byte, group []*clientOp) error {
	n.client++
	n.waiting[n.client] = group
	in := input{}
	in.Kind, in.Client, in.Records = kind, n.client, records
	return n.step(&in)
}

// finish gives the clients the results of the step. What a read may see has been
// applied by then: the core serves reads at a high watermark.
func (n *Node) finish() {
	for _, f := range n.results {
		group := n.waiting[f.client]
		delete(n.waiting, f.client)
		for i, op := range group {
			r := clientResult{offset: int64(f.result.Offset) + int64(i)}
			switch {
			case f.result.Error != core.None:
				r = clientResult{err: &OpError{
					Code: f.result.Error, Unknown: f.result.Unknown && op.value != nil, Leader: n.replica.State().Leader,
				}}
			case op.value == nil:
				r.last, _ = n.machine.below(int64(f.result.Offset))
			}
			op.done <- r
		}
	}
	n.results = n.results[:0]
}

// abandon ends the operations that wait when the node stops. Those that the core
// never saw have no effect.
func (n *Node) abandon() {
	for _, group := range n.waiting {
		for _, op := range group {
			op.done <- clientResult{err: &OpError{Unknown: op.value != nil, Leader: core.NoReplica, Cause: ErrStopped}}
		}
	}
	clear(n.waiting)
	for {
		select {
		case op := <-n.ops:
			op.done <- clientResult{err: &OpError{Leader: core.NoReplica, Cause: ErrStopped}}
		default:
			return
		}
	}
}
