package checker

import (
	"fmt"
)

// relay is a small System that uses everything that a System may: processes
// ping each other and count answers; messages get lost and doubled; a process
// may forget. It is not a protocol.
type relay struct {
	conn      bool // one message in flight for each pair
	immediate bool // a ping and its answer are one step
	inFlight  int
	maxSeq    uint8
	budgets   [4]uint8 // limits: forget, lose, double
	processes int
	// mutations
	countTwice bool // an answer is counted without having been waited for
	panics     bool
}

type relayR struct {
	ID, Seq, Waiting, Phase uint8
	Heard                   [3]uint8
	Spare                   uint8
}

type relayM struct{ Kind, Src, Dst, Seq uint8 }

type relayG struct {
	Highest [3]uint8
	Answers uint8
}

const (
	relayPing ActionID = iota
	relayBoth
	relayForget
	relayHandlePing
	relayIgnorePing
	relayHandlePong
	relayLose
	relayDouble
)

const (
	relaySeqSeen Props = 1 << iota
	relayNotBothWait
	relayAnswersBounded
	relayAnswered
	_
	relayLagging
)

const (
	kindPing uint8 = iota + 1
	kindPong
)

func (y *relay) Info() *Info {
	return &Info{
		Name:    "relay",
		Actions: []string{"Ping", "PingBoth", "Forget", "HandlePing", "IgnorePing", "HandlePong", "Lose", "Double"},
		Properties: []Property{
			{Name: "SeqSeen", Kind: Invariant, Doc: "no process is ahead of what the ghosts saw"},
			{Name: "NotAllWait", Kind: Invariant, Doc: "two processes do not have the last number both", Restates: "HandlePong"},
			{Name: "AnswersBounded", Kind: Always, Doc: "no more answers than are asked for"},
			{Name: "Answered", Kind: Sometimes},
			{Name: "Impossible", Kind: Sometimes},
			{Name: "Lagging", Kind: Invariant, Doc: "the first to ask is the first to be answered"},
		},
		Budgets: []BudgetInfo{{}, {"forget", y.budgets[1]}, {"lose", y.budgets[2]}, {"double", y.budgets[3]}},
		Words:   map[string][]string{"phase": {"idle", "asking"}},
		Bounds:  []string{"seq"}, Processes: []string{"A", "B", "C"}[:y.processes], MaxInFlight: y.inFlight,
	}
}

func (y *relay) Init(yield func([]relayR, []relayM, relayG)) {
	var list []relayR
	for i := range y.processes {
		list = append(list, relayR{ID: uint8(i)})
	}
	yield(list, nil, relayG{})
	list[0].Phase = 1
	yield(list, []relayM{{kindPing, 0, 1, 7}}, relayG{})
}

func (y *relay) Local(r *relayR, b Budget, out *Steps[relayR, relayM]) {
	if y.panics && r.Seq == 1 {
		panic("the model does not fit")
	}
	if b > 0 && y.budgets[b] == 0 {
		panic("asked for a budget that the model does not have")
	}
	switch b {
	case 0:
		if r.Waiting != 0 {
			return
		}
		if r.Seq == y.maxSeq {
			out.Stopped(0)
			return
		}
		for j := range uint8(y.processes) {
			if j == r.ID {
				continue
			}
			e := out.Add()
			e.Instance = Instance{relayPing, uint32(j)}
			e.Next = *r
			e.Next.Waiting = j + 1
			e.Sends[0], e.SendN = relayM{kindPing, r.ID, j, r.Seq}, 1
		}
		if y.processes == 3 && r.Phase == 0 {
			e := out.Add()
			e.Instance = Instance{Action: relayBoth}
			e.Next = *r
			e.Next.Phase = 2
			for j := range uint8(3) {
				if j != r.ID {
					e.Sends[e.SendN] = relayM{kindPing, r.ID, j, 9}
					e.SendN++
				}
			}
		}
	case 1:
		if r.Waiting != 0 || r.Heard != [3]uint8{} {
			e := out.Add()
			e.Instance = Instance{Action: relayForget}
			e.Next = relayR{ID: r.ID, Seq: r.Seq, Phase: r.Phase}
			e.Observe = true
		}
	}
}

