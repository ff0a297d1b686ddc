package fs

import (
	"crypto/sha256"
	"encoding/binary"
	"iter"
	"maps"
	"slices"
)

// Fingerprint is a digest of all names and contents of a disk.
type Fingerprint [sha256.Size]byte

// Crashes yields every disk that a crash now can leave, each once, as [Double.Crash]
// with every possible Chooser would, by its fingerprint. Their number is the product of
// the contents that each file may have, over all sets of names: use it where few things
// were not flushed.
func (d *Double) Crashes() iter.Seq2[Fingerprint, func() *Double] {
	return func(yield func(Fingerprint, func() *Double) bool) {
		d.mu.Lock()
		root := d.root.clone(map[*node]*node{})
		d.mu.Unlock()
		e := images{contents: map[*node][]image{}}
		e.each(root, func(after image) bool {
			return yield(after.print, func() *Double { return &Double{root: after.n.clone(map[*node]*node{})} })
		})
	}
}

// Clone returns a disk that is the same, also in what is not flushed. Faults are not
// copied, counters go on.
func (d *Double) Clone() *Double {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.cloned()
}

func (d *Double) cloned() *Double {
	return &Double{root: d.root.clone(map[*node]*node{}), ops: d.ops, reads: d.reads}
}

// Dead says whether the process was stopped by the fault [Crash].
func (d *Double) Dead() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dead
}

// clone copies a tree, with what was removed from it and may come back.
func (n *node) clone(memo map[*node]*node) *node {
	if n == nil {
		return nil
	}
	if done := memo[n]; done != nil {
		return done
	}
	c := &node{dir: n.dir, data: slices.Clone(n.data), disk: slices.Clone(n.disk), pending: slices.Clone(n.pending)}
	memo[n] = c
	if !n.dir {
		return c
	}
	copied := func(names map[string]*node) map[string]*node {
		m := make(map[string]*node, len(names))
		for name, child := range names {
			m[name] = child.clone(memo)
		}
		return m
	}
	c.names, c.diskNames = copied(n.names), copied(n.diskNames)
	c.pendingNames = slices.Clone(n.pendingNames)
	for i := range c.pendingNames {
		c.pendingNames[i].node = c.pendingNames[i].node.clone(memo)
	}
	return c
}

// image is what a crash leaves of a tree.
type image struct {
	n     *node
	print Fingerprint
}

// images are the trees that crashes can leave.
type images struct {
	contents map[*node][]image // of files
}

// each calls yield with each image of a tree, which is good during the call, until it
// returns false.
func (e *images) each(n *node, yield func(image) bool) bool {
	if !n.dir {
		for _, i := range e.of(n) {
			if !yield(i) {
				return false
			}
		}
		return true
	}
	for _, names := range nameSets(n) {
		p := product{e: e, names: names, chosen: map[*node]image{}, out: newDir(), yield: yield}
		if !p.next(slices.Sorted(maps.Keys(names)), make([]byte, 1, 1024)) {
			return false
		}
	}
	return true
}

// product gives each name of a directory one of the images of what it leads to, in every
// way.
type product struct {
	e     *images
	names map[string]*node
	// chosen: one file may have two names, that from before a rename and that from after
	// another one.
	chosen map[*node]image
	out    *node
	yield  func(image) bool
}

// next does so for the names that are left. text has the names and fingerprints of the
// others.
func (p *product) next(left []string, text []byte) bool {
	if len(left) == 0 {
		return p.yield(image{p.out, sha256.Sum256(text)})
	}
	name, child := left[0], p.names[left[0]]
	set := func(i image) bool {
		p.out.names[name], p.out.diskNames[name] = i.n, i.n
		return p.next(left[1:], append(append(append(text, name...), 0), i.print[:]...))
	}
	if i, ok := p.chosen[child]; ok {
		return set(i)
	}
	defer delete(p.chosen, child)
	return p.e.each(child, func(i image) bool {
		p.chosen[child] = i
		return set(i)
	})
}

// of returns what a crash may leave of a file, each content once.
func (e *images) of(n *node) []image {
	if all, ok := e.contents[n]; ok {
		return all
	}
	seen := map[Fingerprint]bool{}
	var all []image
	answers(func(keep Chooser) {
		data := n.crashData(keep)
		print := sha256.Sum256(append([]byte{1}, data...))
		if !seen[print] {
			seen[print] = true
			all = append(all, image{&node{data: data, disk: data}, print})
		}
	})
	e.contents[n] = all
	return all
}

// nameSets are the names that a crash may leave in a directory, each set once.
func nameSets(n *node) []map[string]*node {
	number := map[*node]uint64{} // of the files, so that sets can be compared
	key := func(names map[string]*node) string {
		var b []byte
		for _, name := range slices.Sorted(maps.Keys(names)) {
			child := names[name]
			if _, ok := number[child]; !ok {
				number[child] = uint64(len(number))
			}
			b = binary.AppendUvarint(append(append(b, name...), 0), number[child])
		}
		return string(b)
	}
	all := []map[string]*node{maps.Clone(n.diskNames)}
	seen := map[string]bool{key(all[0]): true}
	for _, c := range n.pendingNames {
		for _, names := range all[:len(all):len(all)] {
			names = maps.Clone(names)
			c.apply(names)
			if k := key(names); !seen[k] {
				seen[k] = true
				all = append(all, names)
			}
		}
	}
	return all
}

// answers calls do with Choosers that together answer its questions in every way.
func answers(do func(Chooser)) {
	var given []bool // counts up in binary
	for {
		asked := 0
		do(func(Op) bool {
			if asked == len(given) {
				given = append(given, false)
			}
			asked++
			return given[asked-1]
		})
		last := asked - 1
		for last >= 0 && given[last] {
			last--
		}
		if last < 0 {
			return
		}
		given[last] = true
		given = given[:last+1]
	}
}

// FlushAll makes all that is pending durable, as a system does on its own in time. It is
// no operation.
func (d *Double) FlushAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.root.flushAll(map[*node]bool{})
}

func (n *node) flushAll(done map[*node]bool) {
	if n == nil || done[n] {
		return
	}
	done[n] = true
	n.disk, n.pending = slices.Clone(n.data), nil
	n.diskNames, n.pendingNames = maps.Clone(n.names), nil
	for _, child := range n.names {
		child.flushAll(done)
	}
}
