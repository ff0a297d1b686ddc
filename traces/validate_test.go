package traces

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

var (
	three    = &Run{Voters: []int32{3, 7, 11}, PreVote: PreVote{All: true}}
	old      = &Run{Voters: []int32{1, 2, 3}}
	mixed    = &Run{Voters: []int32{1, 2, 3, 4, 5}, Observers: []int32{9}, PreVote: PreVote{Only: []int32{1, 2, 9}}}
	single   = &Run{Voters: []int32{4}, PreVote: PreVote{All: true}}
	observed = &Run{Voters: []int32{1, 2}, Observers: []int32{3, 4}, PreVote: PreVote{All: true}}
	changing = &Run{Voters: []int32{1, 2, 3}, Observers: []int32{4, 5}, PreVote: PreVote{All: true}, KRaftVersion: 1}
)

// TestGenerated: walks through the specification are accepted, with nothing hidden.
func TestGenerated(t *testing.T) {
	taken, reached, abandoned := map[string]int{}, map[string]bool{}, 0
	for name, run := range map[string]*Run{"three": three, "old": old, "mixed": mixed, "single": single, "observed": observed, "changing": changing} {
		for seed := range uint64(20) {
			g := newGenerator(seed, run)
			g.forgets = true
			inputs := g.walk(600)
			res, err := Validate(inputs, Options{Run: run})
			require.NoError(t, err)
			if res.Verdict != Accepted {
				t.Fatalf("%s, seed %d: %v\n%s", name, seed, res.Verdict, res.Rejection.Text())
			}
			require.EqualValues(t, 600, res.Stats.Events)
			want := map[string]int{}
			for a, n := range res.Stats.Hidden { // what leaves no event
				require.Equal(t, "AbandonSnapshot", a)
				abandoned += n
			}
			for _, events := range read(t, inputs) {
				for i := range events {
					want[events[i].Action]++
					if i > 0 && events[i].Inc != events[i-1].Inc {
						want["Crash"]++
					}
				}
			}
			require.Equal(t, want, res.Stats.Actions)
			for a, n := range res.Stats.Actions {
				require.NotContains(t, res.Stats.NotTaken, a)
				taken[a] += n
			}
			for _, r := range res.Stats.Reached {
				reached[r] = true
			}
		}
	}
	t.Logf("actions taken: %v; reached: %d properties", taken, len(reached))
	for a := spec.ActionID(0); a < spec.NumReplicaActions; a++ {
		if a != spec.ActionLoseDisk && a != spec.ActionAbandonSnapshot { // no disk of the generator is ever lost
			require.NotZero(t, taken[a.String()], "no walk takes %v", a)
		}
	}
	require.GreaterOrEqual(t, len(reached), 30)
	require.NotZero(t, abandoned)
}

func TestGeneratedLong(t *testing.T) {
	inputs := generate(5, three, 100_000, true)
	began := time.Now()
	res, err := Validate(inputs, Options{Run: three})
	require.NoError(t, err)
	if res.Verdict != Accepted {
		t.Fatal(res.Rejection.Text())
	}
	t.Logf("%d events, %d crashes, %.0f events/s", res.Stats.Events, res.Stats.Crashes, float64(res.Stats.Events)/time.Since(began).Seconds())
}

// TestEveryChangeIsNoticed changes each field of each event of a run.
func TestEveryChangeIsNoticed(t *testing.T) {
	events := 1000
	if testing.Short() {
		events = 400
	}
	for name, run := range map[string]*Run{"three": three} {
		began := time.Now()
		report, err := MutateFields(generate(11, run, events, false), Options{Run: run})
		require.NoError(t, err)
		require.Equal(t, events, report.Events)
		t.Logf("%s: %s, %.1f s", name, report.Text(), time.Since(began).Seconds())
		for _, m := range report.Unexplained[:min(20, len(report.Unexplained))] {
			t.Errorf("accepted: node %d, incarnation %d, event %d, %s: %s", m.Node, m.Inc, m.Seq, m.Action, m.Change)
		}
		require.Greater(t, report.Rejected, report.Tried*9/10)
	}
}

