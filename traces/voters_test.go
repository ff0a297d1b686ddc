package traces

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces/event"
)

// What a trace says of voter sets is held against the specification: who is added or
// removed, what a KRaftVoters record holds, and which set is in force.
func TestVotersAreCompared(t *testing.T) {
	first := func(list [][]event.Event, is func(e *event.Event) bool) *event.Event {
		for _, events := range list {
			for i := range events {
				if is(&events[i]) {
					return &events[i]
				}
			}
		}
		t.Fatal("no such event")
		return nil
	}
	added := func(e *event.Event) bool { return e.Action == "AddVoter" }
	less := func(nodes []event.Node) []event.Node { return slices.Clone(nodes[1:]) }
	for _, c := range []struct {
		name  string
		is    func(e *event.Event) bool
		alter func(e *event.Event)
		says  string
	}{
		{"another is added", added, func(e *event.Event) { e.Args.Voter = &event.Node{ID: e.State.Voters[0].ID, Dir: "dir"} }, "NotInVoterSet"},
		{"nobody is added", added, func(e *event.Event) { e.Args.Voter = nil }, "args.voter: specification a voter, trace none"},
		{"the record lacks a voter", added, func(e *event.Event) { e.Log.Appended[0].Voters = less(e.Log.Appended[0].Voters) }, "log.appended"},
		{"the set in force lacks a voter", added, func(e *event.Event) { e.State.Voters = less(e.State.Voters) }, "state.voters"},
		{"a fetched record lacks a voter", func(e *event.Event) bool {
			return e.Action == "HandleFetchResponse" && e.Log != nil && hasVoters(e.Log.Appended) && e.Log.Truncated < 0
		}, func(e *event.Event) {
			for i := range e.Recv.Records {
				if r := &e.Recv.Records[i]; r.Kind == event.KRaftVoters {
					r.Voters = less(r.Voters)
				}
			}
		}, ".records: specification"},
		{"a restart reads another set", func(e *event.Event) bool { return e.Action == "Restart" && e.Inc > 1 && len(e.State.Voters) > 1 },
			func(e *event.Event) { e.State.Voters = less(e.State.Voters) }, "state.voters"},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := read(t, generate(4, changing, 3000, false))
			c.alter(first(list, c.is))
			res, err := Validate(events(list), Options{Run: changing})
			require.NoError(t, err)
			require.Equal(t, Rejected, res.Verdict)
			require.Contains(t, res.Rejection.Text(), c.says)
		})
	}
}

func events(list [][]event.Event) (inputs []Input) {
	for _, events := range list {
		inputs = append(inputs, Events("node", events))
	}
	return inputs
}

// Voters in a run that has none, nodes that take no part, and a node that comes back with
// another directory are malformed, and say so.
func TestVotersThatCannotBe(t *testing.T) {
	static := *changing
	static.KRaftVersion = 0
	two := *changing
	two.KRaftVersion = 2
	nodes := []RunNode{{ID: 1, Dir: "other"}}
	elsewhere := *changing
	elsewhere.Nodes = nodes
	for _, c := range []struct {
		name  string
		run   *Run
		alter func(e *event.Event)
		says  string
	}{
		{"static", &static, func(*event.Event) {}, "static (kraftVersion 0)"},
		{"version 2", &two, func(*event.Event) {}, "kraftVersion 2: there are 0 and 1"},
		{"another directory than said", &elsewhere, func(*event.Event) {}, `has directory "dir", in the description of the run "other"`},
		{"another directory than before", changing, func(e *event.Event) { e.State.Voters[0].Dir = "new" }, "with another directory it is another replica"},
		{"a stranger", changing, func(e *event.Event) { e.State.Voters[0].ID = 99 }, "state.voters: node 99 takes no part"},
		{"a strange subject", changing, func(e *event.Event) { e.Args.Voter = &event.Node{ID: 99} }, "args.voter: node 99 takes no part"},
		{"a record without voters", changing, func(e *event.Event) {
			e.Log = &event.LogChange{Truncated: -1, Appended: []event.Run{{Epoch: 1, Kind: event.KRaftVoters, Count: 1}}}
		}, "1 KRaftVoters records with 0 voters"},
	} {
		t.Run(c.name, func(t *testing.T) {
			list := read(t, generate(4, changing, 300, false))
			c.alter(&list[0][0])
			_, err := Validate(events(list), Options{Run: c.run})
			require.ErrorContains(t, err, c.says)
		})
	}
}
