package main

import (
	"encoding/json"
	"fmt"

	"github.com/quorate/quorate/checker/linear"
	"github.com/quorate/quorate/traces/history"
)

// objectReport is the result of a run on objects, as JSON.
type objectReport struct {
	Name    string `json:"name"`
	Run     string `json:"run"`
	Object  string `json:"object"`
	Verdict string `json:"verdict"`
	Why     string `json:"why,omitempty"`
	// Picture is where the page is, NoPicture why there is none.
	Picture   string `json:"picture,omitempty"`
	NoPicture string `json:"noPicture,omitempty"`

	Operations int `json:"operations"`
	Clients    int `json:"clients"`
	Reads      int `json:"reads"`
	Known      int `json:"known"`
	Unknown    int `json:"unknown"`
	Failed     int `json:"failed"`
	// Searched is the number of operations that were searched for an order.
	Searched int `json:"searched"`
}

// object reads and judges a history of objects. What it says of it is printed at once as
// JSON, or returned to come after the table of logs.
func (c *historyCheck) object(file historyFile, n int) (string, linear.Verdict, error) {
	h, err := history.OpenObjects(file.path)
	if err != nil {
		return "", 0, named(file.path, err)
	}
	r := &objectReport{Name: file.name, Run: h.Run, Object: h.Object, Operations: len(h.Ops)}
	clients := make(map[int32]bool)
	for i := range h.Ops {
		op := &h.Ops[i]
		clients[op.Client] = true
		*[...]*int{&r.Known, &r.Unknown, &r.Failed}[op.Outcome]++
		if op.Reads {
			r.Reads++
		}
	}
	r.Clients = len(clients)
	page := c.picture(file, n)
	res, err := h.Check(c.objects, page)
	if err != nil && res.Violation == nil {
		return "", 0, named(file.path, err)
	}
	r.Verdict, r.Why, r.Searched = res.Verdict.String(), res.Reason, res.Searched
	if res.Violation != nil {
		r.Why = res.Violation.Text
		if err != nil { // the verdict stands without a picture
			r.NoPicture = err.Error()
		} else {
			r.Picture = page
		}
	}
	if c.json {
		return "", res.Verdict, json.NewEncoder(c.out).Encode(r)
	}
	text := fmt.Sprintf("%s: %s, %d operations of %d clients (%d reads), %d of unknown outcome, %d failed: %s", r.Name, r.Object,
		r.Operations, r.Clients, r.Reads, r.Unknown, r.Failed, r.Verdict)
	for _, more := range [][2]string{{"", r.Why}, {"picture: ", r.Picture}, {"no picture: ", r.NoPicture}} {
		if more[1] != "" {
			text += "\n  " + more[0] + more[1]
		}
	}
	return text, res.Verdict, nil
}
