package spec

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
)

// Here is what docs/proofs/election-safety.md has checked by machine, under its
// names: the step facts, over every step of many local states, reachable or not; and
// the invariants, in every reachable state of small models.

// localStep is a step of one replica, with the message that it took and what it
// sent.
type localStep struct {
	action   ActionID
	voters   Set
	old, now *Replica
	took     *Msg
	sent     []Msg
}

func (s *localStep) String() string {
	text := fmt.Sprintf("%s: %v -> %v", s.action, Describe(s.old), Describe(s.now))
	if s.took != nil {
		text += " took " + s.took.String()
	}
	for i := range s.sent {
		text += " sent " + s.sent[i].String()
	}
	return text
}

// isGrant: m grants a vote, not a pre-vote.
func isGrant(m *Msg) bool {
	return m != nil && m.Kind == Vote && m.Response && m.Granted && !m.PreVote
}

// isMajority is what the theorem means by it, whatever the rule says.
func isMajority(s, voters Set) bool { return 2*(s&voters).Len() > voters.Len() }

type stepFact struct {
	name  string
	holds func(s *localStep) bool
}

// stepFacts hold of every step of a replica in which StoredIsElection held before.
var stepFacts = []stepFact{
	{"StoredIsElection", func(s *localStep) bool { return s.now.Stored == s.now.Election }},
	{"VoteStays", func(s *localStep) bool {
		old, now := s.old.Election, s.now.Election
		return now.Epoch > old.Epoch || now.Epoch == old.Epoch && (old.Voted == Nobody || now.Voted == old.Voted)
	}},
	{"GrantIsVote", func(s *localStep) bool {
		for i := range s.sent {
			if m := &s.sent[i]; isGrant(m) &&
				(m.Src != s.now.ID || m.Epoch != s.now.Election.Epoch || m.Dst != s.now.Election.Voted) {
				return false
			}
		}
		return true
	}},
	{"CountedIsGrant", func(s *localStep) bool {
		if s.now.Role != Candidate {
			return true
		}
		if s.now.Granted == SetOf(s.now.ID) && s.now.Election.Voted == s.now.ID {
			return true // it has just voted, or was restarted
		}
		if s.old.Role != Candidate || s.old.Election.Epoch != s.now.Election.Epoch {
			return false
		}
		counted := s.old.Granted
		if isGrant(s.took) && s.took.Epoch == s.now.Election.Epoch {
			counted = counted.With(s.took.Src)
		}
		return s.now.Granted&^counted == 0
	}},
	{"LeaderWasElected", func(s *localStep) bool {
		if s.now.Role != Leader {
			return true
		}
		return s.now.Election.Epoch == s.old.Election.Epoch &&
			(s.old.Role == Leader || s.old.Role == Candidate && isMajority(s.old.Granted, s.voters))
	}},
}

// everyLog lists logs that end below, in and above the epochs of everyReplica.
func everyLog() []Log {
	var logs []Log
	for _, epochs := range [][]Epoch{{}, {1}, {1, 2}, {3}} {
		var l Log
		for _, e := range epochs {
			l.Append(Run{Count: 1, Epoch: e, Origin: 2})
		}
		logs = append(logs, l)
	}
	return logs
}

// everyReplica calls f with local states in which StoredIsElection holds, whatever
// else they are: of the voter 1 and the observer 4, of voters 1 to 3.
func everyReplica(f func(r *Replica)) {
	for _, self := range []ID{1, 4} {
		for role := Unattached; role <= Down; role++ {
			for _, epoch := range []Epoch{0, 2} {
				for _, leader := range []ID{Nobody, self, 2} {
					for _, voted := range []ID{Nobody, self, 2, 3} {
						for _, granted := range []Set{0, SetOf(1), SetOf(1, 2), SetOf(2, 3)} {
							for _, log := range everyLog() {
								r := NewReplica(self, PreVote)
								r.Role, r.Granted, r.Log, r.Disk = role, granted, log, log
								r.Election = Election{Epoch: epoch, Leader: leader, Voted: voted}
								r.Stored = r.Election
								r.LeaderChangeWritten, r.HighWatermark = true, 0
								f(&r)
								r.Version, r.Disk = 0, Log{}
								r.LeaderChangeWritten, r.HighWatermark = false, Unknown
								r.Reading, r.Confirmed = true, granted
								f(&r)
							}
						}
					}
				}
			}
		}
	}
}

