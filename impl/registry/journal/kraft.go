package journal

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/snapshot"
)

// What a record of the embedded log is, by its first byte.
const (
	kindOp         = 'o' // a record of the journal
	kindCheckpoint = 'c' // a record of the list of checkpoints
	kindGenesis    = 'g' // the identity of the journal; the first one counts
	kindTrim       = 't' // where all nodes are to have the log start, 8 bytes
)

// readBytes is how much of the log is read at once.
const readBytes = 1 << 20

// KRaft is a journal that is a log of ours, in this process: alone, or one of a quorum.
// The list of checkpoints is in the same log, and needs no place of its own: a checkpoint
// is appended after the last record that it covers, so it is trimmed when it is too old to
// begin at. What a node has in its snapshot is therefore the journal's identity alone, and
// a node that was away for long gets that, and a newer image from where all images are.
type KRaft struct {
	n     *node.Node
	peers Peers // nil: nobody can be asked

	mu          sync.Mutex
	id          string
	checkpoints []checkpointAt
	trim        int64 // where the log is to start
	changed     chan struct{}

	trimming sync.Mutex // one at a time

	stop context.CancelFunc
	wg   sync.WaitGroup
}

type checkpointAt struct {
	offset int64
	value  []byte
}

// Peers are the journals of the other nodes of a quorum: those of whoever leads.
type Peers interface {
	// End is [KRaft.EndAsLeader] there.
	End(ctx context.Context, leader int32) (int64, error)
	// Propose is [KRaft.ProposeAsLeader] there.
	Propose(ctx context.Context, leader int32, kind byte, value []byte) (offset int64, err error)
}

// OpenKRaft starts a node. What cfg says of machine, snapshots and retention is not used.
// peers may be nil, if there are no others.
func OpenKRaft(cfg node.Config, peers Peers) (*KRaft, error) {
	ctx, stop := context.WithCancel(context.Background())
	k := &KRaft{peers: peers, changed: make(chan struct{}), stop: stop}
	cfg.Machine = (*kraftMachine)(k)
	cfg.Snapshots, cfg.Retention = snapshot.Policy{}, snapshot.Retention{MaxBytes: -1, MaxMs: -1}
	n, err := node.Start(cfg)
	if err != nil {
		stop()
		return nil, err
	}
	k.mu.Lock()
	k.n = n
	k.change()
	k.mu.Unlock()
	k.wg.Go(func() { k.maintain(ctx) })
	return k, nil
}

// Node is the node itself.
func (k *KRaft) Node() *node.Node { return k.n }

// change wakes who waits. With mu.
func (k *KRaft) change() {
	close(k.changed)
	k.changed = make(chan struct{})
}

// wait waits for a change, or for a while: of the node's state nobody is told.
func (k *KRaft) wait(ctx context.Context, changed <-chan struct{}) error {
	select {
	case <-changed:
		return nil
	case <-time.After(20 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-k.n.Done():
		if err := k.n.Err(); err != nil {
			return err
		}
		return ErrClosed
	}
}

// maintain names the journal when this node leads and it has no name, and moves the log
// start.
func (k *KRaft) maintain(ctx context.Context) {
	for {
		k.mu.Lock()
		id, trim, changed := k.id, k.trim, k.changed
		k.mu.Unlock()
		s := k.n.State()
		if id == "" && s.Role == core.Leader {
			// If it fails it is tried again, and if there are two the first counts.
			_, _, _ = k.n.Propose(ctx, [][]byte{append([]byte{kindGenesis}, rand.Text()...)})
		}
		if trim > int64(s.LogStart) && trim <= s.Applied {
			_, _ = k.trimHere(ctx, trim)
		}
		if k.wait(ctx, changed) != nil {
			return
		}
	}
}

// kraftMachine is the machine of the node: the identity, the list, and where to trim to.
type kraftMachine KRaft

// Apply implements [node.Machine].
func (m *kraftMachine) Apply(b node.Batch) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, r := range b.Records {
		m.applied(r)
	}
	(*KRaft)(m).change()
	return nil
}

