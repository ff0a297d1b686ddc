package clusterid

// What a node does. A step sees one node and, of requests, what the leader of a cluster
// answers.

// verdict is what a start decides.
type verdict struct {
	fatal  bool
	target ID // NoID: to be discovered
}

// decide is the table of starts (docs/kip-1262.md), by what is in the directories.
func (x *Ctx) decide(n *Node) verdict {
	fatal := verdict{fatal: true}
	boot := x.Rules.IsBootstrap(n)
	if x.Rules.StaticMayDiscover && n.Role == StaticVoter {
		boot = false
	}
	var ids []ID
	missing := false
	for d := range MaxDirs {
		meta := x.Rules.Treats(n.Meta[d])
		switch meta.Form {
		case VersionZero:
			return fatal
		case Broken, WithoutID:
			if d == 0 {
				return fatal
			}
		case Missing:
			missing = true
		default:
			if meta.ID != NoID {
				ids = append(ids, meta.ID)
			}
		}
	}
	id, ok := x.Rules.Agree(ids)
	local := x.Rules.LocalID(n)
	switch {
	case !ok, boot && (missing || id == NoID):
		return fatal
	case x.Rules.ChecksZero && id != NoID && n.ZeroID != NoID && n.ZeroID != id:
		return fatal
	case id != NoID && local != NoID && id != local:
		return fatal
	case id == NoID:
		id = local
	}
	return verdict{target: id}
}

// Start reads the directories, which are locked first.
func (x *Ctx) Start(n *Node, endpoints uint8) bool {
	if !x.Require(Start, IsDown, !n.running()) {
		return false
	}
	n.Endpoints = endpoints
	v := x.decide(n)
	if v.fatal {
		n.Stage = Exited
		return true
	}
	n.Stage, n.Target = Writing, v.target
	for d := range MaxDirs {
		if meta := x.Rules.Treats(n.Meta[d]); meta != n.Meta[d] {
			n.Meta[d], n.Disk[d] = meta, meta
		}
	}
	if v.target == NoID && x.Rules.Discards && !x.Rules.StaticMayDiscover {
		n.discard()
	}
	return true
}

// discard forgets a log, which an observer may at any time.
func (n *Node) discard() {
	n.Log, n.LogStart, n.SnapVersion, n.SnapID, n.HighWatermark = Log{}, 0, 0, NoID, 0
}

// WriteMeta replaces meta.properties of a directory: data directories first, so that the
// metadata directory has it only when all were tried.
func (x *Ctx) WriteMeta(n *Node, d int) bool {
	if !x.Require(WriteMeta, IsWriting, n.Stage == Writing) ||
		!x.Require(WriteMeta, IsOnline, n.online(d)) ||
		!x.Require(WriteMeta, NotWritten, !n.written(x.Rules, d)) {
		return false
	}
	for other := d + 1; other < MaxDirs; other++ {
		if !x.Require(WriteMeta, DataFirst, !n.online(other) || n.written(x.Rules, other)) {
			return false
		}
	}
	dir := x.Rules.DirID(n, d)
	if n.Meta[d].Form == Missing {
		n.Draws++
		dir = n.Draws
	}
	n.Meta[d] = Meta{Form: V2, ID: x.Rules.WriteID(n, d), Dir: dir}
	return true
}

// FlushMeta flushes the directory that meta.properties was renamed in.
func (x *Ctx) FlushMeta(n *Node, d int) bool {
	if !x.Require(FlushMeta, IsRunning, n.running()) ||
		!x.Require(FlushMeta, SomethingToFlush, n.Disk[d] != n.Meta[d]) {
		return false
	}
	n.Disk[d] = n.Meta[d]
	n.Ever |= everBit(n.Meta[d].ID)
	return true
}

func everBit(id ID) uint8 {
	if id == NoID {
		return 0
	}
	return 1 << id
}

// FailMeta is a directory that cannot be written: one of data goes offline, without that
// of metadata there is no going on.
func (x *Ctx) FailMeta(n *Node, d int) bool {
	if !x.Require(FailMeta, IsWriting, n.Stage == Writing) ||
		!x.Require(FailMeta, IsOnline, n.online(d)) ||
		!x.Require(FailMeta, NotWritten, !n.written(x.Rules, d)) {
		return false
	}
	if d == 0 {
		x.exit(n)
		return true
	}
	n.Offline |= 1 << d
	return true
}

// SetMemory: all directories that are in use have the id, so it may be used; or all are
// formatted, and it may be looked for.
func (x *Ctx) SetMemory(n *Node) bool {
	if !x.Require(SetMemory, IsWriting, n.Stage == Writing) ||
		!x.Require(SetMemory, IsPersisted, x.Rules.Persisted(x.Rules, n)) {
		return false
	}
	n.Mem, n.Target, n.Stage = n.Target, NoID, Known
	if n.Mem == NoID {
		n.Stage = Unknown
	}
	return true
}

