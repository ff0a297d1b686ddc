package checker

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
)

// FlatState is a state of a System as plain structs. Parts beyond the number of
// processes and of messages are zero; messages are sorted by their bytes.
type FlatState[R, M, G comparable] struct {
	Processes [MaxProcesses]R
	Network   [MaxMessages]M
	Ghost     G
	Spent     [MaxBudgets]uint8
	Messages  uint8
}

// Flat turns a System into a specification over plain structs. It shares no
// code with Interned except what describes states, asks the System again for
// every state, and remembers nothing: it is slow, and there to be compared with.
func Flat[R, M, G comparable](sys System[R, M, G]) Spec[FlatState[R, M, G]] {
	info := sys.Info()
	if err := systemError[R, M, G](info); err != nil {
		panic(err)
	}
	return &flat[R, M, G]{sys: sys, info: info}
}

type flat[R, M, G comparable] struct {
	sys  System[R, M, G]
	info *Info
	mu   sync.Mutex // a System need not expect two callers at once
}

func (f *flat[R, M, G]) Info() *Info { return f.info }

func (f *flat[R, M, G]) Init(out *Sink[FlatState[R, M, G]]) {
	f.sys.Init(func(processes []R, network []M, ghost G) {
		var s FlatState[R, M, G]
		copy(s.Processes[:], processes)
		s.Ghost = ghost
		s.Messages = uint8(len(network))
		copy(s.Network[:], network)
		s.sort()
		*out.Slot() = s
		out.Commit(-1, Instance{}, 0, 0)
	})
}

func (s *FlatState[R, M, G]) network() []M { return s.Network[:s.Messages] }

func (s *FlatState[R, M, G]) sort() {
	slices.SortFunc(s.network(), func(a, b M) int { return bytes.Compare(bytesOf(&a), bytesOf(&b)) })
}

// Fingerprint hashes part by part, so padding between parts does not matter.
func (f *flat[R, M, G]) Fingerprint(s *FlatState[R, M, G]) uint64 {
	h := uint64(0)
	for i := range f.info.Processes {
		h = hashBytes(bytesOf(&s.Processes[i]), h)
	}
	for i := range s.network() {
		h = hashBytes(bytesOf(&s.Network[i]), h+uint64(i))
	}
	h = hashBytes(bytesOf(&s.Ghost), h)
	return hashBytes(s.Spent[:], h)
}

// FingerprintWithoutBudgets implements Projector.
func (f *flat[R, M, G]) FingerprintWithoutBudgets(s *FlatState[R, M, G]) uint64 {
	t := *s
	t.Spent = [MaxBudgets]uint8{}
	return f.Fingerprint(&t)
}

// flatStep is a step under way: where it has come to, and what it took.
type flatStep[R, M, G comparable] struct {
	state             FlatState[R, M, G]
	process           int
	instance          Instance
	violated, reached Props
	detail            detail
}

func (f *flat[R, M, G]) Next(s *FlatState[R, M, G], out *Sink[FlatState[R, M, G]]) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for b := 1; b < len(f.info.Budgets); b++ {
		if limit := f.info.Budgets[b].Limit; limit > 0 && s.Spent[b] >= limit {
			out.bounded |= 1 << (budgetBit + b)
		}
	}
	for i := range f.info.Processes {
		for b := range max(1, len(f.info.Budgets)) {
			if b > 0 && s.Spent[b] >= f.info.Budgets[b].Limit {
				continue
			}
			var steps Steps[R, M]
			f.sys.Local(&s.Processes[i], Budget(b), &steps)
			out.bounded |= uint64(steps.Bounded)
			for _, e := range steps.List {
				t := *s
				if b > 0 {
					t.Spent[b]++
				}
				f.start(out, flatStep[R, M, G]{state: t, process: i, instance: e.Instance}, &e)
			}
		}
	}
	for x, m := range s.network() {
		if x > 0 && m == s.Network[x-1] {
			continue
		}
		text := ""
		if out.explains() {
			text = f.sys.DescribeMessage(&m)
		}
		rest := *s
		copy(rest.Network[x:], rest.Network[x+1:s.Messages])
		var zero M
		rest.Messages--
		rest.Network[rest.Messages] = zero
		dst := int(f.sys.Route(&m).Dst)
		var steps Steps[R, M]
		f.sys.Deliver(&s.Processes[dst], &m, &steps)
		out.bounded |= uint64(steps.Bounded)
		for _, e := range steps.List {
			t := rest
			if e.Keep {
				t = *s
			}
			f.start(out, flatStep[R, M, G]{
				state: t, process: dst, instance: e.Instance, detail: detail{message: text, kept: e.Keep},
			}, &e)
		}
		f.environment(out, &m, rest, text)
	}
}

func (f *flat[R, M, G]) environment(out *Sink[FlatState[R, M, G]], m *M, rest FlatState[R, M, G], text string) {
	var fates Fates[M]
	f.sys.Network(m, &fates)
	for _, a := range fates.List {
		t := rest
		if a.Budget != 0 {
			if t.Spent[a.Budget] >= f.info.Budgets[a.Budget].Limit {
				continue
			}
			t.Spent[a.Budget]++
		}
		becomes := a.Becomes[:a.N]
		if !f.connectionsFree(&t, becomes) {
			continue
		}
		if int(t.Messages)+len(becomes) > f.info.MaxInFlight {
			out.bounded |= 1 << inFlightBit
			continue
		}
		for _, b := range becomes {
			t.send(b)
		}
		out.detail.message = text
		if out.explains() {
			out.detail.sends = f.sent(becomes)
		}
		*out.Slot() = t
		out.Commit(-1, a.Instance, 0, 0)
	}
}

