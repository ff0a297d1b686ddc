package spec

import "slices"

// formed is a quorum that has come together: A leads epoch 1, and everybody has the records
// with which it begins, and knows that they are committed. It is reached by the actions, so
// it is a state of the same model with empty disks, by the protocol as it should be.
func (s *System) formed(all []Replica) Ghost {
	f := &former{ctx: Ctx{Rules: s.clean, Voters: s.ctx.Voters, Dynamic: s.ctx.Dynamic, Old: s.ctx.Old}, all: all}
	leader := ID(1)
	if s.model.PreVote.Has(leader) {
		f.do(leader, ActionBecomeProspective, Args{})
		f.askForVotes(leader)
	}
	f.do(leader, ActionBecomeCandidate, Args{})
	f.askForVotes(leader)
	f.do(leader, ActionBecomeLeader, Args{})
	f.do(leader, ActionAppendLeaderChange, Args{})
	f.do(leader, ActionFlush, Args{Count: int64(all[0].Log.End())})
	for i := 1; i < len(all); i++ {
		id := ID(i + 1)
		if f.ctx.isVoter(&all[i]) {
			f.do(leader, ActionSendBeginQuorumEpoch, Args{Dst: id})
		} else {
			f.do(id, ActionSendFetch, Args{Dst: leader}) // it learns who leads
		}
		f.do(id, ActionSendFetch, Args{Dst: leader})
		f.do(id, ActionFlush, Args{Count: int64(all[i].Log.End())})
	}
	for range 2 { // what is committed by the last of them, the others hear afterwards
		for i := 1; i < len(all); i++ {
			f.do(ID(i+1), ActionSendFetch, Args{Dst: leader})
		}
	}
	return f.ghost
}

// former takes steps one after the other, of which every message arrives.
type former struct {
	ctx   Ctx
	out   Outbox
	all   []Replica
	ghost Ghost
}

func (f *former) askForVotes(of ID) {
	for i := range f.all {
		if id := ID(i + 1); id != of && f.ctx.isVoter(&f.all[i]) {
			f.do(of, ActionSendVoteRequest, Args{Dst: id})
		}
	}
}

// do takes an action and whatever follows from its message.
func (f *former) do(id ID, a ActionID, args Args) {
	m := f.step(id, a, nil, args)
	for len(m) > 0 {
		to, args := &f.all[m[0].Dst.index()], Args{}
		h := HandlerOf(&m[0])
		if h == ActionHandleFetchRequest && to.Role == Leader && m[0].Epoch == to.Election.Epoch {
			args.Count = int64(to.Log.End() - m[0].Offset)
		}
		m = f.step(to.ID, h, &m[0], args)
	}
}

func (f *former) step(id ID, a ActionID, m *Msg, args Args) []Msg {
	r := &f.all[id.index()]
	old := *r
	if !f.ctx.Take(a, r, m, args, &f.out) {
		panic(modelError("no quorum is formed: %s does not take %s", id, a))
	}
	sent := slices.Clone(f.out.Messages())
	var ptrs []*Replica
	for i := range f.all {
		ptrs = append(ptrs, &f.all[i])
	}
	f.ghost.Observe(f.ctx.Quorum(), ptrs, id.index(), &old)
	return sent
}