// everyMessage lists messages that a handler may be given, honest or not.
func everyMessage(a ActionID) []Msg {
	var all []Msg
	t := &actionTable[a]
	for e := Epoch(0); e <= 3; e++ {
		for _, src := range []ID{2, 4} {
			if src == 4 && t.kind != Vote {
				continue // only votes are counted by who sent them
			}
			base := Msg{Kind: t.kind, Response: t.answer, Src: src, Dst: 1, Epoch: e, HighWatermark: Unknown}
			switch {
			case t.kind == Vote && !t.answer:
				for _, last := range everyLog() {
					m := base
					m.Offset, m.LastEpoch = last.End(), last.LastEpoch()
					all = append(all, m)
					m.PreVote = true
					all = append(all, m)
				}
			case t.answer:
				for _, leader := range []ID{Nobody, 1, 2} {
					for code := NoErrorCode; code <= UnknownLeaderEpoch; code++ {
						m := base
						m.Leader, m.Error = leader, code
						all = append(all, m)
						if t.kind == Vote {
							for _, pre := range []bool{false, true} {
								m.Granted, m.PreVote = true, pre
								all = append(all, m)
							}
						}
						if t.kind == Fetch {
							m.Records.Append(Run{Count: 1, Epoch: 2, Origin: 2})
							all = append(all, m)
						}
					}
				}
			default:
				all = append(all, base)
			}
		}
	}
	return all
}

// everyArgs lists parameters of an action, those out of range too.
func everyArgs(a ActionID) []Args {
	switch a {
	case ActionSendVoteRequest, ActionSendBeginQuorumEpoch, ActionSendEndQuorumEpoch, ActionSendFetch:
		return []Args{{Dst: 1}, {Dst: 2}, {Dst: 4}}
	case ActionFlush, ActionAppend:
		return []Args{{Count: 0}, {Count: 1}, {Count: 2}}
	case ActionHandleFetchRequest:
		return []Args{{Count: 0}, {Count: 1}, {Park: true}}
	case ActionCrash:
		return []Args{{Keep: 0}, {Keep: 1}, {Keep: 2}}
	}
	return []Args{{}}
}

// takeEveryStep takes the given actions under a variant of the protocol, with all
// parameters, from every local state, until f says that it is enough.
func takeEveryStep(actions []ActionID, v Variant, f func(s *localStep) bool) {
	sys := NewSystem(&Model{Voters: 3, Observers: 1, Epochs: maxStarts}, v)
	for _, a := range actions {
		messages := []Msg{{}}
		if a.Handles() {
			messages = everyMessage(a)
		}
		args, enough := everyArgs(a), false
		everyReplica(func(r *Replica) {
			for i := range messages {
				for j := range args {
					if enough {
						return
					}
					now := *r
					step := localStep{action: a, voters: sys.ctx.Voters, old: r, now: &now}
					if a.Handles() {
						step.took = &messages[i]
					}
					if sys.take(a, &now, step.took, args[j]) {
						step.sent = sys.scratch.Messages()
						enough = f(&step)
					}
				}
			}
		})
	}
}

// actionsOfProof are all that a replica does but LoseDisk, which the proof excludes.
func actionsOfProof() []ActionID {
	var all []ActionID
	for a := ActionID(0); a < NumReplicaActions; a++ {
		if a != ActionLoseDisk {
			all = append(all, a)
		}
	}
	return all
}

// The step facts hold in every step of every action.
func TestStepFacts(t *testing.T) {
	taken := map[ActionID]int{}
	takeEveryStep(actionsOfProof(), Variant{}, func(s *localStep) bool {
		taken[s.action]++
		for i := range stepFacts {
			if !stepFacts[i].holds(s) {
				t.Errorf("%s: %s", stepFacts[i].name, s)
			}
		}
		return t.Failed()
	})
	for _, a := range actionsOfProof() {
		assert.NotZero(t, taken[a], "%s was never enabled", a)
	}
}

// What the environment does to a message in flight changes none of what it says.
func TestMessagesKeepWhatTheySay(t *testing.T) {
	sys := NewSystem(proofLate, Variant{})
	for _, a := range actionsOfProof() {
		if !a.Handles() {
			continue
		}
		for _, m := range everyMessage(a) {
			var fates checker.Fates[Msg]
			sys.Network(&m, &fates)
			for _, f := range fates.List {
				for _, b := range f.Becomes[:f.N] {
					b.Late = m.Late
					assert.Equal(t, m, b, "%s", ActionID(f.Instance.Action))
				}
			}
		}
	}
}

