package traces

import (
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// Stats say how much was checked, and how strong it was.
type Stats struct {
	Nodes []int32 `json:"nodes"`
	// Events were taken; Total is how many there are, if they were not all taken and
	// the rest can be read.
	Events       int64          `json:"events"`
	Total        int64          `json:"total,omitempty"`
	Actions      map[string]int `json:"actions"`
	Incarnations int            `json:"incarnations"`
	Crashes      int            `json:"crashes"`
	// Torn is how many lines were torn by a crash, and skipped.
	Torn int `json:"torn,omitempty"`
	// TornFiles are those that have such lines.
	TornFiles []string `json:"tornFiles,omitempty"`
	// Sent and Received are messages between replicas; Lost were sent and never
	// handled.
	Sent     int `json:"sent"`
	Received int `json:"received"`
	Lost     int `json:"lost"`
	// Copies are requests that were handled once more.
	Copies int `json:"copies,omitempty"`
	// Hidden are the hidden steps that were needed, by action.
	Hidden map[string]int `json:"hidden,omitempty"`
	// Worlds is the largest number of explanations at once.
	Worlds int `json:"worlds"`
	// Undecided are the fields of a state that an event did not have, and after how many
	// events the explanations that were left differed in each: to record it would have told.
	Undecided map[string]int `json:"undecided,omitempty"`
	// Invariants are the properties that were checked, at Cuts cuts.
	Invariants []string `json:"invariants,omitempty"`
	Cuts       int64    `json:"cuts"`
	// Reached and NotReached are the sometimes properties of the specification, by
	// the explanation with the fewest hidden steps.
	Reached    []string `json:"reached"`
	NotReached []string `json:"not_reached"`
	// NotTaken are the actions of the specification that no event is.
	NotTaken []string `json:"not_taken"`
	// Attached and Detached are the nodes whose recordings begin, or end, in their lives.
	Attached []int32 `json:"attached,omitempty"`
	Detached []int32 `json:"detached,omitempty"`
	// Assumed are messages that were sent, but not while their sender recorded, by kind.
	Assumed map[string]int `json:"assumed,omitempty"`
	// JudgedFrom is, if there are Attached, after how many events properties of several
	// replicas began to be judged; -1: never.
	JudgedFrom int64 `json:"judged_from,omitempty"`
	// Tolerated counts known differences, see Differences.
	Tolerated map[Tolerated]int `json:"tolerated,omitempty"`
}

type counters struct {
	Events         int64
	byName         map[string]int
	Crashes, Sent  int
	Received, Lost int
	Copies         int
	MaxWorlds      int
	Checked        int64
	tolerated      map[Tolerated]int
	undecided      map[string]int
}

func (c *counters) event(e *event.Event, received bool, sent int) {
	c.Events++
	if c.byName == nil {
		c.byName = map[string]int{}
	}
	if e.Action != "" || e.Attach == nil && e.Detach == nil {
		c.byName[e.Action]++
	}
	c.Sent += sent
	if received {
		c.Received++
	}
}

func (v *validator) tolerate(t Tolerated) {
	if v.muted {
		return
	}
	if v.stats.tolerated == nil {
		v.stats.tolerated = map[Tolerated]int{}
	}
	v.stats.tolerated[t]++
}

func (v *validator) summary() Stats {
	c := &v.stats
	s := Stats{
		Nodes: v.who.ids, Events: c.Events, Actions: map[string]int{}, Crashes: c.Crashes, Sent: c.Sent, Received: c.Received,
		Worlds: c.MaxWorlds, Cuts: c.Checked, Tolerated: c.tolerated, Lost: c.Lost, Copies: c.Copies, Undecided: c.undecided, Hidden: map[string]int{},
		Reached: []string{}, NotReached: []string{}, NotTaken: []string{},
	}
	v.cut.tell(&s, v.who.ids)
	for name, n := range c.byName {
		if name == "" {
			name = "(not logged)"
		}
		s.Actions[name] = n
	}
	for n := range v.who.ids {
		s.Incarnations += v.nodes[n].incs
		if t, ok := v.nodes[n].source.(interface{ Torn() int }); ok {
			if s.Torn += t.Torn(); t.Torn() > 0 {
				s.TornFiles = append(s.TornFiles, v.nodes[n].input.Name)
			}
		}
	}
	least := v.worlds[0]
	for _, w := range v.worlds {
		if sum(w.hidden[:]) < sum(least.hidden[:]) {
			least = w
		}
	}
	for _, l := range least.bag {
		for ; l != nil; l = l.next {
			if !l.handled && !l.parked {
				s.Lost++
			}
		}
	}
	for a, n := range least.hidden {
		if n > 0 {
			s.Hidden[spec.ActionID(a).String()] = int(n)
		}
	}
	for a := spec.ActionID(0); a < spec.NumReplicaActions; a++ {
		name := a.String()
		if a == spec.ActionCrash && c.Crashes > 0 {
			s.Actions[name] = c.Crashes
		}
		if s.Actions[name] == 0 {
			s.NotTaken = append(s.NotTaken, name)
		}
	}
	for i, p := range spec.Properties {
		switch reached := least.reached>>i&1 == 1; {
		case p.Kind != checker.Sometimes:
			if !v.opt.NoInvariants {
				s.Invariants = append(s.Invariants, p.Name)
			}
		case reached:
			s.Reached = append(s.Reached, p.Name)
		default:
			s.NotReached = append(s.NotReached, p.Name)
		}
	}
	return s
}

// EventsText is how many events were taken, and of how many.
func (s *Stats) EventsText() string {
	if s.Total == 0 {
		return thousands(s.Events)
	}
	return thousands(s.Events) + " of " + thousands(s.Total)
}

func thousands(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// HiddenText lists hidden steps by kind.
func (s *Stats) HiddenText() string { return byKind(s.Hidden) }

func byKind(of map[string]int) string {
	if len(of) == 0 {
		return "0"
	}
	total := 0
	for _, n := range of {
		total += n
	}
	return fmt.Sprintf("%d (%s)", total, counted(of))
}

// counted lists names with their numbers.
func counted(of map[string]int) string {
	var list []string
	for name, n := range of {
		list = append(list, fmt.Sprintf("%s %d", name, n))
	}
	sort.Strings(list)
	return strings.Join(list, ", ")
}

// PartialText says of recordings that begin or end in the lives of nodes which they are,
// and what could not be checked; empty if there are none.
func (s *Stats) PartialText() string {
	if len(s.Attached)+len(s.Detached) == 0 {
		return ""
	}
	var list []string
	if len(s.Attached) > 0 {
		list = append(list, fmt.Sprintf("recording begins in the lives of %v", s.Attached))
	}
	if len(s.Detached) > 0 {
		list = append(list, fmt.Sprintf("it ends in those of %v", s.Detached))
	}
	list = append(list, "messages assumed: "+byKind(s.Assumed))
	switch {
	case s.JudgedFrom > 0:
		list = append(list, fmt.Sprintf("properties of several replicas judged from event %s on", thousands(s.JudgedFrom)))
	case s.JudgedFrom < 0:
		list = append(list, "properties of several replicas not judged")
	}
	if len(s.Detached) > 0 {
		list = append(list, "nor once one has ended")
	}
	return strings.Join(list, "; ")
}

// TornText says which lines were passed over, empty if none was.
func (s *Stats) TornText() string {
	switch s.Torn {
	case 0:
		return ""
	case 1:
		return "1 line was passed over that ends too soon, as if its process had been killed: " + s.TornFiles[0]
	}
	return fmt.Sprintf("%d lines were passed over that end too soon, as if their processes had been killed: %s", s.Torn, strings.Join(s.TornFiles, ", "))
}

// propertyNames are the names of properties in a set.
func propertyNames(bad checker.Props) []string {
	var names []string
	for i, p := range spec.Properties {
		if bad>>i&1 == 1 && p.Kind != checker.Sometimes {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return names
}
