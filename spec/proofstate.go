package spec

import (
	"fmt"

	"github.com/quorate/quorate/checker"
)

// Sizes of the states that proofs are tried from. An epoch or offset beyond them is
// not tried: see proofSteps.
const (
	proofReplicas = 4
	proofMessages = 3 // two, and room for what a step sends
	proofEpochs   = 5 // from 0
	proofEnd      = 6 // the longest log
)

// ProofState is a state of the whole system, with the history that the proofs of
// docs/proofs add to it and no action sees.
type ProofState struct {
	// Voters are the first of N replicas.
	Voters   Set
	N        int
	Replicas [proofReplicas]Replica
	Messages int
	Network  [proofMessages]Msg
	History
	derived
}

// History is what the proofs add to a state, and no action sees.
type History struct {
	// Logs has, by epoch, the log of the leader, as long as it was when it led last;
	// Begin where in it the epoch begins; Exposed the highest high watermark it had as
	// leader, 0 for none.
	Logs    [proofEpochs]Log
	Begin   [proofEpochs]Offset
	Exposed [proofEpochs]Offset
	// Left is what a replica had flushed when it left an epoch; empty for epochs
	// that it skipped or has not left.
	Left [proofReplicas][proofEpochs]Log
	// Gave has for whom the file of a replica had a vote in an epoch, ever; Led who
	// ever led it.
	Gave [proofReplicas][proofEpochs]Set
	Led  [proofEpochs]Set
	//lint:ignore U1000 what a checker fingerprints has no padding
	spare [7]uint8
}

// derived is what the facts are stated in: it follows from the rest of the state.
type derived struct {
	// kept is how much of Logs[e] a voter had flushed when it was in epoch e last, or
	// has flushed, if it is there now; -1 if it has not come there.
	kept [proofReplicas][proofEpochs]Offset
	// choosable has bit o set if a majority of voters have kept, or may yet keep, all
	// of Logs[e] below o, and o is behind the beginning of the epoch.
	choosable [proofEpochs]uint8
	// chosen is the largest o, behind the beginning of the epoch, up to which a
	// majority has kept Logs[e]; 0 if there is none.
	chosen [proofEpochs]Offset
}

func (s *ProofState) replicas() []Replica { return s.Replicas[:s.N] }

func (s *ProofState) network() []Msg { return s.Network[:s.Messages] }

func (s *ProofState) replica(id ID) *Replica { return &s.Replicas[id.index()] }

// led: somebody leads epoch e, or did.
func (h *History) led(e Epoch) bool { return h.Led[e] != 0 }

// flushed is the part of the log that no crash takes away.
func flushed(r *Replica) Log { return r.Log.Slice(0, r.FlushedEnd()) }

// derive brings the derived part up to date.
func (s *ProofState) derive() {
	s.derived = derived{}
	for i := range s.replicas() {
		r := &s.Replicas[i]
		for e := range Epoch(proofEpochs) {
			switch {
			case e > r.Election.Epoch:
				s.kept[i][e] = -1
			case !s.led(e):
			case e == r.Election.Epoch:
				s.kept[i][e] = min(r.FlushedEnd(), CommonPrefix(&r.Log, &s.Logs[e]))
			default:
				s.kept[i][e] = CommonPrefix(&s.Left[i][e], &s.Logs[e])
			}
		}
	}
	for e := range Epoch(proofEpochs) {
		for o := s.Begin[e] + 1; s.led(e) && o <= s.Logs[e].End(); o++ {
			var may, have Set
			for i := range s.replicas() {
				id := ID(i + 1)
				if s.kept[i][e] >= o {
					have = have.With(id)
				}
				if s.kept[i][e] >= o || s.Replicas[i].Election.Epoch <= e {
					may = may.With(id)
				}
			}
			if isMajority(may, s.Voters) {
				s.choosable[e] |= 1 << o
			}
			if isMajority(have, s.Voters) {
				s.chosen[e] = o
			}
		}
	}
}

// mostChoosable is the largest offset of epoch e that is choosable and not beyond
// most; 0 if there is none.
func (s *ProofState) mostChoosable(e Epoch, most Offset) Offset {
	for o := most; o > s.Begin[e]; o-- {
		if s.choosable[e]>>o&1 == 1 {
			return o
		}
	}
	return 0
}

// isMajority is what the theorems mean by it, whatever the rule says.
func isMajority(s, voters Set) bool { return 2*(s&voters).Len() > voters.Len() }

// isGrant: m grants a vote, not a pre-vote.
func isGrant(m *Msg) bool {
	return m != nil && m.Kind == Vote && m.Response && m.Granted && !m.PreVote
}

// asksVote: m asks for a vote, not for a pre-vote.
func asksVote(m *Msg) bool { return m.Kind == Vote && !m.Response && !m.PreVote }

