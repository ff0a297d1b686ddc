package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
)

// twin says whether the twin has a property: all but those that something is reached and
// those of snapshots and of membership.
func twin(p checker.Property) bool {
	at := slices.IndexFunc(spec.Properties, func(other checker.Property) bool { return other.Name == p.Name })
	return p.Kind != checker.Sometimes && (spec.SnapshotProperties|spec.MembershipProperties)>>at&1 == 0
}

// stateful are properties that we judge of steps, since a step is where they can
// break, and that the twin can judge of states.
var stateful = []string{"ElectionSafety", "RoleFieldsClear"}

// config is what TLC is told: the model, what to judge, and the rule that a mutation
// replaces, if any.
func config(model string, properties []string, override string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CONSTANT Model = %q\n", model)
	if override != "" {
		fmt.Fprintf(&b, "CONSTANT %s\n", override)
	}
	b.WriteString("SPECIFICATION Spec\nCHECK_DEADLOCK FALSE\n")
	for _, name := range properties {
		kind := "PROPERTY"
		for _, p := range spec.Properties {
			if p.Name == name && (p.Kind == checker.Invariant || contains(stateful, name)) {
				kind = "INVARIANT"
			}
		}
		fmt.Fprintf(&b, "%s %s\n", kind, name)
	}
	return b.String()
}
