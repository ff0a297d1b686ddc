package journal

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Memory is a journal in memory, which several instances of one process may share.
type Memory struct {
	mu          sync.Mutex
	id          string
	epoch       int32
	start       int64
	records     []Record // from start on
	end         int64
	checkpoints [][]byte
	changed     chan struct{} // closed at each change
	closed      bool
	faults      func(what string) (before, after error)
}

// NewMemory makes an empty journal.
func NewMemory(id string) *Memory { return &Memory{id: id, epoch: 1, changed: make(chan struct{})} }

func (m *Memory) change() {
	close(m.changed)
	m.changed = make(chan struct{})
}

// ID implements [Journal].
func (m *Memory) ID(context.Context) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.id, nil
}

// Bounds implements [Journal].
func (m *Memory) Bounds(context.Context) (Bounds, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Bounds{m.start, m.end}, nil
}

// EpochAt implements [Journal].
func (m *Memory) EpochAt(_ context.Context, offset int64) (int32, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, found := m.at(offset)
	if !found {
		return 0, ErrNoEpoch
	}
	return m.records[i].Epoch, nil
}

func (m *Memory) at(offset int64) (int, bool) {
	return slices.BinarySearchFunc(m.records, offset, func(r Record, o int64) int { return int(r.Offset - o) })
}

// Append implements [Journal].
func (m *Memory) Append(_ context.Context, value []byte) (int64, error) {
	before, after := m.fault("append")
	if before != nil {
		return 0, before
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return 0, ErrClosed
	}
	offset := m.end
	m.records = append(m.records, Record{Offset: offset, Epoch: m.epoch, Value: value})
	m.end++
	m.change()
	return offset, after
}

func (m *Memory) fault(what string) (before, after error) {
	m.mu.Lock()
	f := m.faults
	m.mu.Unlock()
	if f == nil {
		return nil, nil
	}
	return f(what)
}

// SetFault has f asked before each append, "append" or "checkpoint". before makes it fail;
// after is told when it was made all the same. nil: no more.
func (m *Memory) SetFault(f func(what string) (before, after error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = f
}

// Read implements [Journal].
func (m *Memory) Read(ctx context.Context, from int64) ([]Record, int64, error) {
	for {
		m.mu.Lock()
		if m.closed {
			m.mu.Unlock()
			return nil, from, ErrClosed
		}
		if from < m.start || from > m.end {
			b := Bounds{m.start, m.end}
			m.mu.Unlock()
			return nil, from, &HoleError{from, b}
		}
		i, _ := m.at(from)
		some := slices.Clone(m.records[i:min(i+500, len(m.records))])
		changed, end := m.changed, m.end
		m.mu.Unlock()
		if len(some) > 0 {
			return some, some[len(some)-1].Offset + 1, nil
		}
		if from < end {
			return nil, end, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, from, ctx.Err()
		}
	}
}

// TrimTo implements [Journal].
func (m *Memory) TrimTo(_ context.Context, offset int64) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if offset > m.end {
		return m.start, fmt.Errorf("trim to %d: %w", offset, &HoleError{offset, Bounds{m.start, m.end}})
	}
	if offset > m.start {
		i, _ := m.at(offset)
		m.records, m.start = slices.Clone(m.records[i:]), offset
	}
	return m.start, nil
}

// Rewind takes the tail away from an offset on, as a leader does that was elected without
// having it, and goes on in another epoch.
func (m *Memory) Rewind(offset int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, _ := m.at(offset)
	m.records, m.end = m.records[:i:i], offset
	m.epoch++
	m.change()
}

// Recreate makes the journal an empty one of another identity. The list of checkpoints
// stays.
func (m *Memory) Recreate(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.id, m.records, m.start, m.end = id, nil, 0, 0
	m.change()
}

// DropCheckpoints empties the list.
func (m *Memory) DropCheckpoints() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.checkpoints = nil
}

// Checkpoints implements [Journal].
func (m *Memory) Checkpoints(context.Context) ([][]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.checkpoints), nil
}

// AddCheckpoint implements [Journal].
func (m *Memory) AddCheckpoint(_ context.Context, value []byte) error {
	before, after := m.fault("checkpoint")
	if before != nil {
		return before
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
	}
	m.checkpoints = append(m.checkpoints, value)
	return after
}

// Close implements [Journal].
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.closed = true
		m.change()
	}
	return nil
}
