package traces

import (
	"cmp"
	"math"
	"slices"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// How all ways to take hidden steps are followed at once. Worlds would multiply: a state of
// the whole for every choice of a state of each node. But an action sees its own node and a
// message, and a message is as it was recorded; so which states a node may be in does not
// depend on which the others are in, and the states of each are kept for themselves.
// Where they do depend on each other (what one sends is not all recorded, and differs),
// there are several scenes. Properties are judged on one behaviour that is left (scene.go).

// local is a state that one node may be in. It is never changed.
type local struct {
	replica    *spec.Replica
	reading    int64
	mute       bool
	digestless bool
	// used are messages that hidden steps have handled, in order of their ids.
	used []messageID
	// sent are messages that hidden steps have sent, and that an event is to receive.
	sent []post
	// inc is the incarnation of the last request of those, or of any before it, that a node
	// without a trace sent since it started; 0: none. earlier is that of one it sent before.
	inc, earlier int32
	// steps is how many hidden steps led here.
	steps int32
	key   uint64
	from  *local // nil: the first
	by    *move
}

// post is a letter with its name.
type post struct {
	id     messageID
	letter *letter
}

// move is how a node came from one local to the next.
type move struct {
	order   int64 // among those of all nodes
	hidden  []hiddenStep
	outcome *outcome // of an event; nil if hidden steps sent what another is to receive
	// recv is what the event receives, sent what it and the hidden steps before it send that
	// another receives.
	recv *messageID
	sent []messageID
}

// hasID says whether a list in order of ids has one.
func hasID(list []messageID, id messageID) bool {
	_, ok := slices.BinarySearchFunc(list, id, compareID)
	return ok
}

// withID is a list with one id more; the list given is not changed.
func withID(list []messageID, id messageID) []messageID {
	at, _ := slices.BinarySearchFunc(list, id, compareID)
	return slices.Insert(slices.Clip(slices.Clone(list)), at, id)
}

// subset says whether all of a are in b; both are in order.
func subset(a, b []messageID) bool {
	if len(a) > len(b) {
		return false
	}
	i := 0
	for k := range b {
		if i < len(a) && a[i] == b[k] {
			i++
		}
	}
	return i == len(a)
}

// replicaKey is equal for equal replicas.
func replicaKey(r *spec.Replica) uint64 {
	h := uint64(r.Role)
	add := func(x uint64) { h = (h ^ x) * 0x9e3779b97f4a7c15; h ^= h >> 29 }
	add(uint64(r.Granted)<<32 | uint64(r.Confirmed)<<40 | uint64(r.ReadRound))
	add(uint64(r.Election.Epoch)<<32 | uint64(r.Election.Leader)<<16 | uint64(r.Election.Voted))
	add(uint64(r.HighWatermark))
	add(uint64(r.Log.End())<<32 ^ uint64(r.Disk.End()))
	add(uint64(r.Log.LastEpoch())<<32 ^ uint64(r.Disk.LastEpoch()))
	for _, end := range r.End {
		add(uint64(end))
	}
	return h
}

func (l *local) hash() {
	l.key = replicaKey(l.replica) ^ uint64(l.reading)<<7
	for i := range l.sent {
		l.key += uint64(l.sent[i].id.corr)*0x9e3779b97f4a7c15 + uint64(l.sent[i].id.conn.N)
	}
}

// covers says whether whatever may follow b may follow a: they differ at most in that b
// has handled more messages unseen.
func (l *local) covers(b *local) bool {
	if l.key != b.key || l.reading != b.reading || l.mute != b.mute || l.digestless != b.digestless ||
		l.inc != b.inc || l.earlier != b.earlier || !samePosts(l.sent, b.sent) {
		return false
	}
	return subset(l.used, b.used) && sameReplica(l.replica, b.replica)
}

// samePosts says whether two lists in order of their ids have the same messages.
func samePosts(a, b []post) bool {
	return slices.EqualFunc(a, b, func(x, y post) bool { return x.id == y.id && sameLetter(x.letter, y.letter) })
}

// posted says whether a message is in such a list, and where it is or would be.
func posted(list []post, id messageID) (at int, is bool) {
	return slices.BinarySearchFunc(list, id, func(p post, id messageID) int { return compareID(p.id, id) })
}

// withPost is a list in order of ids with one more; the list given is not changed.
func withPost(list []post, p post) []post {
	at, _ := posted(list, p.id)
	return slices.Insert(slices.Clip(slices.Clone(list)), at, p)
}

// locals are states of one node, none covered by another.
type locals struct {
	list  []*local
	byKey map[uint64][]*local
}

func (s *locals) add(l *local) {
	l.hash()
	if s.byKey == nil {
		s.byKey = map[uint64][]*local{}
	}
	same := s.byKey[l.key]
	for i, o := range same {
		switch {
		case o.covers(l) && (o.steps <= l.steps || len(o.used) < len(l.used)):
			return
		case l.covers(o):
			same[i] = l
			s.list[slices.Index(s.list, o)] = l
			return
		}
	}
	s.byKey[l.key] = append(same, l)
	s.list = append(s.list, l)
}

// sameLetter says whether two messages of one name are the same to whoever handles them.
func sameLetter(a, b *letter) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil || a.read != b.read || a.open != b.open || a.parked != b.parked || a.handled != b.handled || a.next != b.next || !a.msg.Records.SameAs(&b.msg.Records) {
		return false
	}
	x, y := a.msg, b.msg
	x.Records, y.Records = spec.Log{}, spec.Log{}
	return x == y
}

