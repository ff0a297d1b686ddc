package checker

import (
	"bytes"
	"encoding/xml"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var updateGolden = flag.Bool("update", false, "write the files of testdata anew")

// golden holds text to a file of testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *updateGolden {
		require.NoError(t, os.WriteFile(path, got, 0o666))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	if !bytes.Equal(want, got) {
		t.Errorf("%s differs from what is drawn now: look at both, and run go test ./checker -run %s -update", path, t.Name())
	}
}

// walk is a behaviour of so many steps, chosen by a seed.
func walk[S any](spec Spec[S], steps int, seed uint64) []TraceStep {
	rnd := rand.New(rand.NewPCG(seed, 0))
	info := spec.Info()
	var state S
	pick := func(give func(*Sink[S])) (next TraceStep, ok bool) {
		var list []TraceStep
		states := map[string]S{}
		give(newCollector(func(c successor[S]) {
			after := *c.state
			s := TraceStep{
				Process: c.process, Actor: info.processName(c.process), Instance: c.instance, Step: info.stepText(c.process, c.instance),
				Message: c.detail.message, Kept: c.detail.kept, Sends: c.detail.sends, Inner: c.detail.inner,
				Fields: spec.Describe(&after),
			}
			for i := range s.Inner {
				s.Inner[i].Actor = info.processName(s.Inner[i].Process)
				if !s.Inner[i].Lost {
					s.Inner[i].Step = info.stepText(s.Inner[i].Process, s.Inner[i].Instance)
				}
			}
			list = append(list, s)
			states[fmt.Sprintf("%+v", s)] = after
		}))
		if len(list) == 0 {
			return next, false
		}
		// In an order of their own: that of the engine may change.
		slices.SortFunc(list, func(a, b TraceStep) int {
			return strings.Compare(fmt.Sprintf("%+v", a), fmt.Sprintf("%+v", b))
		})
		next = list[rnd.IntN(len(list))]
		state = states[fmt.Sprintf("%+v", next)]
		next.State = state
		return next, true
	}
	first, _ := pick(spec.Init)
	trace := []TraceStep{{Process: -1, Step: "initial state", State: first.State, Fields: first.Fields}}
	for range steps {
		next, ok := pick(func(k *Sink[S]) { spec.Next(&state, k) })
		if !ok {
			break
		}
		trace = append(trace, next)
	}
	return trace
}

func busyRelay() *relay {
	return &relay{processes: 3, inFlight: 4, maxSeq: 2, budgets: [4]uint8{0, 2, 3, 3}}
}

// The picture of a behaviour in which messages cross, get lost and are doubled, that
// ends in a loop.
func TestDiagramGolden(t *testing.T) {
	sys := busyRelay()
	loop := 9
	d := Behaviour{
		Title: "relay: counterexample to Answered, 24 steps", Legend: "ping A->B 1 is the first question of A to B",
		Processes: sys.Info().Processes, Trace: walk(Interned(sys), 24, 5), Loop: &loop, Bad: true,
		Verdict: []string{"violates Answered: whoever asks is answered in the end"},
	}
	var svg, page bytes.Buffer
	require.NoError(t, d.WriteSVG(&svg))
	require.NoError(t, WritePage(&page, d.Title, []Behaviour{d}))
	golden(t, "relay.svg", svg.Bytes())
	golden(t, "relay.html", page.Bytes())
	golden(t, "relay.itf.json", []byte(itfOf(t, d)))

	// Steps within a step, whose answers get lost.
	sys = &relay{processes: 2, inFlight: 2, maxSeq: 3, immediate: true}
	d = Behaviour{Title: "relay: found in 12 steps", Processes: sys.Info().Processes, Trace: walk(Flat(sys), 12, 3)}
	svg.Reset()
	require.NoError(t, d.WriteSVG(&svg))
	golden(t, "relay-exchanges.svg", svg.Bytes())

	// A specification without messages.
	d = Behaviour{Title: "grid", Trace: walk(&grid{side: 3}, 4, 1)}
	svg.Reset()
	require.NoError(t, d.WriteSVG(&svg))
	golden(t, "grid.svg", svg.Bytes())
}

