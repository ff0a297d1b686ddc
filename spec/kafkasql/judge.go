package kafkasql

import "github.com/quorate/quorate/checker"

// judge gives the properties that a step breaks and reaches.
func (m *machine) judge(a Action, arg uint32, p int, s, t *State) (bad, reached checker.Props) {
	if m.model.LockOnly {
		return 0, 0
	}
	j := judgement{m: m, s: s, t: t, arg: arg}
	if p >= 0 && p < m.model.Instances {
		j.old, j.now = &s.I[p], &t.I[p]
		switch a {
		case Start, Choose, FetchImage, RejectImage, Install, ReplayAll, GiveUp, BecomeReady, OutOfRange, Apply:
			j.starts(a)
		case Append, RetryAppend:
			j.see(RetryKnown, a == RetryAppend && t.N == s.N)
		default:
			j.works(a, p)
		}
		return j.bad, j.reached
	}
	switch a {
	case TrimJournal, RetentionByTime:
		j.breaks(TrimCovered, !s.covers(t.LogStart))
		j.see(Trimmed, true)
		j.see(TrimmedAgain, s.LogStart > 0)
	case CollectGarbage:
		key := uint8(arg & 0xf)
		list, count := s.kept(m.model.Keep)
		for _, c := range list[:count] {
			j.breaks(LiveImageKept, c.Key == key)
		}
		j.see(GarbageCollected, s.committed(key))
		j.see(OrphanCollected, !s.committed(key))
	}
	return j.bad, j.reached
}

type judgement struct {
	m            *machine
	s, t         *State
	old, now     *Instance
	arg          uint32
	bad, reached checker.Props
}

func (j *judgement) see(p checker.Props, ok bool) {
	if ok {
		j.reached |= p
	}
}

func (j *judgement) breaks(p checker.Props, broken bool) {
	if broken {
		j.bad |= p
	}
}

// covers says whether a committed and complete image has everything before an offset.
func (s *State) covers(off uint8) bool {
	for _, c := range s.Commits[:s.NCommits] {
		if c.Att == 0 {
			continue
		}
		if a := &s.Atts[c.Att-1]; s.available(c) && c.Fenced == 0 && s.lineage(a.Journal, a.Off, a.Epoch) && a.Off >= off {
			return true
		}
	}
	return false
}

func (j *judgement) starts(a Action) {
	s, old, now, m := j.s, j.old, j.now, j.m
	refused := false
	switch a {
	case Start:
		j.see(StartedOnLocal, now.Phase == Replaying)
		j.see(LocalRejected, now.Phase == Choosing && old.DB.Off > 0)
		j.see(OldLockRead, m.model.Variant == A && now.Holder != 0 && !m.alive(s, now.Holder))
	case Choose, ReplayAll:
		for c := range int(old.CkEnd) {
			j.passedOver(s, old, s.Commits[c])
		}
		j.see(ReplayedAll, a == ReplayAll)
	case FetchImage:
		j.see(FetchedNothing, now.First == 0)
	case RejectImage:
		j.see(DamageRejected, old.Bad == 1)
		refused = now.Phase == GaveUp
	case GiveUp:
		j.see(RefusedWithHole, true)
		refused = true
	case OutOfRange:
		j.see(FellOutOfRange, now.Phase == GaveUp)
		refused = now.Phase == GaveUp && old.Phase != Ready
	case Install:
		if now.Phase == Replaying {
			j.installed()
		}
	case BecomeReady:
		j.breaks(ReadyCaughtUp, old.Pos < old.Must)
		j.see(RestoredAndServed, s.Best != 0 && s.N > s.Atts[s.Commits[s.Best-1].Att-1].Off)
		j.see(RestoredWhileWritten, s.N > old.Must)
	case Apply:
		j.see(StoppedAtUnknown, now.Phase == GaveUp)
		j.see(CapturedBehind, old.Step == Capturing && old.Att != 0 && now.Pos > old.Pos && m.model.Variant != A)
		j.see(AnsweredWaiter, old.Wait != 0 && now.Wait == 0)
	}
	j.breaks(NoNeedlessRefusal, refused && old.Lagged == 0 && s.suits(old.Version) && !s.sawNewer(old))
}

// sawNewer says whether an instance knows of an image that only another version can use:
// it is right to give up, and finds what has been committed since when it starts again.
func (s *State) sawNewer(n *Instance) bool {
	for _, c := range s.Commits[:n.CkEnd] {
		if c.Att != 0 && s.Atts[c.Att-1].Img.Schema > n.Version {
			return true
		}
	}
	return false
}

// passedOver says why a commit is not eligible.
func (j *judgement) passedOver(s *State, n *Instance, c Commit) {
	if c.Att == 0 {
		return
	}
	a := &s.Atts[c.Att-1]
	switch {
	case c.Fenced == 1:
	case a.Journal != s.Journal:
		j.see(OtherJournalRejected, true)
	case a.Off > s.N:
		j.see(TailLostImageRejected, true)
	case !s.lineage(a.Journal, a.Off, a.Epoch):
		j.see(GrownPastImageRejected, true)
	case a.Img.Schema > n.Version:
		j.see(NewerImageRejected, true)
	}
}