// reach is a state that hidden steps may lead to.
type reach struct {
	up   *reach
	step hiddenStep // the last; after is the state
	r    *spec.Replica
	used []messageID
	sent []post
	// gap is how many steps there were since an event, or since the last message sent that
	// an event receives.
	gap          int
	inc, earlier int32
	// In a search for all that a node without a trace did (silent.go), done are the messages
	// that it has sent, in place of sent, and post is the last of them, if the last step
	// sent it.
	done bits
	post *messageID
}

// has says whether a message that is owed has been sent.
func (s *reach) has(m *owed) bool {
	if s.done != nil {
		return s.done.has(m.at)
	}
	_, is := posted(s.sent, m.id)
	return is
}

// owed is a message that no event sends, and that events receive.
type owed struct {
	*event.Message
	id messageID
	at int // in the list of all
}

// leads says whether whatever b leads to s leads to.
func (s *reach) leads(b *reach) bool {
	return s.gap <= b.gap && s.inc == b.inc && s.earlier == b.earlier && s.done.same(b.done) && subset(s.used, b.used) && samePosts(s.sent, b.sent) && sameReplica(s.r, b.r)
}

// steps are the hidden steps that led there.
func (s *reach) steps() []hiddenStep {
	n := 0
	for at := s; at.up != nil; at = at.up {
		n++
	}
	if n == 0 {
		return nil
	}
	list := make([]hiddenStep, n)
	for at := s; at.up != nil; at = at.up {
		n--
		list[n] = at.step
	}
	return list
}

// aim is what hidden steps are looked for.
type aim struct {
	e *event.Event // before which they lie; nil: they are to send want
	// owed are the messages of the node that no event sends, and that events are still to
	// receive.
	owed []owed
	// want is a message that they are to send.
	want *event.Message
	id   messageID
	// epoch is the highest that the node can be in before.
	epoch spec.Epoch
	// inbox are the messages that they may handle.
	inbox []post
	// asked are the log end offsets of those who ask the node for its vote.
	asked []int64
	// fetched is, in silent.go, how far other nodes say in an epoch that they have fetched.
	fetched map[fetcher]spec.Offset
	// past is, in silent.go, which messages a node must have sent before it can have received
	// each of inbox, and answered is that for the requests whose answers are owed.
	past     []bits
	answered map[messageID]bits
}

