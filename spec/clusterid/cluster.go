package clusterid

// A cluster: its leader writes what its log lacks. The steps of the log are abstract.

// next is the record that the leader of k has to write, if any. own is its id: what it
// was formatted with, or what it has learned or drawn.
func (m *machine) next(c *Cluster, k int, own ID) (Record, bool) {
	n := c.Log.end()
	made := func(kind Kind, id ID) (Record, bool) { return NewRecord(kind, c.Epoch, k, id), true }
	if c.Log.lastEpoch() != c.Epoch {
		return made(LeaderChange, NoID)
	}
	image := ImageOf(&c.Log, 0, n, Image{})
	if image.Tx {
		switch last := c.Log[n-1]; {
		case c.began() != c.Epoch:
			return made(Abort, NoID)
		case last.Kind() == Begin && c.New == 1:
			return made(NewVersion, NoID)
		case last.Kind() == Begin:
			return made(Version, NoID)
		case last.Kind() == NewVersion || last.Kind() == Version && m.Rules.WritesOldID:
			if own == NoID {
				own = Drawn1 + ID(c.Drawn)
			}
			return made(ClusterID, own)
		}
		return made(End, NoID)
	}
	if image.Version == 0 {
		return made(Begin, NoID)
	}
	if id := m.Rules.Rewrites(c, own); id != NoID && image.ID != NoID && !c.wroteID() {
		return made(ClusterID, id)
	}
	if image.Version == 2 && image.ID == NoID && !m.Rules.UpgradeAtomic && c.Log[n-1].Kind() == NewVersion {
		return made(ClusterID, m.Rules.UpgradeID(k))
	}
	return 0, false
}

// began is the epoch of the last Begin.
func (c *Cluster) began() (e uint8) {
	for _, r := range c.Log[:c.Log.end()] {
		if r.Kind() == Begin {
			e = r.Epoch()
		}
	}
	return e
}

// wroteID says whether this leader has written an id.
func (c *Cluster) wroteID() bool {
	for _, r := range c.Log[:c.Log.end()] {
		if r.Epoch() == c.Epoch && (r.Kind() == ClusterID || r.Kind() == Upgrade) {
			return true
		}
	}
	return false
}

// appendNext writes it.
func (m *machine) appendNext(c *Cluster, k int, own ID) bool {
	r, ok := m.next(c, k, own)
	if !ok || c.Log.end() == MaxLog || !m.Require(AppendNext, HasLeader, c.Leader != Nobody) {
		return false
	}
	if r.ID() >= Drawn1 && own == NoID {
		c.Drawn++
	}
	c.Log[c.Log.end()] = r
	return true
}

// upgrade is UpdateFeatures: a metadata.version that knows cluster ids, with the id
// behind it in the same batch.
func (m *machine) upgrade(c *Cluster, k int) bool {
	n := c.Log.end()
	image := ImageOf(&c.Log, 0, n, Image{})
	if n == MaxLog ||
		!m.Require(UpgradeFeatures, HasLeader, c.Leader != Nobody) ||
		!m.Require(UpgradeFeatures, LeaderChangePresent, c.Log.lastEpoch() == c.Epoch) ||
		!m.Require(UpgradeFeatures, OutsideTransaction, !image.Tx) ||
		!m.Require(UpgradeFeatures, HasVersion, image.Version != 0) {
		return false
	}
	if m.Rules.UpgradeAtomic {
		c.Log[n] = NewRecord(Upgrade, c.Epoch, k, m.Rules.UpgradeID(k))
	} else {
		c.Log[n] = NewRecord(NewVersion, c.Epoch, k, NoID)
	}
	return true
}

// downgrade goes back, which drops the id.
func (m *machine) downgrade(c *Cluster, k int) bool {
	n := c.Log.end()
	image := ImageOf(&c.Log, 0, n, Image{})
	if n == MaxLog ||
		!m.Require(DowngradeFeatures, HasLeader, c.Leader != Nobody) ||
		!m.Require(DowngradeFeatures, LeaderChangePresent, c.Log.lastEpoch() == c.Epoch) ||
		!m.Require(DowngradeFeatures, OutsideTransaction, !image.Tx) ||
		!m.Require(DowngradeFeatures, HasVersion, image.Version == 2 && image.ID != NoID) {
		return false
	}
	c.Log[n] = NewRecord(Downgrade, c.Epoch, k, NoID)
	return true
}

// advance commits what the leader of this epoch has written.
func (m *machine) advance(c *Cluster) bool {
	n := c.Log.end()
	if n == c.HighWatermark ||
		!m.Require(AdvanceHighWatermark, HasLeader, c.Leader != Nobody) ||
		!m.Require(AdvanceHighWatermark, LeaderChangePresent, c.Log.lastEpoch() == c.Epoch) {
		return false
	}
	c.HighWatermark = n
	return true
}

// change is another leader, outside of the model, whose log ends at an offset.
func (m *machine) change(c *Cluster, end uint8) bool {
	if c.Leader != External || end > c.Log.end() || !m.Require(ChangeLeader, LogUpToDate, end >= c.HighWatermark) {
		return false
	}
	c.Epoch++
	clear(c.Log[end:])
	return true
}

// takeSnapshot moves the log start of the cluster to its high watermark.
func (m *machine) takeSnapshot(c *Cluster) bool {
	image := ImageOf(&c.Log, 0, c.HighWatermark, Image{})
	if c.HighWatermark == c.Start ||
		!m.Require(TakeSnapshot, OutsideTransaction, !image.Tx) ||
		!m.Require(TakeSnapshot, HasVersion, image.Version != 0) {
		return false
	}
	c.Start, c.SnapVersion, c.SnapID = c.HighWatermark, image.Version, m.Rules.SnapshotID(image)
	return true
}

// lead makes a node of the model leader of its cluster (R2). Its log has all that is
// committed; what else is in that of the last leader goes on in that one's own.
func (m *machine) lead(s *State, i, k int) bool {
	c, n := &s.K[k], &s.N[i]
	if c.Leader == External || c.Leader == uint8(i+1) ||
		!m.Require(Lead, IsVoter, n.Role == StaticVoter) ||
		!m.Require(Lead, IsReady, n.Stage == Unknown || n.Stage == Known) {
		return false
	}
	if !m.Require(Lead, LogUpToDate, common(&n.Log, &c.Log) >= c.HighWatermark) {
		return false
	}
	if c.Leader != Nobody {
		m.unlead(s, int(c.Leader)-1, k)
	}
	c.Epoch++
	c.Log, c.Leader = n.Log, uint8(i+1)
	n.Leader = 0
	return true
}

// unlead gives a leader that is one no more its log back.
func (m *machine) unlead(s *State, i, k int) {
	if c := &s.K[k]; c.Leader == uint8(i+1) {
		s.N[i].Log, s.N[i].HighWatermark, c.Leader = c.Log, c.HighWatermark, Nobody
	}
}
