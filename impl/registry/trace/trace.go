// Package trace records what instances of a registry do, by the names of the actions of
// spec/kafkasql, and judges what was recorded.
package trace

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync"
)

// Event is one action. Fields that an action has not are zero.
type Event struct {
	// Seq numbers the events of a recorder from 1.
	Seq    int64  `json:"seq"`
	Action string `json:"action"`
	// Instance names one life of a process.
	Instance string `json:"instance,omitempty"`
	// Journal is the identity of the journal.
	Journal string `json:"journal,omitempty"`
	// Offset, inclusive, and Epoch: of the record that was appended or applied last, or
	// that an image ends with; where the journal starts, of TrimJournal; the first that is
	// missing, of GiveUp and OutOfRange; -1: of nothing.
	Offset int64 `json:"offset"`
	Epoch  int32 `json:"epoch,omitempty"`
	// First of the records of an Apply, and a sum of all of them.
	First int64  `json:"first,omitempty"`
	Sum   string `json:"sum,omitempty"`
	// Start and End of the journal as they were seen by Start and TrimJournal. End is of
	// BecomeReady too: what had to be applied.
	Start int64 `json:"start,omitempty"`
	End   int64 `json:"end,omitempty"`
	// Checkpoint and Key of an attempt; Kept are those that a TrimJournal or
	// CollectGarbage relies on.
	Checkpoint string   `json:"checkpoint,omitempty"`
	Key        string   `json:"key,omitempty"`
	Digest     string   `json:"digest,omitempty"`
	Kept       []string `json:"kept,omitempty"`
	// Tail: of Install, the records that were skipped; of BecomeReady, those replayed.
	Tail int64 `json:"tail,omitempty"`
	// Reason of what was refused.
	Reason string `json:"reason,omitempty"`
}

// The actions, which are those of spec/kafkasql.
const (
	Append         = "Append"
	Start          = "Start"
	Choose         = "Choose"
	FetchImage     = "FetchImage"
	RejectImage    = "RejectImage"
	Install        = "Install"
	ReplayAll      = "ReplayAll"
	GiveUp         = "GiveUp"
	Apply          = "Apply"
	BecomeReady    = "BecomeReady"
	OutOfRange     = "OutOfRange"
	NoticeRewind   = "NoticeRewind"
	BeginCapture   = "BeginCapture"
	FinishCapture  = "FinishCapture"
	UploadChunk    = "UploadChunk"
	VerifyUpload   = "VerifyUpload"
	AbandonAttempt = "AbandonAttempt"
	AppendCommit   = "AppendCommit"
	TrimJournal    = "TrimJournal"
	CollectGarbage = "CollectGarbage"
	Crash          = "Crash"
	Pause          = "Pause"
	Resume         = "Resume"
	DamageObject   = "DamageObject"
)

// Recorder takes events of all instances of a process, in the order in which they
// happened. Nil records nothing.
type Recorder struct {
	mu  sync.Mutex
	w   io.Writer
	n   int64
	err error
}

// NewRecorder records into w, a line of JSON for each event, each written at once.
func NewRecorder(w io.Writer) *Recorder { return &Recorder{w: w} }

// Record records an event, whose Seq it gives.
func (r *Recorder) Record(e Event) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.n++
	e.Seq = r.n
	b, err := json.Marshal(e)
	if err == nil && r.err == nil {
		_, err = r.w.Write(append(b, '\n'))
	}
	if r.err == nil {
		r.err = err
	}
}

// Err is the first error of writing.
func (r *Recorder) Err() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// Read reads what was recorded. A line that a kill has cut off is left out: the last one, or
// the beginning of one where another process went on in the same file.
func Read(r io.Reader) (events []Event, err error) {
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			return events, nil
		}
		if err != nil {
			return events, err
		}
		var e Event
		err = json.Unmarshal(line, &e)
		if at := bytes.LastIndex(line, []byte(`{"seq":`)); err != nil && at > 0 {
			e = Event{}
			err = json.Unmarshal(line[at:], &e)
		}
		if err != nil {
			return events, fmt.Errorf("line %d: %w", n, err)
		}
		if e.Action == "" {
			return events, fmt.Errorf("line %d: no action", n)
		}
		events = append(events, e)
	}
}
