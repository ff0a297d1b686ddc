package spec

import (
	"fmt"

	"github.com/quorate/quorate/checker"
)

// Here are the lemmas of the proofs that speak of logs, votes and offsets alone, over
// every case of a small size.

func valueLemma(name, doc string, c func(try func(holds bool, format string, a ...any) bool)) checker.Lemma {
	return checker.Lemma{
		Facts: []checker.Fact{{Name: name, Doc: doc}},
		Cases: func(f func(checker.ActionID, uint64, func() string) bool) {
			c(func(holds bool, format string, a ...any) bool {
				failed := uint64(0)
				if !holds {
					failed = 1
				}
				return f(0, failed, func() string { return fmt.Sprintf(format, a...) })
			})
		},
	}
}

// rulesOf are the rules of a variant, and its guards.
func rulesOf(v Variant) *Ctx {
	sys := NewSystem(&roomy, v)
	sys.software(&sys.ctx, replicaA)
	return &sys.ctx
}

// majorityLemma: two majorities of one set of voters share a voter, for each size that
// a set may have.
func majorityLemma(v Variant) checker.Lemma {
	return valueLemma("MajoritiesMeet", "two majorities of the same voters, of up to eight, have a voter in common",
		func(try func(bool, string, ...any) bool) {
			rules := rulesOf(v).Rules
			for n := 1; n <= MaxReplicas; n++ {
				for a := range int(All(n)) + 1 {
					for b := a; b <= int(All(n)); b++ {
						x, y := Set(a), Set(b)
						if x.Len() < rules.Majority(n) || y.Len() < rules.Majority(n) {
							continue
						}
						if !try(x&y != 0, "of %d voters %s and %s", n, x, y) {
							return
						}
					}
				}
			}
		})
}

// historyEpochs is how many epochs the histories of the lemmas have.
const historyEpochs = 4

// everyHistory calls f with every history of historyEpochs epochs: led or not, each beginning
// at any point of an earlier one, with up to two records.
func everyHistory(f func(h *ProofState) bool) {
	var s ProofState
	var from func(e Epoch) bool
	from = func(e Epoch) bool {
		if e > historyEpochs {
			return f(&s)
		}
		s.Led[e], s.Logs[e], s.Begin[e] = 0, Log{}, 0
		if !from(e + 1) {
			return false
		}
		c := ID(e)
		for parent := range e {
			for at := s.Logs[parent].End(); at >= 0; at-- {
				past := s.Logs[parent].Slice(0, at)
				if parent > 0 && past.LastEpoch() != parent {
					continue // it is the beginning of an earlier one too
				}
				for n := range int64(3) {
					s.Led[e], s.Begin[e], s.Logs[e] = SetOf(c), at, past
					s.Logs[e].Append(Run{Count: n, Epoch: e, Origin: c, Kind: Data})
					if !from(e + 1) {
						return false
					}
				}
			}
		}
		s.Led[e], s.Logs[e], s.Begin[e] = 0, Log{}, 0
		return true
	}
	from(1)
}

// everyGrounded lists the beginnings of all logs of epochs, each once.
func (s *ProofState) everyGrounded() []Log {
	logs := []Log{{}}
	for e := range Epoch(proofEpochs) {
		for at := s.Begin[e] + 1; at <= s.Logs[e].End(); at++ {
			logs = append(logs, s.Logs[e].Slice(0, at))
		}
	}
	return logs
}

func matchingLemma(Variant) checker.Lemma {
	return valueLemma("GroundedLogsMatch", "two logs that are beginnings of logs of epochs match",
		func(try func(bool, string, ...any) bool) {
			everyHistory(func(h *ProofState) bool {
				logs := h.everyGrounded()
				for i := range logs {
					for j := range i {
						if !try(Matches(&logs[i], &logs[j]), "%s and %s", logs[i].String(), logs[j].String()) {
							return false
						}
					}
				}
				return true
			})
		})
}

// fetches tries every fetch of a follower from a leader of a later epoch, or of the
// epoch of its last record.
func fetches(f func(follower, leader *Log, e Epoch) bool) {
	everyHistory(func(h *ProofState) bool {
		logs := h.everyGrounded()
		for e := Epoch(1); e <= historyEpochs; e++ {
			if !h.led(e) {
				continue
			}
			for at := h.Begin[e]; at <= h.Logs[e].End(); at++ {
				leader := h.Logs[e].Slice(0, at)
				for i := range logs {
					last := logs[i].LastEpoch()
					if last > e || last == e && logs[i].End() > at {
						continue
					}
					if !f(&logs[i], &leader, e) {
						return false
					}
				}
			}
		}
		return true
	})
}

// fetchOf has a leader with the given log answer a fetch from the given log.
func fetchOf(c *Ctx, follower, leader *Log, e Epoch) (Msg, bool) {
	l := NewReplica(2, 0)
	l.Role, l.Election, l.Log = Leader, Election{Epoch: e, Leader: 2}, *leader
	r := NewReplica(1, 0)
	r.Election.Epoch, r.Log = e, *follower
	asks := Msg{Kind: Fetch, Src: 1, Dst: 2, Epoch: e}
	asks.Offset, asks.LastEpoch = c.Rules.FetchFrom(&r)
	var out Outbox
	rest := Args{Count: int64(leader.End() - follower.End())}
	if !c.Take(ActionHandleFetchRequest, &l, &asks, rest, &out) && !c.Take(ActionHandleFetchRequest, &l, &asks, Args{}, &out) {
		return Msg{}, false
	}
	return out.Messages()[0], true
}

