package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/quorate/quorate/spec"
)

// fields are the fields of a spec.Model that Models.tla has, in its order; words are
// those that do not change what is explored.
var (
	fields = []string{
		"Voters", "Observers", "PreVote", "Epochs", "Stand", "Records", "Crashes", "Disks", "Reads", "Resigns", "Late",
		"InFlight", "Immediate", "Silent", "MergeFlush", "StaysDown", "Bootstrap", "CheckQuorum", "Park",
	}
	words = []string{"Name", "Why", "Deep", "Unsafe"}
)

// beyond is a field that the model sets and the twin does not know.
func beyond(m *spec.Model) string {
	v := reflect.ValueOf(*m)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if !contains(fields, name) && !contains(words, name) && !v.Field(i).IsZero() {
			return name
		}
	}
	return ""
}

func contains(list []string, name string) bool {
	for _, s := range list {
		if s == name {
			return true
		}
	}
	return false
}

// modelsModule is the text of Models.tla: the table of spec/models.go.
func modelsModule() string {
	var b strings.Builder
	b.WriteString(`------------------------------- MODULE Models -------------------------------
(* The models of spec/models.go. Written by ` + "`go run ./bench/tla -write`" + `; a test    *)
(* holds it to the original.                                                       *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANT Model \* the name of one of them

`)
	defined := map[string]bool{}
	for i := range spec.Models {
		m := &spec.Models[i]
		if f := beyond(m); f != "" {
			fmt.Fprintf(&b, "\\* %s is not here: the twin has no %s.\n\n", m.Name, f)
			continue
		}
		defined[m.Name] = true
		fmt.Fprintf(&b, "\\* %s.\n%s ==\n    [", m.Why, operator(m.Name))
		for k, f := range fields {
			if k > 0 {
				b.WriteString(",")
				b.WriteString(map[bool]string{true: "\n     ", false: " "}[k%5 == 0])
			}
			fmt.Fprintf(&b, "%s |-> %s", lower(f), value(reflect.ValueOf(*m).FieldByName(f).Interface()))
		}
		b.WriteString("]\n\n")
	}
	b.WriteString("M == CASE ")
	first := true
	for i := range spec.Models {
		if m := &spec.Models[i]; defined[m.Name] {
			if !first {
				b.WriteString("       [] ")
			}
			first = false
			fmt.Fprintf(&b, "Model = %q -> %s\n", m.Name, operator(m.Name))
		}
	}
	b.WriteString(`
Voters   == 1..M.voters
Replicas == 1..(M.voters + M.observers)
\* The replicas whose software knows pre-votes, and those of the others, if some do.
PreVote  == M.preVote
Old      == IF PreVote = {} THEN {} ELSE Replicas \ PreVote
Epochs   == M.epochs
\* For each epoch who may stand in it; empty: anybody.
Stand    == M.stand
Limit    == [records |-> M.records, crashes |-> M.crashes, disks |-> M.disks,
             reads |-> M.reads, resigns |-> M.resigns, late |-> M.late]
InFlight    == M.inFlight
Immediate   == M.immediate
Silent      == M.silent
MergeFlush  == M.mergeFlush
StaysDown   == M.staysDown
Bootstrap   == M.bootstrap
CheckQuorum == M.checkQuorum
Park        == M.park
=============================================================================
`)
	return b.String()
}

// operator is the name of a model as a name of TLA+.
func operator(name string) string { return "Model_" + strings.ReplaceAll(name, "-", "_") }

func lower(s string) string { return strings.ToLower(s[:1]) + s[1:] }

// value writes a constant of a model in TLA+.
func value(v any) string {
	switch v := v.(type) {
	case bool:
		return strings.ToUpper(fmt.Sprint(v))
	case spec.Set:
		var ids []string
		for i := spec.ID(1); i <= spec.MaxReplicas; i++ {
			if v.Has(i) {
				ids = append(ids, fmt.Sprint(uint16(i)))
			}
		}
		return "{" + strings.Join(ids, ", ") + "}"
	case []spec.Set:
		var sets []string
		for _, s := range v {
			sets = append(sets, value(s))
		}
		return "<<" + strings.Join(sets, ", ") + ">>"
	case spec.KindSet:
		var kinds []string
		for _, k := range []spec.Kind{spec.Vote, spec.BeginQuorumEpoch, spec.EndQuorumEpoch, spec.Fetch} {
			if spec.Kinds(k)&v != 0 {
				kinds = append(kinds, fmt.Sprintf("%q", k.String()))
			}
		}
		return "{" + strings.Join(kinds, ", ") + "}"
	default:
		return fmt.Sprint(v) // a number
	}
}
