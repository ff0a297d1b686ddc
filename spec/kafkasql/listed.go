package kafkasql

import (
	"fmt"

	"github.com/quorate/quorate/spec/concern"
)

// Concern lists the models and mutations of checkpoints for a SQL store.
func Concern() *concern.Concern {
	c := &concern.Concern{
		Name: "kafkasql", Doc: "checkpoints of a SQL store that is fed by a journal",
		Actions: actionNames, Mutants: mutants, Properties: Properties, New: newSpec,
	}
	for i := range Models {
		m := &Models[i]
		c.Models = append(c.Models, concern.Model{
			Name: m.Name, Why: m.Why, Constants: m.constants(), Deep: m.Deep, Unsafe: m.Unsafe, Pin: pins[m.Name],
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
	for i := range Models {
		m := &Models[i]
		if m.Name != model {
			continue
		}
		rules := CleanRules(m.Variant, m.Keep)
		if m.Decides != nil {
			m.Decides(rules)
		}
		if mutation == "" {
			return newMachine(m, rules), nil
		}
		for j := range Mutations {
			if Mutations[j].ID == mutation {
				Mutations[j].Override(rules)
				return newMachine(m, rules), nil
			}
		}
		return nil, fmt.Errorf("kafkasql has no mutation %q", mutation)
	}
	return nil, fmt.Errorf("kafkasql has no model %q", model)
}
