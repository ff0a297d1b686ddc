package node

import (
	"math"
	"sort"
	"sync"

	"github.com/quorate/quorate/impl/log"
)

// Value is a committed record.
type Value struct {
	Offset int64
	Value  []byte
}

// machine is the state machine: the committed values in order. Only the loop
// changes it.
type machine struct {
	mu      sync.Mutex
	applied int64   // offset after the last record applied
	values  []Value // guarded by mu
	span    log.Span
}

const applyBytes = 1 << 20

// advance applies what is committed below hw: whole batches.
func (m *machine) advance(l *log.Log, hw int64) error {
	for m.applied < hw {
		if err := l.Read(&m.span, m.applied, applyBytes, hw); err != nil {
			return err
		}
		if m.span.End <= m.applied {
			return nil
		}
		if err := m.apply(); err != nil {
			return err
		}
	}
	return nil
}

func (m *machine) apply() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	it := log.NewBatches(m.span.Bytes)
	for it.Next() {
		b := it.Batch()
		if !b.Control {
			arena := make([]byte, 0, len(b.Bytes))
			err := b.Records(func(r log.Record) error {
				at := len(arena)
				arena = append(arena, r.Value...)
				m.values = append(m.values, Value{Offset: r.Offset, Value: arena[at:len(arena):len(arena)]})
				return nil
			})
			if err != nil {
				return err
			}
		}
		m.applied = b.End
	}
	return it.Err()
}

// below returns the last value below an offset.
func (m *machine) below(offset int64) (Value, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := sort.Search(len(m.values), func(i int) bool { return m.values[i].Offset >= offset })
	if i == 0 {
		return Value{Offset: -1}, false
	}
	return m.values[i-1], true
}

// from returns at most limit values from an offset on, about a MiB of them.
func (m *machine) from(offset int64, limit int) []Value {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := sort.Search(len(m.values), func(i int) bool { return m.values[i].Offset >= offset })
	if limit <= 0 {
		limit = math.MaxInt
	}
	j, size := i, 0
	for ; j < len(m.values) && j-i < limit && size < applyBytes; j++ {
		size += len(m.values[j].Value)
	}
	return m.values[i:j:j]
}
