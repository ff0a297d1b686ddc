package spec

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/checker/checkertest"
)

func modelOf(t *testing.T, name string) *Model {
	t.Helper()
	m, ok := ModelNamed(name)
	require.True(t, ok, name)
	return m
}

// Interning and memory must not change what is found: the flat engine asks anew for
// every state, and counts the same.
func TestEnginesAgree(t *testing.T) {
	for _, name := range []string{"single", "truncation", "commit", "observer"} {
		t.Run(name, func(t *testing.T) {
			m := modelOf(t, name)
			checkertest.CompareEngines(t, func() checker.System[Replica, Msg, Ghost] { return NewSystem(m, Variant{}) }, checker.Options{})
		})
	}
}

// place is a replica, and a message for it or nil.
type place struct {
	r Replica
	m *Msg
}

// wander collects what replicas of a model come to, by random walks.
func wander(m *Model, seed uint64, walks, steps int) []place {
	s := NewSystem(m, Variant{})
	rnd := rand.New(rand.NewPCG(seed, 0))
	var seen []place
	for range walks {
		var replicas []Replica
		var network []Msg
		s.Init(func(r []Replica, n []Msg, _ Ghost) { replicas, network = append(replicas, r...), append(network, n...) })
		for range steps {
			var all checker.Steps[Replica, Msg]
			at, from := rnd.IntN(len(replicas)), -1
			if len(network) > 0 && rnd.IntN(3) > 0 {
				from = rnd.IntN(len(network))
				at = network[from].Dst.index()
				in := network[from]
				seen = append(seen, place{replicas[at], &in})
				s.Deliver(&replicas[at], &in, &all)
			} else {
				seen = append(seen, place{replicas[at], nil})
				for b := range numBudgets {
					s.Local(&replicas[at], b, &all)
				}
			}
			if len(all.List) == 0 {
				continue
			}
			step := all.List[rnd.IntN(len(all.List))]
			if from >= 0 && !step.Keep {
				network = append(network[:from], network[from+1:]...)
			}
			replicas[at] = step.Next
			for _, m := range step.Sends[:step.SendN] {
				if len(network) < 8 && m.Dst.index() < len(replicas) {
					network = append(network, m)
				}
			}
		}
	}
	return seen
}

func stepsOf(s *System, p place) checker.Steps[Replica, Msg] {
	var all checker.Steps[Replica, Msg]
	r := p.r
	if p.m != nil {
		m := *p.m
		s.Deliver(&r, &m, &all)
		return all
	}
	for b := range numBudgets {
		s.Local(&r, b, &all)
	}
	return all
}

// What a replica may do depends on itself and its message alone: asked in another
// order, after everything else about the system was stirred, it is the same.
func TestActionsAreLocal(t *testing.T) {
	for _, name := range []string{"pair", "resign", "late", "reads", "snapshot-late"} {
		m := modelOf(t, name)
		places := wander(m, 1, 40, 60)
		first := NewSystem(m, Variant{})
		want := make([]checker.Steps[Replica, Msg], len(places))
		for i, p := range places {
			want[i] = stepsOf(first, p)
		}
		second := NewSystem(m, Variant{})
		second.ctx.Trial = nil // nobody watches
		rnd := rand.New(rand.NewPCG(2, 0))
		for _, i := range rnd.Perm(len(places)) {
			stepsOf(second, places[rnd.IntN(len(places))])
			second.ctx.Reached = checker.Props(rnd.Uint64())
			second.scratch.n = rnd.IntN(2)
			require.Equal(t, want[i], stepsOf(second, places[i]), "%s: %v", name, places[i])
		}
	}
}

// Guards come before changes: an action that is not enabled leaves the replica as
// it was, and no message is changed by being handled.
func TestRefusedActionsChangeNothing(t *testing.T) {
	refused := 0
	for _, name := range []string{"pair", "resign", "late", "reads", "snapshot-late"} {
		m := modelOf(t, name)
		c := Ctx{Rules: CleanRules(), Voters: m.voters()}
		var out Outbox
		for _, p := range wander(m, 3, 40, 60) {
			for a := ActionID(0); a < NumReplicaActions; a++ {
				if a.Handles() && (p.m == nil || HandlerOf(p.m) != a) {
					continue
				}
				for _, args := range []Args{{}, {Dst: replicaB}, {Dst: replicaA, Count: 1}, {Count: 99, Keep: 9}, {Count: 2, Size: 2}, {Park: true}} {
					r, m := p.r, Msg{}
					if p.m != nil {
						m = *p.m
					}
					if before := m; c.Take(a, &r, &m, args, &out) {
						require.Equal(t, before, m, "%s changes the message", a)
						continue
					}
					refused++
					require.Equal(t, p.r, r, "%s is refused and changes the replica", a)
				}
			}
		}
	}
	assert.Greater(t, refused, 10_000)
}

// Every byte of what is interned counts: none is padding, none is left out of a
// comparison.
func TestEveryByteCounts(t *testing.T) {
	everyByte(t, Replica{}, unsafe.Offsetof(Replica{}.Log)+unsafe.Offsetof(Log{}.more), unsafe.Offsetof(Replica{}.Disk)+unsafe.Offsetof(Log{}.more),
		unsafe.Offsetof(Replica{}.Snapshots)+unsafe.Offsetof(Snapshots{}.more),
		unsafe.Offsetof(Replica{}.Fetching)+unsafe.Offsetof(Fetching{}.Contents)+unsafe.Offsetof(Log{}.more))
	everyByte(t, Msg{}, unsafe.Offsetof(Msg{}.Records)+unsafe.Offsetof(Log{}.more))
	var g Ghost
	everyByte(t, g, unsafe.Offsetof(g.Exposed)+unsafe.Offsetof(Log{}.more), unsafe.Offsetof(g.ExposedIn)+unsafe.Offsetof(Log{}.more),
		unsafe.Offsetof(g.Chosen)+unsafe.Offsetof(Log{}.more), unsafe.Offsetof(g.ChosenIn)+unsafe.Offsetof(Log{}.more),
		unsafe.Offsetof(g.Starts)+unsafe.Offsetof(Starts{}.more))
}

// everyByte flips each byte but those of pointers, which are nil in the checker.
func everyByte[T comparable](t *testing.T, zero T, pointers ...uintptr) {
	t.Helper()
	skip := map[uintptr]bool{}
	for _, p := range pointers {
		for i := range uintptr(8) {
			skip[p+i] = true
		}
	}
	for i := range unsafe.Sizeof(zero) {
		if skip[i] {
			continue
		}
		changed := zero
		unsafe.Slice((*byte)(unsafe.Pointer(&changed)), unsafe.Sizeof(changed))[i] = 1
		assert.NotEqual(t, zero, changed, "%T, byte %d", zero, i)
		assert.False(t, zero == changed, "%T, byte %d", zero, i)
	}
}

// A log that outgrows its model is an error of the model, and not cut short.
func TestLogOverflow(t *testing.T) {
	var l Log
	for e := Epoch(1); e <= maxRuns; e++ {
		l.Append(Run{Count: 1, Epoch: e})
	}
	assert.Panics(t, func() { l.Append(Run{Count: 1, Epoch: 99}) })
	large := NewLargeLog()
	for e := Epoch(1); e <= 3*maxRuns; e++ {
		large.Append(Run{Count: 2, Epoch: e})
	}
	assert.Equal(t, Offset(6*maxRuns), large.End())
	large.TruncateTo(5)
	assert.Equal(t, Epoch(3), large.LastEpoch())
}
