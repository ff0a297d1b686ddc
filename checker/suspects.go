package checker

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
)

// suspects has states of one worker that are not in the tables but may be on disk:
// the filter does not exclude it. They are looked up many at a time.
type suspects[S any] struct {
	keys  []uint64
	refs  []ref
	hints []uint32
	known []bool // found on disk
	data  []byte // packed one against the other
	codec codec[S]
	last  S
	most  int // of keys
}

// suspectBytes is what a state takes beside its packing.
const suspectBytes = 8 + 8 + 4 + 1

func (p *suspects[S]) init(bytes, mostPacked int) {
	// Packings take some twenty bytes as a rule, and are then what ends a batch as
	// often as their number.
	p.most = max(bytes/(suspectBytes+20+16), 2*ringSize) // 16: see lookUp
	p.keys, p.refs = make([]uint64, 0, p.most), make([]ref, 0, p.most)
	p.hints, p.known = make([]uint32, 0, p.most), make([]bool, 0, p.most)
	p.data = make([]byte, 0, max(p.most*20, 2*ringSize*mostPacked))
}

// full says that another batch might not fit.
func (p *suspects[S]) full() bool {
	return len(p.keys)+ringSize > p.most || cap(p.data)-len(p.data) < ringSize*p.codec.most()
}

func (p *suspects[S]) add(key uint64, s *S, r ref, hint uint32) {
	p.keys = append(p.keys, key)
	p.refs = append(p.refs, r)
	p.hints = append(p.hints, hint)
	p.data = p.codec.pack(p.data, &p.last, s)
}

func (p *suspects[S]) bytes() uint64 {
	return uint64(cap(p.keys)*suspectBytes + cap(p.data))
}

func (p *suspects[S]) clear() {
	p.keys, p.refs, p.hints, p.data = p.keys[:0], p.refs[:0], p.hints[:0], p.data[:0]
	clear(bytesOf(&p.last))
}

// each calls yield for those that are not on disk.
func (p *suspects[S]) each(yield func(s *S, key uint64, r ref, hint uint32)) {
	var s S
	data := p.data
	for i, key := range p.keys {
		data = p.codec.unpack(data, &s)
		if !p.known[i] {
			yield(&s, key, p.refs[i], p.hints[i])
		}
	}
}

// aside is the key of a suspect and where it is.
type aside struct {
	key    uint64
	worker uint32
	index  uint32
}

// lookUp finds out which suspects are on disk. The caller is the only one who
// uses the tables.
func (s *search[S]) lookUp() error {
	total := 0
	for _, w := range s.workers {
		p := &w.suspects
		p.known = p.known[:len(p.keys)]
		clear(p.known)
		total += len(p.keys)
	}
	if total == 0 {
		return nil
	}
	// Each helper takes keys of a range of its own, so reads other parts of the runs.
	helpers := max(1, min(len(s.workers), runtime.GOMAXPROCS(0), total/1024))
	var failure error
	var once sync.Once
	var wg sync.WaitGroup
	for h := range helpers {
		wg.Go(func() {
			if err := s.lookUpRange(h, helpers, total/helpers); err != nil {
				once.Do(func() { failure = err })
			}
		})
	}
	wg.Wait()
	return failure
}

func (s *search[S]) lookUpRange(part, parts, about int) error {
	list := make([]aside, 0, about+about/8)
	for id, w := range s.workers {
		for i, key := range w.suspects.keys {
			if home(key, parts) == part {
				list = append(list, aside{key, uint32(id), uint32(i)})
			}
		}
	}
	slices.SortFunc(list, func(a, b aside) int { return cmp.Compare(a.key, b.key) })
	const batch = 1 << 14
	keys, found := make([]uint64, 0, batch), make([]bool, batch)
	for len(list) > 0 {
		some := list[:min(batch, len(list))]
		list = list[len(some):]
		keys = keys[:0]
		for _, a := range some {
			keys = append(keys, a.key)
		}
		clear(found)
		if err := s.disk.runs.Lookup(keys, found[:len(some)]); err != nil {
			return err
		}
		for i, a := range some {
			s.workers[a.worker].suspects.known[a.index] = found[i]
		}
	}
	return nil
}

// settle decides about all suspects, within a level: whoever has the handles
// of all workers admits those that are new.
func (s *search[S]) settle(by *worker[S]) {
	if err := s.lookUp(); err != nil {
		panic(&engineError{err})
	}
	for _, w := range s.workers {
		w.suspects.each(by.admit)
		s.disk.settled.Add(uint64(len(w.suspects.keys)))
		w.suspects.clear()
	}
}

// settleLevel is settle at the end of a level, where each worker admits its own.
func (s *search[S]) settleLevel() error {
	if s.disk == nil {
		return nil
	}
	if err := s.lookUp(); err != nil {
		return err
	}
	var wg sync.WaitGroup
	for _, w := range s.workers {
		if len(w.suspects.keys) > 0 {
			wg.Go(func() {
				defer s.recoverInto()
				w.suspects.each(w.admit)
				s.disk.settled.Add(uint64(len(w.suspects.keys)))
				w.suspects.clear()
			})
		}
	}
	wg.Wait()
	return s.failure
}

// admit adds a state that has proved to be new.
func (w *worker[S]) admit(s *S, key uint64, r ref, hint uint32) {
	w.keep(s, 0)
	w.log.add(r)
	w.check(s, unscramble(key), r, hint)
}
