package concern

// Guard numbers the guards of a concern; 0 is none.
type Guard uint8

// Drop is one guard of one action that is taken as true: to see who notices.
type Drop struct {
	Action uint8
	Guard  Guard
}

// Takes says whether it is this guard.
func (d Drop) Takes(action uint8, g Guard) bool { return d.Guard == g && d.Action == action }