func bug(t *testing.T, id string) Variant {
	mu, ok := MutationNamed(id)
	require.True(t, ok, id)
	return Variant{Mutation: mu}
}

func without(a ActionID, g Guard) Variant { return Variant{DropAction: a, DropGuard: g} }

// Each step fact fails where the proof says that it needs a rule or a guard.
func TestStepFactsNeedTheirRules(t *testing.T) {
	for _, c := range []struct {
		fact string
		in   ActionID
		v    Variant
	}{
		{"StoredIsElection", ActionHandleVoteRequest, bug(t, "vote-forgotten")},
		{"StoredIsElection", ActionBecomeCandidate, bug(t, "epoch-not-persisted")},
		{"StoredIsElection", ActionRestart, bug(t, "KAFKA-10661")},
		{"VoteStays", ActionRestart, bug(t, "KAFKA-10661")},
		{"VoteStays", ActionHandleVoteRequest, without(ActionHandleVoteRequest, NewerEpoch)},
		{"VoteStays", ActionHandleVoteResponse, without(ActionHandleVoteResponse, NotStale)},
		{"VoteStays", ActionHandleVoteResponse, without(ActionHandleVoteResponse, NewerEpoch)},
		{"VoteStays", ActionHandleBeginQuorumEpochRequest, without(ActionHandleBeginQuorumEpochRequest, NotStale)},
		{"VoteStays", ActionHandleBeginQuorumEpochResponse, without(ActionHandleBeginQuorumEpochResponse, NotStale)},
		{"VoteStays", ActionHandleEndQuorumEpochRequest, without(ActionHandleEndQuorumEpochRequest, NotStale)},
		{"VoteStays", ActionHandleBeginQuorumEpochResponse, without(ActionHandleBeginQuorumEpochResponse, NewerEpoch)},
		{"VoteStays", ActionHandleEndQuorumEpochResponse, without(ActionHandleEndQuorumEpochResponse, NotStale)},
		{"VoteStays", ActionHandleEndQuorumEpochResponse, without(ActionHandleEndQuorumEpochResponse, NewerEpoch)},
		{"VoteStays", ActionHandleFetchResponse, without(ActionHandleFetchResponse, NotStale)},
		{"VoteStays", ActionHandleFetchResponse, without(ActionHandleFetchResponse, NewerEpoch)},
		{"VoteStays", ActionLoseDisk, Variant{}},
		{"GrantIsVote", ActionHandleVoteRequest, without(ActionHandleVoteRequest, VoteAllowed)},
		{"CountedIsGrant", ActionHandleVoteResponse, bug(t, "votes-counted-twice")},
		{"CountedIsGrant", ActionHandleVoteResponse, without(ActionHandleVoteResponse, Tallying)},
		{"CountedIsGrant", ActionHandleVoteResponse, without(ActionHandleVoteResponse, WasGranted)},
		{"CountedIsGrant", ActionHandleVoteResponse, without(ActionHandleVoteResponse, NotStale)},
		{"LeaderWasElected", ActionBecomeLeader, bug(t, "majority-of-one-less")},
		{"LeaderWasElected", ActionBecomeLeader, without(ActionBecomeLeader, IsCandidate)},
		{"LeaderWasElected", ActionBecomeLeader, without(ActionBecomeLeader, HasMajority)},
		{"LeaderWasElected", ActionRestart, bug(t, "KAFKA-10527")},
	} {
		i := slices.IndexFunc(stepFacts, func(f stepFact) bool { return f.name == c.fact })
		require.GreaterOrEqual(t, i, 0, c.fact)
		broken := false
		takeEveryStep([]ActionID{c.in}, c.v, func(s *localStep) bool {
			broken = !stepFacts[i].holds(s)
			return broken
		})
		assert.True(t, broken, "%s holds of %s under %+v", c.fact, c.in, c.v)
	}
}

// MajoritiesMeet: two majorities of one set of voters share a voter, for each size
// that a set may have.
func TestMajoritiesMeet(t *testing.T) {
	meet := func(r *Rules) bool {
		for n := 1; n <= MaxReplicas; n++ {
			for a := Set(0); ; a++ {
				for b := a; ; b++ {
					inside := (a|b)&^All(n) == 0
					if inside && a.Len() >= r.Majority(n) && b.Len() >= r.Majority(n) && a&b == 0 {
						return false
					}
					if b == All(MaxReplicas) {
						break
					}
				}
				if a == All(MaxReplicas) {
					break
				}
			}
		}
		return true
	}
	assert.True(t, meet(CleanRules()))
	for _, id := range []string{"majority-of-half", "majority-of-one-less"} {
		r := CleanRules()
		bug(t, id).Mutation.Override(r)
		assert.False(t, meet(r), id)
	}
}

