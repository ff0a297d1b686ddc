package checker

import (
	"encoding/binary"
	"math"
	"math/bits"
)

// sketch estimates how many distinct fingerprints it was shown, in 16 KiB: it is a
// HyperLogLog of 2^14 registers, whose standard error is 0.8 %. The estimator is that
// of Ertl, "New cardinality estimation algorithms for HyperLogLog sketches", 2017,
// section 4, which needs no correction for small or large counts.
type sketch [1 << sketchBits]uint8

const (
	sketchBits = 14
	// sketchError is the standard error of an estimate.
	sketchError = 1.04 / (1 << (sketchBits / 2))
)

// add shows it a fingerprint, which is mixed once more: those of tuples are sums.
func (s *sketch) add(fp uint64) {
	h := mix(fp^hashK1, hashK3)
	rank := uint8(bits.LeadingZeros64(h<<sketchBits|1<<(sketchBits-1)) + 1)
	if r := &s[h>>(64-sketchBits)]; *r < rank {
		*r = rank
	}
}

func (s *sketch) merge(other *sketch) {
	for i := 0; i < len(s); i += 8 {
		if binary.LittleEndian.Uint64(other[i:]) == 0 {
			continue // most are, of one behaviour
		}
		for j := i; j < i+8; j++ {
			s[j] = max(s[j], other[j])
		}
	}
}

func (s *sketch) estimate() float64 {
	const q = 64 - sketchBits
	const m = float64(1 << sketchBits)
	var ranks [q + 2]float64
	for _, r := range s {
		ranks[r]++
	}
	z := m * tau(1-ranks[q+1]/m)
	for k := q; k >= 1; k-- {
		z = (z + ranks[k]) / 2
	}
	z += m * sigma(ranks[0]/m)
	return m * m / (2 * math.Ln2 * z)
}

// sigma and tau are algorithms 5 and 6 of the paper.
func sigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	y, z := 1.0, x
	for {
		x *= x
		before := z
		z += x * y
		y += y
		if z == before {
			return z
		}
	}
}

func tau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	y, z := 1.0, 1-x
	for {
		x = math.Sqrt(x)
		before := z
		y /= 2
		z -= (1 - x) * (1 - x) * y
		if z == before {
			return z / 3
		}
	}
}
