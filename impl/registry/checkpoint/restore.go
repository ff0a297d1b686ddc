package checkpoint

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/quorate/quorate/impl/registry/objects"
	"github.com/quorate/quorate/impl/registry/state"
	"github.com/quorate/quorate/impl/registry/trace"
)

// Errors of a start that must not go on.
var (
	// ErrForeign: there are checkpoints, all of another journal, and this one is whole: it
	// may have been made anew by mistake.
	ErrForeign = errors.New("all checkpoints are of another journal: it was made anew, or another is meant")
)

// MissingError: no image can be used, and the journal is not whole.
type MissingError struct {
	// First is the first offset that nobody has any more, Start where the journal begins.
	First, Start int64
	// Reasons why images were not used, newest first.
	Reasons []error
}

// Error implements error.
func (e *MissingError) Error() string {
	text := fmt.Sprintf("no checkpoint can be used, and the journal begins at offset %d: the first missing offset is %d", e.Start, e.First)
	for _, r := range e.Reasons {
		text += "; " + r.Error()
	}
	return text
}

// Restored is what a start begins with.
type Restored struct {
	// From is the checkpoint, nil if the journal is replayed from its beginning.
	From *Commit
	// Next is where to read on, End the end of the journal after the start had begun.
	Next, End int64
	Journal   string
	Rejected  int
	// Cached: the image was here already.
	Cached                               bool
	Scan, Fetch, Verify, Load, Migration time.Duration
}

// List is the list of checkpoints of the journal, oldest first, and how many records of it
// are none that this version knows.
func (m *Manager) List(ctx context.Context) (commits []Commit, unknown int, err error) {
	records, err := m.Journal.Checkpoints(ctx)
	if err != nil {
		return nil, 0, fmt.Errorf("read the list of checkpoints: %w", err)
	}
	for _, r := range records {
		c, err := Decode(r)
		if err != nil {
			unknown++
			continue
		}
		commits = append(commits, c)
	}
	return commits, unknown, nil
}

