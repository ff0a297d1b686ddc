package traces

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorate/quorate/traces/event"
)

// Degrade takes away what a recorder might not have said: without are names of what no
// event is to say, of [Degradable], nodes those whose traces are lost. It returns the run as
// it then has to be described. Events that say nothing any more are left out, and what they
// were is among what may leave no event. The names of
// StartRead and ServeRead stay, since the number of a read is nowhere else.
func Degrade(run *Run, events map[int32][]event.Event, without []string, nodes []int32) (*Run, map[int32][]event.Event, error) {
	members, err := run.members()
	if err != nil {
		return nil, nil, err
	}
	out := *run
	unsaid := Unlogged{}
	if run.Unlogged != nil {
		unsaid = *run.Unlogged
		unsaid.Fields, unsaid.Actions = slices.Clone(unsaid.Fields), slices.Clone(unsaid.Actions)
	}
	var hidden event.StateFields
	names := false
	for _, name := range without {
		has, isState := degradable[name]
		switch {
		case !isState:
			return nil, nil, fmt.Errorf("%q cannot be left out, only %s", name, strings.Join(Degradable(), ", "))
		case name == "action":
			names = true
		case has == 0:
			if !slices.Contains(unsaid.Fields, name) {
				unsaid.Fields = append(unsaid.Fields, name)
			}
		}
		hidden |= has
	}
	for _, id := range nodes {
		if members.index(id) < 0 {
			return nil, nil, fmt.Errorf("node %d takes no part in the run (replicas %v)", id, members.ids)
		}
	}
	left := map[int32][]event.Event{}
	for id, list := range events {
		if slices.Contains(nodes, id) {
			continue
		}
		inc, seq, silence := int32(0), int64(0), 0
		for i := range list {
			e := list[i]
			if names && e.Args.Read == 0 {
				e.Action, e.Args = "", event.Args{}
			}
			if e.State.Has &^= hidden; e.State.Has == 0 {
				e.State = event.State{}
			}
			if slices.Contains(unsaid.Fields, UnloggedLog) {
				e.Log = nil
			}
			if slices.Contains(unsaid.Fields, UnloggedDurable) {
				e.Durable = nil
			}
			first := e.Inc != inc
			if first {
				inc, seq = e.Inc, 0
			}
			silent := names && list[i].Action != "" && e.Action == "" && e.Recv == nil && len(e.Send) == 0 && e.State.Has == 0 && e.Log == nil && e.Durable == nil
			if silent && first {
				e.Action, silent = list[i].Action, false // that it starts is known
			}
			if silent {
				if name := list[i].Action; !slices.Contains(unsaid.Actions, name) {
					unsaid.Actions = append(unsaid.Actions, name)
				}
				silence++
				unsaid.Hidden = min(max(unsaid.Hidden, silence), MaxHidden)
				continue
			}
			silence = 0
			seq++
			e.Seq = seq
			left[id] = append(left[id], e)
		}
	}
	if slices.Sort(unsaid.Actions); len(unsaid.Fields)+len(unsaid.Actions) > 0 {
		out.Unlogged = &unsaid
	}
	return &out, left, nil
}

var degradable = map[string]event.StateFields{
	"action": 0, UnloggedLog: 0, UnloggedDurable: 0,
	"role": event.HasRole, "epoch": event.HasEpoch, "leader": event.HasLeader, "voted": event.HasVoted, "hw": event.HasHighWatermark,
	"logStart": event.HasLogStart, "logEnd": event.HasLogEnd, "lastEpoch": event.HasLastEpoch, "flushed": event.HasFlushed,
	"digest": event.HasDigest, "snapshot": event.HasSnapshot, "fetching": event.HasFetching,
}

// Degradable are the names of what Degrade can take away.
func Degradable() []string {
	var names []string
	for name := range degradable {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
