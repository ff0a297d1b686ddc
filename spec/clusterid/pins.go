package clusterid

import "github.com/quorate/quorate/spec/concern"

// pins are the distinct states and the depth of each model. Any change of the
// specification shows here: go test ./spec/audit -run TestConcerns -update-concerns
var pins = map[string]concern.Pin{
	"cluster-id-start":        {Distinct: 3138, Depth: 17},
	"cluster-id-discovery":    {Distinct: 167160, Depth: 48},
	"cluster-id-epochs":       {Distinct: 1012842, Depth: 51},
	"cluster-id-snapshot":     {Distinct: 122558, Depth: 41},
	"cluster-id-wrong":        {Distinct: 43764, Depth: 34},
	"cluster-id-wrong-two":    {Distinct: 85615, Depth: 43},
	"cluster-id-bounds":       {Distinct: 1036029, Depth: 61},
	"cluster-id-bounds-deep":  {Distinct: 5314401, Depth: 65},
	"cluster-id-booting-both": {Distinct: 44130, Depth: 35},
	"cluster-id-disks":        {Distinct: 20717, Depth: 43},
	"cluster-id-voters":       {Distinct: 379246, Depth: 47},
	"cluster-id-upgrade":      {Distinct: 74871, Depth: 34},
	"cluster-id-low":          {Distinct: 114525, Depth: 47},
	"cluster-id-operator":     {Distinct: 601, Depth: 15},
	"cluster-id-r2":           {Distinct: 595951, Depth: 54},
	"cluster-id-r2-disks":     {Distinct: 890, Depth: 26},
}

// steps are the lengths of the shortest counterexamples.
var steps = map[string]int{
	"memory-first":               15,
	"memory-first-joins-other":   11,
	"memory-after-one":           19,
	"directory-not-flushed":      19,
	"id-uncommitted":             17,
	"id-uncommitted-r2":          31,
	"id-in-transaction":          16,
	"id-from-local-log":          16,
	"connection-keeps-null":      26,
	"snapshot-unchecked":         4,
	"fetch-unchecked":            3,
	"id-from-response":           8,
	"log-kept-over-clusters":     11,
	"voter-formats-itself":       3,
	"voter-formats-itself-votes": 6,
	"zero-decides":               6,
	"new-directory-without-id":   5,
	"first-directory-wins":       2,
	"v1-without-id-is-new":       1,
	"joins-before-known":         8,
	"stands-before-known":        10,
	"upgrade-draws-id":           1,
	"upgrade-in-two-batches":     2,
	"id-below-version":           6,
	"id-rewritten":               9,
	"empty-registration":         8,
	"mismatch-ends":              3,
	"adoption-draws-directory":   19,
	"drawn-id-used-at-once":      29,
	"two-drawn":                  19,
	"snapshot-without-id":        1,
	"mismatch-wipes":             14,
	"zero-unchecked":             3,
	"no-lock":                    3,
}
