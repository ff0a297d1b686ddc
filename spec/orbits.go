package spec

// orbits has, for models in which some replicas are interchangeable, how many
// states are left when those that differ in names only count once.
var orbits = map[string]uint64{
	"pair":            612_675,
	"election":        319_463,
	"prevote":         435_763,
	"upgrade":         87_810,
	"commit":          5_888,
	"leader-restart":  167_596,
	"vote-restart":    14_508,
	"resign":          704_357,
	"check-quorum":    71_250,
	"four":            89_898,
	"five":            51_027,
	"five-votes":      219_865,
	"four-epochs":     8_266_465,
	"prevote-epochs":  3_074_356,
	"four-two-epochs": 267_181,
	"snapshot":        14_806,
}

// Orbits is the pinned number of states up to symmetry, if the model has any
// symmetry. They stand for as many states as Pin has.
func (m *Model) Orbits() (uint64, bool) {
	n, ok := orbits[m.Name]
	return n, ok
}
