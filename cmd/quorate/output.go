package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/quorate/quorate/checker"
)

// report is a result as JSON: what was explored, and what came of it.
type report struct {
	Model     string `json:"model"`
	Module    string `json:"module"`
	Mutation  string `json:"mutation,omitempty"`
	DropGuard string `json:"drop_guard,omitempty"`
	*checker.Result
}

// writeResult writes a result as a line of JSON, or for a reader.
func writeResult(w io.Writer, e *entry, v Variant, r *checker.Result, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(report{e.Name, e.Module, v.Mutation, v.DropGuard, r})
	}
	switch {
	case v.Mutation != "" && v.DropGuard != "":
		fmt.Fprintf(w, "with mutation %s and without guard %s, ", v.Mutation, v.DropGuard)
	case v.Mutation != "":
		fmt.Fprintf(w, "with mutation %s, ", v.Mutation)
	case v.DropGuard != "":
		fmt.Fprintf(w, "without guard %s, ", v.DropGuard)
	}
	return r.WriteText(w)
}