// Manifests are the commits that are kept beside the images of a store.
func Manifests(ctx context.Context, store objects.Store, prefix string) (commits []Commit, err error) {
	all, err := store.List(ctx, prefix)
	if err != nil {
		return nil, err
	}
	for _, o := range all {
		if !strings.HasSuffix(o.Key, manifestSuffix) {
			continue
		}
		b, err := getBytes(ctx, store, o.Key)
		if errors.Is(err, objects.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if c, err := Decode(b); err == nil {
			commits = append(commits, c)
		}
	}
	return commits, nil
}

// View is what is known of the journal now.
func (m *Manager) View(ctx context.Context) (View, error) {
	v := View{Schema: m.Schema, Vocabulary: state.Vocabulary}
	var err error
	if v.Journal, err = m.Journal.ID(ctx); err != nil {
		return v, fmt.Errorf("identity of the journal: %w", err)
	}
	if v.Bounds, err = m.Journal.Bounds(ctx); err != nil {
		return v, fmt.Errorf("bounds of the journal: %w", err)
	}
	v.Epoch = func(offset int64) (int32, bool) {
		epoch, err := m.Journal.EpochAt(ctx, offset)
		return epoch, err == nil
	}
	return v, nil
}

// Restore makes a database in the file to, from the best image that can be used, or an
// empty one if the journal has everything. acceptNew: a journal that is none of any
// checkpoint is taken for a new one. Errors: *MissingError, ErrForeign.
func (m *Manager) Restore(ctx context.Context, to string, acceptNew bool) (Restored, error) {
	for try := 1; ; try++ {
		r, gone, err := m.restore(ctx, to, acceptNew)
		if missing := (*MissingError)(nil); errors.As(err, &missing) {
			if gone && try < 5 {
				// What was listed has been collected since, so there is something newer.
				continue
			}
			m.record(trace.Event{Action: trace.GiveUp, Offset: missing.First})
		}
		return r, err
	}
}

func (m *Manager) restore(ctx context.Context, to string, acceptNew bool) (r Restored, gone bool, err error) {
	began := m.Now()
	v, err := m.View(ctx)
	if err != nil {
		return r, false, err
	}
	r.Journal, r.End = v.Journal, v.End
	m.record(trace.Event{Action: trace.Start, Journal: v.Journal, Start: v.Start, End: v.End, Offset: -1})
	commits, _, err := m.List(ctx)
	if err != nil {
		return r, false, err
	}
	r.Scan = m.Now().Sub(began)
	t := trial{m: m, v: v, to: to, r: &r}
	if ok, err := t.try(ctx, commits); ok || err != nil {
		return r, t.gone, err
	}
	// The list, or a part of it, may be lost where the images are not.
	beside, err := Manifests(ctx, m.Objects, "images/")
	if err != nil {
		slog.Warn("cannot look for images", "err", err)
	}
	beside = slices.DeleteFunc(beside, func(c Commit) bool {
		return slices.ContainsFunc(commits, func(l Commit) bool { return l.ID == c.ID })
	})
	if ok, err := t.try(ctx, beside); ok || err != nil {
		return r, t.gone, err
	}
	if !m.Rules.MayReplay(v) {
		return r, t.gone, &MissingError{First: t.first, Start: v.Start, Reasons: t.reasons}
	}
	if t.foreign > 0 && t.foreign == len(t.reasons) && !acceptNew {
		m.record(trace.Event{Action: trace.GiveUp, Offset: 0, Reason: ErrForeign.Error()})
		return r, false, fmt.Errorf("journal %s: %w", v.Journal, ErrForeign)
	}
	m.record(trace.Event{Action: trace.ReplayAll, Offset: -1})
	if len(t.reasons) > 0 {
		slog.Warn("no checkpoint can be used: the whole journal is replayed", "records", v.End)
	}
	r.Next = v.Start
	return r, false, removeDB(to)
}

// trial is a search for an image that can be used.
type trial struct {
	m  *Manager
	v  View
	to string
	r  *Restored
	// Of those that cannot be: why, how many are of another journal, the offset after the
	// last of those that the journal has gone past, and whether one was listed and is gone.
	reasons []error
	foreign int
	first   int64
	gone    bool
}

// try restores the best of some checkpoints that can be used; false if none can.
func (t *trial) try(ctx context.Context, commits []Commit) (ok bool, err error) {
	m := t.m
	m.Rules.Order(commits)
	for i := range commits {
		c := commits[i]
		err := m.Rules.Usable(c, t.v)
		if err == nil {
			m.record(trace.Event{Action: trace.Choose, Checkpoint: c.ID, Key: c.Key, Journal: c.Journal, Offset: c.Offset, Epoch: c.Epoch})
			if err = m.fetch(ctx, c, t.to, t.r, c.State != ""); err == nil {
				t.r.From, t.r.Next = &c, m.Rules.Resume(c.Offset)
				m.record(trace.Event{Action: trace.Install, Checkpoint: c.ID, Key: c.Key, Journal: c.Journal, Offset: c.Offset, Epoch: c.Epoch})
				m.prune(c)
				return true, nil
			}
			if ctx.Err() != nil {
				return false, err
			}
			t.gone = t.gone || errors.Is(err, objects.ErrNotExist)
			m.record(trace.Event{Action: trace.RejectImage, Checkpoint: c.ID, Key: c.Key, Offset: c.Offset, Reason: err.Error()})
		}
		if errors.Is(err, ErrOtherJournal) {
			t.foreign++
		}
		if errors.Is(err, ErrBeforeStart) {
			t.first = max(t.first, c.Offset+1)
		}
		t.r.Rejected++
		m.Metrics.rejected(err)
		slog.Warn("a checkpoint is not used", "id", c.ID, "offset", c.Offset, "reason", err)
		t.reasons = append(t.reasons, fmt.Errorf("checkpoint %s of offset %d: %w", c.ID, c.Offset, err))
	}
	return false, nil
}

// fetch puts an image where the database is to be, if it is what was committed: by its digest,
// and by where it says that it stands. thorough: SQLite checks it once more, as it did before
// the digest was taken, and its rows are counted, and digested if the commit says so.
func (m *Manager) fetch(ctx context.Context, c Commit, to string, r *Restored, thorough bool) error {
	began := m.Now()
	m.record(trace.Event{Action: trace.FetchImage, Checkpoint: c.ID, Key: c.Key, Offset: c.Offset})
	stored, cached, err := m.download(ctx, c)
	if err != nil {
		return err
	}
	r.Cached, r.Fetch = cached, m.Now().Sub(began)
	if err := m.hook("fetched"); err != nil {
		return err
	}
	tmp := to + ".restore"
	if err := removeDB(tmp); err != nil {
		return err
	}
	defer removeDB(tmp)
	began = m.Now()
	stop := m.progress("restore", tmp, c.Raw)
	err = expand(ctx, stored, tmp)
	stop()
	if err != nil {
		return err
	}
	r.Load = m.Now().Sub(began)
	began = m.Now()
	look := state.Look
	if thorough {
		look = func(ctx context.Context, path string) (state.Image, error) {
			return state.Inspect(ctx, path, c.State != "", nil)
		}
	}
	img, err := look(ctx, tmp)
	if err != nil {
		return err
	}
	if err := m.Rules.Inside(c, img.Journal, img.Offset, img.Epoch); err != nil {
		return err
	}
	switch {
	case img.Bytes != c.Raw:
		return fmt.Errorf("%s is of %d bytes, and %d were committed", c.Key, img.Bytes, c.Raw)
	case thorough && img.Rows != c.Rows:
		return fmt.Errorf("%s has %d rows, and %d were committed", c.Key, img.Rows, c.Rows)
	case thorough && img.Digest != c.State:
		return fmt.Errorf("%s has rows of digest %s, and %s were committed", c.Key, img.Digest, c.State)
	}
	r.Verify = m.Now().Sub(began)
	if err := m.hook("verified"); err != nil {
		return err
	}
	began = m.Now()
	if err := state.Migrate(ctx, tmp, m.Schema); err != nil {
		return err
	}
	r.Migration = m.Now().Sub(began)
	if err := m.hook("migrated"); err != nil {
		return err
	}
	if err := removeDB(to); err != nil {
		return err
	}
	return os.Rename(tmp, to)
}

// download brings an image here, and keeps it: a start that does not come to its end, and
// is tried again, need not bring it twice. What is here is read again like what is not.
func (m *Manager) download(ctx context.Context, c Commit) (path string, cached bool, err error) {
	path = filepath.Join(m.Dir, "image-"+c.SHA256)
	if size, sum, err := digestFile(path); err == nil && m.Rules.Intact(c, size, sum) == nil {
		return path, true, nil
	}
	in, err := m.Objects.Get(ctx, c.Key)
	if err != nil {
		return "", false, err
	}
	defer in.Close()
	tmp := path + ".tmp"
	out, err := os.Create(tmp)
	if err != nil {
		return "", false, err
	}
	h := sha256.New()
	stop := m.progress("download", tmp, c.Size)
	size, err := io.Copy(io.MultiWriter(out, h), objects.Until(ctx, in))
	stop()
	// It is not flushed: whoever comes after a loss of power reads it again.
	if err = errors.Join(err, out.Close()); err == nil {
		err = m.Rules.Intact(c, size, hex.EncodeToString(h.Sum(nil)))
	}
	if err == nil {
		err = os.Rename(tmp, path)
	}
	if err != nil {
		return "", false, errors.Join(err, os.Remove(tmp))
	}
	return path, false, nil
}

// prune removes images here but for one.
func (m *Manager) prune(c Commit) {
	names, err := filepath.Glob(filepath.Join(m.Dir, "image-*"))
	if err != nil {
		return
	}
	for _, n := range names {
		if !slices.Contains([]string{"image-" + c.SHA256}, filepath.Base(n)) {
			os.Remove(n) // what is left is removed next time
		}
	}
}

func digestFile(path string) (int64, string, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, "", err
	}
	defer f.Close()
	h := sha256.New()
	n, err := io.Copy(h, f)
	return n, hex.EncodeToString(h.Sum(nil)), err
}

