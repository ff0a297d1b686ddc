package composed

import (
	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/spec/bootstrap"
	"github.com/quorate/quorate/spec/clusterid"
)

// safety is how many of the properties of package spec are of states and steps: the
// first ones, which keep their bits here.
const safety = 18

// fromSpec are those.
const fromSpec checker.Props = 1<<safety - 1

// Properties where concerns meet.
const (
	CommittedByMajority checker.Props = 1 << (safety + iota)
	OneBootstrap
	AllOrNothing
	NoUncommittedReplay
	TransactionClosed
	SnapshotStable
	ZeroDeletedSafe
	SnapshotStays
	ActiveHasVersion
	PersistFirst
	SingleID
	CommittedOnly
	IDGate
	OneClusterID
	RightID
	LeaderHasID
	SnapshotCarriesID

	CommittedByLaterEpoch
	BootstrapCut
	OpenTransactionCut
	TransferOvertaken
	FollowedAnotherLeader
	CommittedInTransaction
	SnapshotBelowEnd
	IDSeenUncommitted
	ZeroSuperseded
	LearnedFromBootstrap
	LearnedFromSnapshot
	FiveMet
)

// Properties lists them, in the order of their bits.
var Properties = append(append([]checker.Property(nil), spec.Properties[:safety]...),
	checker.Property{Name: "CommittedByMajority", Kind: checker.Always, Doc: "what a high watermark covers is on the disks of a majority of the voters of this cluster"},
	checker.Property{Name: "OneBootstrap", Doc: "A-I1: at most one set of bootstrap records ever takes effect"},
	checker.Property{Name: "AllOrNothing", Doc: "A-I2: what is committed and takes effect is all of one bootstrap, or nothing"},
	checker.Property{Name: "NoUncommittedReplay", Doc: "A-I7: a state machine has no metadata.version but a committed one, or one that its leader wrote itself"},
	checker.Property{Name: "TransactionClosed", Doc: "A-I8: in no log does a transaction begin within another, or end or abort without one"},
	checker.Property{Name: "SnapshotStable", Doc: "A-I9: a snapshot of a state machine is what the committed log before it amounts to, outside any transaction and with a metadata.version"},
	checker.Property{Name: "ZeroDeletedSafe", Doc: "A-I5: a zero checkpoint that was there and is not any more is not needed: a bootstrap is committed, with its cluster id"},
	checker.Property{Name: "SnapshotStays", Doc: "a controller that has had a zero checkpoint has that, or a later snapshot"},
	checker.Property{Name: "ActiveHasVersion", Doc: "the log of a controller that serves sets a metadata.version, outside any open transaction"},
	checker.Property{Name: "PersistFirst", Doc: "B-I1: an id in memory is on the disk of every directory in use"},
	checker.Property{Name: "SingleID", Doc: "B-I2: the disks of a node never hold two cluster ids"},
	checker.Property{Name: "CommittedOnly", Doc: "B-I11: an id that a node has learned has been committed, and not in an open transaction"},
	checker.Property{Name: "IDGate", Doc: "B-I10: what is committed has an id if, and only if, it has a metadata.version that knows ids; whole transactions count"},
	checker.Property{Name: "OneClusterID", Doc: "B-I9: a cluster commits one id, however often"},
	checker.Property{Name: "RightID", Doc: "B-I4, B-I6: who follows a leader, or has voted for it, and knows its own id, has the id of the leader"},
	checker.Property{Name: "LeaderHasID", Doc: "B-I5: a leader knows its cluster id"},
	checker.Property{Name: "SnapshotCarriesID", Doc: "B-M27, A-I5: a snapshot holds the id that is committed below its end"},

	checker.Property{Name: "CommittedByLaterEpoch", Kind: checker.Sometimes, Doc: "election and commit: a leader commits a record of an earlier epoch with its own"},
	checker.Property{Name: "BootstrapCut", Kind: checker.Sometimes, Doc: "election and bootstrap: a follower of a new leader cuts bootstrap records that were not committed"},
	checker.Property{Name: "OpenTransactionCut", Kind: checker.Sometimes, Doc: "election and bootstrap: the same of a transaction that was open"},
	checker.Property{Name: "TransferOvertaken", Kind: checker.Sometimes, Doc: "election and snapshot: a newer epoch ends the transfer of a snapshot"},
	checker.Property{Name: "FollowedAnotherLeader", Kind: checker.Sometimes, Doc: "election and cluster id: a node that has learned its id follows the leader of a later epoch with it"},
	checker.Property{Name: "CommittedInTransaction", Kind: checker.Sometimes, Doc: "commit and bootstrap: the high watermark of a leader is inside its bootstrap transaction"},
	checker.Property{Name: "SnapshotBelowEnd", Kind: checker.Sometimes, Doc: "commit and snapshot: a snapshot is taken while records behind it are not committed"},
	checker.Property{Name: "IDSeenUncommitted", Kind: checker.Sometimes, Doc: "commit and cluster id: a node without id has one in its log that it does not know to be committed"},
	checker.Property{Name: "ZeroSuperseded", Kind: checker.Sometimes, Doc: "bootstrap and snapshot: a zero checkpoint is deleted, since there is a snapshot"},
	checker.Property{Name: "LearnedFromBootstrap", Kind: checker.Sometimes, Doc: "bootstrap and cluster id: a node learns its id from the bootstrap in the log"},
	checker.Property{Name: "LearnedFromSnapshot", Kind: checker.Sometimes, Doc: "snapshot and cluster id: a node learns its id from a snapshot"},
	checker.Property{Name: "FiveMet", Kind: checker.Sometimes, Doc: "all five: a node learns its id from a snapshot of a bootstrap that one leader has written and a later one has committed more behind"},
)

