// Package mutex is mutual exclusion with a lock, as an example of liveness: what
// comes about depends on which steps a scheduler is assumed not to pass over.
//
// Read [Spec.Liveness] first.
package mutex

import (
	"fmt"

	"github.com/quorate/quorate/checker"
)

// MaxProcesses bounds the number of processes.
const MaxProcesses = 6

// State has where each process is.
type State struct {
	At [MaxProcesses]uint8
	//lint:ignore U1000 a state is a multiple of 8 bytes
	spare [2]uint8
}

// Where a process is.
const (
	Idle uint8 = iota
	Waiting
	Critical
)

// Actions.
const (
	Ask checker.ActionID = iota
	Enter
	Leave
)

// Spec is processes that share a lock. A process may stay idle for ever, but not
// critical.
type Spec struct {
	Processes int
	// Strong: a process that could enter again and again does, as with a fair lock.
	// Otherwise only one that could enter all the time does, and it is the others
	// that decide for how long it can.
	Strong bool
}

// New checks the constant.
func New(processes int) (*Spec, error) {
	if processes < 1 || processes > MaxProcesses {
		return nil, fmt.Errorf("mutex: %d processes; at most %d fit", processes, MaxProcesses)
	}
	return &Spec{Processes: processes}, nil
}

// Info implements [checker.Spec].
func (m *Spec) Info() *checker.Info {
	info := &checker.Info{
		Name: fmt.Sprintf("mutex%d", m.Processes), Actions: []string{"Ask", "Enter", "Leave"},
		Properties: []checker.Property{{Name: "Exclusion", Doc: "no two processes are critical at once"}},
	}
	info.FormatStep = func(_ int, i checker.Instance) string { return info.Actions[i.Action] }
	for i := range m.Processes {
		info.Processes = append(info.Processes, fmt.Sprint("p", i+1))
	}
	return info
}

// Init implements [checker.Spec].
func (m *Spec) Init(out *checker.Sink[State]) {
	*out.Slot() = State{}
	out.Commit(-1, checker.Instance{}, 0, 0)
}

// Next implements [checker.Spec].
func (m *Spec) Next(s *State, out *checker.Sink[State]) {
	free := true
	for _, at := range s.At {
		free = free && at != Critical
	}
	for i := range m.Processes {
		move := func(a checker.ActionID, to uint8) {
			t := out.Slot()
			*t = *s
			t.At[i] = to
			out.Commit(i, checker.Instance{Action: a}, 0, 0)
		}
		switch {
		case s.At[i] == Idle:
			move(Ask, Waiting)
		case s.At[i] == Waiting && free:
			move(Enter, Critical)
		case s.At[i] == Critical:
			move(Leave, Idle)
		}
	}
}

// Check implements [checker.Spec].
func (m *Spec) Check(s *State) (violated, reached checker.Props) {
	critical := 0
	for _, at := range s.At {
		if at == Critical {
			critical++
		}
	}
	if critical > 1 {
		return 1, 0
	}
	return 0, 0
}

// Describe implements [checker.Spec].
func (m *Spec) Describe(s *State) []checker.Field {
	var list []checker.Field
	for i := range m.Processes {
		list = append(list, checker.Field{
			Path: fmt.Sprintf("p%d.at", i+1), Value: []string{"idle", "waiting", "critical"}[s.At[i]],
		})
	}
	return list
}

// Atoms implements [checker.LiveSpec]: of each process whether it waits, and
// whether it is critical; and whether anybody is.
func (m *Spec) Atoms(s *State) checker.Atoms {
	var set checker.Atoms
	for i := range m.Processes {
		switch s.At[i] {
		case Waiting:
			set |= m.waits(i)
		case Critical:
			set |= m.critical(i) | 1
		}
	}
	return set
}

func (m *Spec) waits(i int) checker.Atoms    { return 1 << (1 + i) }
func (m *Spec) critical(i int) checker.Atoms { return 1 << (1 + m.Processes + i) }

// Liveness implements [checker.LiveSpec].
func (m *Spec) Liveness() *checker.Liveness {
	l := &checker.Liveness{Atoms: []string{"busy"}}
	for _, what := range []string{"waits", "critical"} {
		for i := range m.Processes {
			l.Atoms = append(l.Atoms, fmt.Sprintf("p%d %s", i+1, what))
		}
	}
	for i := range m.Processes {
		of := func(a checker.ActionID) []checker.StepSet {
			return []checker.StepSet{{Actions: []checker.ActionID{a}, Processes: []int{i}}}
		}
		l.Fair = append(l.Fair,
			checker.Fairness{Name: fmt.Sprintf("p%d leaves", i+1), Steps: of(Leave)},
			checker.Fairness{Name: fmt.Sprintf("p%d enters", i+1), Strong: m.Strong, Steps: of(Enter)},
		)
	}
	l.Properties = []checker.LivenessProperty{
		{
			Name: "EveryoneEnters", Form: checker.LeadsTo, P: m.waits(0), Q: m.critical(0),
			Doc: "p1, like any other, enters in the end once it waits",
		},
		{
			Name: "SomebodyEnters", Form: checker.LeadsTo, P: m.waits(0), Q: 1,
			Doc: "once p1 waits, somebody enters in the end",
		},
	}
	l.Assumes = "a process that is critical leaves, and one that can enter all the time does"
	if m.Strong {
		l.Assumes = "a process that is critical leaves, and one that can enter again and again does"
	}
	return l
}
