package checker

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func replayed[S any](t *testing.T, spec Spec[S], text string) *Replayed {
	t.Helper()
	f, err := ReadITF(strings.NewReader(text))
	require.NoError(t, err)
	r, err := Replay(t.Context(), spec, f, 10_000)
	require.NoError(t, err)
	return r
}

func itfOf(t *testing.T, b Behaviour) string {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, b.WriteITF(&out))
	return out.String()
}

// What is written is read back as the same states, by both engines, and is accepted.
func TestITFRoundTrip(t *testing.T) {
	seeds := uint64(20)
	if testing.Short() {
		seeds = 4
	}
	for _, sys := range []*relay{
		busyRelay(),
		{processes: 2, inFlight: 2, maxSeq: 3, immediate: true, budgets: [4]uint8{0, 1, 0, 0}},
	} {
		for seed := range seeds {
			b := Behaviour{Title: "relay", Processes: sys.Info().Processes, Trace: walk(Interned(sys), 30, seed)}
			text := itfOf(t, b)
			f, err := ReadITF(strings.NewReader(text))
			require.NoError(t, err)
			require.Len(t, f.States, len(b.Trace))
			for i, s := range b.Trace {
				said := map[string]string{}
				for _, x := range f.States[i] {
					said[x.Path] = x.Value
				}
				network, _ := messagesOf(networkPart, s.Fields)
				assert.ElementsMatch(t, network, f.Network[i])
				for _, x := range s.Fields {
					if !strings.HasPrefix(x.Path, "network.") {
						assert.Equal(t, x.Value, said[x.Path], "state %d, %s", i, x.Path)
					}
				}
			}
			for _, r := range []*Replayed{replayed(t, Interned(sys), text), replayed(t, Flat(sys), text)} {
				require.True(t, r.Accepted, "seed %d: %+v", seed, r.Rejection)
				require.Len(t, r.Trace, len(b.Trace))
				for i := range b.Trace {
					assert.Equal(t, b.Trace[i].Fields, r.Trace[i].Fields)
				}
			}
		}
	}
}

// A state that no step leads to is named, with what is nearest.
func TestReplayRejects(t *testing.T) {
	spec := &grid{side: 9}
	r := replayed(t, spec, `{"vars": ["x", "y"], "states": [
		{"#meta": {"index": 0}, "x": 0, "y": {"#bigint": "0"}}, {"x": 1, "y": 0}, {"x": 3, "y": 0}, {"x": 4, "y": 0}]}`)
	assert.False(t, r.Accepted)
	require.NotNil(t, r.Rejection)
	assert.Equal(t, 2, r.Rejection.State)
	assert.Len(t, r.Trace, 2)
	require.NotEmpty(t, r.Rejection.Nearest)
	assert.Equal(t, []Mismatch{{"x", "3", "2"}}, r.Rejection.Nearest[0].Differs)
	var out bytes.Buffer
	require.NoError(t, r.WriteText(&out))
	assert.Contains(t, out.String(), "grid: rejected at state 2")
	assert.Contains(t, out.String(), "x: the trace has 3, the model 2")

	r = replayed(t, spec, `{"states": [{"x": 1}]}`)
	assert.Equal(t, 0, r.Rejection.State)
	assert.Contains(t, r.Rejection.why(), "initial")

	// What it does not say may be anything, and it is all told.
	r = replayed(t, spec, `{"states": [{"x": 0}, {}, {"x": 1}]}`)
	assert.True(t, r.Accepted)
	assert.Equal(t, []int{1, 2, 1}, r.Fitting)

	// The place of a message counts, and so do those that the trace leaves out.
	sys := &relay{processes: 2, inFlight: 2, maxSeq: 1}
	r = replayed(t, Interned(sys), `{"states": [{"network": {"#map": []}}, {"network": {"#map": [["ping B->A 0", 1]]}}]}`)
	assert.True(t, r.Accepted)
	r = replayed(t, Interned(sys), `{"states": [{"network": {"#map": [["ping A->B 7", 1]]}}, {"network": {"#map": [["ping B->A 0", 1]]}}]}`)
	require.False(t, r.Accepted)
	assert.Contains(t, r.Rejection.Nearest[0].Differs, Mismatch{"network.ping A->B 7", "", "1 in flight"})

	f, err := ReadITF(strings.NewReader(`{"states": [{"x": 0, "z": 1}]}`))
	require.NoError(t, err)
	_, err = Replay(t.Context(), spec, f, 10)
	assert.EqualError(t, err, `state 0 of the trace has variable "z"; grid has x, y`)
	f, err = ReadITF(strings.NewReader(`{"states": [{"x": 0}, {}, {}, {}, {}]}`))
	require.NoError(t, err)
	_, err = Replay(t.Context(), spec, f, 3)
	assert.ErrorIs(t, err, ErrTooManyStates)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = Replay(ctx, spec, f, 30)
	assert.ErrorIs(t, err, context.Canceled)
}

