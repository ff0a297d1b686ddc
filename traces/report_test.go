package traces

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces/event"
)

// rejection changes one event of a run, the first that change says yes to, and
// returns the report on it.
func rejection(t *testing.T, seed uint64, change func(e *event.Event) bool) (*Rejection, *event.Event) {
	t.Helper()
	all := read(t, generate(seed, three, 600, false))
	for _, events := range all {
		for i := range events {
			if e := copyEvent(&events[i]); change(e) {
				events[i] = *e
				res, err := Validate(write(all), Options{Run: three})
				require.NoError(t, err)
				require.Equal(t, Rejected, res.Verdict)
				t.Log("\n" + res.Rejection.Text())
				return res.Rejection, e
			}
		}
	}
	t.Fatal("no such event")
	return nil, nil
}

// TestReportValues: an action that was possible was refused by no guard, and there
// is none nearer.
func TestReportValues(t *testing.T) {
	r, _ := rejection(t, 3, func(e *event.Event) bool {
		if e.Action != "Flush" || e.Seq < 20 {
			return false
		}
		e.State.Epoch++
		return true
	})
	require.Equal(t, "Flush was possible, but not with this effect", r.Why)
	require.Empty(t, r.Guard)
	require.Empty(t, r.Nearest)
	require.NotContains(t, r.Text(), "guard")
	require.NotContains(t, r.Text(), "nearest")
}

// TestReportGuard: a guard that refused an action is named with what it looked at.
func TestReportGuard(t *testing.T) {
	r, e := rejection(t, 3, func(e *event.Event) bool {
		if e.Action != "Flush" || e.State.Flushed != e.State.LogEnd {
			return false
		}
		e.Durable.LogEnd++
		return true
	})
	require.Equal(t, "FlushInRange", r.Guard)
	require.Contains(t, r.Why, r.GuardValues)
	require.Contains(t, r.GuardValues, "durable.logEnd")
	require.Contains(t, r.GuardValues, "log end")
	require.NotEmpty(t, r.Nearest)
	require.Equal(t, e.Seq, r.Seq)
}

// TestReportName: where only the name of the action is wrong, the report says so.
func TestReportName(t *testing.T) {
	r, _ := rejection(t, 3, func(e *event.Event) bool {
		if e.Action != "Append" {
			return false
		}
		e.Action, e.Args.Count = "BecomeCandidate", 0
		return true
	})
	require.NotEmpty(t, r.Guard)
	require.NotContains(t, r.Text(), "1 differences")
	r, _ = rejection(t, 3, func(e *event.Event) bool {
		if e.Action != "Flush" {
			return false
		}
		e.Action = "HandleVoteRequest"
		return true
	})
	require.Equal(t, "the event cannot be a HandleVoteRequest", r.Why)
	require.Contains(t, r.Text(), "nearest enabled: Flush, which the event is but for its name")
}

// TestReportUnnamed: without a name no action was logged that might have been possible.
func TestReportUnnamed(t *testing.T) {
	r, _ := rejection(t, 3, func(e *event.Event) bool {
		if e.Action != "Flush" {
			return false
		}
		e.Action = ""
		e.State.Epoch += 100
		return true
	})
	require.Equal(t, "no action of the specification has this effect here", r.Why)
	require.NotEmpty(t, r.Nearest)
}

// recorded is a run of the repository.
func recorded(t *testing.T, name string) ([][]event.Event, *Run) {
	t.Helper()
	list, err := Recordings("recorded/" + name)
	require.NoError(t, err)
	require.Len(t, list, 1)
	return read(t, list[0].Inputs), list[0].Run
}

// TestReportCorrelation: an event that names another message than the one that came
// is blamed itself, not who waits for its node, and what came is shown.
func TestReportCorrelation(t *testing.T) {
	blamed, changed := 0, 0
	for _, by := range []int32{1, -1, 9000} {
		for at := 100; at < 500; at += 40 {
			all, run := recorded(t, "seed-11")
			i := at
			for r := all[1][i].Recv; r == nil || !r.Response; r = all[1][i].Recv {
				i++
			}
			e := copyEvent(&all[1][i])
			was := e.Recv.Correlation
			e.Recv.Correlation += by
			all[1][i] = *e
			res, err := Validate(write(all), Options{Run: run})
			require.NoError(t, err)
			require.Equal(t, Rejected, res.Verdict)
			changed++
			r := res.Rejection
			if r.Node != e.Node.ID || r.Seq != e.Seq {
				t.Logf("by %d: %s", by, r.Text())
				continue
			}
			blamed++
			require.Contains(t, r.Unmatched, fmt.Sprintf("sent correlation %d (", was))
			require.Contains(t, r.Unmatched, fmt.Sprintf("the event names %d", e.Recv.Correlation))
			for _, p := range r.Waiting {
				require.NotEqual(t, r.Node, p.Node)
				require.Positive(t, p.Line)
				require.Contains(t, r.Text(), fmt.Sprintf("%s:%d", p.File, p.Line))
			}
		}
	}
	t.Logf("%d changed, %d blamed", changed, blamed)
	require.Equal(t, changed, blamed)
}

// TestReportRecords: records are printed as they stand in the file.
func TestReportRecords(t *testing.T) {
	r, e := rejection(t, 3, func(e *event.Event) bool {
		if e.Action != "Append" || e.Log.Appended[0].Count < 2 {
			return false
		}
		e.Log.Appended[0].Count--
		return true
	})
	epoch, n := e.State.Epoch, e.Log.Appended[0].Count
	require.Contains(t, r.Text(), fmt.Sprintf(`log.appended: specification [[%d,"Data",%d]], trace [[%d,"Data",%d]]`, epoch, n+1, epoch, n))
	r, _ = rejection(t, 3, func(e *event.Event) bool {
		if e.Action != "HandleFetchResponse" || len(e.Recv.Records) == 0 {
			return false
		}
		e.Recv.HighWatermark++
		return true
	})
	require.Contains(t, r.Received, `records [[`)
}

// TestReportDigest: an event with two digests of one log contradicts itself; else the
// specification, which has no digests, is not the one that knows better.
func TestReportDigest(t *testing.T) {
	for _, inLog := range []bool{true, false} {
		r, e := rejection(t, 3, func(e *event.Event) bool {
			if e.Action != "Append" {
				return false
			}
			if inLog {
				e.Log.Digest++
			} else {
				e.State.Digest++
			}
			return true
		})
		require.Contains(t, r.Why, "contradicts itself")
		require.Contains(t, r.Text(), fmt.Sprintf("digest: %016x in state, %016x in log", e.State.Digest, e.Log.Digest))
		require.NotContains(t, r.Text(), "specification")
	}
	r, _ := rejection(t, 3, func(e *event.Event) bool {
		if e.Action != "HandleFetchResponse" || e.Log == nil {
			return false
		}
		e.State.Digest++
		e.Log.Digest++
		return true
	})
	require.Regexp(t, `^the log has another digest than the same records had at node \d+ \(node:\d+\)$`, r.Why)
}
