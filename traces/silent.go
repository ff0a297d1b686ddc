package traces

import (
	"fmt"
	"reflect"
	"slices"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// A node that has no trace is judged by itself. Its messages are as they were received, so
// the other nodes can be followed without it; and the others are as they were recorded, so
// that all that is left is whether it can have sent what they received, and handled only
// what it can have got: a message to it was sent after all that its sender knew of by then.
// In which order it did so is what is looked for, and no order in which others took their
// events can stand in the way.

// mostOwed is how many messages of a node without a trace there may be for that. If there
// are more, or what they hold is not told, it is followed beside the others (scene.go).
const mostOwed = 4096

// bits is a set of numbers. It is never changed.
type bits []uint64

func (b bits) has(i int) bool { return i>>6 < len(b) && b[i>>6]>>(i&63)&1 == 1 }

func (b bits) with(i int) bits {
	c := make(bits, max(len(b), i>>6+1))
	copy(c, b)
	c[i>>6] |= 1 << (i & 63)
	return c
}

func (b bits) or(o bits) bits {
	if b.all(o) {
		return b
	}
	c := make(bits, max(len(b), len(o)))
	copy(c, b)
	for i := range o {
		c[i] |= o[i]
	}
	return c
}

// all says whether all of o are in b.
func (b bits) all(o bits) bool {
	for i := range o {
		if i >= len(b) && o[i] != 0 || i < len(b) && o[i]&^b[i] != 0 {
			return false
		}
	}
	return true
}

func (b bits) same(o bits) bool { return b.all(o) && o.all(b) }

// silence is what is known of a node without a trace that is judged by itself.
type silence struct {
	owed  []owed
	index map[messageID]int // of owed
	// taken is which event received each, among all; 0: none yet.
	taken []int64
	// knows are the messages of it that each other node knows of.
	knows [spec.MaxReplicas]bits
	// sent is which events sent each message: an answer to a copy of a request is another
	// message of the same name.
	sent map[messageID][]sending
	// never is more than it ever sent: what was sent after that, was not.
	never bits
	// best is where it came furthest in the last search.
	best *reach
	// path is what it did, once that is known.
	path *reach
}

// sending is an event that sent a message, by its number, and what its node knew of by then.
type sending struct {
	message *event.Message
	event   int64
	knew    bits
}

// hush looks for a node that can be judged by itself: the only one without a trace.
func (v *validator) hush() {
	v.silent = -1
	at := -1
	for n := range v.who.ids {
		if v.lost(n) {
			if at >= 0 {
				return
			}
			at = n
		}
	}
	if at < 0 || !v.free[at] || v.opt.Rules != v.clean || v.unsaid.records || len(v.missing[at]) > mostOwed {
		return
	}
	s := silence{index: map[messageID]int{}, sent: map[messageID][]sending{}}
	for i, m := range v.missing[at] {
		if m.Kind == event.FetchSnapshot && m.Response {
			return // what it held is not told
		}
		m.at = i
		s.owed = append(s.owed, m)
		s.index[m.id] = i
	}
	s.never = bits{}.with(len(s.owed))
	s.taken = make([]int64, len(s.owed))
	v.silent, v.silence = at, &s
}

// believed is a scene in which the message that node n receives next is as it was received.
func (v *validator) believed(s *scene, n int) []*scene {
	want := v.nodes[n].event.Recv
	l := v.letterOf(v.asWorld(s, n, s.nodes[n].list[0]), n, v.silent, want)
	if l == nil {
		return nil
	}
	l.assumed, l.unread = false, false
	if q := s.bag[idOf(want).other()]; q != nil && want.Response && want.Kind == event.BeginQuorumEpoch {
		l.read, l.msg.Read = q.read, q.msg.Read
	}
	c := s
	if len(v.scenes) > 1 {
		c = s.clone()
	}
	c.bag[idOf(want)] = l
	return []*scene{c}
}

// learn notes what an event that was taken tells its node.
func (v *validator) learn(n int, e *event.Event) {
	if v.silent < 0 {
		return
	}
	s := v.silence
	if v.receives(e) {
		id := idOf(e.Recv)
		if i, is := s.index[id]; is {
			if s.knows[n] = s.knows[n].with(i); s.taken[i] == 0 {
				s.taken[i] = v.stats.Events + 1
			}
		} else {
			s.knows[n] = s.knows[n].or(s.knew(e.Recv))
		}
	}
	sends := v.sends(e)
	for i := range sends {
		id := idOf(&sends[i])
		s.sent[id] = append(s.sent[id], sending{&sends[i], v.stats.Events + 1, s.knows[n]})
	}
}

// knew is what the sender of a message knew of: at the first time that it sent such a one.
func (s *silence) knew(m *event.Message) bits {
	sent := s.sent[idOf(m)]
	for _, at := range sent {
		if len(sent) == 1 || reflect.DeepEqual(at.message, m) {
			return at.knew
		}
	}
	if len(sent) > 0 {
		return sent[0].knew
	}
	return nil
}

// seek looks for what the silent node may have done, so that the first so many events could
// be. It is nil if there is nothing.
func (v *validator) seek(sc *scene, events int64) *reach {
	n, all := v.silent, v.silence
	to := &aim{epoch: noBound, answered: map[messageID]bits{}}
	want := bits{}
	for i := range all.owed {
		if t := all.taken[i]; t > 0 && t <= events {
			to.owed = append(to.owed, all.owed[i])
			if want = want.with(i); all.owed[i].id.response {
				to.answered[all.owed[i].id.other()] = all.never
			}
		}
	}
	for _, p := range v.inbox(sc, n) {
		sent := all.sent[p.id]
		k := len(sent) - 1
		for l := sc.bag[p.id]; l != p.letter; l = l.next {
			k-- // the latest is the first
		}
		if k >= 0 && sent[k].event <= events {
			to.inbox, to.past = append(to.inbox, p), append(to.past, sent[k].knew)
			if _, is := to.answered[p.id]; is {
				to.answered[p.id] = sent[k].knew
			}
		}
	}
	to.ask()
	l := sc.nodes[n].list[0]
	v.asWorld(sc, n, l)
	v.tries = 0
	first := &reach{r: l.replica, done: make(bits, (len(all.owed)+63)/64)}
	seen := map[uint64][]*reach{}
	left := make([][]*reach, len(to.owed)+1) // by how much has been sent
	count := func(s *reach) (k int) {
		for i := range to.owed {
			if s.has(&to.owed[i]) {
				k++
			}
		}
		return k
	}
	add := func(at reach, step *hiddenStep) {
		if v.deadEnd(sc, &at, to) {
			return
		}
		key := replicaKey(at.r)
		for _, w := range at.done {
			key = (key ^ w) * 0x9e3779b97f4a7c15
		}
		for _, o := range seen[key] {
			if o.leads(&at) {
				return
			}
		}
		kept := at.keep(step)
		seen[key] = append(seen[key], kept)
		k := count(kept)
		left[k] = append(left[k], kept)
	}
	left[0] = []*reach{first}
	furthest := -1
	for most := 0; ; {
		for most = len(to.owed); most >= 0 && len(left[most]) == 0; most-- {
		}
		if most < 0 {
			return nil
		}
		if furthest < most {
			furthest, all.best = most, left[most][len(left[most])-1]
		}
		s := left[most][len(left[most])-1]
		left[most] = left[most][:len(left[most])-1]
		if most == len(to.owed) {
			return s
		}
		if v.tries > v.opt.MaxSearch*searchesForNode {
			v.exhausted = true
			return nil
		}
		sending := func(from *reach, step *hiddenStep, m messageID) reach {
			at := s.after(from, step)
			at.done, at.post, at.gap = s.done.with(all.index[m]), &m, 0
			if !m.response {
				at.inc = m.conn.Inc
			}
			return at
		}
		// What can be sent without a change of the node may as well be sent now.
		free := false
		v.pay(sc, n, s, to, func(from *reach, step *hiddenStep, m *owed, _ *letter) bool {
			if free = from == s && sameReplica(s.r, &step.after); free {
				add(sending(from, step, m.id), step)
			}
			return !free
		})
		if free {
			continue
		}
		v.onward(sc, n, s, to, func(from *reach, step *hiddenStep, sent *post) {
			switch {
			case sent != nil:
				add(sending(from, step, sent.id), step)
			case s.gap < v.opt.Hidden:
				add(s.after(from, step), step)
			}
		})
	}
}

// searchesForNode is how many times as many hidden actions are tried for all that a node did
// as for what it did at one place.
const searchesForNode = 10

// judgeSilent looks whether the silent node can have sent what was received. If not, the event
// that cannot be is the first that receives what it has not sent, where it came furthest.
func (v *validator) judgeSilent() *Rejection {
	if v.silent < 0 {
		return nil
	}
	try := func(events int64) bool {
		for i, sc := range v.scenes {
			if v.silence.path = v.seek(sc, events); v.silence.path != nil {
				v.scenes[0], v.scenes[i] = v.scenes[i], v.scenes[0]
				return true
			}
			if v.exhausted {
				return true
			}
		}
		return false
	}
	if try(v.stats.Events) {
		return v.tooLong()
	}
	first := int64(0)
	for i := range v.silence.owed {
		if m := &v.silence.owed[i]; v.silence.taken[i] > 0 && !v.silence.best.has(m) && (first == 0 || v.silence.taken[i] < first) {
			first = v.silence.taken[i]
		}
	}
	v.stopAt = first
	return &Rejection{}
}

// tooLong is why there is no answer, if the search for what the silent node did was given up.
func (v *validator) tooLong() *Rejection {
	if !v.exhausted {
		return nil
	}
	for n := range v.who.ids {
		if d := &v.nodes[n]; n != v.silent && (d.ready || d.ended) {
			r := v.about(n)
			r.Why = fmt.Sprintf("there are more ways than were tried for what node %d did, of which there is no trace", v.who.ids[v.silent])
			return r
		}
	}
	return &Rejection{}
}

// interleave takes the moves of the nodes with traces, and those of the silent one, in an order
// in which they may have happened.
func (v *validator) interleave(w *world, chains [spec.MaxReplicas][]*move) checker.Props {
	s := v.silence
	var steps []*reach
	for at := s.path; at != nil && at.up != nil; at = at.up {
		steps = append(steps, at)
	}
	slices.Reverse(steps)
	sent := map[messageID]bool{}
	for more := true; more; {
		more = false
		for len(steps) > 0 {
			at := steps[0]
			if id := at.step.recv; id != nil && !sent[*id] {
				break
			}
			if bad := v.stride(w, v.silent, []hiddenStep{at.step}, nil); bad != 0 {
				return bad
			}
			if at.post != nil {
				sent[*at.post] = true
			}
			steps, more = steps[1:], true
		}
		for n := range v.who.ids {
			for len(chains[n]) > 0 {
				m := chains[n][0]
				if m.recv != nil && !sent[*m.recv] {
					break
				}
				if bad := v.stride(w, n, m.hidden, m.outcome); bad != 0 {
					return bad
				}
				for _, id := range m.sent {
					sent[id] = true
				}
				chains[n], more = chains[n][1:], true
			}
		}
	}
	for _, c := range chains {
		if len(c) > 0 || len(steps) > 0 {
			v.tangled = true // they wait for each other
		}
	}
	return 0
}

// unsent reports that what node n receives next cannot have been sent by the silent node.
func (v *validator) unsent(n int) *Rejection {
	r := v.about(n)
	r.Before = v.replica(&v.worlds[0].replicas[n])
	id := v.who.ids[v.silent]
	r.Why = "what it receives cannot have been sent"
	if !v.receives(&v.nodes[n].event) || idOf(v.nodes[n].event.Recv).sender() != id {
		r.Why = "with it there is no way for what was received"
	}
	r.Why += " by node " + fmt.Sprint(id) + ", of which there is no trace, beside what else it sent; nor after up to " + fmt.Sprint(int32(v.opt.Hidden)) + " hidden steps"
	r.Past = v.causes(n, maxPast)
	v.draw(n, r)
	return r
}