func (y *relay) Deliver(r *relayR, m *relayM, out *Steps[relayR, relayM]) {
	switch m.Kind {
	case kindPing:
		e := out.Add()
		e.Instance = Instance{relayHandlePing, uint32(m.Src)}
		e.Next = *r
		e.Next.Heard[m.Src] = max(r.Heard[m.Src], m.Seq)
		e.Sends[0], e.SendN = relayM{kindPong, m.Dst, m.Src, m.Seq}, 1
		e = out.Add()
		e.Instance = Instance{relayIgnorePing, uint32(m.Src)}
		e.Next = *r
		e.Keep = m.Seq == 7 && !y.immediate
	case kindPong:
		if r.Waiting == m.Src+1 && r.Seq == m.Seq || y.countTwice {
			e := out.Add()
			e.Instance = Instance{relayHandlePong, uint32(m.Src)}
			e.Next = *r
			e.Next.Waiting = 0
			e.Next.Seq = min(r.Seq+1, y.maxSeq)
			e.Observe = true
			e.Reached = relayAnswered
		}
	}
}

func (y *relay) Network(m *relayM, out *Fates[relayM]) {
	out.List = append(out.List,
		Fate[relayM]{Instance: Instance{Action: relayLose}, Budget: 2},
		Fate[relayM]{Instance: Instance{Action: relayDouble}, Budget: 3, Becomes: [2]relayM{*m, *m}, N: 2})
}

func (y *relay) Route(m *relayM) Route {
	r := Route{Dst: m.Dst, Immediate: y.immediate && m.Seq != 7}
	if y.conn {
		r.Conn = uint16(1 + m.Src*3 + m.Dst)
		if m.Kind == kindPong {
			r.Conn = uint16(1 + m.Dst*3 + m.Src)
		}
	}
	return r
}

func (y *relay) Observe(g *relayG, v *View[relayR]) Props {
	a := v.P[v.Actor]
	g.Highest[a.ID] = max(g.Highest[a.ID], a.Seq)
	if a.Seq == v.Old.Seq {
		if a.Waiting == v.Old.Waiting {
			return relayAnswersBounded // a pong that nobody waited for
		}
		return 0
	}
	g.Answers++
	total := 0
	for _, p := range v.P[:v.N] {
		total += int(p.Seq)
	}
	if int(g.Answers) > total {
		return relayAnswersBounded
	}
	return 0
}

func (y *relay) CheckOne(r *relayR, g *relayG) Props {
	if r.Seq > g.Highest[r.ID] {
		return relaySeqSeen
	}
	if r.Phase == 1 && r.Seq == 0 && g.Answers >= 1 { // only steps of others bring this about
		return relayLagging
	}
	return 0
}

func (y *relay) CheckPair(a, b *relayR) Props {
	if a.Seq == y.maxSeq && b.Seq == y.maxSeq && a.Phase == 1 {
		return relayNotBothWait
	}
	return 0
}

func (y *relay) DescribeProcess(r *relayR) []Field {
	return []Field{{"seq", fmt.Sprint(r.Seq)}, {"waiting", fmt.Sprint(r.Waiting)}, {"heard", fmt.Sprint(r.Heard)}}
}

func (y *relay) DescribeMessage(m *relayM) string {
	return fmt.Sprintf("%s %c->%c %d", []string{"", "ping", "pong"}[m.Kind], 'A'+m.Src, 'A'+m.Dst, m.Seq)
}

func (y *relay) DescribeGhost(g *relayG) []Field {
	return []Field{{"highest", fmt.Sprint(g.Highest)}}
}

func (y *relay) Env(processes []*relayR, network []*relayM, g *relayG) map[string]any {
	env := map[string]any{"inFlight": len(network), "answers": int(g.Answers), "phase": "idle"}
	for _, r := range processes {
		if r.Waiting > 0 {
			env["phase"] = "asking"
		}
	}
	for _, r := range processes {
		env[string(rune('A'+r.ID))] = map[string]any{"seq": int(r.Seq), "waiting": int(r.Waiting)}
	}
	return env
}
