package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/zstd"

	"github.com/quorate/quorate/checker/linear"
	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/sim"
	"github.com/quorate/quorate/traces"
	"github.com/quorate/quorate/traces/event"
	"github.com/quorate/quorate/traces/history"
)

// runInfo is run.json.
type runInfo struct {
	Kind      string  `json:"kind"`
	Seed      uint64  `json:"seed"`
	Voters    []int32 `json:"voters"`
	Observers []int32 `json:"observers,omitempty"`
	PreVote   bool    `json:"preVote"`
	// KRaftVersion is 1 where the voters are in the log.
	KRaftVersion int16     `json:"kraftVersion,omitempty"`
	Nodes        []nodeKey `json:"nodes"`
}

type nodeKey struct {
	ID  int32  `json:"id"`
	Dir string `json:"dir"`
}

// recorder writes the files of one simulated run.
type recorder struct {
	nodes     []*event.Writer // by id - 1; nil: no files
	written   []int
	kept      [][]event.Event // by id - 1; nil: events are not kept
	run       *traces.Run     // of what is kept
	history   history.History
	pending   map[int64]sim.Operation
	committed []history.Record
	path      string // of the history
	log       string // of the committed log

	now int64
	// standing is when somebody first stood for election since the last one was
	// decided, -1 if nobody has; led says that there was a leader before.
	standing int64
	led      bool
}

func (s *simulation) newRecorder(out string, cfg sim.Config, setup sim.Setup) (*recorder, error) {
	r := &recorder{pending: map[int64]sim.Operation{}, standing: -1}
	r.history.Header = history.Header{Run: fmt.Sprintf("seed %d", cfg.Seed), Clock: "us"}
	if s.noEvents {
		return r, nil
	}
	dir, err := makeRunDir(out, cfg.Seed)
	if err != nil {
		return nil, err
	}
	ext := ".ndjson.zst"
	if s.plain {
		ext = ".ndjson"
	}
	r.path, r.log = filepath.Join(dir, "history"+ext), filepath.Join(dir, history.LogFile+ext)
	info := runInfo{Kind: "sim", Seed: cfg.Seed, PreVote: setup.PreVote}
	if cfg.Members {
		info.KRaftVersion = 1
	}
	for i := range setup.Voters + setup.Observers {
		id := int32(i + 1)
		node := event.Node{ID: id, Dir: cfg.Directory(core.ReplicaID(id)).String()}
		info.Nodes = append(info.Nodes, nodeKey{ID: id, Dir: node.Dir})
		if i < setup.Voters {
			info.Voters = append(info.Voters, id)
		} else {
			info.Observers = append(info.Observers, id)
		}
		f, err := createFile(filepath.Join(dir, fmt.Sprintf("node-%d%s", id, ext)), !s.plain)
		if err != nil {
			return nil, err
		}
		r.nodes = append(r.nodes, event.NewWriter(f, node))
		r.written = append(r.written, 0)
	}
	text, err := json.MarshalIndent(info, "", "  ")
	if err != nil {
		return nil, err
	}
	return r, os.WriteFile(filepath.Join(dir, "run.json"), append(text, '\n'), 0o644)
}

// file is a buffered file, compressed or not.
type file struct {
	io.Writer
	layers []io.Closer
}

