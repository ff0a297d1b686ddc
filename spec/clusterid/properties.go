package clusterid

import "github.com/quorate/quorate/checker"

// Properties. The invariants first, numbered as in docs/kip-1262.md.
const (
	PersistFirst checker.Props = 1 << iota
	SingleID
	NoCrossing
	RightID
	LeaderHasID
	Reject
	NoForget
	BootstrapNeedsFormat
	OneClusterID
	IDGate
	CommittedOnly
	RegisteredAfterKnown
	DirectoriesAgree
	DirectoryIDStable
	UpgradeKeeps
	VoteMemory
	ZeroMatches
	RunningSurvives
	SnapshotCarriesID
	StartTable

	LearnedByFetch
	LearnedFromSnapshot
	LearnedAfterUpgrade
	LearnedAtStart
	CompletedAtStart
	DirectoryWentOffline
	WriteFailed
	RenameLost
	LogDiscarded
	LogTruncated
	RejectedByOther
	EndedWithoutID
	EndedAtOther
	RegisteredAnywhere
	JoinedOther
	BecameVoter
	VoterStands
	PeerErrorSurvived
	StartRefused
	TransactionAborted
	IDDroppedByDowngrade
	LeaderDrewID
	DrawnIDLost
)

// Properties lists them, in the order of their bits.
var Properties = []checker.Property{
	{Name: "PersistFirst", Doc: "B-I1: an id in memory is on the disk of every directory in use"},
	{Name: "SingleID", Doc: "B-I2: the disks of a node never hold two cluster ids, one after the other neither, but for new disks and an operator"},
	{Name: "NoCrossing", Doc: "B-I3: the log of a node is of one cluster"},
	{Name: "RightID", Doc: "B-I4: a node with an id has no records of a cluster that was formatted with another one, or has committed another one"},
	{Name: "LeaderHasID", Doc: "B-I5: in R1, who stands for election knows its cluster id"},
	{Name: "Reject", Kind: checker.Always, Doc: "B-I6: a leader serves no request with another id than its own, and a registration not without one", Subject: "Fetch"},
	{Name: "NoForget", Kind: checker.Always, Doc: "B-I7: a node with an id sends it in every request", Subject: "Fetch"},
	{Name: "BootstrapNeedsFormat", Kind: checker.Always, Doc: "B-I8: in R1, a node that takes part in the first election never formats itself"},
	{Name: "OneClusterID", Doc: "B-I9: a cluster commits one id, however often"},
	{Name: "IDGate", Doc: "B-I10: an id is committed with, and only with, a metadata.version that knows it, in one unit"},
	{Name: "CommittedOnly", Kind: checker.Always, Doc: "B-I11: a node takes an id from its log only when it has been committed, and not in an open transaction"},
	{Name: "RegisteredAfterKnown", Doc: "B-I12: who is registered, or asked to become a voter itself, knows its id"},
	{Name: "DirectoriesAgree", Doc: "B-I13: a node that runs has no two ids in its directories"},
	{Name: "DirectoryIDStable", Kind: checker.Always, Doc: "B-I14: the directory id of a directory does not change while meta.properties is there"},
	{Name: "UpgradeKeeps", Doc: "B-I15: what an upgrade writes is the id that the cluster was formatted with"},
	{Name: "VoteMemory", Doc: "B-I16: a static voter that lost its disk does not vote before an operator formats it"},
	{Name: "ZeroMatches", Doc: "B-I17: a controller that runs has the id of its zero checkpoint"},
	{Name: "RunningSurvives", Kind: checker.Always, Doc: "a voter does not end because a peer is misconfigured"},
	{Name: "SnapshotCarriesID", Doc: "a snapshot of a cluster that has committed an id has it"},
	{Name: "StartTable", Kind: checker.Always, Doc: "a start ends as the table of starts says", Subject: "Start"},

	{Name: "LearnedByFetch", Kind: checker.Sometimes, Doc: "a node learns its id from a record"},
	{Name: "LearnedFromSnapshot", Kind: checker.Sometimes, Doc: "a node learns its id from a snapshot"},
	{Name: "LearnedAfterUpgrade", Kind: checker.Sometimes, Doc: "a node that waited learns its id from an upgrade"},
	{Name: "LearnedAtStart", Kind: checker.Sometimes, Doc: "a node without id finds it in its own snapshot at start"},
	{Name: "CompletedAtStart", Kind: checker.Sometimes, Doc: "a start brings a directory without id up to the others"},
	{Name: "DirectoryWentOffline", Kind: checker.Sometimes, Doc: "a data directory fails at adoption, and the node goes on"},
	{Name: "WriteFailed", Kind: checker.Sometimes, Doc: "the metadata directory fails, and the node ends"},
	{Name: "RenameLost", Kind: checker.Sometimes, Doc: "a crash takes a meta.properties back that was not flushed"},
	{Name: "LogDiscarded", Kind: checker.Sometimes, Doc: "a node without id drops its log"},
	{Name: "LogTruncated", Kind: checker.Sometimes, Doc: "a node cuts records that were not committed"},
	{Name: "RejectedByOther", Kind: checker.Sometimes, Doc: "the leader of another cluster refuses a node"},
	{Name: "EndedWithoutID", Kind: checker.Sometimes, Doc: "a node that learns no id ends at its deadline"},
	{Name: "EndedAtOther", Kind: checker.Sometimes, Doc: "a node that another cluster refuses ends at its deadline"},
	{Name: "RegisteredAnywhere", Kind: checker.Sometimes, Doc: "a node registers"},
	{Name: "JoinedOther", Kind: checker.Sometimes, Doc: "a node whose process ended before it had an id joins another cluster"},
	{Name: "BecameVoter", Kind: checker.Sometimes, Doc: "an observer that knows its id joins the voters"},
	{Name: "VoterStands", Kind: checker.Sometimes, Doc: "a voter stands for election"},
	{Name: "PeerErrorSurvived", Kind: checker.Sometimes, Doc: "a voter is told by a peer that its id is wrong, and goes on"},
	{Name: "StartRefused", Kind: checker.Sometimes, Doc: "a start ends with an error"},
	{Name: "TransactionAborted", Kind: checker.Sometimes, Doc: "an id is aborted with its transaction"},
	{Name: "IDDroppedByDowngrade", Kind: checker.Sometimes, Doc: "a downgrade drops the id"},
	{Name: "LeaderDrewID", Kind: checker.Sometimes, Doc: "in R2, a leader takes over the id that it has drawn, once that is committed"},
	{Name: "DrawnIDLost", Kind: checker.Sometimes, Doc: "in R2, an id that was drawn is never committed, and another one is"},
}

