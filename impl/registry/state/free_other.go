//go:build !linux && !darwin

package state

import "math"

// free is not known here: a copy that does not fit fails when the disk is full.
func free(string) (int64, error) { return math.MaxInt64, nil }
