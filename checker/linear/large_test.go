package linear

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// run50 is what n operations of 50 clients see of a correct log: half appends,
// half reads, 1 % of the appends of unknown outcome, half of those in the log.
func run50(n int) ([]Op, []Entry) {
	const clients = 50
	r := rand.New(rand.NewPCG(7, 7))
	ops := make([]Op, 0, n)
	var log []Entry
	var s State
	free := make([]int64, clients) // when a client is free again
	for now := int64(0); len(ops) < n; now++ {
		c := r.IntN(clients)
		for free[c] > now {
			c = (c + 1) % clients
		}
		// The operation takes effect now, and lasted a while around it.
		op := Op{Client: int32(c), Kind: Kind(r.IntN(2)), Call: max(free[c], now-r.Int64N(40)), Return: now + r.Int64N(40)}
		free[c] = op.Return + 1
		op.Offset = s.End
		switch {
		case op.Kind == Read:
			op.Saw, op.Value = SawLast, s.Last
		case r.IntN(200) == 0:
			op.Value, op.Outcome = uint64(len(ops)+1), Unknown
		default:
			if op.Value = uint64(len(ops) + 1); r.IntN(200) == 0 {
				op.Outcome = Unknown
			}
			log = append(log, Entry{Value: op.Value})
			s = s.append(op.Value)
		}
		ops = append(ops, op)
	}
	return ops, log
}

func TestLargeHistories(t *testing.T) {
	ops, log := run50(20_000)
	for _, opt := range []Options{{}, {Gaps: true}, {Log: log, Whole: true}, {Log: log}, {Log: log[:len(log)/2]}} {
		res, err := Check(ops, opt)
		require.NoError(t, err)
		require.Equal(t, Linearizable, res.Verdict, "%+v", res.Violation)
		require.Zero(t, res.Searched)
	}
	// One stale read among 20,000 operations.
	i := len(ops) - 1
	for ops[i].Kind != Read {
		i--
	}
	for stale := int64(1); ; stale++ {
		hurt := append([]Op(nil), ops...)
		hurt[i].Offset -= stale
		hurt[i].Value = log[hurt[i].Offset-1].Value
		res, err := Check(hurt, Options{Log: log, Whole: true})
		require.NoError(t, err)
		if res.Verdict == Linearizable {
			require.Less(t, stale, int64(100))
			continue // it overlapped all that it missed
		}
		require.Equal(t, i, res.Violation.Earlier)
		require.Contains(t, res.Violation.Text, "must come before")
		path := filepath.Join(t.TempDir(), "why.html")
		require.NoError(t, WriteHTML(path, hurt, Options{}, res.Violation))
		page, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Contains(t, string(page), res.Violation.Text)
		break
	}
}