// startTable is the table of starts of docs/kip-1262.md, written out row by row. It
// shares nothing with machine.decide.
func startTable(n *Node, r2 bool) (fatal bool, id ID) {
	meta, data := n.Meta[0], n.Meta[1]
	voter := n.Role == StaticVoter || n.Zero == 1
	if r2 && n.Role == StaticVoter {
		voter = false
	}
	has := func(m Meta) bool { return (m.Form == V1 || m.Form == V2) && m.ID != NoID }
	bare := func(m Meta) bool { return m.Form == V2 && m.ID == NoID }
	switch {
	case meta.Form == VersionZero || data.Form == VersionZero: // 12
		return true, NoID
	case meta.Form == Broken || meta.Form == WithoutID: // 10, 15, 16
		return true, NoID
	case has(meta) && has(data) && meta.ID != data.ID: // 8
		return true, NoID
	case meta.Form == Missing && voter, data.Form == Missing && voter: // 1, 6, 7
		return true, NoID
	case !has(meta) && !has(data) && voter: // 4
		return true, NoID
	}
	switch {
	case has(meta): // 2, 3, 5, 6, 9, 11
		id = meta.ID
	case has(data): // 5, 6
		id = data.ID
	case bare(meta) || meta.Form == Missing: // 1, 4, 7, 18, 21
		return false, n.SnapID
	}
	if n.SnapID != NoID && n.SnapID != id || n.ZeroID != NoID && n.ZeroID != id { // 20, and the zero checkpoint
		return true, NoID
	}
	return false, id
}

