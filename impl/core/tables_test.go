package core

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMajorityOffset(t *testing.T) {
	for _, c := range []struct {
		ends []Offset
		want Offset
	}{
		{nil, UnknownOffset},
		{[]Offset{7}, 7},
		{[]Offset{7, 3}, 3},
		{[]Offset{7, UnknownOffset}, UnknownOffset},
		{[]Offset{1, 9, 5}, 5},
		{[]Offset{UnknownOffset, 9, UnknownOffset}, UnknownOffset},
		{[]Offset{4, 3, 2, 1}, 2},
		{[]Offset{5, 1, 4, 2, 3}, 3},
	} {
		require.Equal(t, c.want, majorityOffset(slices.Clone(c.ends)), "%v", c.ends)
	}
	// By definition: the largest offset that a majority has reached.
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		ends := make([]Offset, 1+rng.IntN(7))
		for i := range ends {
			ends[i] = Offset(rng.IntN(6)) - 1
		}
		want := UnknownOffset
		for o := Offset(0); o < 6; o++ {
			n := 0
			for _, e := range ends {
				if e >= o {
					n++
				}
			}
			if n >= majority(len(ends)) {
				want = o
			}
		}
		require.Equal(t, want, majorityOffset(slices.Clone(ends)), "%v", ends)
	}
}

func TestTally(t *testing.T) {
	const u, g, x = unrecorded, granted, rejected
	for _, c := range []struct {
		votes []ballot
		want  outcome
	}{
		{[]ballot{g}, won},
		{[]ballot{g, u}, undecided},
		{[]ballot{g, x}, lost},
		{[]ballot{g, g}, won},
		{[]ballot{g, x, u}, undecided},
		{[]ballot{g, x, x}, lost},
		{[]ballot{g, x, g}, won},
		{[]ballot{g, g, u, u}, undecided},
		{[]ballot{g, x, x, u}, lost},
		{[]ballot{g, g, u, u, u}, undecided},
		{[]ballot{g, g, x, x, u}, undecided},
		{[]ballot{g, g, g, x, x}, won},
	} {
		require.Equal(t, c.want, tally(c.votes), "%v", c.votes)
	}
}

func TestGrant(t *testing.T) {
	candidate := ReplicaKey{ID: 2, Directory: DirectoryID{2}}
	other := ReplicaKey{ID: 3}
	for _, role := range []Role{Unattached, Prospective, Candidate, Leader, Follower, Resigned} {
		for bits := range 16 {
			upToDate, preVote, fetched, knowsLeader := bits&1 != 0, bits&2 != 0, bits&4 != 0, bits&8 != 0
			for _, voted := range []ReplicaKey{NoKey, candidate, {ID: 2}, {ID: 2, Directory: DirectoryID{9}}, other} {
				q := grantQuestion{role: role, leader: NoReplica, voted: voted, fetched: fetched,
					candidate: candidate, upToDate: upToDate, preVote: preVote}
				if knowsLeader {
					q.leader = 1
				}
				want := false
				switch {
				case role == Leader:
				case preVote:
					want = upToDate && !(role == Follower && fetched)
				case role != Unattached && role != Prospective:
				case voted == candidate, voted == ReplicaKey{ID: 2}:
					want = true
				case voted == NoKey:
					want = upToDate && !knowsLeader
				}
				require.Equal(t, want, grant(q), "%+v", q)
			}
		}
	}
}

func TestEndQuorumDelay(t *testing.T) {
	list := []ReplicaKey{{ID: 5}, {ID: 3, Directory: DirectoryID{1}}, {ID: 4}, {ID: 6}}
	for _, c := range []struct {
		self ReplicaKey
		want Ticks
	}{
		{ReplicaKey{ID: 5}, 0},
		{ReplicaKey{ID: 3, Directory: DirectoryID{1}}, 125},
		{ReplicaKey{ID: 3, Directory: DirectoryID{2}}, 1000},
		{ReplicaKey{ID: 4}, 250},
		{ReplicaKey{ID: 6}, 500},
		{ReplicaKey{ID: 9}, 1000},
	} {
		require.Equal(t, c.want, endQuorumDelay(list, c.self, 1000), "%v", c.self)
	}
}

func TestEndOffsetForEpoch(t *testing.T) {
	empty := logState{}
	require.Equal(t, EpochEnd{0, 0}, empty.endOffsetForEpoch(0))
	require.Equal(t, EpochEnd{0, 0}, empty.endOffsetForEpoch(3))
	l := logState{end: 9, epochs: []EpochStart{{2, 0}, {3, 4}, {6, 7}}}
	for e, want := range []EpochEnd{{0, 0}, {1, 0}, {2, 4}, {3, 7}, {3, 7}, {3, 7}, {6, 9}, {6, 9}} {
		require.Equal(t, want, l.endOffsetForEpoch(Epoch(e)), "epoch %d", e)
	}
	for _, c := range []struct {
		offset   Offset
		epoch    Epoch
		diverges bool
		end      EpochEnd
	}{
		{0, 0, false, NoEpochEnd},
		{0, 9, false, NoEpochEnd},
		{4, 2, false, NoEpochEnd},
		{3, 2, false, NoEpochEnd},
		{5, 2, true, EpochEnd{2, 4}},
		{5, 4, true, EpochEnd{3, 7}},
		{9, 6, false, NoEpochEnd},
		{10, 6, true, EpochEnd{6, 9}},
		{9, 7, true, EpochEnd{6, 9}},
		{5, 0, true, EpochEnd{0, 0}},
	} {
		end, diverges := l.diverges(c.offset, c.epoch)
		require.Equal(t, c.diverges, diverges, "%+v", c)
		require.Equal(t, c.end, end, "%+v", c)
	}
	for _, c := range []struct {
		d    EpochEnd
		want Offset
	}{
		{EpochEnd{0, 3}, 3},
		{EpochEnd{6, 8}, 8},
		{EpochEnd{6, 12}, 9},
		{EpochEnd{3, 5}, 5},
		{EpochEnd{5, 8}, 7},  // an epoch that we do not have: the end of the one before it
		{EpochEnd{1, 20}, 0}, // below all
	} {
		require.Equal(t, c.want, l.truncationPoint(c.d), "%+v", c.d)
	}
	l.flushed = 9
	l.cut(4)
	require.Equal(t, []EpochStart{{2, 0}}, l.epochs)
	require.Equal(t, Offset(4), l.flushed)
	require.Equal(t, Epoch(2), l.lastEpoch())
}

func TestUpToDate(t *testing.T) {
	l := logState{end: 5, epochs: []EpochStart{{1, 0}, {3, 4}}}
	require.True(t, l.upToDate(5, 3))
	require.True(t, l.upToDate(6, 3))
	require.True(t, l.upToDate(1, 4))
	require.False(t, l.upToDate(4, 3))
	require.False(t, l.upToDate(9, 2))
}

// The core reaches no clock, randomness, file, goroutine or lock, and iterates no map.
func TestPure(t *testing.T) {
	allowed := []string{"encoding/base64", "errors", "math", "slices", "strconv", "github.com/quorate/quorate/traces/event"}
	files, err := os.ReadDir(".")
	require.NoError(t, err)
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), f.Name(), nil, 0)
		require.NoError(t, err)
		for _, imp := range parsed.Imports {
			require.Contains(t, allowed, strings.Trim(imp.Path.Value, `"`), f.Name())
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n.(type) {
			case *ast.GoStmt, *ast.ChanType, *ast.SelectStmt, *ast.MapType:
				t.Errorf("%s has a %T", f.Name(), n)
			}
			return true
		})
	}
}
