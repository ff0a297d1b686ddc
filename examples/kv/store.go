package main

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"github.com/quorate/quorate/impl/node"
)

// store is a map that a quorum replicates. It shows the shape that a state machine has:
// commands are records, Apply carries them out, and what Apply found is handed to whoever
// waits for it here.
type store struct {
	n *node.Node

	mu     sync.RWMutex
	values map[string]string
	// outcomes of commands that this node proposed, by the command's name.
	outcomes map[string]chan bool
}

// command is a record. One without IfOld sets a value whatever there was.
type command struct {
	Name  string  `json:"name,omitempty"` // of who waits for the outcome
	Key   string  `json:"key"`
	IfOld *string `json:"ifOld,omitempty"`
	Value string  `json:"value"` // empty: the key is deleted
}

func newStore() *store {
	return &store{values: map[string]string{}, outcomes: map[string]chan bool{}}
}

// Apply implements [node.Machine]: on every node, in the same order.
func (s *store) Apply(b node.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range b.Records {
		var c command
		if err := json.Unmarshal(r.Value, &c); err != nil {
			return err // nobody else writes here: this node cannot go on
		}
		swapped := c.IfOld == nil || s.values[c.Key] == *c.IfOld
		switch {
		case swapped && c.Value == "":
			delete(s.values, c.Key)
		case swapped:
			s.values[c.Key] = c.Value
		}
		if outcome := s.outcomes[c.Name]; outcome != nil {
			outcome <- swapped // there is room
		}
	}
	return nil
}

// Snapshot implements [node.Machine]. The copy is the cut; it is written meanwhile.
func (s *store) Snapshot() (func(node.SnapshotWriter) error, error) {
	s.mu.RLock()
	cut := maps.Clone(s.values)
	s.mu.RUnlock()
	return func(w node.SnapshotWriter) error {
		for _, key := range slices.Sorted(maps.Keys(cut)) {
			b, err := json.Marshal(command{Key: key, Value: cut[key]})
			if err != nil {
				return err
			}
			if err := w.Append([][]byte{b}); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// Load implements [node.Machine].
func (s *store) Load(r node.SnapshotReader) error {
	values := map[string]string{}
	err := r.Records(func(b []byte) error {
		var c command
		err := json.Unmarshal(b, &c)
		values[c.Key] = c.Value
		return err
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.values = values
	return nil
}

// LeaderChange implements [node.Machine]. A store does the same whoever leads.
func (s *store) LeaderChange(node.Leadership) {}

// Put sets a value, or deletes it if it is empty. With ifOld it does so only if the value
// was that, and says whether it was.
func (s *store) Put(ctx context.Context, name, key string, ifOld *string, value string) (bool, error) {
	outcome := make(chan bool, 1)
	s.mu.Lock()
	s.outcomes[name] = outcome
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.outcomes, name)
	}()
	b, err := json.Marshal(command{Name: name, Key: key, IfOld: ifOld, Value: value})
	if err != nil {
		return false, err
	}
	if _, _, err := s.n.Propose(ctx, [][]byte{b}); err != nil {
		return false, err // see errors.Is(err, node.ErrUnknown): it may yet happen
	}
	return <-outcome, nil // it has been applied
}

// Get is a linearizable read.
func (s *store) Get(ctx context.Context, key string) (string, error) {
	if _, err := s.n.Read(ctx); err != nil {
		return "", err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.values[key], nil
}
