package checker

import "iter"

// SmallRelay gives a relay of the same kind with fewer states.
func SmallRelay(sys System[relayR, relayM, relayG]) System[relayR, relayM, relayG] {
	small := *sys.(*relay)
	switch {
	case small.conn:
		small.processes, small.maxSeq = 2, 2
	case small.immediate:
		small.inFlight, small.budgets[3] = 1, 0
	}
	return &small
}

type (
	RelayR = relayR
	RelayM = relayM
	RelayG = relayG
)

// Relays gives variants of the relay by name.
func Relays() iter.Seq2[string, System[relayR, relayM, relayG]] {
	return func(yield func(string, System[relayR, relayM, relayG]) bool) {
		_ = yield("plain", &relay{processes: 2, inFlight: 2, maxSeq: 2, budgets: [4]uint8{0, 1, 1, 1}}) &&
			yield("three", &relay{processes: 3, inFlight: 2, maxSeq: 1, budgets: [4]uint8{0, 0, 0, 1}}) &&
			yield("connections", &relay{processes: 3, conn: true, inFlight: 2, maxSeq: 1, budgets: [4]uint8{0, 0, 1, 1}}) &&
			yield("immediate", &relay{processes: 3, immediate: true, inFlight: 1, maxSeq: 1, budgets: [4]uint8{0, 1, 1, 1}}) &&
			yield("immediate connections", &relay{processes: 3, immediate: true, conn: true, inFlight: 2, maxSeq: 1, budgets: [4]uint8{0, 2, 0, 1}}) &&
			yield("mutated", &relay{processes: 3, countTwice: true, inFlight: 1, maxSeq: 1, budgets: [4]uint8{0, 1, 1, 1}}) &&
			yield("mutated immediate", &relay{processes: 3, countTwice: true, immediate: true, inFlight: 2, maxSeq: 1, budgets: [4]uint8{0, 1, 0, 1}})
	}
}