// Check implements concern.Spec.
func (m *machine) Check(s *State) (bad checker.Props) {
	for k := range m.model.clusters() {
		bad |= m.checkCluster(&s.K[k], k)
	}
	for i := range m.model.Nodes {
		n := &s.N[i]
		bad |= m.checkNode(n)
		if n.Mem != NoID && n.Log[0] != 0 {
			k := &s.K[n.Log[0].Origin()-1]
			if id := k.committed().ID; id != NoID && id != n.Mem {
				bad |= RightID
			}
		}
	}
	return bad
}

func (m *machine) checkCluster(c *Cluster, k int) (bad checker.Props) {
	image, first := Image{}, NoID
	for at, r := range c.Log[:c.Log.end()] {
		if r.Kind() == Upgrade && r.ID() != idOf(k) {
			bad |= UpgradeKeeps
		}
		if at >= int(c.HighWatermark) {
			continue
		}
		image = image.Apply(r)
		now := image.Stable()
		if (now.Version == 2) != (now.ID != NoID) {
			bad |= IDGate
		}
		if now.ID != NoID {
			if first != NoID && first != now.ID {
				bad |= OneClusterID
			}
			first = now.ID
		}
	}
	if c.Start > 0 {
		at := ImageOf(&c.Log, 0, c.Start, Image{})
		if at.ID != c.SnapID || at.Version != c.SnapVersion {
			bad |= SnapshotCarriesID
		}
	}
	return bad
}

func (m *machine) checkNode(n *Node) (bad checker.Props) {
	if n.Mem != NoID {
		for d := range MaxDirs {
			if n.online(d) && n.Disk[d].ID != n.Mem {
				bad |= PersistFirst
			}
		}
	}
	if n.Ever&(n.Ever-1) != 0 {
		bad |= SingleID
	}
	for _, r := range n.Log[:n.Log.end()] {
		if r.Origin() != n.Log[0].Origin() {
			bad |= NoCrossing
		}
		if (n.Mem == OfA || n.Mem == OfB) && ID(r.Origin()) != n.Mem {
			bad |= RightID
		}
	}
	if n.Stands == 1 && n.Mem == NoID && !m.model.R2 {
		bad |= LeaderHasID
	}
	if n.In == 1 && n.Mem == NoID {
		bad |= RegisteredAfterKnown
	}
	if n.Stage == Known || n.Stage == Unknown {
		if a, b := n.Meta[0].ID, n.Meta[1].ID; n.online(0) && n.online(1) && a != b {
			bad |= DirectoriesAgree
		}
		if n.ZeroID != NoID && n.Mem != n.ZeroID {
			bad |= ZeroMatches
		}
	}
	if n.Role == StaticVoter && n.Lost == 1 && n.Stands == 1 {
		bad |= VoteMemory
	}
	return bad
}

