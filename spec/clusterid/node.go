package clusterid

// What a node does. A step sees one node and, of requests, what the leader of a cluster
// answers.

// verdict is what a start decides.
type verdict struct {
	fatal  bool
	target ID // NoID: to be discovered
}

// decide is the table of starts (docs/kip-1262.md), by what is in the directories.
func (m *machine) decide(n *Node) verdict {
	fatal := verdict{fatal: true}
	boot := m.rules.IsBootstrap(n)
	if m.rules.StaticMayDiscover && n.Role == StaticVoter {
		boot = false
	}
	var ids []ID
	missing := false
	for d := range MaxDirs {
		meta := m.rules.Treats(n.Meta[d])
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
	id, ok := m.rules.Agree(ids)
	local := m.rules.LocalID(n)
	switch {
	case !ok, boot && (missing || id == NoID):
		return fatal
	case m.rules.ChecksZero && id != NoID && n.ZeroID != NoID && n.ZeroID != id:
		return fatal
	case id != NoID && local != NoID && id != local:
		return fatal
	case id == NoID:
		id = local
	}
	return verdict{target: id}
}

// start reads the directories, which are locked first.
func (m *machine) start(n *Node, endpoints uint8) bool {
	if n.running() {
		return false
	}
	n.Endpoints = endpoints
	v := m.decide(n)
	if v.fatal {
		n.Stage = Exited
		return true
	}
	n.Stage, n.Target = Writing, v.target
	for d := range MaxDirs {
		if meta := m.rules.Treats(n.Meta[d]); meta != n.Meta[d] {
			n.Meta[d], n.Disk[d] = meta, meta
		}
	}
	if v.target == NoID && m.rules.Discards && !m.rules.StaticMayDiscover {
		n.discard()
	}
	return true
}

// discard forgets a log, which an observer may at any time.
func (n *Node) discard() {
	n.Log, n.LogStart, n.SnapVersion, n.SnapID, n.HighWatermark = Log{}, 0, 0, NoID, 0
}

// writeMeta replaces meta.properties of a directory: data directories first, so that the
// metadata directory has it only when all were tried.
func (m *machine) writeMeta(n *Node, d int) bool {
	if n.Stage != Writing || !n.online(d) || n.written(m.rules, d) {
		return false
	}
	for other := d + 1; other < MaxDirs; other++ {
		if n.online(other) && !n.written(m.rules, other) {
			return false
		}
	}
	dir := m.rules.DirID(n, d)
	if n.Meta[d].Form == Missing {
		n.Draws++
		dir = n.Draws
	}
	n.Meta[d] = Meta{Form: V2, ID: m.rules.WriteID(n, d), Dir: dir}
	return true
}

// flushMeta flushes the directory that meta.properties was renamed in.
func (m *machine) flushMeta(n *Node, d int) bool {
	if !n.running() || n.Disk[d] == n.Meta[d] {
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

// failMeta is a directory that cannot be written: one of data goes offline, without that
// of metadata there is no going on.
func (m *machine) failMeta(n *Node, d int) bool {
	if n.Stage != Writing || !n.online(d) || n.written(m.rules, d) {
		return false
	}
	if d == 0 {
		m.exit(n)
		return true
	}
	n.Offline |= 1 << d
	return true
}

// setMemory: all directories that are in use have the id, so it may be used; or all are
// formatted, and it may be looked for.
func (m *machine) setMemory(n *Node) bool {
	if n.Stage != Writing || !m.rules.Persisted(m.rules, n) {
		return false
	}
	n.Mem, n.Target, n.Stage = n.Target, NoID, Known
	if n.Mem == NoID {
		n.Stage = Unknown
	}
	return true
}

// adopt: a node without id has seen a committed one.
func (m *machine) adopt(n *Node, l *Log, hw uint8, leader ID) bool {
	if n.Stage != Unknown {
		return false
	}
	id := m.rules.Seen(n, l, hw, leader)
	if id == NoID {
		return false
	}
	n.Stage, n.Target = Writing, id
	return true
}

// attach turns to the leader of a cluster.
func (m *machine) attach(n *Node, k int) {
	if n.Leader == uint8(k+1) {
		return
	}
	if n.Leader != 0 && n.Stage == Unknown && m.rules.Discards {
		n.discard()
	}
	n.Leader, n.Conn, n.HighWatermark = uint8(k+1), n.Mem, 0
}

// fetch is a Fetch or FetchSnapshot and its answer. The leader compares the id, then the
// epoch before the fetch offset.
func (m *machine) fetch(n *Node, c *Cluster, k int, own ID) bool {
	if n.Stage != Unknown && n.Stage != Known || n.Endpoints>>k&1 == 0 {
		return false
	}
	before := *n
	m.attach(n, k)
	end := n.Log.end()
	snapshot := end < c.Start
	if !m.rules.Accepts(own, m.rules.RequestID(n), snapshot) {
		return m.rejected(n, before)
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
func (m *machine) rejected(n *Node, before Node) bool {
	switch {
	case m.rules.MismatchWipes:
		stage := n.Endpoints
		for d := range MaxDirs {
			n.Meta[d], n.Disk[d] = Meta{}, Meta{}
		}
		n.discard()
		m.exit(n)
		n.Endpoints = stage
	case m.rules.MismatchEnds:
		m.exit(n)
	default:
		*n = before
		n.Rejected = 1
	}
	return *n != before
}

// peerError is the same from a peer that is misconfigured, to a voter that is not.
func (m *machine) peerError(n *Node) bool {
	if n.Stage != Known || n.Voter == 0 && n.Role != StaticVoter && n.Role != DynamicVoter {
		return false
	}
	return m.rejected(n, *n)
}

// register tells the leader that the node is there.
func (m *machine) register(n *Node, own ID) bool {
	if n.Stage != Unknown && n.Stage != Known || n.Leader == 0 || n.In == 1 || !m.rules.MayRegister(n) {
		return false
	}
	if !m.rules.AcceptsRegistration(own, n.Mem) {
		return false
	}
	n.Registered |= 1 << (n.Leader - 1)
	n.In = 1
	return true
}

// autoJoin makes an observer controller ask to become a voter.
func (m *machine) autoJoin(n *Node, own ID) bool {
	if n.Role != Observer || n.Stage != Unknown && n.Stage != Known || n.Leader == 0 || n.Voter == 1 || !m.rules.MayJoin(n) || !m.rules.Accepts(own, n.Mem, false) {
		return false
	}
	n.Voter = 1
	return true
}

// addVoter is an operator who adds it, whatever it knows.
func (m *machine) addVoter(n *Node) bool {
	if n.Role != Observer || n.Stage != Unknown && n.Stage != Known || n.Leader == 0 || n.Log[0] == 0 || n.Voter == 1 {
		return false
	}
	n.Voter = 1
	return true
}

// stand: a voter asks for votes, and may come to lead.
func (m *machine) stand(n *Node) bool {
	if n.Stage != Unknown && n.Stage != Known || n.Stands == 1 || !m.rules.MayStand(n) {
		return false
	}
	if n.Voter == 0 && n.Role != StaticVoter && n.Role != DynamicVoter {
		return false
	}
	n.Stands = 1
	return true
}

// timeout: a node that does not know its id, or that nobody has let in, gives up.
func (m *machine) timeout(n *Node) bool {
	if !m.rules.HasDeadline || n.Stage != Unknown && (n.Stage != Known || n.In != 0 || n.Role > Observer) {
		return false
	}
	m.exit(n)
	return true
}

// secondProcess is another process on the same directories, which found one of them
// empty.
func (m *machine) secondProcess(n *Node, d int) bool {
	if m.rules.Locks || !n.running() || n.Meta[d].Form != V2 || n.Draws > 2 {
		return false
	}
	n.Draws++
	n.Meta[d].Dir = n.Draws
	return true
}

// exit ends the process.
func (m *machine) exit(n *Node) {
	n.Stage = Exited
	n.Mem, n.Target, n.Conn, n.Leader, n.HighWatermark = NoID, NoID, NoID, 0, 0
	n.Offline, n.Stands, n.Rejected, n.In = 0, 0, 0, 0
}

// crash is a loss of power: what was not flushed of a directory's names may be lost.
func (m *machine) crash(n *Node, keep int) bool {
	if n.Stage == Down {
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
	m.exit(n)
	n.Stage = Down
	return true
}

// loseDir is a disk that is replaced while the node is down; the metadata directory has
// the log as well.
func (m *machine) loseDir(n *Node, d int) bool {
	if n.running() || n.Meta[d].Form == Missing {
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

// loseAll is all disks.
func (m *machine) loseAll(n *Node) bool {
	if n.running() {
		return false
	}
	lost := m.loseDir(n, 0)
	if m.loseDir(n, 1) || lost {
		n.Lost = 1
		return true
	}
	return false
}

// format is an operator who formats what is there again, with an id.
func (m *machine) format(n *Node, id ID) bool {
	if n.running() {
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