func (f *file) Close() error {
	var errs []error
	for _, l := range f.layers {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

type flushCloser struct{ *bufio.Writer }

func (f flushCloser) Close() error { return f.Flush() }

func createFile(path string, compressed bool) (io.WriteCloser, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	if !compressed {
		b := bufio.NewWriterSize(f, 1<<16)
		return &file{Writer: b, layers: []io.Closer{flushCloser{b}, f}}, nil
	}
	z, err := zstd.NewWriter(f, zstd.WithEncoderConcurrency(1))
	if err != nil {
		f.Close()
		return nil, err
	}
	return &file{Writer: z, layers: []io.Closer{z, f}}, nil
}

// flushEvery is how many events are handed over together. A simulated crash does
// not end this process, so nothing is lost by waiting.
const flushEvery = 200

func (r *recorder) sinks() sim.Sinks {
	s := sim.Sinks{Invoke: r.invoke, Return: r.returned, Committed: r.commit}
	if r.kept != nil || r.nodes != nil {
		s.Event = r.event
		s.Clock = func(now sim.Time) { r.now = int64(now) }
	}
	return s
}

// election marks the time from when somebody stood for election until it was
// decided, but for the first one.
func (r *recorder) election(e *event.Event) {
	switch e.Action {
	case "BecomeProspective", "BecomeCandidate":
		if r.standing < 0 {
			r.standing = r.now
		}
	case "BecomeLeader":
		if r.standing < 0 {
			r.standing = r.now // it stood before another was elected, and won after it
		}
		if r.led {
			note := fmt.Sprintf("node %d leads epoch %d", e.Node.ID, e.State.Epoch)
			r.history.Marks = append(r.history.Marks, history.Mark{What: history.LeaderChange, From: r.standing, To: r.now, Note: note})
		}
		r.standing, r.led = -1, true
	}
}

// protocol marks what a node did that may explain what clients saw, for pictures.
func (r *recorder) protocol(e *event.Event) {
	note := ""
	switch {
	case e.Log != nil && e.Log.Truncated >= 0:
		note = fmt.Sprintf("%s: truncates to offset %d", e.Action, e.Log.Truncated)
	case e.Action == "Restart" || e.Action == "BecomeCandidate" || e.Action == "BecomeLeader" || e.Action == "InstallSnapshot" ||
		e.Action == "Resign" || e.Action == "CheckQuorumResign":
		note = fmt.Sprintf("%s: epoch %d, log ends at %d", e.Action, e.State.Epoch, e.State.LogEnd)
	default:
		return
	}
	r.history.Marks = append(r.history.Marks, history.Mark{What: fmt.Sprintf("node %d", e.Node.ID), From: r.now, To: r.now, Note: note})
}

func (r *recorder) event(e *event.Event) error {
	r.election(e)
	r.protocol(e)
	i := e.Node.ID - 1
	if r.kept != nil {
		r.kept[i] = append(r.kept[i], *e)
		return nil
	}
	if err := r.nodes[i].Write(e); err != nil {
		return err
	}
	if r.written[i]++; r.written[i]%flushEvery == 0 {
		return r.nodes[i].Flush()
	}
	return nil
}

func (r *recorder) invoke(op sim.Operation) error {
	r.pending[op.ID] = op
	return nil
}

func (r *recorder) returned(op sim.Operation) error {
	delete(r.pending, op.ID)
	h := history.Op{
		Client: int32(op.Client), Call: int64(op.Invoked), Return: int64(op.Returned), Value: string(op.Value),
		Kind: linear.Append,
	}
	if op.Kind == sim.Read {
		h.Kind = linear.Read
	}
	switch op.Outcome {
	case sim.OK:
		h.Outcome, h.Offset = linear.Known, op.Offset
	case sim.Failed:
		h.Outcome = linear.Failed
	default:
		h.Outcome = linear.Unknown
	}
	r.history.Ops = append(r.history.Ops, h)
	return nil
}

func (r *recorder) commit(offset int64, value []byte) error {
	for int64(len(r.committed)) < offset {
		r.committed = append(r.committed, history.Record{Internal: true})
	}
	r.committed = append(r.committed, history.Record{Value: string(value)})
	return nil
}

// close writes the history, with the operations that a run that broke off left,
// and closes all files.
func (r *recorder) close(now int64) error {
	for id := range int64(len(r.history.Ops) + len(r.pending) + 1) {
		if op, ok := r.pending[id]; ok {
			op.Outcome, op.Returned = sim.Unknown, sim.Time(now)
			if err := r.returned(op); err != nil {
				return err
			}
		}
	}
	if r.nodes == nil {
		return nil
	}
	var errs []error
	for _, w := range r.nodes {
		errs = append(errs, w.Close())
	}
	w, err := history.Create(r.path, r.history.Header)
	if err != nil {
		return errors.Join(append(errs, err)...)
	}
	errs = append(errs, r.history.Write(w), w.Close())
	return errors.Join(errs...)
}

// judgeHistory completes the committed log of a run that went to its end, writes it, and
// asks whether what the clients saw is linearizable.
func (r *recorder) judgeHistory(stats *sim.Stats, register linear.Limits) (*history.Report, error) {
	for int64(len(r.committed)) < stats.Committed {
		r.committed = append(r.committed, history.Record{Internal: true})
	}
	if err := r.writeLog(); err != nil {
		return nil, err
	}
	return history.Check(&r.history, r.committed, history.Options{Whole: true, Register: register})
}

// writeLog writes the committed log, once all of it is known.
func (r *recorder) writeLog() error {
	if r.nodes == nil {
		return nil
	}
	return history.WriteLog(r.log, r.committed)
}
