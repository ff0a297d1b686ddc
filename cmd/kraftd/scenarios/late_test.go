package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var _ = add(41, "a cluster with an id that is no UUID: an upgrade writes it, and a broker takes it, byte by byte", func(t *testing.T) {
	const id = "my cluster"
	q := newQuorum(t, 1, "", nil)
	v := q.places[0]
	v.formatted("-t", id)
	v.requireMeta(id, 1)
	v.requireZero(nil, append([]string{version(33)}, latest...)...)
	q.start()
	p := observer(t, q.voters)
	s := p.launch()
	q.upgrade(idVersion, 1)
	b := v.batches()
	require.Equal(t, text(mv(idVersion), idRecord(id)), b[len(b)-1])
	p.knows(id, s)
	for i := range 2 {
		require.Equal(t, fmt.Sprintf("cluster.id=%s\ndirectory.id=%s\nnode.id=4\nversion=2\n", id, p.meta(i).Directory), p.read(fmt.Sprintf("d%d/meta.properties", i)))
	}
})

var _ = add(44, "two processes on the same empty directories: one runs, and the directories have one id each", func(t *testing.T) {
	p := observer(t, "1@"+ports(t, 1)[0])
	both := []*process{p.launch(), p.launch()}
	var runs, ended *process
	eventually(t, "one serves and one has ended", func() bool {
		for i, s := range both {
			select {
			case <-s.exited:
				ended, runs = s, both[1-i]
			default:
			}
		}
		return ended != nil && strings.Contains(runs.said(), " serves ")
	})
	require.Positive(t, ended.ProcessState.ExitCode())
	require.Contains(t, ended.said(), "another process uses it")
	runs.runs()
	ids := []string{p.meta(0).Directory.String(), p.meta(1).Directory.String()}
	for i, id := range ids {
		require.Equal(t, 1, strings.Count(runs.said(), "directory="+id), "written once, by who runs: %s", p.dir(i))
	}
	require.Len(t, slices.Compact(slices.Sorted(slices.Values(ids))), 2)
})
