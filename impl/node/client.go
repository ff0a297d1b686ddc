package node

import (
	"context"
	"runtime"
	"sync/atomic"

	"github.com/quorate/quorate/impl/core"
)

// Limits of what is put together for one append of the core.
const (
	groupRecords = 1000
	groupBytes   = 1 << 20
)

// clientOp is an append, a change of the voter set, or a read.
type clientOp struct {
	records [][]byte
	size    int
	epoch   int32             // in which the append is to happen, 0: any
	change  *core.Input       // of the voter set, nil: it is none
	done    chan clientResult // room for one
	taken   atomic.Bool       // by the loop, or back by who asked
}

type clientResult struct {
	offset int64
	epoch  int32
	err    error
}

// finished is a result that the core gave in the step in progress.
type finished struct {
	client core.ClientID
	result core.Result
}

// Propose appends records, all in one batch, and returns the offset of the first and the
// epoch of the batch when they are committed and the state machine of this node has
// applied them. Other nodes apply them too, sooner or later.
//
// An error is an [*OpError]. ErrNotLeader: its Leader is whom to ask instead, if known.
// ErrBusy: too much is under way; to be tried again later. ErrTooLarge: never as one
// batch. With all of these nothing has happened, nor will it, unless it is ErrUnknown
// too: then the records may be committed, now or later, or never. So may those of a call
// whose context ends while they are under way.
//
// While the node has as much to do as it can take, Propose waits for its turn, until the
// context ends. The records must not be changed, even after an error.
func (n *Node) Propose(ctx context.Context, records [][]byte) (offset int64, epoch int32, err error) {
	return n.propose(ctx, 0, records)
}

// ProposeIn is [Node.Propose] in one epoch: in any other it is ErrNotLeader. So who makes
// records from what its machine knows can be sure that no other leader's come in between:
// [Leadership] tells from when on.
func (n *Node) ProposeIn(ctx context.Context, epoch int32, records [][]byte) (offset int64, err error) {
	offset, _, err = n.propose(ctx, epoch, records)
	return offset, err
}

func (n *Node) propose(ctx context.Context, epoch int32, records [][]byte) (int64, int32, error) {
	op := &clientOp{records: records, epoch: epoch, done: make(chan clientResult, 1)}
	for _, r := range records {
		if len(r) == 0 {
			// Kafka's reader takes a record without a value for a broken one.
			return 0, 0, &OpError{Code: core.InvalidRequest, Leader: core.NoReplica}
		}
		op.size += len(r)
	}
	if len(records) == 0 {
		return 0, 0, &OpError{Code: core.InvalidRequest, Leader: core.NoReplica}
	}
	r := n.do(ctx, op)
	return r.offset, r.epoch, r.err
}

// Read is a linearizable read: when it returns, the state machine of this node has
// applied everything that was acknowledged before Read was called, and what is read from
// it then is as new as any node has. It costs a round of messages, which reads at the
// same time share, and no write. offset is the end of what was committed. Only a leader
// can say that; errors are those of [Node.Propose], but never ErrUnknown.
func (n *Node) Read(ctx context.Context) (offset int64, err error) {
	r := n.do(ctx, &clientOp{done: make(chan clientResult, 1)})
	return r.offset, r.err
}

func (n *Node) do(ctx context.Context, op *clientOp) clientResult {
	failed := func(unknown bool, cause error) clientResult {
		return clientResult{err: &OpError{Unknown: unknown && op.writes(), Leader: core.NoReplica, Cause: cause}}
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
		return failed(!op.taken.CompareAndSwap(false, true), ctx.Err())
	case <-n.ended:
		select {
		case r := <-op.done:
			return r
		default:
			return failed(!op.taken.CompareAndSwap(false, true), ErrStopped)
		}
	}
}

// clientOp gives the core a client's operation: with an append all others that wait
// behind it, up to a limit, so that they share a batch and a flush.
func (n *Node) clientOp(op *clientOp) error {
	if !n.take(op) {
		return nil
	}
	if op.records == nil {
		return n.single(op)
	}
	group, records, size := []*clientOp{op}, op.records, op.size
	yielded := false
	for {
		var next *clientOp
		if len(records) < groupRecords && size < groupBytes {
			select {
			case next = <-n.ops:
				if !n.take(next) {
					continue
				}
			default:
				if !yielded { // others may be about to ask, as the last flush let go many at once
					yielded = true
					runtime.Gosched()
					continue
				}
			}
		}
		if next == nil || next.records == nil || size+next.size > groupBytes || len(records)+len(next.records) > groupRecords {
			if err := n.request(core.InputAppend, records, group); err != nil || next == nil {
				return err
			}
			return n.single(next)
		}
		if len(group) == 1 {
			records = append(make([][]byte, 0, 2*len(records)), records...) // the caller's slice stays as it is
		}
		group, records, size = append(group, next), append(records, next.records...), size+next.size
	}
}

// take takes an operation from the queue; false if it is over: its client has gone, or
// this is not its epoch.
func (n *Node) take(op *clientOp) bool {
	if !op.taken.CompareAndSwap(false, true) {
		return false
	}
	if s := n.replica.State(); op.epoch != 0 && op.epoch != int32(s.Epoch) {
		op.done <- clientResult{err: &OpError{Code: core.NotLeaderOrFollower, Leader: s.Leader}}
		return false
	}
	return true
}

func (n *Node) single(op *clientOp) error {
	switch {
	case op.change != nil:
		n.client++
		n.waiting[n.client] = []*clientOp{op}
		in := input{Input: *op.change}
		in.Client = n.client
		return n.step(&in)
	case op.records == nil:
		return n.request(core.InputRead, nil, []*clientOp{op})
	}
	return n.request(core.InputAppend, op.records, []*clientOp{op})
}

// writes says whether an operation may have an effect.
func (op *clientOp) writes() bool { return op.records != nil || op.change != nil }

func (n *Node) request(kind core.InputKind, records [][]byte, group []*clientOp) error {
	n.client++
	n.waiting[n.client] = group
	in := input{}
	in.Kind, in.Client, in.Records = kind, n.client, records
	return n.step(&in)
}

// finish ends what the core has completed in the step: at once what failed, and what is
// committed when the machine has applied it.
func (n *Node) finish() {
	for _, f := range n.results {
		group := n.waiting[f.client]
		delete(n.waiting, f.client)
		offset := int64(f.result.Offset)
		for _, op := range group {
			switch {
			case f.result.Error != core.None:
				op.done <- clientResult{err: &OpError{
					Code: f.result.Error, Unknown: f.result.Unknown && op.writes(), Leader: n.replica.State().Leader, Reason: f.result.Reason,
				}}
			case op.change != nil:
				op.done <- clientResult{offset: offset}
			case op.records == nil:
				n.applier.await(op, clientResult{offset: offset}, offset)
			default:
				epoch, _ := n.driver.Log().EpochOf(offset)
				n.applier.await(op, clientResult{offset: offset, epoch: epoch}, offset+int64(len(op.records)))
				offset += int64(len(op.records))
			}
		}
	}
	n.results = n.results[:0]
}

// abandon ends the operations that wait when the node stops. Those that the core
// never saw have no effect.
func (n *Node) abandon() {
	for _, group := range n.waiting {
		for _, op := range group {
			op.done <- clientResult{err: &OpError{Unknown: op.writes(), Leader: core.NoReplica, Cause: ErrStopped}}
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
