package history

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker/linear"
	"github.com/quorate/quorate/traces/event/ndjson"
)

// simulate is a run of clients against a correct log, with leader changes during
// which outcomes are unknown or failed, and control records in the log.
func simulate(seed uint64, n int) (*History, []Record) {
	r := rand.New(rand.NewPCG(seed, 3))
	h := &History{Header: Header{Run: fmt.Sprintf("seed %d", seed), Clock: "tick"}}
	var log []Record
	last := ""
	busy := make([]int64, 8)
	change := Mark{From: -1, To: -1}
	for now := int64(1); len(h.Ops) < n; now++ {
		if r.IntN(100) == 0 && now > change.To {
			change = Mark{What: LeaderChange, From: now, To: now + 20, Note: "killed"}
			h.Marks = append(h.Marks, change)
			log = append(log, Record{Internal: true})
		}
		c := r.IntN(len(busy))
		if busy[c] >= now {
			continue
		}
		op := Op{Client: int32(c), Kind: linear.Kind(r.IntN(2)), Call: max(busy[c]+1, now-r.Int64N(5)), Return: now + r.Int64N(5)}
		busy[c] = op.Return
		if now <= change.To {
			op.Outcome = linear.Outcome(r.IntN(3))
		}
		if op.Kind == linear.Append {
			op.Value = fmt.Sprintf("%d-%d", c, now)
			if op.Outcome == linear.Known || op.Outcome == linear.Unknown && r.IntN(2) == 0 {
				if op.Outcome == linear.Known {
					op.Offset = int64(len(log))
				}
				log = append(log, Record{Value: op.Value})
				last = op.Value
			}
		} else if op.Outcome == linear.Known {
			op.Value, op.Offset = last, int64(len(log))
		}
		h.Ops = append(h.Ops, op)
	}
	return h, log
}

func TestCheck(t *testing.T) {
	for seed := range uint64(20) {
		h, log := simulate(seed, 400)
		for _, c := range []struct {
			log []Record
			opt Options
		}{{log, Options{Whole: true}}, {log, Options{}}, {log[:len(log)/2], Options{}}, {nil, Options{}}} {
			r, err := Check(h, c.log, c.opt)
			require.NoError(t, err)
			require.Equal(t, linear.Linearizable, r.Verdict, r)
			require.Equal(t, linear.Linearizable, r.Register.Verdict, r)
			require.Empty(t, r.Why)
			require.Equal(t, 400, r.Stats.Ops())
			require.Greater(t, r.Stats.ConcurrentReads, 20)
			require.Greater(t, r.Stats.InFailover, 5)
		}
	}
	// A control record leaves a gap.
	h := &History{Ops: []Op{{Call: 1, Return: 2, Value: "a", Offset: 1}}}
	for _, dense := range []bool{false, true} {
		r, err := Check(h, nil, Options{Dense: dense})
		require.NoError(t, err)
		require.Equal(t, !dense, r.Verdict == linear.Linearizable)
	}
}

