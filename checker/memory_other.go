//go:build !linux && !darwin

package checker

func allocWords(n int) []uint64 { return make([]uint64, n) }

func freeWords([]uint64) {}
