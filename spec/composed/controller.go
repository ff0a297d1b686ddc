package composed

import (
	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/spec/bootstrap"
	"github.com/quorate/quorate/spec/clusterid"
)

// What a state machine does beside its replica.

// control lists the steps of the controller of a process.
func (s *System) control(p *Process, out *stepList) {
	by := func(a Action, step func(c *bootstrap.Controller) bool) {
		next, c := *p, p.controller()
		if step(&c) {
			next.takeController(c)
			s.add(p, &next, a, 0, out)
		}
	}
	if !s.model.LazyStandbys || p.Role == spec.Leader && s.model.Snapshots > 0 {
		by(Replay, func(c *bootstrap.Controller) bool { return s.boot.Replay(c, p.known()) })
	}
	s.claim(p, out)
	by(StepDown, func(c *bootstrap.Controller) bool {
		if c.Phase == bootstrap.Standby || c.Phase == bootstrap.Fatal || p.Role == spec.Leader && p.Claimed == uint8(p.Election.Epoch) {
			return false
		}
		c.Leading = 1 // as far as it knows
		s.boot.StepDown(c)
		return true
	})
	s.activate(p, out)
	s.appendChunk(p, out)
	if s.model.Snapshots > 0 {
		by(DeleteZero, s.boot.DeleteZero)
	}
}

// claim tells the state machine that it leads, once it has caught up.
func (s *System) claim(p *Process, out *stepList) {
	next, c := *p, p.controller()
	if !s.boot.Claim(&c, p.known()) {
		return
	}
	next.takeController(c)
	next.Claimed = uint8(p.Election.Epoch)
	s.add(p, &next, Claim, 0, out)
}

// activate decides what to write. A bootstrap whose metadata.version knows cluster ids and
// that has none ends the process.
func (s *System) activate(p *Process, out *stepList) {
	next, c := *p, p.controller()
	if !s.boot.Activate(&c) {
		return
	}
	if c.Writes == 1 && s.rules.NeedsID && s.model.ClusterID && knowsIDs(c.Source) && idIn(c.Source) == clusterid.NoID {
		s.boot.Fail(&c)
		s.end(&next)
	}
	next.takeController(c)
	s.add(p, &next, Activate, 0, out)
}

// end ends the process of a replica.
func (s *System) end(p *Process) {
	r := spec.NewReplica(p.ID, p.Version)
	r.Log, r.Disk, r.LogStart, r.Snapshots = p.Log, p.Disk, p.LogStart, p.Snapshots
	r.Stored, r.Election, r.Role = p.Stored, p.Stored, spec.Down
	p.Replica, p.Receiving, p.Claimed = r, Contents{}, 0
}

// appendChunk hands the next batch of what activation decided to the replica. A replica
// that does not lead takes nothing.
func (s *System) appendChunk(p *Process, out *stepList) {
	c := p.controller()
	if !s.rules.MayAppend(p) || !s.boot.AppendChunk(&c) {
		return
	}
	r := c.Log[p.Log.End()]
	kind := map[bootstrap.Kind]spec.RecordKind{
		bootstrap.Begin: beginRecord, bootstrap.End: endRecord, bootstrap.Abort: abortRecord,
		bootstrap.Version: versionRecord, bootstrap.Rest: restRecord, bootstrap.Whole: wholeRecord,
	}[r.Kind()]
	s.append(p, AppendChunk, recordOf(kind, uint8(r.Content())), func(next *Process) { next.takeController(c) }, out)
}

// upgrade is UpdateFeatures, where no bootstrap writes the cluster id: a metadata.version
// that knows ids, with the id of the leader behind it.
func (s *System) upgrade(p *Process, out *stepList) {
	if s.model.Bootstraps || !s.model.ClusterID || p.contents(uint8(p.Log.End())).KnowsID != 0 {
		return
	}
	s.append(p, UpgradeFeatures, recordOf(upgradeRecord, uint8(p.Node.Mem)), func(*Process) {}, out)
}

// append lists an append of a record by the replica, if it leads.
func (s *System) append(p *Process, a Action, kind spec.RecordKind, then func(*Process), out *stepList) {
	s.list = replicaSteps{List: s.list.List[:0]}
	if !s.replicas.Offer(&p.Replica, spec.ActionAppend, spec.Args{Count: 1, Kind: kind}, &s.list) {
		return
	}
	step := s.list.List[0]
	next := *p
	next.Replica = step.Next
	then(&next)
	s.add(p, &next, a, 0, out)
	made := &out.List[len(out.List)-1]
	made.Violated |= step.Violated & fromSpec
	made.Observe = step.Observe
}

// snapshot lists a snapshot: that of the state machine is of the state that it has, and
// bears the name of its end.
func (s *System) snapshot(p *Process, from *checker.Step[spec.Replica, spec.Msg], out *stepList) {
	next := *p
	next.Replica = from.Next
	end := uint8(spec.UnpackArgs(from.Instance).Count)
	c := p.contents(end)
	if s.model.Bootstraps {
		view := p.controller()
		if !p.controls() || end != s.rules.SnapshotEnd(p) || !s.rules.Bootstrap.MaySnapshot(view.ImageAt(view.Loaded)) {
			return
		}
		c = p.contents(p.Controller.Loaded)
		c.End = end
	}
	next.hold(c)
	s.pass(p, &next, from, out)
}