// Each way in which a cluster may lie to its clients must be found.
func TestCheckFindsLies(t *testing.T) {
	known := func(h *History, kind linear.Kind) *Op {
		for i := len(h.Ops) / 2; ; i++ {
			if op := &h.Ops[i]; op.Kind == kind && op.Outcome == linear.Known {
				return op
			}
		}
	}
	for name, lie := range map[string]func(h *History, log []Record) []Record{
		"acknowledged append lost": func(h *History, log []Record) []Record {
			at := known(h, linear.Append).Offset
			log[at] = Record{Internal: true}
			return log
		},
		"end of the log lost": func(h *History, log []Record) []Record { return log[:len(log)/2] },
		"stale read": func(h *History, log []Record) []Record {
			op := known(h, linear.Read)
			for i := int64(40); ; i-- {
				if v := log[op.Offset-i]; !v.Internal {
					op.Offset, op.Value = op.Offset-i+1, v.Value
					return log
				}
			}
		},
		"read of another value": func(h *History, log []Record) []Record {
			known(h, linear.Read).Value = known(h, linear.Append).Value
			return log
		},
		"written twice": func(h *History, log []Record) []Record {
			return append(log, Record{Value: known(h, linear.Append).Value})
		},
		"out of thin air": func(h *History, log []Record) []Record { return append(log, Record{Value: "nobody's"}) },
		"failed but there": func(h *History, log []Record) []Record {
			op := known(h, linear.Append)
			op.Outcome, op.Offset = linear.Failed, 0
			return log
		},
	} {
		h, log := simulate(3, 400)
		log = lie(h, log)
		h.Marks = []Mark{{What: "node 2", From: 0, To: 1 << 40, Note: "leads all the time"}, {What: "node 3", From: 1 << 40, To: 1 << 41, Note: "long after"}}
		path := filepath.Join(t.TempDir(), "why.html")
		r, err := Check(h, log, Options{Whole: true, Picture: path, Register: linear.Limits{Ops: 10}})
		require.NoError(t, err, name)
		require.Equal(t, linear.NotLinearizable, r.Verdict, name)
		require.NotEmpty(t, r.Why, name)
		page, err := os.ReadFile(path)
		require.NoError(t, err, name)
		require.Contains(t, string(page), "leads all the time", name)
		require.NotContains(t, string(page), "long after", name)
		t.Log(name, r)
	}
}

// The register alone, with the offsets hidden by a log that is not given, must
// agree with the log about stale reads.
func TestRegisterAgrees(t *testing.T) {
	found := 0
	for seed := range uint64(60) {
		h, _ := simulate(seed, 60)
		r := rand.New(rand.NewPCG(seed, 4))
		a, b := &h.Ops[r.IntN(len(h.Ops))], &h.Ops[r.IntN(len(h.Ops))]
		if a.Kind == linear.Read && b.Kind == linear.Read && a.Outcome == linear.Known && b.Outcome == linear.Known {
			a.Value, b.Value, a.Offset, b.Offset = b.Value, a.Value, b.Offset, a.Offset
		}
		rep, err := Check(h, nil, Options{})
		require.NoError(t, err)
		if rep.Register.Verdict == linear.NotLinearizable {
			require.Equal(t, linear.NotLinearizable, rep.Log.Verdict, rep)
			found++
		}
	}
	require.Greater(t, found, 2)
}

func TestStats(t *testing.T) {
	h := &History{
		Ops: []Op{
			{Client: 1, Call: 1, Return: 5, Value: "a"},
			{Client: 2, Kind: linear.Read, Call: 6, Return: 7, Value: "a", Offset: 1},  // beside nothing
			{Client: 2, Kind: linear.Read, Call: 9, Return: 10, Value: "a", Offset: 1}, // beside b
			{Client: 3, Call: 8, Return: 9, Value: "b", Outcome: linear.Unknown},
			{Client: 2, Kind: linear.Read, Call: 30, Return: 31, Value: "a", Offset: 1}, // beside b, which never ended
			{Client: 3, Call: 6, Return: 6, Value: "c", Outcome: linear.Failed},         // beside it does not count
		},
		Marks: []Mark{{What: LeaderChange, From: 7, To: 8}, {What: LeaderChange, From: 8, To: 9}, {What: "pause", From: 0, To: 99}},
	}
	require.Equal(t, Stats{Clients: 3, Appends: 3, Reads: 3, Known: 4, Unknown: 1, Failed: 1, LeaderChanges: 2, InFailover: 3, ConcurrentReads: 2}, measure(h))
}

