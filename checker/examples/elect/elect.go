// Package elect is a Raft-like leader election whose message sets only grow. It
// was written to compare checkers: the same protocol exists for TLC, Murphi and
// Spin, and its counts are known.
//
// Read [Spec.Next] first.
package elect

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/quorate/quorate/checker"
)

// MaxServers and MaxTerms bound the constants of a [Spec].
const (
	MaxServers = 4
	MaxTerms   = 4
)

// State has one column for each server and, below, one for each term: the sets
// of messages sent in it. Servers are bits of a set; 0 is nobody.
type State struct {
	Role  [MaxServers]uint8
	Term  [MaxServers]uint8
	Voted [MaxServers]uint8 // server + 1
	Votes [MaxServers]uint8 // set of servers

	VoteRequests  [MaxTerms]uint8  // set of candidates
	BeginEpochs   [MaxTerms]uint8  // set of leaders
	VoteResponses [MaxTerms]uint16 // set of (voter, candidate)
}

// Roles of a server.
const (
	Follower uint8 = iota
	Candidate
	Leader
)

// Actions, as in Elect.tla.
const (
	Timeout checker.ActionID = iota
	BecomeLeader
	Restart
	HandleVoteReq
	HandleVoteRes
	HandleBeginEpoch
)

// OneLeaderPerTerm is the only property.
const OneLeaderPerTerm checker.Props = 1

// Spec is the election among so many servers, up to a term.
type Spec struct {
	Servers, Terms int
	// VoteTwice leaves out that a server votes once in a term.
	VoteTwice bool
}

// New checks the constants.
func New(servers, terms int) (*Spec, error) {
	if servers < 1 || servers > MaxServers || terms < 1 || terms > MaxTerms {
		return nil, fmt.Errorf("elect: %d servers and %d terms; at most %d and %d fit", servers, terms, MaxServers, MaxTerms)
	}
	return &Spec{Servers: servers, Terms: terms}, nil
}

// Info implements [checker.Spec].
func (m *Spec) Info() *checker.Info {
	return &checker.Info{
		Name:    fmt.Sprintf("elect%d_%d", m.Servers, m.Terms),
		Actions: []string{"Timeout", "BecomeLeader", "Restart", "HandleVoteReq", "HandleVoteRes", "HandleBeginEpoch"},
		Properties: []checker.Property{{
			Name: "OneLeaderPerTerm", Kind: checker.Invariant,
			Doc: "no two servers announce themselves as leader of the same term",
		}},
		Constants: []checker.Constant{
			{Name: "Server", Value: fmt.Sprint(m.Servers)}, {Name: "MaxTerm", Value: fmt.Sprint(m.Terms)},
		},
		Processes:  []string{"s1", "s2", "s3", "s4"}[:m.Servers],
		FormatStep: m.formatStep,
	}
}

// Init implements [checker.Spec].
func (m *Spec) Init(out *checker.Sink[State]) {
	*out.Slot() = State{}
	out.Commit(-1, checker.Instance{}, 0, 0)
}

// Next implements [checker.Spec]. Terms start at 1, so the sets of term t have
// index t-1.
func (m *Spec) Next(s *State, out *checker.Sink[State]) {
	for i := range m.Servers {
		me := uint8(1) << i
		if s.Role[i] != Leader && int(s.Term[i]) < m.Terms {
			t := out.Slot()
			*t = *s
			t.Term[i]++
			t.Role[i], t.Voted[i], t.Votes[i] = Candidate, uint8(i)+1, me
			t.VoteRequests[t.Term[i]-1] |= me
			commit(out, i, Timeout, 0)
		}
		if s.Role[i] == Candidate && 2*bits.OnesCount8(s.Votes[i]) > m.Servers {
			t := out.Slot()
			*t = *s
			t.Role[i] = Leader
			t.BeginEpochs[s.Term[i]-1] |= me
			commit(out, i, BecomeLeader, 0)
		}
		if s.Role[i] != Follower {
			t := out.Slot()
			*t = *s
			t.Role[i], t.Votes[i] = Follower, 0
			commit(out, i, Restart, 0)
		}
		m.receive(s, i, out)
	}
}

