package checker

// ref says how a state was first reached: the ordinal of the state before it,
// and which of that state's successors it is, counted from 0 in the order in
// which Next emits them. Running Next again then finds the step, so that eight
// bytes a state are enough for counterexamples of any length.
type ref uint64

// ordinal numbers a distinct state: the worker that found it and its position
// in that worker's log.
type ordinal uint64

const (
	edgeBits   = 24
	indexBits  = 32
	maxWorkers = 1 << (64 - edgeBits - indexBits)
	maxEdge    = 1<<edgeBits - 1

	// initial stands for the state before an initial state.
	initial ordinal = 1<<(64-edgeBits) - 1
)

func makeRef(parent ordinal, edge uint32) ref { return ref(parent)<<edgeBits | ref(edge) }
func (r ref) parent() ordinal                 { return ordinal(r >> edgeBits) }
func (r ref) edge() uint32                    { return uint32(r & maxEdge) }

func makeOrdinal(worker int, index uint32) ordinal {
	return ordinal(worker)<<indexBits | ordinal(index)
}
func (o ordinal) worker() int   { return int(o >> indexBits) }
func (o ordinal) index() uint32 { return uint32(o) }

// parentLog has the ref of every state that one worker found first.
type parentLog struct {
	pages [][]uint64
	used  uint64
}

const logPage = 1 << 16

func (l *parentLog) add(r ref) {
	if l.used%logPage == 0 {
		l.pages = append(l.pages, allocWords(logPage))
	}
	l.pages[l.used/logPage][l.used%logPage] = uint64(r)
	l.used++
}

func (l *parentLog) at(index uint32) ref { return ref(l.pages[index/logPage][index%logPage]) }

func (l *parentLog) free() {
	for _, p := range l.pages {
		freeWords(p)
	}
	l.pages = nil
}