// TestReasons: what is accepted is not harmless for that alone.
func TestReasons(t *testing.T) {
	events := read(t, generate(1, single, 200, false))[0]
	v, err := newValidator([]Input{Events("node", events)}, Options{Run: single})
	require.NoError(t, err)
	v.quiet = true
	require.NoError(t, v.load())
	m := &mutator{}
	m.events[0] = events
	reads, impossible, both := 0, 0, 0
	for i := range events[:len(events)-1] {
		j, e, next := job{v.clone(), 0}, &events[i], &events[i+1]
		if e.Action == "StartRead" {
			served := false
			for _, o := range events {
				served = served || o.Inc == e.Inc && o.Action == "ServeRead" && o.Args.Read == e.Args.Read
			}
			if served {
				reads++
				require.Empty(t, m.reason(j, "Args.Read", e, events[i+1:]))
			}
		}
		if e.Action == "ServeRead" {
			require.Empty(t, m.reason(j, "Args.Read", e, events[i+1:]))
		}
		if next.Inc == e.Inc {
			first, second := *next, *e
			first.Seq, second.Seq = second.Seq, first.Seq
			first.Step, second.Step = second.Step, first.Step
			reason := m.reason(j, "(reordered)", &first, append([]event.Event{second}, events[i+2:]...))
			switch {
			case e.Action == "Restart" || e.Action == "BecomeCandidate": // nothing goes before them that comes after
				impossible++
				require.Empty(t, reason)
			case e.Action == "Flush" && next.Action == "Flush" && e.Durable.LogEnd == next.Durable.LogEnd:
				both++
				require.Equal(t, reasonCommute, reason)
			}
		}
		require.Nil(t, v.take(0))
		require.NoError(t, v.next(0))
	}
	t.Logf("%d reads served, %d orders impossible, %d possible", reads, impossible, both)
	require.NotZero(t, reads)
	require.NotZero(t, impossible)
}

func read(t testing.TB, inputs []Input) [][]event.Event {
	var all [][]event.Event
	for _, in := range inputs {
		events, err := readAll(in)
		require.NoError(t, err)
		all = append(all, events)
	}
	return all
}

func write(all [][]event.Event) []Input {
	var inputs []Input
	for _, events := range all {
		if len(events) > 0 {
			inputs = append(inputs, Events("node", events))
		}
	}
	return inputs
}

// TestLostTail: the last events of incarnations are lost, and with them what they
// did on disk and what they sent: steps that nobody saw explain the rest.
func TestLostTail(t *testing.T) {
	needed, accepted, rejected := map[string]int{}, 0, 0
	for seed := range uint64(40) {
		all := read(t, generate(seed, three, 500, false))
		cut := false
		for n, events := range all {
			for i := 1; i+1 < len(events); i++ {
				if last := &events[i]; events[i+1].Inc != last.Inc && (last.Durable != nil || len(last.Send) > 0) && last.Seq > 1 {
					all[n] = append(append([]event.Event{}, events[:i]...), events[i+1:]...)
					cut = true
					break
				}
			}
		}
		if !cut {
			continue
		}
		strict, err := Validate(write(all), Options{Run: three})
		require.NoError(t, err)
		res, err := Validate(write(all), Options{Run: three, Hidden: 3})
		require.NoError(t, err)
		if res.Verdict != Accepted {
			t.Errorf("seed %d: %v, without hidden steps %v\n%s", seed, res.Verdict, strict.Verdict, res.Rejection.Text())
			continue
		}
		accepted++
		if strict.Verdict == Rejected {
			rejected++
			require.NotEmpty(t, res.Stats.Hidden, "seed %d", seed)
		}
		for a, n := range res.Stats.Hidden {
			needed[a] += n
		}
	}
	t.Logf("%d runs accepted with hidden steps, %d of them rejected without: %v", accepted, rejected, needed)
	require.NotZero(t, rejected)
}