// gave is the history that the proof adds to a state: for each replica the highest
// epoch it was in and, by epoch, for whom its file ever had a vote; for each epoch,
// who ever led it.
type gave struct {
	Highest [MaxReplicas]Epoch
	To      [MaxReplicas][maxStarts + 2]Set
	Led     [maxStarts + 2]Set
}

func (g *gave) note(r *Replica) {
	i := r.ID.index()
	g.Highest[i] = max(g.Highest[i], r.Stored.Epoch, r.Election.Epoch)
	if r.Stored.Voted != Nobody {
		g.To[i][r.Stored.Epoch] = g.To[i][r.Stored.Epoch].With(r.Stored.Voted)
	}
	if r.Role == Leader {
		g.Led[r.Election.Epoch] = g.Led[r.Election.Epoch].With(r.ID)
	}
}

// voted: the file of i had a vote for c in epoch e, now or once.
func (g *gave) voted(i ID, e Epoch, c ID) bool { return g.To[i.index()][e].Has(c) }

type global = checker.FlatState[Replica, Msg, gave]

// proofInvariants hold in every reachable state.
var proofInvariants = []struct {
	name, doc string
	holds     func(voters Set, s *global) bool
}{
	{"StoredIsElection", "the quorum-state file says what the process knows", eachReplica(func(_ Set, r *Replica, _ *gave) bool {
		return r.Stored == r.Election
	})},
	{"EpochMonotonic", "no replica was ever in a higher epoch than now", eachReplica(func(_ Set, r *Replica, g *gave) bool {
		return r.Stored.Epoch == g.Highest[r.ID.index()]
	})},
	{"VoteKept", "a vote given in the present epoch is in the file", eachReplica(func(_ Set, r *Replica, g *gave) bool {
		given := g.To[r.ID.index()][r.Stored.Epoch]
		return given == 0 || r.Stored.Voted != Nobody && given == SetOf(r.Stored.Voted)
	})},
	{"VoteOnce", "in each epoch a replica votes for one candidate, ever", eachReplica(func(_ Set, r *Replica, g *gave) bool {
		for _, given := range g.To[r.ID.index()] {
			if given.Len() > 1 {
				return false
			}
		}
		return true
	})},
	{"GrantsAreVotes", "who grants a vote has it in the file, or had it", func(_ Set, s *global) bool {
		for i := range s.Network[:s.Messages] {
			if m := &s.Network[i]; isGrant(m) && !s.Ghost.voted(m.Src, m.Epoch, m.Dst) {
				return false
			}
		}
		return true
	}},
	{"GrantedWereGiven", "a candidate counts only who has voted for it in its epoch", eachReplica(func(_ Set, r *Replica, g *gave) bool {
		for i := ID(1); r.Role == Candidate && i <= MaxReplicas; i++ {
			if r.Granted.Has(i) && !g.voted(i, r.Election.Epoch, r.ID) {
				return false
			}
		}
		return true
	})},
	{"LeaderHasMajority", "whoever led an epoch has votes of a majority in it", func(voters Set, s *global) bool {
		for e, led := range s.Ghost.Led {
			for c := ID(1); c <= MaxReplicas; c++ {
				var by Set
				for i := ID(1); i <= MaxReplicas; i++ {
					if s.Ghost.voted(i, Epoch(e), c) {
						by = by.With(i)
					}
				}
				if led.Has(c) && !isMajority(by, voters) {
					return false
				}
			}
		}
		return true
	}},
	{"ElectionSafety", "an epoch has at most one leader, ever", func(_ Set, s *global) bool {
		for _, led := range s.Ghost.Led {
			if led.Len() > 1 {
				return false
			}
		}
		return true
	}},
}

func eachReplica(holds func(voters Set, r *Replica, g *gave) bool) func(Set, *global) bool {
	return func(voters Set, s *global) bool {
		for i := range s.Processes {
			if r := &s.Processes[i]; r.ID != Nobody && !holds(voters, r, &s.Ghost) {
				return false
			}
		}
		return true
	}
}

