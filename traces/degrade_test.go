package traces

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces/event"
)

// hardCase is a run of a hundred events of three nodes, of which one has no trace; the
// others say neither what they did, nor how their logs changed, what became durable, whom
// they voted for and follow, and how far they have flushed. change changes it.
func hardCase(t testing.TB, seed uint64, change func(all [][]event.Event) bool) ([]Input, *Run) {
	events := map[int32][]event.Event{}
	all := read(t, generate(seed, three, 100, true))
	for _, list := range all {
		events[list[0].Node.ID] = list
	}
	lost := three.Voters[1+seed%2]
	run, left, err := Degrade(three, events, []string{"action", "log", "durable", "leader", "voted", "flushed", "digest", "lastEpoch", "logStart"}, []int32{lost})
	require.NoError(t, err)
	all = nil
	for _, id := range three.Voters {
		all = append(all, left[id])
	}
	if change != nil && !change(all) {
		return nil, nil
	}
	return write(all), run
}

// twice makes a refused vote a granted one.
func twice(all [][]event.Event) bool {
	for _, events := range all {
		for i := range events {
			e := &events[i]
			if len(e.Send) == 1 && e.Send[0].Response && e.Send[0].Kind == event.Vote && !e.Send[0].Granted && !e.Send[0].PreVote && e.Send[0].Error == 0 {
				e.Send[0].Granted = true
				return true
			}
		}
	}
	return false
}

// mostHidden is how many actions of hardCase lie at most between two that its inputs show:
// an event, or a message that another node handles.
func mostHidden(t testing.TB, seed uint64, inputs []Input) int {
	received, steps := map[messageID]bool{}, map[event.Node]map[int64]bool{}
	for _, list := range read(t, inputs) {
		for i := range list {
			e := &list[i]
			if e.Recv != nil {
				received[idOf(e.Recv)] = true
			}
			if steps[e.Node] == nil {
				steps[e.Node] = map[int64]bool{}
			}
			steps[e.Node][e.Step] = true
		}
	}
	most := 0
	for _, list := range read(t, generate(seed, three, 100, true)) {
		gap := 0
		for i := range list {
			e := &list[i]
			gap++
			shown := steps[e.Node] != nil && steps[e.Node][e.Step]
			for k := range e.Send {
				shown = shown || steps[e.Node] == nil && received[idOf(&e.Send[k])]
			}
			if shown {
				most, gap = max(most, gap), 0
			}
		}
	}
	return most
}

// TestHardCases: what is not said is found, and what cannot have been is not accepted: it is
// refused, or there is no answer.
func TestHardCases(t *testing.T) {
	verdicts := map[string]map[Verdict]int{}
	note := func(what string, v Verdict) {
		if verdicts[what] == nil {
			verdicts[what] = map[Verdict]int{}
		}
		verdicts[what][v]++
	}
	for seed := range uint64(16) {
		inputs, run := hardCase(t, seed, nil)
		res, err := Validate(inputs, Options{Run: run, Hidden: 3, MaxWorlds: 128, MaxSearch: 5000})
		require.NoError(t, err)
		note("as it was", res.Verdict)
		if res.Verdict == Rejected {
			require.Greater(t, mostHidden(t, seed, inputs), 3, "seed %d: a behaviour is refused", seed)
		}
		if res.Verdict != Accepted {
			continue
		}
		require.NotEmpty(t, res.Stats.Hidden)
		for what, change := range map[string]func([][]event.Event) bool{"twice": twice} {
			inputs, run := hardCase(t, seed, change)
			if inputs == nil {
				continue
			}
			res, err := Validate(inputs, Options{Run: run, Hidden: 3, MaxWorlds: 128, MaxSearch: 5000})
			require.NoError(t, err)
			require.NotEqual(t, Accepted, res.Verdict, "seed %d, %s", seed, what)
			note(what, res.Verdict)
			t.Log(seed, what, res.Verdict, res.Stats.Events, res.Stats.Worlds)
		}
	}
	t.Log(verdicts)
	require.GreaterOrEqual(t, verdicts["as it was"][Accepted], 8)
	require.GreaterOrEqual(t, verdicts["twice"][Rejected], 4)
}

func BenchmarkHardCase(b *testing.B) {
	for name, change := range map[string]func([][]event.Event) bool{"accepted": nil, "rejected": twice} {
		b.Run(name, func(b *testing.B) {
			inputs, run := hardCase(b, 12, change)
			for b.Loop() {
				res, err := Validate(inputs, Options{Run: run, Hidden: 3, MaxWorlds: 128, MaxSearch: 5000})
				require.NoError(b, err)
				require.Equal(b, name, res.Verdict.String())
			}
		})
	}
}