// receive has the steps in which server i takes a message. It sees all that
// were ever sent.
func (m *Spec) receive(s *State, i int, out *checker.Sink[State]) {
	term := s.Term[i]
	for n := max(int(term), 1); n <= m.Terms; n++ {
		later := n > int(term)
		for set := s.VoteRequests[n-1] &^ (1 << i); set != 0; set &= set - 1 {
			if !later && s.Voted[i] != 0 && !m.VoteTwice {
				break
			}
			c := bits.TrailingZeros8(set)
			t := out.Slot()
			*t = *s
			t.Term[i], t.Role[i], t.Voted[i], t.Votes[i] = uint8(n), Follower, uint8(c)+1, 0
			t.VoteResponses[n-1] |= 1 << (i*MaxServers + c)
			commit(out, i, HandleVoteReq, uint32(c<<8|n))
		}
		for set := s.BeginEpochs[n-1] &^ (1 << i); set != 0; set &= set - 1 {
			if !later && s.Role[i] != Candidate {
				break
			}
			c := bits.TrailingZeros8(set)
			t := out.Slot()
			*t = *s
			if later {
				t.Voted[i] = 0
			}
			t.Term[i], t.Role[i], t.Votes[i] = uint8(n), Follower, 0
			commit(out, i, HandleBeginEpoch, uint32(c<<8|n))
		}
	}
	if s.Role[i] != Candidate {
		return
	}
	for v := range m.Servers {
		if s.VoteResponses[term-1]>>(v*MaxServers+i)&1 == 1 && s.Votes[i]>>v&1 == 0 {
			t := out.Slot()
			*t = *s
			t.Votes[i] |= 1 << v
			commit(out, i, HandleVoteRes, uint32(v<<8)|uint32(term))
		}
	}
}

func commit(out *checker.Sink[State], i int, a checker.ActionID, args uint32) {
	out.Commit(i, checker.Instance{Action: a, Args: args}, 0, 0)
}

// Check implements [checker.Spec].
func (m *Spec) Check(s *State) (violated, reached checker.Props) {
	for _, leaders := range s.BeginEpochs {
		if leaders&(leaders-1) != 0 {
			return OneLeaderPerTerm, 0
		}
	}
	return 0, 0
}

// Describe implements [checker.Spec].
func (m *Spec) Describe(s *State) []checker.Field {
	var list []checker.Field
	add := func(value any, format string, args ...any) {
		list = append(list, checker.Field{Path: fmt.Sprintf(format, args...), Value: fmt.Sprint(value)})
	}
	for i := range m.Servers {
		voted := "nobody"
		if s.Voted[i] > 0 {
			voted = server(int(s.Voted[i]) - 1)
		}
		add([]string{"follower", "candidate", "leader"}[s.Role[i]], "%s.role", server(i))
		add(s.Term[i], "%s.term", server(i))
		add(voted, "%s.voted", server(i))
		add(names(uint16(s.Votes[i])), "%s.votes", server(i))
	}
	for n := range m.Terms {
		add(names(uint16(s.VoteRequests[n])), "term %d.vote requests of", n+1)
		for v := range m.Servers {
			add(names(s.VoteResponses[n]>>(v*MaxServers)&(1<<MaxServers-1)), "term %d.votes of %s for", n+1, server(v))
		}
		add(names(uint16(s.BeginEpochs[n])), "term %d.announced", n+1)
	}
	return list
}

// Env implements [checker.Environment].
func (m *Spec) Env(s *State) map[string]any {
	env := map[string]any{}
	leaders := 0
	for i := range m.Servers {
		role := []string{"follower", "candidate", "leader"}[s.Role[i]]
		if s.Role[i] == Leader {
			leaders++
		}
		env[server(i)] = map[string]any{
			"role": role, "term": int(s.Term[i]), "votes": bits.OnesCount8(s.Votes[i]),
		}
	}
	env["leaders"] = leaders
	return env
}

func (m *Spec) formatStep(process int, i checker.Instance) string {
	name := m.Info().Actions[i.Action]
	switch i.Action {
	case HandleVoteReq, HandleVoteRes, HandleBeginEpoch:
		return fmt.Sprintf("%s(from %s, term %d)", name, server(int(i.Args>>8)), i.Args&0xff)
	default:
		return name
	}
}

func server(i int) string { return fmt.Sprint("s", i+1) }

func names(set uint16) string {
	var list []string
	for ; set != 0; set &= set - 1 {
		list = append(list, server(bits.TrailingZeros16(set)))
	}
	return "{" + strings.Join(list, " ") + "}"
}
