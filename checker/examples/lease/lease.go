// Package lease is a lock that its server lends for a time, and the storage that the
// lock is for. A client that was paused does not know that its time is over; fencing
// tokens keep it from doing harm. It is the example of docs/checker.md.
//
// Read [Spec.Next] first.
package lease

import (
	"fmt"
	"strconv"

	"github.com/quorate/quorate/checker"
)

// MaxClients bounds Spec.Clients, MaxTokens Spec.Tokens.
const (
	MaxClients = 4
	MaxTokens  = 9
)

// State is everything that a step can depend on or change.
type State struct {
	Holder   uint8             // who has the lock, from 1, as its server sees it; 0: nobody
	Token    uint8             // the last token that was handed out
	Stored   uint8             // the token of the last write that storage took
	Newest   uint8             // the highest token of any write that storage took
	Believes [MaxClients]uint8 // the token of each client that thinks it has the lock
}

// Actions, in the order of Info.Actions.
const (
	Acquire checker.ActionID = iota
	Expire
	Write
	Release
)

// Properties, bit i for Info.Properties[i].
const (
	NoStaleWrite checker.Props = 1 << iota
	TwoBelieve
)

// Spec is the lock with so many clients, until so many tokens were handed out.
type Spec struct {
	Clients, Tokens int
	// NoFencing lets storage take whatever comes: the mistake to be found.
	NoFencing bool
}

// New checks the constants.
func New(clients, tokens int) (*Spec, error) {
	if clients < 1 || clients > MaxClients || tokens < 1 || tokens > MaxTokens {
		return nil, fmt.Errorf("lease: %d clients and %d tokens; at most %d and %d fit", clients, tokens, MaxClients, MaxTokens)
	}
	return &Spec{Clients: clients, Tokens: tokens}, nil
}

// Init implements [checker.Spec].
func (m *Spec) Init(out *checker.Sink[State]) {
	*out.Slot() = State{}
	out.Commit(-1, checker.Instance{}, 0, 0)
}

// Next implements [checker.Spec].
func (m *Spec) Next(s *State, out *checker.Sink[State]) {
	for c := range m.Clients {
		if s.Holder == 0 && s.Believes[c] == 0 {
			if int(s.Token) == m.Tokens {
				out.Bounded(0)
			} else {
				t := out.Slot()
				*t = *s
				t.Token++
				t.Holder, t.Believes[c] = uint8(c)+1, t.Token
				out.Commit(c, checker.Instance{Action: Acquire, Args: uint32(t.Token)}, 0, 0)
			}
		}
		if token := s.Believes[c]; token != 0 && (token >= s.Newest || m.NoFencing) {
			t := out.Slot()
			*t = *s
			t.Stored, t.Newest = token, max(s.Newest, token)
			out.Commit(c, checker.Instance{Action: Write, Args: uint32(token)}, 0, 0)
		}
		if s.Believes[c] != 0 {
			t := out.Slot()
			*t = *s
			t.Believes[c] = 0
			if int(s.Holder) == c+1 && s.Believes[c] == s.Token {
				t.Holder = 0
			}
			out.Commit(c, checker.Instance{Action: Release}, 0, 0)
		}
	}
	if s.Holder != 0 { // its time is over, and it need not notice
		t := out.Slot()
		*t = *s
		t.Holder = 0
		out.Commit(-1, checker.Instance{Action: Expire}, 0, 0)
	}
}

// Check implements [checker.Spec].
func (m *Spec) Check(s *State) (violated, reached checker.Props) {
	if s.Stored != s.Newest {
		violated |= NoStaleWrite
	}
	believers := 0
	for _, token := range s.Believes {
		if token != 0 {
			believers++
		}
	}
	if believers > 1 {
		reached |= TwoBelieve
	}
	return violated, reached
}

// Info implements [checker.Spec].
func (m *Spec) Info() *checker.Info {
	return &checker.Info{
		Name:    fmt.Sprintf("lease%d_%d", m.Clients, m.Tokens),
		Actions: []string{"Acquire", "Expire", "Write", "Release"},
		Properties: []checker.Property{
			{Name: "NoStaleWrite", Kind: checker.Invariant, Doc: "the last write that storage took has the newest token that it took"},
			{Name: "TwoBelieve", Kind: checker.Sometimes, Doc: "two clients think that they have the lock"},
		},
		Bounds:    []string{"tokens"},
		Processes: []string{"c1", "c2", "c3", "c4"}[:m.Clients],
		Constants: []checker.Constant{{Name: "clients", Value: strconv.Itoa(m.Clients)}, {Name: "tokens", Value: strconv.Itoa(m.Tokens)}},
		FormatStep: func(process int, i checker.Instance) string {
			name := []string{"Acquire", "Expire", "Write", "Release"}[i.Action]
			if i.Args != 0 {
				name += fmt.Sprintf("(token %d)", i.Args)
			}
			return name
		},
	}
}

// Describe implements [checker.Spec].
func (m *Spec) Describe(s *State) []checker.Field {
	holder := "nobody"
	if s.Holder != 0 {
		holder = fmt.Sprint("c", s.Holder)
	}
	var list []checker.Field
	for c := range m.Clients {
		value := "no lock"
		if token := s.Believes[c]; token != 0 {
			value = fmt.Sprint("token ", token)
		}
		list = append(list, checker.Field{Path: fmt.Sprintf("c%d.believes", c+1), Value: value})
	}
	return append(list,
		checker.Field{Path: "lock.holder", Value: holder},
		checker.Field{Path: "lock.token", Value: fmt.Sprint(s.Token)},
		checker.Field{Path: "storage.last write", Value: fmt.Sprint("token ", s.Stored)},
		checker.Field{Path: "storage.newest", Value: fmt.Sprint("token ", s.Newest)},
	)
}

// Env implements [checker.Environment].
func (m *Spec) Env(s *State) map[string]any {
	believers := 0
	for _, token := range s.Believes {
		if token != 0 {
			believers++
		}
	}
	return map[string]any{"holder": int(s.Holder), "token": int(s.Token), "stored": int(s.Stored), "believers": believers}
}
