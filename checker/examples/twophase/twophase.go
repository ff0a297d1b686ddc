// Package twophase is two-phase commit, the example that most checkers have, so
// its counts are known.
//
// Read [Spec.Next] first.
package twophase

import (
	"fmt"
	"math/bits"

	"github.com/quorate/quorate/checker"
)

// MaxManagers bounds the number of resource managers.
const MaxManagers = 10

// State has the state of each resource manager, that of the transaction
// manager, and the sets of messages sent, which only grow.
type State struct {
	RM           [MaxManagers]uint8
	TM           uint8
	Orders       uint8  // which of the orders below were sent
	Prepared     uint16 // of whom the transaction manager knows it
	PreparedSent uint16 // who said so
}

// States of a resource manager; the transaction manager has the last two and
// starts in Working.
const (
	Working uint8 = iota
	Prepared
	Committed
	Aborted
)

// Orders of the transaction manager.
const (
	CommitOrder uint8 = 1 << iota
	AbortOrder
)

// Actions, as in TwoPhase.tla.
const (
	TMRcvPrepared checker.ActionID = iota
	TMCommit
	TMAbort
	RMPrepare
	RMChooseToAbort
	RMRcvCommit
	RMRcvAbort
)

// Consistent is the only property.
const Consistent checker.Props = 1

// Spec is two-phase commit with so many resource managers.
type Spec struct{ Managers int }

// New checks the constant.
func New(managers int) (*Spec, error) {
	if managers < 1 || managers > MaxManagers {
		return nil, fmt.Errorf("twophase: %d resource managers; at most %d fit", managers, MaxManagers)
	}
	return &Spec{Managers: managers}, nil
}

// Info implements [checker.Spec].
func (m *Spec) Info() *checker.Info {
	var processes []string
	for r := range m.Managers {
		processes = append(processes, manager(r))
	}
	return &checker.Info{
		Constants: []checker.Constant{{Name: "RM", Value: fmt.Sprint(m.Managers)}},
		Processes: processes,
		Name:      fmt.Sprintf("2pc%d", m.Managers),
		Actions: []string{
			"TMRcvPrepared", "TMCommit", "TMAbort", "RMPrepare", "RMChooseToAbort", "RMRcvCommit", "RMRcvAbort",
		},
		Properties: []checker.Property{{
			Name: "Consistent", Kind: checker.Invariant,
			Doc: "no resource manager has committed while another has aborted",
		}},
		FormatStep: func(process int, i checker.Instance) string {
			name := m.Info().Actions[i.Action]
			if i.Action == TMRcvPrepared {
				return fmt.Sprintf("%s(%s)", name, manager(int(i.Args)))
			}
			return name
		},
	}
}

// Init implements [checker.Spec].
func (m *Spec) Init(out *checker.Sink[State]) {
	*out.Slot() = State{}
	out.Commit(-1, checker.Instance{}, 0, 0)
}

// Next implements [checker.Spec].
func (m *Spec) Next(s *State, out *checker.Sink[State]) {
	if s.TM == Working {
		if s.Prepared == 1<<m.Managers-1 {
			t := out.Slot()
			*t = *s
			t.TM, t.Orders = Committed, s.Orders|CommitOrder
			out.Commit(-1, checker.Instance{Action: TMCommit}, 0, 0)
		}
		t := out.Slot()
		*t = *s
		t.TM, t.Orders = Aborted, s.Orders|AbortOrder
		out.Commit(-1, checker.Instance{Action: TMAbort}, 0, 0)
		for set := s.PreparedSent; set != 0; set &= set - 1 {
			r := bits.TrailingZeros16(set)
			t := out.Slot()
			*t = *s
			t.Prepared |= 1 << r
			out.Commit(-1, checker.Instance{Action: TMRcvPrepared, Args: uint32(r)}, 0, 0)
		}
	}
	for r := range m.Managers {
		if s.RM[r] == Working {
			t := out.Slot()
			*t = *s
			t.RM[r] = Prepared
			t.PreparedSent |= 1 << r
			out.Commit(r, checker.Instance{Action: RMPrepare}, 0, 0)
			t = out.Slot()
			*t = *s
			t.RM[r] = Aborted
			out.Commit(r, checker.Instance{Action: RMChooseToAbort}, 0, 0)
		}
		if s.Orders&CommitOrder != 0 {
			t := out.Slot()
			*t = *s
			t.RM[r] = Committed
			out.Commit(r, checker.Instance{Action: RMRcvCommit}, 0, 0)
		}
		if s.Orders&AbortOrder != 0 {
			t := out.Slot()
			*t = *s
			t.RM[r] = Aborted
			out.Commit(r, checker.Instance{Action: RMRcvAbort}, 0, 0)
		}
	}
}

// Check implements [checker.Spec].
func (m *Spec) Check(s *State) (violated, reached checker.Props) {
	committed, aborted := false, false
	for _, rm := range s.RM[:m.Managers] {
		committed = committed || rm == Committed
		aborted = aborted || rm == Aborted
	}
	if committed && aborted {
		return Consistent, 0
	}
	return 0, 0
}

// Describe implements [checker.Spec].
func (m *Spec) Describe(s *State) []checker.Field {
	var list []checker.Field
	word := []string{"working", "prepared", "committed", "aborted"}
	for r := range m.Managers {
		list = append(list, checker.Field{Path: manager(r), Value: word[s.RM[r]]})
	}
	list = append(list, checker.Field{Path: "tm", Value: word[s.TM]})
	for r := range m.Managers {
		list = append(list,
			checker.Field{Path: "sent.prepared." + manager(r), Value: fmt.Sprint(s.PreparedSent>>r&1 == 1)},
			checker.Field{Path: "tm.prepared." + manager(r), Value: fmt.Sprint(s.Prepared>>r&1 == 1)})
	}
	return append(list,
		checker.Field{Path: "sent.commit", Value: fmt.Sprint(s.Orders&CommitOrder != 0)},
		checker.Field{Path: "sent.abort", Value: fmt.Sprint(s.Orders&AbortOrder != 0)})
}

// Env implements [checker.Environment].
func (m *Spec) Env(s *State) map[string]any {
	word := []string{"working", "prepared", "committed", "aborted"}
	env := map[string]any{"tm": word[s.TM]}
	for r := range m.Managers {
		env[manager(r)] = word[s.RM[r]]
	}
	return env
}

func manager(r int) string { return fmt.Sprintf("r%d", r+1) }
