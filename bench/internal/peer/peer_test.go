package peer

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const tlcEnd = `Model checking completed. No error has been found.
6 states generated, 5 distinct states found, 0 states left on queue.
The depth of the complete state graph search is 4.
`

const tlcAction = `Error: Action property Slow is violated.
Error: The behavior up to this point is:
State 1: <Initial predicate>
x = 0

State 2: <Next line 5, col 9 to line 5, col 27 of module sm>
x = 1

5 states generated, 5 distinct states found, 2 states left on queue.
The depth of the complete state graph search is 5.
`

func TestParseTLC(t *testing.T) {
	res, err := parseTLC(tlcEnd)
	require.NoError(t, err)
	assert.Equal(t, &TLCResult{Distinct: 5, Generated: 6, Depth: 4}, res)

	res, err = parseTLC(tlcAction)
	require.NoError(t, err)
	assert.Equal(t, &TLCResult{Distinct: 5, Generated: 5, Depth: 5, Violated: "Slow", Trace: 2}, res)

	res, err = parseTLC("Error: Invariant Low is violated by the initial state:\nx = 0\n\n1 states generated, 1 distinct states found, 0 states left on queue.\n")
	require.NoError(t, err)
	assert.Equal(t, &TLCResult{Distinct: 1, Generated: 1, Violated: "Low", Trace: 1}, res)

	res, err = parseTLC("Error: Deadlock reached.\nState 1: <Initial predicate>\n2 states generated, 2 distinct states found, 1 states left on queue.\n")
	require.NoError(t, err)
	assert.Equal(t, "Deadlock reached", res.Violated)
}

// A run that did not end is never a result.
func TestParseTLCFailure(t *testing.T) {
	for _, c := range []struct{ out, says string }{
		{"", "no count of states"},
		{"Error: Out of memory\n" + tlcEnd, "Out of memory"},
		{"***Parse Error***\n\nin module x", "Parse Error"},
		{"Error: The second argument of < should be an integer\n\n1 states generated, 1 distinct states found, 1 states left on queue.\n", "second argument"},
		{"6 states generated, 5 distinct states found, 3 states left on queue.\n", "3 states were left"},
	} {
		_, err := parseTLC(c.out)
		assert.ErrorContains(t, err, c.says)
	}
}

func TestDo(t *testing.T) {
	r, err := Do(context.Background(), t.TempDir(), "go", "version")
	require.NoError(t, err)
	assert.Contains(t, r.Output, "go version")
	assert.Zero(t, r.Exit)

	r, err = Do(context.Background(), t.TempDir(), "go", "no-such-command")
	require.NoError(t, err)
	assert.NotZero(t, r.Exit)
	assert.ErrorContains(t, Must(context.Background(), t.TempDir(), "go", "no-such-command"), "unknown command")

	_, err = Do(context.Background(), t.TempDir(), "no-such-program")
	assert.Error(t, err)

	ctx, cancel := context.WithTimeout(context.Background(), time.Nanosecond)
	defer cancel()
	_, err = Do(ctx, t.TempDir(), "go", "version")
	assert.ErrorIs(t, err, context.DeadlineExceeded)
}
