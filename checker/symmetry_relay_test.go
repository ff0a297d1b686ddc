package checker

import "iter"

// twins is the relay with properties that do not tell processes apart.
type twins struct {
	relay
	groups [][]uint8
	pinger bool   // one process has pinged another to begin with, whichever
	forget string // what is not permuted
}

func (y *twins) Info() *Info {
	info := y.relay.Info()
	info.Properties[5].Asymmetric = y.pinger
	return info
}

func (y *twins) Init(yield func([]relayR, []relayM, relayG)) {
	var list []relayR
	for i := range y.processes {
		list = append(list, relayR{ID: uint8(i)})
	}
	yield(list, nil, relayG{})
	if !y.pinger {
		return
	}
	for i := range y.processes {
		for j := range y.processes {
			if i != j {
				yield(list, []relayM{{kindPing, uint8(i), uint8(j), 7}}, relayG{})
			}
		}
	}
}

func (y *twins) CheckPair(a, b *relayR) Props {
	return y.relay.CheckPair(a, b) | y.relay.CheckPair(b, a)
}

func (y *twins) Interchangeable() [][]uint8 { return y.groups }

func (y *twins) PermuteProcess(p Perm, r *relayR) relayR {
	q := *r
	q.ID = p[r.ID]
	if r.Waiting != 0 && y.forget != "waiting" {
		q.Waiting = p[r.Waiting-1] + 1
	}
	if y.forget != "heard" {
		for i := range y.processes {
			q.Heard[p[i]] = r.Heard[i]
		}
	}
	return q
}

func (y *twins) PermuteMessage(p Perm, m *relayM) relayM {
	if y.forget == "source" {
		return relayM{m.Kind, m.Src, p[m.Dst], m.Seq}
	}
	return relayM{m.Kind, p[m.Src], p[m.Dst], m.Seq}
}

func (y *twins) PermuteGhost(p Perm, g *relayG) relayG {
	q := *g
	if y.forget != "ghost" {
		for i := range y.processes {
			q.Highest[p[i]] = g.Highest[i]
		}
	}
	return q
}

// SymmetricRelays gives small Systems that declare symmetry.
func SymmetricRelays() iter.Seq2[string, System[relayR, relayM, relayG]] {
	all := [][]uint8{{0, 1, 2}}
	return func(yield func(string, System[relayR, relayM, relayG]) bool) {
		_ = yield("two", &twins{groups: [][]uint8{{1, 0}}, relay: relay{processes: 2, inFlight: 2, maxSeq: 2, budgets: [4]uint8{0, 1, 1, 1}}}) &&
			yield("three", &twins{groups: all, relay: relay{processes: 3, inFlight: 2, maxSeq: 1}}) &&
			yield("pinged", &twins{groups: all, pinger: true, relay: relay{processes: 3, inFlight: 1, maxSeq: 1, budgets: [4]uint8{0, 0, 1, 0}}}) &&
			yield("some", &twins{groups: [][]uint8{{0}, {1, 2}}, relay: relay{processes: 3, conn: true, inFlight: 2, maxSeq: 1}}) &&
			yield("none", &twins{relay: relay{processes: 3, inFlight: 1, maxSeq: 1, budgets: [4]uint8{0, 0, 1, 1}}}) &&
			yield("mutated", &twins{groups: [][]uint8{{0, 1}}, relay: relay{processes: 2, countTwice: true, inFlight: 2, maxSeq: 1, budgets: [4]uint8{0, 1, 0, 0}}})
	}
}
