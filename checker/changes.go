package checker

// Change is a field that differs between two states. A field that only one of
// them has gives an empty value for the other.
type Change struct{ Path, Old, New string }

func (c Change) String() string {
	switch "" {
	case c.Old:
		return "+ " + c.Path + ": " + c.New
	case c.New:
		return "- " + c.Path + ": " + c.Old
	default:
		return c.Path + ": " + c.Old + " -> " + c.New
	}
}

// Changes lists what differs, in the order of the fields of before; what only
// after has comes last.
func Changes(before, after []Field) []Change {
	now := make(map[string]string, len(after))
	for _, f := range after {
		now[f.Path] = f.Value
	}
	var list []Change
	was := make(map[string]bool, len(before))
	for _, f := range before {
		was[f.Path] = true
		if v, ok := now[f.Path]; !ok || v != f.Value {
			list = append(list, Change{f.Path, f.Value, v})
		}
	}
	for _, f := range after {
		if !was[f.Path] {
			list = append(list, Change{f.Path, "", f.Value})
		}
	}
	return list
}
