package checker

import (
	"encoding/binary"
	"fmt"
	"io"
)

// persistent is implemented by specifications whose states mean something only
// together with what the specification remembers, as the numbers of an interned
// System do. restore is called on a fresh one.
type persistent interface {
	save(w io.Writer) error
	restore(r io.Reader) error
}

// save implements persistent: all components in the order of their numbers, and of
// a process state also its position, since its number goes with that.
func (s *store[R, M, G]) save(w io.Writer) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := binary.Write(w, binary.LittleEndian, []uint32{s.procs.n, s.messages.n, s.ghosts.n}); err != nil {
		return err
	}
	for id := uint32(1); id <= s.procs.n; id++ {
		r := s.procs.values.at(id)
		position := 0
		for position < s.processes && processHash(position, r) != s.persons.at(id).hash {
			position++
		}
		if position == s.processes {
			return fmt.Errorf("process state %d has no position", id)
		}
		if _, err := w.Write(append([]byte{byte(position)}, bytesOf(r)...)); err != nil {
			return err
		}
	}
	for id := uint32(1); id <= s.messages.n; id++ {
		if _, err := w.Write(bytesOf(s.messages.values.at(id))); err != nil {
			return err
		}
	}
	for id := uint32(1); id <= s.ghosts.n; id++ {
		if _, err := w.Write(bytesOf(s.ghosts.values.at(id))); err != nil {
			return err
		}
	}
	return nil
}

// restore implements persistent.
func (s *store[R, M, G]) restore(r io.Reader) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := make([]uint32, 3)
	if err := binary.Read(r, binary.LittleEndian, n); err != nil {
		return err
	}
	position := make([]byte, 1)
	for id := range n[0] {
		var p R
		if _, err := io.ReadFull(r, position); err != nil {
			return err
		}
		if int(position[0]) >= s.processes {
			return fmt.Errorf("process state %d is of process %d of %d", id+1, position[0], s.processes)
		}
		if err := restoreOne(r, "process state", id+1, &p, func() uint32 { return s.internProcess(int(position[0]), &p) }); err != nil {
			return err
		}
	}
	for id := range n[1] {
		var m M
		if err := restoreOne(r, "message", id+1, &m, func() uint32 { return s.internMessage(&m) }); err != nil {
			return err
		}
	}
	for id := range n[2] {
		var g G
		if err := restoreOne(r, "ghost", id+1, &g, func() uint32 { return s.internGhostLocked(&g) }); err != nil {
			return err
		}
	}
	return nil
}

func restoreOne[T any](r io.Reader, what string, id uint32, x *T, intern func() uint32) error {
	if _, err := io.ReadFull(r, bytesOf(x)); err != nil {
		return err
	}
	if got := intern(); got != id {
		return fmt.Errorf("%s %d has become number %d", what, id, got)
	}
	return nil
}