// ring goes round: n steps lead from a state back to it, and one may leave for ever.
type ring struct{ n uint64 }

func (r *ring) Info() *Info {
	return &Info{
		Name: "ring", Actions: []string{"On", "Leave"}, Processes: []string{"hand"},
		Properties: []Property{{Name: "NotTwo", Kind: Invariant}},
	}
}

func (r *ring) Init(out *Sink[[1]uint64]) {
	*out.Slot() = [1]uint64{0}
	out.Commit(-1, Instance{}, 0, 0)
}

func (r *ring) Next(s *[1]uint64, out *Sink[[1]uint64]) {
	if s[0] == 99 {
		return
	}
	*out.Slot() = [1]uint64{(s[0] + 1) % r.n}
	out.Commit(0, Instance{}, 0, 0)
	*out.Slot() = [1]uint64{99}
	out.Commit(0, Instance{Action: 1}, 0, 0)
}

func (r *ring) Check(s *[1]uint64) (violated, reached Props) {
	if s[0] == 2 {
		return 1, 0
	}
	return 0, 0
}

func (r *ring) Describe(s *[1]uint64) []Field {
	parity := "even"
	if s[0]%2 == 1 {
		parity = "odd"
	}
	return []Field{{"at", itoa(s[0])}, {"parity", parity}}
}

func itoa(n uint64) string { return thousands(n) }

// A lasso is one only if its last state really leads back to the same state, not to
// one that looks like it.
func TestReplayLasso(t *testing.T) {
	even, odd := `{"parity": "even"}`, `{"parity": "odd"}`
	r := replayed(t, &ring{n: 4}, `{"states": [`+strings.Join([]string{even, odd, even, odd}, ",")+`], "loop": 0}`)
	require.True(t, r.Accepted)
	require.Len(t, r.Trace, 5)
	assert.Equal(t, r.Trace[0].Fields, r.Trace[4].Fields)
	assert.Equal(t, []ReplayViolation{{"NotTwo", 2}}, r.Violated)

	r = replayed(t, &ring{n: 4}, `{"states": [`+strings.Join([]string{even, odd}, ",")+`], "loop": 0}`)
	require.False(t, r.Accepted, "two steps lead to another even state")
	assert.True(t, r.Rejection.Loop)

	// Written and read again it is the same lasso.
	loop := 1
	b := Behaviour{Title: "ring", Processes: []string{"hand"}, Loop: &loop}
	for i := range uint64(6) {
		s := [1]uint64{i % 5}
		b.Trace = append(b.Trace, TraceStep{Process: 0, Step: "On", Fields: (&ring{}).Describe(&s)})
	}
	b.Trace = append(b.Trace, TraceStep{Process: 0, Step: "On", Fields: b.Trace[1].Fields})
	text := itfOf(t, b)
	f, err := ReadITF(strings.NewReader(text))
	require.NoError(t, err)
	assert.Len(t, f.States, 6, "the last state repeats the first of the loop, and is left out")
	assert.Equal(t, &loop, f.Loop)
	r = replayed(t, &ring{n: 5}, text)
	require.True(t, r.Accepted)
	require.Len(t, r.Trace, 7)
	drawn := r.Behaviour()
	assert.NotNil(t, draw(&drawn).Loop)
	assert.False(t, replayed(t, &ring{n: 6}, text).Accepted)
}

