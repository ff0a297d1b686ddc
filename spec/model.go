package spec

import "fmt"

// Model is a box in which the protocol is explored to the end: constants, what
// the environment may do, and how often.
type Model struct {
	Name string
	// Why says what the model is for.
	Why string
	// Voters and Observers count the replicas; voters come first.
	Voters, Observers int
	// PreVote are the replicas whose software knows pre-votes.
	PreVote Set
	// Epochs is the highest epoch.
	Epochs Epoch
	// Stand, if not nil, has for each epoch from 1 who may stand in it.
	Stand []Set
	// Budgets: client records, crashes, lost disks, reads, resignations, and
	// messages copied or outliving their connection.
	Records, Crashes, Disks, Reads, Resigns, Late uint8
	// Snapshots is how many are taken, 0: none, and nothing that goes with them; Parts in
	// how many parts one is transferred (1 if 0).
	Snapshots, Parts uint8
	// Adds, Removes and Updates are how many changes of the voter set are begun (KIP-853); if
	// none is, the quorum is static (kraft.version 0). Observers may be added.
	Adds, Removes, Updates uint8
	// Changing are those that may be added, removed and updated; empty: all.
	Changing Set
	// Formed: A leads epoch 1 in the beginning, and all have the first records of it.
	Formed bool
	// InFlight is how many messages may be in flight at once.
	InFlight int
	// Immediate kinds of messages are sent, handled and answered in one step.
	Immediate KindSet
	// Silent kinds of messages are not answered: the answers are lost at once.
	Silent KindSet
	// MergeFlush: whatever is written is flushed in the same step. Only where
	// nothing crashes: it hides KAFKA-10533.
	MergeFlush bool
	// StaysDown: Restart is a step of its own after Crash.
	StaysDown bool
	// Bootstrap: voters without a leader fetch to find it, as observers do.
	Bootstrap bool
	// CheckQuorum: leaders resign by check-quorum rather than by request.
	CheckQuorum bool
	// Park: fetches may be parked.
	Park bool
	// Deep models run in check-deep only.
	Deep bool
	// Unsafe models are expected to violate a property: they show an assumption.
	Unsafe string
}

// HasBudgets says whether states differ in budget counters at all.
func (m *Model) HasBudgets() bool {
	return m.Records+m.Crashes+m.Disks+m.Reads+m.Resigns+m.Late+m.Snapshots+m.Adds+m.Removes+m.Updates > 0
}

// Pin is what a model must give: distinct states, the same without budget
// counters, and depth. Any change of the specification shows here.
type Pin struct {
	Distinct, Projected uint64
	Depth               int
}

// Pin is the pinned result of the model.
func (m *Model) Pin() (Pin, bool) {
	p, ok := pins[m.Name]
	return p, ok
}

// Dynamic says whether the voter set may change (kraft.version 1).
func (m *Model) Dynamic() bool { return m.Adds+m.Removes+m.Updates > 0 }

// KindSet is a set of kinds of messages.
type KindSet uint8

// Kinds is the set of the given kinds.
func Kinds(kinds ...Kind) KindSet {
	var s KindSet
	for _, k := range kinds {
		s |= 1 << k
	}
	return s
}

func (s KindSet) has(k Kind) bool { return s>>k&1 == 1 }

func (m *Model) size() int { return m.Voters + m.Observers }

func (m *Model) voters() Set { return Set(1<<m.Voters - 1) }

// changing are those whom a change of the voter set may be about.
func (m *Model) changing() Set {
	if m.Changing != 0 {
		return m.Changing
	}
	return All(m.size())
}

// standing are those that may be voters at some time.
func (m *Model) standing() Set {
	if m.Dynamic() {
		return All(m.size())
	}
	return m.voters()
}

// old are the replicas that know no pre-votes, where some do.
func (m *Model) old() Set {
	if m.PreVote == 0 {
		return 0
	}
	return All(m.size()) &^ m.PreVote
}

func (m *Model) silences(k Kind) bool { return m.Silent.has(k) }

func (m *Model) parts() int64 { return int64(max(m.Parts, 1)) }

func (m *Model) mayStand(e Epoch, id ID) bool {
	return m.Stand == nil || int(e) <= len(m.Stand) && m.Stand[e-1].Has(id)
}

// All is the set of the first n replicas.
func All(n int) Set { return Set(1<<n - 1) }

// Constants are the constants and bounds of the model in words, for tables.
func (m *Model) Constants() string {
	s := fmt.Sprintf("%d voters", m.Voters)
	if m.Voters == 1 {
		s = "1 voter"
	}
	if m.Observers > 0 {
		s += fmt.Sprintf(" %d observers", m.Observers)
	}
	switch m.PreVote {
	case All(m.size()):
		s += ", Pre-Vote"
	case 0:
	default:
		s += fmt.Sprintf(", Pre-Vote on %s", m.PreVote)
	}
	s += fmt.Sprintf(", epochs %d", m.Epochs)
	if m.Stand != nil {
		s += " by"
		for _, who := range m.Stand {
			s += " " + who.String()
		}
	}
	for _, b := range []struct {
		n    uint8
		name string
	}{{m.Records, "records"}, {m.Crashes, "crashes"}, {m.Disks, "lost disks"}, {m.Reads, "reads"}, {m.Resigns, "resignations"}, {m.Late, "late"}, {m.Snapshots, "snapshots"},
		{m.Adds, "voters added"}, {m.Removes, "removed"}, {m.Updates, "updated"}} {
		if b.n > 0 {
			s += fmt.Sprintf(", %s %d", b.name, b.n)
		}
	}
	if m.Changing != 0 {
		s += " of " + m.Changing.String()
	}
	if m.Parts > 0 {
		s += fmt.Sprintf(" in %d parts", m.Parts)
	}
	if m.Formed {
		s += ", formed"
	}
	s += fmt.Sprintf(", in flight %d", m.InFlight)
	if m.Immediate != 0 {
		s += ", exchanges at once:"
		for k := Vote; k < numKinds; k++ {
			if m.Immediate.has(k) {
				s += " " + k.String()
			}
		}
	}
	if m.MergeFlush {
		s += ", writes flushed at once"
	}
	return s
}