// applied takes note of a record. One that is none of ours is nobody's.
func (m *kraftMachine) applied(r node.Record) {
	if len(r.Value) == 0 {
		return
	}
	switch value := r.Value[1:]; r.Value[0] {
	case kindGenesis:
		if m.id == "" {
			m.id = string(value)
		}
	case kindCheckpoint:
		m.checkpoints = append(m.checkpoints, checkpointAt{r.Offset, bytes.Clone(value)})
	case kindTrim:
		if len(value) == 8 {
			m.trim = max(m.trim, int64(binary.BigEndian.Uint64(value)))
		}
	}
}

// Snapshot implements [node.Machine]; snapshots are made by TrimTo.
func (m *kraftMachine) Snapshot() (func(node.SnapshotWriter) error, error) {
	return nil, errors.New("no snapshot is due but where the journal is trimmed")
}

// Load implements [node.Machine].
func (m *kraftMachine) Load(r node.SnapshotReader) error {
	var id string
	err := r.Records(func(value []byte) error {
		if len(value) > 0 && value[0] == kindGenesis {
			id = string(value[1:])
		}
		return nil
	})
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.id, m.checkpoints = id, nil
	(*KRaft)(m).change()
	return nil
}

// LeaderChange implements [node.Machine].
func (m *kraftMachine) LeaderChange(node.Leadership) {
	m.mu.Lock()
	defer m.mu.Unlock()
	(*KRaft)(m).change()
}

// until waits until f, which is called with mu, says true.
func (k *KRaft) until(ctx context.Context, f func() bool) error {
	for {
		k.mu.Lock()
		ok, changed := f(), k.changed
		k.mu.Unlock()
		if ok {
			return nil
		}
		if err := k.wait(ctx, changed); err != nil {
			return err
		}
	}
}

// ID implements [Journal]. It waits for the journal to have one.
func (k *KRaft) ID(ctx context.Context) (id string, err error) {
	err = k.until(ctx, func() bool { id = k.id; return id != "" })
	return id, err
}

// Bounds implements [Journal]. It waits for a leader, and for what that has committed to
// be here.
func (k *KRaft) Bounds(ctx context.Context) (Bounds, error) {
	for {
		k.mu.Lock()
		changed := k.changed
		k.mu.Unlock()
		end, err := k.EndAsLeader(ctx)
		if notLeader := (*NotLeaderError)(nil); errors.As(err, &notLeader) && notLeader.Leader >= 0 && k.peers != nil {
			end, err = k.peers.End(ctx, notLeader.Leader)
		}
		if err == nil {
			err = k.until(ctx, func() bool { return int64(k.n.State().HighWatermark) >= end })
			return Bounds{int64(k.n.State().LogStart), end}, err
		}
		if err := k.wait(ctx, changed); err != nil {
			return Bounds{}, err
		}
	}
}

// EndAsLeader is the end of what is committed, which only a leader knows. Errors:
// *NotLeaderError.
func (k *KRaft) EndAsLeader(ctx context.Context) (int64, error) {
	end, err := k.n.Read(ctx)
	return end, mapError(err)
}

// EpochAt implements [Journal].
func (k *KRaft) EpochAt(_ context.Context, offset int64) (int32, error) {
	if epoch, ok := k.n.EpochOf(offset); ok && offset < int64(k.n.State().HighWatermark) {
		return epoch, nil
	}
	return 0, ErrNoEpoch
}

// Append implements [Journal]. A node that does not lead has the one that does append.
func (k *KRaft) Append(ctx context.Context, value []byte) (int64, error) {
	return k.propose(ctx, kindOp, value)
}

// AppendAll appends many records at once, if this node leads: all of them, or none. It is
// for bringing in a journal that there was before.
func (k *KRaft) AppendAll(ctx context.Context, values [][]byte) (first int64, err error) {
	records := make([][]byte, len(values))
	for i, v := range values {
		records[i] = append([]byte{kindOp}, v...)
	}
	first, _, err = k.n.Propose(ctx, records)
	return first, mapError(err)
}

