package bootstrap

import "github.com/quorate/quorate/spec/concern"

// pins are the distinct states and the depth of each model. Any change of the
// specification shows here: go test ./spec/audit -run TestConcerns -update-concerns
var pins = map[string]concern.Pin{
	"bootstrap-format":           {Distinct: 3883, Depth: 38},
	"bootstrap-cases":            {Distinct: 223384, Depth: 48},
	"bootstrap-cases-atomic":     {Distinct: 8403, Depth: 25},
	"bootstrap-failover":         {Distinct: 573289, Depth: 81},
	"bootstrap-failover-atomic":  {Distinct: 371765, Depth: 34},
	"bootstrap-mixed":            {Distinct: 12812, Depth: 43},
	"bootstrap-queue":            {Distinct: 12991, Depth: 46},
	"bootstrap-retention":        {Distinct: 44081, Depth: 50},
	"bootstrap-retention-one":    {Distinct: 192797, Depth: 45},
	"bootstrap-reformat":         {Distinct: 36741, Depth: 40},
	"bootstrap-upgrade":          {Distinct: 322389, Depth: 45},
	"bootstrap-upgrade-one":      {Distinct: 179815, Depth: 48},
	"bootstrap-old-software":     {Distinct: 802, Depth: 19},
	"bootstrap-wiped":            {Distinct: 51016, Depth: 36},
	"bootstrap-failover-any":     {Distinct: 621182, Depth: 62},
	"bootstrap-failover-four":    {Distinct: 7888844, Depth: 81},
	"bootstrap-failover-crashes": {Distinct: 2966034, Depth: 71},
}

// steps are the lengths of the shortest counterexamples.
var steps = map[string]int{
	"meta-before-zero":             5,
	"zero-directory-not-flushed":   8,
	"zero-renamed-unflushed":       4,
	"meta-renamed-unflushed":       8,
	"format-keeps-zero":            10,
	"zero-as-committed":            1,
	"legacy-first":                 8,
	"both-sources":                 8,
	"empty-zero-is-a-bootstrap":    6,
	"no-warning":                   1,
	"source-kept":                  11,
	"legacy-decoded-at-start":      12,
	"zero-over-snapshot":           23,
	"zero-sent":                    4,
	"reported-before-commit":       1,
	"control-records-count":        6,
	"begin-counts":                 15,
	"version-inside-counts":        16,
	"no-abort":                     15,
	"abort-only":                   15,
	"always-writes":                22,
	"no-transaction":               8,
	"not-atomic":                   8,
	"end-not-written":              9,
	"writes-before-activation":     8,
	"activation-queued-last":       10,
	"image-not-reverted":           13,
	"voters-not-written":           8,
	"activates-before-commit":      17,
	"zero-deleted-when-appended":   13,
	"only-snapshot-deleted":        2,
	"legacy-deleted-on-any-record": 5,
	"legacy-deleted-for-zero":      2,
	"snapshot-in-transaction":      11,
	"snapshot-without-version":     8,
}
