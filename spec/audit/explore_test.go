package audit

import (
	"fmt"
	"testing"

	"github.com/quorate/quorate/spec"
)

func TestExploreDeletions(t *testing.T) {
	var ms []*spec.Model
	for _, n := range []string{"commit", "vote-restart", "truncation", "single", "observer", "reads", "flush", "leader-restart", "upgrade", "check-quorum", "figure8", "late-leader"} {
		m, ok := spec.ModelNamed(n)
		if !ok {
			t.Fatal(n)
		}
		ms = append(ms, m)
	}
	all, err := Deletions(ms, 2, func(d Deletion) { fmt.Printf("%-60s %-40s %s\n", d.Name(), d.Property, d.Model) })
	fmt.Println(len(all), err)
}
