package checker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// explained lists every step between reachable states in words, with what it takes
// and sends.
func explained[S comparable](spec Spec[S]) []string {
	var list []string
	var queue []S
	known := map[S]bool{}
	visit := func(s *S) {
		if !known[*s] {
			known[*s] = true
			queue = append(queue, *s)
		}
	}
	spec.Init(newCollector(func(c successor[S]) { visit(c.state) }))
	for n := 0; n < len(queue); n++ {
		state := queue[n]
		spec.Next(&state, newCollector(func(c successor[S]) {
			list = append(list, fmt.Sprintf("%v: %d %v %+v", spec.Describe(&state), c.process, c.instance, c.detail))
			visit(c.state)
		}))
	}
	slices.Sort(list)
	return list
}

// Both engines say the same of what each step takes, keeps and sends.
func TestStepsSayWhatTheySend(t *testing.T) {
	three := 2
	if testing.Short() {
		three = 1
	}
	for _, sys := range []*relay{
		{processes: 2, inFlight: 2, maxSeq: 1, budgets: [4]uint8{0, 1, 1, 1}},
		{processes: 3, inFlight: three, maxSeq: 1, conn: true, budgets: [4]uint8{0, 0, 1, 0}},
		{processes: 2, inFlight: 2, maxSeq: 1, immediate: true},
	} {
		interned := explained(Interned(sys))
		assert.Equal(t, explained(Flat(sys)), interned)
		assert.NotEmpty(t, interned)
	}
}

// A trace has, for each message that a step takes, an earlier step that sent it.
func TestTraceSays(t *testing.T) {
	sys := &relay{processes: 2, inFlight: 2, maxSeq: 2, budgets: [4]uint8{0, 0, 0, 1}}
	r, err := Find(Interned(sys), "answers == 2 && inFlight == 1", Options{Workers: 1})
	require.NoError(t, err)
	require.Equal(t, Found, r.Status)
	assert.Equal(t, []string{"A", "B"}, r.Processes)
	flight := map[string]int{}
	for _, f := range r.Witness[0].Fields {
		if m, ok := strings.CutPrefix(f.Path, "network."); ok {
			flight[m]++
		}
	}
	for n, s := range r.Witness {
		if s.Message != "" {
			assert.Positive(t, flight[s.Message], "step %d takes %q, which nobody sent", n, s.Message)
			if !s.Kept {
				flight[s.Message]--
			}
		}
		for _, m := range s.Sends {
			flight[m.Message]++
		}
	}
}
