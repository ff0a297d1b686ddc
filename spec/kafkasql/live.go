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

var atomNames = []string{
	"covered", "B restores", "B serves",
	"somebody asks", "somebody holds the lock", "the lock is of nobody", "the lock is of somebody, or free", "A is out of traffic", "A is not",
}

// Atoms implements concern.Judge.
func (m *machine) Atoms(s *State) (atoms checker.Atoms) {
	if m.model.LockOnly {
		return m.lockAtoms(s)
	}
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

// lockInTheEnd: nobody is killed or paused any more; whoever can go on does.
func lockInTheEnd(properties ...checker.LivenessProperty) *checker.Liveness {
	l := &checker.Liveness{
		Atoms: atomNames, Properties: properties,
		Finally: checker.Finally{Never: []checker.StepSet{concern.Steps(Crash, Pause)}},
		Fair: concern.Fair(2, Start, SendRequest, ConfirmRequest, SendLock, ObserveCoord, LeaseExpires,
			NoteOffsets, WriteDataChunk, SendCommit, Resume),
		Assumes: "in the end nobody is killed or paused, and leases are longer than a dump; each step of an instance that is possible again and again is taken, and everybody wants a checkpoint, always",
	}
	for i := range l.Fair { // who appends may find the others behind, and who judges a lease finds more to read
		l.Fair[i].Strong = true
	}
	return l
}

// committed is a commit whose author holds the lock.
func committed() []checker.StepSet {
	s := concern.Steps(SendCommit)
	s.Mask, s.Args = 1, 1
	return []checker.StepSet{s}
}

var (
	lockCommits    = checker.LivenessProperty{Name: "LockCommits", Form: checker.AlwaysEventually, Steps: committed(), Doc: "L1: again and again a checkpoint is committed by who holds the lock"}
	requestsEnd    = checker.LivenessProperty{Name: "RequestsEnd", Form: checker.LeadsTo, P: Asked, Q: Held, Doc: "L1: if somebody asks for the lock, then somebody comes to hold it: requesters do not livelock"}
	lostIsReplaced = checker.LivenessProperty{Name: "LostHolderReplaced", Form: checker.LeadsTo, P: LockOfNobody, Q: LockOfSomebody, Doc: "L3: a lock whose holder is gone, or has given up, is replaced"}
	freezeEnds     = checker.LivenessProperty{Name: "FreezeEnds", Form: checker.LeadsTo, P: FrozenA, Q: UnfrozenA, Doc: "L6: who is out of traffic comes back"}
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
	{
		Name: "live-kafkasql-a-lock", Why: "A: everybody wants the lock, and holders are killed and paused", Model: "kafkasql-a-lock",
		Pin:      concern.LivePin{Distinct: 40652, Suffix: 40652, Fair: 2},
		Liveness: lockInTheEnd(lockCommits, requestsEnd, lostIsReplaced, freezeEnds),
		Mutations: []concern.LiveMutation{
			{ID: "quiet-restarts", Property: "RequestsEnd", Stem: 5, Cycle: 3},
			{ID: "abort-on-request", Property: "LockCommits", Stem: 10, Cycle: 24},
			{ID: "withdraws-on-expiry", Property: "RequestsEnd", Stem: 9, Cycle: 8},
			{ID: "waiters-refresh", Property: "RequestsEnd", Stem: 23},
			{ID: "old-lock-holds", Property: "LostHolderReplaced", Stem: 7},
			{ID: "stays-frozen", Property: "FreezeEnds", Stem: 15, Cycle: 13},
			{ID: "probe-kills", Property: "LockCommits", Stem: 4, Cycle: 29},
		},
	},
}

// ifNone: an image is made only if there is none of everything, and nobody is about it.
func ifNone(r *Rules) {
	r.Wants = func(s *State, i int) bool { return !s.everythingCommitted(&s.I[i]) && s.idle() }
}
