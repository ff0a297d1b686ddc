package driver

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/traces/event"
)

// Voter sets that follow each other stay apart in what a recording begins with, also where
// the log is read in several parts, and it can be read.
func TestRecordsOfVoterSets(t *testing.T) {
	d := open(t, fs.NewDouble())
	defer d.Close()
	voter := func(id int32) core.Voter {
		return CoreVoter(log.Voter{ID: id, MaxVersion: 1, Endpoints: []log.VoterEndpoint{{Name: "CONTROLLER", Host: "a", Port: uint16(id)}}})
	}
	two, three := []core.Voter{voter(1), voter(3)}, []core.Voter{voter(1), voter(2), voter(3)}
	ops := append(lead(),
		core.Op{Kind: core.OpAppendVoters, Base: 3, End: 4, Epoch: 4, VoterSet: two}, happened("RemoveVoter", 4, changed),
		core.Op{Kind: core.OpAppendVoters, Base: 4, End: 5, Epoch: 4, VoterSet: three}, happened("AddVoter", 5, changed),
		core.Op{Kind: core.OpFlush, Flush: 2, End: 5})
	require.NoError(t, d.Apply(nil, Link{}, ops, &hooks{}))

	nodes := func(ids ...int32) (list []event.Node) {
		for _, id := range ids {
			list = append(list, event.Node{ID: id})
		}
		return list
	}
	want := []event.Run{{Epoch: 4, Kind: event.LeaderChange, Count: 1}, {Epoch: 4, Kind: event.Data, Count: 2},
		{Epoch: 4, Kind: event.KRaftVoters, Count: 1, Voters: nodes(1, 3)}, {Epoch: 4, Kind: event.KRaftVoters, Count: 1, Voters: nodes(1, 2, 3)}}
	for parts := range int64(5) {
		known, err := d.Records(parts)
		require.NoError(t, err)
		var e event.Event
		e.Attach = new(event.Attach)
		require.NoError(t, d.tellRecords(&e, known))
		require.Equal(t, want, e.Attach.Log, "%d read before", parts)
		var got event.Event
		e.Node, e.Inc, e.Seq = event.Node{ID: 1}, 1, 1
		require.NoError(t, event.Decode(event.AppendJSON(nil, &e), &got))
		require.Equal(t, want, got.Attach.Log)
	}

	// What no reader takes is not written.
	e := event.Event{Attach: new(event.Attach)}
	merged := event.Run{Epoch: 4, Kind: event.KRaftVoters, Count: 2, Voters: nodes(1, 3)}
	require.ErrorContains(t, d.tellRecords(&e, Records{End: 5, Runs: append(want[:2:2], merged)}), "attach.log[2]: a run of 2 KRaftVoters records")
}