// brings: m is the answer of a leader to a fetch, with records or without.
func brings(m *Msg) bool {
	return m.Kind == Fetch && m.Response && m.Error == NoErrorCode && !m.Diverging
}

// stands: r has voted for itself in its epoch and knows no leader: as long as that
// is so it may become leader, after restarts too.
func stands(r *Replica) bool {
	return r.Election.Voted == r.ID && r.Election.Leader == Nobody
}

// note brings the history up to date after a step of a replica from old to now.
func (h *History) note(old, now *Replica) {
	i, e := now.ID.index(), now.Election.Epoch
	if before := old.Election.Epoch; before < e {
		h.Left[i][before] = flushed(old)
	}
	if v := now.Stored.Voted; v != Nobody {
		h.Gave[i][now.Stored.Epoch] = h.Gave[i][now.Stored.Epoch].With(v)
	}
	if now.Role != Leader {
		return
	}
	if !h.led(e) {
		h.Logs[e], h.Begin[e] = now.Log, now.Log.End()
	}
	h.Led[e] = h.Led[e].With(now.ID)
	if CommonPrefix(&h.Logs[e], &now.Log) == h.Logs[e].End() {
		h.Logs[e] = now.Log // the leader has appended
	}
	h.Exposed[e] = max(h.Exposed[e], min(now.HighWatermark, now.Log.End()))
}

// fits says whether the state after a step has room in S.
func (s *ProofState) fits(r *Replica, sent int) bool {
	return r.Election.Epoch < proofEpochs && r.Stored.Epoch < proofEpochs &&
		r.Log.End() <= proofEnd && r.Disk.End() <= proofEnd && s.Messages+sent <= proofMessages
}

// proofSteps takes steps from states, under a variant of the protocol.
type proofSteps struct {
	sys  *System
	next ProofState
	// Scratch, used again for every step.
	now  Replica
	took Msg
	list []Args
}

// roomy is a model with no bounds: the proofs have those of ProofState.
var roomy = Model{Name: "proof", Voters: 3, Observers: 1, Epochs: proofEpochs, InFlight: proofMessages, StaysDown: true, Bootstrap: true}

func newProofSteps(v Variant) *proofSteps { return &proofSteps{sys: NewSystem(&roomy, v)} }

// Steps implements checker.Domain.
func (p *proofSteps) Steps(s *ProofState, f func(m checker.Move, next *ProofState)) {
	p.sys.ctx.Voters = s.Voters
	p.sys.ctx.Old = 0
	for i := range s.replicas() {
		r := &s.Replicas[i]
		if r.Version&PreVote == 0 {
			p.sys.ctx.Old = p.sys.ctx.Old.With(r.ID)
		}
	}
	for i := range s.replicas() {
		r := &s.Replicas[i]
		for a := ActionID(0); a < ActionHandleVoteRequest; a++ {
			if !proofsTry(a) {
				continue
			}
			for _, args := range p.args(a, s, r) {
				p.take(s, r, -1, a, args, f)
			}
		}
	}
	for x := range s.network() {
		m := &s.Network[x]
		r := s.replica(m.Dst)
		a := HandlerOf(m)
		if a == ActionHandleFetchRequest {
			for k := int64(0); k <= int64(r.Log.End()); k++ {
				p.take(s, r, x, a, Args{Count: k}, f)
			}
			p.take(s, r, x, a, Args{Park: true}, f)
		} else {
			p.take(s, r, x, a, Args{}, f)
		}
		p.suffer(s, x, f)
	}
}

// args lists the parameters of a local action, those that no guard allows too.
func (p *proofSteps) args(a ActionID, s *ProofState, r *Replica) []Args {
	all := p.list[:0]
	switch a {
	case ActionSendVoteRequest, ActionSendBeginQuorumEpoch, ActionSendEndQuorumEpoch, ActionSendFetch:
		for i := range s.replicas() {
			all = append(all, Args{Dst: ID(i + 1)})
		}
	case ActionFlush:
		for o := r.FlushedEnd(); o <= r.Log.End(); o++ {
			all = append(all, Args{Count: int64(o)})
		}
	case ActionAppend:
		all = append(all, Args{Count: 1}, Args{Count: 2})
	case ActionCrash:
		for k := range Survivors(r) {
			all = append(all, Args{Keep: k})
		}
	default:
		all = append(all, Args{})
	}
	p.list = all
	return all
}

