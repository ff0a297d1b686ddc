package main

import (
	"github.com/quorate/quorate/traces"
	"github.com/quorate/quorate/traces/concerns"
)

// checkConcerns holds what the nodes of a run recorded of bootstrap and cluster ids, beside
// their traces, against the specification. Nil: they recorded nothing of that.
func checkConcerns(rec *traces.Recording, hidden int) (*concerns.Result, error) {
	inputs, err := concerns.Find(rec.Inputs)
	if err != nil || len(inputs) == 0 {
		return nil, err
	}
	return concerns.Validate(inputs, concerns.Options{Hidden: hidden})
}

// concernsText is what came of that.
func concernsText(name string, r *concerns.Result) string {
	text := name + ": " + r.Verdict.String() + ": " + r.Text()
	if r.Rejection != nil {
		text = name + ": " + r.Verdict.String() + "\n" + r.Rejection.Text()
	}
	return text
}
