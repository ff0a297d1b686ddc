package traces

import (
	"slices"

	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// A node without a trace appends what clients send, and flushes, at any time, and nothing
// tells when. So it does both as late as it can, and only as far as it has to: before a step
// that would not be possible otherwise, or after which it no longer could. Nothing is lost
// thereby, under the rules of the protocol. A longer log of a leader, and a longer flushed
// part, are needed for what it sends, or when it is to lead no more; that they come later
// makes no other step impossible, since
//
//   - an answer without records needs a log that is not longer, and one with records one
//     that is long enough;
//   - who leads does not grant votes, so its log is not compared;
//   - a flush may move a high watermark, which is seen in answers only, and exactly there;
//   - what a crash may leave of a log of which less is flushed is more.
//
// So it is with reads, of which the requests that they wait for are all that there is to see.
//
// These steps are not counted against the bound, so that it does not matter between which
// messages they lie.

// lazy says whether node n appends and flushes as late as it can.
func (v *validator) lazy(n int) bool { return v.lost(n) && v.opt.Rules == v.clean }

// before is a state after a step that is not counted; nil if it is not enabled.
func (v *validator) before(s *reach, a spec.ActionID, count int64) *reach {
	at := *s
	at.up, at.step = s, hiddenStep{action: a, after: *s.r}
	if !v.ctx.Take(a, &at.step.after, nil, spec.Args{Count: count}, &v.outbox) {
		return nil
	}
	at.step.reached = v.ctx.Reached
	at.r = &at.step.after
	return &at
}

// flushed is the state after the log was flushed up to an offset, if it was not.
func (v *validator) flushed(s *reach, to int64) *reach {
	if s.r.Flushed() || int64(s.r.FlushedEnd()) >= to && !s.r.TruncationPending() {
		return s
	}
	if at := v.before(s, spec.ActionFlush, min(to, int64(s.r.Log.End()))); at != nil {
		return at
	}
	return s
}

// grown is the state after a leader appended records up to an offset, if its log was shorter.
func (v *validator) grown(s *reach, to int64) *reach {
	if k := to - int64(s.r.Log.End()); k > 0 && k <= maxRecords && s.r.Role == spec.Leader {
		if at := v.before(s, spec.ActionAppend, k); at != nil {
			return at
		}
	}
	return s
}

// ready is the state in which a node can send a message, as far as its log goes.
func (v *validator) ready(sc *scene, s *reach, m *event.Message) *reach {
	switch {
	case !m.Response && m.Kind == event.BeginQuorumEpoch:
		if m.Read != 0 && !s.r.Reading { // which read it is, nobody else says
			if at := v.before(s, spec.ActionStartRead, 0); at != nil {
				return at
			}
		}
	case !m.Response:
		if m.Kind == event.Vote || m.Kind == event.Fetch || m.Kind == event.FetchSnapshot {
			return v.flushed(s, int64(s.r.Log.End()))
		}
	case m.Kind == event.Fetch && m.Error == 0 && s.r.Role == spec.Leader:
		need := max(m.HighWatermark, m.Offset+count(m.Records))
		if q := sc.bag[idOf(m).other()]; q != nil && m.Bytes > 0 {
			need = max(need, int64(q.msg.Offset)+1)
		}
		s = v.grown(s, need)
		if m.HighWatermark > int64(s.r.HighWatermark) {
			s = v.flushed(s, m.HighWatermark)
		}
	}
	return s
}

// lazily tries a step, and where it may need that the node has flushed, or appended, before
// it, also that.
func (v *validator) lazily(s *reach, a spec.ActionID, m *spec.Msg, to *aim, try func(*reach) (enabled bool)) {
	r := s.r
	end := int64(r.Log.End())
	enabled := try(s)
	switch a {
	case spec.ActionAppendLeaderChange, spec.ActionInstallSnapshot:
		if !enabled && !r.Flushed() {
			try(v.flushed(s, end))
		}
	case spec.ActionHandleFetchResponse:
		if r.TruncationPending() {
			try(v.flushed(s, end))
		}
	case spec.ActionHandleFetchRequest:
		if r.Role == spec.Leader && m.Offset < r.End[m.Src-1] {
			// What it had acknowledged counts for high watermarks before.
			for _, hw := range to.highWatermarks(s) {
				if at := v.flushed(s, hw); at != s {
					try(at)
				}
			}
		}
	}
	if r.Role != spec.Leader || !v.ends(s, a, m) {
		return
	}
	for _, end := range to.ends(s) {
		if at := v.grown(s, end); at != s {
			try(at)
		}
	}
}

// ends says whether a leader may lead no more after a step.
func (v *validator) ends(s *reach, a spec.ActionID, m *spec.Msg) bool {
	switch a {
	case spec.ActionResign, spec.ActionCheckQuorumResign, spec.ActionCrash, spec.ActionLoseDisk:
		return true
	}
	return m != nil && m.Epoch > s.r.Election.Epoch
}

// highWatermarks are those above the present one that a leader is still to tell.
func (a *aim) highWatermarks(s *reach) []int64 {
	var list []int64
	for _, m := range a.owed {
		if m.Response && m.Kind == event.Fetch && m.Error == 0 && m.HighWatermark > int64(s.r.HighWatermark) && !slices.Contains(list, m.HighWatermark) {
			list = append(list, m.HighWatermark)
		}
	}
	return list
}

// ends are where the log may have ended when a leader lost its epoch, as far as that can
// matter: where it is still to say that its log ends, behind that of who asks for its vote,
// and behind its present end.
func (a *aim) ends(s *reach) []int64 {
	end := int64(s.r.Log.End())
	list := []int64{end + 1}
	for _, m := range a.owed {
		if !m.Response && m.Offset > end && !slices.Contains(list, m.Offset) {
			list = append(list, m.Offset)
		}
	}
	for _, o := range a.asked {
		if o >= end && !slices.Contains(list, o+1) {
			list = append(list, o+1)
		}
	}
	return list
}

// fetcher is who fetches in an epoch.
type fetcher struct {
	id    spec.ID
	epoch spec.Epoch
}

// ask notes who asks for votes, and how far others have fetched.
func (a *aim) ask() {
	a.fetched = map[fetcher]spec.Offset{}
	for _, p := range a.inbox {
		switch m := &p.letter.msg; {
		case m.Response:
		case m.Kind == spec.Vote:
			a.asked = append(a.asked, int64(m.Offset))
		case m.Kind == spec.Fetch:
			f := fetcher{m.Src, m.Epoch}
			a.fetched[f] = max(a.fetched[f], m.Offset)
		}
	}
}