func TestExplanations(t *testing.T) {
	a := func(v uint64, call, ret, at int64) Op {
		return Op{Client: 1, Value: v, Call: call, Return: ret, Offset: at}
	}
	rd := func(call, ret, end int64) Op { return Op{Client: 2, Kind: Read, Call: call, Return: ret, Offset: end} }
	last := func(op Op, v uint64) Op { op.Saw, op.Value = SawLast, v; return op }
	as := func(op Op, o Outcome) Op { op.Outcome = o; return op }
	for _, c := range []struct {
		ops            []Op
		opt            Options
		earlier, later int
		want           string
	}{
		{[]Op{a(7, 10, 20, 0), rd(1, 2, 1)}, Options{}, 0, 1,
			"the append of 7 at offset 0 by client 1 (called at 10, returned at 20) must come before the read of end offset 1 by client 2 (called at 1, returned at 2), by their offsets; but the second had returned at 2, before the first was called at 10"},
		{[]Op{a(7, 1, 2, 0), rd(3, 4, 0)}, Options{}, 1, 0,
			"the read of end offset 0 by client 2 (called at 3, returned at 4) must come before the append of 7 at offset 0 by client 1 (called at 1, returned at 2), by their offsets; but the second had returned at 2, before the first was called at 3"},
		{[]Op{a(7, 1, 2, 0), a(8, 1, 2, 0)}, Options{}, 0, 1,
			"the append of 7 at offset 0 by client 1 (called at 1, returned at 2) and the append of 8 at offset 0 by client 1 (called at 1, returned at 2) are at the same offset, 0"},
		{[]Op{a(7, 1, 2, 1)}, Options{}, -1, 0,
			"offset 0 must hold a record, by the append of 7 at offset 1 by client 1 (called at 1, returned at 2); but no append of unknown outcome is left for it"},
		{[]Op{a(7, 1, 2, 1), as(a(8, 3, 3, 0), Unknown)}, Options{}, 1, 0,
			"offset 0 must hold a record, by the append of 7 at offset 1 by client 1 (called at 1, returned at 2); but of the appends of unknown outcome, those called earlier are needed below, and the next, the append of 8 by client 1 (called at 3, outcome unknown), was called after that had returned"},
		{[]Op{a(7, 1, 2, 0)}, Options{Whole: true}, 0, -1,
			"the append of 7 at offset 0 by client 1 (called at 1, returned at 2) lies beyond the committed log, which ends at 0"},
		{[]Op{a(7, 1, 2, 0)}, Options{Log: []Entry{{Internal: true}}}, 0, -1,
			"the append of 7 at offset 0 by client 1 (called at 1, returned at 2) is not in the committed log, which has a record of the system's own there"},
		{[]Op{a(7, 1, 2, 0)}, Options{Log: []Entry{{Value: 7}, {Value: 7}}}, 0, -1,
			"the append of 7 at offset 0 by client 1 (called at 1, returned at 2) is in the committed log at offset 1 too"},
		{nil, Options{Log: []Entry{{Value: 7}}}, -1, -1,
			"offset 0 of the committed log has the value 7, which no client appended"},
		{[]Op{as(a(7, 1, 2, 0), Failed)}, Options{Log: []Entry{{Value: 7}}}, 0, -1,
			"the append of 7 by client 1 (called at 1, failed) failed, but by the committed log it is at offset 0"},
		{[]Op{as(a(7, 1, 2, 0), Unknown)}, Options{Log: []Entry{{Value: 7}, {Value: 7}}}, 0, -1,
			"the append of 7 by client 1 (called at 1, outcome unknown) is at offset 0 and, by the committed log, at offset 1"},
		{[]Op{a(7, 1, 2, 0), last(rd(3, 4, 1), 8)}, Options{}, 0, 1,
			"the read of end offset 1, last value 8 by client 2 (called at 3, returned at 4): the last value below offset 1 is that of the append of 7 at offset 0 by client 1 (called at 1, returned at 2)"},
		{[]Op{a(7, 1, 2, 0), as(a(8, 1, 2, 0), Unknown), last(rd(3, 4, 2), 7)}, Options{}, -1, 2,
			"the read of end offset 2, last value 7 by client 2 (called at 3, returned at 4): no append of that value can be at offset 1"},
		{[]Op{rd(1, 2, 3)}, Options{Start: State{End: 5}}, -1, 0,
			"the read of end offset 3 by client 2 (called at 1, returned at 2) lies before offset 5, where the history begins"},
	} {
		res, err := Check(c.ops, c.opt)
		require.NoError(t, err)
		require.Equal(t, NotLinearizable, res.Verdict, c.want)
		require.Equal(t, &Violation{c.earlier, c.later, c.want}, res.Violation)
		path := filepath.Join(t.TempDir(), "why.html")
		require.NoError(t, WriteHTML(path, c.ops, c.opt, res.Violation))
	}
}

func TestMalformed(t *testing.T) {
	for _, c := range []struct {
		ops  []Op
		want string
	}{
		{[]Op{{Call: 2, Return: 1, Value: 1}}, "operation 0: returned at 1, before it was called at 2"},
		{[]Op{{Value: 1, Offset: -1}}, "operation 0: offset -1 is out of range"},
		{[]Op{{}}, "operation 0: an append of the value 0, which stands for none"},
		{[]Op{{Value: 1, Outcome: Unknown}, {Value: 1, Outcome: Failed}}, "operations 0 and 1 append the same value"},
	} {
		_, err := Check(c.ops, Options{})
		require.EqualError(t, err, c.want)
	}
}

