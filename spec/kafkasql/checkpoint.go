package kafkasql

// How an image comes about (B and T): it is captured, uploaded under a key of its own,
// verified, and named by one append.

// beginCapture opens the snapshot that is copied.
func (m *machine) beginCapture(s *State, i int) bool {
	n := &s.I[i]
	if int(s.NAtts) == m.model.Attempts ||
		!m.Require(BeginCapture, IsReady, n.Phase == Ready) ||
		!m.Require(BeginCapture, NoAttempt, n.Att == 0) ||
		!m.Require(BeginCapture, HasApplied, n.DB.Off > 0) ||
		!m.Require(BeginCapture, IsDue, m.rules.Wants(s, i)) {
		return false
	}
	s.NAtts++
	n.Att, n.Step, n.Begun = s.NAtts, Capturing, n.Pos
	s.Atts[n.Att-1] = Attempt{By: uint8(i + 1), Img: m.rules.Image(n.DB), Ahead: n.Ahead}
	return m.model.Fine || m.finishCapture(s, i)
}

// finishCapture notes what the image has applied.
func (m *machine) finishCapture(s *State, i int) bool {
	n := &s.I[i]
	if n.Att == 0 || !m.Require(FinishCapture, IsCapturing, n.Step == Capturing) {
		return false
	}
	a := &s.Atts[n.Att-1]
	if m.rules.CopiesAtEnd {
		a.Img = m.rules.Image(n.DB)
	}
	a.Off = m.rules.Noted(&a.Img, n.Begun, n.Pos)
	a.Epoch, a.Journal = a.Img.Epoch, a.Img.Journal
	if a.Off != a.Img.Off && a.Off > 0 {
		a.Epoch = s.J[a.Off-1].Epoch
	}
	n.Step, n.Begun = Captured, 0
	return true
}

// uploadChunk writes half of the image. lost: the store says that it has it, and has not.
func (m *machine) uploadChunk(s *State, i int, lost bool) bool {
	n := &s.I[i]
	if n.Att == 0 {
		return false
	}
	key := m.rules.Key(s, n.Att)
	o := &s.Objects[key-1]
	switch n.Step {
	case Captured:
		if lost {
			return false
		}
		*o = Object{First: n.Att, Second: o.Second}
		n.Step = HalfUploaded
		if !m.model.Fine {
			o.Second, n.Step = n.Att, Uploaded
		}
	case HalfUploaded:
		if !lost {
			o.Second = n.Att
		}
		n.Step = Uploaded
	default:
		return false
	}
	return true
}

// verifyUpload reads size and digest again. What is not as it should be is given up.
func (m *machine) verifyUpload(s *State, i int) bool {
	n := &s.I[i]
	if n.Att == 0 || !m.rules.VerifiesUpload ||
		!m.Require(VerifyUpload, IsUploaded, n.Step == Uploaded) ||
		!m.Require(VerifyUpload, IsIntact, s.intact(Commit{Att: n.Att, Key: m.rules.Key(s, n.Att)})) {
		return false
	}
	n.Step = Verified
	return true
}

// abandonAttempt: the upload is not what it should be, or the attempt fails for a reason of
// its own: no room, a store that is away, a commit that nobody acknowledges. The next one
// begins from the beginning.
func (m *machine) abandonAttempt(s *State, i int, fails bool) bool {
	n := &s.I[i]
	if n.Att == 0 || !fails && !m.rules.VerifiesUpload ||
		!m.Require(AbandonAttempt, IsUploaded, fails || n.Step == Uploaded) ||
		!m.Require(AbandonAttempt, NotIntact, fails || !s.intact(Commit{Att: n.Att, Key: m.rules.Key(s, n.Att)})) {
		return false
	}
	n.Att, n.Step, n.Begun = 0, Idle, 0
	return true
}

// appendCommit makes the image known. lost: the acknowledgement is, so that it is appended
// once more.
func (m *machine) appendCommit(s *State, i int, lost bool) bool {
	n := &s.I[i]
	if m.rules.PublishesNull && n.Att != 0 && n.Step == Captured && s.NCommits < MaxCommits && !lost {
		s.Commits[s.NCommits] = Commit{}
		s.NCommits++
		n.Att, n.Step = 0, Idle
		return true
	}
	if n.Att == 0 || !m.Require(AppendCommit, IsVerified, n.Step == Verified || n.Step == Unacknowledged || n.Step == Uploaded && !m.rules.VerifiesUpload) {
		return false
	}
	again := n.Step == Unacknowledged
	if again && lost || s.NCommits == MaxCommits {
		return false
	}
	if !again || !m.rules.Idempotent {
		s.Commits[s.NCommits] = Commit{Att: n.Att, Key: m.rules.Key(s, n.Att)}
		s.NCommits++
	}
	if lost {
		n.Step = Unacknowledged
		return true
	}
	n.Att, n.Step = 0, Idle
	return true
}

// idle says whether nobody is making a checkpoint.
func (s *State) idle() bool {
	for i := range s.I {
		if s.I[i].Att != 0 {
			return false
		}
	}
	return true
}
