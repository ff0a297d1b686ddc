package linear

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// trial is a random small history with what is known of its log.
type trial struct {
	ops []Op
	opt Options
}

// newTrial runs clients against a log, keeps what they saw, and in three quarters of
// the cases spoils it.
func newTrial(r *rand.Rand) trial {
	type done struct {
		op  int
		lin int64
	}
	n := 1 + r.IntN(7)
	ops := make([]Op, n)
	var effects []done
	for i := range ops {
		op := &ops[i]
		*op = Op{Client: int32(i), Kind: Kind(r.IntN(3) / 2), Call: r.Int64N(20), Value: uint64(i + 1)}
		op.Return = op.Call + r.Int64N(8)
		lin := op.Call + r.Int64N(op.Return-op.Call+1)
		switch r.IntN(6) {
		case 0:
			op.Outcome = Failed
			continue
		case 1, 2:
			op.Outcome = Unknown
			if lin = op.Call + r.Int64N(20); r.IntN(2) == 0 {
				continue
			}
		}
		effects = append(effects, done{i, lin})
	}
	slices.SortStableFunc(effects, func(a, b done) int { return int(a.lin - b.lin) })
	var log []Entry
	var s State
	internals := r.IntN(2) == 0
	saw := Saw(r.IntN(4))
	for _, e := range effects {
		for internals && r.IntN(3) == 0 {
			log = append(log, Entry{Internal: true})
			s.End++
		}
		op := &ops[e.op]
		op.Offset = s.End
		if op.Kind == Append {
			log = append(log, Entry{Value: op.Value})
			s = s.append(op.Value)
			continue
		}
		op.Saw, op.Value, op.Digest = saw&Saw(r.IntN(4)), s.Last, s.Digest
	}
	t := trial{ops: ops, opt: Options{Gaps: internals}}
	switch r.IntN(3) {
	case 0:
		t.opt.Log, t.opt.Whole = log, true
	case 1:
		t.opt.Log = log[:r.IntN(len(log)+1)]
	}
	if r.IntN(8) == 0 {
		t.opt.Gaps = !t.opt.Gaps
	}
	for range r.IntN(4) {
		t.spoil(r)
	}
	return t
}

func (t *trial) spoil(r *rand.Rand) {
	a, b := &t.ops[r.IntN(len(t.ops))], &t.ops[r.IntN(len(t.ops))]
	switch r.IntN(9) {
	case 0:
		a.Offset = max(0, a.Offset+r.Int64N(3)-1)
	case 1:
		a.Offset, b.Offset = b.Offset, a.Offset
	case 2:
		d := r.Int64N(21) - 10
		a.Call, a.Return = a.Call+d, a.Return+d
	case 3:
		a.Return = a.Call
	case 4:
		if a.Kind == Read {
			a.Saw, a.Value = SawLast, r.Uint64N(uint64(len(t.ops)+1))
		}
	case 5:
		if a.Kind == Read {
			a.Saw, a.Digest = SawDigest, b.Digest
		}
	case 6:
		a.Outcome = Outcome(r.IntN(3))
	case 7:
		if len(t.opt.Log) > 0 {
			i := r.IntN(len(t.opt.Log))
			t.opt.Log = slices.Clone(t.opt.Log)
			t.opt.Log[i] = Entry{Value: 1 + r.Uint64N(uint64(len(t.ops)+1)), Internal: r.IntN(3) == 0}
		}
	case 8:
		if n := len(t.opt.Log); n > 0 {
			t.opt.Log = t.opt.Log[:n-1]
		}
	}
}

// brute tries every order, every choice of appends of unknown outcome and every
// place of the system's own records. It shares nothing with Check or LogModel.
func (t *trial) brute() bool {
	limit := int64(len(t.opt.Log))
	for _, op := range t.ops {
		if op.Outcome == Known {
			limit = max(limit, op.Offset+1)
		}
	}
	visited := map[string]bool{}
	var try func(done uint, log []uint64) bool // 0 in log: the system's own
	try = func(done uint, log []uint64) bool {
		n := len(log)
		if int64(n) > limit {
			return false
		}
		if n > 0 {
			if k := n - 1; k < len(t.opt.Log) {
				if e := t.opt.Log[k]; e.Internal != (log[k] == 0) || !e.Internal && e.Value != log[k] {
					return false
				}
			} else if t.opt.Whole || log[k] == 0 && !t.opt.Gaps {
				return false
			}
		}
		key := fmt.Sprint(done, log)
		if visited[key] {
			return false
		}
		visited[key] = true
		all, earliest := n >= len(t.opt.Log), int64(math.MaxInt64)
		for i, op := range t.ops {
			if done&(1<<i) == 0 && op.Outcome == Known {
				all, earliest = false, min(earliest, op.Return)
			}
		}
		if all {
			return true
		}
		for i, op := range t.ops {
			if done&(1<<i) != 0 || op.Outcome == Failed || op.Call > earliest || op.Kind == Read && op.Outcome != Known {
				continue
			}
			if op.Outcome == Known && op.Offset != int64(n) {
				continue
			}
			if op.Kind == Append {
				if try(done|1<<i, append(slices.Clone(log), op.Value)) {
					return true
				}
				continue
			}
			last, digest := uint64(0), uint64(0)
			for _, v := range log {
				if v != 0 {
					last, digest = v, Chain(digest, v)
				}
			}
			if (op.Saw&SawLast == 0 || op.Value == last) && (op.Saw&SawDigest == 0 || op.Digest == digest) && try(done|1<<i, log) {
				return true
			}
		}
		return try(done, append(slices.Clone(log), 0))
	}
	return try(0, nil)
}