// noBound is an epoch that no node is beyond.
const noBound = spec.Epoch(math.MaxInt32)

// epochAt is the epoch that an event shows its node to be in after it. Epochs never go back
// under the rules of the protocol, but for a disk that is lost, and what was done before
// that is lost with it.
func (v *validator) epochAt(e *event.Event) spec.Epoch {
	if v.opt.Rules != v.clean {
		return noBound
	}
	if e.State.Has&event.HasEpoch != 0 {
		return spec.Epoch(e.State.Epoch)
	}
	for i := range e.Send {
		if !e.Send[i].External {
			return spec.Epoch(e.Send[i].Epoch)
		}
	}
	return noBound
}

// inbox are the messages that hidden steps of node n may handle: those to it, but not what
// an event handles that is still to come. A request whose answer is still to be received is
// handled where that is sent; before that it may be parked.
func (v *validator) inbox(sc *scene, n int) []post {
	var list []post
	for id, l := range sc.bag {
		if id.receiver() == v.who.ids[n] && v.awaited[id] == 0 && (id.response || !l.handled) {
			for ; l != nil; l = l.next {
				list = append(list, post{id, l})
			}
		}
	}
	slices.SortStableFunc(list, func(a, b post) int { return compareID(a.id, b.id) })
	return list
}

// explore shows all states that at most so many hidden steps of node n lead to from l.
func (v *validator) explore(sc *scene, n int, l *local, budget int, to *aim, show func(s *reach)) {
	v.tries = 0
	first := &reach{r: l.replica, used: l.used, sent: l.sent, inc: l.inc, earlier: l.earlier}
	seen := map[uint64][]*reach{replicaKey(first.r): {first}}
	for queue := []*reach{first}; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		if to.e != nil {
			show(s)
		} else if _, is := posted(s.sent, to.id); is {
			show(s)
			continue
		}
		if s.gap == budget {
			continue
		}
		v.onward(sc, n, s, to, func(from *reach, step *hiddenStep, sent *post) {
			at := s.after(from, step)
			switch {
			case sent != nil:
				at.sent = withPost(s.sent, *sent)
				if at.gap = 0; !sent.id.response {
					at.inc = sent.id.conn.Inc
				}
			}
			if v.deadEnd(sc, &at, to) {
				return
			}
			key := replicaKey(at.r)
			for _, o := range seen[key] {
				if o.leads(&at) {
					return
				}
			}
			kept := at.keep(step)
			seen[key] = append(seen[key], kept)
			queue = append(queue, kept)
		})
		if v.tries > v.opt.MaxSearch {
			v.exhausted = true
			return
		}
	}
}

// after is what a step leads to, as long as the step is not changed.
func (s *reach) after(from *reach, step *hiddenStep) reach {
	at := reach{up: from, r: &step.after, used: s.used, sent: s.sent, done: s.done, gap: s.gap + 1, inc: s.inc, earlier: s.earlier}
	if step.action == spec.ActionCrash && s.inc > 0 {
		at.inc, at.earlier = 0, s.inc
	}
	if step.recv != nil && !step.parks {
		at.used = withID(s.used, *step.recv)
	}
	return at
}

// keep is a copy with a step of its own.
func (s reach) keep(step *hiddenStep) *reach {
	s.step = *step
	s.r = &s.step.after
	return &s
}

