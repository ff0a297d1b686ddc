package controller

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/node"
)

// resource is what has configurations.
type resource struct {
	kind int8
	name string
}

// state is what the records so far amount to. The machine's goroutine changes it.
type state struct {
	mu      sync.RWMutex
	configs map[resource]map[string]string // guarded by mu; no empty one
	// versioned: the log has a metadata.version.
	versioned atomic.Bool

	// Of the machine's goroutine only.
	other       [][]byte       // records of other types that still count, in order
	places      map[string]int // in other, of those of which only the last one counts
	transaction [][]byte       // a transaction that has not ended, from its begin on
}

// get is a configuration, false if it is not set.
func (s *state) get(r resource, name string) (string, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	v, ok := s.configs[r][name]
	return v, ok
}

// all are the configurations of a resource.
func (s *state) all(r resource) map[string]string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return maps.Clone(s.configs[r])
}

// Apply implements [node.Machine].
func (s *state) Apply(b node.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range b.Records {
		if err := s.replay(r.Value); err != nil {
			return fmt.Errorf("record %d: %w", r.Offset, err)
		}
	}
	return nil
}

// replay applies a record (QuorumController.replay). Those of a transaction count when it
// ends.
func (s *state) replay(b []byte) error {
	r, err := metadata.Decode(b)
	if err != nil {
		return err
	}
	switch {
	case r.Type == metadata.TypeBeginTransaction:
		s.transaction = [][]byte{slices.Clone(b)}
	case r.Type == metadata.TypeAbortTransaction:
		s.transaction = nil
	case r.Type == metadata.TypeEndTransaction:
		records := s.transaction
		s.transaction = nil
		for _, b := range records[min(1, len(records)):] {
			if err := s.replay(b); err != nil {
				return err
			}
		}
	case r.Type == metadata.TypeNoOp:
	case s.transaction != nil:
		s.transaction = append(s.transaction, slices.Clone(b))
	case r.Config != nil:
		s.set(r.Config)
	case r.Feature != "":
		s.last("feature "+r.Feature, b)
		if r.Feature == metadata.VersionFeature {
			s.versioned.Store(true)
		}
	case r.Type == metadata.TypeRegisterController && r.Version == 0:
		s.last(fmt.Sprintf("controller %d", r.Controller), b)
	default:
		s.other = append(s.other, slices.Clone(b))
	}
	return nil
}

// last keeps a record in place of the one before of the same name.
func (s *state) last(name string, b []byte) {
	if at, ok := s.places[name]; ok {
		s.other[at] = slices.Clone(b)
		return
	}
	if s.places == nil {
		s.places = map[string]int{}
	}
	s.places[name] = len(s.other)
	s.other = append(s.other, slices.Clone(b))
}

func (s *state) set(r *metadata.ConfigRecord) {
	key := resource{r.ResourceType, r.ResourceName}
	of := s.configs[key]
	if r.Value == nil {
		if delete(of, r.Name); len(of) == 0 {
			delete(s.configs, key)
		}
		return
	}
	if of == nil {
		if s.configs == nil {
			s.configs = map[resource]map[string]string{}
		}
		of = map[string]string{}
		s.configs[key] = of
	}
	of[r.Name] = *r.Value
}

// Snapshot implements [node.Machine]: first the records of other types, then
// ConfigRecords by resource and name. There is none without a metadata.version: it would
// be newer than a bootstrap snapshot, and hold nothing of it (MaySnapshot of
// spec/bootstrap). There is none within a transaction, which may yet be aborted.
func (s *state) Snapshot() (func(node.SnapshotWriter) error, error) {
	if !s.versioned.Load() || s.transaction != nil {
		return nil, node.ErrNoSnapshot
	}
	other := slices.Clone(s.other)
	configs := make(map[resource]map[string]string, len(s.configs))
	for r, of := range s.configs { // who reads beside it changes nothing
		configs[r] = maps.Clone(of)
	}
	return func(w node.SnapshotWriter) error { return write(w, other, configs) }, nil
}

// written is how many records are encoded before they are handed over.
const written = 1000

func write(w node.SnapshotWriter, other [][]byte, configs map[resource]map[string]string) error {
	for part := range slices.Chunk(other, written) {
		if err := w.Append(part); err != nil {
			return err
		}
	}
	resources := slices.SortedFunc(maps.Keys(configs), func(a, b resource) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
	})
	var records [][]byte
	for _, r := range resources {
		of := configs[r]
		for _, name := range slices.Sorted(maps.Keys(of)) {
			value := of[name]
			records = append(records, metadata.ConfigRecord{ResourceType: r.kind, ResourceName: r.name, Name: name, Value: &value}.Append(nil))
			if len(records) == written {
				if err := w.Append(records); err != nil {
					return err
				}
				records = records[:0]
			}
		}
	}
	return w.Append(records)
}

// Load implements [node.Machine].
func (s *state) Load(r node.SnapshotReader) error {
	var loaded state
	n := 0
	err := r.Records(func(b []byte) error {
		if err := loaded.replay(b); err != nil {
			return fmt.Errorf("record %d: %w", n, err)
		}
		n++
		return nil
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.configs, s.other, s.places = loaded.configs, loaded.other, loaded.places
	s.versioned.Store(loaded.versioned.Load())
	s.transaction = loaded.transaction
	return nil
}