func (p *proofSteps) take(s *ProofState, r *Replica, x int, a ActionID, args Args, f func(checker.Move, *ProofState)) {
	p.now = *r
	now := &p.now
	if x >= 0 {
		p.took = s.Network[x]
	}
	if !p.sys.take(a, now, &p.took, args) {
		return
	}
	sent, reached := p.sys.scratch.Messages(), p.sys.ctx.Reached
	if !s.fits(now, len(sent)) {
		return
	}
	t := &p.next
	*t = *s
	if x >= 0 && !args.Park {
		t.remove(x)
	}
	t.Replicas[r.ID.index()] = *now
	for i := range sent {
		t.Network[t.Messages] = sent[i]
		t.Messages++
	}
	t.note(r, now)
	t.derive()
	f(checker.Move{
		Instance: checker.Instance{Action: checker.ActionID(a), Args: pack(args)},
		Process:  int8(r.ID.index()), Message: int8(x), Reached: reached | ReachStep(a, r, now),
	}, t)
}

func (s *ProofState) remove(x int) {
	s.Messages--
	copy(s.Network[x:], s.Network[x+1:s.Messages+1])
	s.Network[s.Messages] = Msg{}
}

// suffer is what the environment may do to a message.
func (p *proofSteps) suffer(s *ProofState, x int, f func(checker.Move, *ProofState)) {
	var fates checker.Fates[Msg]
	p.sys.Network(&s.Network[x], &fates)
	for _, fate := range fates.List {
		t := &p.next
		*t = *s
		t.remove(x)
		if t.Messages+int(fate.N) > proofMessages {
			continue
		}
		t.Messages += copy(t.Network[t.Messages:], fate.Becomes[:fate.N])
		f(checker.Move{Instance: fate.Instance, Process: -1, Message: int8(x)}, t)
	}
}

// Size implements checker.Domain: counterexamples with less in them come first.
func (p *proofSteps) Size(s *ProofState) int {
	n := 10*s.N + 8*s.Messages
	for i := range s.replicas() {
		r := &s.Replicas[i]
		n += int(r.Log.End()+r.Disk.End()) + 2*int(r.Election.Epoch) + r.Granted.Len()
		if r.Role != Unattached && r.Role != Down {
			n++
		}
		for e := range s.Gave[i] {
			n += s.Gave[i][e].Len() + int(s.Left[i][e].End())
		}
		for _, end := range r.End {
			if end > 0 {
				n++
			}
		}
	}
	for i := range s.network() {
		n += int(s.Network[i].Records.End())
	}
	for e := range s.Led {
		n += 3*s.Led[e].Len() + int(s.Logs[e].End()+s.Exposed[e])
	}
	return n
}

// Describe implements checker.Domain.
func (p *proofSteps) Describe(s *ProofState) []checker.Field {
	fields := []checker.Field{{Path: "voters", Value: s.Voters.String()}}
	add := func(path, format string, a ...any) {
		fields = append(fields, checker.Field{Path: path, Value: fmt.Sprintf(format, a...)})
	}
	for i := range s.replicas() {
		for _, f := range Describe(&s.Replicas[i]) {
			add(ID(i+1).String()+"."+f.Path, "%s", f.Value)
		}
	}
	for i := range s.network() {
		add(fmt.Sprintf("message.%d", i+1), "%s", s.Network[i].String())
	}
	for e := range Epoch(proofEpochs) {
		if s.led(e) {
			add(fmt.Sprintf("history.epoch %d", e), "led by %s, its log %s, begins at %d, exposed %d", s.Led[e], s.Logs[e].String(), s.Begin[e], s.Exposed[e])
		}
	}
	for i := range s.replicas() {
		for e := range Epoch(proofEpochs) {
			if g := s.Gave[i][e]; g != 0 {
				add(fmt.Sprintf("history.%s's votes in %d", ID(i+1), e), "%s", g)
			}
			if l := &s.Left[i][e]; l.End() > 0 {
				add(fmt.Sprintf("history.%s left %d with", ID(i+1), e), "%s", l.String())
			}
		}
	}
	return fields
}

// Tell implements checker.Domain.
func (p *proofSteps) Tell(s *ProofState, m checker.Move) string {
	text := formatStep(&roomy, int(m.Process), m.Instance)
	if m.Process >= 0 {
		text = ID(m.Process+1).String() + " " + text
	}
	if m.Message >= 0 {
		text += " of " + s.Network[m.Message].String()
	}
	return text
}

// proofsTry says whether the proofs speak of an action: they exclude LoseDisk, and
// whatever has to do with snapshots or changes of the voter set.
func proofsTry(a ActionID) bool {
	return a != ActionLoseDisk && !a.AboutSnapshots() && !a.AboutMembership()
}

// actionsOfProof are all of these.
func actionsOfProof() []ActionID {
	var all []ActionID
	for a := ActionID(0); a < NumReplicaActions; a++ {
		if proofsTry(a) {
			all = append(all, a)
		}
	}
	return all
}
