package checker

// ActionID numbers an action of a specification; [Info.Actions] has its name.
type ActionID uint8

// Instance names one step: an action and its parameters, packed by the
// specification and printed by [Info.FormatStep].
type Instance struct {
	Action ActionID `json:"action"`
	Args   uint32   `json:"args"`
}

// Props is a set of properties, bit i for [Info.Properties][i].
type Props uint64

// PropertyKind says how a property is judged.
type PropertyKind uint8

const (
	// Invariant holds in every reachable state.
	Invariant PropertyKind = iota
	// Always holds of every step between reachable states.
	Always
	// Sometimes is reached by at least one step or state; a run that ends
	// without it says so, since the others may then hold for want of behaviour.
	Sometimes
)

// Property is something that a specification claims of itself.
type Property struct {
	Name string
	Kind PropertyKind
	Doc  string
	// Restates names the guard that the property mirrors. Such a property is
	// reported, and does not count as what catches a mutation.
	Restates string
	// Asymmetric: the verdict may depend on which process is which. It cannot be
	// judged up to symmetry.
	Asymmetric bool
	// Subject names an action, or a Sometimes property, without which the property says
	// nothing. A run in which it does not happen is told so, if coverage is asked for.
	Subject string
}

// Bound is a limit of the model, not of the protocol: what lies beyond it was
// not explored. Runs report how often each bit.
type Bound uint8

// Budget numbers a counter of steps that a model allows only so often.
// Budget 0 is free.
type Budget uint8

// MaxBudgets is how many counters fit a state, number 0 included.
const MaxBudgets = 12

// BudgetInfo is one counter and its limit, at most 255.
type BudgetInfo struct {
	Name  string
	Limit uint8
}

// Info is what the engine must know of a specification to report on it.
type Info struct {
	Name string
	// Constants are the parameters of the model, for a reader.
	Constants  []Constant
	Actions    []string
	Properties []Property
	// Budgets has the entry of budget 0 too, which is unused. A limit of 0 takes
	// the steps out of the model; only a higher one, used up, counts as met.
	Budgets []BudgetInfo
	// Bounds names the limits other than budgets and MaxInFlight.
	Bounds []string
	// Processes names the processes; a System has at most MaxProcesses.
	Processes []string
	// MaxInFlight limits the messages of a System, at most MaxMessages.
	MaxInFlight int
	// FormatStep prints a step as a reader of the protocol would say it, without
	// the process; nil prints the name of the action and the packed parameters.
	FormatStep func(process int, i Instance) string
	// Legend explains, in a sentence, notation that descriptions use.
	Legend string
	// Words has, of fields in predicates that are words of a fixed set, that set, by
	// the name of the field: a question about another word is an error.
	Words map[string][]string
	// Hides says, in a sentence each, which behaviours of the real thing the model
	// leaves out and no run reports as cut.
	Hides []string
}

// GuardCount is how often a named guard of an action was true and false.
type GuardCount struct {
	Action string `json:"action"`
	Guard  string `json:"guard"`
	True   uint64 `json:"true"`
	False  uint64 `json:"false"`
}

// GuardCounter is implemented by specifications, and Systems, that count their named
// guards. An interned System is asked once for each distinct local state, and so counts
// over those.
type GuardCounter interface{ GuardCounts() []GuardCount }

// Constant is a parameter of a model and its value.
type Constant struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Spec is a transition system over states of type S: a fixed-size value
// without pointers, whose bytes are its canonical encoding (so no padding, and
// unused parts are zero), and whose size is a multiple of 8.
//
// A Spec must be usable by several workers at once.
type Spec[S any] interface {
	Info() *Info
	// Init emits the initial states.
	Init(out *Sink[S])
	// Next emits every successor of s, enabled steps only. It must not change s.
	Next(s *S, out *Sink[S])
	// Check returns the invariants that s violates, and the Sometimes
	// properties that it reaches.
	Check(s *S) (violated, reached Props)
	// Describe lists the parts of s, for a reader and for differences.
	Describe(s *S) []Field
}

// Fingerprinter is implemented by specifications whose states have a better
// fingerprint than a hash of their bytes. Equal states must give equal values,
// in every run.
type Fingerprinter[S any] interface {
	Fingerprint(s *S) uint64
}

// Environment is implemented by specifications whose states can be asked about
// in the predicate language of Find. The result is what names in a predicate
// refer to.
type Environment[S any] interface {
	Env(s *S) map[string]any
}

// Projector is implemented by specifications that can leave their budget
// counters out of a fingerprint.
type Projector[S any] interface {
	FingerprintWithoutBudgets(s *S) uint64
}

