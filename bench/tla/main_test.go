package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/spec"
)

const modules = "../../docs/tla"

func module(t *testing.T, name string) string {
	text, err := os.ReadFile(filepath.Join(modules, name+".tla"))
	require.NoError(t, err)
	return string(text)
}

// The models that TLC explores are those of spec/models.go.
func TestModels(t *testing.T) {
	assert.Equal(t, modelsModule(), module(t, "Models"), "go run ./bench/tla -write")
}

// A field that the twin does not know keeps a model out of it.
func TestBeyond(t *testing.T) {
	m := spec.Models[0]
	assert.Empty(t, beyond(&m))
	known := fields
	defer func() { fields = known }()
	fields = slices.DeleteFunc(slices.Clone(fields), func(f string) bool { return f == "Records" })
	require.NotZero(t, m.Records)
	assert.Equal(t, "Records", beyond(&m))
}

var (
	comment    = regexp.MustCompile(`\\\*.*|\(\*[^)]*\*\)`)
	definition = regexp.MustCompile(`(?m)^(\w+)(?:\([^)]*\))? *==`)
	label      = regexp.MustCompile(`(\w+)::`)
)

// definitions are the top-level definitions of a module, by name.
func definitions(text string) map[string]string {
	text = comment.ReplaceAllString(text, "")
	defs := map[string]string{}
	at := definition.FindAllStringSubmatchIndex(text, -1)
	for i, m := range at {
		end := len(text)
		if i+1 < len(at) {
			end = at[i+1][0]
		}
		defs[text[m[2]:m[3]]] = text[m[1]:end]
	}
	return defs
}

func has(defs map[string]string, name string) bool {
	_, ok := defs[name]
	return ok
}

// guards are the labels of a definition and of what it calls of Learn and Transition,
// which have guards of their own.
func guards(defs map[string]string, name string) []string {
	var found []string
	for _, m := range label.FindAllStringSubmatch(defs[name], -1) {
		found = append(found, m[1])
	}
	for _, helper := range []string{"Learn", "Transition"} {
		if helper != name && strings.Contains(defs[name], helper+"(") {
			found = append(found, guards(defs, helper)...)
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Every action is in the twin, by its name and with the guards that it has in spec.
func TestActionsAndGuards(t *testing.T) {
	all := map[string]string{}
	for _, name := range []string{"Transition", "Election", "Commit", "Fetch", "Reads", "Environment"} {
		for k, v := range definitions(module(t, name)) {
			all[k] = v
		}
	}
	system := definitions(module(t, "System"))
	seen := map[string]bool{"Learn": true, "Transition": true}
	for a := spec.ActionID(0); a < spec.NumReplicaActions; a++ {
		if a.AboutSnapshots() || a.AboutMembership() {
			continue // the twin has neither
		}
		name := a.String()
		if a == spec.ActionAppend {
			name = "AppendRecord"
		}
		seen[name] = true
		if !assert.True(t, has(all, name), "the twin has no action %s", name) {
			continue
		}
		var want []string
		for _, g := range spec.GuardsOf(a) {
			if !g.AboutSnapshots() {
				want = append(want, g.String())
			}
		}
		slices.Sort(want)
		assert.Equal(t, want, guards(all, name), "guards of %s", name)
		assert.True(t, has(system, "Step"+a.String()), "System offers no %s", name)
		assert.Contains(t, system["Next"], "Step"+a.String()+"(", "Next has no %s", name)
	}
	for name := range all {
		if len(guards(all, name)) > 0 {
			assert.True(t, seen[name], "%s of the twin has guards and is no action of spec", name)
		}
	}
	for _, fate := range []spec.ActionID{spec.ActionDrop, spec.ActionDuplicate, spec.ActionCloseConnection} {
		assert.Contains(t, system["Next"], fate.String()+"(m)")
	}
}

// Every property but those that something is reached is in the twin, and so is every
// mutation that is compared, with the rule that it overrides.
func TestPropertiesAndMutations(t *testing.T) {
	properties, ours, mutated := definitions(module(t, "Properties")), definitions(module(t, "Rules")), definitions(module(t, "Mutations"))
	for _, p := range spec.Properties {
		if twin(p) {
			assert.True(t, has(properties, p.Name), "the twin has no property %s", p.Name)
		}
	}
	for _, id := range mutations {
		require.Contains(t, rules, id)
		assert.True(t, has(ours, rules[id]), "the twin has no rule %s", rules[id])
		assert.True(t, has(mutated, strings.ReplaceAll(id, "-", "_")+"_"+rules[id]), "the twin has no mutation %s", id)
		_, ok := spec.MutationNamed(id)
		assert.True(t, ok, id)
	}
	assert.Len(t, mutated, len(mutations), "a mutation of the twin that nothing runs")
}

// A configuration judges a property as what it is.
func TestConfig(t *testing.T) {
	assert.Equal(t, `CONSTANT Model = "reads"
CONSTANT IsConfirmed <- unconfirmed_read_IsConfirmed
SPECIFICATION Spec
CHECK_DEADLOCK FALSE
PROPERTY LinearizableRead
INVARIANT ElectionSafety
INVARIANT LogMatching
`, config("reads", []string{"LinearizableRead", "ElectionSafety", "LogMatching"}, "IsConfirmed <- unconfirmed_read_IsConfirmed"))
}
