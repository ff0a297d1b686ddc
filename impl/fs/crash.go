package fs

import (
	"maps"
	"slices"
)

// Chooser decides whether a crash keeps one operation that was not flushed. It
// is asked in a fixed order. The operation is one of
//
//   - OpCreate, OpRename, OpRemove, OpMkdir: a change of names; a rename is one
//     change;
//   - OpWrite: Off and Len are the part of a write within one sector. Once one
//     part of a sector is refused, later parts of it are not offered: a disk
//     holds a sector as it was at some moment;
//   - OpExtend: the file grows to Off although what was written there may be
//     lost, and reads as zeros then;
//   - OpTruncate.
//
// What it keeps is applied in the order in which it was done.
type Chooser func(Op) bool

// KeepAll keeps all that was not flushed.
func KeepAll(Op) bool { return true }

// KeepNone loses all that was not flushed.
func KeepNone(Op) bool { return false }

// KeepBelow keeps the operations with a number less than n: the disk as if its
// operations had become durable in order.
func KeepBelow(n int) Chooser {
	return func(op Op) bool { return op.N < n }
}

// LoseOnly keeps everything but one operation, by number.
func LoseOnly(n int) Chooser {
	return func(op Op) bool { return op.N != n }
}

// KeepOnly loses everything but one operation, by number.
func KeepOnly(n int) Chooser {
	return func(op Op) bool { return op.N == n }
}

// KeepRandom keeps about one in two, by a generator seeded with seed
// (splitmix64). One Chooser serves one crash.
func KeepRandom(seed uint64) Chooser {
	return func(Op) bool {
		seed += 0x9e3779b97f4a7c15
		z := seed
		z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
		z = (z ^ z>>27) * 0x94d049bb133111eb
		return (z^z>>31)&1 == 0
	}
}

// Crash returns the disk as it is found after a loss of power now: all that was
// flushed, and of the rest what keep chooses. All of it is durable. The receiver
// does not change, so one run can be crashed in many ways. Faults and counters
// start anew.
func (d *Double) Crash(keep Chooser) *Double {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &Double{root: d.root.crash(keep, map[*node]*node{})}
}

// Restart gives the disk to a new process after the one that used it died (see
// [Crash]) while the machine lived: everything is still seen, and what was not
// flushed still is not. Faults are cleared, counters go on.
func (d *Double) Restart() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.dead, d.full = false, false
	d.fault, d.rfault, d.watch = nil, nil, nil
}

// crash copies what survives. Names first, in the order of their changes, then
// what they lead to, sorted. Memo, because a name and its successor by an
// unflushed rename may lead to one file.
func (n *node) crash(keep Chooser, memo map[*node]*node) *node {
	if done := memo[n]; done != nil {
		return done
	}
	if !n.dir {
		data := n.crashData(keep)
		out := &node{data: data, disk: slices.Clone(data)}
		memo[n] = out
		return out
	}
	out := newDir()
	memo[n] = out
	names := maps.Clone(n.diskNames)
	for _, c := range n.pendingNames {
		if keep(c.op) {
			c.apply(names)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		child := names[name].crash(keep, memo)
		out.names[name] = child
		out.diskNames[name] = child
	}
	return out
}

func (n *node) crashData(keep Chooser) []byte {
	data := slices.Clone(n.disk)
	refused := map[int64]bool{} // sectors
	for _, c := range n.pending {
		if c.op.Kind != OpWrite {
			if keep(c.op) {
				data = c.apply(data)
			}
			continue
		}
		for off := c.op.Off; off < c.op.Off+int64(len(c.data)); {
			sector := off / SectorSize
			end := min((sector+1)*SectorSize, c.op.Off+int64(len(c.data)))
			part := c.op
			part.Off, part.Len = off, end-off
			if !refused[sector] && keep(part) {
				data = overwrite(data, c.data[off-c.op.Off:end-c.op.Off], off)
			} else {
				refused[sector] = true
			}
			off = end
		}
		extend := c.op
		extend.Kind, extend.Off, extend.Len = OpExtend, c.op.Off+int64(len(c.data)), 0
		if extend.Off > int64(len(data)) && keep(extend) {
			data = resize(data, extend.Off)
		}
	}
	return data
}

func (c dataOp) apply(data []byte) []byte {
	if c.op.Kind == OpWrite {
		return overwrite(data, c.data, c.op.Off)
	}
	return resize(data, c.op.Off)
}

func (n *node) write(op Op, p []byte, off int64) {
	if len(p) == 0 {
		return
	}
	n.data = overwrite(n.data, p, off)
	n.pending = append(n.pending, dataOp{op: op, data: slices.Clone(p)})
}

// truncate is also what emptying a file by Create is.
func (n *node) truncate(op Op, size int64) {
	op.Kind, op.Off = OpTruncate, size
	n.data = resize(n.data, size)
	n.pending = append(n.pending, dataOp{op: op})
}

// loseWrites forgets what was written since the last flush, as Linux does when
// writing back fails: the pages are clean and the process still sees them, but
// no later flush writes them. The length is kept.
func (n *node) loseWrites() {
	kept := n.pending[:0]
	for _, c := range n.pending {
		if c.op.Kind == OpWrite {
			if end := c.op.Off + int64(len(c.data)); end > int64(len(n.disk)) {
				n.disk = resize(n.disk, end)
			}
			continue
		}
		kept = append(kept, c)
	}
	n.pending = kept
}

func overwrite(data, p []byte, off int64) []byte {
	if end := off + int64(len(p)); end > int64(len(data)) {
		data = resize(data, end)
	}
	copy(data[off:], p)
	return data
}

func resize(data []byte, size int64) []byte {
	if size <= int64(len(data)) {
		return data[:size:size]
	}
	return append(data, make([]byte, size-int64(len(data)))...)
}
