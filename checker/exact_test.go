package checker

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// blurred is a grid whose fingerprints are not worth much.
type blurred struct{ grid }

func (b *blurred) Fingerprint(s *gridState) uint64 { return uint64(s.X)<<40 | uint64(s.Y/4) }

// TestExactMissesNothing has states share fingerprints.
func TestExactMissesNothing(t *testing.T) {
	for _, workers := range []int{1, 2, 8} {
		r, err := Run(&blurred{grid{side: 100}}, Options{Workers: workers, tableBits: 12})
		require.NoError(t, err)
		assert.Less(t, r.Distinct, uint64(101*101), "the test needs fingerprints that collide")
		assert.NotZero(t, r.Omission)

		r, err = Run(&blurred{grid{side: 100}}, Options{Workers: workers, tableBits: 12, Exact: true})
		require.NoError(t, err)
		assert.EqualValues(t, 101*101, r.Distinct)
		assert.EqualValues(t, 2*100*101, r.Generated)
		assert.Zero(t, r.Omission)
	}
}

func TestExactAgreesOnASystem(t *testing.T) {
	sys := &relay{processes: 3, conn: true, inFlight: 2, maxSeq: 1, budgets: [4]uint8{0, 0, 1, 1}}
	want, err := Run(Interned(sys), Options{Workers: 1})
	require.NoError(t, err)
	for _, workers := range []int{1, 8} {
		spec := Interned(sys)
		got, err := Run(spec, Options{Workers: workers, tableBits: 12, Exact: true})
		require.NoError(t, err)
		assert.Equal(t, want.Distinct, got.Distinct)
		assert.Equal(t, want.Generated, got.Generated)
		assert.Equal(t, want.Depth, got.Depth)
		require.Len(t, got.Violations, len(want.Violations))
		for i, v := range got.Violations {
			assert.Len(t, v.Trace, len(want.Violations[i].Trace))
			checkTrace(t, spec, v.Trace)
		}
	}
	_, err = Run(Flat(sys), Options{Exact: true})
	assert.ErrorContains(t, err, "FlatState")
}