// onward lists what node n may do unseen, if it changes the node, or sends what an event
// receives. It shows the steps before the last, which count as none, as another reach.
func (v *validator) onward(sc *scene, n int, s *reach, to *aim, yield func(*reach, *hiddenStep, *post)) {
	next := &v.spare
	answers := func(id *messageID) bool {
		if to.answered != nil {
			_, is := to.answered[*id]
			return is
		}
		return !id.response && v.awaited[id.other()] > 0
	}
	lazy := v.lazy(n)
	take := func(from *reach, a spec.ActionID, id *messageID, m *spec.Msg, args spec.Args) (enabled bool) {
		v.tries++
		next.after = *from.r
		if !v.ctx.Take(a, &next.after, m, args, &v.outbox) {
			return false
		}
		next.action, next.recv, next.reached = a, id, v.ctx.Reached
		next.parks = args.Park && len(v.outbox.Messages()) == 0
		if next.after.Election.Epoch > to.epoch || sameReplica(s.r, &next.after) || id != nil && !next.parks && answers(id) {
			return true
		}
		yield(from, next, nil)
		return true
	}
	try := func(a spec.ActionID, id *messageID, m *spec.Msg, args spec.Args) {
		switch {
		case a == spec.ActionStartRead || a == spec.ActionServeRead: // nothing that is recorded can come of them, but see ready
		case !lazy:
			take(s, a, id, m, args)
		case a == spec.ActionAppend || a == spec.ActionFlush:
		default:
			v.lazily(s, a, m, to, func(from *reach) bool { return take(from, a, id, m, args) })
		}
	}
	r := s.r
	v.unseen(n, r, to.e, to.want, try)
	if r.Role == spec.Down {
		return
	}
	if v.lost(n) && s.mayEnd(to.owed) {
		for k := range spec.Survivors(r) {
			try(spec.ActionCrash, nil, nil, spec.Args{Keep: k})
		}
	}
	for i := range to.inbox {
		id := &to.inbox[i].id
		if hasID(s.used, *id) || to.past != nil && !s.done.all(to.past[i]) {
			continue
		}
		m := &to.inbox[i].letter.msg
		a := spec.HandlerOf(m)
		if answers(id) && a != spec.ActionHandleFetchRequest {
			continue
		}
		if v.free[n] || v.unsaid.actions[a] {
			try(a, id, m, spec.Args{Park: a == spec.ActionHandleFetchRequest})
		}
	}
	if !v.free[n] {
		return
	}
	v.pay(sc, n, s, to, func(from *reach, step *hiddenStep, m *owed, sent *letter) bool {
		yield(from, step, &post{m.id, sent})
		return true
	})
}

// pay tries to send what node n owes, until it is told that it is enough.
func (v *validator) pay(sc *scene, n int, s *reach, to *aim, yield func(*reach, *hiddenStep, *owed, *letter) (more bool)) {
	asked := false // the first request that has not been sent is the next
	for i := range to.owed {
		m := &to.owed[i]
		if s.has(m) || asked && !m.id.response && v.inOrder {
			continue
		}
		asked = asked || !m.id.response
		if spec.Epoch(m.Epoch) > to.epoch || !s.maySend(m.id, v, n) || m.id.response && hasID(s.used, m.id.other()) {
			continue
		}
		if to.answered != nil && m.id.response && !s.done.all(to.answered[m.id.other()]) {
			continue
		}
		from := s
		if v.lazy(n) {
			from = v.ready(sc, s, m.Message)
		}
		v.tries++
		if step, sent := v.sendOf(v.shown, n, from.r, m.Message); sent != nil {
			if v.spare = step; !yield(from, &v.spare, m, sent) {
				return
			}
		}
	}
}

// lost says whether a node has no trace.
func (v *validator) lost(n int) bool { return v.nodes[n].source == nil }

// mayEnd says whether a process without a trace may end: no request that it is still to
// send is of the incarnation of one that it has sent.
func (s *reach) mayEnd(list []owed) bool {
	for i := range list {
		if m := &list[i]; !s.has(m) && !m.Response && m.Conn.Inc == s.inc {
			return false
		}
	}
	return true
}

// maySend says whether a request may be of the present incarnation of node n.
func (s *reach) maySend(id messageID, v *validator, n int) bool {
	switch {
	case id.response:
		return true
	case !v.lost(n):
		return id.conn.Inc == v.nodes[n].inc
	case s.inc > 0:
		return id.conn.Inc == s.inc
	}
	return id.conn.Inc > s.earlier
}

