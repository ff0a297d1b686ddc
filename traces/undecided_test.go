package traces

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces/event"
)

// TestUndecided: of a run that does not say how far it has flushed, that is what would tell
// explanations apart; of one that does, it is not.
func TestUndecided(t *testing.T) {
	for name, without := range map[string][]string{
		"with what is flushed": {"action", "log", "durable"},
		"without":              {"action", "log", "durable", "flushed"},
	} {
		events := map[int32][]event.Event{}
		for _, list := range read(t, generate(5, three, 400, true)) {
			events[list[0].Node.ID] = list
		}
		run, left, err := Degrade(three, events, without, nil)
		require.NoError(t, err)
		var all [][]event.Event
		for _, id := range three.Voters {
			all = append(all, left[id])
		}
		res, err := Validate(write(all), Options{Run: run})
		require.NoError(t, err)
		t.Log(name, res.Verdict, res.Stats.UndecidedText())
		require.Equal(t, Accepted, res.Verdict, name)
		if len(without) == 4 {
			require.Positive(t, res.Stats.Undecided["flushed"])
			require.Contains(t, res.Stats.UndecidedText(), "flushed")
		} else {
			require.NotContains(t, res.Stats.Undecided, "flushed")
		}
	}
}
