package kafkasql

import (
	"fmt"
	"slices"
	"testing"

	"github.com/quorate/quorate/spec/concern"
	"github.com/stretchr/testify/require"
)

// Whoever reads a whole round of another one, its request, the same again, its lock and its
// commit, believes afterwards that the lock is free and asks for nothing, whatever it
// believed before. So who is more than a round behind in the coordination topic is no
// other than who is one behind, and what comes about in the end is shown for all if it is
// shown for who is a round, and all but the end of the next one, behind.
func TestRoundForgets(t *testing.T) {
	at := slices.IndexFunc(Models, func(m Model) bool { return m.Name == "kafkasql-a-lock" })
	model := &Models[at]
	m := newMachine(model, CleanRules(A, 1), concern.Drop{})
	authors := []uint8{0, author(0, &Instance{}), author(1, &Instance{}), author(0, &Instance{Life: 1}), author(1, &Instance{Life: 1})}
	seen := 0
	for _, by := range []uint8{authors[2], authors[4]} { // of B, in the life that goes on or in an earlier one
		for step := Idle; step <= Uploaded; step++ {
			for _, first := range authors {
				for _, holder := range authors {
					var s State
					s.I[1].Phase = Ready
					n := &s.I[0]
					*n = Instance{Phase: Ready, Step: step, FirstBy: first, Holder: holder, DB: DB{Journal: 1, Schema: 1}}
					if step >= Locked {
						n.Holder, n.FirstBy = author(0, n), 0
					}
					if step > Locked {
						n.Frozen = 1
					}
					for k, kind := range []CoordKind{Request, Request, Lock, Done} {
						s.Coord[k] = Coord{kind, by}
					}
					s.NCoord = 4
					s.I[1].CoordPos = 0 // so that nothing is forgotten meanwhile
					for range 4 {
						require.True(t, m.observeCoord(&s, 0))
					}
					was := fmt.Sprint(step, first, holder)
					require.Equal(t, Instance{Phase: Ready, DB: n.DB, CoordPos: 4}, *n, was)
					seen++
				}
			}
		}
	}
	require.Equal(t, 2*8*25, seen)
}
