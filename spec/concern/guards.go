package concern

// Guard numbers the guards of a concern; 0 is none.
type Guard uint8

// Drop is one guard of one action that is taken as true: to see who notices.
type Drop struct {
	Action uint8
	Guard  Guard
	// Refused, unless nil, is told of the first guard that refuses an action.
	Refused *Refusal
}

// Refusal is a guard that has refused an action.
type Refusal struct {
	Action uint8
	Guard  Guard
}

// Takes says whether it is this guard.
func (d *Drop) Takes(action uint8, g Guard) bool {
	if d.Refused != nil && d.Refused.Guard == 0 {
		*d.Refused = Refusal{action, g}
	}
	return d.Guard == g && d.Action == action
}
