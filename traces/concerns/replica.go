package concerns

import (
	"io"

	"github.com/quorate/quorate/traces"
	"github.com/quorate/quorate/traces/event"
)

// replica is where the trace of a replica has come. A nil one knows nothing.
type replica struct {
	source traces.Source
	next   event.Event
	ended  bool

	inc       int32
	seq       int64
	committed int64           // the highest high watermark that this incarnation knew
	logStart  int64           // where the log starts
	led       map[int32]int64 // epochs that it has led with the high watermark in them, and where they begin
	leading   int32           // the epoch that it leads; -1: none
	begins    int64           // where that epoch begins
	runs      []placed        // of the log
}

// placed is a run of records at an offset.
type placed struct {
	base int64
	event.Run
}

func openReplica(in *traces.Input) (*replica, error) {
	if in == nil {
		return nil, nil
	}
	source, err := in.Open()
	if err != nil {
		return nil, err
	}
	r := &replica{source: source, leading: -1}
	return r, r.read()
}

func (r *replica) close() {
	if r != nil {
		if c, ok := r.source.(io.Closer); ok {
			c.Close()
		}
	}
}

func (r *replica) read() error {
	err := r.source.Read(&r.next)
	if err == io.EOF {
		r.ended = true
		return nil
	}
	return err
}

// advance goes on to an event.
func (r *replica) advance(inc int32, seq int64) error {
	if r == nil || inc == 0 {
		return nil
	}
	for !r.ended && (r.next.Inc < inc || r.next.Inc == inc && r.next.Seq <= seq) {
		r.take(&r.next)
		if err := r.read(); err != nil {
			return err
		}
	}
	return nil
}

// tied says whether the trace tells of that event.
func (r *replica) tied(inc int32, seq int64) bool {
	return r != nil && inc > 0 && r.inc == inc && seq > 0 && r.seq <= seq
}

// take takes an event into account.
func (r *replica) take(e *event.Event) {
	if e.Inc != r.inc {
		r.inc, r.committed, r.led, r.leading = e.Inc, -1, map[int32]int64{}, -1
	}
	r.seq = e.Seq
	if a := e.Attach; a != nil {
		r.runs = nil
		r.append(e.State.LogStart, a.Log)
		if l := a.Leading; l != nil && l.LeaderChange {
			r.leading, r.begins = e.State.Epoch, l.EpochStart
		}
	}
	if c := e.Log; c != nil {
		switch {
		case c.Reset > 0:
			r.runs = nil
		case c.Truncated >= 0:
			r.cut(c.Truncated)
		}
		r.append(c.Base, c.Appended)
		if e.Action == "AppendLeaderChange" && len(c.Appended) > 0 {
			r.leading, r.begins = c.Appended[0].Epoch, c.Base
		}
	}
	s := &e.State
	if s.Has&event.HasLogEnd != 0 {
		r.cut(s.LogEnd) // a crash may have taken what was not flushed
	}
	if s.Has&event.HasLogStart != 0 {
		r.logStart = s.LogStart
	}
	if s.Has&event.HasRole != 0 && s.Role != "Leader" {
		r.leading = -1
	}
	if s.Has&event.HasHighWatermark != 0 {
		r.committed = max(r.committed, s.HighWatermark)
		if r.leading >= 0 && s.HighWatermark > r.begins {
			r.led[r.leading] = r.begins
		}
	}
}

func (r *replica) cut(end int64) {
	for n := len(r.runs); n > 0; n-- {
		last := &r.runs[n-1]
		if last.base+last.Count <= end {
			return
		}
		if last.base < end {
			last.Count = end - last.base
			return
		}
		r.runs = r.runs[:n-1]
	}
}

func (r *replica) append(base int64, runs []event.Run) {
	for _, run := range runs {
		r.runs = append(r.runs, placed{base, run})
		base += run.Count
	}
}

// holds says whether the log has records of an epoch from one offset to another. What it does
// not have, being below its start, it says nothing of.
func (r *replica) holds(from, to int64, epoch int32) bool {
	for _, run := range r.runs {
		if run.base < to && from < run.base+run.Count && run.Epoch != epoch {
			return false
		}
	}
	return true
}