// TestUnnamed: without names of actions the states decide.
func TestUnnamed(t *testing.T) {
	worlds := 0
	for seed := range uint64(10) {
		all := read(t, generate(seed, three, 400, false))
		for _, events := range all {
			for i := range events {
				if e := &events[i]; e.Args.Read == 0 { // the number of a read is nowhere else
					e.Action, e.Args = "", event.Args{}
				}
			}
		}
		res, err := Validate(write(all), Options{Run: three})
		require.NoError(t, err)
		if res.Verdict != Accepted {
			t.Fatalf("seed %d: %v\n%s", seed, res.Verdict, res.Rejection.Text())
		}
		worlds = max(worlds, res.Stats.Worlds)
	}
	t.Logf("up to %d explanations at once", worlds)
}

// TestUnobserved: any subset of the state may be observed.
func TestUnobserved(t *testing.T) {
	for seed := range uint64(10) {
		all := read(t, generate(seed, three, 400, false))
		for _, events := range all {
			for i := range events {
				events[i].State.Has &= event.StateFields(uint64(i)*2654435761>>7) | event.HasRole
			}
		}
		res, err := Validate(write(all), Options{Run: three})
		require.NoError(t, err)
		if res.Verdict != Accepted {
			t.Fatalf("seed %d: %v\n%s", seed, res.Verdict, res.Rejection.Text())
		}
	}
}

func TestOutOfBudget(t *testing.T) {
	all := read(t, generate(3, three, 300, false))
	e := &all[0][len(all[0])/2]
	e.State.HighWatermark += 1000
	res, err := Validate(write(all), Options{Run: three, Hidden: 6, MaxSearch: 10})
	require.NoError(t, err)
	require.Equal(t, OutOfBudget, res.Verdict)
	res, err = Validate(write(all), Options{Run: three, Hidden: 1})
	require.NoError(t, err)
	require.Equal(t, Rejected, res.Verdict)
}

// TestProperties: a run that follows broken rules step by step is rejected for
// what comes of them.
func TestProperties(t *testing.T) {
	broken := spec.CleanRules()
	broken.MayExpose = func(*spec.Replica, spec.Offset) bool { return true }
	broken.OwnEnd = func(r *spec.Replica) spec.Offset { return r.Log.End() }
	broken.Majority = func(int) int { return 1 }
	found := map[string]bool{}
	for seed := range uint64(20) {
		g := newGenerator(seed, three)
		g.ctx.Rules = broken
		var inputs []Input
		func() {
			defer func() { _ = recover() }() // a broken protocol may do what the generator cannot record
			for i := 0; i < 20_000 && g.total < 600; i++ {
				g.once()
			}
		}()
		for _, list := range g.events {
			inputs = append(inputs, Events("node", list))
		}
		res, err := Validate(inputs, Options{Run: three, Rules: broken})
		require.NoError(t, err)
		if res.Verdict == Rejected {
			for _, p := range res.Rejection.Properties {
				found[p] = true
			}
			require.LessOrEqual(t, strings.Count(res.Rejection.Text(), "\n")+1, 20)
		}
		strict, err := Validate(inputs, Options{Run: three})
		require.NoError(t, err)
		require.Equal(t, Rejected, strict.Verdict, "seed %d", seed)
	}
	t.Logf("violated: %v", found)
	require.NotEmpty(t, found)
}

// TestReport: the field is named, with both values, in few lines.
func TestReport(t *testing.T) {
	all := read(t, generate(3, three, 300, false))
	e := &all[1][len(all[1])/2]
	e.State.HighWatermark++
	res, err := Validate(write(all), Options{Run: three})
	require.NoError(t, err)
	require.Equal(t, Rejected, res.Verdict)
	r := res.Rejection
	require.Equal(t, []int64{int64(e.Node.ID), int64(e.Inc), e.Seq}, []int64{int64(r.Node), int64(r.Inc), r.Seq})
	require.Contains(t, r.Text(), "state.hw")
	require.NotEmpty(t, r.Past)
	require.LessOrEqual(t, strings.Count(r.Text(), "\n")+1, 20)
	t.Log("\n" + r.Text())
}

