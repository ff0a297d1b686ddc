package scenarios

import (
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/checker/linear"
	"github.com/quorate/quorate/traces/history"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// asked is what nodes answered who were asked for the id of their cluster, and when.
type asked struct {
	t     *testing.T
	began time.Time
	mu    sync.Mutex
	h     history.Objects
}

func newAsked(t *testing.T) *asked {
	return &asked{t: t, began: time.Now(), h: history.Objects{Object: history.ClusterID, Header: history.Header{Run: t.Name(), Clock: "ns"}}}
}

func (a *asked) now() int64 { return int64(time.Since(a.began)) }

// knows asks the ith node of a quorum once, and says what it knows; false: it was not
// reached, which says nothing.
func (a *asked) knows(q *quorum, i int) (string, bool) {
	req := kmsg.NewPtrDescribeClusterRequest()
	req.EndpointType = 2 // controllers
	call := a.now()
	r, err := ask[*kmsg.DescribeClusterResponse](a.t, q.addrs[i], req)
	if err != nil || r.ErrorCode != 0 {
		return "", false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.h.Ops = append(a.h.Ops, linear.ObjectOp{
		Client: int32(i + 1), Key: fmt.Sprint("node ", i+1), Call: call, Return: a.now(), Reads: true, Input: &linear.ClusterIDOp{ID: r.ClusterID},
	})
	return r.ClusterID, true
}

// learns asks all nodes of a quorum, at once and again and again, until each knows an id
// and has said so three times.
func (a *asked) learns(q *quorum) {
	var wg sync.WaitGroup
	for i := range q.addrs {
		wg.Go(func() {
			for said, until := 0, time.Now().Add(time.Minute); said < 3 && time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
				if id, ok := a.knows(q, i); ok && id != "" {
					said++
				}
			}
		})
	}
	wg.Wait()
}

// check holds the answers against nodes that each learn id at some time, nobody saw when,
// and know it for ever. CLUSTER_ID_HISTORY=file keeps them.
func (a *asked) check(q *quorum, id string) {
	for i := range q.addrs {
		a.h.Ops = append(a.h.Ops, linear.ObjectOp{
			Key: fmt.Sprint("node ", i+1), Return: a.now(), Outcome: linear.Unknown, Input: &linear.ClusterIDOp{Set: true, ID: id},
		})
	}
	if to := os.Getenv("CLUSTER_ID_HISTORY"); to != "" {
		f, err := os.Create(to)
		require.NoError(a.t, err)
		require.NoError(a.t, a.h.Write(f))
		require.NoError(a.t, f.Close())
	}
	res, err := a.h.Check(linear.Limits{}, "")
	require.NoError(a.t, err)
	require.Equal(a.t, linear.Linearizable, res.Verdict, "%s %+v", res.Reason, res.Violation)
	said := make(map[string]int)
	for _, op := range a.h.Ops {
		if op.Input.(*linear.ClusterIDOp).ID == id && op.Reads {
			said[op.Key]++
		}
	}
	require.Len(a.t, said, len(q.addrs), "each said what it knows")
}