func TestReport(t *testing.T) {
	h, log := simulate(1, 200)
	r, err := Check(h, log, Options{Whole: true})
	require.NoError(t, err)
	require.Equal(t, "run                      verdict                 ops       ok  unknown   failed  failover    beside  register", RowHeader)
	require.Equal(t, "seed 1                   linearizable            200      189        5        6        19        89  linearizable", r.Row())
	require.Equal(t, "seed 1: linearizable: 200 operations of 8 clients (101 appends, 99 reads; 189 ok, 5 unknown, 6 failed); "+
		"19 while the leader changed (1 times), 89 reads beside appends; register linearizable (193 searched)", r.String())
	log = append(log, Record{Value: "x"})
	r, err = Check(h, log, Options{Whole: true})
	require.NoError(t, err)
	require.Contains(t, r.String(), fmt.Sprintf("\n  offset %d of the committed log has the value \"x\", which no client appended", len(log)-1))
}

func encode(t testing.TB, h *History) []byte {
	var b bytes.Buffer
	w := NewWriter(&b, h.Header)
	require.NoError(t, h.Write(w))
	require.NoError(t, w.Close())
	return b.Bytes()
}

func TestFiles(t *testing.T) {
	h, _ := simulate(5, 500)
	h.Start = 17
	for _, name := range []string{"h.ndjson", "h.ndjson.zst"} {
		path := filepath.Join(t.TempDir(), name)
		w, err := Create(path, h.Header)
		require.NoError(t, err)
		require.NoError(t, h.Write(w))
		require.NoError(t, w.Close())
		require.ErrorIs(t, w.Op(&h.Ops[0]), os.ErrClosed)
		got, err := Open(path)
		require.NoError(t, err)
		require.Equal(t, h, got)
	}
}

func TestReadRefuses(t *testing.T) {
	head := `{"v":1,"type":"history","run":"r","clock":"tick"}` + "\n"
	ok := `{"type":"append","client":1,"call":1,"return":2,"outcome":"ok","value":"a","offset":0}` + "\n"
	for _, c := range []struct{ data, want string }{
		{"", "an empty file, want the header of a history"},
		{"hello", "f:1: byte 0: want an object, found 'h' (byte 0 of the line)"},
		{ok, "f:1: byte 0: want the header of a history, found a line of type append"},
		{head + head, "f:2: byte 50: a second header"},
		{`{"v":2,"type":"history"}`, "f:1: byte 6: v: the version of the schema is 2, this program reads version 1 only (byte 6 of the line)"},
		{head + ok + ok, `f:3: byte 137: line 2 appends the value "a" too`},
		{head + ok[:40], "f:2: byte 90: the line ends too soon (byte 40 of the line)"},
		{head + `{"type":"write"}`, `f:2: byte 65: type: want history, append, read or mark, found "write" (byte 15 of the line)`},
		{head + `{"type":"read","client":1,"call":1,"return":2,"outcome":"ok","offset":0}`, `f:2: byte 121: the field "value" is missing (byte 71 of the line)`},
		{head + `{"type":"read","client":1,"call":1,"return":2,"outcome":"fail","offset":0}`, `f:2: byte 124: a line of type read and this outcome has no field "offset" (byte 74 of the line)`},
		{head + `{"type":"append","client":1,"call":3,"return":2,"outcome":"unknown","value":"b"}`, `f:2: byte 130: returned at 2, before it was called at 3 (byte 80 of the line)`},
		{head + `{"type":"append","client":1,"call":3,"return":4,"outcome":"unknown","value":""}`, `f:2: byte 129: an append of the empty value, which stands for none (byte 79 of the line)`},
		{head + `{"type":"append","client":1,"call":3,"return":4,"outcome":"maybe"}`, `f:2: byte 115: outcome: want ok, unknown or fail, found "maybe" (byte 65 of the line)`},
		{head + `{"type":"append","run":"x","client":1,"call":3,"return":4,"outcome":"unknown","value":"x"}`, `f:2: byte 140: a line of type append and this outcome has no field "run" (byte 90 of the line)`},
		{head + `{"type":"mark","what":"x","from":3,"to":2}`, `f:2: byte 92: a mark that ends at 2, before it begins at 3 (byte 42 of the line)`},
		{head + `{"type":"mark","what":"x","from":3,"from":2}`, `f:2: byte 92: from: a duplicate field (byte 42 of the line)`},
		{head + `{"type":"mark","what":"x","until":3}`, `f:2: byte 84: until: a field that the schema does not have (byte 34 of the line)`},
	} {
		_, err := Read(bytes.NewBufferString(c.data), "f")
		require.EqualError(t, err, c.want, c.data)
	}
}