// Field is one named part of a state. Lists of fields of two states of one
// specification are compared by Path.
type Field struct {
	Path  string `json:"path"` // as "A.role", "budget.crashes"
	Value string `json:"value"`
}

// MaxProcesses and MaxMessages bound a System.
const (
	MaxProcesses = 6
	MaxMessages  = 6
)

// System is a specification of processes that exchange messages. R is the state
// of one process, M a message, G the ghosts: history that properties need and no
// action may see. All three are fixed-size values whose bytes are their
// canonical encoding.
//
// Messages in flight are a bag without order. Two equal messages give the steps
// of one. A send beyond Info.MaxInFlight is not enabled, which counts as met
// bound; one on a connection in use is not enabled, which counts as nothing.
//
// Steps are local: what a process may do depends on its own state and at most
// one message, so the engine asks once for each distinct process state, and for
// each distinct pair of process state and message, and remembers the answer. The
// engine calls these methods under a lock, except Observe, CheckOne, CheckPair,
// Route and the describing ones, which must be safe for concurrent use.
type System[R, M, G comparable] interface {
	Info() *Info
	// Init calls yield for each initial state; processes in the order of
	// Info.Processes.
	Init(yield func(processes []R, network []M, ghost G))
	// Local gives every enabled step of r that takes no message and costs the
	// given budget. It is asked only for budgets that the state still has.
	Local(r *R, b Budget, out *Steps[R, M])
	// Deliver gives every enabled way of r to handle m, which is addressed to it.
	Deliver(r *R, m *M, out *Steps[R, M])
	// Network gives what the environment may do to a message in flight: loss,
	// duplication, a closed connection. It is asked once for each message; the
	// engine leaves out what a used-up budget forbids. Such steps are reported
	// with process -1.
	Network(m *M, out *Fates[M])
	// Route says where m goes.
	Route(m *M) Route
	// Observe brings the ghosts up to date after a step of process v.Actor whose
	// Step.Observe is set, and returns properties that the step violates.
	Observe(g *G, v *View[R]) Props
	// CheckOne and CheckPair return the invariants violated by one process
	// under the ghosts, and by two processes (a before b in order).
	CheckOne(r *R, g *G) Props
	CheckPair(a, b *R) Props
	// DescribeProcess, DescribeMessage and DescribeGhost are for readers.
	DescribeProcess(r *R) []Field
	DescribeMessage(m *M) string
	DescribeGhost(g *G) []Field
	// Env is what a predicate of Find may refer to.
	Env(processes []*R, network []*M, g *G) map[string]any
}

// Outliner is implemented by a System whose Observe, CheckOne and CheckPair look
// only at parts of processes. Outline gives r with everything else zero, and they
// are shown that. What they find is remembered, the more often the fewer outlines.
type Outliner[R any] interface {
	Outline(r *R, of Sight) R
}

// Sight says who looks at a process, and so how much of it must show.
type Sight uint8

const (
	// SightActing is what Observe sees of the process that acts, before and after.
	SightActing Sight = iota
	// SightWatched is what Observe sees of the others.
	SightWatched
	// SightChecked is what CheckOne and CheckPair see.
	SightChecked
	numSights
)

// Perm says where numbers go: p[i] is what i is called afterwards. The numbers are
// those of processes, and from len(Info.Processes) on of whatever else a
// specification may exchange, such as values.
type Perm []uint8

// Symmetric is implemented by a System in which processes, or values, are
// interchangeable, so that of states that differ in names only one need be
// explored. PermuteProcess and the others rename whatever is named in a value; they
// must be a group action, and commute with every step. package checkertest has
// the test.
type Symmetric[R, M, G any] interface {
	// Interchangeable gives groups of numbers that may be exchanged in this very
	// model, no number in two of them. None is an answer: nothing may be.
	Interchangeable() [][]uint8
	PermuteProcess(p Perm, r *R) R
	PermuteMessage(p Perm, m *M) M
	PermuteGhost(p Perm, g *G) G
}

// SymmetricSpec is implemented by a plain specification in which names may be
// exchanged.
type SymmetricSpec[S any] interface {
	// Canonical replaces s by one state of its orbit, the same for all of them:
	// those that differ from s in names only.
	Canonical(s *S)
}

// Step is what one enabled instance does: the process after it, what it sends.
type Step[R, M any] struct {
	Instance Instance
	Next     R
	Sends    [2]M
	SendN    uint8
	// Keep leaves the delivered message in flight, with its connection in use.
	Keep bool
	// Observe asks for System.Observe after this step.
	Observe bool
	// Violated has the Always properties that the step breaks, Reached the
	// Sometimes properties that it reaches.
	Violated, Reached Props
}