func TestReadITFRefuses(t *testing.T) {
	for text, says := range map[string]string{
		"":                                                          "the file is empty",
		"{":                                                         "unexpected EOF",
		`{"states": []}`:                                            "no states",
		`{"states": 3}`:                                             "states is a number",
		`{"states": [null]}`:                                        "state 0 is null",
		`{"states": [{"x": 1}]} {}`:                                 "more after the end",
		`{"states": [{"x": 1}], "loop": 1}`:                         "loop goes back to state 1; there are 0 to 0",
		`{"states": [{"x": 1}], "loop": -1}`:                        "loop goes back",
		`{"vars": ["y"], "states": [{"x": 1}]}`:                     `says nothing of variable "y"`,
		`{"states": [{"x": 1.5}]}`:                                  "1.5 is no whole number",
		`{"states": [{"x": null}]}`:                                 "null is no value",
		`{"states": [{"x": [1]}]}`:                                  "a sequence cannot be compared",
		`{"states": [{"x": {"#set": [1]}}]}`:                        "x: a #set cannot be compared",
		`{"states": [{"x": {"y": {"#tup": [1]}}}]}`:                 "x.y: a #tup cannot",
		`{"states": [{"x": {"#bigint": 4}}]}`:                       "#bigint is 4",
		`{"states": [{"x": {"#map": 4}}]}`:                          "#map is no list",
		`{"states": [{"x": {"#map": [[1]]}}]}`:                      "no pair",
		`{"states": [{"x": {"#map": [[[1], 2]]}}]}`:                 "neither number",
		`{"states": [{"x": {"#unserializable": "f"}}]}`:             "could not be written",
		`{"states": [{"network": {"#map": [["m", 0]]}}]}`:           "0 copies",
		`{"states": [{"network": {"#map": [["m", 1], ["m", 2]]}}]}`: `"m" twice`,
	} {
		_, err := ReadITF(strings.NewReader(text))
		assert.ErrorContains(t, err, says, text)
	}
	_, err := ReadITF(strings.NewReader(`{"states": [{"x": 1}]}`), "y")
	assert.ErrorContains(t, err, `variable "y"`)
	f, err := ReadITF(strings.NewReader(`{"vars": ["x", "q"], "states": [{"x": 1, "q": {"#set": []}}]}`), "x")
	require.NoError(t, err)
	assert.Equal(t, [][]Field{{{"x", "1"}}}, f.States)
}

// Whatever is read: an error, or a behaviour that can be replayed without a panic.
func FuzzReadITF(f *testing.F) {
	f.Add([]byte(`{"#meta": {}, "vars": ["x"], "states": [{"#meta": {"index": 0}, "x": 0}, {"x": {"#bigint": "1"}}], "loop": 0}`))
	f.Add([]byte(`{"states": [{"network": {"#map": [["ping A->B 7", 1]]}, "A": {"seq": 0}}]}`))
	f.Add([]byte(`{"states": [{"x": {"#map": [[1, true]]}}]}`))
	f.Add([]byte(`{"states": [{"x": {"#unserializable": "absent"}}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		trace, err := ReadITF(bytes.NewReader(text))
		if err != nil {
			return
		}
		if len(trace.States) == 0 || len(trace.States) != len(trace.Network) {
			t.Fatalf("%d states, %d networks", len(trace.States), len(trace.Network))
		}
		for i := range trace.States {
			trace.States[i] = trace.States[i][:min(len(trace.States[i]), 9)]
		}
		r, err := Replay(t.Context(), &grid{side: 3}, trace, 50)
		if err == nil && r.Accepted == (r.Rejection != nil) {
			t.Fatalf("%+v", r)
		}
		_, _ = Replay(t.Context(), Interned(&relay{processes: 2, inFlight: 1, maxSeq: 1}), trace, 50)
	})
}
