package composed

import (
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/spec/clusterid"
)

// What a node does about its cluster id beside its replica.

// ready says whether the replica of a process runs: not before meta.properties is there,
// and not while it is written.
func (s *System) ready(p *Process) bool {
	return !s.model.ClusterID || p.Node.Stage == clusterid.Unknown || p.Node.Stage == clusterid.Known
}

// discover lists the steps of the node of a process.
func (s *System) discover(p *Process, out *stepList) {
	by := func(a Action, arg int, step func(n *clusterid.Node) bool) {
		next, n := *p, p.node()
		if step(&n) {
			next.takeNode(n)
			s.add(p, &next, a, arg, out)
		}
	}
	for d := range clusterid.MaxDirs {
		by(WriteMeta, d, func(n *clusterid.Node) bool {
			if !s.ids.WriteMeta(n, d) {
				return false
			}
			if s.model.Crashes == 0 {
				s.ids.FlushMeta(n, d) // nothing can come between that would tell
			}
			return true
		})
		by(FlushMeta, d, func(n *clusterid.Node) bool { return s.ids.FlushMeta(n, d) })
	}
	by(SetMemory, 0, s.ids.SetMemory)
	by(Adopt, 0, func(n *clusterid.Node) bool {
		return s.ids.Adopt(n, &n.Log, n.HighWatermark, clusterid.NoID)
	})
}

// restart starts the node and the controller of a process that has crashed.
func (s *System) restart(p *Process) {
	if s.model.ClusterID {
		n := p.node()
		dropped := len(p.Log.Runs()) > 0
		s.ids.Start(&n, 1)
		s.ids.SetMemory(&n)
		if dropped = dropped && n.Log == (clusterid.Log{}); dropped {
			s.discard(p)
		}
		p.takeNode(n)
	}
	if s.model.Bootstraps && p.Controller.Meta != 0 {
		c := p.controller()
		s.boot.Start(&c, 0)
		if to := s.rules.LoadedAtStart(p); to > c.Loaded {
			c.Loaded, c.Image = to, c.ImageAt(to)
		}
		p.takeController(c)
	}
}

// discard: a node without id forgets a log of which it cannot know whose it is, and the
// snapshots that it begins with. What it knows of elections stays.
func (s *System) discard(p *Process) {
	start := p.LogStart
	p.Log, p.Disk, p.LogStart, p.HighWatermark = spec.Log{}, spec.Log{}, 0, spec.Unknown
	if s.rules.DiscardsSnapshots {
		p.Snapshots, p.Held = spec.Snapshots{}, [maxHeld]Contents{}
	} else {
		p.LogStart = start
	}
}

// requestID is the cluster id that a request of the process carries.
func (s *System) requestID(p *Process) clusterid.ID {
	n := p.node()
	return s.rules.ClusterID.RequestID(&n)
}
