package node

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/impl/driver"
	"github.com/quorate/quorate/traces/event"
)

// Errors of StartTrace and StopTrace.
var (
	ErrTracing    = errors.New("the node records already")
	ErrNotTracing = errors.New("the node does not record")
)

// tracing is what can be seen of the recording from outside.
type tracing struct {
	path   atomic.Pointer[string] // nil: nothing is recorded
	events atomic.Int64
}

func (t *tracing) begin(path string) {
	t.events.Store(0)
	t.path.Store(&path)
}

// Tracing is the file to which events are appended, empty if none are, and how many were
// since the start of the process or of the recording.
func (n *Node) Tracing() (path string, events int64) {
	if p := n.tracing.path.Load(); p != nil {
		path = *p
	}
	return path, n.tracing.events.Load()
}

// StartTrace begins to record, to a file that it makes. The first event has all of the
// replica as it is then. It waits until an event can tell that: not while a truncation is
// being flushed, nor while a snapshot that was received is verified. If the file cannot be
// written later, recording ends and the node goes on, unlike with Config.Trace; a file
// that ends so has no last event that says so. Errors: ErrTracing, ErrStopped, of the
// file, of the context.
func (n *Node) StartTrace(ctx context.Context, path string) (err error) {
	if n.cfg.FS != nil {
		return errors.New("a trace of a node whose files are none of the operating system's")
	}
	w, err := event.Create(path, n.self())
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			w.Close()
			os.Remove(path)
		}
	}()
	// Most of the log is read here, so that the loop need not stop for it.
	known, err := n.driver.Records(int64(max(0, n.state.Load().HighWatermark)))
	if err != nil {
		return err
	}
	for {
		done := false
		if !n.ask(func() { done, err = n.attach(w, known) }) {
			return ErrStopped
		}
		if done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

// attach begins to record, in the loop; false if it cannot be now.
func (n *Node) attach(w *event.Writer, known driver.Records) (done bool, err error) {
	if n.trace != nil {
		return false, ErrTracing
	}
	if !n.replica.Attachable() {
		return false, nil
	}
	if n.pending, err = openPending(n.cfg.Dir); err != nil {
		return false, err
	}
	n.trace = w
	n.tracing.begin(w.Name())
	if err := n.driver.Attach(n.replica, known, n); err != nil {
		n.endTrace()
		return false, err
	}
	n.optional = true
	slog.Info("records a trace", "node", n.cfg.ID, "file", w.Name(), "logEnd", int64(n.replica.State().LogEnd))
	return true, nil
}

// StopTrace ends the recording with an event that says so, and closes the file. Errors:
// ErrNotTracing, ErrStopped, of the file.
func (n *Node) StopTrace() (err error) {
	if !n.ask(func() { err = n.detach() }) {
		return ErrStopped
	}
	return err
}

// detach ends the recording, in the loop.
func (n *Node) detach() error {
	if n.trace == nil {
		return ErrNotTracing
	}
	name := n.trace.Name()
	err := n.driver.Detach(n.replica, n)
	if n.trace != nil {
		err = errors.Join(err, n.endTrace())
	}
	slog.Info("records no trace any more", "node", n.cfg.ID, "file", name, "events", n.tracing.events.Load())
	return err
}

// endTrace closes the file of the recording and forgets it.
func (n *Node) endTrace() error {
	err := n.trace.Close()
	n.trace, n.optional = nil, false
	if n.pending != nil {
		n.pending.close(true)
		n.pending = nil
	}
	n.tracing.path.Store(nil)
	return err
}

// Record implements [driver.Hooks].
func (n *Node) Record(e *event.Event) error {
	if n.trace == nil {
		return nil // it ended within this step
	}
	err := n.trace.Write(e)
	if err == nil {
		err = n.trace.Flush()
	}
	if err == nil {
		n.tracing.events.Add(1)
		return nil
	}
	if !n.optional {
		return err
	}
	slog.Error("the trace ends: it cannot be written", "node", n.cfg.ID, "error", err)
	n.replica.Trace(false)
	n.endTrace() // says the same again
	return nil
}
