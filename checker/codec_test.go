package checker

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// sparse is a state with few bytes set, as those of models are.
func sparse[S any](r *rand.Rand, s *S) {
	b := bytesOf(s)
	for range r.IntN(1 + len(b)/3) {
		b[r.IntN(len(b))] = byte(r.Uint32())
	}
}

func TestPackingsComeBack(t *testing.T) {
	comeBack[gridState](t)
	comeBack[Tuple](t)
	comeBack[[9]uint64](t)
	comeBack[[40]uint64](t)
	comeBack[[3]uint8](t)
	comeBack[[77]uint8](t)
}

func comeBack[S comparable](t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	var c codec[S]
	var states []S
	var before, got S
	data := make([]byte, 0, 300*c.most())
	for range 300 {
		s := before
		sparse(r, &s)
		states = append(states, s)
		at := len(data)
		data = c.pack(data, &before, &s)
		require.Equal(t, s, before)
		require.LessOrEqual(t, len(data)-at, c.most())
	}
	rest := data
	for i, s := range states {
		rest = c.unpack(rest, &got)
		require.NotNil(t, rest)
		require.Equal(t, s, got, "state %d", i)
	}
	assert.Empty(t, rest)
	for n := range 100 { // what is cut off is seen
		got = *new(S)
		short, rest := data[:n:n], data[:n:n]
		for len(rest) > 0 {
			rest = c.unpack(rest, &got)
		}
		if rest != nil {
			assert.True(t, bytes.HasPrefix(data, short))
		}
	}
}

// TestNoPackingBeginsAnother is what exact searches compare by.
func TestNoPackingBeginsAnother(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var c codec[[3]uint64]
	packed := map[[3]uint64][]byte{}
	for range 500 {
		var s, zero [3]uint64
		sparse(r, &s)
		packed[s] = c.pack(make([]byte, 0, c.most()), &zero, &s)
	}
	for a, p := range packed {
		for b, q := range packed {
			require.Equal(t, a == b, bytes.HasPrefix(q, p), "%v and %v", a, b)
		}
	}
}

func TestWidestStateFits(t *testing.T) {
	var c codec[[20]uint64]
	var zero, all [20]uint64
	for i := range all {
		all[i] = ^uint64(0)
	}
	assert.Len(t, c.pack(make([]byte, 0, c.most()), &zero, &all), c.most())
	assert.NoError(t, checkPackable[[20]uint64]())
	assert.ErrorContains(t, checkPackable[[1 << 20]uint8](), "the limit is")
	assert.ErrorContains(t, checkPackable[struct{ A []int }](), "field A")
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte{1, 1, 7})
	f.Fuzz(func(t *testing.T, b []byte) {
		var s, zero [11]uint64
		if rest := unpackWords(b, s[:]); rest != nil {
			require.LessOrEqual(t, len(rest), len(b))
			var again [11]uint64
			packed := packWords(make([]byte, 0, 200), zero[:], s[:])
			require.Empty(t, unpackWords(packed, again[:]))
			require.Equal(t, s, again)
		}
	})
}
