package composed

import (
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/spec/bootstrap"
	"github.com/quorate/quorate/spec/clusterid"
)

// Process is one replica, and the controller and the node that it is part of. What these
// two have of the log is that of the replica, so there it is zero here.
type Process struct {
	spec.Replica
	// Controller has the bootstrap files and the state machine.
	Controller bootstrap.Controller
	// Node has meta.properties and the cluster id.
	Node clusterid.Node
	// Held is what the snapshots hold that the replica has, by their ends; Receiving what
	// the one holds that it has received all of.
	Held      [maxHeld]Contents
	Receiving Contents
	// Claimed is the epoch for which the state machine was told that it leads.
	Claimed uint8
	//lint:ignore U1000 what is interned has no padding
	spare [3]uint8
}

const maxHeld = 2

// Contents is what a snapshot holds of the metadata.
type Contents struct {
	End           uint8
	Version, Rest bootstrap.Content
	// KnowsID: 1 if there is a metadata.version, 2 if it knows cluster ids.
	KnowsID uint8
	ID      clusterid.ID
	// Others is how many records of clients are in it.
	Others uint8
	//lint:ignore U1000 what is interned has no padding
	spare [2]uint8
}

// Msg is a message, the cluster id that a request carries, and what a snapshot holds that
// is sent.
type Msg struct {
	spec.Msg
	Contents Contents
	ID       clusterid.ID
	//lint:ignore U1000 what is interned has no padding
	spare [7]uint8
}

// Records. To a replica those of metadata are kinds of its own: the kind in the lower
// four bits, and what it says in the upper ones.
const (
	beginRecord = spec.OwnKinds + iota
	endRecord
	abortRecord
	versionRecord // with its source
	restRecord    // with its source; the ClusterIdRecord, if that has one, is among them
	wholeRecord   // all of it in one batch
	upgradeRecord // a metadata.version that knows ids, with the id in the same batch
)

func recordOf(kind spec.RecordKind, says uint8) spec.RecordKind {
	return kind | spec.RecordKind(says)<<4
}

// foreigner is who wrote the records of the other cluster.
const foreigner = spec.ID(spec.MaxReplicas)

// idIn is the cluster id among the bootstrap records of a source: only format of KIP-1262
// writes one, and the default that software makes up has none.
func idIn(c bootstrap.Content) clusterid.ID {
	switch c {
	case bootstrap.OfZero:
		return clusterid.OfA
	case bootstrap.OfOther:
		return clusterid.OfB
	}
	return clusterid.NoID
}

// knowsIDs says whether the metadata.version of a source knows cluster ids: what software
// before it has written does not.
func knowsIDs(c bootstrap.Content) bool { return c != bootstrap.OfLegacy }

// metadata is the log as a controller sees it.
func metadata(l *spec.Log) (out bootstrap.Log) {
	at := 0
	for _, run := range l.Runs() {
		kind, says := bootstrap.Ordinary, bootstrap.NoContent
		switch run.Kind & 0xf {
		case spec.LeaderChange:
			kind = bootstrap.LeaderChange
		case beginRecord:
			kind = bootstrap.Begin
		case endRecord:
			kind = bootstrap.End
		case abortRecord:
			kind = bootstrap.Abort
		case versionRecord:
			kind, says = bootstrap.Version, bootstrap.Content(run.Kind>>4)
		case restRecord:
			kind, says = bootstrap.Rest, bootstrap.Content(run.Kind>>4)
		case wholeRecord:
			kind, says = bootstrap.Whole, bootstrap.Content(run.Kind>>4)
		}
		for range run.Count {
			out[at] = bootstrap.NewRecord(kind, uint8(run.Epoch), says)
			at++
		}
	}
	return out
}

