package checker

import "fmt"

// maxInner is how many immediate messages one step may lead to.
const maxInner = 12

// level is how far a step has come that delivers immediate messages: a chain of
// levels is the step and then, one each, what became of the messages.
type level struct {
	frame
	judged
	hint    uint32
	pending [4]pending // the next one last
	n       int
	// how this level was reached from the one before it
	process  int
	instance Instance
	message  uint32
	sends    [2]uint32
	kept     bool
	lost     bool
}

// pending is an immediate message that was sent and not yet delivered.
type pending struct {
	message uint32
	answer  bool // it may be lost
}

// takeSlowly is take for transitions that need more than a look-up.
func (w *tupleWorker) takeSlowly(out *Sink[Tuple], f *frame, i int, e *transition, message uint32) {
	l := &w.stack[0]
	*l = level{frame: *f, process: i, instance: e.instance(), message: message}
	l.kept = e.flags&flagKeep != 0
	if w.step(out, l, i, e, false) {
		w.settle(out, 0)
	}
}

// step takes transition e of process i in l. Its immediate messages are pending
// afterwards.
func (w *tupleWorker) step(out *Sink[Tuple], l *level, i int, e *transition, inner bool) bool {
	count := 0
	for count < len(e.out) && e.out[count] != 0 {
		count++
	}
	sends := e.out[:count]
	if !w.send(out, &l.frame, sends, e.flags) {
		return false
	}
	for k := len(sends) - 1; k >= 0; k-- {
		if e.flags&(flagImmediate<<k) == 0 {
			continue
		}
		if l.n == len(l.pending) {
			panic(fmt.Errorf("checker: more than %d immediate messages wait at once", len(l.pending)))
		}
		l.pending[l.n] = pending{sends[k], inner}
		l.n++
	}
	l.sends = e.out
	old := l.t[i]
	l.t[i] = e.next
	l.sum += e.delta
	l.hint |= e.hint(i)
	if e.props != 0 {
		p := w.props.at(uint32(e.props))
		l.violated |= p.violated
		l.reached |= p.reached
	}
	if e.flags&flagObserve != 0 {
		var watched [MaxProcesses]uint32
		for i := range w.processes {
			watched[i] = w.persons.at(l.t[i]).outline[SightWatched]
		}
		ghost, violated := w.glance(&l.t, i, old, w.persons.at(old).outline[SightActing], e.acting, &watched)
		l.violated |= violated
		if before := l.t.ghost(); ghost != before {
			l.sum += *w.ghostHash.at(ghost) - *w.ghostHash.at(before)
			l.t[tupleGhost] = ghost
			l.hint |= ghostHint
		}
	}
	return true
}

// settle delivers what is pending in level d, in every way, and emits the
// states in which nothing is.
func (w *tupleWorker) settle(out *Sink[Tuple], d int) {
	l := &w.stack[d]
	if l.n == 0 {
		w.emit(out, d)
		return
	}
	if d == maxInner {
		panic(fmt.Errorf("checker: one step leads to more than %d immediate messages", maxInner))
	}
	p := l.pending[l.n-1]
	dst := int(w.ways.at(p.message).route.Dst)
	next := &w.stack[d+1]
	begin := func() {
		*next = *l
		next.n--
		next.process, next.message, next.instance, next.lost = dst, p.message, Instance{}, false
		next.sends = [2]uint32{}
	}
	if p.answer {
		begin()
		next.lost = true
		w.settle(out, d+1)
	}
	list, bounded := w.deliverList(dst, l.t[dst], p.message)
	out.bounded |= uint64(bounded)
	for k := range list {
		begin()
		next.instance = list[k].instance()
		if w.step(out, next, dst, &list[k], true) {
			w.settle(out, d+1)
		}
	}
}

// emit commits the state of level d.
func (w *tupleWorker) emit(out *Sink[Tuple], d int) {
	first, l := &w.stack[0], &w.stack[d]
	out.lost = false
	for k := 1; k <= d; k++ {
		if w.stack[k].lost {
			out.lost = true
		} else if !out.explains() {
			out.within[w.stack[k].instance.Action]++
		}
	}
	if out.explains() {
		out.detail = w.details(d)
	}
	*out.Slot() = l.t
	w.commit(out, l.sum, l.hint, first.process, first.instance, l.violated, l.reached)
}

func (w *tupleWorker) details(d int) detail {
	t := detail{sends: w.sent(w.stack[0].sends[:])}
	if m := w.stack[0].message; m != 0 {
		t.message, t.kept = w.describeMessage(m), w.stack[0].kept
	}
	for k := 1; k <= d; k++ {
		l := &w.stack[k]
		t.inner = append(t.inner, InnerStep{
			Process: l.process, Instance: l.instance, Message: w.describeMessage(l.message), Lost: l.lost,
			Sends: w.sent(l.sends[:]),
		})
	}
	return t
}

// sent describes messages by number; 0 is none.
func (w *tupleWorker) sent(messages []uint32) []Sent {
	var list []Sent
	for _, m := range messages {
		if m != 0 {
			list = append(list, Sent{w.describeMessage(m), int(w.ways.at(m).route.Dst)})
		}
	}
	return list
}