func TestSearchLimits(t *testing.T) {
	// A digest behind a hole that one of many may fill.
	ops := []Op{{Kind: Read, Call: 1000, Return: 1001, Offset: 1, Saw: SawDigest, Digest: Chain(0, 77)}}
	for v := range uint64(100) {
		ops = append(ops, Op{Outcome: Unknown, Value: v + 1})
	}
	res, err := Check(ops, Options{Limits: Limits{Ops: 200, Time: 20 * time.Second}})
	require.NoError(t, err)
	require.Equal(t, Linearizable, res.Verdict)
	require.Equal(t, 101, res.Searched)
	res, err = Check(ops, Options{Limits: Limits{Ops: 100}})
	require.NoError(t, err)
	require.Equal(t, Undecided, res.Verdict)
	require.Equal(t, "101 operations to search among, the limit is 100", res.Reason)
	ops[0].Digest++
	res, err = Check(ops, Options{Limits: Limits{Ops: 200, Time: 20 * time.Second}})
	require.NoError(t, err)
	require.Equal(t, NotLinearizable, res.Verdict)
	require.Equal(t, "from offset 0 to 1 no choice among 100 appends of unknown outcome gives what the reads saw", res.Violation.Text)
}

func TestRegister(t *testing.T) {
	w := func(v uint64, call, ret int64) RegisterOp {
		return RegisterOp{Client: 1, Key: "x", Write: true, Value: v, Call: call, Return: ret}
	}
	rd := func(v uint64, call, ret int64) RegisterOp {
		return RegisterOp{Client: 2, Key: "x", Value: v, Call: call, Return: ret}
	}
	unknown := w(5, 1, 0)
	unknown.Outcome = Unknown
	other := w(9, 20, 21)
	other.Key = "y"
	for _, c := range []struct {
		ops  []RegisterOp
		want string
	}{
		{[]RegisterOp{w(1, 1, 2), rd(1, 3, 4), w(2, 3, 9), rd(2, 5, 6), rd(2, 7, 8), other, rd(2, 22, 23)}, ""},
		{[]RegisterOp{unknown, rd(0, 2, 3), rd(5, 4, 5)}, ""},
		{[]RegisterOp{w(1, 1, 2), w(2, 3, 4), rd(1, 5, 6)},
			"until 6 the operations can be ordered, but not with what then returned to client 2 (called at 5): read x 1; that write had returned at 2, and before the read was called came, from 3 to 4: write x 2"},
		{[]RegisterOp{w(1, 5, 6), rd(1, 1, 2)},
			"until 2 the operations can be ordered, but not with what then returned to client 2 (called at 1): read x 1; that write was called at 5, after the read had returned"},
		{[]RegisterOp{rd(3, 1, 2)},
			"until 2 the operations can be ordered, but not with what then returned to client 2 (called at 1): read x 3; nobody wrote that value"},
	} {
		res := CheckRegister(c.ops, Limits{}, nil)
		if c.want == "" {
			require.Equal(t, Result{Verdict: Linearizable, Searched: len(c.ops)}, res)
			continue
		}
		require.Equal(t, NotLinearizable, res.Verdict)
		require.Equal(t, c.want, res.Violation.Text)
		path := filepath.Join(t.TempDir(), "why.html")
		require.NoError(t, WriteRegisterHTML(path, c.ops, res.Violation, nil))
		page, err := os.ReadFile(path)
		require.NoError(t, err)
		require.True(t, strings.Contains(string(page), "nobody") || len(page) > 1000)
	}

	// A long history is decided at its beginning.
	var long []RegisterOp
	for i := range int64(1000) {
		long = append(long, w(uint64(i+1), 10*i, 10*i+1), rd(uint64(i+1), 10*i+2, 10*i+3))
	}
	res := CheckRegister(long, Limits{Ops: 100}, nil)
	require.Equal(t, Result{Reason: "the first 100 operations are linearizable, 1900 more are beyond the limit of the search", Searched: 100}, res)
	require.Equal(t, Result{Reason: "more than 1 operations at once"}, CheckRegister([]RegisterOp{w(1, 1, 5), w(2, 1, 5)}, Limits{Ops: 1}, nil))
	long[51].Value = 3
	res = CheckRegister(long, Limits{Ops: 100}, nil)
	require.Equal(t, NotLinearizable, res.Verdict)
	require.Equal(t, 51, res.Violation.Later)
}

func BenchmarkCheck(b *testing.B) {
	const n = 1_000_000
	ops, log := run50(n)
	for _, c := range []struct {
		name string
		opt  Options
	}{{"log", Options{Log: log, Whole: true}}, {"alone", Options{}}} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				res, err := Check(ops, c.opt)
				if err != nil || res.Verdict != Linearizable {
					b.Fatal(res, err)
				}
			}
			b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/check")
		})
	}
}
