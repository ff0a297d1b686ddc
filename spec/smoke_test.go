package spec

import (
	"fmt"
	"os"
	"testing"

	"github.com/quorate/quorate/checker"
)

func TestSmoke(t *testing.T) {
	for i := range Models {
		m := &Models[i]
		if w := os.Getenv("M"); w != "" && w != m.Name {
			continue
		}
		v := Variant{}
		if id := os.Getenv("MUT"); id != "" {
			v.Mutation, _ = MutationNamed(id)
		}
		res, err := checker.Run(checker.Interned(NewSystem(m, v)), checker.Options{Workers: 2, MaxDistinct: 60_000_000})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Printf("%s %v distinct %d generated %d depth %d %.2fs never %v\n", m.Name, res.Status, res.Distinct, res.Generated, res.Depth, res.Seconds, res.Never())
		for _, v := range res.Violations {
			fmt.Printf("  %s in %d steps\n", v.Property, len(v.Trace)-1)
			if os.Getenv("V") == "" {
				continue
			}
			prev := map[string]string{}
			for _, s := range v.Trace {
				fmt.Printf("    P%d %s  %s", s.Process, s.Step, s.Message)
				for _, in := range s.Inner {
					fmt.Printf(" | P%d %s %s", in.Process, in.Step, in.Message)
				}
				fmt.Println()
				for _, f := range s.Fields {
					if prev[f.Path] != f.Value {
						fmt.Printf("          %s: %s -> %s\n", f.Path, prev[f.Path], f.Value)
					}
					prev[f.Path] = f.Value
				}
			}
		}
	}
}
