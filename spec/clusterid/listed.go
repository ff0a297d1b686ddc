package clusterid

import (
	"fmt"

	"github.com/quorate/quorate/spec/concern"
)

// Concern lists the models and mutations of cluster-id discovery.
func Concern() *concern.Concern {
	c := &concern.Concern{
		Name: "clusterid", Doc: "how a node that nobody has formatted learns the id of its cluster (KIP-1262)",
		Actions: actionNames, Mutants: []string{SecondProcess.String()}, Properties: Properties, New: newSpec,
	}
	for i := range Models {
		m := &Models[i]
		pin := pins[m.Name]
		c.Models = append(c.Models, concern.Model{
			Name: m.Name, Why: m.Why, Constants: m.constants(), Deep: m.Deep, Unsafe: m.Unsafe, Pin: pin,
		})
	}
	for i := range Mutations {
		mu := Mutations[i].Mutation
		mu.Steps = steps[mu.ID]
		c.Mutations = append(c.Mutations, mu)
	}
	return c
}

// newSpec finds a model and a mutation.
func newSpec(model, mutation string) (any, error) {
	rules := CleanRules()
	if mutation != "" {
		found := false
		for i := range Mutations {
			if Mutations[i].ID == mutation {
				Mutations[i].Override(rules)
				found = true
			}
		}
		if !found {
			return nil, fmt.Errorf("clusterid has no mutation %q", mutation)
		}
	}
	for i := range Models {
		if Models[i].Name == model {
			return newMachine(&Models[i], rules), nil
		}
	}
	return nil, fmt.Errorf("clusterid has no model %q", model)
}
