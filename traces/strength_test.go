package traces

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces/event"
)

// TestStrength: a recorded run with crashes tells some bugs from the specification, and says
// what it did not exercise; with less recorded it tells fewer.
func TestStrength(t *testing.T) {
	list, err := Recordings("recorded/seed-19")
	require.NoError(t, err)
	s, err := Measure(list[0].Inputs, Options{Run: list[0].Run})
	require.NoError(t, err)
	require.Equal(t, Accepted, s.Verdict)
	require.Contains(t, s.Taken, "HandleFetchRequest")
	require.Contains(t, s.Branches, "HandleVoteRequest.VoteAllowed false")
	require.NotContains(t, s.Branches, "BecomeLeader.HasMajority false", "an action that is not taken leaves no event")
	full, all := s.Score()
	require.Positive(t, full)
	require.Less(t, full, all)
	t.Log(s.Text())

	events := map[int32][]event.Event{}
	for _, in := range list[0].Inputs {
		list, err := readAll(in)
		require.NoError(t, err)
		events[list[0].Node.ID] = list
	}
	run, left, err := Degrade(list[0].Run, events, []string{"hw", "voted", "leader", "durable", "flushed", "role"}, nil)
	require.NoError(t, err)
	var inputs []Input
	for _, id := range list[0].Run.Voters {
		inputs = append(inputs, Events("node", left[id]))
	}
	for _, id := range list[0].Run.Observers {
		inputs = append(inputs, Events("node", left[id]))
	}
	less, err := Measure(inputs, Options{Run: run})
	require.NoError(t, err)
	require.Equal(t, Accepted, less.Verdict)
	few, _ := less.Score()
	require.LessOrEqual(t, few, full)
	t.Log(few, full)
}
