package checker

// Tuple is a state of an interned System: numbers of its components, in one
// cache line. First the processes, then the messages in flight, sorted, 0
// beyond the last, then the ghosts, then the budget counters.
type Tuple [16]uint32

const (
	tupleNet     = MaxProcesses
	tupleGhost   = tupleNet + MaxMessages
	tupleBudgets = tupleGhost + 1 // three words of four counters
)

func (t *Tuple) budget(b Budget) uint8 {
	return uint8(t[tupleBudgets+b/4] >> (b % 4 * 8))
}

// spend counts one step of budget b. Its counter must be below its limit.
func (t *Tuple) spend(b Budget) {
	t[tupleBudgets+b/4] += 1 << (b % 4 * 8)
}

func (t *Tuple) ghost() uint32 { return t[tupleGhost] }

// messages is the number of messages in flight.
func (t *Tuple) messages() int {
	n := 0
	for n < MaxMessages && t[tupleNet+n] != 0 {
		n++
	}
	return n
}

// insert puts a message at its place among n others.
func (t *Tuple) insert(n int, message uint32) {
	x := tupleNet + n
	for ; x > tupleNet && t[x-1] > message; x-- {
		t[x] = t[x-1]
	}
	t[x] = message
}

// remove takes out the message at position x of n.
func (t *Tuple) remove(n, x int) {
	for y := x; y+1 < n; y++ {
		t[tupleNet+y] = t[tupleNet+y+1]
	}
	t[tupleNet+n-1] = 0
}
