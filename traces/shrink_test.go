package traces

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces/event"
)

// shrunkInputs are what is left of a run.
func shrunkInputs(s *Shrunk) (inputs []Input) {
	for _, id := range slices.Sorted(maps.Keys(s.Events)) {
		inputs = append(inputs, Events(fmt.Sprintf("node-%d", id), s.Events[id]))
	}
	return inputs
}

// TestShrink: a recorded run in which one event was changed is shrunk to a few events, which
// are rejected for the same reason; without the change they are accepted.
func TestShrink(t *testing.T) {
	list, err := Recordings("recorded/seed-19")
	require.NoError(t, err)
	rec := list[0]
	var inputs []Input
	changed := false
	for _, in := range rec.Inputs {
		events, err := readAll(in)
		require.NoError(t, err)
		for i := range events {
			e := &events[i]
			if !changed && i > 40 && len(e.Send) == 1 && e.Send[0].Kind == event.Vote && e.Send[0].Response && !e.Send[0].Granted && e.Send[0].Error == 0 {
				e.Send = slices.Clone(e.Send)
				e.Send[0].Granted, changed = true, true
			}
		}
		inputs = append(inputs, Events(in.Name, events))
	}
	require.True(t, changed)
	opt := Options{Run: rec.Run}
	whole, err := Validate(inputs, opt)
	require.NoError(t, err)
	require.Equal(t, Rejected, whole.Verdict)

	s, err := Shrink(inputs, opt, 4, 150, nil)
	require.NoError(t, err)
	t.Logf("%d events, %d of them in the past, %d left after %d tries, hidden %d at %v\n%s", s.Before, s.Past, s.Left, s.Tries, s.Hidden, s.HiddenAt, s.Rejection.Text())
	require.Less(t, s.Past, s.Before)
	require.Less(t, s.Left, s.Past)
	asked := 0
	part, err := Shrink(inputs, opt, 4, 150, func(tries, left int) bool {
		asked++
		require.Equal(t, asked, tries, "told before each, and of the first one")
		require.LessOrEqual(t, left, s.Past)
		return tries < 3
	})
	require.NoError(t, err)
	require.True(t, part.Stopped)
	require.False(t, s.Stopped)
	require.Equal(t, 3, part.Tries)
	require.GreaterOrEqual(t, part.Left, s.Left)
	require.True(t, sameReason(part.Rejection, whole.Rejection), "what was found so far is kept")

	opt.Hidden, opt.HiddenAt = s.Hidden, s.HiddenAt
	res, err := Validate(shrunkInputs(s), opt)
	require.NoError(t, err)
	require.Equal(t, Rejected, res.Verdict)
	require.True(t, sameReason(res.Rejection, whole.Rejection), res.Rejection.Text())

	back := 0
	for _, events := range s.Events {
		e := &events[len(events)-1]
		if len(e.Send) == 1 && e.Send[0].Kind == event.Vote && e.Send[0].Granted && e.Node.ID == whole.Rejection.Node {
			e.Send = slices.Clone(e.Send)
			e.Send[0].Granted = false
			back++
		}
	}
	require.Equal(t, 1, back)
	res, err = Validate(shrunkInputs(s), opt)
	require.NoError(t, err)
	require.Equal(t, Accepted, res.Verdict, "what is left is not to be refused for anything else")
}

// TestShrinkRefuses: what cannot be shrunk is said.
func TestShrinkRefuses(t *testing.T) {
	inputs := generate(1, three, 50, false)
	_, err := Shrink(inputs, Options{Run: three}, 4, 10, nil)
	require.ErrorIs(t, err, ErrNotRejected)
	_, err = Shrink(inputs, Options{Run: three}, 0, 10, nil)
	require.ErrorContains(t, err, "hidden 0")
}