// Whatever the behaviour: cards do not cover each other, every message is drawn from
// where it was sent, everything is inside the picture, and the picture is XML.
func TestDiagramsAreLaidOut(t *testing.T) {
	systems := []*relay{
		busyRelay(),
		{processes: 2, inFlight: 2, maxSeq: 3, immediate: true, budgets: [4]uint8{0, 1, 0, 0}},
		{processes: 3, inFlight: 6, maxSeq: 3, budgets: [4]uint8{0, 0, 9, 9}},
	}
	seeds := uint64(20)
	if testing.Short() {
		seeds = 3
	}
	for i, sys := range systems {
		for seed := range seeds {
			d := Behaviour{Title: "relay", Processes: sys.Info().Processes, Trace: walk(Interned(sys), 40, seed), Verdict: []string{"the end"}}
			out := draw(&d)
			require.Len(t, out.Steps, len(d.Trace)+1)
			var cards []drawnCard
			arrows := 0
			for n, s := range out.Steps {
				assert.GreaterOrEqual(t, s.Height, 0)
				if n > 0 {
					before := out.Steps[n-1]
					require.GreaterOrEqual(t, s.Y, before.Y+before.Height, "step %d begins before the one before it ends", n)
				}
				for _, c := range s.Cards {
					assert.True(t, c.Y >= s.Y && c.Y+c.Height <= s.Y+s.Height, "system %d, seed %d, step %d: a card outside of its step", i, seed, n)
					assert.True(t, c.X >= 0 && c.X+c.Width <= out.Width, "a card outside of the picture")
					for _, line := range c.Lines {
						assert.LessOrEqual(t, line.X+textWidth(line.len()), c.X+c.Width+1, "text outside of its card: %s", line)
					}
					cards = append(cards, c)
				}
				arrows += len(s.Arrows)
				for _, a := range append(s.Arrows, out.End...) {
					if strings.HasSuffix(a.Label, " 7") {
						continue // in flight from the first, and nobody knows who sent it
					}
					assert.Contains(t, a.Path, "V", "system %d, seed %d, step %d: nobody sent %s", i, seed, n, a.Label)
					assert.GreaterOrEqual(t, a.LabelX, 0)
				}
				if t.Failed() {
					return
				}
			}
			for x := range cards {
				for y := range x {
					a, b := cards[x], cards[y]
					apart := a.X >= b.X+b.Width || b.X >= a.X+a.Width || a.Y >= b.Y+b.Height || b.Y >= a.Y+a.Height
					require.True(t, apart, "system %d, seed %d: cards cover each other", i, seed)
				}
			}
			taken := 0
			for _, s := range d.Trace {
				if s.Message != "" {
					taken++
				}
				for _, in := range s.Inner {
					if in.Message != "" {
						taken++
					}
				}
			}
			require.Equal(t, taken, arrows, "an arrow for each message taken")
			var svg, again bytes.Buffer
			require.NoError(t, d.WriteSVG(&svg))
			require.NoError(t, d.WriteSVG(&again))
			require.Equal(t, svg.String(), again.String())
			for x := xml.NewDecoder(&svg); ; {
				_, err := x.Token()
				if err == io.EOF {
					break
				}
				require.NoError(t, err)
			}
		}
	}
}

// Text of a specification stays text.
func TestDiagramsEscape(t *testing.T) {
	evil := `</script><script>alert("x")</script>&`
	d := Behaviour{
		Title: evil, Legend: evil, Verdict: []string{evil}, Processes: []string{evil},
		Trace: []TraceStep{{Process: -1, Step: evil, Fields: []Field{{evil, evil}}}, {Step: evil, Message: evil, Sends: []Sent{{evil, 0}}, Fields: []Field{{evil, "b"}, {"<x>", evil}}}},
	}
	var svg, page bytes.Buffer
	require.NoError(t, d.WriteSVG(&svg))
	require.NoError(t, WritePage(&page, evil, []Behaviour{d}))
	assert.NotContains(t, svg.String(), "<script")
	assert.Equal(t, 2, strings.Count(page.String(), "<script"), "the states and the program, and none of the text")
	assert.Equal(t, 2, strings.Count(page.String(), "</script"))
	for _, out := range []string{svg.String(), page.String()} {
		assert.NotRegexp(t, `(src|href)=|url\(|@import`, out, "nothing is loaded")
	}
}