func expand(ctx context.Context, from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	z, err := zstd.NewReader(objects.Until(ctx, in), zstd.WithDecoderConcurrency(1))
	if err != nil {
		return err
	}
	defer z.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, z)
	return errors.Join(err, out.Close())
}

// removeDB removes a database with the files beside it.
func removeDB(path string) error {
	for _, suffix := range []string{"", "-wal", "-shm", "-journal"} {
		if err := os.Remove(path + suffix); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func putBytes(ctx context.Context, s objects.Store, key string, b []byte) error {
	err := s.Put(ctx, key, bytes.NewReader(b))
	if errors.Is(err, objects.ErrExist) {
		return nil // of this attempt: the key has its id
	}
	return err
}

func getBytes(ctx context.Context, s objects.Store, key string) ([]byte, error) {
	r, err := s.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	return io.ReadAll(io.LimitReader(r, 1<<20))
}

// Export writes the database of an image to a file, if it is what was committed.
func (m *Manager) Export(ctx context.Context, c Commit, to string) error {
	var r Restored
	return m.fetch(ctx, c, to, &r, true)
}

// Verify reads an image as a restore would, and puts nothing in place.
func (m *Manager) Verify(ctx context.Context, c Commit) error {
	dir, err := os.MkdirTemp(m.Dir, "verify-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var r Restored
	n := Manager{Objects: m.Objects, Rules: m.Rules, Dir: dir, Schema: m.Schema, Now: m.Now}
	return n.fetch(ctx, c, filepath.Join(dir, "db"), &r, true)
}