// porcupine asks the general search; a last read demands that the log is there.
func (t *trial) porcupine() bool {
	ops := slices.Clone(t.ops)
	if n := int64(len(t.opt.Log)); n > 0 {
		s := Op{Kind: Read, Call: math.MaxInt64 - 1, Return: math.MaxInt64, Offset: n, Saw: SawDigest}
		for _, e := range t.opt.Log {
			if !e.Internal {
				s.Digest = Chain(s.Digest, e.Value)
			}
		}
		beyond := slices.ContainsFunc(ops, func(op Op) bool {
			return op.Outcome == Known && (op.Offset > n || op.Kind == Append && op.Offset == n)
		})
		if !beyond { // otherwise those operations demand it
			ops = append(ops, s)
		}
	}
	return porcupine.CheckOperations(LogModel(ops, t.opt), LogOperations(ops))
}

func (t *trial) String() string {
	text := fmt.Sprintf("%+v\n", t.opt)
	for i := range t.ops {
		text += fmt.Sprintf("%d: %s %+v\n", i, t.opt.describe(&t.ops[i]), t.ops[i])
	}
	return text
}

// The main test: three ways to decide, one verdict.
func TestAgreesWithSearch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	trials := 60_000
	if testing.Short() {
		trials = 5_000
	}
	counts := map[string]int{}
	for range trials {
		h := newTrial(r)
		res, err := Check(h.ops, h.opt)
		require.NoError(t, err, "%v", &h)
		brute := h.brute()
		require.NotEqual(t, Undecided, res.Verdict, "%v", &h)
		require.Equal(t, brute, res.Verdict == Linearizable, "brute force against Check: %+v %+v\n%v", res, res.Violation, &h)
		require.Equal(t, brute, h.porcupine(), "brute force against porcupine:\n%v", &h)
		counts[res.Verdict.String()]++
		if v := res.Violation; v != nil {
			require.NotEmpty(t, v.Text)
		} else if res.Searched > 0 {
			counts["searched, linearizable"]++
		}
		if res.Searched > 0 {
			counts["searched"]++
		}
		if res.Holes > 0 {
			counts["holes"]++
		}
	}
	t.Log(counts)
	for _, kind := range []string{"linearizable", "not linearizable", "searched", "searched, linearizable", "holes"} {
		require.Greater(t, counts[kind], trials/200, kind)
	}
}

// Cases that chance seldom finds, by name of what they are about.
func TestRareCases(t *testing.T) {
	unknown := func(v uint64, call int64) Op { return Op{Outcome: Unknown, Value: v, Call: call} }
	sawLast := func(call, ret, end int64, v uint64) Op {
		return Op{Kind: Read, Call: call, Return: ret, Offset: end, Saw: SawLast, Value: v}
	}
	sawDigest := func(call, ret, end int64, values ...uint64) Op {
		op := Op{Kind: Read, Call: call, Return: ret, Offset: end, Saw: SawDigest}
		for _, v := range values {
			op.Digest = Chain(op.Digest, v)
		}
		return op
	}
	for name, c := range map[string]struct {
		trial
		want Verdict
	}{
		"the lowest read places an append": {trial{[]Op{unknown(7, 1), sawLast(2, 3, 2, 7), sawLast(4, 5, 3, 7)}, Options{Gaps: true}}, Linearizable},
		"an operation behind the window bounds what may fill it": {trial{[]Op{
			unknown(7, 50), unknown(8, 0), sawDigest(3, 100, 1, 7), {Value: 9, Call: 1, Return: 5, Offset: 1}}, Options{}}, NotLinearizable},
		"that operation returned later": {trial{[]Op{
			unknown(7, 50), unknown(8, 0), sawDigest(3, 100, 1, 7), {Value: 9, Call: 1, Return: 50, Offset: 1}}, Options{}}, Linearizable},
		"holes behind the window": {trial{[]Op{
			unknown(7, 1), unknown(8, 3), sawDigest(10, 11, 1, 8), {Value: 9, Call: 12, Return: 13, Offset: 2}}, Options{}}, Linearizable},
		"one append too few": {trial{[]Op{
			unknown(7, 1), sawDigest(10, 11, 1, 7), {Value: 9, Call: 12, Return: 13, Offset: 2}}, Options{}}, NotLinearizable},
		"a gap that a digest shows to be an append": {trial{[]Op{
			unknown(7, 1), sawDigest(10, 11, 2, 7), sawDigest(12, 13, 4, 7)}, Options{Gaps: true}}, Linearizable},
		"a digest that only a failed append gives": {trial{[]Op{
			{Outcome: Failed, Value: 7}, unknown(8, 1), sawDigest(10, 11, 1, 7)}, Options{Gaps: true}}, NotLinearizable},
	} {
		res, err := Check(c.ops, c.opt)
		require.NoError(t, err, name)
		require.Equal(t, c.want, res.Verdict, "%s: %+v", name, res.Violation)
		require.Equal(t, c.want == Linearizable, c.brute(), name)
		require.Equal(t, c.want == Linearizable, c.porcupine(), name)
	}
}