// proofSystem is a model with the history of the proof in place of its own, and the
// invariants of the proof in place of its properties.
type proofSystem struct {
	*System
	info *checker.Info
}

func newProofSystem(m *Model, v Variant) *proofSystem {
	p := &proofSystem{System: NewSystem(m, v)}
	info := *p.System.Info()
	info.Properties = nil
	for _, i := range proofInvariants {
		info.Properties = append(info.Properties, checker.Property{Name: i.name, Kind: checker.Invariant, Doc: i.doc})
	}
	p.info = &info
	return p
}

func (p *proofSystem) Info() *checker.Info { return p.info }

func (p *proofSystem) Init(yield func([]Replica, []Msg, gave)) {
	p.System.Init(func(rs []Replica, ms []Msg, _ Ghost) { yield(rs, ms, gave{}) })
}

func (p *proofSystem) Local(r *Replica, b checker.Budget, out *steps) {
	p.System.Local(r, b, out)
	observeAll(out)
}

func (p *proofSystem) Deliver(r *Replica, m *Msg, out *steps) {
	p.System.Deliver(r, m, out)
	observeAll(out)
}

func observeAll(out *steps) {
	for i := range out.List {
		s := &out.List[i]
		s.Observe, s.Violated, s.Reached = true, 0, 0
	}
}

func (p *proofSystem) Observe(g *gave, v *checker.View[Replica]) checker.Props {
	g.note(v.P[v.Actor])
	return 0
}

func (p *proofSystem) CheckOne(*Replica, *gave) checker.Props { return 0 }

func (p *proofSystem) DescribeGhost(*gave) []checker.Field { return nil }

func (p *proofSystem) Env(rs []*Replica, ms []*Msg, _ *gave) map[string]any {
	return p.System.Env(rs, ms, &Ghost{})
}

// proofSpec judges whole states, messages in flight too.
type proofSpec struct {
	checker.Spec[global]
	voters Set
}

func (p proofSpec) Fingerprint(s *global) uint64 {
	return p.Spec.(checker.Fingerprinter[global]).Fingerprint(s)
}

func (p proofSpec) Check(s *global) (violated, reached checker.Props) {
	for i := range proofInvariants {
		if !proofInvariants[i].holds(p.voters, s) {
			violated |= 1 << i
		}
	}
	return violated, 0
}

func checkProof(t *testing.T, m *Model, v Variant, properties ...string) *checker.Result {
	sys := newProofSystem(m, v)
	spec := proofSpec{checker.Flat[Replica, Msg, gave](sys), m.voters()}
	res, err := checker.Run(spec, checker.Options{Properties: properties})
	require.NoError(t, err, m.Name)
	return res
}

func named(t *testing.T, name string) *Model {
	m, ok := ModelNamed(name)
	require.True(t, ok, name)
	return m
}

// Models for the proof, small enough for the flat engine.
var (
	// Pre-votes of the epoch of a candidate that was restarted.
	proofPreVote = &Model{
		Name: "proof-prevote", Voters: 2, PreVote: All(2), Epochs: 2, Crashes: 1, StaysDown: true, InFlight: 1,
		Stand: stand(justA, justB), Silent: Kinds(BeginQuorumEpoch, Fetch), MergeFlush: true,
	}
	proofUpgrade = &Model{
		Name: "proof-upgrade", Voters: 2, PreVote: justA, Epochs: 2, InFlight: 1, Stand: stand(justA, justB),
		Silent: Kinds(BeginQuorumEpoch, Fetch), MergeFlush: true,
	}
	proofResign = &Model{
		Name: "proof-resign", Voters: 2, PreVote: All(2), Epochs: 2, Resigns: 1, InFlight: 1,
		Immediate: Kinds(BeginQuorumEpoch, Fetch), Silent: Kinds(BeginQuorumEpoch, Fetch), MergeFlush: true,
	}
	// Messages that outlive their connection and the process that sent them.
	proofLate = &Model{
		Name: "proof-late", Voters: 3, Epochs: 1, Crashes: 1, Late: 1, InFlight: 1, Stand: stand(aOrC),
		Silent: Kinds(BeginQuorumEpoch, Fetch), MergeFlush: true,
	}
	// The same over two epochs, and copies of messages.
	proofPair = &Model{
		Name: "proof-pair", Voters: 2, Epochs: 2, Late: 1, InFlight: 2,
		Immediate: Kinds(BeginQuorumEpoch, Fetch), Silent: Kinds(BeginQuorumEpoch, Fetch), MergeFlush: true,
	}
	proofCopies = &Model{
		Name: "proof-copies", Voters: 3, Epochs: 1, Late: 1, InFlight: 2, Stand: stand(justA),
		Immediate: Kinds(BeginQuorumEpoch, Fetch), Silent: Kinds(BeginQuorumEpoch, Fetch), MergeFlush: true,
	}
	proofFour = &Model{
		Name: "proof-four", Voters: 4, Epochs: 1, InFlight: 1, Stand: stand(aOrC),
		Immediate: Kinds(BeginQuorumEpoch, Fetch), Silent: Kinds(BeginQuorumEpoch, Fetch), MergeFlush: true,
	}
	// What the theorem excludes: a voter that comes back without its disk.
	proofDisk = &Model{
		Name: "proof-disk", Voters: 3, Epochs: 1, Disks: 1, InFlight: 1, Stand: stand(aOrC),
		Silent: Kinds(BeginQuorumEpoch, Fetch), MergeFlush: true,
	}
)

