package clusterid

// Rules are the decisions of one node or one leader, by name. A mutation overrides one.
type Rules struct {
	// IsBootstrap: the node takes part in electing the first leader, and so must have been
	// formatted.
	IsBootstrap func(n *Node) bool
	// StaticMayDiscover is the switch to R2: voters of a static quorum need no format.
	StaticMayDiscover bool
	// Treats is how a form of meta.properties is treated.
	Treats func(m Meta) Meta
	// Agree gives the one id of the directories; false: there are several.
	Agree func(ids []ID) (ID, bool)
	// LocalID is an id that the node finds in its own log or snapshot at start.
	LocalID func(n *Node) ID
	// ChecksZero: the id of the zero checkpoint must be that of meta.properties.
	ChecksZero bool
	// Discards: a node without id drops a log of which it does not know whose it is.
	Discards bool
	// Seen is an id that a node without one takes from its log; hw is what is committed.
	Seen func(n *Node, l *Log, hw uint8, leader ID) ID
	// WriteID is the id that goes into a directory.
	WriteID func(n *Node, d int) ID
	// DirID is the directory id that goes with it.
	DirID func(n *Node, d int) uint8
	// Persisted: the directories are as the target wants them, and memory may follow.
	Persisted func(r *Rules, n *Node) bool
	// RequestID is the cluster id of a request.
	RequestID func(n *Node) ID
	// Accepts: a leader serves a request with this id; snapshot: it is FetchSnapshot.
	Accepts func(own, asked ID, snapshot bool) bool
	// AcceptsRegistration is the same of a registration, whose id may not be null.
	AcceptsRegistration func(own, asked ID) bool
	// MayRegister, MayJoin and MayStand: the node knows enough.
	MayRegister, MayJoin, MayStand func(n *Node) bool
	// MismatchEnds, MismatchWipes: what INCONSISTENT_CLUSTER_ID does to who is told.
	MismatchEnds, MismatchWipes bool
	// HasDeadline: who does not get on ends.
	HasDeadline bool
	// Locks: a directory belongs to one process.
	Locks bool
	// UpgradeID is the id that an upgrade writes; UpgradeAtomic: in the batch of its
	// metadata.version.
	UpgradeID     func(cluster int) ID
	UpgradeAtomic bool
	// WritesOldID: a bootstrap below the version that knows ids has one.
	WritesOldID bool
	// Rewrites: a leader writes an id though there is one; 0 is none.
	Rewrites func(k *Cluster, own ID) ID
	// DrawsEarly: a leader that draws an id uses it at once (R2).
	DrawsEarly bool
	// SnapshotID is the id in a snapshot.
	SnapshotID func(m Image) ID
}

// CleanRules are those of KIP-1262 in its first revision, R1.
func CleanRules() *Rules {
	known := func(n *Node) bool { return n.Stage == Known }
	return &Rules{
		IsBootstrap: func(n *Node) bool { return n.Role == StaticVoter || n.Zero == 1 },
		Treats:      func(m Meta) Meta { return m },
		Agree: func(ids []ID) (ID, bool) {
			for _, id := range ids {
				if id != ids[0] {
					return NoID, false
				}
			}
			if len(ids) == 0 {
				return NoID, true
			}
			return ids[0], true
		},
		// Only a snapshot is known to be committed: nobody stores the high watermark.
		LocalID:    func(n *Node) ID { return n.SnapID },
		ChecksZero: true,
		Discards:   true,
		Seen: func(n *Node, l *Log, hw uint8, _ ID) ID {
			return n.image(l, hw).Stable().ID
		},
		WriteID: func(n *Node, _ int) ID { return n.Target },
		DirID:   func(n *Node, d int) uint8 { return n.Meta[d].Dir },
		Persisted: func(r *Rules, n *Node) bool {
			for d := range MaxDirs {
				if n.online(d) && (!n.written(r, d) || n.Disk[d] != n.Meta[d]) {
					return false
				}
			}
			return true
		},
		RequestID:           func(n *Node) ID { return n.Mem },
		Accepts:             func(own, asked ID, _ bool) bool { return asked == NoID || own == NoID || asked == own },
		AcceptsRegistration: func(own, asked ID) bool { return asked == own && asked != NoID },
		MayRegister:         known, MayJoin: known, MayStand: known,
		HasDeadline:   true,
		Locks:         true,
		UpgradeID:     idOf,
		UpgradeAtomic: true,
		Rewrites:      func(*Cluster, ID) ID { return NoID },
		SnapshotID:    func(m Image) ID { return m.ID },
	}
}

// written says whether a directory has what it is to have. Version 1 with the right id
// stays as it is.
func (n *Node) written(r *Rules, d int) bool {
	m := n.Meta[d]
	return m.usable() && (m.ID == r.WriteID(n, d) || n.Target == NoID)
}
