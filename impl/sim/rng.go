package sim

// rng is splitmix64: small, seedable, the same everywhere.
type rng struct{ state uint64 }

func (r *rng) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	return mix(r.state)
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// below is a number in [0, n).
func (r *rng) below(n int) int {
	if n <= 0 {
		return 0
	}
	return int(r.next() % uint64(n))
}

// between is a time in [lo, hi].
func (r *rng) between(lo, hi Time) Time {
	if hi <= lo {
		return lo
	}
	return lo + Time(r.next()%uint64(hi-lo+1))
}

// chance is true n times in 1000.
func (r *rng) chance(n int) bool { return n > 0 && r.below(1000) < n }

// pick is one of the values.
func pick[T any](r *rng, values ...T) T { return values[r.below(len(values))] }