func (s *FlatState[R, M, G]) send(m M) {
	s.Network[s.Messages] = m
	s.Messages++
	s.sort()
}

// sent describes messages that a step sends.
func (f *flat[R, M, G]) sent(messages []M) []Sent {
	var list []Sent
	for i := range messages {
		list = append(list, Sent{f.sys.DescribeMessage(&messages[i]), int(f.sys.Route(&messages[i]).Dst)})
	}
	return list
}

func (f *flat[R, M, G]) connectionsFree(s *FlatState[R, M, G], sends []M) bool {
	used := map[uint16]bool{}
	for i := range s.network() {
		used[f.sys.Route(&s.Network[i]).Conn] = true
	}
	for i := range sends {
		conn := f.sys.Route(&sends[i]).Conn
		if conn != 0 && used[conn] {
			return false
		}
		used[conn] = true
	}
	return true
}

// flatPending is an immediate message that waits to be delivered.
type flatPending[M any] struct {
	message M
	answer  bool
}

func (f *flat[R, M, G]) start(out *Sink[FlatState[R, M, G]], a flatStep[R, M, G], e *Step[R, M]) {
	if waiting, ok := f.apply(out, &a, a.process, e, false); ok {
		if out.explains() {
			a.detail.sends = f.sent(e.Sends[:e.SendN])
		}
		f.finish(out, a, waiting, 0)
	}
}

// apply carries out a step of process i, and returns the immediate messages
// that it sends.
func (f *flat[R, M, G]) apply(out *Sink[FlatState[R, M, G]], a *flatStep[R, M, G], i int, e *Step[R, M], answer bool) ([]flatPending[M], bool) {
	t := &a.state
	sends := e.Sends[:e.SendN]
	if !f.connectionsFree(t, sends) {
		return nil, false
	}
	var waiting []flatPending[M]
	var queued []M
	for _, m := range sends {
		if f.sys.Route(&m).Immediate {
			waiting = append(waiting, flatPending[M]{m, answer})
		} else {
			queued = append(queued, m)
		}
	}
	if int(t.Messages)+len(queued) > f.info.MaxInFlight {
		out.bounded |= 1 << inFlightBit
		return nil, false
	}
	for _, m := range queued {
		t.send(m)
	}
	old := t.Processes[i]
	t.Processes[i] = e.Next
	a.violated |= e.Violated
	a.reached |= e.Reached
	if e.Observe {
		v := View[R]{N: len(f.info.Processes), Actor: i, Old: &old}
		for j := range v.N {
			v.P[j] = &t.Processes[j]
		}
		a.violated |= f.sys.Observe(&t.Ghost, &v)
	}
	return waiting, true
}

// finish delivers immediate messages in every way, first sent first, and what
// they lead to before the others.
func (f *flat[R, M, G]) finish(out *Sink[FlatState[R, M, G]], a flatStep[R, M, G], waiting []flatPending[M], deep int) {
	if len(waiting) == 0 {
		out.lost = false
		for _, in := range a.detail.inner {
			if in.Lost {
				out.lost = true
			} else if !out.explains() {
				out.within[in.Instance.Action]++
			}
		}
		out.detail = a.detail
		*out.Slot() = a.state
		out.Commit(a.process, a.instance, a.violated, a.reached)
		return
	}
	if deep == maxInner {
		panic(fmt.Errorf("checker: one step leads to more than %d immediate messages", maxInner))
	}
	p, rest := waiting[0], waiting[1:]
	dst := int(f.sys.Route(&p.message).Dst)
	text := ""
	if out.explains() {
		text = f.sys.DescribeMessage(&p.message)
	}
	with := func(in InnerStep) flatStep[R, M, G] {
		next := a
		next.detail.inner = append(slices.Clone(a.detail.inner), in)
		return next
	}
	if p.answer {
		f.finish(out, with(InnerStep{Process: dst, Message: text, Lost: true}), rest, deep+1)
	}
	var steps Steps[R, M]
	f.sys.Deliver(&a.state.Processes[dst], &p.message, &steps)
	out.bounded |= uint64(steps.Bounded)
	for _, e := range steps.List {
		next := with(InnerStep{Process: dst, Instance: e.Instance, Message: text})
		if more, ok := f.apply(out, &next, dst, &e, true); ok {
			if out.explains() {
				next.detail.inner[len(next.detail.inner)-1].Sends = f.sent(e.Sends[:e.SendN])
			}
			f.finish(out, next, append(more, rest...), deep+1)
		}
	}
}

func (f *flat[R, M, G]) Check(s *FlatState[R, M, G]) (violated, reached Props) {
	for i := range f.info.Processes {
		violated |= f.sys.CheckOne(&s.Processes[i], &s.Ghost)
		for j := i + 1; j < len(f.info.Processes); j++ {
			violated |= f.sys.CheckPair(&s.Processes[i], &s.Processes[j])
		}
	}
	return violated, 0
}

func (f *flat[R, M, G]) Describe(s *FlatState[R, M, G]) []Field {
	processes, network := f.parts(s)
	return describe(f.sys, processes, network, &s.Ghost, func(b Budget) uint8 { return s.Spent[b] })
}

func (f *flat[R, M, G]) Env(s *FlatState[R, M, G]) map[string]any {
	processes, network := f.parts(s)
	return f.sys.Env(processes, network, &s.Ghost)
}

func (f *flat[R, M, G]) parts(s *FlatState[R, M, G]) (processes []*R, network []*M) {
	for i := range f.info.Processes {
		processes = append(processes, &s.Processes[i])
	}
	for i := range s.network() {
		network = append(network, &s.Network[i])
	}
	return processes, network
}