// Steps collects the enabled steps of one process.
type Steps[R, M any] struct {
	List []Step[R, M]
	// Bounded has bit i set if Bound i kept a step from being listed.
	Bounded uint32
}

// Add appends a zero step and returns it to be filled.
func (s *Steps[R, M]) Add() *Step[R, M] {
	s.List = append(s.List, Step[R, M]{})
	return &s.List[len(s.List)-1]
}

// Stopped records that bound b kept a step from being listed.
func (s *Steps[R, M]) Stopped(b Bound) { s.Bounded |= 1 << b }

// Fate is one thing the environment may do to a message: replace it by N others
// (0: it is lost), at the cost of a budget.
type Fate[M any] struct {
	Instance Instance
	Budget   Budget
	Becomes  [2]M
	N        uint8
}

// Fates collects what may happen to a message in flight.
type Fates[M any] struct{ List []Fate[M] }

// Route is the way of a message. Two messages with the same Conn, unless it is
// 0, are never in flight at once: a step that would send the second is not
// enabled. An Immediate message is delivered, and its answer if that is
// Immediate too, in the very step that sends it; every answer of the handler is
// followed, and so is the loss of the answer. It takes no room in flight, but its
// connection must be free. A handler's Keep means nothing for it.
type Route struct {
	Dst       uint8
	Conn      uint16
	Immediate bool
}

// Attempt is an instance of an action that a process might take, and what keeps it
// from taking it.
type Attempt struct {
	Instance Instance
	Budget   Budget
	// Refused are the conditions that fail: the first that is asked, then, that one
	// granted, the next, and so on. None fails of a step that is enabled.
	Refused []Refusal
}

// Refusal is a condition that fails.
type Refusal struct {
	Name string `json:"name"`
	// Bound says that it is a limit of the model and not a guard of the protocol.
	Bound bool `json:"bound,omitempty"`
	// Lesser says that it is seldom news that it fails: it asks who a process is, or
	// what a parameter is for.
	Lesser bool `json:"lesser,omitempty"`
}

// Explainer is implemented by a System whose actions have named guards. Its methods
// must be safe for concurrent use.
type Explainer[R, M any] interface {
	// Attempts calls yield for each instance of an action with which the model offers
	// it to r, enabled or not: by itself if m is nil, else as the handler of m, which
	// is addressed to r.
	Attempts(a ActionID, r *R, m *M, yield func(Attempt))
	// Unoffered says why the model offers nobody an action; empty if it may.
	Unoffered(a ActionID) string
}

// Accuser is implemented by a System that can say which part of a violated property
// fails, and of whom: after the last step of a counterexample, which led from old and
// before to now and after, or, for an initial state, with both the same.
type Accuser[R, G any] interface {
	Because(property int, old, now []*R, before, after *G) []string
}

// View is a global state, for observers.
type View[R any] struct {
	P     [MaxProcesses]*R
	N     int
	Actor int
	Old   *R // the actor before the step
}

// Atoms is a set of state predicates that a specification names for liveness,
// bit i for [Liveness.Atoms][i].
type Atoms uint64

// StepSet is a set of steps: those that pass all of its filters.
type StepSet struct {
	// Actions and Processes; nil: any. The environment is process -1.
	Actions   []ActionID
	Processes []int
	// Mask and Args: parameters p with p&Mask == Args.
	Mask, Args uint32
	// When and Unless: steps from states in which all atoms of When hold, and none
	// of Unless.
	When, Unless Atoms
	// Lost: steps of exchanges in which an answer is lost.
	Lost bool
}

// Fairness is that a behaviour does not pass over steps for ever. Weak: if from
// some state on one of the steps is always enabled, one is taken. Strong: if one is
// enabled again and again, one is taken again and again.
type Fairness struct {
	Name   string
	Strong bool
	Steps  []StepSet // their union
}

// Finally is what a liveness model assumes of behaviours from some state on, for
// ever: that state has the atoms From and those of Always, all later ones have
// Always, and no step of Never is taken. Nothing is assumed of what comes before.
type Finally struct {
	From, Always Atoms
	Never        []StepSet
	// FromEnds says that a state without From is never followed by one with it. The
	// run then leaves out what can be in no suffix, which may be nearly everything,
	// and fails if it sees a step that contradicts it.
	FromEnds bool
}

// LivenessForm is the shape of a liveness property.
type LivenessForm uint8