// TestWrongNode: a message is handled by another node than it was sent to, and
// nothing else is wrong.
func TestWrongNode(t *testing.T) {
	for _, wrong := range []bool{false, true} {
		g := newGenerator(1, three)
		require.True(t, g.local(0, spec.ActionBecomeProspective, spec.Args{}))
		require.True(t, g.local(0, spec.ActionSendVoteRequest, spec.Args{Dst: 2}))
		if wrong {
			g.flight[0].id.conn.To = 11
		}
		g.deliver(0)
		at := len(g.events) - 1
		if !wrong {
			at--
		}
		e := &g.events[at][1]
		require.Equal(t, "HandleVoteRequest", e.Action)
		e.Send[0].Conn.To = 7
		res, err := Validate(write(g.events), Options{Run: three})
		require.NoError(t, err)
		if !wrong {
			require.Equal(t, Accepted, res.Verdict)
			continue
		}
		require.Equal(t, Rejected, res.Verdict)
		require.Equal(t, []Difference{{"recv.conn", "7", "11"}}, res.Rejection.Differences)
	}
}

// TestWrongInitiator: a connection is of the incarnation that opened it.
func TestWrongInitiator(t *testing.T) {
	for _, c := range []struct {
		change func(*event.Conn)
		want   []Difference
	}{
		{func(c *event.Conn) { c.N = 77 }, nil},
		{func(c *event.Conn) { c.Inc = 2 }, []Difference{{"send.conn.inc", "1", "2"}}},
		{func(c *event.Conn) { c.Inc = 0 }, []Difference{{"send.conn.inc", "1", "0"}}},
		{func(c *event.Conn) { c.From = 11 }, []Difference{{"send.conn.from", "3", "11"}}},
	} {
		g := newGenerator(1, three)
		require.True(t, g.local(0, spec.ActionBecomeProspective, spec.Args{}))
		require.True(t, g.local(0, spec.ActionSendVoteRequest, spec.Args{Dst: 2}))
		c.change(&g.events[0][2].Send[0].Conn)
		res, err := Validate(write(g.events), Options{Run: three})
		require.NoError(t, err)
		if c.want == nil {
			require.Equal(t, Accepted, res.Verdict)
			continue
		}
		require.Equal(t, Rejected, res.Verdict)
		require.Equal(t, c.want, res.Rejection.Differences)
	}
}

// TestTooManyWorlds: a process that starts and does not say how much of its log it
// has found has many explanations; there is no answer once they are more than are
// followed.
func TestTooManyWorlds(t *testing.T) {
	events := read(t, generate(1, single, 60, false))[0]
	end := 0
	for unflushed := 0; unflushed < 3; end++ {
		switch e := &events[end]; {
		case e.Action == "Append" || e.Action == "AppendLeaderChange":
			unflushed++
		case e.Action == "Flush":
			unflushed = 0
		}
	}
	events = append(events[:end:end], event.Event{
		Node: events[0].Node, Inc: events[end-1].Inc + 1, Seq: 1, Action: "Restart", State: event.State{Has: event.HasRole, Role: "Resigned"},
	})
	res, err := Validate([]Input{Events("node", events)}, Options{Run: single})
	require.NoError(t, err)
	require.Equal(t, Accepted, res.Verdict)
	t.Logf("%d explanations", res.Stats.Worlds)
	require.Greater(t, res.Stats.Worlds, 1)
	for most := 1; most <= res.Stats.Worlds; most++ {
		limited, err := validate([]Input{Events("node", events)}, Options{Run: single, MaxWorlds: most}, likely)
		require.NoError(t, err)
		if most == res.Stats.Worlds {
			require.Equal(t, Accepted, limited.Verdict)
			break
		}
		require.Equal(t, OutOfBudget, limited.Verdict)
		require.Contains(t, limited.Rejection.Text(), "ways to explain the run so far")
		apart, err := Validate([]Input{Events("node", events)}, Options{Run: single, MaxWorlds: most})
		require.NoError(t, err)
		require.Equal(t, Accepted, apart.Verdict, "states of one node are fewer than worlds")
	}
}

