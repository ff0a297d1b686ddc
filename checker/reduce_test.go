package checker_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
)

// What the search with all links leaves out is never a state with a free place in
// flight, and so no verdict.
func TestReductionKeepsRoomyStates(t *testing.T) {
	for _, name := range []string{"commit", "vote-restart"} {
		t.Run(name, func(t *testing.T) {
			m, ok := spec.ModelNamed(name)
			require.True(t, ok)
			variants := []spec.Variant{{}}
			for i := range spec.Mutations {
				if mutation := &spec.Mutations[i]; mutation.Model == name {
					variants = append(variants, spec.Variant{Mutation: mutation})
				}
			}
			for _, v := range variants {
				whole := checker.ReachOf(spec.NewSystem(m, v), checker.WholeSearch)
				part := checker.ReachOf(spec.NewSystem(m, v), checker.WithLinks)
				assert.LessOrEqual(t, part.States, whole.States)
				part.States = whole.States
				assert.Equal(t, whole, part)
			}
		})
	}
}

// BenchmarkReduction measures how many times fewer states the ways to leave out steps
// reach, and how many of the states with a free place in flight they lose.
//
//	go test -run '^$' -bench Reduction -benchtime 1x ./checker
func BenchmarkReduction(b *testing.B) {
	for i := range spec.Models {
		m := &spec.Models[i]
		if pin, ok := m.Pin(); !ok || pin.Distinct > 600_000 {
			continue
		}
		b.Run(m.Name, func(b *testing.B) {
			for range b.N {
				whole := checker.ReachOf(spec.NewSystem(m, spec.Variant{}), checker.WholeSearch)
				b.ReportMetric(float64(whole.States), "states")
				for way, name := range map[int]string{checker.OnlyReceivers: "receivers", checker.WithLinks: "links", checker.DropUseless: "useless"} {
					part := checker.ReachOf(spec.NewSystem(m, spec.Variant{}), way)
					b.ReportMetric(float64(whole.States)/float64(part.States), "x-"+name)
					if way != checker.DropUseless {
						b.ReportMetric(float64(whole.Roomy)-float64(part.Roomy), "lost-"+name)
					}
				}
			}
		})
	}
}
