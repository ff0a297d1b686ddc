package composed

import "github.com/quorate/quorate/spec/concern"

// pins are the distinct states and the depth of each model. Any change of the
// specification shows here: go test ./spec/audit -run TestConcerns -update-concerns
var pins = map[string]concern.Pin{
	"pair-election-commit":           {Distinct: 146732, Depth: 36},
	"pair-election-bootstrap":        {Distinct: 343502, Depth: 39},
	"pair-election-snapshot":         {Distinct: 81611, Depth: 35},
	"pair-election-cluster-id":       {Distinct: 7880, Depth: 26},
	"pair-commit-bootstrap":          {Distinct: 5580, Depth: 28},
	"pair-commit-snapshot":           {Distinct: 15685, Depth: 25},
	"pair-commit-cluster-id":         {Distinct: 664, Depth: 19},
	"pair-bootstrap-snapshot":        {Distinct: 28907, Depth: 31},
	"pair-bootstrap-cluster-id":      {Distinct: 934, Depth: 23},
	"pair-snapshot-cluster-id":       {Distinct: 14936, Depth: 28},
	"five-concerns":                  {Distinct: 775582, Depth: 47},
	"five-concerns-deep":             {Distinct: 13877392, Depth: 51},
	"election-bootstrap-transaction": {Distinct: 1383437, Depth: 39},
}

// steps are the lengths of the shortest counterexamples.
var steps = map[string]int{
	"pair-early-high-watermark":          19,
	"stale-claim":                        25,
	"pair-transfer-outlives-epoch":       22,
	"vote-unchecked":                     3,
	"local-log-is-committed":             14,
	"pair-snapshot-above-high-watermark": 6,
	"refused-fetch-counts":               6,
	"snapshot-named-high-watermark":      12,
	"default-without-id":                 15,
	"discard-keeps-snapshot":             9,
}
