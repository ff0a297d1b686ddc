package traces

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// HardCase is a short run of which little was recorded: one node has no trace, and the
// events of the others say neither what they are, nor most of what they did. What is left
// has so many events.
type HardCase struct {
	Run    *Run
	Inputs []Input
	Events int
	Lost   int32
	// Hidden is how many steps the lost node took at most between two messages of it that
	// others handled.
	Hidden int
	// Changed is what was changed to what cannot have been, or is not likely; empty if
	// nothing was.
	Changed string
}

// ErrNotHard is a run of which no hard case can be made.
var ErrNotHard = errors.New("too few events of all but one of the nodes, or nothing in them that could be changed")

// hardWithout is what the events of a hard case do not say.
var hardWithout = []string{"action", UnloggedLog, UnloggedDurable, "leader", "voted", "flushed", "digest", "lastEpoch", "logStart"}

// Hard makes a hard case of the beginning of a run: of its events, in an order in which they
// may have happened. The node that is lost is the one of which the fewest hidden steps are
// needed at once. change makes an event near the end another.
func Hard(run *Run, events []event.Event, length int, change bool) (*HardCase, error) {
	var best *HardCase
	for _, lost := range run.Voters {
		c, err := hardWithoutNode(run, events, length, lost, change)
		if err != nil {
			return nil, err
		}
		if c != nil && (best == nil || c.Hidden < best.Hidden) {
			best = c
		}
	}
	if best == nil {
		return nil, ErrNotHard
	}
	return best, nil
}

func hardWithoutNode(run *Run, events []event.Event, length int, lost int32, change bool) (*HardCase, error) {
	byNode, kept, end := map[int32][]event.Event{}, 0, 0
	for ; end < len(events) && kept < length; end++ {
		e := events[end]
		if byNode[e.Node.ID] = append(byNode[e.Node.ID], e); e.Node.ID != lost {
			kept++
		}
	}
	if kept < length {
		return nil, nil
	}
	out, left, err := Degrade(run, byNode, hardWithout, []int32{lost})
	if err != nil {
		return nil, err
	}
	c := &HardCase{Run: out, Lost: lost, Hidden: max(1, hiddenAtOnce(byNode, lost))}
	if change {
		if c.Changed = changeLate(left, lost); c.Changed == "" {
			return nil, nil
		}
	}
	for _, id := range slices.Sorted(maps.Keys(left)) {
		c.Events += len(left[id])
		c.Inputs = append(c.Inputs, Events(fmt.Sprintf("node-%d", id), left[id]))
	}
	return c, nil
}

// hiddenAtOnce is how many steps a node took at most between two messages of it that others
// handled.
func hiddenAtOnce(byNode map[int32][]event.Event, node int32) int {
	received := map[messageID]bool{}
	for id, list := range byNode {
		for i := range list {
			if list[i].Recv != nil && id != node {
				received[idOf(list[i].Recv)] = true
			}
		}
	}
	most, now := 0, 0
	for i := range byNode[node] {
		switch byNode[node][i].Action {
		case spec.ActionAppend.String(), spec.ActionFlush.String(): // not counted (lazy.go)
		case spec.ActionRestart.String():
			if now++; i > 0 {
				now++ // the crash before it
			}
		default:
			now++
		}
		for k := range byNode[node][i].Send {
			if received[idOf(&byNode[node][i].Send[k])] {
				most, now = max(most, now), 0
				break
			}
		}
	}
	return most
}

// changeLate changes one of the last events into one that should not be: a vote that was
// refused is granted, or a high watermark or a log end is one further. It returns what was changed.
func changeLate(left map[int32][]event.Event, lost int32) string {
	vote := func(e *event.Event) string {
		if len(e.Send) == 1 && e.Send[0].Kind == event.Vote && e.Send[0].Response && !e.Send[0].Granted && e.Send[0].Error == 0 {
			e.Send = slices.Clone(e.Send)
			e.Send[0].Granted = true
			return "a refused vote is granted"
		}
		return ""
	}
	received := func(e *event.Event) string {
		if e.Recv != nil && e.Recv.Kind == event.Fetch && e.Recv.Response && e.Recv.Error == 0 && idOf(e.Recv).sender() == lost {
			m := *e.Recv
			m.HighWatermark++
			e.Recv = &m
			return "the high watermark that the lost node told is one further"
		}
		return ""
	}
	watermark := func(e *event.Event) string {
		if e.State.Has&event.HasHighWatermark != 0 && e.State.Role == "Leader" {
			e.State.HighWatermark++
			return "the high watermark of a leader is one further"
		}
		return ""
	}
	end := func(e *event.Event) string {
		if e.Recv != nil && e.State.Has&event.HasLogEnd != 0 {
			e.State.LogEnd++
			return "the log ends one further"
		}
		return ""
	}
	for _, change := range []func(*event.Event) string{vote, received, watermark, end} {
		for _, id := range slices.Sorted(maps.Keys(left)) {
			for i := len(left[id]) - 1; i >= 0; i-- {
				if what := change(&left[id][i]); what != "" {
					return fmt.Sprintf("node %d, event %d: %s", id, i+1, what)
				}
			}
		}
	}
	return ""
}
