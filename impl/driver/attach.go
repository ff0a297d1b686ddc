package driver

import (
	"fmt"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/traces/event"
)

// Records are the runs of the log from Start to End.
type Records struct {
	Start, End int64
	Runs       []event.Run
}

// Records reads which records the log has, from its start up to an offset at most. It may
// be called beside another method; what is committed stays true while the log starts
// there.
func (d *Driver) Records(upTo int64) (Records, error) {
	r := Records{Start: d.log.StartOffset()}
	r.End = r.Start
	return r, d.read(&r, upTo)
}

const readBytes = 1 << 20

func (d *Driver) read(r *Records, upTo int64) error {
	var span log.Span
	for r.End < upTo {
		if err := d.log.Read(&span, r.End, readBytes, upTo); err != nil {
			return fmt.Errorf("records from offset %d: %w", r.End, err)
		}
		if span.End <= r.End {
			return nil
		}
		for _, run := range span.Runs {
			r.Runs = event.AppendRun(r.Runs, run)
		}
		r.End = span.End
	}
	return nil
}

// Attach begins recording between two steps. known are records that were read before, of
// which all are committed. After an error nothing is recorded.
func (d *Driver) Attach(r *core.Replica, known Records, h Hooks) (err error) {
	e := r.Attach()
	defer func() {
		if err != nil {
			r.Trace(false)
		}
	}()
	d.seq, d.changed, d.hasSaved = 0, false, false
	d.recordedEnd = e.State.LogEnd
	if err := d.tellRecords(e, known); err != nil {
		return err
	}
	return d.tell(e, h)
}

// Detach ends recording between two steps, or was to, if there is an error.
func (d *Driver) Detach(r *core.Replica, h Hooks) error {
	e := r.Detach()
	r.Trace(false)
	return d.tell(e, h)
}

// tell hands over an event that is no action.
func (d *Driver) tell(e *event.Event, h Hooks) error {
	if err := d.complete(e, Link{}); err != nil {
		return err
	}
	if err := h.Record(e); err != nil {
		return err
	}
	d.seq++
	return nil
}

// tellRecords adds the records of the log to an event with which recording begins.
func (d *Driver) tellRecords(e *event.Event, known Records) error {
	start, end := d.log.StartOffset(), d.log.EndOffset()
	if known.Start != start || known.End < start || known.End > end {
		known = Records{Start: start, End: start}
	}
	if err := d.read(&known, end); err != nil {
		return err
	}
	if known.End != end {
		return fmt.Errorf("records up to offset %d: only those up to %d were found", end, known.End)
	}
	if err := event.CheckRuns(known.Runs); err != nil {
		return fmt.Errorf("attach.log%w", err)
	}
	e.Attach.Log = known.Runs
	return nil
}
