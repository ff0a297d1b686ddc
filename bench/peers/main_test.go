package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/bench/internal/peer"
	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/checker/examples/elect"
	"github.com/quorate/quorate/checker/examples/twophase"
)

const spinEnd = `State-vector 28 byte, depth reached 22, errors: 0
   296448 states, stored
  2448258 states, matched
  2744706 transitions (= stored+matched)
`

func TestParseSpin(t *testing.T) {
	o, err := parseSpin(&peer.Run{Output: spinEnd})
	require.NoError(t, err)
	assert.EqualValues(t, 296448, o.distinct)
	assert.EqualValues(t, 2744705, o.steps, "the initial state is no step")
	assert.Zero(t, o.within)
	o, err = parseSpin(&peer.Run{Output: "errors: 0\n 10340352 states, stored\n1.235584e+08 transitions (= stored+matched)\n"})
	require.NoError(t, err)
	assert.EqualValues(t, 10340352, o.distinct)
	assert.EqualValues(t, 10, o.within, "the ninth digit is not printed")
	assert.InDelta(t, 123_558_401, float64(o.steps), 10)
	for _, bad := range []string{
		"pan: reached -DMEMLIM bound\n",
		"error: max search depth too small\n" + spinEnd,
		"Warning: Search not completed\n" + spinEnd,
		"pan:1: assertion violated 0\nState-vector 28 byte, depth reached 22, errors: 1\n 5 states, stored\n 6 transitions (= stored+matched)\n",
	} {
		_, err := parseSpin(&peer.Run{Output: bad})
		assert.Error(t, err, bad)
	}
}

func TestParseRumur(t *testing.T) {
	end := "Status:\n\n\tNo error found.\n\nState Space Explored:\n\n\t194179 states, 639858 rules fired in 8s.\n"
	o, err := parseRumur(&peer.Run{Output: "\t 10 states explored in 0s, with 3 rules fired and 2 states in the queue.\n" + end})
	require.NoError(t, err)
	assert.EqualValues(t, 194179, o.distinct)
	assert.EqualValues(t, 639858, o.steps)
	_, err = parseRumur(&peer.Run{Output: end, Exit: 1})
	assert.Error(t, err)
	_, err = parseRumur(&peer.Run{Output: "\t194179 states, 639858 rules fired in 8s.\n"})
	assert.Error(t, err)
}

// The counts that all are held to are ours too.
func TestCounts(t *testing.T) {
	for i := range models {
		m := &models[i]
		if m.distinct > 1_000_000 {
			continue
		}
		var run checker.Runnable
		if m.terms > 0 {
			s, err := elect.New(m.n, m.terms)
			require.NoError(t, err)
			run = checker.Erase(s)
		} else {
			s, err := twophase.New(m.n)
			require.NoError(t, err)
			run = checker.Erase(s)
		}
		res, err := run.Run(checker.Options{})
		require.NoError(t, err)
		assert.Equal(t, m.distinct, res.Distinct, m.name)
		assert.Equal(t, m.steps, res.Generated, m.name)
	}
}

func TestMedian(t *testing.T) {
	r := row{}
	for _, s := range []float64{9, 1, 4} {
		r.outcomes = append(r.outcomes, &outcome{run: peer.Run{Seconds: s}})
	}
	seconds := func(o *outcome) float64 { return o.run.Seconds }
	assert.Equal(t, 4.0, r.median(seconds))
	r.outcomes = append(r.outcomes, &outcome{run: peer.Run{Seconds: 6}})
	assert.Equal(t, 5.0, r.median(seconds))
}

// A count that is not the known one is told, and fails the command.
func TestReport(t *testing.T) {
	m := &model{name: "x", distinct: 5, steps: 6}
	rows := []row{{checker: &contender{name: quorate, workers: 1}, outcomes: []*outcome{{distinct: 5, steps: 6, run: peer.Run{Seconds: 1, CPU: 1}}}}}
	assert.True(t, report(m, rows))
	rows[0].outcomes[0].steps = 7
	assert.False(t, report(m, rows))
	rows[0].outcomes[0].within = 1
	assert.True(t, report(m, rows))
}