// chain are the moves that led to a local, since the one that has none.
func (l *local) chain(list []*move) []*move {
	for at := l; at.by != nil; at = at.from {
		list = append(list, at.by)
	}
	return list
}

// replay takes the moves that led to a choice of a local for each node in one world, and
// judges the properties.
func (v *validator) replay(w *world, sc *scene, choice [spec.MaxReplicas]*local) checker.Props {
	var chains [spec.MaxReplicas][]*move
	for n := range v.who.ids {
		chains[n] = choice[n].chain(nil)
		slices.Reverse(chains[n])
	}
	bad := checker.Props(0)
	if v.silent >= 0 {
		bad = v.interleave(w, chains)
	} else {
		bad = v.inTurn(w, chains)
	}
	if bad != 0 {
		return bad
	}
	v.show(w, sc, choice)
	return 0
}

// show makes a world of a choice of locals.
func (v *validator) show(w *world, sc *scene, choice [spec.MaxReplicas]*local) {
	w.bag, w.digests, w.sizes = sc.bag, sc.digests, sc.sizes
	for n := range v.who.ids {
		if n == v.silent {
			continue
		}
		c := choice[n]
		w.reading[n], w.mute[n], w.digestless[n] = c.reading, c.mute, c.digestless
		w.replicas[n] = *c.replica
	}
}

// inTurn takes moves in the order in which they were found.
func (v *validator) inTurn(w *world, chains [spec.MaxReplicas][]*move) checker.Props {
	for {
		n := -1
		for i := range chains {
			if len(chains[i]) > 0 && (n < 0 || chains[i][0].order < chains[n][0].order) {
				n = i
			}
		}
		if n < 0 {
			return 0
		}
		if bad := v.stride(w, n, chains[n][0].hidden, chains[n][0].outcome); bad != 0 {
			return bad
		}
		chains[n] = chains[n][1:]
	}
}

// foresee reads all traces for what is received, and for what of it no event sends.
func (v *validator) foresee() error {
	v.awaited, v.inOrder = map[messageID]int32{}, true
	first := map[messageID]*event.Message{}
	type at struct {
		inc  int32
		corr int32
	}
	last := map[int32]at{}
	var err error
	v.cut.leaders = map[int32]int32{}
	leads := func(m *event.Message) {
		switch {
		case m.External:
		case m.Response && m.Leader >= 0:
			v.cut.leaders[m.Epoch] = m.Leader
		case !m.Response && (m.Kind == event.BeginQuorumEpoch || m.Kind == event.EndQuorumEpoch):
			v.cut.leaders[m.Epoch] = m.Conn.From
		}
	}
	v.unlogged, err = neverSent(v.inputs, func(e *event.Event) {
		if e.State.Has&event.HasLeader != 0 && e.State.Has&event.HasEpoch != 0 && e.State.Leader >= 0 {
			v.cut.leaders[e.State.Epoch] = e.State.Leader
		}
		if e.Recv != nil {
			leads(e.Recv)
		}
		if v.receives(e) {
			id := idOf(e.Recv)
			if v.awaited[id]++; first[id] == nil {
				first[id] = e.Recv
			}
		}
		for i := range e.Send {
			m := &e.Send[i]
			if leads(m); m.Response || m.External {
				continue
			}
			now := at{m.Conn.Inc, m.Correlation}
			if was := last[e.Node.ID]; now.inc < was.inc || now.inc == was.inc && now.corr <= was.corr {
				v.inOrder = false
			}
			last[e.Node.ID] = now
		}
	})
	for id := range v.unlogged {
		if n := v.who.index(id.sender()); n >= 0 {
			v.missing[n] = append(v.missing[n], owed{Message: first[id], id: id})
		}
	}
	for n := range v.missing {
		slices.SortFunc(v.missing[n], func(a, b owed) int {
			return cmp.Or(cmp.Compare(a.Conn.Inc, b.Conn.Inc), cmp.Compare(a.Correlation, b.Correlation), compareID(a.id, b.id))
		})
	}
	return err
}
