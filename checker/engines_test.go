package checker_test

import (
	"testing"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/checker/checkertest"
)

func TestEnginesAgree(t *testing.T) {
	for name, sys := range checker.Relays() {
		if testing.Short() {
			sys = checker.SmallRelay(sys)
		}
		t.Run(name, func(t *testing.T) {
			r := checkertest.CompareEngines(t, func() checker.System[checker.RelayR, checker.RelayM, checker.RelayG] {
				return sys
			}, checker.Options{KeepGoing: true})
			t.Logf("%d distinct, %d projected, %d generated, depth %d, %d stuck, %d stopped, %v, %v, %v",
				r.Distinct, r.Projected, r.Generated, r.Depth, r.Stuck, r.Stopped, r.Actions, r.Bounds, r.Properties)
		})
	}
}
