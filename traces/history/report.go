package history

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/quorate/quorate/checker/linear"
)

// Stats say how hard a history is: one without overlap proves little.
type Stats struct {
	// Clients, Appends and Reads are numbers of what their names say.
	Clients, Appends, Reads int
	// Known, Unknown and Failed are numbers of operations by outcome.
	Known, Unknown, Failed int
	// LeaderChanges is the number of such marks, InFailover that of operations
	// that were under way during one.
	LeaderChanges, InFailover int
	// ConcurrentReads is the number of reads that were answered and during which
	// an append was, or may have been, under way.
	ConcurrentReads int
}

// Ops is the number of operations.
func (s *Stats) Ops() int { return s.Appends + s.Reads }

func measure(h *History) Stats {
	var s Stats
	clients := make(map[int32]bool)
	var calls, returns []int64 // of appends that may have taken effect
	for i := range h.Ops {
		op := &h.Ops[i]
		clients[op.Client] = true
		*[...]*int{&s.Known, &s.Unknown, &s.Failed}[op.Outcome]++
		if op.Kind == linear.Read {
			s.Reads++
			continue
		}
		s.Appends++
		if op.Outcome != linear.Failed {
			calls = append(calls, op.Call)
		}
		if op.Outcome == linear.Known {
			returns = append(returns, op.Return)
		}
	}
	s.Clients = len(clients)
	slices.Sort(calls)
	slices.Sort(returns)
	changes := failovers(h)
	for i := range h.Marks {
		if h.Marks[i].What == LeaderChange {
			s.LeaderChanges++
		}
	}
	for i := range h.Ops {
		op := &h.Ops[i]
		// The first change that does not end before the operation begins.
		n := sort.Search(len(changes), func(n int) bool { return changes[n].To >= op.Call })
		if n < len(changes) && changes[n].From <= op.Return {
			s.InFailover++
		}
		if op.Kind == linear.Read && op.Outcome == linear.Known {
			begun, _ := slices.BinarySearch(calls, op.Return+1)
			ended, _ := slices.BinarySearch(returns, op.Call)
			if begun > ended {
				s.ConcurrentReads++
			}
		}
	}
	return s
}

// failovers are the intervals of leader changes, in order, joined where they
// overlap.
func failovers(h *History) []Mark {
	var out []Mark
	for _, m := range h.Marks {
		if m.What == LeaderChange {
			out = append(out, m)
		}
	}
	slices.SortFunc(out, func(a, b Mark) int { return cmp.Compare(a.From, b.From) })
	joined := out[:0]
	for _, m := range out {
		if n := len(joined); n > 0 && m.From <= joined[n-1].To {
			joined[n-1].To = max(joined[n-1].To, m.To)
			continue
		}
		joined = append(joined, m)
	}
	return joined
}

// String is the report in one line, two if there is something to say.
func (r *Report) String() string {
	s := &r.Stats
	text := fmt.Sprintf("%s: %v: %d operations of %d clients (%d appends, %d reads; %d ok, %d unknown, %d failed); "+
		"%d while the leader changed (%d times), %d reads beside appends; register %v (%d searched)",
		r.Run, r.Verdict, s.Ops(), s.Clients, s.Appends, s.Reads, s.Known, s.Unknown, s.Failed,
		s.InFailover, s.LeaderChanges, s.ConcurrentReads, r.Register.Verdict, r.Register.Searched)
	if r.Why != "" {
		text += "\n  " + r.Why
	}
	return text
}

// rowFormat has one column for each word of RowHeader.
const rowFormat = "%-24s %-17s %9v %8v %8v %8v %9v %9v  %s"

// RowHeader is the line above the rows of a table of reports.
var RowHeader = strings.TrimRight(fmt.Sprintf(rowFormat, "run", "verdict", "ops", "ok", "unknown", "failed", "failover", "beside", "register"), " ")

// Row is the report as a row of a table: operations, those by outcome, those
// during a leader change, reads beside appends.
func (r *Report) Row() string {
	s := &r.Stats
	return fmt.Sprintf(rowFormat, r.Run, r.Verdict, s.Ops(), s.Known, s.Unknown, s.Failed, s.InFailover, s.ConcurrentReads, r.Register.Verdict)
}
