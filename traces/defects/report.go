package defects

import (
	"encoding/json"
	"os"
)

// Check is a way to find a defect.
type Check string

// Checks.
const (
	// Simulation: properties of the cluster, assertions of the core, and what driver
	// and disk refuse, while a simulated cluster runs.
	Simulation Check = "simulation"
	// Trace: the events of a run are no behaviour of the specification.
	Trace Check = "trace"
	// History: no log explains what the clients of a run saw.
	History Check = "history"
	// Walk: a replica goes along the state graphs of small models (traces/modelbased).
	Walk Check = "walk"
	// Tests of the package, and of what a process does on its machine.
	Tests Check = "tests"
)

// Finding is what a check found first.
type Finding struct {
	By   Check  `json:"by"`
	Seed uint64 `json:"seed,omitempty"`
	// What is the property, guard or test.
	What string `json:"what"`
}

// Report is what came of a number of runs.
type Report struct {
	// Seeds is how many were run.
	Seeds uint64    `json:"seeds"`
	Found []Finding `json:"found,omitempty"`
}

// By is the finding of a check, nil if there is none.
func (r *Report) By(c Check) *Finding {
	for i := range r.Found {
		if r.Found[i].By == c {
			return &r.Found[i]
		}
	}
	return nil
}

// Note takes a finding, if it is the first of the check.
func (r *Report) Note(by Check, seed uint64, what string) {
	if r.By(by) == nil {
		r.Found = append(r.Found, Finding{By: by, Seed: seed, What: what})
	}
}

// Write writes the report to a file, as JSON; an empty name is none.
func (r *Report) Write(name string) error {
	if name == "" {
		return nil
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(name, text, 0o644)
}
