package kafkasql

import (
	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec/concern"
)

// What comes about in the end. Until some state anything may happen that the model offers;
// from then on nothing fails, and whoever can do something does it.

// Atoms of liveness.
const (
	Covered checker.Atoms = 1 << iota
	RestoringB
	ServingB
)

var atomNames = []string{"covered", "B restores", "B serves"}

// Atoms implements concern.Judge.
func (m *machine) Atoms(s *State) (atoms checker.Atoms) {
	b := &s.I[1]
	for _, x := range []struct {
		atom checker.Atoms
		ok   bool
	}{
		{Covered, s.covers(s.N)},
		{RestoringB, b.restoring()},
		{ServingB, b.Phase == Ready || b.Phase == GaveUp},
	} {
		if x.ok {
			atoms |= x.atom
		}
	}
	return atoms
}

// inTheEnd: nothing fails any more, and whoever can go on with its own work for ever does.
func inTheEnd(writes bool, properties ...checker.LivenessProperty) *checker.Liveness {
	never := []Action{Crash, DamageObject}
	if !writes {
		never = append(never, Append)
	}
	l := &checker.Liveness{
		Atoms: atomNames, Properties: properties,
		Finally: checker.Finally{Never: []checker.StepSet{concern.Steps(never...)}},
		Assumes: "in the end nobody ends, and nothing is damaged; each step of an instance that stays possible is taken",
		Limits: []checker.StepLimit{
			{Bound: boundNames[boundCrashes], Steps: concern.Steps(Crash)},
			{Bound: boundNames[boundDamages], Steps: concern.Steps(DamageObject)},
		},
	}
	for a := Start; a <= AppendCommit; a++ {
		l.Fair = append(l.Fair, concern.Fair(2, a)...)
	}
	return l
}

var (
	checkpointCompletes = checker.LivenessProperty{Name: "CheckpointCompletes", Form: checker.AlwaysEventually, Q: Covered, Doc: "L1, L3: again and again everything in the journal is in an image that is committed and complete"}
	recoveryEnds        = checker.LivenessProperty{Name: "RecoveryEnds", Form: checker.LeadsTo, P: RestoringB, Q: ServingB, Doc: "L2: whoever starts comes to serve, or says that it cannot"}
)

// Lives are the live models.
var Lives = []concern.Live{
	{
		Name: "live-kafkasql-t", Why: "T: a writer ends, and an image is damaged", Model: "kafkasql-t-live",
		Pin:      concern.LivePin{Distinct: 1950, Suffix: 1950, Fair: 142},
		Liveness: inTheEnd(false, checkpointCompletes, recoveryEnds),
		Mutations: []concern.LiveMutation{
			{ID: "damaged-counts-as-recent", Property: "CheckpointCompletes", Stem: 5},
			{ID: "failure-burns-interval", Property: "CheckpointCompletes", Stem: 4},
		},
	},
	{
		Name: "live-kafkasql-writer", Why: "T: an instance starts while clients write for ever", Model: "kafkasql-t-endless",
		Pin:       concern.LivePin{Distinct: 117, Suffix: 117, Fair: 1},
		Liveness:  inTheEnd(true, recoveryEnds),
		Mutations: []concern.LiveMutation{{ID: "moving-target", Property: "RecoveryEnds", Stem: 2, Cycle: 3}},
	},
}

// ifNone: an image is made only if there is none of everything, and nobody is about it.
func ifNone(r *Rules) {
	r.Wants = func(s *State, i int) bool { return !s.everythingCommitted(&s.I[i]) && s.idle() }
}
