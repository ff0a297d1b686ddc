package event

import "fmt"

// AppendRun adds a run to runs: in the last one if both are of one epoch and kind, unless
// they hold voter sets, which are runs of their own. All runs that are read from a log are
// merged here.
func AppendRun(runs []Run, r Run) []Run {
	if n := len(runs); n > 0 && runs[n-1].Epoch == r.Epoch && runs[n-1].Kind == r.Kind && r.Kind != KRaftVoters {
		runs[n-1].Count += r.Count
		return runs
	}
	return append(runs, r)
}

// CheckRuns says which of the runs no reader takes, or nil: one of KRaftVoters records has
// one record.
func CheckRuns(runs []Run) error {
	for i := range runs {
		if why := runs[i].wrong(); why != "" {
			return fmt.Errorf("[%d]: %s", i, why)
		}
	}
	return nil
}

func (r *Run) wrong() string {
	if r.Kind == KRaftVoters && r.Count != 1 {
		return fmt.Sprintf("a run of %d %s records: each is a run of its own", r.Count, r.Kind)
	}
	return ""
}
