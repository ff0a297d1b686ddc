package audit_test

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/spec/audit"
	"github.com/quorate/quorate/spec/concern"
)

var updateConcerns = flag.Bool("update-concerns", false, "write the pins of models that are not deep, and of mutations, anew")

// Larger models are left to quorate check, which also asks that every action is taken and
// every sometimes property is reached.
const (
	small  = 40_000 // for -short
	middle = 250_000
)

func runConcern(t *testing.T, c *concern.Concern, model string, opt checker.Options) *checker.Result {
	t.Helper()
	s, err := audit.Runnable(c, model, concern.Variant{})
	require.NoError(t, err)
	res, err := s.Run(opt)
	require.NoError(t, err, model)
	return res
}

// TestConcerns explores the models and compares them with their pins, and, if
// none is left out, asks that every action is taken and every sometimes property reached.
func TestConcerns(t *testing.T) {
	for _, c := range audit.Concerns {
		t.Run(c.Name, func(t *testing.T) {
			pins := map[string]concern.Pin{}
			reached, fired, all := map[string]bool{}, map[string]bool{}, true
			most := uint64(middle)
			if testing.Short() {
				most = small
			}
			for _, m := range c.Models {
				pins[m.Name] = m.Pin
				if m.Deep || m.Distinct > most && !*updateConcerns {
					all = all && m.Deep
					continue
				}
				res := runConcern(t, c, m.Name, checker.Options{KeepGoing: m.Unsafe != ""})
				pins[m.Name] = concern.Pin{Distinct: res.Distinct, Depth: res.Depth}
				if !*updateConcerns {
					assert.Equal(t, m.Pin, pins[m.Name], m.Name)
				}
				violated := []string{}
				for _, p := range res.Properties {
					reached[p.Name] = reached[p.Name] || p.Verdict == "reached"
					if p.Verdict == "violated" {
						violated = append(violated, p.Name)
					}
				}
				assert.NotContains(t, res.Never(), m.Meets, "%s: the concerns do not meet", m.Name)
				for _, a := range res.Actions {
					fired[a.Name] = fired[a.Name] || a.Fired+a.Within > 0
				}
				if m.Unsafe == "" {
					assert.Empty(t, violated, m.Name)
				} else {
					assert.Contains(t, violated, m.Unsafe, m.Name)
				}
			}
			if all {
				for _, p := range c.Properties {
					assert.False(t, p.Kind == checker.Sometimes && !reached[p.Name], "%s is never reached", p.Name)
				}
				for _, a := range c.Actions {
					assert.True(t, fired[a] || slices.Contains(c.Mutants, a), "%s is never taken", a)
				}
			}
			if *updateConcerns {
				writePins(t, c, pins)
			}
		})
	}
}

// TestConcernMutations puts each bug back. What does no harm must do none.
func TestConcernMutations(t *testing.T) {
	for _, c := range audit.Concerns {
		for _, mu := range c.Mutations {
			t.Run(mu.ID, func(t *testing.T) {
				got, err := audit.Try(c, &mu, checker.Options{Workers: 1})
				require.NoError(t, err)
				assert.True(t, got.AsPinned(), "%+v", got)
			})
		}
	}
}

// TestPairsAlone asks of each mutation of two concerns that the model does not notice it
// without the one, and not without the other, and that each pair has one.
func TestPairsAlone(t *testing.T) {
	for _, c := range audit.Concerns {
		for _, mu := range c.Mutations {
			m, ok := c.ModelNamed(mu.Model)
			require.True(t, ok)
			if testing.Short() && m.Distinct > small {
				continue
			}
			for _, without := range m.Of {
				unnoticed, err := audit.Alone(c, &mu, without, checker.Options{})
				require.NoError(t, err)
				assert.True(t, unnoticed, "%s is noticed without %s", mu.ID, without)
			}
		}
	}
}

// TestComposedAddsNothing: where neither bootstrap nor cluster ids are there, a composed
// model has the states of the one of package spec that it is made of.
func TestComposedAddsNothing(t *testing.T) {
	pin, ok := (&spec.Model{Name: "snapshot-transfer"}).Pin()
	require.True(t, ok)
	for _, c := range audit.Concerns {
		if m, ok := c.ModelNamed("pair-election-snapshot"); ok {
			res := runConcern(t, c, m.Name, checker.Options{})
			assert.Equal(t, pin.Distinct, res.Distinct)
			assert.Equal(t, pin.Depth, res.Depth)
			return
		}
	}
	t.Error("no model of election and snapshot")
}

// writePins writes pins.go of a concern.
func writePins(t *testing.T, c *concern.Concern, pins map[string]concern.Pin) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "package %s\n\nimport \"github.com/quorate/quorate/spec/concern\"\n\n", c.Name)
	fmt.Fprint(&b, "// pins are the distinct states and the depth of each model. Any change of the\n// specification shows here: go test ./spec/audit -run TestConcerns -update-concerns\n")
	fmt.Fprint(&b, "var pins = map[string]concern.Pin{\n")
	for _, m := range c.Models {
		fmt.Fprintf(&b, "%q: {Distinct: %d, Depth: %d},\n", m.Name, pins[m.Name].Distinct, pins[m.Name].Depth)
	}
	fmt.Fprint(&b, "}\n\n// steps are the lengths of the shortest counterexamples.\nvar steps = map[string]int{\n")
	for _, mu := range c.Mutations {
		if mu.Harmless != "" {
			continue
		}
		got, err := audit.Try(c, &mu, checker.Options{Workers: 1})
		require.NoError(t, err)
		if got.Steps > 0 {
			fmt.Fprintf(&b, "%q: %d,\n", mu.ID, got.Steps)
		}
	}
	fmt.Fprint(&b, "}\n")
	text, err := format.Source(b.Bytes())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile("../"+c.Name+"/pins.go", text, 0o644))
}
