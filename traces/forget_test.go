package traces

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces/event"
)

// TestUnreceivedForgotten: what nobody receives for long is not kept, and if it comes after
// all there is no verdict.
func TestUnreceivedForgotten(t *testing.T) {
	node := event.Node{ID: three.Voters[0]}
	other := event.Node{ID: three.Voters[1]}
	fetch := func(corr int32) event.Message {
		return event.Message{Conn: event.Conn{From: node.ID, To: other.ID, Inc: 1, N: 1}, Correlation: corr, Kind: event.Fetch}
	}
	a := []event.Event{{Node: node, Inc: 1, Seq: 1, Action: "Restart"}}
	const lost = 400
	for i := int32(1); i <= lost; i++ {
		a = append(a, event.Event{Node: node, Inc: 1, Seq: int64(i) + 1, Action: "SendFetch", Send: []event.Message{fetch(i)}})
	}
	b := []event.Event{{Node: other, Inc: 1, Seq: 1, Action: "Restart"}}
	opt := Options{Run: three, pruneEvery: 8}
	res, err := Validate(write([][]event.Event{a, b}), opt)
	require.NoError(t, err)
	require.Equal(t, Accepted, res.Verdict)
	require.Equal(t, lost, res.Stats.Lost, "whether kept or not")

	late := fetch(1)
	answer := late
	answer.Response, answer.Leader, answer.Error, answer.HighWatermark = true, -1, errorCodes[2-1], -1
	b = append(b, event.Event{Node: other, Inc: 1, Seq: 2, Action: "HandleFetchRequest", Recv: &late, Send: []event.Message{answer}})
	res, err = Validate(write([][]event.Event{a, b}), opt)
	require.NoError(t, err)
	require.Equal(t, OutOfBudget, res.Verdict)
	require.Contains(t, res.Rejection.Why, "is not kept for longer")
	opt.pruneEvery = 0
	res, err = Validate(write([][]event.Event{a, b}), opt)
	require.NoError(t, err)
	require.Equal(t, Accepted, res.Verdict, "%v", res.Rejection)
}
