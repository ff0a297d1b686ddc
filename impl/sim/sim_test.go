package sim

import (
	"flag"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

var seedFlag = flag.Uint64("seed", 0, "run only this seed")

// seeds is how many seeds to run: QUORATE_SEEDS, or n.
func seeds(n int) int {
	if v, err := strconv.Atoi(os.Getenv("QUORATE_SEEDS")); err == nil {
		return v
	}
	return n
}

func TestSeeds(t *testing.T) {
	first, last := uint64(1), uint64(seeds(60))
	if *seedFlag > 0 {
		first, last = *seedFlag, *seedFlag
	}
	var total Stats
	failed := 0
	for seed := first; seed <= last; seed++ {
		s, err := Run(Config{Seed: seed}, Sinks{})
		total.Add(&s)
		if err != nil {
			t.Errorf("%v", err)
			if failed++; failed > 8 {
				break
			}
		}
	}
	t.Logf("%+v", total)
	for i, n := range total.Sometimes {
		t.Logf("%-26s %d", Sometimes(i), n)
	}
}

var _ = require.Equal
