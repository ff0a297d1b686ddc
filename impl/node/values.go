package node

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"sort"
	"sync"
)

// Value is a committed record.
type Value struct {
	Offset int64
	Value  []byte
}

// Values is the state machine of a node that is given none: it keeps every committed
// value in memory, and so grows without bound. It is there for tests, and for runs whose
// whole history is to be judged.
type Values struct {
	mu  sync.Mutex
	all []Value // guarded by mu; what is in it never changes
}

var _ Machine = (*Values)(nil)

// Apply implements [Machine].
func (v *Values) Apply(b Batch) error {
	size := 0
	for _, r := range b.Records {
		size += len(r.Value)
	}
	arena := make([]byte, 0, size)
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, r := range b.Records {
		at := len(arena)
		arena = append(arena, r.Value...)
		v.all = append(v.all, Value{Offset: r.Offset, Value: arena[at:len(arena):len(arena)]})
	}
	return nil
}

// Snapshot implements [Machine]: a record for each value, its offset before it.
func (v *Values) Snapshot() (func(SnapshotWriter) error, error) {
	cut := v.from(0, 0, math.MaxInt)
	return func(w SnapshotWriter) error {
		for part := range slices.Chunk(cut, 1000) {
			records := make([][]byte, len(part))
			for i, value := range part {
				records[i] = append(binary.BigEndian.AppendUint64(nil, uint64(value.Offset)), value.Value...)
			}
			if err := w.Append(records); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// Load implements [Machine].
func (v *Values) Load(r SnapshotReader) error {
	var all []Value
	err := r.Records(func(b []byte) error {
		if len(b) < 8 {
			return fmt.Errorf("record of %d bytes is no value with its offset", len(b))
		}
		all = append(all, Value{Offset: int64(binary.BigEndian.Uint64(b)), Value: slices.Clone(b[8:])})
		return nil
	})
	if err != nil {
		return err
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.all = all
	return nil
}

// LeaderChange implements [Machine].
func (v *Values) LeaderChange(Leadership) {}

// below returns the last value below an offset; its Offset is -1 if there is none.
func (v *Values) below(offset int64) Value {
	v.mu.Lock()
	defer v.mu.Unlock()
	i := sort.Search(len(v.all), func(i int) bool { return v.all[i].Offset >= offset })
	if i == 0 {
		return Value{Offset: -1}
	}
	return v.all[i-1]
}

// from returns at most limit values from an offset on (0: any number), and none after
// size bytes of them.
func (v *Values) from(offset int64, limit, size int) []Value {
	v.mu.Lock()
	defer v.mu.Unlock()
	i := sort.Search(len(v.all), func(i int) bool { return v.all[i].Offset >= offset })
	if limit <= 0 {
		limit = math.MaxInt
	}
	j := i
	for ; j < len(v.all) && j-i < limit && size > 0; j++ {
		size -= len(v.all[j].Value)
	}
	return v.all[i:j:j]
}
