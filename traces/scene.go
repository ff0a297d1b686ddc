package traces

import (
	"maps"
	"slices"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// scene is the states that each node may be in, of which any choice agrees with all events
// so far, and what they share.
type scene struct {
	bag     map[messageID]*letter
	digests map[digestKey]noted
	sizes   map[sizeOf]int64
	nodes   [spec.MaxReplicas]locals
}

func (s *scene) clone() *scene {
	c := *s
	c.bag, c.digests, c.sizes = maps.Clone(s.bag), maps.Clone(s.digests), maps.Clone(s.sizes)
	return &c
}

func newScene(w *world, nodes int) *scene {
	s := &scene{bag: w.bag, digests: w.digests, sizes: w.sizes}
	for n := range nodes {
		s.restart(w, n)
	}
	return s
}

// restart makes what a world has of a node its only state.
func (s *scene) restart(w *world, n int) {
	r := w.replicas[n]
	l := &local{replica: &r, reading: w.reading[n], mute: w.mute[n], digestless: w.digestless[n], steps: sum(w.hidden[:])}
	s.nodes[n] = locals{}
	s.nodes[n].add(l)
}

// size is how many states the nodes may be in, together.
func (s *scene) size(nodes int) int {
	n := 0
	for i := range nodes {
		n += len(s.nodes[i].list)
	}
	return n
}

// asWorld shows a scene to what takes a world, with node n in one of its states. It is used
// until the next call.
func (v *validator) asWorld(s *scene, n int, l *local) *world {
	if v.shown == nil {
		v.shown = &world{}
	}
	w := v.shown
	w.bag, w.digests, w.sizes = s.bag, s.digests, s.sizes
	w.reading[n], w.mute[n], w.digestless[n] = l.reading, l.mute, l.digestless
	return w
}

// trail is what an event leaves for others.
type trail struct {
	sent            *letter
	parked, handled bool
	note            digestKey
	notes           bool
}

func (a *trail) same(b *trail) bool {
	return a.parked == b.parked && a.handled == b.handled && a.notes == b.notes && a.note == b.note && sameLetter(a.sent, b.sent)
}

// takeApart takes the next event of node n in all states that it may be in.
func (v *validator) takeApart(n int) *Rejection {
	e := &v.nodes[n].event
	var next []*scene
	for _, s := range v.scenes {
		list := []*scene{s}
		if v.receives(e) && s.bag[idOf(e.Recv)] == nil {
			list = v.withLetter(s, n)
		}
		for _, s := range list {
			next = append(next, v.stepApart(s, n, e)...)
		}
		if v.exhausted {
			break
		}
	}
	next = v.merged(next)
	if len(next) == 0 {
		v.represent()
		return v.mismatch(n)
	}
	v.scenes = next
	if list := next[0].nodes[n].list; len(next) == 1 {
		v.undecided(e, len(list), func(i int) *spec.Replica { return list[i].replica })
	}
	v.learn(n, e)
	if r := v.tooManyApart(n); r != nil {
		return r
	}
	v.done(n)
	v.fold()
	return nil
}

// tooManyApart says whether there are more states than may be followed.
func (v *validator) tooManyApart(n int) *Rejection {
	size := 0
	for _, s := range v.scenes {
		size += s.size(len(v.who.ids))
	}
	v.stats.MaxWorlds = max(v.stats.MaxWorlds, size-len(v.who.ids)+1)
	if size <= v.opt.MaxWorlds*statesForWorld && !v.exhausted {
		return nil
	}
	v.exhausted = true
	v.represent()
	return v.tooMany(n, size)
}

// statesForWorld is how many states of single nodes are followed in place of one world.
const statesForWorld = 32

// withLetter are the scenes in which hidden steps have sent what node n receives next.
func (v *validator) withLetter(s *scene, n int) []*scene {
	id := idOf(v.nodes[n].event.Recv)
	from := v.who.index(id.sender())
	if from < 0 || !v.unlogged[id] || !v.free[from] {
		return nil
	}
	if v.silent == from {
		return v.believed(s, n)
	}
	type way struct {
		letter *letter
		nodes  locals
	}
	var ways []*way
	add := func(l *local, letter *letter) {
		for _, w := range ways {
			if sameLetter(w.letter, letter) {
				w.nodes.add(l)
				return
			}
		}
		w := &way{letter: letter}
		w.nodes.add(l)
		ways = append(ways, w)
	}
	received := func(l *local) {
		at, _ := posted(l.sent, id)
		gone := *l
		gone.sent = slices.Delete(slices.Clone(l.sent), at, at+1)
		add(&gone, l.sent[at].letter)
	}
	to := v.aimAt(s, from, n)
	for _, l := range s.nodes[from].list {
		if _, is := posted(l.sent, id); is {
			received(l)
		} else {
			v.produceApart(s, from, to, l, received)
		}
	}
	var list []*scene
	for _, w := range ways {
		c := s
		if len(ways) > 1 {
			c = s.clone()
		} else if len(v.scenes) == 1 {
			c.nodes[from] = w.nodes
			c.bag[id] = w.letter
			return []*scene{c}
		}
		if c == s {
			c = s.clone()
		}
		c.nodes[from], c.bag[id] = w.nodes, w.letter
		list = append(list, c)
	}
	return list
}

// aimAt is to let hidden steps of a node send what node n receives next.
func (v *validator) aimAt(s *scene, from, n int) *aim {
	want := v.nodes[n].event.Recv
	to := &aim{want: want, id: idOf(want), epoch: noBound, inbox: v.inbox(s, from), owed: v.owed(from)}
	to.ask()
	return to
}

// produceApart shows the states in which a node, after hidden steps from l, has sent what
// it is to.
func (v *validator) produceApart(s *scene, from int, to *aim, l *local, show func(*local)) {
	v.asWorld(s, from, l)
	v.explore(s, from, l, v.opt.Hidden, to, func(at *reach) {
		steps := at.steps()
		show(&local{
			replica: at.r, reading: l.reading, mute: l.mute, digestless: l.digestless || installs(steps), used: at.used, sent: at.sent,
			inc: at.inc, earlier: at.earlier, steps: l.steps + int32(len(steps)), from: l, by: &move{order: v.nextOrder(), hidden: steps, sent: news(l.sent, at.sent)},
		})
	})
}

// owed are the messages that no event sends and that events are still to receive, of node n:
// requests in the order in which they were sent, if they are numbered so.
func (v *validator) owed(n int) []owed {
	v.missing[n] = slices.DeleteFunc(v.missing[n], func(m owed) bool { return !v.unlogged[m.id] })
	return v.missing[n]
}

// news are the ids of messages in the second list that are not in the first.
func news(old, now []post) []messageID {
	var list []messageID
	for i := range now {
		if _, is := posted(old, now[i].id); !is {
			list = append(list, now[i].id)
		}
	}
	return list
}

func installs(steps []hiddenStep) bool {
	return slices.ContainsFunc(steps, func(s hiddenStep) bool { return s.action == spec.ActionInstallSnapshot })
}

func (v *validator) nextOrder() int64 {
	v.order++
	return v.order
}

// stepApart takes an event of node n in all states that it may be in in one scene. What
// they leave for others may differ: then there are several scenes.
func (v *validator) stepApart(s *scene, n int, e *event.Event) []*scene {
	type way struct {
		trail
		nodes locals
	}
	var ways []*way
	to := &aim{e: e, epoch: v.epochAt(e), inbox: v.inbox(s, n), owed: v.owed(n)}
	to.ask()
	order := v.nextOrder()
	for _, l := range s.nodes[n].list {
		w := v.asWorld(s, n, l)
		v.explore(s, n, l, v.budgets[n], to, func(at *reach) {
			if v.receives(e) && hasID(at.used, idOf(e.Recv)) {
				return
			}
			v.outcomes = v.outcomes[:0]
			v.apply(w, n, at.r, e, &comparison{})
			for i := range v.outcomes {
				o := v.outcomes[i]
				o.hidden = append(at.steps(), o.hidden...)
				after := v.after(l, at, &o, e)
				after.by = &move{order: order, hidden: o.hidden, outcome: &o, sent: news(l.sent, at.sent)}
				if v.receives(e) {
					id := idOf(e.Recv)
					after.by.recv = &id
				}
				if o.hasSent {
					after.by.sent = append(after.by.sent, idOf(&v.sends(e)[0]))
				}
				t := v.trailOf(s, n, &o, e, after)
				var to *way
				for _, k := range ways {
					if k.same(&t) {
						to = k
					}
				}
				if to == nil {
					to = &way{trail: t}
					ways = append(ways, to)
				}
				to.nodes.add(after)
			}
		})
		if v.exhausted {
			return nil
		}
	}
	var list []*scene
	for i, k := range ways {
		c := s
		if i < len(ways)-1 {
			c = s.clone()
		}
		list = append(list, c)
		c.nodes[n] = k.nodes
		v.leave(c, n, e, &k.trail)
	}
	return list
}

// after is the state of a node after an event.
func (v *validator) after(l *local, at *reach, o *outcome, e *event.Event) *local {
	a := &local{
		replica: &o.replica, reading: o.read, mute: o.mute, digestless: l.digestless || installs(o.hidden), used: at.used, sent: at.sent,
		inc: at.inc, earlier: at.earlier, steps: l.steps + int32(len(o.hidden)), from: l,
	}
	if o.forgets {
		o.replica.HighWatermark = spec.Unknown
	}
	if o.action == spec.ActionInstallSnapshot && e.Log != nil {
		a.digestless = e.Log.NoDigest
	}
	return a
}

// trailOf is what an outcome leaves for others.
func (v *validator) trailOf(s *scene, n int, o *outcome, e *event.Event, after *local) trail {
	var t trail
	if v.receives(e) && !e.Recv.Response {
		t.parked = o.action == spec.ActionHandleFetchRequest && !o.hasSent && !o.mute
		t.handled = !t.parked
	}
	if o.hasSent {
		m := &v.sends(e)[0]
		id := idOf(m)
		t.sent = &letter{msg: o.sent, read: o.sentRead, by: origin{v.who.ids[n], v.nodes[n].taken, v.nodes[n].source.Line()}}
		t.sent.gen = v.generation()
		t.sent.open = v.untold(m) && m.Bytes > 0
		if r := v.who.index(id.receiver()); r >= 0 {
			t.sent.inc = v.nodes[r].inc
		}
		t.sent.next = s.bag[id]
	}
	if e.State.Has&event.HasDigest != 0 || e.Log != nil && !e.Log.NoDigest {
		t.note = digestKeyOf(&after.replica.Log)
		_, known := s.digests[t.note]
		if t.notes = !known; known {
			t.note = digestKey{}
		}
	}
	return t
}

// leave puts what an event leaves for others where they look for it.
func (v *validator) leave(s *scene, n int, e *event.Event, t *trail) {
	if v.receives(e) {
		id := idOf(e.Recv)
		l := *s.bag[id]
		v.lastFrom = l.by.index
		if id.response {
			delete(s.bag, id)
		} else {
			if t.parked {
				l.parked = true
			} else {
				l.handled = true
			}
			l.gen = v.generation()
			s.bag[id] = &l
		}
	}
	if t.sent != nil {
		m := &v.sends(e)[0]
		s.bag[idOf(m)] = t.sent
		if m.Kind == event.FetchSnapshot && m.Response && m.Size > 0 && m.Error == 0 {
			s.sizes[sizeOf{n, e.Inc, m.Snapshot}] = m.Size
		}
	}
	if t.notes {
		digest := e.State.Digest
		if e.State.Has&event.HasDigest == 0 {
			digest = e.Log.Digest
		}
		s.digests[t.note] = noted{digest, v.who.ids[n], v.nodes[n].source.Line()}
	}
}

// merged leaves out scenes that are as another.
func (v *validator) merged(list []*scene) []*scene {
	var kept []*scene
	for _, s := range list {
		if !slices.ContainsFunc(kept, func(o *scene) bool { return v.sameScene(o, s) }) {
			kept = append(kept, s)
		}
	}
	return kept
}

func (v *validator) sameScene(a, b *scene) bool {
	if len(a.bag) != len(b.bag) || len(a.digests) != len(b.digests) {
		return false
	}
	for n := range v.who.ids {
		if len(a.nodes[n].list) != len(b.nodes[n].list) {
			return false
		}
	}
	for id, l := range a.bag {
		if o := b.bag[id]; o == nil || !sameLetter(o, l) {
			return false
		}
	}
	for k, d := range a.digests {
		if o, ok := b.digests[k]; !ok || o.digest != d.digest {
			return false
		}
	}
	for n := range v.who.ids {
		for _, l := range a.nodes[n].list {
			if !slices.ContainsFunc(b.nodes[n].byKey[l.key], func(o *local) bool { return o.covers(l) && l.covers(o) }) {
				return false
			}
		}
	}
	return true
}

// fold goes on from one world, once each node has one state.
func (v *validator) fold() {
	s := v.scenes[0]
	if v.silent >= 0 || len(v.scenes) > 1 || s.size(len(v.who.ids)) > len(v.who.ids) {
		return
	}
	for n := range v.who.ids {
		if len(s.nodes[n].list[0].sent) > 0 {
			return
		}
	}
	v.represent()
	for n := range v.who.ids {
		for _, id := range s.nodes[n].list[0].used {
			delete(s.bag, id)
		}
		s.restart(v.worlds[0], n)
	}
}

// represent makes the one world of one choice of states, with the fewest hidden steps, and
// judges the properties in it.
func (v *validator) represent() {
	s := v.scenes[0]
	var choice [spec.MaxReplicas]*local
	for n := range v.who.ids {
		choice[n] = slices.MinFunc(s.nodes[n].list, func(a, b *local) int { return int(a.steps - b.steps) })
	}
	if v.silent >= 0 && v.silence.path == nil {
		v.show(v.worlds[0], s, choice) // how it came about is not known yet
	} else if v.replay(v.worlds[0], s, choice) != 0 {
		v.violates = true
	}
}

// stride takes the moves of one event, or of hidden steps, in a world.
func (v *validator) stride(w *world, n int, hidden []hiddenStep, o *outcome) checker.Props {
	if bad := v.walk(w, n, hidden); bad != 0 {
		return bad
	}
	if o == nil {
		return 0
	}
	if o.crashed != nil {
		if bad := v.move(w, n, spec.ActionCrash, o.crashed); bad != 0 {
			return bad
		}
	}
	w.reached |= o.reached
	var bad checker.Props
	if !o.stutter && !sendsOnly(o.action) {
		bad = v.move(w, n, o.action, &o.replica)
	}
	return bad
}

// canTakeApart says whether what node n receives next has been sent in a scene.
func (v *validator) canTakeApart(n int) bool {
	want := v.nodes[n].event.Recv
	id := idOf(want)
	from := v.who.index(id.sender())
	for _, s := range v.scenes {
		for l := s.bag[id]; l != nil; l = l.next {
			if !id.response || v.isSame(l, want) {
				return true
			}
		}
		if s.bag[id] != nil || from < 0 || !v.unlogged[id] {
			continue
		}
		if from == v.silent {
			return true
		}
		for _, l := range s.nodes[from].list {
			if _, is := posted(l.sent, id); is {
				return true
			}
		}
	}
	return false
}

// anyApart lets hidden steps send what nodes wait for, whichever first. It says whether
// anything was sent.
func (v *validator) anyApart(waiting []int) bool {
	if v.exhausted {
		return false
	}
	senders := map[int]bool{}
	for _, n := range waiting {
		senders[v.who.index(idOf(v.nodes[n].event.Recv).sender())] = true
	}
	any := false
	for _, s := range v.scenes {
		var found [spec.MaxReplicas]locals
		for _, n := range waiting {
			id := idOf(v.nodes[n].event.Recv)
			from := v.who.index(id.sender())
			if from < 0 || !v.unlogged[id] || !v.free[from] {
				continue
			}
			to := v.aimAt(s, from, n)
			for _, l := range s.nodes[from].list {
				if _, is := posted(l.sent, id); !is {
					v.produceApart(s, from, to, l, found[from].add)
				}
			}
		}
		for n := range v.who.ids {
			if len(found[n].list) == 0 {
				continue
			}
			any = true
			if len(senders) > 1 {
				for _, l := range s.nodes[n].list {
					found[n].add(l)
				}
			}
			s.nodes[n] = found[n]
		}
	}
	return any && !v.exhausted
}