// Adopt: a node without id has seen a committed one.
func (x *Ctx) Adopt(n *Node, l *Log, hw uint8, leader ID) bool {
	if !x.Require(Adopt, IsUnknown, n.Stage == Unknown) {
		return false
	}
	id := x.Rules.Seen(n, l, hw, leader)
	if !x.Require(Adopt, IDCommitted, id != NoID) {
		return false
	}
	n.Stage, n.Target = Writing, id
	return true
}

// attach turns to the leader of a cluster.
func (x *Ctx) attach(n *Node, k int) {
	if n.Leader == uint8(k+1) {
		return
	}
	if n.Leader != 0 && n.Stage == Unknown && x.Rules.Discards {
		n.discard()
	}
	n.Leader, n.Conn, n.HighWatermark = uint8(k+1), n.Mem, 0
}

// Fetch is a Fetch or FetchSnapshot and its answer. The leader compares the id, then the
// epoch before the fetch offset.
func (x *Ctx) Fetch(n *Node, c *Cluster, k int, own ID) bool {
	if !x.Require(Fetch, IsReady, n.Stage == Unknown || n.Stage == Known) ||
		!x.Require(Fetch, IsEndpoint, n.Endpoints>>k&1 == 1) {
		return false
	}
	before := *n
	x.attach(n, k)
	end := n.Log.end()
	snapshot := end < c.Start
	if !x.Require(Fetch, SameCluster, x.Rules.Accepts(own, x.Rules.RequestID(n), snapshot)) {
		return x.rejected(n, before)
	}
	switch {
	case snapshot:
		n.Log = Log{}
		copy(n.Log[:c.Start], c.Log[:c.Start]) // ghosts
		n.LogStart, n.SnapVersion, n.SnapID, n.HighWatermark = c.Start, c.SnapVersion, c.SnapID, c.Start
	case end > c.Log.end() || end > 0 && n.Log[end-1].Epoch() != c.Log[end-1].Epoch():
		at := min(end, c.Log.end())
		for at > c.Start && at > 0 && n.Log[at-1].Epoch() != c.Log[at-1].Epoch() {
			at--
		}
		clear(n.Log[at:])
		if at < n.LogStart {
			n.discard()
		}
	default:
		if end < c.Log.end() {
			n.Log[end] = c.Log[end]
			end++
		}
		n.HighWatermark = max(n.HighWatermark, min(c.HighWatermark, end))
	}
	return *n != before
}

// rejected: INCONSISTENT_CLUSTER_ID is logged and the request sent again, for ever or
// until the deadline.
func (x *Ctx) rejected(n *Node, before Node) bool {
	switch {
	case x.Rules.MismatchWipes:
		stage := n.Endpoints
		for d := range MaxDirs {
			n.Meta[d], n.Disk[d] = Meta{}, Meta{}
		}
		n.discard()
		x.exit(n)
		n.Endpoints = stage
	case x.Rules.MismatchEnds:
		x.exit(n)
	default:
		*n = before
		n.Rejected = 1
	}
	return *n != before
}

// PeerError is the same from a peer that is misconfigured, to a voter that is not.
func (x *Ctx) PeerError(n *Node) bool {
	if !x.Require(PeerError, IsKnown, n.Stage == Known) ||
		!x.Require(PeerError, IsVoter, n.votes()) {
		return false
	}
	return x.rejected(n, *n)
}

// Register tells the leader that the node is there.
func (x *Ctx) Register(n *Node, own ID) bool {
	if !x.Require(Register, IsReady, n.Stage == Unknown || n.Stage == Known) ||
		!x.Require(Register, HasLeader, n.Leader != 0) ||
		!x.Require(Register, NotRegistered, n.In == 0) ||
		!x.Require(Register, IsKnown, x.Rules.MayRegister(n)) {
		return false
	}
	if !x.Require(Register, SameCluster, x.Rules.AcceptsRegistration(own, n.Mem)) {
		return false
	}
	n.Registered |= 1 << (n.Leader - 1)
	n.In = 1
	return true
}

// AutoJoin makes an observer controller ask to become a voter.
func (x *Ctx) AutoJoin(n *Node, own ID) bool {
	if !x.Require(AutoJoin, IsObserver, n.Role == Observer) ||
		!x.Require(AutoJoin, IsReady, n.Stage == Unknown || n.Stage == Known) ||
		!x.Require(AutoJoin, HasLeader, n.Leader != 0) ||
		!x.Require(AutoJoin, NotVoter, n.Voter == 0) ||
		!x.Require(AutoJoin, IsKnown, x.Rules.MayJoin(n)) ||
		!x.Require(AutoJoin, SameCluster, x.Rules.Accepts(own, n.Mem, false)) {
		return false
	}
	n.Voter = 1
	return true
}

