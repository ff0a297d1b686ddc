package traces

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces/event"
)

// less is a short run of three nodes of which something is not said, and a node may have no
// trace; in three of four, one thing is changed.
func less(t testing.TB, seed uint64) (inputs []Input, opt Options, changed bool) {
	rng := rand.New(rand.NewPCG(seed, 99))
	events := map[int32][]event.Event{}
	for _, list := range read(t, generate(seed, three, 20+rng.IntN(30), rng.IntN(2) == 0)) {
		events[list[0].Node.ID] = list
	}
	var without []string
	for _, name := range Degradable() {
		if rng.IntN(3) > 0 {
			without = append(without, name)
		}
	}
	var lost []int32
	if rng.IntN(4) > 0 {
		lost = []int32{three.Voters[rng.IntN(3)]}
	}
	run, left, err := Degrade(three, events, without, lost)
	require.NoError(t, err)
	var all [][]event.Event
	for _, id := range three.Voters {
		if len(left[id]) > 0 {
			all = append(all, left[id])
		}
	}
	if rng.IntN(4) > 0 {
		changed = changeOne(rng, all)
	}
	return write(all), Options{Run: run, Hidden: 1 + rng.IntN(2), MaxWorlds: 400, MaxSearch: 5000}, changed
}

// changeOne changes one thing in one of the events.
func changeOne(rng *rand.Rand, all [][]event.Event) bool {
	for range 200 {
		list := all[rng.IntN(len(all))]
		e := &list[rng.IntN(len(list))]
		answers := func(kind string) bool { return len(e.Send) == 1 && e.Send[0].Kind == kind && e.Send[0].Response }
		switch k := rng.IntN(5); {
		case k == 0 && answers(event.Vote):
			e.Send[0].Granted = !e.Send[0].Granted
		case k == 1 && e.State.Has&event.HasHighWatermark != 0:
			e.State.HighWatermark++
		case k == 2 && e.State.Has&event.HasLogEnd != 0:
			e.State.LogEnd++
		case k == 3 && e.Recv != nil && e.Recv.Kind == event.Fetch:
			m := *e.Recv
			m.Offset++
			e.Recv = &m
		case k == 4 && answers(event.Fetch):
			e.Send[0].HighWatermark++
		default:
			continue
		}
		return true
	}
	return false
}

// TestApartAgrees: nodes followed each for itself come to the verdict of whole worlds. These
// take some true runs for none (they handle what a node without a trace received in one order
// only), so what only they reject is held against what was recorded.
func TestApartAgrees(t *testing.T) {
	cases := uint64(1000)
	if testing.Short() {
		cases = 150
	}
	verdicts := map[[2]Verdict]int{}
	for seed := range cases {
		inputs, opt, changed := less(t, seed)
		a, err := validate(inputs, opt, apart)
		require.NoError(t, err, "seed %d", seed)
		w, err := validate(inputs, opt, together)
		require.NoError(t, err, "seed %d", seed)
		verdicts[[2]Verdict{a.Verdict, w.Verdict}]++
		switch {
		case w.Verdict == Accepted:
			require.Equal(t, Accepted, a.Verdict, "seed %d", seed)
		case a.Verdict == Accepted && w.Verdict == Rejected && changed:
			t.Logf("seed %d: changed, and accepted only with nodes apart", seed)
			verdicts[[2]Verdict{-1, -1}]++
		}
	}
	t.Log(verdicts)
	require.NotZero(t, verdicts[[2]Verdict{Accepted, Accepted}])
	require.NotZero(t, verdicts[[2]Verdict{Rejected, Rejected}])
	require.LessOrEqual(t, verdicts[[2]Verdict{-1, -1}], int(cases)/200)
}
