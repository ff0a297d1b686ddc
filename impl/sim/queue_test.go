package sim

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestQueue: in order of time, and what was put first comes first.
func TestQueue(t *testing.T) {
	r := &rng{state: 1}
	var q queue
	var want []item
	for n := range 2000 {
		if r.chance(600) || len(want) == 0 {
			it := item{at: Time(r.below(50)), node: n}
			q.push(it)
			want = append(want, it)
			continue
		}
		first := 0
		for i := range want {
			if want[i].at < want[first].at {
				first = i
			}
		}
		at, ok := q.next()
		require.True(t, ok)
		require.Equal(t, want[first].at, at)
		require.Equal(t, want[first], q.pop())
		want = slices.Delete(want, first, first+1)
	}
	for len(want) > 0 {
		q.pop()
		want = want[1:]
	}
	_, ok := q.next()
	require.False(t, ok)
}