// judge gives the properties that a step breaks and reaches.
func (m *machine) judge(a Action, arg, p int, s, t *State) (bad, reached checker.Props) {
	see := func(prop checker.Props, ok bool) {
		if ok {
			reached |= prop
		}
	}
	if p >= m.model.Nodes {
		c, was := &t.K[p-m.model.Nodes], &s.K[p-m.model.Nodes]
		if a == AppendNext {
			n := c.Log.end()
			see(TransactionAborted, c.Log[n-1].Kind() == Abort && ImageOf(&was.Log, 0, n-1, Image{}).ID != NoID)
		}
		see(IDDroppedByDowngrade, a == AdvanceHighWatermark && was.committed().ID != NoID && c.committed().ID == NoID)
		see(DrawnIDLost, a == AdvanceHighWatermark && c.committed().ID > Drawn1)
		return bad, reached
	}
	old, now := &s.N[p], &t.N[p]
	for d := range MaxDirs {
		if x, y := old.Meta[d], now.Meta[d]; x.usable() && y.usable() && x.Dir != y.Dir && a != Format && a != Crash {
			bad |= DirectoryIDStable
		}
	}
	switch a {
	case Start:
		fatal, id := startTable(old, m.model.R2)
		if fatal != (now.Stage == Exited) || !fatal && now.Target != id {
			bad |= StartTable
		}
		if id := now.Target; id != NoID && id != now.Meta[0].ID && id != now.Meta[1].ID && old.Log[0] != 0 && !s.K[old.Log[0].Origin()-1].everCommitted(id) {
			bad |= CommittedOnly
		}
		see(StartRefused, now.Stage == Exited)
		see(LearnedAtStart, now.Target != NoID && old.Meta[0].ID == NoID && old.Meta[1].ID == NoID)
		see(LogDiscarded, old.Log[0] != 0 && now.Log[0] == 0)
	case WriteMeta:
		if old.Meta[arg].Form == Missing && (old.Role == StaticVoter && !m.model.R2 || old.Zero == 1) {
			bad |= BootstrapNeedsFormat
		}
		see(CompletedAtStart, old.Leader == 0 && now.Meta[arg].ID != NoID && old.Meta[1-arg].ID == now.Meta[arg].ID)
	case FailMeta:
		see(DirectoryWentOffline, arg == 1 && now.Stage == Writing && now.Target != NoID)
		see(WriteFailed, arg == 0 && now.Stage == Exited)
	case Fetch:
		asked, own := m.Rules.RequestID(now), s.own(arg)
		served := now.Stage == old.Stage && (now.Log != old.Log || now.HighWatermark != old.HighWatermark || now.Leader != old.Leader)
		if served && asked != NoID && own != NoID && asked != own {
			bad |= Reject
		}
		if now.Stage == Known && asked != now.Mem || asked == NoID && old.Disk[0].ID != NoID && now.Stage != Exited {
			bad |= NoForget
		}
		see(RejectedByOther, now.Rejected == 1 && old.Rejected == 0)
		see(LogTruncated, now.Leader == old.Leader && now.Log.end() < old.Log.end())
		see(LogDiscarded, now.Leader != old.Leader && now.Log.end() < old.Log.end())
	case Adopt:
		k := s.leads(p)
		if k < 0 {
			k = int(old.Leader) - 1
		} else {
			see(LeaderDrewID, now.Target >= Drawn1)
		}
		c := &s.K[k]
		if !c.everCommitted(now.Target) {
			bad |= CommittedOnly
		}
		see(LearnedFromSnapshot, old.LogStart > 0 && old.SnapID != NoID)
		see(LearnedByFetch, old.LogStart == 0 && c.New == 1)
		see(LearnedAfterUpgrade, old.LogStart == 0 && c.New == 0)
	case Register:
		see(RegisteredAnywhere, now.In == 1)
		see(JoinedOther, old.Leader == 2 && old.Endpoints == 2 && s.Moves > 0)
		if own := s.own(int(old.Leader) - 1); old.Mem != own {
			bad |= Reject
		}
	case AutoJoin:
		if now.Mem == NoID {
			bad |= RegisteredAfterKnown
		}
		see(BecameVoter, now.Voter == 1)
	case Stand:
		see(VoterStands, now.Stands == 1)
	case PeerError:
		if now.Stage == Exited {
			bad |= RunningSurvives
		}
		see(PeerErrorSurvived, now.Stage == Known)
	case Timeout:
		see(EndedWithoutID, old.Stage == Unknown)
		see(EndedAtOther, old.Stage == Known && old.Rejected == 1)
	case Crash:
		see(RenameLost, arg != 0 && old.Meta != now.Meta)
	}
	return bad, reached
}
