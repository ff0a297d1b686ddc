package checker

import (
	"fmt"
	"slices"
	"strings"
)

// Unknown is the error for a name that is not among those known: it lists them, and
// says which is nearest.
func Unknown(kind, name string, known []string) error {
	if len(known) == 0 {
		return fmt.Errorf("unknown %s %q; there are none", kind, name)
	}
	hint := nearestOf(name, known)
	if hint == "" {
		hint = "."
	}
	return fmt.Errorf("unknown %s %q%s Known: %s", kind, name, hint, strings.Join(known, ", "))
}

// Nearest is the known name that is most like a name, whatever the case of its letters;
// empty if none is near.
func Nearest(name string, known []string) string {
	best, least := "", max(2, len(name)/3)+1
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	return best
}

// nearestOf asks whether the nearest of the known names was meant, if it is near.
func nearestOf(name string, known []string) string {
	nearest := slices.MinFunc(known, func(a, b string) int {
		return distance(name, a) - distance(name, b)
	})
	if distance(name, nearest) > max(2, len(name)/3) {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", nearest)
}

// distance is the number of letters to insert, delete or replace to make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
