package traces

import (
	"errors"
	"fmt"

	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// Voter sets (KIP-853). A replica of the specification is an id; in a trace it is an id and
// a directory. So every id has one directory in a run, and a run in which a node comes back
// with another one is refused.

// voterSet is a recorded voter set: of nodes that take part, see checkNodes.
func (m *members) voterSet(nodes []event.Node) spec.Set {
	var s spec.Set
	for _, n := range nodes {
		s = s.With(spec.ID(m.index(n.ID) + 1))
	}
	return s
}

// recordedVoters is a voter set as a trace has it, but for the directories.
func (m *members) recordedVoters(s spec.Set) []event.Node {
	var nodes []event.Node
	for i, id := range m.ids {
		if s.Has(spec.ID(i + 1)) {
			nodes = append(nodes, event.Node{ID: id})
		}
	}
	return nodes
}

func idsOf(nodes []event.Node) []int32 {
	ids := make([]int32, len(nodes))
	for i, n := range nodes {
		ids[i] = n.ID
	}
	return ids
}

func hasVoters(runs []event.Run) bool {
	for _, r := range runs {
		if r.Kind == event.KRaftVoters {
			return true
		}
	}
	return false
}

// mayVoters are those that may be voters at some time, mayVote says whether r is one.
func (v *validator) mayVoters() spec.Set {
	if v.who.dynamic {
		return spec.All(len(v.who.ids))
	}
	return v.who.voters
}

func (v *validator) mayVote(r *spec.Replica) bool { return v.mayVoters().Has(r.ID) }

// subject is who an action adds, removes or updates.
func (v *validator) subject(e *event.Event, c *comparison) spec.ID {
	if e.Args.Voter == nil {
		c.differ("args.voter", "a voter", "none")
		return spec.Nobody
	}
	id, _ := v.who.spec(e.Args.Voter.ID)
	return id
}

// votersState compares the voter set in force with what was observed. A replica that was
// formatted to join has none before it has read one; as long as it is no voter of the first
// one either, that is the same.
func (v *validator) votersState(c *comparison, r *spec.Replica, s *event.State) {
	if s.Has&event.HasVoters == 0 {
		return
	}
	want, seen := v.ctx.VotersOf(r), v.who.voterSet(s.Voters)
	if want == seen || r.Voters == 0 && seen == 0 && !want.Has(r.ID) {
		return
	}
	c.differ("state.voters", fmt.Sprint(v.nodeIDs(want)), fmt.Sprint(v.nodeIDs(seen)))
}

// checkVoters is check for what only a quorum has whose voters may change.
func (v *validator) checkVoters(e *event.Event) error {
	if !v.who.dynamic {
		if e.Args.Voter != nil || e.State.Has&event.HasVoters != 0 || e.Attach != nil && e.Attach.Voters != nil {
			return errors.New("voters in a run whose voter set is static (kraftVersion 0)")
		}
		return nil
	}
	if err := v.checkNodes([]event.Node{e.Node}); err != nil {
		return err
	}
	if e.Args.Voter != nil {
		if err := v.checkNodes([]event.Node{*e.Args.Voter}); err != nil {
			return fmt.Errorf("args.voter: %w", err)
		}
	}
	if err := v.checkNodes(e.State.Voters); err != nil {
		return fmt.Errorf("state.voters: %w", err)
	}
	if e.Attach != nil {
		if err := v.checkNodes(e.Attach.Voters); err != nil {
			return fmt.Errorf("attach.voters: %w", err)
		}
	}
	return nil
}

// checkNodes refuses nodes that take no part, and a second directory of one.
func (v *validator) checkNodes(nodes []event.Node) error {
	for _, n := range nodes {
		if v.who.index(n.ID) < 0 {
			return fmt.Errorf("node %d takes no part in the run (replicas %v)", n.ID, v.who.ids)
		}
		if n.Dir == "" {
			continue
		}
		if had, ok := v.who.dirs[n.ID]; ok && had != n.Dir {
			return fmt.Errorf("node %d has directory %q, and had %q: with another directory it is another replica, which cannot be held against the specification under one id", n.ID, n.Dir, had)
		}
		v.who.dirs[n.ID] = n.Dir
	}
	return nil
}

// checkKind refuses records that the run cannot have.
func (v *validator) checkKind(r *event.Run) error {
	switch r.Kind {
	case event.LeaderChange, event.Data:
	case event.KRaftVersion, event.KRaftVoters:
		if !v.who.dynamic {
			return fmt.Errorf("a %s record in a run whose voter set is static (kraftVersion 0)", r.Kind)
		}
	default:
		return fmt.Errorf("unknown kind of record %q", r.Kind)
	}
	if is := r.Kind == event.KRaftVoters; is != (len(r.Voters) > 0) || is && r.Count != 1 {
		return fmt.Errorf("%d %s records with %d voters", r.Count, r.Kind, len(r.Voters))
	}
	if err := v.checkNodes(r.Voters); err != nil {
		return fmt.Errorf("voters: %w", err)
	}
	return nil
}