func (j *judgement) installed() {
	s, old, now, m := j.s, j.old, j.now, j.m
	c := s.Commits[old.Cand-1]
	db, off := now.DB, now.DB.Off
	a := &s.Atts[c.Att-1]
	switch {
	case !s.lineage(db.Journal, off, db.Epoch):
		j.bad |= RightJournal
	case !sameContent(db, s.replay(off)):
		j.bad |= RestoredIsReplay
	}
	if s.Best != 0 {
		best := s.Commits[s.Best-1]
		b := &s.Atts[best.Att-1]
		j.breaks(ChosenNeverBack, s.Best-1 < old.CkEnd && s.usable(best) && b.Img.Schema <= old.Version && off < b.Off)
	}
	j.see(FellBack, old.Tried != 0)
	j.see(LateCommitPassedOver, old.CkEnd > old.Cand && s.Commits[old.CkEnd-1].Att != c.Att && s.Atts[s.Commits[old.CkEnd-1].Att-1].Off < off)
	j.see(MigratedImage, s.Atts[c.Att-1].Img.Schema < now.DB.Schema)
	j.see(RejectedInImage, off > 0 && s.J[off-1].Kind == Delete && sameContent(s.replay(off), s.replay(off-1)))
	for i := range m.model.Instances {
		n := &s.I[i]
		j.see(RestoredWhileUploading, n.Step == HalfUploaded || n.Step == Uploaded)
	}
	if m.model.Variant == A {
		for at := a.From; at < a.To; at++ {
			j.see(ForeignChunkPassedOver, s.Data[at]>>1 != c.Att)
		}
	}
	newest := old.Cand - 1
	for x := range old.CkEnd {
		if s.Commits[x].Att != 0 && m.newer(s, int(x), int(newest)) {
			newest = x
		}
	}
	stamped := &s.Atts[s.Commits[newest].Att-1]
	j.see(ClockAheadOlder, stamped.Ahead == 1 && stamped.Off < off)
}

// newer says whether one commit has a later time than another.
func (m *machine) newer(s *State, x, y int) bool {
	ax, ay := s.Atts[s.Commits[x].Att-1].Ahead, s.Atts[s.Commits[y].Att-1].Ahead
	return ax > ay || ax == ay && x > y
}

// alive says whether an author is still the instance that it was.
func (m *machine) alive(s *State, by uint8) bool {
	i := int(instanceOf(by)) - 1
	return s.I[i].up() && author(i, &s.I[i]) == by
}

func (j *judgement) works(a Action, p int) {
	s, t, old, now, m := j.s, j.t, j.old, j.now, j.m
	switch a {
	case BeginCapture, SendRequest:
		if m.model.Scheduled {
			j.breaks(NoNeedlessAttempt, s.everythingCommitted(old))
		}
	case AbandonAttempt:
		j.see(HalfUploadAbandoned, j.arg>>12 == 0)
	case AppendCommit, SendCommit:
		j.see(CommittedTwice, old.Step == Unacknowledged)
		if t.NCommits > s.NCommits {
			j.committed()
		}
	case Crash:
		j.see(AttemptLost, old.Att != 0)
	case SendLock:
		j.see(LockTakenOver, s.CoordHolder != 0 && s.CoordHolder != author(p, old))
	case ObserveCoord:
		j.see(LostLockAborted, old.Step >= Locked && now.Step == Idle)
		j.see(RequestWithdrawn, old.Step == Requested && now.Step == Idle)
	case LeaseExpires:
		by := max(old.Holder, old.FirstBy)
		n := &s.I[instanceOf(by)-1]
		j.see(WaitedForNobody, m.alive(s, by) && n.Step == Idle)
	}
}

// better counts the images, damaged or not, that are committed and have the offset of
// another one or a greater one.
func (s *State) better(than Commit) int {
	seen, count := [MaxAttempts + 1]bool{}, 0
	for _, c := range s.Commits[:s.NCommits] {
		if c.Att == 0 || c.Att == than.Att || seen[c.Att] {
			continue
		}
		o, a := &s.Objects[c.Key-1], &s.Atts[c.Att-1]
		if o.First == c.Att && o.Second == c.Att && o.Gone == 0 && s.lineage(a.Journal, a.Off, a.Epoch) && a.Off >= s.Atts[than.Att-1].Off {
			seen[c.Att] = true
			count++
		}
	}
	return count
}

func (j *judgement) committed() {
	s, t, m := j.s, j.t, j.m
	c := t.Commits[t.NCommits-1]
	if c.Att == 0 {
		j.bad |= CommitNamesComplete
		return
	}
	a := &t.Atts[c.Att-1]
	superseded := s.better(c) >= m.model.Keep
	first, second, _ := m.bytesOf(t, c)
	whole := first == c.Att && second == c.Att
	j.breaks(CommitNamesComplete, !whole && !superseded && c.Fenced == 0)
	for _, other := range s.Commits[:s.NCommits] {
		j.see(MadeAfterDamage, other.Att != 0 && other.Fenced == 0 && s.Atts[other.Att-1].Off >= a.Off && !s.available(other))
		j.see(LateCommit, other.Att != 0 && s.Atts[other.Att-1].Off > a.Off)
	}
	j.see(LateCommitAfterTrim, a.Off < s.LogStart)
	j.see(LostLockCommitted, c.Fenced == 1)
	j.see(AttemptFailed, s.Failures > 0 && m.model.Instances == 1)
}