// AddVoter is an operator who adds it, whatever it knows.
func (x *Ctx) AddVoter(n *Node) bool {
	if !x.Require(AddVoter, IsObserver, n.Role == Observer) ||
		!x.Require(AddVoter, IsReady, n.Stage == Unknown || n.Stage == Known) ||
		!x.Require(AddVoter, HasLeader, n.Leader != 0) ||
		!x.Require(AddVoter, HasRecords, n.Log[0] != 0) ||
		!x.Require(AddVoter, NotVoter, n.Voter == 0) {
		return false
	}
	n.Voter = 1
	return true
}

// votes says whether it is a voter: by its configuration, its zero checkpoint, or since.
func (n *Node) votes() bool { return n.Voter == 1 || n.Role == StaticVoter || n.Role == DynamicVoter }

// Stand: a voter asks for votes, and may come to lead.
func (x *Ctx) Stand(n *Node) bool {
	if !x.Require(Stand, IsReady, n.Stage == Unknown || n.Stage == Known) ||
		!x.Require(Stand, NotStanding, n.Stands == 0) ||
		!x.Require(Stand, IsKnown, x.Rules.MayStand(n)) {
		return false
	}
	if !x.Require(Stand, IsVoter, n.votes()) {
		return false
	}
	n.Stands = 1
	return true
}

// Timeout: a node that does not know its id, or that nobody has let in, gives up.
func (x *Ctx) Timeout(n *Node) bool {
	if !x.Require(Timeout, HasDeadline, x.Rules.HasDeadline) ||
		!x.Require(Timeout, IsWaiting, n.Stage == Unknown || n.Stage == Known && n.In == 0 && n.Role <= Observer) {
		return false
	}
	x.exit(n)
	return true
}

// SecondProcess is another process on the same directories, which found one of them
// empty.
func (x *Ctx) SecondProcess(n *Node, d int) bool {
	if n.Draws > 2 || n.Meta[d].Form != V2 ||
		!x.Require(SecondProcess, IsRunning, n.running()) ||
		!x.Require(SecondProcess, NotLocked, !x.Rules.Locks) {
		return false
	}
	n.Draws++
	n.Meta[d].Dir = n.Draws
	return true
}

// exit ends the process.
func (x *Ctx) exit(n *Node) {
	n.Stage = Exited
	n.Mem, n.Target, n.Conn, n.Leader, n.HighWatermark = NoID, NoID, NoID, 0, 0
	n.Offline, n.Stands, n.Rejected, n.In = 0, 0, 0, 0
}

// Crash is a loss of power: what was not flushed of a directory's names may be lost.
func (x *Ctx) Crash(n *Node, keep int) bool {
	if !x.Require(Crash, NotDown, n.Stage != Down) {
		return false
	}
	for d := range MaxDirs {
		if keep>>d&1 == 1 && n.Disk[d] == n.Meta[d] {
			return false
		}
		if keep>>d&1 == 1 {
			n.Meta[d] = n.Disk[d]
		}
		n.Disk[d] = n.Meta[d]
		n.Ever |= everBit(n.Meta[d].ID)
	}
	x.exit(n)
	n.Stage = Down
	return true
}

// LoseDirectory is a disk that is replaced while the node is down; the metadata directory has
// the log as well.
func (x *Ctx) LoseDirectory(n *Node, d int) bool {
	if !x.Require(LoseDirectory, IsDown, !n.running()) ||
		!x.Require(LoseDirectory, HasFile, n.Meta[d].Form != Missing) {
		return false
	}
	n.Meta[d], n.Disk[d] = Meta{}, Meta{}
	n.Ever = everBit(n.Disk[1-d].ID) // of the disks that are left
	if d == 0 {
		n.discard()
		n.Zero, n.ZeroID = 0, NoID
		n.Lost, n.Voter = 1, 0 // of a dynamic quorum: its key is gone with the directory id
		if n.Role == DynamicVoter {
			n.Role = Observer
		}
	}
	return true
}

// LoseDisks is all disks.
func (x *Ctx) LoseDisks(n *Node) bool {
	if !x.Require(LoseDisks, IsDown, !n.running()) {
		return false
	}
	lost := x.LoseDirectory(n, 0)
	if x.LoseDirectory(n, 1) || lost {
		n.Lost = 1
		return true
	}
	return false
}

// Format is an operator who formats what is there again, with an id.
func (x *Ctx) Format(n *Node, id ID) bool {
	if !x.Require(Format, IsDown, !n.running()) {
		return false
	}
	for d := range MaxDirs {
		n.Draws++
		n.Meta[d] = Meta{Form: V1, ID: id, Dir: n.Draws}
		n.Disk[d] = n.Meta[d]
	}
	n.Ever, n.Lost = everBit(id), 0
	return true
}