func fetchLemma(v Variant) checker.Lemma {
	return valueLemma("TakenFetchAgrees", "a leader takes a fetch if and only if the log that it comes from is the beginning of its own, and answers with all that follows",
		func(try func(bool, string, ...any) bool) {
			c := rulesOf(v)
			fetches(func(follower, leader *Log, e Epoch) bool {
				m, answered := fetchOf(c, follower, leader, e)
				begins := CommonPrefix(follower, leader) == follower.End()
				holds := answered && m.Diverging != begins
				if holds && begins {
					next := leader.Slice(follower.End(), leader.End())
					holds = m.Records.SameAs(&next)
				}
				return try(holds, "%s fetches from %s: %s", follower.String(), leader.String(), m.String())
			})
		})
}

func truncationLemma(v Variant) checker.Lemma {
	return valueLemma("TruncationKeepsAgreement", "a follower that has diverged cuts something, and nothing that its leader has",
		func(try func(bool, string, ...any) bool) {
			c := rulesOf(v)
			fetches(func(follower, leader *Log, e Epoch) bool {
				m, answered := fetchOf(c, follower, leader, e)
				if !answered || !m.Diverging {
					return true
				}
				r := NewReplica(1, 0)
				r.Log = *follower
				to := c.Rules.TruncationPoint(&r, &m)
				return try(CommonPrefix(follower, leader) <= to && to < follower.End(),
					"%s fetches from %s, and is cut to %d", follower.String(), leader.String(), to)
			})
		})
}

func grantLemma(v Variant) checker.Lemma {
	return valueLemma("GrantedHasMore", "who is granted a vote has a later last epoch than the voter, or the voter's log is the beginning of its own",
		func(try func(bool, string, ...any) bool) {
			c := rulesOf(v)
			everyHistory(func(h *ProofState) bool {
				logs := h.everyGrounded()
				for i := range logs {
					for j := range logs {
						voter := NewReplica(1, 0)
						voter.Log, voter.Election.Epoch = logs[i], historyEpochs+1
						voter.Stored = voter.Election
						mine, asker := &logs[i], &logs[j]
						asks := Msg{Kind: Vote, Src: 2, Dst: 1, Epoch: historyEpochs + 1, Offset: asker.End(), LastEpoch: asker.LastEpoch()}
						var out Outbox
						if !c.Take(ActionHandleVoteRequest, &voter, &asks, Args{}, &out) || !out.Messages()[0].Granted {
							continue
						}
						holds := asker.LastEpoch() > mine.LastEpoch() || CommonPrefix(mine, asker) == mine.End()
						if !try(holds, "the voter has %s, the candidate %s", mine.String(), asker.String()) {
							return false
						}
					}
				}
				return true
			})
		})
}

func watermarkLemma(v Variant) checker.Lemma {
	return valueLemma("HighWatermarkIsMajoritys", "a leader moves its high watermark to the largest offset that a majority has and that is behind a record of its epoch, and never back",
		func(try func(bool, string, ...any) bool) {
			c := rulesOf(v)
			for n := 1; n <= 4; n++ {
				c.Voters = All(n)
				for code := range pow(5, n-1) * 4 * 5 * 4 {
					r := NewReplica(1, 0)
					r.Role, r.Election = Leader, Election{Epoch: 2, Leader: 1}
					x := code
					take := func(k int) Offset { d := x % k; x /= k; return Offset(d) }
					r.EpochStart = take(4)
					r.Log.Append(Run{Count: 4, Epoch: 2, Origin: 1})
					r.Disk = r.Log.Slice(0, take(5))
					r.HighWatermark = take(4) - 1
					for i := range r.End {
						r.End[i] = Unknown
						if i > 0 && i < n {
							r.End[i] = take(5) - 1
						}
					}
					have := func(o Offset) bool {
						by := Set(0)
						for i := range n {
							if end := r.End[i]; i == 0 && r.Disk.End() >= o || i > 0 && end >= o {
								by = by.With(ID(i + 1))
							}
						}
						return isMajority(by, c.Voters)
					}
					want := r.HighWatermark
					for o := r.Log.End(); o > max(r.EpochStart, r.HighWatermark); o-- {
						if have(o) {
							want = o
							break
						}
					}
					old := r.HighWatermark
					c.advanceHighWatermark(&r)
					if !try(r.HighWatermark == want, "of %d voters: epoch starts at %d, flushed %d, ends %v: high watermark %d -> %d",
						n, r.EpochStart, r.Disk.End(), r.End[1:n], old, r.HighWatermark) {
						return
					}
				}
			}
		})
}

func pow(b, e int) int {
	p := 1
	for ; e > 0; e-- {
		p *= b
	}
	return p
}
