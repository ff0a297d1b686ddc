package spec

import (
	"fmt"
	"os"
	"testing"

	"github.com/quorate/quorate/checker"
)

func TestExploreMutations(t *testing.T) {
	for i := range Mutations {
		mu := &Mutations[i]
		if w := os.Getenv("MUT"); w != "" && w != mu.ID {
			continue
		}
		m, _ := ModelNamed(mu.Model)
		res, err := checker.Run(checker.Interned(NewSystem(m, Variant{Mutation: mu})), checker.Options{Workers: 2, MaxDistinct: 20_000_000, Properties: []string{mu.Property}})
		if err != nil {
			fmt.Println(mu.ID, "ERROR", err)
			continue
		}
		fmt.Printf("%-26s %-16s want %-30s %v distinct %d depth %d %.2fs", mu.ID, m.Name, mu.Property, res.Status, res.Distinct, res.Depth, res.Seconds)
		for _, v := range res.Violations {
			fmt.Printf("  %s in %d", v.Property, len(v.Trace)-1)
		}
		for _, n := range res.Never() {
			if n == mu.Property {
				fmt.Print(" NEVER")
			}
		}
		fmt.Println()
	}
}
