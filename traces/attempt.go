package traces

import (
	"fmt"
	"slices"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// outcome is one way in which an event is a step of the specification.
type outcome struct {
	replica spec.Replica
	crashed *spec.Replica // the replica between Crash and Restart
	action  spec.ActionID
	stutter bool // nothing happened
	hasSent bool
	sent    spec.Msg
	// sentRead is the number of the read that sent confirms, read that of the one
	// in progress.
	sentRead, read int64
	mute           bool
	forgets        bool          // see ResignedForgets
	reached        checker.Props // what the action itself noted
	hidden         []hiddenStep  // before it
}

// apply finds the ways in which event e of node n may be a step from base, and
// adds them to v.outcomes. c says why there are none.
func (v *validator) apply(w *world, n int, base *spec.Replica, e *event.Event, c *comparison) {
	first := e.Inc != v.nodes[n].inc
	switch {
	case e.Attach != nil || e.Detach != nil: // nothing happens
		before := c.n
		if v.state(c, base, &e.State); c.n == before {
			*v.outcome() = outcome{replica: *base, stutter: true, read: w.reading[n]}
		}
	case first && (e.Action == spec.ActionRestart.String() || e.Action == ""):
		v.restart(w, n, base, e, c)
	case first:
		same(c, "action", spec.ActionRestart.String(), e.Action)
	case w.mute[n]:
		c.differ("send", "the message of the event before", "nothing, and the incarnation goes on")
	default:
		was := len(v.outcomes)
		v.attemptOne(w, n, base, e, c)
		if len(v.outcomes) == was {
			v.abandoned(w, n, base, e)
		}
	}
}

// attemptOne tries the action that an event names, or all of them.
func (v *validator) attemptOne(w *world, n int, base *spec.Replica, e *event.Event, c *comparison) {
	if e.Action == "" {
		v.anything(w, n, base, e, c)
		return
	}
	a, _ := spec.ActionNamed(e.Action)
	v.attempt(w, n, base, a, e, c)
}

// anything tries every action that an event without a name may be.
func (v *validator) anything(w *world, n int, base *spec.Replica, e *event.Event, c *comparison) {
	least := comparison{n: 1 << 30}
	for a := spec.ActionID(0); a < spec.NumReplicaActions; a++ {
		switch a {
		case spec.ActionCrash, spec.ActionLoseDisk, spec.ActionRestart, spec.ActionAbandonSnapshot:
			continue
		}
		if a.Handles() != v.receives(e) {
			continue
		}
		try := comparison{verbose: c.verbose}
		v.attempt(w, n, base, a, e, &try)
		if !try.blocked && try.n > 0 && try.n < least.n {
			least = try
		}
	}
	if !v.receives(e) && len(v.sends(e)) == 0 {
		o := v.outcome()
		*o = outcome{replica: *base, stutter: true, read: w.reading[n]}
		try := comparison{verbose: c.verbose}
		v.state(&try, base, &e.State)
		v.logChange(&try, spec.ActionAppend, base, base, e.Log)
		v.durable(&try, spec.ActionAppend, base, base, e.Durable)
		v.digest(&try, w, n, base, base, e)
		if try.n > 0 {
			v.outcomes = v.outcomes[:len(v.outcomes)-1]
			if try.n < least.n {
				least = try
			}
		}
	}
	*c = least
}

func (v *validator) outcome() *outcome {
	if len(v.outcomes) < cap(v.outcomes) {
		v.outcomes = v.outcomes[:len(v.outcomes)+1]
	} else {
		v.outcomes = append(v.outcomes, outcome{})
	}
	return &v.outcomes[len(v.outcomes)-1]
}

// receives says whether an event handles a message of a replica.
func (v *validator) receives(e *event.Event) bool { return e.Recv != nil && !e.Recv.External }

// sends are the messages of an event to replicas.
func (v *validator) sends(e *event.Event) []event.Message {
	for i := range e.Send {
		if e.Send[i].External {
			list := append([]event.Message(nil), e.Send[:i]...)
			for _, m := range e.Send[i:] {
				if !m.External {
					list = append(list, m)
				}
			}
			return list
		}
	}
	return e.Send
}

// attempt takes one action from base and compares everything.
func (v *validator) attempt(w *world, n int, base *spec.Replica, a spec.ActionID, e *event.Event, c *comparison) {
	switch a {
	case spec.ActionCrash, spec.ActionLoseDisk:
		c.differ("action", "absent: a crash leaves no event, a new incarnation shows it", e.Action)
		return
	case spec.ActionAbandonSnapshot:
		c.differ("action", "absent: what was received is forgotten without an event, the next one shows it", e.Action)
		return
	case spec.ActionRestart:
		c.differ("action", "anything else: a restart begins an incarnation", e.Action)
		return
	}
	switch {
	case a.Handles() && !v.receives(e):
		c.differ("recv", "a message", "none")
		return
	case !a.Handles() && v.receives(e):
		c.differ("recv", "none: "+a.String()+" handles no message", v.describe(e.Recv))
		return
	case a == spec.ActionFlush && v.unsaid.durable && e.Durable == nil && e.State.Has&event.HasFlushed == 0:
		v.flushSomewhere(w, n, base, e, c)
		return
	case !a.Handles():
		v.attemptWith(w, n, base, a, nil, e, c)
		return
	}
	l := w.bag[idOf(e.Recv)]
	if l == nil {
		c.differ("recv", "a message that was sent and not handled yet", v.describe(e.Recv))
		return
	}
	if l.next == nil && !l.open {
		v.attemptWith(w, n, base, a, l, e, c)
		return
	}
	least := comparison{n: 1 << 30}
	for ; l != nil; l = l.next {
		from, to := partsOf(l, e)
		for k := from; k <= to; k++ {
			part := l
			if l.open {
				part = &letter{msg: l.msg, read: l.read}
				part.msg.Records = l.msg.Records.Slice(0, k)
			}
			try := comparison{verbose: c.verbose}
			if v.attemptWith(w, n, base, a, part, e, &try); try.n < least.n {
				least = try
			}
		}
	}
	*c = least
}

// mostFlushes is how many ends of a flush are tried that an event does not show.
const mostFlushes = 16

// flushSomewhere is attempt for a flush that does not say how far it went: to the end of the
// log, or to any offset before, if they are few.
func (v *validator) flushSomewhere(w *world, n int, base *spec.Replica, e *event.Event, c *comparison) {
	defer func() { v.flushTo = 0 }()
	end := int64(base.Log.End())
	v.attemptWith(w, n, base, spec.ActionFlush, nil, e, c)
	for v.flushTo = max(int64(base.FlushedEnd())+1, end-mostFlushes); v.flushTo < end; v.flushTo++ {
		v.attemptWith(w, n, base, spec.ActionFlush, nil, e, &comparison{})
	}
}

// partsOf is how many records a letter may have had, by what an event that handles it
// shows: one number, but for one that neither shows the log nor where it ends.
func partsOf(l *letter, e *event.Event) (from, to spec.Offset) {
	if !l.open {
		return 0, 0
	}
	all := l.msg.Records.End()
	seen := spec.Offset(-1)
	switch {
	case e.Log != nil:
		seen = spec.Offset(count(e.Log.Appended))
	case e.State.Has&event.HasLogEnd != 0:
		seen = spec.Offset(e.State.LogEnd) - l.msg.Offset
	default:
		return 1, all
	}
	if seen < 1 || seen > all {
		seen = all
	}
	return seen, seen
}

// attemptWith is attempt with the very message that is handled, nil if none is.
func (v *validator) attemptWith(w *world, n int, base *spec.Replica, a spec.ActionID, l *letter, e *event.Event, c *comparison) {
	before := c.n
	var m *spec.Msg
	if l != nil {
		l = v.known(w, l, e.Recv)
		m = &l.msg
		if h := spec.HandlerOf(m); h != a {
			same(c, "action", h.String(), a.String())
			return
		}
		same(c, "recv.conn", v.who.node(m.Dst), v.who.ids[n])
		v.message(c, "recv", m, e.Recv)
		v.readNumber(c, "recv.read", l.read, e.Recv, !e.Recv.Response)
	}
	if !c.verbose && c.n > before {
		return
	}
	args := v.args(a, base, e, c)
	if sends := v.sends(e); a == spec.ActionHandleFetchRequest && len(sends) > 0 && v.untold(&sends[0]) {
		if args.Count = 0; sends[0].Bytes > 0 {
			args.Count = max(0, int64(base.Log.End()-m.Offset))
		}
	}
	o := v.outcome()
	o.replica, o.action = *base, a
	o.crashed, o.hidden, o.stutter, o.hasSent, o.mute, o.forgets, o.sentRead = nil, nil, false, false, false, false, 0
	if !v.ctx.Take(a, &o.replica, m, args, &v.outbox) {
		v.outcomes = v.outcomes[:len(v.outcomes)-1]
		c.blocked = true
		c.n++
		if c.verbose && v.ctx.Trial != nil {
			c.guard = v.ctx.Trial.Refused
			c.values = v.guarded(c.guard, base, args, m, e)
		}
		return
	}
	c.taken = true
	o.reached = v.ctx.Reached
	o.read = w.reading[n]
	if a == spec.ActionStartRead {
		o.read = e.Args.Read
		if e.Args.Read <= 0 {
			c.differ("args.read", "a number from 1", "0")
		}
	}
	v.compare(c, w, n, base, o, l, e)
	if c.n > before {
		v.outcomes = v.outcomes[:len(v.outcomes)-1]
	}
}

// args are the parameters of an action, from wherever the event has them.
func (v *validator) args(a spec.ActionID, base *spec.Replica, e *event.Event, c *comparison) spec.Args {
	var args spec.Args
	want := event.Args{}
	sends := v.sends(e)
	switch a {
	case spec.ActionSendVoteRequest, spec.ActionSendBeginQuorumEpoch, spec.ActionSendEndQuorumEpoch, spec.ActionSendFetch, spec.ActionSendFetchSnapshot:
		if len(sends) > 0 {
			args.Dst, _ = v.who.spec(idOf(&sends[0]).receiver())
		}
	case spec.ActionAppend:
		args.Count, want.Count = e.Args.Count, e.Args.Count
		if e.Args.Count < 1 {
			if e.Action != "" {
				c.differ("args.count", "at least 1", "0")
			} else if e.Log != nil {
				args.Count = count(e.Log.Appended)
			} else if e.State.Has&event.HasLogEnd != 0 {
				args.Count = max(0, e.State.LogEnd-int64(base.Log.End()))
			}
		}
	case spec.ActionFlush:
		args.Count = int64(base.Log.End())
		switch {
		case v.flushTo > 0:
			args.Count = v.flushTo
		case e.Durable != nil && e.Durable.LogEnd >= 0:
			args.Count = e.Durable.LogEnd
		case (e.Durable != nil || v.unsaid.durable) && e.State.Has&event.HasFlushed != 0:
			args.Count = e.State.Flushed
		}
	case spec.ActionHandleFetchRequest:
		args.Park, want.Park = e.Args.Park, e.Args.Park
		if e.Action == "" && len(sends) == 0 {
			args.Park = true
		}
		if len(sends) > 0 {
			args.Count = count(sends[0].Records)
		}
	case spec.ActionStartRead, spec.ActionServeRead:
		want.Read = e.Args.Read
	case spec.ActionAppendLeaderChange:
		args.WithVoters = base.Voters != 0 && e.Log != nil && hasVoters(e.Log.Appended)
	case spec.ActionAddVoter, spec.ActionRemoveVoter, spec.ActionUpdateVoter:
		want.Voter = e.Args.Voter
		args.Voter = v.subject(e, c)
	default:
		args, want.Snapshot = snapshotArgs(a, base, e, sends)
	}
	same(c, "args.snapshot", want.Snapshot, e.Args.Snapshot)
	same(c, "args.count", want.Count, e.Args.Count)
	same(c, "args.park", want.Park, e.Args.Park)
	same(c, "args.read", want.Read, e.Args.Read)
	same(c, "args.voter", want.Voter != nil, e.Args.Voter != nil)
	return args
}

func count(runs []event.Run) int64 {
	n := int64(0)
	for _, r := range runs {
		n += r.Count
	}
	return n
}

// readNumber compares the number of the read that a BeginQuorumEpoch confirms. It
// is not on the wire, so the answering side may not know it.
func (v *validator) readNumber(c *comparison, field string, want int64, m *event.Message, answering bool) {
	if answering && m.Read == 0 && want != 0 {
		v.tolerate(ReadNotOnWire)
		return
	}
	same(c, field, want, m.Read)
}

// compare holds everything that an event says against the step that was taken.
func (v *validator) compare(c *comparison, w *world, n int, base *spec.Replica, o *outcome, l *letter, e *event.Event) {
	if o.action == spec.ActionServeRead {
		same(c, "args.read", w.reading[n], e.Args.Read)
	}
	if e.State.Has&event.HasHighWatermark != 0 && e.State.HighWatermark == -1 && o.replica.HighWatermark != spec.Unknown &&
		(base.Role == spec.Resigned || o.replica.Role == spec.Resigned) {
		o.forgets, c.forgets = true, true
	}
	v.state(c, &o.replica, &e.State)
	v.logChange(c, o.action, base, &o.replica, e.Log)
	v.durable(c, o.action, base, &o.replica, e.Durable)
	if c.n == 0 || c.verbose {
		v.digest(c, w, n, base, &o.replica, e)
	}
	out, sends := v.outbox.Messages(), v.sends(e)
	if len(out) > 0 && e.Args.Park {
		same(c, "args.park", false, true)
	}
	switch {
	case len(out) == 0 && len(sends) == 0:
	case len(out) > 0 && len(sends) == 0 && l != nil:
		o.mute = true
	case len(out) != len(sends):
		want := "nothing"
		if len(out) > 0 {
			want = "a " + out[0].Kind.String() + " " + direction(out[0].Response)
		}
		seen := "nothing"
		if len(sends) > 0 {
			seen = v.describe(&sends[0])
		}
		c.differ("send", want, seen)
	default:
		o.sent, o.hasSent = out[0], true
		m, s := &o.sent, &sends[0]
		if l != nil && (l.parked || v.cut.begins[n] != nil && e.Inc == v.cut.begins[n].Inc) && m.Error == spec.FencedLeaderEpoch && s.Error == errorCodes[spec.NotLeaderOrFollower] {
			v.tolerate(ParkedFetchRefused)
			m.Error = spec.NotLeaderOrFollower
		}
		v.message(c, "send", m, s)
		if o.action == spec.ActionHandleFetchSnapshotRequest && m.Error == spec.NoErrorCode {
			v.sameSize(c, w, n, e, s)
		}
		read := int64(0)
		if m.Kind == spec.BeginQuorumEpoch {
			if !m.Response && m.Read != 0 {
				read = o.read
			} else if m.Response {
				read = l.read
			}
		}
		o.sentRead = read
		v.readNumber(c, "send.read", read, s, m.Response)
		id := idOf(s)
		if m.Response {
			if id != idOf(e.Recv).other() {
				c.differ("send identity", "that of the request "+v.describe(e.Recv), v.describe(s))
			}
		} else {
			same(c, "send.conn.from", v.who.ids[n], s.Conn.From)
			same(c, "send.conn.to", v.who.node(m.Dst), s.Conn.To)
			same(c, "send.conn.inc", e.Inc, s.Conn.Inc)
			if b := v.cut.begins[n]; b != nil && b.Inc == e.Inc && s.Correlation <= b.Attach.Correlation {
				c.differ("send.corr", fmt.Sprintf("above %d, that of the last request before recording began", b.Attach.Correlation), fmt.Sprint(s.Correlation))
			}
		}
		if w.bag[id] != nil && !m.Response {
			c.differ("send identity", "a new one", v.describe(s)+" was sent before")
		}
	}
}

// digest compares the digests of an event with those of the same records in other
// logs. At a record that nobody had a digest for, it is taken for good by commit.
func (v *validator) digest(c *comparison, w *world, n int, base, now *spec.Replica, e *event.Event) {
	inState := e.State.Has&event.HasDigest != 0
	if !inState && e.Log == nil {
		return
	}
	inLog := e.Log != nil && !e.Log.NoDigest
	if e.Log != nil && e.Log.NoDigest && (e.Log.Digest != 0 || e.Log.Reset == 0 && !w.digestless[n]) {
		c.differ("log.digest", "one: only that of a log that began with a snapshot may be unknown", "unknown")
	}
	if inLog && inState {
		if e.Log.Digest != e.State.Digest {
			c.digests++
			c.differ("digest", "", hex(e.State.Digest)+" in state, "+hex(e.Log.Digest)+" in log of the same event")
		}
	}
	want, known := w.digests[digestKeyOf(&now.Log)]
	if !known {
		return
	}
	if inLog && e.Log.Digest != want.digest {
		c.digests, c.seen = c.digests+1, want
		c.differ("log.digest", hex(want.digest), hex(e.Log.Digest))
	} else if inState && e.State.Digest != want.digest {
		c.digests, c.seen = c.digests+1, want
		c.differ("state.digest", hex(want.digest), hex(e.State.Digest))
	}
}

// restart is the first event of an incarnation: before it the process had never
// run, or it crashed.
func (v *validator) restart(w *world, n int, base *spec.Replica, e *event.Event, c *comparison) {
	if e.Recv != nil || len(e.Send) > 0 {
		c.differ("recv and send", "none: Restart handles and sends nothing", "something")
		return
	}
	same(c, "args.count", 0, e.Args.Count)
	same(c, "args.park", false, e.Args.Park)
	same(c, "args.read", 0, e.Args.Read)
	same(c, "args.snapshot", event.SnapshotID{}, e.Args.Snapshot)
	same(c, "args.voter", false, e.Args.Voter != nil)
	if c.n > 0 {
		return
	}
	was := len(v.outcomes)
	v.restartFrom(w, n, base, e, c)
	if len(v.outcomes) > was || base.Role == spec.Down {
		return
	}
	if steps := v.interrupted(base, e); len(steps) > 0 {
		v.restartFrom(w, n, &steps[len(steps)-1].after, e, &comparison{})
		for i := was; i < len(v.outcomes); i++ {
			v.outcomes[i].hidden = append(slices.Clone(steps), v.outcomes[i].hidden...)
		}
	}
}

// restartFrom is restart for a process that crashed as base.
func (v *validator) restartFrom(w *world, n int, base *spec.Replica, e *event.Event, c *comparison) {
	before := c.n
	if base.Role == spec.Down { // its first start
		v.revive(c, w, n, base, nil, e)
		return
	}
	least := comparison{n: 1 << 30}
	logs := spec.Survivors(base)
	for k := range logs {
		if e.State.Has&event.HasLogEnd != 0 && int64(logs[k].End()) != e.State.LogEnd && !c.verbose {
			continue
		}
		down := *base
		if !v.ctx.Take(spec.ActionCrash, &down, nil, spec.Args{Keep: k}, &v.outbox) {
			continue
		}
		try := comparison{verbose: c.verbose, n: before}
		v.revive(&try, w, n, &down, &down, e)
		if try.n > before && try.n < least.n {
			least = try
		}
	}
	if v.free[n] || !v.mayVote(base) {
		was := len(v.outcomes)
		// The disk may be another one: of all hidden steps the one that is least likely.
		// Observers may lose theirs as they like: nothing counts on them. Where voters change,
		// a node with another disk is another replica.
		lost := *base
		if (was == 0 || v.scenes != nil) && v.ctx.Take(spec.ActionLoseDisk, &lost, nil, spec.Args{}, &v.outbox) {
			try := comparison{verbose: c.verbose, n: before}
			v.revive(&try, w, n, &lost, nil, e)
			for i := was; i < len(v.outcomes); i++ {
				v.outcomes[i].hidden = []hiddenStep{{action: spec.ActionLoseDisk, after: lost}}
			}
		}
	}
	if c.n = least.n; c.verbose {
		c.list = least.list
	}
}

func (v *validator) revive(c *comparison, w *world, n int, down, crashed *spec.Replica, e *event.Event) {
	before := c.n
	o := v.outcome()
	*o = outcome{replica: *down, action: spec.ActionRestart}
	if !v.ctx.Take(spec.ActionRestart, &o.replica, nil, spec.Args{}, &v.outbox) {
		c.blocked = true
		c.n++
	} else {
		v.state(c, &o.replica, &e.State)
		v.durable(c, spec.ActionRestart, down, &o.replica, e.Durable)
		v.digest(c, w, n, down, &o.replica, e)
		if e.Log != nil {
			same(c, "log", false, true)
		}
	}
	if c.n > before {
		v.outcomes = v.outcomes[:len(v.outcomes)-1]
		return
	}
	if crashed != nil {
		kept := *crashed
		o.crashed = &kept
	}
}