func TestMalformed(t *testing.T) {
	dir := t.TempDir()
	events := read(t, generate(1, single, 20, false))[0]
	line := func(i int) string { return string(event.AppendJSON(nil, &events[i])) }
	for name, text := range map[string]string{
		"empty":          "",
		"not JSON":       line(0) + "\nhello\n" + line(1) + "\n",
		"torn inside":    line(0) + "\n" + line(1)[:40] + "\n" + line(2) + "\n",
		"all torn":       "{\n{\n{\n",
		"other version":  strings.Replace(line(0), `"v":1`, `"v":2`, 1) + "\n",
		"a gap":          line(0) + "\n" + line(2) + "\n",
		"unknown action": line(0) + "\n" + strings.Replace(line(1), events[1].Action, "Dance", 1) + "\n",
		"unknown role":   strings.Replace(line(0), "Unattached", "King", 1) + "\n",
		"unknown node":   strings.Replace(line(0), `"id":4`, `"id":5`, 1) + "\n",
		"says nothing":   line(0) + "\n" + `{"v":1,"node":{"id":4,"dir":"dir"},"inc":1,"seq":2,"step":9}` + "\n",
		"empty parts":    line(0) + "\n" + `{"v":1,"node":{"id":4,"dir":"dir"},"inc":1,"seq":2,"step":9,"args":{},"send":[],"state":{}}` + "\n",
		"args alone":     line(0) + "\n" + `{"v":1,"node":{"id":4,"dir":"dir"},"inc":1,"seq":2,"step":9,"args":{"count":1},"state":{"epoch":1}}` + "\n",
	} {
		path := filepath.Join(dir, "node-4.ndjson")
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := Validate([]Input{File(path)}, Options{Run: single})
		var m *MalformedError
		require.True(t, errors.As(err, &m), "%s: %v", name, err)
		require.Contains(t, err.Error(), "node-4.ndjson", name)
		if name == "all torn" {
			require.EqualError(t, err, path+":1: no events: from here on every line is torn (3)")
		}
		t.Logf("%s: %v", name, err)
	}
	_, err := Validate(nil, Options{})
	require.Error(t, err)
}

// TestTooManyRecords: numbers that no log has room for are refused, not added up.
func TestTooManyRecords(t *testing.T) {
	const most = math.MaxInt32
	for _, c := range []struct {
		change func(e *event.Event)
		want   string // empty: rejected, not malformed
	}{
		{func(e *event.Event) { e.Args.Count = most }, ""},
		{func(e *event.Event) { e.Args.Count = most + 1 }, "args.count 2147483648"},
		{func(e *event.Event) { e.Args.Count = math.MaxInt64 }, "args.count 9223372036854775807"},
		{func(e *event.Event) { e.Log.Appended[0].Count = math.MaxInt64 }, "log.appended: 9223372036854775807 records"},
		{func(e *event.Event) {
			r := e.Log.Appended[0]
			r.Count = most
			e.Log.Appended = append(e.Log.Appended, r)
		}, "log.appended: 2147483647 records and"},
		{func(e *event.Event) {
			e.Action, e.Args = "", event.Args{}
			e.Send = []event.Message{{Kind: event.Fetch, Response: true, Conn: event.Conn{From: 4, To: 4, Inc: 1}, Records: []event.Run{{Kind: event.Data, Count: math.MaxInt64}}}}
		}, "send: 9223372036854775807 records"},
	} {
		events := read(t, generate(1, single, 60, false))[0]
		for i := range events {
			if events[i].Action == "Append" {
				e := copyEvent(&events[i])
				c.change(e)
				events[i] = *e
				break
			}
		}
		res, err := Validate([]Input{Events("node", events)}, Options{Run: single})
		if c.want == "" {
			require.NoError(t, err)
			require.Equal(t, Rejected, res.Verdict)
			continue
		}
		var m *MalformedError
		require.ErrorAs(t, err, &m)
		require.Positive(t, m.Line)
		require.ErrorContains(t, err, c.want)
	}
}

func BenchmarkValidate(b *testing.B) {
	inputs := generate(5, three, 50_000, true)
	for _, invariants := range []bool{true, false} {
		name := "invariants"
		if !invariants {
			name = "conformance"
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				res, err := Validate(inputs, Options{Run: three, NoInvariants: !invariants})
				if err != nil || res.Verdict != Accepted {
					b.Fatal(err, res)
				}
			}
			b.ReportMetric(50_000*float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
