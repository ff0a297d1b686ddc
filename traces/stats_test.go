package traces

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces/event"
)

// TestReached: what the events show to have happened is reached, and nothing that
// was only tried.
func TestReached(t *testing.T) {
	for seed := range uint64(10) {
		inputs := generate(seed, three, 600, false)
		res, err := Validate(inputs, Options{Run: three})
		require.NoError(t, err)
		want := map[string]bool{}
		for _, events := range read(t, inputs) {
			for i := range events {
				e := &events[i]
				switch e.Action {
				case "ServeRead":
					want["ReadServed"] = true
				case "Resign", "CheckQuorumResign":
					want["LeaderResigned"] = true
				case "AbandonPreVote":
					want["PreVoteAbandoned"] = true
				case "Restart":
					if e.State.Role == "Follower" {
						want["FollowerRestarted"] = true
					}
				case "HandleFetchRequest":
					if len(e.Send) > 0 && e.Send[0].Diverging != nil {
						want["DivergenceFound"] = true
					}
				case "HandleFetchResponse":
					if e.Log != nil && e.Log.Truncated >= 0 {
						want["LogTruncated"] = true
					}
				}
			}
		}
		for _, name := range []string{"ReadServed", "LeaderResigned", "PreVoteAbandoned", "FollowerRestarted", "DivergenceFound", "LogTruncated"} {
			if want[name] {
				require.Contains(t, res.Stats.Reached, name, "seed %d", seed)
			} else {
				require.Contains(t, res.Stats.NotReached, name, "seed %d", seed)
			}
		}
	}
}

// TestReachedNothing: an empty list is a list.
func TestReachedNothing(t *testing.T) {
	first := read(t, generate(1, single, 20, false))[0][:1]
	res, err := Validate([]Input{Events("node", append([]event.Event{}, first...))}, Options{Run: single})
	require.NoError(t, err)
	text, err := json.Marshal(res.Stats)
	require.NoError(t, err)
	require.Contains(t, string(text), `"reached":[]`)
}

func TestThousands(t *testing.T) {
	require.Equal(t, "4,336 of 1,058,773", (&Stats{Events: 4336, Total: 1058773}).EventsText())
	require.Equal(t, "336", (&Stats{Events: 336}).EventsText())
}