// CheckOne implements checker.System.
func (s *System) CheckOne(p *Process, g *spec.Ghost) (bad checker.Props) {
	if !s.model.Foreign.Has(p.ID) {
		bad = spec.CheckOne(&p.Replica, g) & fromSpec
	}
	exposed := Process{Replica: spec.Replica{Log: g.Exposed}}
	end := uint8(g.Exposed.End())
	took := exposed.contents(end)
	if s.model.Bootstraps {
		bad |= s.checkController(p, &g.Exposed)
	}
	if s.model.ClusterID {
		bad |= s.checkNode(p, &g.Exposed)
	}
	for _, held := range p.Held {
		if held.End == 0 || held.End > end {
			continue
		}
		at := exposed.contents(held.End)
		if s.model.Bootstraps && (held != at || at.Version == bootstrap.NoContent) {
			bad |= SnapshotStable
		}
		if s.model.ClusterID && held.ID != at.ID {
			bad |= SnapshotCarriesID
		}
	}
	if c := &p.Controller; c.HadZero == 1 && c.Zero == bootstrap.NoZero {
		if took.Version == bootstrap.NoContent || s.model.ClusterID && took.ID == clusterid.NoID {
			bad |= ZeroDeletedSafe
		}
		if p.latest().End == 0 {
			bad |= SnapshotStays
		}
	}
	return bad
}

func (s *System) checkController(p *Process, exposed *spec.Log) (bad checker.Props) {
	committed, own := metadata(exposed), metadata(&p.Log)
	all := bootstrap.EffectOf(&committed, uint8(exposed.End()))
	took := all.Stable()
	if all.Bootstraps > 1 {
		bad |= OneBootstrap
	}
	if took.Version != took.Rest {
		bad |= AllOrNothing
	}
	mine := bootstrap.EffectOf(&own, uint8(p.Log.End()))
	if mine.Broken {
		bad |= TransactionClosed
	}
	c := &p.Controller
	if c.Up == 1 && c.Image.Version != bootstrap.NoContent && c.Phase == bootstrap.Standby && !sets(&committed, exposed.End(), c.Image.Version) {
		bad |= NoUncommittedReplay
	}
	if c.Phase == bootstrap.Active && p.Role == spec.Leader && p.Claimed == uint8(p.Election.Epoch) && (mine.Tx != 0 || mine.Version == bootstrap.NoContent) {
		bad |= ActiveHasVersion
	}
	return bad
}

// sets says whether a record of the log sets that metadata.version.
func sets(l *bootstrap.Log, end spec.Offset, c bootstrap.Content) bool {
	for _, r := range l[:end] {
		if k := r.Kind(); (k == bootstrap.Version || k == bootstrap.Whole) && r.Content() == c {
			return true
		}
	}
	return false
}