// ids is the log as a node sees it.
func ids(l *spec.Log) (out clusterid.Log) {
	at := 0
	for _, run := range l.Runs() {
		kind, id := clusterid.LeaderChange, clusterid.NoID
		switch source := bootstrap.Content(run.Kind >> 4); run.Kind & 0xf {
		case beginRecord:
			kind = clusterid.Begin
		case endRecord:
			kind = clusterid.End
		case abortRecord:
			kind = clusterid.Abort
		case versionRecord:
			kind = clusterid.Version
			if knowsIDs(source) {
				kind = clusterid.NewVersion
			}
		case restRecord:
			if id = idIn(source); id != clusterid.NoID {
				kind = clusterid.ClusterID
			}
		case wholeRecord:
			switch id = idIn(source); {
			case id != clusterid.NoID:
				kind = clusterid.Upgrade
			case knowsIDs(source):
				kind = clusterid.NewVersion
			default:
				kind = clusterid.Version
			}
		case upgradeRecord:
			kind, id = clusterid.Upgrade, clusterid.ID(run.Kind>>4)
		}
		cluster := 0
		if run.Origin == foreigner {
			cluster = 1
		}
		for range run.Count {
			out[at] = clusterid.NewRecord(kind, uint8(run.Epoch), cluster, id)
			at++
		}
	}
	return out
}

// latest is what the latest snapshot holds.
func (p *Process) latest() (c Contents) {
	for _, held := range p.Held {
		if held.End >= c.End {
			c = held
		}
	}
	return c
}

// hold adds what a snapshot holds, and drops what belongs to none that the replica has.
func (p *Process) hold(more Contents) {
	var kept [maxHeld]Contents
	n := 0
	for _, s := range p.Snapshots.All() {
		for _, c := range append(p.Held[:], more) {
			if c.End == 0 || spec.Offset(c.End) != s.End {
				continue
			}
			if n == maxHeld {
				panic(errTooManyHeld)
			}
			kept[n] = c
			n++
			break
		}
	}
	p.Held = kept
}

// known is the end of what the process knows to be committed.
func (p *Process) known() uint8 {
	return uint8(max(0, min(p.HighWatermark, p.Log.End())))
}

// controls says whether there is a controller.
func (p *Process) controls() bool { return p.Controller.Up == 1 }

// controller is the controller with the log of the replica.
func (p *Process) controller() bootstrap.Controller {
	c, held := p.Controller, p.latest()
	c.Log, c.LogStart, c.Epoch = metadata(&p.Log), uint8(p.LogStart), uint8(p.Election.Epoch)
	c.Snap, c.SnapVersion, c.SnapRest = held.End, held.Version, held.Rest
	if p.Role == spec.Leader {
		c.Leading = 1
	}
	return c
}

// takeController keeps what is not of the log.
func (p *Process) takeController(c bootstrap.Controller) {
	c.Log, c.LogStart, c.Epoch, c.Leading = bootstrap.Log{}, 0, 0, 0
	c.Snap, c.SnapVersion, c.SnapRest = 0, bootstrap.NoContent, bootstrap.NoContent
	p.Controller = c
}

// node is the node with the log of the replica.
func (p *Process) node() clusterid.Node {
	n, held := p.Node, p.latest()
	n.Log, n.LogStart, n.HighWatermark = ids(&p.Log), uint8(p.LogStart), p.known()
	n.SnapVersion, n.SnapID = held.KnowsID, held.ID
	n.Leader = 1
	return n
}

// takeNode keeps what is not of the log.
func (p *Process) takeNode(n clusterid.Node) {
	n.Log, n.LogStart, n.HighWatermark, n.SnapVersion, n.SnapID, n.Leader = clusterid.Log{}, 0, 0, 0, clusterid.NoID, 0
	p.Node = n
}

// contents is what a snapshot of all below end holds, going by the log.
func (p *Process) contents(end uint8) Contents {
	m, id := metadata(&p.Log), ids(&p.Log)
	took := bootstrap.EffectOf(&m, end)
	image := clusterid.ImageOf(&id, 0, end, clusterid.Image{})
	c := Contents{End: end, Version: took.Version, Rest: took.Rest, KnowsID: image.Version, ID: image.ID}
	for _, r := range m[:end] {
		if r.Kind() == bootstrap.Ordinary {
			c.Others++
		}
	}
	return c
}
