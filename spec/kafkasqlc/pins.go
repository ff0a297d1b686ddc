package kafkasqlc

import "github.com/quorate/quorate/spec/concern"

// pins are the distinct states and the depth of each model. Any change of the
// specification shows here: go test ./spec/audit -run TestConcerns -update-concerns
var pins = map[string]concern.Pin{
	"kafkasqlc":            {Distinct: 306970, Depth: 31},
	"kafkasqlc-as-shipped": {Distinct: 21363, Depth: 24},
}

// steps are the lengths of the shortest counterexamples.
var steps = map[string]int{
	"marker-expired":  9,
	"tail-is-all":     8,
	"lag-is-skipped":  4,
	"one-slot":        3,
	"request-commits": 3,
	"any-bootstrap":   10,
}