func TestWriterRefuses(t *testing.T) {
	for _, op := range []Op{{Call: 2, Return: 1, Value: "a"}, {Client: -1, Value: "a"}, {}} {
		w := NewWriter(&bytes.Buffer{}, Header{})
		require.Error(t, w.Op(&op))
		require.Error(t, w.Close())
	}
	require.Error(t, NewWriter(&bytes.Buffer{}, Header{}).Mark(&Mark{From: 2, To: 1}))
}

// What is read can be written and read again, and nothing panics.
func FuzzRead(f *testing.F) {
	h, _ := simulate(2, 6)
	f.Add(encode(f, h))
	h.Marks = append(h.Marks, Mark{What: LeaderChange, From: 1, To: 2, Note: "\"\x00é"})
	f.Add(encode(f, h))
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := Read(bytes.NewReader(data), "f")
		if err != nil {
			var at *ndjson.FileError
			if len(data) > 0 {
				require.ErrorAs(t, err, &at)
			}
			return
		}
		again, err := Read(bytes.NewReader(encode(t, h)), "f")
		require.NoError(t, err)
		require.Equal(t, h, again)
		if len(h.Ops) < 8 {
			_, err = Check(h, nil, Options{Register: linear.Limits{Time: 10 * time.Millisecond}})
			require.NoError(t, err)
		}
	})
}

func BenchmarkHistory(b *testing.B) {
	const n = 100_000
	h, log := simulate(1, n)
	data := encode(b, h)
	b.Run("read", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, err := Read(bytes.NewReader(data), "f"); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
	})
	b.Run("check", func(b *testing.B) {
		for b.Loop() {
			if r, err := Check(h, log, Options{Whole: true, Register: linear.Limits{Ops: 1}}); err != nil || r.Verdict != linear.Linearizable {
				b.Fatal(r, err)
			}
		}
		b.ReportMetric(n*float64(b.N)/b.Elapsed().Seconds(), "ops/s")
	})
}

// The example in the README is a history.
func TestREADMEExample(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, rest, ok := bytes.Cut(readme, []byte("## Client histories"))
	require.True(t, ok)
	_, rest, ok = bytes.Cut(rest, []byte("```json\n"))
	require.True(t, ok)
	example, _, ok := bytes.Cut(rest, []byte("```"))
	require.True(t, ok)
	h, err := Read(bytes.NewReader(example), "README.md")
	require.NoError(t, err)
	require.Len(t, h.Ops, 3)
	require.Len(t, h.Marks, 1)
	r, err := Check(h, nil, Options{})
	require.NoError(t, err)
	require.Equal(t, linear.Linearizable, r.Verdict)
}

// A register that has no order, in a log that has one, is a fault of a checker.
func TestVerdict(t *testing.T) {
	no := &linear.Violation{Text: "why"}
	r := &Report{Log: linear.Result{Verdict: linear.NotLinearizable, Violation: no}}
	require.NoError(t, r.decide())
	require.Equal(t, linear.NotLinearizable, r.Verdict)
	require.Equal(t, "why", r.Why)
	r = &Report{Log: linear.Result{Verdict: linear.Linearizable}, Register: linear.Result{Verdict: linear.NotLinearizable, Violation: no}}
	require.EqualError(t, r.decide(), "the two checks disagree: by its offsets the history is linearizable, but why")
	r.Register = linear.Result{}
	require.NoError(t, r.decide())
	require.Equal(t, linear.Linearizable, r.Verdict)
}
