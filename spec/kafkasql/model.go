package kafkasql

import (
	"fmt"
	"strings"
)

// Model is a box that is explored to the end.
type Model struct {
	Name, Why string
	Variant   Variant
	// Instances, of which the first Up are ready in the beginning.
	Instances, Up int
	// Script is what clients append, in this order; the first Written are there, and applied,
	// in the beginning.
	Script  []Kind
	Written int
	// Fine: an image is copied, and uploaded, in two steps each.
	Fine bool
	// Attempts at checkpoints, and how many images are kept.
	Attempts, Keep int
	// Unread is how many records of A's coordination topic there may be that somebody has not
	// read, at most MaxCoord.
	Unread int
	// Budgets.
	Crashes, Pauses, Trims, Damages, Rewinds, Lost, Moves, Jumps, Collections, Disks, Failures uint8
	// Recreates: a rewind may be a new topic. KeepDisk: databases survive crashes. Clients:
	// writes are waited for. LosesUploads: damage is an upload that the store does not keep.
	// BoundedClocks: a lease expires only if its holder has ended or is paused.
	// JudgesService, Scheduled: the properties that ask for it are judged.
	// Readers: instances that are not up in the beginning make no checkpoints.
	Readers                                                                             bool
	Recreates, KeepDisk, Clients, LosesUploads, BoundedClocks, JudgesService, Scheduled bool
	// Lives is how often an instance starts, where that has to be told apart (A); 0: it need
	// not.
	Lives uint8
	// LockOnly: A's lock without images and journal. Nothing is counted, and whoever is up has
	// at most Unread records before it: others append only then.
	LockOnly bool
	// Endless: clients write for ever, as fast as others read.
	Endless bool
	// Versions of the program, if not all 1.
	Versions []uint8
	// Decides takes decisions that a variant leaves open in another way.
	Decides func(r *Rules)
	Deep    bool
	Unsafe  string
}

func (m *Model) constants() string {
	plural := func(n int, what string) string {
		if n == 1 {
			return fmt.Sprintf("1 %s", what)
		}
		return fmt.Sprintf("%d %ss", n, what)
	}
	var ops []string
	for _, k := range m.Script {
		ops = append(ops, kindNames[k])
	}
	s := fmt.Sprintf("%s: %s, %d of them up, %s, %s, %d kept", m.Variant, plural(m.Instances, "instance"), m.Up, strings.Join(ops, " "), plural(m.Attempts, "attempt"), m.Keep)
	for _, b := range []struct {
		n    uint8
		name string
	}{
		{m.Crashes, "crashes"}, {m.Pauses, "pauses"}, {m.Trims, "trims"}, {m.Collections, "collections"}, {m.Damages, "damages"}, {m.Disks, "lost disks"}, {m.Rewinds, "rewinds"},
		{m.Lost, "lost acknowledgements"}, {m.Failures, "failed attempts"}, {m.Moves, "changes of version"}, {m.Jumps, "clock jumps"},
	} {
		if b.n > 0 {
			s += fmt.Sprintf(", %s %d", b.name, b.n)
		}
	}
	for _, b := range []struct {
		ok   bool
		name string
	}{{m.Fine, "fine steps"}, {m.Readers, "others only read"}, {m.Recreates, "topic re-created"}, {m.KeepDisk, "local disks"}, {m.Clients, "clients wait"}, {m.LosesUploads, "uploads not kept"}, {m.BoundedClocks, "bounded clocks"}, {m.Scheduled, "scheduled"}, {m.LockOnly, "the lock alone"}} {
		if b.ok {
			s += ", " + b.name
		}
	}
	return s
}
