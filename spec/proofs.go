package spec

import (
	"slices"

	"github.com/quorate/quorate/checker"
)

// Proofs are the proofs of docs/proofs, in the order in which they build on each
// other, with their steps taken under a variant of the protocol.
func Proofs(v Variant) []checker.Proof[ProofState] {
	domain := func() checker.Domain[ProofState] { return ProofDomain(v) }
	var assumed []Conjunct
	var all []checker.Proof[ProofState]
	for _, p := range []checker.Proof[ProofState]{
		{Name: "election-safety", Doc: "an epoch has at most one leader, ever", Lemmas: []checker.Lemma{stepLemma(v), messageLemma(v), majorityLemma(v)}, Invariant: electionInvariant, Theorem: electionTheorem},
		{Name: "log-matching", Doc: "a pair (epoch, offset) names one record, and one past of it", Lemmas: []checker.Lemma{matchingLemma(v), fetchLemma(v)}, Invariant: logInvariant, Theorem: logTheorem},
		{Name: "leader-completeness", Doc: "a leader has what a majority has flushed in its epoch or an earlier one", Lemmas: []checker.Lemma{truncationLemma(v), grantLemma(v)}, Invariant: completenessInvariant, Theorem: completenessTheorem},
		{Name: "commit-safety", Doc: "what was exposed as committed is never lost and never different", Lemmas: []checker.Lemma{watermarkLemma(v)}, Invariant: commitInvariant, Theorem: commitTheorem},
	} {
		p.Invariant = slices.Clone(p.Invariant)
		for i := range p.Invariant {
			if change := breaking[p.Invariant[i].Name]; change != nil {
				p.Invariant[i].Break = func(d checker.Dice, s *ProofState) {
					change(d, s)
					s.derive()
				}
			}
		}
		p.Actions, p.Branches, p.Domain = proofActionNames(), proofBranches(), domain
		p.Assumed = slices.Clip(assumed)
		assumed = slices.Concat(assumed, p.Invariant, p.Theorem)
		all = append(all, p)
	}
	return all
}

// proofActionNames has the names of the actions that proofs try, by number, and
// nothing for the others.
func proofActionNames() []string {
	var names []string
	for a := range NumActions {
		if a < NumReplicaActions && !proofsTry(a) {
			names = append(names, "")
			continue
		}
		names = append(names, a.String())
	}
	return names
}

// proofBranches are the sometimes properties that the proofs' actions may reach, by bit.
func proofBranches() []string {
	var names []string
	for i, p := range Properties {
		if p.Kind == checker.Sometimes && (snapshotBranches|membershipBranches)>>i&1 == 0 {
			names = append(names, p.Name)
		} else {
			names = append(names, "")
		}
	}
	return names
}
