package checker

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestVerdictsDoNotDependOnWorkers includes the violating state itself.
func TestVerdictsDoNotDependOnWorkers(t *testing.T) {
	for name, sys := range Relays() {
		var first *Result
		for _, workers := range []int{1, 2, 8} {
			spec := Interned(sys)
			r, err := Run(spec, Options{Workers: workers, tableBits: 12})
			require.NoError(t, err)
			for _, v := range r.Violations {
				checkTrace(t, spec, v.Trace)
			}
			if first == nil {
				first = r
				continue
			}
			require.Len(t, r.Violations, len(first.Violations), name)
			assert.Equal(t, first.Distinct, r.Distinct, name)
			assert.Equal(t, first.Generated, r.Generated, name)
			for i, v := range r.Violations {
				w := first.Violations[i]
				assert.Equal(t, w.Property, v.Property)
				require.Len(t, v.Trace, len(w.Trace), name)
				assert.Equal(t, last(w.Trace).Fields, last(v.Trace).Fields, name)
			}
		}
	}
}

func last[T any](list []T) T { return list[len(list)-1] }

// TestExchangeIsShown wants the parts of a step that carries out an exchange.
func TestExchangeIsShown(t *testing.T) {
	sys := &relay{processes: 3, immediate: true, inFlight: 1, maxSeq: 1}
	for name, spec := range map[string]Runnable{"interned": Erase(Interned(sys)), "flat": Erase(Flat(sys))} {
		r, err := spec.Find("answers == 1 && A.seq == 1", Options{Workers: 1})
		require.NoError(t, err)
		assert.Equal(t, Found, r.Status, name)
		require.Len(t, r.Witness, 2, name)
		step := r.Witness[1]
		assert.Equal(t, "A", step.Actor)
		require.Len(t, step.Inner, 2, name)
		assert.Equal(t, "A", step.Inner[1].Actor)
		assert.Contains(t, step.Inner[0].Message, "ping A->")
		assert.Contains(t, step.Inner[1].Message, "->A 0")
		assert.Equal(t, "HandlePong", strings.Split(step.Inner[1].Step, "(")[0])

		r, err = spec.Find("A.waiting > 0 && A.seq == 0", Options{Workers: 1})
		require.NoError(t, err)
		require.Len(t, r.Witness, 2, name)
		inner := r.Witness[1].Inner
		require.NotEmpty(t, inner)
		assert.Condition(t, func() bool { // ignored by its receiver, or the answer is lost
			return last(inner).Lost || strings.HasPrefix(last(inner).Step, "IgnorePing")
		}, name)
	}
}

// TestFingerprintSeesEveryPart changes each part of a tuple.
func TestFingerprintSeesEveryPart(t *testing.T) {
	sys := &relay{processes: 3, inFlight: 3, maxSeq: 2, budgets: [4]uint8{0, 3, 3, 3}}
	spec := Interned(sys).(*interned[relayR, relayM, relayG])
	r, err := Run(Spec[Tuple](spec), Options{MaxDepth: 6, Projected: true, KeepGoing: true})
	require.NoError(t, err)
	assert.Less(t, r.Projected, r.Distinct)
	g, err := Graph(Spec[Tuple](spec), 1_000)
	require.Error(t, err, "a graph of too many states is refused")
	assert.Nil(t, g)

	same := relayR{ID: 1}
	a, b := spec.internProcess(0, &same), spec.internProcess(1, &same)
	assert.NotEqual(t, a, b, "one value at two positions is two processes")

	base := Tuple{0: 1, 1: 2, 2: 3, tupleGhost: 1}
	seen := map[uint64]Tuple{}
	add := func(t2 Tuple) {
		fp := spec.Fingerprint(&t2)
		other, ok := seen[fp]
		assert.False(t, ok, "%v and %v", t2, other)
		seen[fp] = t2
	}
	add(base)
	for i := range 3 {
		for id := uint32(4); id <= spec.procs.n; id++ {
			u := base
			u[i] = id
			add(u)
		}
	}
	for m := uint32(1); m <= spec.messages.n; m++ {
		for k := 1; k <= 3; k++ { // copies count
			u := base
			for x := range k {
				u[tupleNet+x] = m
			}
			add(u)
		}
	}
	for b := Budget(1); b < 4; b++ {
		u := base
		for range 3 {
			u.spend(b)
			add(u)
			assert.Equal(t, spec.FingerprintWithoutBudgets(&base), spec.FingerprintWithoutBudgets(&u))
		}
	}
}

func TestComponentsMustBeTheirBytes(t *testing.T) {
	type padded struct {
		A uint8
		B uint32
	}
	assert.ErrorContains(t, systemError[padded, relayM, relayG](&Info{Name: "x", Processes: []string{"A"}}), "padding")
	assert.NoError(t, systemError[struct{ P *int }, relayM, relayG](&Info{Name: "x", Processes: []string{"A"}}))
	assert.ErrorContains(t, systemError[relayR, relayM, relayG](&Info{Name: "x"}), "0 processes")
	assert.ErrorContains(t, systemError[relayR, relayM, relayG](&Info{
		Name: "x", Processes: []string{"A"}, MaxInFlight: MaxMessages + 1,
	}), "in flight")
}

func TestTupleKeepsMessagesSorted(t *testing.T) {
	var u Tuple
	for n, m := range []uint32{5, 2, 9, 2, 7, 1} {
		u.insert(n, m)
	}
	assert.Equal(t, []uint32{1, 2, 2, 5, 7, 9}, u[tupleNet:tupleGhost])
	assert.Equal(t, MaxMessages, u.messages())
	u.remove(6, 2)
	u.remove(5, 4)
	u.remove(4, 0)
	assert.Equal(t, []uint32{2, 5, 7, 0, 0, 0}, u[tupleNet:tupleGhost])
	for b := Budget(0); b < MaxBudgets; b++ {
		u.spend(b)
		u.spend(b)
		assert.EqualValues(t, 2, u.budget(b))
	}
}

// meddler changes what it is only given to look at.
type meddler struct {
	*relay
	in string
}

func (m meddler) Local(r *relayR, b Budget, out *Steps[relayR, relayM]) {
	m.relay.Local(r, b, out)
	if m.in == "Local" {
		r.Spare++
	}
}

func (m meddler) Deliver(r *relayR, msg *relayM, out *Steps[relayR, relayM]) {
	m.relay.Deliver(r, msg, out)
	if m.in == "Deliver" {
		r.Spare++
	}
}

func TestStepsMustNotChangeWhatTheySee(t *testing.T) {
	for _, method := range []string{"Local", "Deliver"} {
		_, err := Run(Interned(meddler{&relay{processes: 2, inFlight: 1, maxSeq: 1}, method}), Options{})
		assert.ErrorContains(t, err, method+" changed the process")
	}
}