// The invariants hold in every reachable state of small models.
func TestProofInvariants(t *testing.T) {
	for _, m := range []*Model{
		named(t, "single"), named(t, "commit"), named(t, "vote-restart"),
		proofPreVote, proofUpgrade, proofResign, proofLate, proofPair, proofCopies, proofFour,
	} {
		t.Run(m.Name, func(t *testing.T) {
			res := checkProof(t, m, Variant{})
			for _, v := range res.Violations {
				t.Errorf("%s after %d steps", v.Property, len(v.Trace)-1)
			}
			t.Logf("%d states, depth %d, %.1f s", res.Distinct, res.Depth, res.Seconds)
		})
	}
}

// Each invariant fails where the proof says that it needs a rule, a guard or an
// assumption.
func TestProofInvariantsNeedTheirRules(t *testing.T) {
	restart := named(t, "vote-restart")
	for _, c := range []struct {
		invariant string
		m         *Model
		v         Variant
	}{
		{"StoredIsElection", restart, bug(t, "vote-forgotten")},
		{"EpochMonotonic", restart, bug(t, "epoch-not-persisted")},
		{"VoteKept", restart, bug(t, "KAFKA-10661")},
		{"VoteOnce", restart, bug(t, "KAFKA-10661")},
		{"GrantsAreVotes", restart, bug(t, "vote-forgotten")},
		{"GrantsAreVotes", restart, without(ActionHandleVoteRequest, VoteAllowed)},
		{"GrantedWereGiven", proofCopies, bug(t, "votes-counted-twice")},
		{"GrantedWereGiven", proofPreVote, without(ActionHandleVoteResponse, Tallying)},
		{"LeaderHasMajority", restart, bug(t, "majority-of-one-less")},
		{"LeaderHasMajority", proofFour, bug(t, "majority-of-half")},
		{"LeaderHasMajority", proofPreVote, without(ActionBecomeLeader, IsCandidate)},
		{"ElectionSafety", restart, bug(t, "KAFKA-10661")},
		{"ElectionSafety", restart, bug(t, "vote-forgotten")},
		{"ElectionSafety", restart, bug(t, "epoch-not-persisted")},
		{"ElectionSafety", restart, bug(t, "majority-of-one-less")},
		{"ElectionSafety", proofFour, bug(t, "majority-of-half")},
		{"ElectionSafety", proofDisk, Variant{}},
	} {
		res := checkProof(t, c.m, c.v, c.invariant)
		if assert.NotEmpty(t, res.Violations, "%s holds in %s under %+v", c.invariant, c.m.Name, c.v) {
			t.Logf("%s fails in %s after %d steps, %.1f s", c.invariant, c.m.Name, len(res.Violations[0].Trace)-1, res.Seconds)
		}
	}
}

// The proof goes through all actions, and cites facts and invariants by their names.
func TestProofNamesEverything(t *testing.T) {
	text, err := os.ReadFile("../docs/proofs/election-safety.md")
	require.NoError(t, err)
	for _, a := range actionsOfProof() {
		assert.Contains(t, string(text), "`"+a.String()+"`", "the proof has no case for it")
	}
	for _, f := range stepFacts {
		assert.Contains(t, string(text), "`"+f.name+"`")
	}
	for _, i := range proofInvariants {
		assert.Contains(t, string(text), "`"+i.name+"`")
	}
}
