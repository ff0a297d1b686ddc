package traces

import (
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// Where an event can be explained in several ways, and does not say in which of them its node
// then is, a field more would have told. undecided counts, for each field of a state that the
// event does not have, the events after which the explanations that are left differ in it.

// tellers are the fields of a state by their names in a trace.
var tellers = []struct {
	name string
	has  event.StateFields
	same func(a, b *spec.Replica) bool
}{
	{"role", event.HasRole, func(a, b *spec.Replica) bool { return a.Role == b.Role }},
	{"epoch", event.HasEpoch, func(a, b *spec.Replica) bool { return a.Election.Epoch == b.Election.Epoch }},
	{"leader", event.HasLeader, func(a, b *spec.Replica) bool { return a.Election.Leader == b.Election.Leader }},
	{"voted", event.HasVoted, func(a, b *spec.Replica) bool { return a.Election.Voted == b.Election.Voted }},
	{"hw", event.HasHighWatermark, func(a, b *spec.Replica) bool { return a.HighWatermark == b.HighWatermark }},
	{"logStart", event.HasLogStart, func(a, b *spec.Replica) bool { return a.LogStart == b.LogStart }},
	{"logEnd", event.HasLogEnd, func(a, b *spec.Replica) bool { return a.Log.End() == b.Log.End() }},
	{"lastEpoch", event.HasLastEpoch, func(a, b *spec.Replica) bool { return a.Log.LastEpoch() == b.Log.LastEpoch() }},
	{"flushed", event.HasFlushed, func(a, b *spec.Replica) bool { return a.FlushedEnd() == b.FlushedEnd() }},
	{"digest", event.HasDigest, func(a, b *spec.Replica) bool { return a.Log.SameAs(&b.Log) }},
	{"snapshot", event.HasSnapshot, func(a, b *spec.Replica) bool { return a.Snapshots.Latest() == b.Snapshots.Latest() }},
	{"fetching", event.HasFetching, func(a, b *spec.Replica) bool {
		return a.Fetching.Snapshot == b.Fetching.Snapshot && a.Fetching.Position == b.Fetching.Position
	}},
}

// memoryOnly is what explanations differ in that no field of a state has: what a leader or a
// nominee knows of others. The messages that it handled, with names of actions, tell it.
const memoryOnly = "what is in no field"

// undecided notes in what the states of node n after its event differ.
func (v *validator) undecided(e *event.Event, count int, state func(i int) *spec.Replica) {
	if count < 2 {
		return
	}
	if v.stats.undecided == nil {
		v.stats.undecided = map[string]int{}
	}
	first, some, other := state(0), false, false
	for _, f := range tellers {
		if e.State.Has&f.has != 0 {
			continue
		}
		for i := 1; i < count; i++ {
			if !f.same(first, state(i)) {
				v.stats.undecided[f.name]++
				some = true
				break
			}
		}
	}
	for i := 1; i < count && !some && !other; i++ {
		other = !sameReplica(first, state(i))
	}
	if other {
		v.stats.undecided[memoryOnly]++
	}
}

// UndecidedText lists the fields that would have told explanations apart, and at how many
// events; empty if there was one at a time.
func (s *Stats) UndecidedText() string {
	if len(s.Undecided) == 0 {
		return ""
	}
	return "explanations differed, after so many events, in " + counted(s.Undecided)
}
