package checker

import (
	"bytes"
	"fmt"
)

// orbit is what a search up to symmetry knows of a value of a component: what
// each permutation makes of it, and how each number that may move occurs in it.
type orbit struct {
	image []image // by number of the permutation
	// mark[a] tells how moved[a] occurs in the value, in a way that does not
	// depend on its name: permuting the value permutes the marks.
	mark [maxMoved]uint64
}

// image is a value and its hash, by number.
type image struct {
	hash uint64
	id   uint32
}

// orbits are those of all values of a System.
type orbits struct {
	*symmetry
	processes, messages, ghosts pages[orbit]
}

// family is how the values of one component are interned under symmetry.
type family[T any] struct {
	name    string
	in      *interner[T]
	orbits  *pages[orbit]
	permute func(p Perm, x *T) T
	hash    func(p Perm, x *T) uint64
	// enter writes what else the engine must know of a value before its number is
	// known to others.
	enter func(id uint32, p Perm, x *T, h uint64)
}

// intern numbers x, which is not known, and all its images at once: so that
// which of them came first is nowhere to be seen. It returns the number of x.
func (f *family[T]) intern(y *symmetry, x *T) uint32 {
	type member struct {
		value T
		hash  uint64
		by    Perm // what makes it of x
	}
	var members []member
	base := f.in.n + 1
	ids := make([]image, len(y.perms))
	for k, p := range y.perms {
		v := f.permute(p, x)
		h := f.hash(p, &v)
		j := 0
		for j < len(members) && (members[j].hash != h || !bytes.Equal(bytesOf(&members[j].value), bytesOf(&v))) {
			j++
		}
		if j == len(members) {
			members = append(members, member{v, h, p})
		}
		ids[k] = image{h, base + uint32(j)}
	}
	if !bytes.Equal(bytesOf(&members[0].value), bytesOf(x)) {
		panic(fmt.Errorf("the permutation that moves nothing changes a %s", f.name))
	}
	var mark [maxMoved]uint64
	for a, i := range y.moved {
		for k, p := range y.perms {
			mark[a] += mix(ids[k].hash^hashK1, (uint64(p[i])+1)*spread)
		}
	}
	f.in.room(len(members))
	for j := range members {
		m, id := &members[j], base+uint32(j)
		o := f.orbits.grow(id)
		o.image = make([]image, len(y.perms))
		for k, q := range y.perms {
			o.image[k] = ids[y.index(q.after(m.by))]
		}
		for a, i := range y.moved {
			o.mark[y.place(m.by[i])] = mark[a]
		}
		f.enter(id, m.by, &m.value, m.hash)
	}
	for j := range members {
		f.in.put(members[j].hash, &members[j].value)
	}
	return base
}

// place is where i stands in moved.
func (y *symmetry) place(i uint8) int { return bytes.IndexByte(y.moved, i) }