func (s *System) checkNode(p *Process, exposed *spec.Log) (bad checker.Props) {
	committed := ids(exposed)
	ever, image := uint8(0), clusterid.Image{}
	for _, r := range committed[:exposed.End()] {
		image = image.Apply(r)
		now := image.Stable()
		if (now.Version == 2) != (now.ID != clusterid.NoID) {
			bad |= IDGate
		}
		if now.ID != clusterid.NoID {
			ever |= 1 << now.ID
		}
	}
	if ever&(ever-1) != 0 {
		bad |= OneClusterID
	}
	n := &p.Node
	if n.Mem != clusterid.NoID {
		for d := range clusterid.MaxDirs {
			if n.Disk[d].ID != n.Mem {
				bad |= PersistFirst
			}
		}
		if n.Role == clusterid.Broker && ever>>n.Mem&1 == 0 {
			bad |= CommittedOnly
		}
	}
	if n.Ever&(n.Ever-1) != 0 {
		bad |= SingleID
	}
	if p.Role == spec.Leader && n.Mem == clusterid.NoID {
		bad |= LeaderHasID
	}
	return bad
}

// CheckPair implements checker.System.
func (s *System) CheckPair(a, b *Process) (bad checker.Props) {
	if !s.model.Foreign.Has(a.ID) && !s.model.Foreign.Has(b.ID) {
		bad = spec.CheckPair(&a.Replica, &b.Replica) & fromSpec
	}
	if s.model.ClusterID && (follows(a, b) || follows(b, a)) && a.Node.Mem != clusterid.NoID && b.Node.Mem != clusterid.NoID && a.Node.Mem != b.Node.Mem {
		bad |= RightID
	}
	return bad
}

// follows says whether f follows l, or has voted for it, in the epoch that l leads.
func follows(f, l *Process) bool {
	return l.Role == spec.Leader && f.Election.Epoch == l.Election.Epoch && (f.Election.Leader == l.ID || f.Election.Voted == l.ID)
}

// judge gives the properties that a step breaks and reaches.
func (s *System) judge(a Action, old, now *Process) (bad, reached checker.Props) {
	see := func(p checker.Props, ok bool) {
		if ok {
			reached |= p
		}
	}
	if now.Role == spec.Leader && old.Role == spec.Leader && now.HighWatermark > now.EpochStart && now.EpochStart > max(old.HighWatermark, 0) &&
		now.Log.At(now.EpochStart-1).Epoch < now.Election.Epoch {
		see(CommittedByLaterEpoch, true)
	}
	if now.Log.End() < old.Log.End() && now.LogStart == old.LogStart && s.model.Bootstraps {
		l := metadata(&old.Log)
		cut := now.Role != spec.Down && a == Action(spec.ActionHandleFetchResponse)
		for _, r := range l[now.Log.End():old.Log.End()] {
			see(BootstrapCut, cut && r.Content() != bootstrap.NoContent)
		}
		see(OpenTransactionCut, cut && bootstrap.EffectOf(&l, uint8(old.Log.End())).Tx != 0)
	}
	if s.model.Bootstraps && now.Role == spec.Leader && now.HighWatermark > old.HighWatermark {
		l := metadata(&now.Log)
		see(CommittedInTransaction, bootstrap.EffectOf(&l, uint8(now.HighWatermark)).Tx != 0)
	}
	n, was := &now.Node, &old.Node
	if s.model.ClusterID && n.Role == clusterid.Broker {
		see(FollowedAnotherLeader, n.Mem != clusterid.NoID && old.Role == spec.Follower && now.Role == spec.Follower && now.Election.Epoch > old.Election.Epoch)
		if n.Stage == clusterid.Unknown {
			at, id := now.contents(now.known()), now.contents(uint8(now.Log.End()))
			see(IDSeenUncommitted, at.ID == clusterid.NoID && id.ID != clusterid.NoID)
		}
	}
	switch a {
	case Action(spec.ActionTakeSnapshot):
		see(SnapshotBelowEnd, now.Snapshots.Latest().End < now.Log.End() && now.HighWatermark < now.Log.End())
	case DeleteZero:
		see(ZeroSuperseded, now.Controller.Zero == bootstrap.NoZero && now.latest().End > 0)
	case Adopt:
		fromSnapshot := old.LogStart > 0 && old.latest().ID != clusterid.NoID
		see(LearnedFromSnapshot, fromSnapshot && was.Mem == clusterid.NoID)
		see(LearnedFromBootstrap, s.model.Bootstraps && old.LogStart == 0)
		begun, led := spec.Epoch(0), spec.Epoch(0) // when the bootstrap was written, and who led behind it
		for _, r := range old.Log.Runs() {
			switch r.Kind & 0xf {
			case versionRecord, wholeRecord:
				begun = r.Epoch
			case spec.LeaderChange:
				led = r.Epoch
			}
		}
		see(FiveMet, fromSnapshot && begun > 0 && led > begun)
	}
	return bad, reached
}
