package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
)

// report is a result as JSON: what was explored, and what came of it.
type report struct {
	Model     string `json:"model"`
	Module    string `json:"module"`
	Mutation  string `json:"mutation,omitempty"`
	DropGuard string `json:"drop_guard,omitempty"`
	On        string `json:"on,omitempty"`
	*checker.Result
}

// writeResult writes a result as a line of JSON, or for a reader.
func writeResult(w io.Writer, e *entry, v Variant, r *checker.Result, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(report{e.Name, e.Module, v.Mutation, v.DropGuard, v.On, r})
	}
	if mu, ok := spec.MutationNamed(v.Mutation); ok {
		fmt.Fprintf(w, "%s: %s\n%s\n\n", mu.ID, mu.Title, wrapped(mu.Story))
	}
	if v != (Variant{}) {
		fmt.Fprintf(w, "%s, ", v)
	}
	return r.WriteText(w)
}

// wrapped breaks a text into lines that fit a terminal.
func wrapped(text string) string {
	const width = 88
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		switch {
		case column == 0:
		case column+1+len(word) > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
