package traces

import (
	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// take takes the next event of node n in every world. It returns why none is left.
func (v *validator) take(n int) *Rejection {
	d := &v.nodes[n]
	e := &d.event
	old := v.worlds
	if len(old) == 1 && !v.exhaustive { // nearly always
		w := old[0]
		v.outcomes = v.outcomes[:0]
		var c comparison
		v.apply(w, n, &w.replicas[n], e, &c)
		if len(v.outcomes) == 1 {
			if bad := v.commit(w, n, &v.outcomes[0], e); bad != 0 {
				return v.violated(w, n, bad)
			}
			v.done(n)
			return nil
		}
	}
	var next []*world
	var dead *world
	hidden := v.exhaustive
	if v.exhaustive && v.receives(e) && v.unlogged[idOf(e.Recv)] {
		old = v.withMessage(old, n)
	}
	for {
		for _, w := range old {
			if len(next) > v.opt.MaxWorlds {
				break
			}
			v.outcomes = v.outcomes[:0]
			if hidden {
				v.applyHidden(w, n, e)
			} else {
				v.apply(w, n, &w.replicas[n], e, &comparison{})
			}
			for i := range v.outcomes {
				to := w.clone()
				if bad := v.commit(to, n, &v.outcomes[i], e); bad != 0 {
					to.bad, dead = bad, to
					continue
				}
				next = v.join(next, to)
			}
		}
		if len(next) > 0 || hidden || v.budgets[n] == 0 || dead != nil {
			break
		}
		hidden = true
	}
	switch {
	case len(next) == 0 && v.exhausted:
		return v.mismatch(n)
	case len(next) == 0 && dead != nil:
		return v.violated(dead, n, dead.bad)
	case len(next) == 0:
		return v.mismatch(n)
	case len(next) > v.opt.MaxWorlds:
		v.exhausted = true
		return v.tooMany(n, len(next))
	}
	v.undecided(e, len(next), func(i int) *spec.Replica { return &next[i].replicas[n] })
	v.worlds = next
	v.stats.MaxWorlds = max(v.stats.MaxWorlds, len(next))
	v.done(n)
	return nil
}

// withMessage makes hidden steps send what node n receives, where they have not yet: they
// may have sent something else before.
func (v *validator) withMessage(worlds []*world, n int) []*world {
	id := idOf(v.nodes[n].event.Recv)
	s := v.who.index(id.sender())
	var list []*world
	for _, w := range worlds {
		if w.bag[id] != nil {
			list = v.join(list, w)
		} else if s >= 0 {
			list = v.produce(list, w, s, n)
		}
	}
	return list
}

// join adds a world unless an equal one is there.
func (v *validator) join(list []*world, w *world) []*world {
	w.key = v.keyOf(w)
	for _, o := range list {
		if o.key == w.key && v.sameWorld(o, w) {
			if sum(o.hidden[:]) > sum(w.hidden[:]) {
				o.hidden, o.reached = w.hidden, w.reached
			}
			return list
		}
	}
	return append(list, w)
}

func sum(list []int32) (n int32) {
	for _, k := range list {
		n += k
	}
	return n
}

func (v *validator) sameWorld(a, b *world) bool {
	if a.reading != b.reading || a.mute != b.mute || a.digestless != b.digestless || len(a.bag) != len(b.bag) || len(a.digests) != len(b.digests) {
		return false
	}
	for n := range v.who.ids {
		if !sameReplica(&a.replicas[n], &b.replicas[n]) {
			return false
		}
	}
	if a.ghost.ReadFloor != b.ghost.ReadFloor || !a.ghost.Exposed.SameAs(&b.ghost.Exposed) || !a.ghost.ExposedIn.SameAs(&b.ghost.ExposedIn) ||
		!a.ghost.Chosen.SameAs(&b.ghost.Chosen) || !a.ghost.ChosenIn.SameAs(&b.ghost.ChosenIn) || a.ghost.Starts != b.ghost.Starts {
		return false
	}
	for id, l := range a.bag {
		o := b.bag[id]
		if o == l {
			continue
		}
		if o == nil || o.read != l.read || o.open != l.open || o.parked != l.parked || o.handled != l.handled || o.next != l.next || !o.msg.Records.SameAs(&l.msg.Records) {
			return false
		}
		x, y := o.msg, l.msg
		x.Records, y.Records = spec.Log{}, spec.Log{}
		if x != y {
			return false
		}
	}
	for k, d := range a.digests {
		if o, ok := b.digests[k]; !ok || o.digest != d.digest {
			return false
		}
	}
	return true
}

// commit makes an outcome of an event the state of its world.
func (v *validator) commit(w *world, n int, o *outcome, e *event.Event) checker.Props {
	if bad := v.walk(w, n, o.hidden); bad != 0 {
		return bad
	}
	if o.crashed != nil {
		if bad := v.move(w, n, spec.ActionCrash, o.crashed); bad != 0 {
			return bad
		}
	}
	w.mute[n], w.reading[n] = o.mute, o.read
	w.reached |= o.reached
	if o.mute {
		v.tolerate(DiedBeforeSending)
	}
	var bad checker.Props
	v.news = 0
	if v.receives(e) {
		l := w.bag[idOf(e.Recv)]
		if v.news = l.past; l.assumed {
			w.ghost.NoteStarts(&o.replica)
		}
	}
	if !o.stutter && !sendsOnly(o.action) {
		bad = v.move(w, n, o.action, &o.replica)
	}
	if o.forgets {
		v.tolerate(ResignedForgets)
		w.replicas[n].HighWatermark = spec.Unknown
	}
	if v.receives(e) {
		id := idOf(e.Recv)
		l := *w.bag[id]
		v.lastFrom = l.by.index
		if id.response {
			delete(w.bag, id)
		} else {
			if o.action == spec.ActionHandleFetchRequest && !o.hasSent && !o.mute {
				l.parked = true
			} else {
				if l.handled {
					v.stats.Copies++
				}
				l.handled = true
			}
			l.gen = v.generation()
			w.bag[id] = &l
		}
	}
	if o.hasSent {
		s := v.sends(e)
		l := &letter{msg: o.sent, read: o.sentRead, by: origin{v.who.ids[n], v.nodes[n].taken, v.nodes[n].source.Line()}, past: v.cut.past[n] | v.news, gen: v.generation()}
		if id := idOf(&s[0]); id.response {
			q := w.bag[id.other()]
			l.unread = q != nil && q.unread
		}
		id := idOf(&s[0])
		l.open = v.untold(&s[0]) && s[0].Bytes > 0
		if r := v.who.index(id.receiver()); r >= 0 {
			l.inc = v.nodes[r].inc
		}
		l.next = w.bag[id]
		w.bag[id] = l
		if o.action == spec.ActionHandleFetchSnapshotRequest && s[0].Size > 0 {
			w.sizes[sizeOf{n, e.Inc, s[0].Snapshot}] = s[0].Size
		}
	}
	if o.action == spec.ActionInstallSnapshot && e.Log != nil {
		w.digestless[n] = e.Log.NoDigest
	}
	if e.State.Has&event.HasDigest != 0 {
		v.note(w, n, e.State.Digest)
	} else if e.Log != nil && !e.Log.NoDigest {
		v.note(w, n, e.Log.Digest)
	}
	return bad
}

func (v *validator) note(w *world, n int, digest uint64) {
	k := digestKeyOf(&w.replicas[n].Log)
	if _, known := w.digests[k]; !known {
		w.digests[k] = noted{digest, v.who.ids[n], v.nodes[n].source.Line()}
	}
}

func sendsOnly(a spec.ActionID) bool {
	switch a {
	case spec.ActionSendVoteRequest, spec.ActionSendBeginQuorumEpoch, spec.ActionSendEndQuorumEpoch, spec.ActionSendFetch:
		return true
	}
	return false
}

// walk takes hidden steps.
func (v *validator) walk(w *world, n int, steps []hiddenStep) checker.Props {
	for i := range steps {
		w.hidden[steps[i].action]++
		w.reached |= steps[i].reached
		if bad := v.move(w, n, steps[i].action, &steps[i].after); bad != 0 {
			return bad
		}
		if steps[i].action == spec.ActionInstallSnapshot {
			w.digestless[n] = true // nobody has said
		}
		if steps[i].recv != nil && !steps[i].parks {
			delete(w.bag, *steps[i].recv)
		}
	}
	return 0
}

// done moves the position of node n past its event.
func (v *validator) done(n int) {
	d := &v.nodes[n]
	e := &d.event
	v.remember(n, e)
	if e.Inc != d.inc {
		if d.inc != 0 {
			v.stats.Crashes++
		}
		d.incs++
	}
	d.inc, d.seq, d.step = e.Inc, e.Seq, e.Step
	if v.receives(e) && len(v.unlogged) > 0 {
		delete(v.unlogged, idOf(e.Recv))
	}
	if v.receives(e) && v.awaited != nil {
		if id := idOf(e.Recv); v.awaited[id] > 1 {
			v.awaited[id]--
		} else {
			delete(v.awaited, id)
		}
	}
	v.stats.event(e, v.receives(e) && !e.Args.Park, len(e.Send))
	v.heard(n)
	if v.opt.At != nil && v.stats.Events%v.opt.Every == 0 {
		v.opt.At(v.stats.Events)
	}
	if v.stats.Events%condenseEvery == 0 && !v.opt.NoInvariants {
		for _, w := range v.worlds {
			spec.Condense(&w.ghost, w.ptrs[:len(v.who.ids)])
		}
	}
	if v.stats.Events%v.pruneEvery == 0 {
		for _, s := range v.scenes {
			w := v.worlds[0]
			w.bag, w.digests, w.sizes = s.bag, s.digests, s.sizes
			v.prune(w)
		}
		for _, w := range v.worlds {
			if v.scenes == nil {
				v.prune(w)
			}
		}
	}
}