// Forms. A predicate holds in a state that has all of its atoms.
const (
	// Eventually: Q holds, or a step of Steps is taken, at some time.
	Eventually LivenessForm = iota
	// LeadsTo: whenever P holds, then Q holds, or a step of Steps is taken, then or
	// later.
	LeadsTo
	// AlwaysEventually: Q holds, or a step of Steps is taken, again and again.
	AlwaysEventually
	// EventuallyAlways: from some state on Q holds.
	EventuallyAlways
)

// LivenessProperty is something that comes about in every fair behaviour that
// satisfies the assumptions. No atoms in Q and no Steps: nothing ever suffices.
type LivenessProperty struct {
	Name  string
	Form  LivenessForm
	P, Q  Atoms
	Steps []StepSet
	Doc   string
}

// StepLimit says which steps a bound or budget keeps from being taken, by name.
type StepLimit struct {
	Bound string
	Steps StepSet
}

// Liveness is what a specification claims to come about, and under which
// assumptions. What the words mean stands at RunLiveness.
type Liveness struct {
	// Atoms names the state predicates, at most 64.
	Atoms []string
	// Fair has at most 64 conditions.
	Fair    []Fairness
	Finally Finally
	// Limits says what bounds and budgets stop. One that is met after the
	// assumptions hold must stop only steps of Finally.Never.
	Limits     []StepLimit
	Properties []LivenessProperty
	// Assumes says in words what Fair and Finally assume.
	Assumes string
}

// LiveSpec is a specification with liveness properties.
type LiveSpec[S any] interface {
	Spec[S]
	Liveness() *Liveness
	// Atoms returns the predicates that hold in s.
	Atoms(s *S) Atoms
}

// LiveSystem is a System with liveness properties.
type LiveSystem[R, M, G comparable] interface {
	System[R, M, G]
	Liveness() *Liveness
	// Atoms returns the predicates that hold in a state. It must be safe for
	// concurrent use.
	Atoms(processes []*R, network []*M, g *G) Atoms
}

// Dice is where the states of a domain come from: numbers that a seed decides.
type Dice interface {
	// Intn is from 0 to n-1; n must be positive.
	Intn(n int) int
}

// Fact is a claim by name.
type Fact struct{ Name, Doc string }

// Conjunct is a fact about states.
type Conjunct[S any] struct {
	Name, Doc string
	Holds     func(s *S) bool
	// Break, if not nil, tries to make of a state in which all conjuncts hold one in
	// which this one alone does not, and where that tells. [Domain.Perturb] does it
	// otherwise.
	Break func(d Dice, s *S)
}

// Proof is an inductive proof about every reachable state of a system, with the
// finite domain in which its steps are tried. S may be large; it is handed around by
// pointer.
type Proof[S any] struct {
	Name, Doc string
	Actions   []string
	// Branches names what steps must reach besides every action, by bit.
	Branches []string
	// Lemmas are about single steps or values, and know no states of type S.
	Lemmas []Lemma
	// Assumed are invariants that earlier proofs have shown. Invariant is what this
	// one shows: it holds initially, and no step from a state in which Assumed and
	// Invariant hold breaks it. Theorem follows from both within a state.
	Assumed, Invariant, Theorem []Conjunct[S]
	// Domain makes states and takes steps, for one worker.
	Domain func() Domain[S]
}

// Lemma is facts that are judged together, in every case of a finite domain.
type Lemma struct {
	Facts []Fact
	// Actions is nil if the cases are not steps.
	Actions []string
	// Cases calls f with each case: the action of the step, which facts fail, bit by
	// bit, and how to tell of it. It ends early when f returns false.
	Cases func(f func(a ActionID, failed uint64, tell func() string) bool)
}

// Move is a step from a state of a domain: who does what, with which message in
// flight, -1 for none.
type Move struct {
	Instance
	Process, Message int8
	// Reached has the branches of [Proof.Branches] that it takes.
	Reached Props
}

// Domain is the states from which a proof's steps are tried. They need not be
// reachable; what it makes must be a state for any dice, though not one in which
// the invariant holds.
type Domain[S any] interface {
	// Init calls f with each initial state.
	Init(f func(s *S))
	// Construct makes a state in which most of the invariant holds.
	Construct(d Dice, s *S)
	// Perturb changes something in s, so that a part of the invariant may fail.
	Perturb(d Dice, s *S)
	// Steps calls f with every step from s that leads to a state with room in S. What
	// f is given is used again for the next one.
	Steps(s *S, f func(m Move, next *S))
	// Size orders states: of two counterexamples the smaller is shown.
	Size(s *S) int
	// Describe lists the parts of s, Tell says what a step from s does.
	Describe(s *S) []Field
	Tell(s *S, m Move) string
}
