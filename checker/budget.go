package checker

import (
	"fmt"
)

// budget is how a search within a given memory shares it out. What the model's own
// memos take is not part of it, since nobody can know it before.
type budget struct {
	slots    int // of each of the two tables
	filter   int // words
	chunks   int // bytes of frontier in memory
	suspects int // bytes of states put aside, for each worker
}

// The shares, in hundredths. The filter has the most to say: a state that it takes
// for known by mistake has to be looked up on disk. With a quarter of the memory
// that a search would take, it has some ten bits for each state.
const (
	tablesShare   = 45
	filterShare   = 30
	chunksShare   = 10
	suspectsShare = 15
	leastSuspects = 64 << 10
	leastForTable = 8 * quotaBlock * 8 // bytes for each worker in each table
)

// newBudget shares out mem bytes.
func newBudget(mem uint64, workers, chunkRoom int) (budget, error) {
	part := func(share int) int { return int(mem / 100 * uint64(share)) }
	b := budget{
		slots: part(tablesShare) / 2 / 8, filter: part(filterShare) / 8,
		chunks: part(chunksShare), suspects: part(suspectsShare) / workers,
	}
	least := max(
		uint64(workers*leastForTable+leastSlots*8)*2*100/tablesShare,
		uint64(workers*leastSuspects)*100/suspectsShare,
		uint64((workers+1)*4*chunkRoom)*100/chunksShare,
	)
	if mem < least {
		return budget{}, fmt.Errorf("a memory budget of %d bytes is too small: %d workers need %d at least", mem, workers, least)
	}
	return b, nil
}