// propose appends here or where the leader is. It waits for a leader.
func (k *KRaft) propose(ctx context.Context, kind byte, value []byte) (int64, error) {
	for {
		k.mu.Lock()
		changed := k.changed
		k.mu.Unlock()
		offset, err := k.ProposeAsLeader(ctx, kind, value)
		notLeader := (*NotLeaderError)(nil)
		if !errors.As(err, &notLeader) {
			return offset, err
		}
		if notLeader.Leader >= 0 && k.peers != nil {
			if offset, err = k.peers.Propose(ctx, notLeader.Leader, kind, value); !errors.As(err, &notLeader) {
				return offset, err
			}
		}
		// Nothing has happened: it may be tried again.
		if e := k.wait(ctx, changed); e != nil {
			return 0, errors.Join(err, e)
		}
	}
}

// ProposeAsLeader appends a record if this node leads. Errors: those of Append.
func (k *KRaft) ProposeAsLeader(ctx context.Context, kind byte, value []byte) (int64, error) {
	switch kind {
	case kindOp, kindCheckpoint, kindTrim:
	default:
		return 0, fmt.Errorf("%q is no kind of a record", kind)
	}
	offset, _, err := k.n.Propose(ctx, [][]byte{append([]byte{kind}, value...)})
	return offset, mapError(err)
}

func mapError(err error) error {
	var op *node.OpError
	switch {
	case err == nil:
		return nil
	case errors.Is(err, node.ErrUnknown):
		return fmt.Errorf("%w: %w", ErrUnknown, err)
	case errors.Is(err, node.ErrNotLeader) && errors.As(err, &op):
		return &NotLeaderError{Leader: int32(op.Leader)}
	}
	return err
}

// Read implements [Journal].
func (k *KRaft) Read(ctx context.Context, from int64) ([]Record, int64, error) {
	for {
		k.mu.Lock()
		changed := k.changed
		k.mu.Unlock()
		batches, next, err := k.n.Committed(from, readBytes)
		if errors.Is(err, node.ErrOffset) {
			s := k.n.State()
			return nil, from, &HoleError{from, Bounds{int64(s.LogStart), int64(s.HighWatermark)}}
		}
		if err != nil {
			return nil, from, err
		}
		if next > from {
			var records []Record
			for _, b := range batches {
				for _, r := range b.Records {
					if r.Offset >= from && len(r.Value) > 0 && r.Value[0] == kindOp {
						records = append(records, Record{r.Offset, b.Epoch, r.Value[1:]})
					}
				}
			}
			return records, next, nil
		}
		if err := k.wait(ctx, changed); err != nil {
			return nil, from, err
		}
	}
}

// TrimTo implements [Journal]: all nodes do.
func (k *KRaft) TrimTo(ctx context.Context, offset int64) (int64, error) {
	if _, err := k.propose(ctx, kindTrim, binary.BigEndian.AppendUint64(nil, uint64(offset))); err != nil {
		return int64(k.n.State().LogStart), err
	}
	return k.trimHere(ctx, offset)
}

func (k *KRaft) trimHere(ctx context.Context, offset int64) (int64, error) {
	k.trimming.Lock()
	defer k.trimming.Unlock()
	k.mu.Lock()
	id := k.id
	k.mu.Unlock()
	return k.n.TrimTo(ctx, offset, func(w node.SnapshotWriter) error {
		return w.Append([][]byte{append([]byte{kindGenesis}, id...)})
	})
}

// Checkpoints implements [Journal].
func (k *KRaft) Checkpoints(ctx context.Context) (all [][]byte, err error) {
	b, err := k.Bounds(ctx)
	if err != nil {
		return nil, err
	}
	err = k.until(ctx, func() bool { return k.n.State().Applied >= b.End })
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.checkpoints {
		if c.offset >= b.Start {
			all = append(all, c.value)
		}
	}
	return all, err
}

// AddCheckpoint implements [Journal].
func (k *KRaft) AddCheckpoint(ctx context.Context, value []byte) error {
	_, err := k.propose(ctx, kindCheckpoint, value)
	return err
}

// Close implements [Journal]. A leader resigns first.
func (k *KRaft) Close() error { return k.end(k.n.Close) }

// Kill ends the journal as a crash of the process would.
func (k *KRaft) Kill() {
	_ = k.end(func() error { k.n.Kill(); return nil })
}

func (k *KRaft) end(f func() error) error {
	k.stop()
	err := f()
	k.wg.Wait()
	return err
}
