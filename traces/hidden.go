package traces

import (
	"cmp"
	"slices"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// hiddenStep is an action that no event shows.
type hiddenStep struct {
	action spec.ActionID
	recv   *messageID // the message that it handled
	parks  bool       // which stays, to be answered later
	after  spec.Replica
	// reached is what the action itself noted.
	reached checker.Props
}

// search looks for hidden steps of node n after which goal holds, fewest first.
// goal is asked with a state and the steps to it; it says whether it holds, and
// then all states that as few steps reach are asked too.
func (v *validator) search(w *world, n, budget int, e *event.Event, goal func(r *spec.Replica, steps []hiddenStep) bool) bool {
	type state struct {
		r     *spec.Replica
		steps []hiddenStep
	}
	level := []state{{r: &w.replicas[n]}}
	seen := []*spec.Replica{level[0].r}
	any := false
	for depth := 0; ; depth++ {
		found := false
		for _, s := range level {
			if goal(s.r, s.steps) {
				found = true
			}
		}
		any = any || found
		if found && !v.exhaustive || depth == budget || len(level) == 0 {
			return any
		}
		var next []state
		for _, s := range level {
			v.successors(w, n, s.r, s.steps, e, func(a spec.ActionID, recv *messageID, after *spec.Replica) {
				for _, old := range seen {
					if sameReplica(old, after) {
						return
					}
				}
				steps := append(slices.Clip(slices.Clone(s.steps)), hiddenStep{action: a, recv: recv, after: *after, reached: v.ctx.Reached})
				at := &steps[len(steps)-1].after
				seen = append(seen, at)
				next = append(next, state{at, steps})
			})
			if v.tries > v.opt.MaxSearch {
				v.exhausted = true
				return any
			}
		}
		level = next
	}
}

// successors lists what a replica may do unseen that changes it. What it sends
// thereby is lost, or found by hiddenSend.
func (v *validator) successors(w *world, n int, r *spec.Replica, steps []hiddenStep, e *event.Event, yield func(spec.ActionID, *messageID, *spec.Replica)) {
	try := func(a spec.ActionID, id *messageID, m *spec.Msg, args spec.Args) {
		v.tries++
		next := *r
		if v.ctx.Take(a, &next, m, args, &v.outbox) && !sameReplica(r, &next) {
			yield(a, id, &next)
		}
	}
	v.unseen(n, r, e, nil, try)
	if !v.free[n] && !v.unsaid.handles() {
		return
	}
	for _, id := range v.addressed(w, n) {
		if v.usedUp(id, steps) {
			continue
		}
		m := &w.bag[id].msg
		a := spec.HandlerOf(m)
		if !v.free[n] && !v.unsaid.actions[a] {
			continue
		}
		try(a, &id, m, spec.Args{Park: a == spec.ActionHandleFetchRequest})
	}
}

// unseen tries the actions of node n, from r, that handle no message and may leave no event.
func (v *validator) unseen(n int, r *spec.Replica, e *event.Event, want *event.Message, try func(spec.ActionID, *messageID, *spec.Msg, spec.Args)) {
	for a := spec.ActionID(0); a < spec.NumReplicaActions; a++ {
		switch {
		case !v.free[n] && !v.unsaid.actions[a]:
		case a.Handles():
		case a == spec.ActionSendVoteRequest, a == spec.ActionSendBeginQuorumEpoch, a == spec.ActionSendEndQuorumEpoch,
			a == spec.ActionSendFetch, a == spec.ActionSendFetchSnapshot, a == spec.ActionCrash, a == spec.ActionLoseDisk:
		case a == spec.ActionAppend:
			for _, k := range appendCounts(r, e, want) {
				try(a, nil, nil, spec.Args{Count: k})
			}
		case a == spec.ActionFlush:
			for _, end := range flushEnds(r, e, want) {
				try(a, nil, nil, spec.Args{Count: end})
			}
		case a == spec.ActionTakeSnapshot:
			if e != nil {
				try(a, nil, nil, spec.Args{Count: max(e.State.Snapshot.End, e.Args.Snapshot.End)})
			}
		case a == spec.ActionAdvanceLogStart:
			if e != nil {
				try(a, nil, nil, spec.Args{Count: e.State.LogStart})
			}
		default:
			try(a, nil, nil, spec.Args{})
		}
	}
}

// appendCounts are how many records a hidden append may have: one, or as many as the next
// event, or the message that is to be sent, shows that there must be.
func appendCounts(r *spec.Replica, e *event.Event, want *event.Message) []int64 {
	counts := []int64{1}
	add := func(end int64) {
		if k := end - int64(r.Log.End()); k > 1 && k <= maxRecords && !slices.Contains(counts, k) {
			counts = append(counts, k)
		}
	}
	shows := func(m *event.Message) {
		if add(m.HighWatermark); m.Kind == event.Fetch && m.Response {
			add(m.Offset + count(m.Records))
		}
	}
	if want != nil {
		shows(want)
	}
	if e != nil {
		if e.State.Has&event.HasLogEnd != 0 {
			add(e.State.LogEnd)
		}
		for i := range e.Send {
			shows(&e.Send[i])
		}
	}
	return counts
}

// flushEnds are the offsets up to which a hidden flush may go: to the end of the log, or to
// where the next event shows that it must have ended. What was flushed beyond that shows in
// nothing but the high watermark of a leader, which is shown, and in what a crash leaves,
// which may be anything between.
func flushEnds(r *spec.Replica, e *event.Event, want *event.Message) []int64 {
	ends := []int64{int64(r.Log.End())}
	add := func(end int64) {
		if end > int64(r.FlushedEnd()) && end < int64(r.Log.End()) && !slices.Contains(ends, end) {
			ends = append(ends, end)
		}
	}
	if want != nil {
		add(want.HighWatermark)
	}
	if e == nil {
		return ends
	}
	if e.State.Has&event.HasFlushed != 0 {
		add(e.State.Flushed)
	}
	if e.State.Has&event.HasHighWatermark != 0 {
		add(e.State.HighWatermark)
	}
	for i := range e.Send {
		add(e.Send[i].HighWatermark)
	}
	return ends
}

// addressed lists the messages in flight to node n, in a fixed order.
func (v *validator) addressed(w *world, n int) []messageID {
	var ids []messageID
	for id, l := range w.bag {
		if id.receiver() == v.who.ids[n] && !(l.handled && !id.response) {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, compareID)
	return ids
}

func compareID(a, b messageID) int {
	return cmp.Or(cmp.Compare(a.conn.From, b.conn.From), cmp.Compare(a.conn.To, b.conn.To), cmp.Compare(a.conn.Inc, b.conn.Inc),
		cmp.Compare(a.conn.N, b.conn.N), cmp.Compare(a.corr, b.corr), cmp.Compare(direction(a.response), direction(b.response)))
}

func (v *validator) usedUp(id messageID, steps []hiddenStep) bool {
	for i := range steps {
		if steps[i].recv != nil && *steps[i].recv == id {
			return true
		}
	}
	return false
}

// applyHidden finds outcomes of an event after hidden steps.
func (v *validator) applyHidden(w *world, n int, e *event.Event) {
	v.tries = 0
	v.search(w, n, v.budgets[n], e, func(r *spec.Replica, steps []hiddenStep) bool {
		if v.receives(e) && v.usedUp(idOf(e.Recv), steps) {
			return false
		}
		was := len(v.outcomes)
		v.apply(w, n, r, e, &comparison{})
		for i := was; i < len(v.outcomes); i++ {
			v.outcomes[i].hidden = append(slices.Clone(steps), v.outcomes[i].hidden...)
		}
		return len(v.outcomes) > was
	})
}

// hiddenSend looks for hidden steps of whoever sent the message that node n is to
// receive, and that no event shows to have been sent. It says whether the message
// is there now.
func (v *validator) hiddenSend(n int) bool {
	id := idOf(v.nodes[n].event.Recv)
	s := v.who.index(id.sender())
	if s < 0 || !v.unlogged[id] || !v.free[s] {
		return false
	}
	var kept []*world
	for _, w := range v.worlds {
		kept = v.produce(kept, w, s, n)
		if v.exhausted && v.exhaustive {
			return false
		}
	}
	if len(kept) == 0 {
		return false
	}
	v.worlds = kept
	v.stats.MaxWorlds = max(v.stats.MaxWorlds, len(kept))
	return true
}

// produce adds the worlds to a list in which node s, after hidden steps in w, has sent what
// node n receives next: the first that is found, or all.
func (v *validator) produce(list []*world, w *world, s, n int) []*world {
	want := v.nodes[n].event.Recv
	id := idOf(want)
	v.tries = 0
	found := false
	v.search(w, s, v.opt.Hidden-1, nil, func(r *spec.Replica, steps []hiddenStep) bool {
		if found && !v.exhaustive || len(list) > v.opt.MaxWorlds {
			return true
		}
		if want.Response && v.usedUp(id.other(), steps) {
			return false
		}
		last, sent := v.sendOf(w, s, r, want)
		if sent == nil {
			return false
		}
		to := w.clone()
		if v.walk(to, s, append(slices.Clone(steps), last)) != 0 {
			return false
		}
		to.bag[id] = sent
		found = true
		if list = v.join(list, to); len(list) > v.opt.MaxWorlds {
			v.exhausted = true
		}
		return true
	})
	return list
}

// sendOf takes the action of node s from r that sends the message wanted.
func (v *validator) sendOf(w *world, s int, r *spec.Replica, want *event.Message) (hiddenStep, *letter) {
	step := hiddenStep{after: *r}
	var m *spec.Msg
	n := v.who.index(idOf(want).receiver())
	args := spec.Args{Dst: spec.ID(n + 1), Count: count(want.Records) + want.Bytes, Size: want.Size}
	read := w.reading[s]
	if want.Response {
		id := idOf(want).other()
		l := w.bag[id]
		if l == nil {
			return step, nil
		}
		m, step.recv, read = &l.msg, &id, l.read
		step.action = spec.HandlerOf(m)
		args.Dst = spec.Nobody
		if v.untold(want) {
			if args.Count = 0; want.Bytes > 0 {
				args.Count = max(0, int64(r.Log.End()-m.Offset))
			}
		}
	} else {
		switch want.Kind {
		case event.Vote:
			step.action = spec.ActionSendVoteRequest
		case event.BeginQuorumEpoch:
			step.action = spec.ActionSendBeginQuorumEpoch
		case event.EndQuorumEpoch:
			step.action = spec.ActionSendEndQuorumEpoch
		case event.FetchSnapshot:
			step.action = spec.ActionSendFetchSnapshot
		default:
			step.action = spec.ActionSendFetch
		}
	}
	if !v.ctx.Take(step.action, &step.after, m, args, &v.outbox) || len(v.outbox.Messages()) == 0 {
		return step, nil
	}
	step.reached = v.ctx.Reached
	l := &letter{msg: v.outbox.Messages()[0], gen: v.generation(), inc: v.nodes[n].inc, by: origin{node: v.who.ids[s], index: -1}}
	if l.msg.Read != 0 {
		if l.read = read; v.nodes[s].source == nil {
			l.read = want.Read // nobody else says what number it had
		}
	}
	l.open = v.untold(want) && want.Bytes > 0
	if v.lost(s) && l.msg.Kind == spec.Fetch && l.msg.Error == spec.FencedLeaderEpoch && want.Error == errorCodes[spec.NotLeaderOrFollower] {
		v.tolerate(ParkedFetchRefused) // it may have been
		l.msg.Error = spec.NotLeaderOrFollower
	}
	var c comparison
	v.message(&c, "", &l.msg, want)
	if c.n > 0 {
		return step, nil
	}
	return step, l
}
