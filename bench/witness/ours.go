package main

import (
	"fmt"
	"strings"
	"sync"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
)

// established is a model that begins where the public specifications do: A leads
// epoch 1, and its first record is committed and on every replica.
type established struct {
	*spec.System
	model *spec.Model
	view  view
}

// Init implements checker.System.
func (e *established) Init(yield func([]spec.Replica, []spec.Msg, spec.Ghost)) {
	e.System.Init(func(all []spec.Replica, _ []spec.Msg, ghost spec.Ghost) {
		for i := range all {
			r := &all[i]
			r.Election = spec.Election{Epoch: 1, Leader: 1}
			r.Stored = r.Election
			r.Log.Append(spec.Run{Count: 1, Epoch: 1, Origin: 1, Kind: spec.LeaderChange})
			r.Disk = r.Log
			r.HighWatermark = 1
			r.Role = spec.Follower
			r.HasFetched = true
			if r.ID == 1 {
				r.Role, r.HasFetched, r.LeaderChangeWritten = spec.Leader, false, true
				for k := range all {
					r.End[k] = 1
				}
			}
		}
		yield(all, nil, ghost)
	})
}

// Observe implements checker.System: the ghosts know nothing of what was before the
// first state, so properties are not judged here.
func (e *established) Observe(*spec.Ghost, *checker.View[spec.Replica]) checker.Props { return 0 }

// CheckOne and CheckPair implement checker.System.
func (e *established) CheckOne(*spec.Replica, *spec.Ghost) checker.Props { return 0 }
func (e *established) CheckPair(_, _ *spec.Replica) checker.Props        { return 0 }

const projection = "projection"

// Env implements checker.System: the only thing that is asked of a state.
func (e *established) Env(all []*spec.Replica, _ []*spec.Msg, _ *spec.Ghost) map[string]any {
	return map[string]any{projection: e.view.ours(all)}
}

// watched notes the projection of each state.
type watched struct {
	checker.Spec[checker.Tuple]
	mu   sync.Mutex
	seen map[string]bool
}

// Check implements checker.Spec.
func (w *watched) Check(s *checker.Tuple) (violated, reached checker.Props) {
	p := w.Spec.(checker.Environment[checker.Tuple]).Env(s)[projection].(string)
	w.mu.Lock()
	w.seen[p] = true
	w.mu.Unlock()
	return 0, 0
}

// Fingerprint implements checker.Fingerprinter.
func (w *watched) Fingerprint(s *checker.Tuple) uint64 {
	return w.Spec.(checker.Fingerprinter[checker.Tuple]).Fingerprint(s)
}

// explore gives the projections of all states of a model that begins established.
func explore(m *spec.Model, v view) (map[string]bool, *checker.Result, error) {
	sys := &established{System: spec.NewSystem(m, spec.Variant{}), model: m, view: v}
	w := &watched{Spec: checker.Interned[spec.Replica, spec.Msg, spec.Ghost](sys), seen: map[string]bool{}}
	res, err := checker.Run[checker.Tuple](w, checker.Options{KeepGoing: true, Properties: []string{"ElectionSafety"}})
	return w.seen, res, err
}

// view is how a state is projected, so that two specifications can be compared.
type view struct{ preVote bool }

// between marks a state that the public specifications step over: a leader that has
// not yet written its first record, which there is one step with becoming the leader.
const between = "between"

// ours writes role, epoch, vote and epochs of the log of each replica as TLC does.
func (v view) ours(all []*spec.Replica) string {
	var parts []string
	for _, r := range all {
		if r.Role == spec.Leader && !r.LeaderChangeWritten {
			return between
		}
		role := r.Role.String()
		if role == "Unattached" && r.Election.Voted != spec.Nobody && !v.preVote {
			role = "Voted" // a state of its own before KIP-996
		}
		vote := "Nil"
		if r.Election.Voted != spec.Nobody && !(v.preVote && (r.Role == spec.Leader || r.Role == spec.Resigned)) {
			vote = fmt.Sprint(uint16(r.Election.Voted))
		}
		var epochs []string
		for _, run := range r.Log.Runs() {
			for range run.Count {
				epochs = append(epochs, fmt.Sprint(run.Epoch))
			}
		}
		parts = append(parts, fmt.Sprintf("<<%s, %d, %s, <<%s>>>>", role, r.Election.Epoch, vote, strings.Join(epochs, ", ")))
	}
	return "<<" + strings.Join(parts, ", ") + ">>"
}
