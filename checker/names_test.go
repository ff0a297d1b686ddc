package checker

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestColumnsEndWithoutBlanks(t *testing.T) {
	var b bytes.Buffer
	w := NewColumns(&b)
	fmt.Fprint(w, "name\tnumber\tnote\nlong name\t1\t\na\t\t\n  b  c\t2\tx  \n")
	require.NoError(t, w.Flush())
	assert.Equal(t, "name       number  note\nlong name  1\na\n  b  c     2       x\n", b.String())
}

// A word that no state can have would be searched for in all of them.
func TestFindRefusesUnknownWords(t *testing.T) {
	sys := Interned(&relay{processes: 2, inFlight: 2, maxSeq: 1})
	for question, want := range map[string]string{
		`action == "Pign"`:                    `unknown action "Pign", did you mean "Ping"?`,
		`"PingBoht" != action`:                `did you mean "PingBoth"?`,
		`process == "C"`:                      `unknown process "C"`,
		`action in ["Ping", "Pang"]`:          `unknown action "Pang"`,
		`answers == 1 then process == "D"`:    `unknown process "D"`,
		`eventually was.phase == "asking me"`: `unknown phase "asking me", did you mean "asking"?`,
		`phase == ""`:                         `unknown phase ""`,
	} {
		_, err := Find(sys, question, Options{})
		assert.ErrorContains(t, err, want, question)
	}
	for _, question := range []string{
		`action == "Ping"`, `process in ["A", "B"]`, `phase == "idle"`, `phase != "asking"`, `A.seq == 0 and action != "Lose"`,
	} {
		r, err := Find(sys, question, Options{})
		require.NoError(t, err, question)
		assert.Equal(t, Found, r.Status, question)
	}
}

func TestDistance(t *testing.T) {
	assert.Equal(t, 0, distance("abc", "abc"))
	assert.Equal(t, 3, distance("", "abc"))
	assert.Equal(t, 3, distance("kitten", "sitting"))
}
