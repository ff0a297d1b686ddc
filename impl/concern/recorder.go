// Package concern records what a node does about the beginning of its cluster (KIP-1170) and
// its cluster id (KIP-1262): the actions of spec/bootstrap and spec/clusterid.
//
// Read [Recorder] and [Recorder.FS] first. Steps on disk are seen at the file system, so that
// an event says what was done and not what was meant; what a controller decides it says
// itself. A nil Recorder records nothing.
package concern

import (
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/metaprops"
	"github.com/quorate/quorate/traces/event/concern"
)

// Recorder takes the events of one process of a node, from any goroutine.
type Recorder struct {
	mu   sync.Mutex
	sink func(*concern.Event) error // guarded by mu; nil after an error
	at   func() (inc int32, events int64)
	end  func() error
}

// New records with a function that is called for one event at a time.
func New(sink func(*concern.Event) error) *Recorder {
	return &Recorder{sink: sink, end: func() error { return nil }}
}

// Open appends to the file of a node beside its trace.
func Open(trace string, node int32) (*Recorder, error) {
	w, err := concern.Append(filepath.Join(filepath.Dir(trace), concern.FileName(node)), node)
	if err != nil {
		return nil, err
	}
	r := New(w.Write)
	r.end = w.Close
	return r, nil
}

// Watch says of events from now on at which incarnation of the replica, and after how many
// of its own events, they were.
func (r *Recorder) Watch(at func() (inc int32, events int64)) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = at
}

// Record records an event. If that fails, recording ends: whoever records has no part in
// what the node does.
func (r *Recorder) Record(e concern.Event) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sink == nil {
		return
	}
	if r.at != nil {
		e.Inc, e.After = r.at()
	}
	if err := r.sink(&e); err != nil {
		slog.Error("the trace of bootstrap and cluster id ends: it cannot be written", "error", err)
		r.sink = nil
	}
}

// Close ends recording.
func (r *Recorder) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sink = nil
	return r.end()
}

// MetaOf is meta.properties as an event has it.
func MetaOf(d metaprops.Dir) concern.Meta {
	switch {
	case d.Err != nil:
		return concern.Meta{Form: concern.Unreadable}
	case !d.Formatted:
		return concern.Meta{Form: concern.Missing}
	}
	m := concern.Meta{Form: [...]string{concern.V0, concern.V1, concern.V2}[d.Version], Cluster: d.ClusterID}
	if d.Directory != (metaprops.DirectoryID{}) {
		m.Directory = d.Directory.String()
	}
	return m
}

// FileOf is a bootstrap as an event has it: its records, and whether it can be used.
func FileOf(records [][]byte, err error) concern.File {
	f := concern.File{Unusable: err != nil, Records: len(records)}
	for _, r := range RecordsOf(records) {
		switch r.Kind {
		case concern.MetaVersion:
			f.Level = r.Level
		case concern.ClusterIDRec:
			f.Cluster = r.Cluster
		}
	}
	if len(records) > 0 {
		f.Digest = Digest(records)
	}
	return f
}

// Digest is of the values of records, to tell bootstraps apart.
func Digest(records [][]byte) string {
	h := sha256.New()
	for _, r := range records {
		h.Write(r)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// RecordsOf is records as an event has them.
func RecordsOf(records [][]byte) (list []concern.Record) {
	for _, b := range records {
		r := RecordOf(b)
		if n := len(list); r.Kind == concern.Data && n > 0 && list[n-1].Kind == concern.Data {
			list[n-1].Count++
			continue
		}
		list = append(list, r)
	}
	return list
}

// RecordOf is one record as an event has it.
func RecordOf(b []byte) concern.Record {
	r, err := metadata.Decode(b)
	if err != nil {
		return concern.Record{Kind: concern.Data, Count: 1}
	}
	switch {
	case r.Type == metadata.TypeBeginTransaction:
		return concern.Record{Kind: concern.Begin}
	case r.Type == metadata.TypeEndTransaction:
		return concern.Record{Kind: concern.EndOfTx}
	case r.Type == metadata.TypeAbortTransaction:
		return concern.Record{Kind: concern.Abort}
	case r.Feature == metadata.VersionFeature:
		return concern.Record{Kind: concern.MetaVersion, Level: r.Level}
	case r.ClusterID != "":
		return concern.Record{Kind: concern.ClusterIDRec, Cluster: r.ClusterID}
	}
	return concern.Record{Kind: concern.Data, Count: 1}
}
