package bootstrap

// The log, as far as bootstrap depends on it: each of these steps is atomic and takes
// what it needs from everybody. What must not be used below the log start is not: there
// the records are ghosts.

// elect makes c leader of a new epoch with the vote of v, or alone.
func (m *machine) elect(s *State, c, v int) bool {
	a, b := &s.C[c], &s.C[v]
	if !m.Require(Elect, IsUp, a.Up != 0) ||
		!m.Require(Elect, VoterIsUp, b.Up != 0) ||
		!m.Require(Elect, NotLeading, a.Leading == 0) {
		return false
	}
	ahead := a.lastEpoch() > b.lastEpoch() || a.lastEpoch() == b.lastEpoch() && a.Log.end() >= b.Log.end()
	if !m.Require(Elect, LogUpToDate, ahead) {
		return false
	}
	epoch := max(a.Epoch, b.Epoch) + 1
	m.StepDown(b)
	a.Epoch, b.Epoch = epoch, epoch
	a.Leading = 1
	return true
}

// appendLeaderChange is the first record of a leader, and of the first leader of a
// dynamic quorum with the voters that were in its zero checkpoint.
func (m *machine) appendLeaderChange(c *Controller) bool {
	if !m.Require(AppendLeaderChange, IsLeader, c.Leading != 0) ||
		!m.Require(AppendLeaderChange, LeaderChangeMissing, c.lastEpoch() != c.Epoch) {
		return false
	}
	k := LeaderChange
	if m.Dynamic && m.Rules.WritesVoters(c) {
		k = LeaderChangeVoters
	}
	c.append(NewRecord(k, c.Epoch, NoContent))
	return true
}

// follows: f is up, and l leads an epoch that f has not gone beyond.
func (m *machine) follows(a Action, f, l *Controller) bool {
	return m.Require(a, IsUp, f.Up != 0) && m.Require(a, LeaderLeads, l.Leading != 0) && m.Require(a, NotStale, f.Epoch <= l.Epoch)
}

// truncate: f follows l, and cuts what l never had.
func (m *machine) truncate(f, l *Controller) bool {
	n := common(&f.Log, &l.Log)
	if n == f.Log.end() || !m.follows(Truncate, f, l) || !m.Require(Truncate, NotBelowLog, n >= l.LogStart) {
		return false
	}
	m.StepDown(f)
	f.Epoch = l.Epoch
	clear(f.Log[n:])
	f.Loaded = min(f.Loaded, n)
	return true
}

// replicate: f follows l, and takes one batch.
func (m *machine) replicate(f, l *Controller) bool {
	n := f.Log.end()
	if n >= l.Log.end() || !m.follows(Replicate, f, l) ||
		!m.Require(Replicate, NotBelowLog, n >= l.LogStart) ||
		!m.Require(Replicate, LogMatches, common(&f.Log, &l.Log) == n) {
		return false
	}
	m.StepDown(f)
	f.Epoch = l.Epoch
	f.append(l.Log[n])
	return true
}

// install: f follows l, whose log begins behind what f has in common with it, and takes
// its snapshot.
func (m *machine) install(f, l *Controller) bool {
	if l.Snap == 0 || !m.follows(InstallSnapshot, f, l) || !m.Require(InstallSnapshot, BelowLog, common(&f.Log, &l.Log) < l.LogStart) {
		return false
	}
	m.StepDown(f)
	f.Epoch = l.Epoch
	f.Log = Log{}
	copy(f.Log[:l.Snap], l.Log[:l.Snap]) // ghosts
	f.Snap, f.SnapVersion, f.SnapRest = l.Snap, l.SnapVersion, l.SnapRest
	f.LogStart, f.Loaded, f.Image = l.Snap, l.Snap, f.ImageAt(l.Snap)
	return true
}

// installZero: a leader that has only the zero checkpoint would send that.
func (m *machine) installZero(f, l *Controller) bool {
	if l.Snap != 0 || l.Zero.Content() == NoContent || f.Log[0] != 0 || !m.follows(InstallZero, f, l) || !m.Require(InstallZero, ZeroIsSent, m.Rules.AnswersZero(l)) {
		return false
	}
	content := l.Zero.Content()
	if f.Image == (Image{Version: content, Rest: content}) {
		return false
	}
	f.Epoch = l.Epoch
	f.Image = Image{Version: content, Rest: content}
	return true
}

// commit moves the high watermark to the last record of the leader's epoch that a
// majority has followed it to.
func (m *machine) commit(s *State, l *Controller) bool {
	if !m.Require(Commit, IsLeader, l.Leading != 0) {
		return false
	}
	for n := l.Log.end(); n > s.HighWatermark && m.Require(Commit, EpochCommitted, l.Log[n-1].Epoch() == l.Epoch); n-- {
		have := 0
		for i := range m.model.Controllers {
			if r := &s.C[i]; r.Epoch == l.Epoch && common(&r.Log, &l.Log) >= n {
				have++
			}
		}
		if m.Require(Commit, HasMajority, have > m.model.Controllers/2) {
			s.HighWatermark = n
			s.Committed = Log{}
			copy(s.Committed[:n], l.Log[:n])
			return true
		}
	}
	return false
}
