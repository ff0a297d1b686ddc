package checkpoint

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/quorate/quorate/impl/registry/journal"
	"github.com/quorate/quorate/impl/registry/objects"
	"github.com/quorate/quorate/impl/registry/pace"
	"github.com/quorate/quorate/impl/registry/state"
	"github.com/quorate/quorate/impl/registry/trace"
)

// codec of images.
const codec = "zstd"

// Manager makes checkpoints of one instance, and begins at those of all.
type Manager struct {
	Journal journal.Journal
	Objects objects.Store
	Rules   Rules
	// Dir is for files of attempts and restores.
	Dir string
	// Instance names this start of the process, App its version.
	Instance, App string
	// Schema is the layout of tables that this binary has.
	Schema int
	// Keep is how many images are kept, 2 and up; Grace how long those that are not are
	// kept all the same.
	Keep  int
	Grace time.Duration
	// StateDigest: commits have the digest of the rows.
	StateDigest bool
	// Share of one CPU that checkpoints, and looking through images before a trim, take at
	// most; not between 0 and 1: all that there is. A start does not wait.
	Share   float64
	Now     func() time.Time
	Trace   *trace.Recorder
	Metrics *Metrics
	// Hook, if not nil, is called at the points of an attempt and of a restore, whose
	// error it may return.
	Hook func(point string) error

	mu       sync.Mutex // one attempt at a time
	attempts int
}

// Source of a checkpoint.
type Source interface {
	CopyTo(ctx context.Context, path string, p *pace.Pacer) error
}

// ErrBusy: there is an attempt of this instance under way.
var ErrBusy = errors.New("a checkpoint is being made")

func (m *Manager) hook(point string) error {
	if m.Hook == nil {
		return nil
	}
	return m.Hook(point)
}

func (m *Manager) record(e trace.Event) {
	e.Instance = m.Instance
	m.Trace.Record(e)
}

// Make makes a checkpoint of a database, beside whoever reads and writes it. If it fails,
// nothing has changed but that there may be an object that nobody names. Errors: ErrBusy.
func (m *Manager) Make(ctx context.Context, src Source) (c Commit, err error) {
	if !m.mu.TryLock() {
		return c, ErrBusy
	}
	defer m.mu.Unlock()
	m.attempts++
	began := m.Now()
	c = Commit{ID: rand.Text(), Instance: m.Instance, Attempt: m.attempts, App: m.App, Codec: codec}
	defer func() {
		m.Metrics.attempt(c, m.Now().Sub(began), err)
		if err != nil {
			m.record(trace.Event{Action: trace.AbandonAttempt, Checkpoint: c.ID, Offset: -1, Reason: err.Error()})
		}
	}()
	dir, err := os.MkdirTemp(m.Dir, "attempt-")
	if err != nil {
		return c, err
	}
	defer os.RemoveAll(dir)
	p := pace.New(m.Share)
	stored, err := m.capture(ctx, src, dir, &c, p)
	if err == nil {
		err = m.upload(ctx, stored, &c, p)
	}
	c.Rested = p.Rested()
	m.Metrics.stage("rest", c.Rested)
	if err != nil {
		return c, err
	}
	return c, m.commit(ctx, &c)
}

// capture makes the file that is to be stored, and fills in what there is to say of it.
func (m *Manager) capture(ctx context.Context, src Source, dir string, c *Commit, p *pace.Pacer) (stored string, err error) {
	raw := filepath.Join(dir, "db")
	if err := m.hook("before-capture"); err != nil {
		return "", err
	}
	m.record(trace.Event{Action: trace.BeginCapture, Checkpoint: c.ID, Offset: -1})
	began := m.Now()
	stop := m.progress("capture", raw, 0)
	err = src.CopyTo(ctx, raw, p)
	stop()
	if err == nil {
		err = m.hook("mid-copy")
	}
	if err != nil {
		return "", fmt.Errorf("capture: %w", err)
	}
	c.Capture = m.Now().Sub(began)
	m.Metrics.stage("capture", c.Capture)
	// Where the copy stands is said by the copy alone.
	began = m.Now()
	img, err := state.Inspect(ctx, raw, m.StateDigest, p)
	if err != nil {
		return "", fmt.Errorf("verify the copy: %w", err)
	}
	c.Verify = m.Now().Sub(began)
	m.Metrics.stage("verify", c.Verify)
	c.Journal, c.Offset, c.Epoch = img.Journal, img.Offset, img.Epoch
	c.Schema, c.Vocabulary, c.State, c.Rows, c.Raw = img.Schema, img.Vocabulary, img.Digest, img.Rows, img.Bytes
	if c.Offset < 0 {
		return "", errors.New("nothing was applied yet: there is nothing to keep")
	}
	c.Key = KeyOf(c.Journal, c.Offset, c.ID)
	m.record(trace.Event{Action: trace.FinishCapture, Checkpoint: c.ID, Key: c.Key, Journal: c.Journal, Offset: c.Offset, Epoch: c.Epoch, Digest: c.State})
	if err := m.hook("after-copy"); err != nil {
		return "", err
	}
	began = m.Now()
	stored = raw + imageSuffix
	if c.Size, c.SHA256, err = compress(ctx, raw, stored, p); err != nil {
		return "", fmt.Errorf("compress: %w", err)
	}
	m.Metrics.stage("compress", m.Now().Sub(began))
	return stored, os.Remove(raw)
}

// upload stores the file and reads it again.
func (m *Manager) upload(ctx context.Context, stored string, c *Commit, p *pace.Pacer) error {
	f, err := os.Open(stored)
	if err != nil {
		return err
	}
	defer f.Close()
	began := m.Now()
	half := trace.Event{Action: trace.UploadChunk, Checkpoint: c.ID, Key: c.Key, Offset: c.Offset}
	r := &halfway{r: p.Reader(ctx, f), at: c.Size / 2, call: func() error {
		m.record(half)
		return m.hook("mid-upload")
	}}
	if err := m.Objects.Put(ctx, c.Key, r); err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	m.record(half)
	if err := m.hook("after-upload"); err != nil {
		return err
	}
	size, sum, err := m.digest(ctx, c.Key, p)
	if err != nil {
		return fmt.Errorf("read the upload again: %w", err)
	}
	if err := m.Rules.Intact(*c, size, sum); err != nil {
		return fmt.Errorf("read the upload again: %w", err)
	}
	c.Upload = m.Now().Sub(began)
	m.Metrics.stage("upload", c.Upload)
	m.record(trace.Event{Action: trace.VerifyUpload, Checkpoint: c.ID, Key: c.Key, Offset: c.Offset, Digest: sum})
	return nil
}

// halfway reads, and calls when half is read.
type halfway struct {
	r    io.Reader
	at   int64
	n    int64
	done bool
	call func() error
}

func (h *halfway) Read(b []byte) (int, error) {
	if !h.done && h.n >= h.at {
		h.done = true
		if err := h.call(); err != nil {
			return 0, err
		}
	}
	if !h.done && int64(len(b)) > h.at-h.n {
		b = b[:h.at-h.n]
	}
	n, err := h.r.Read(b)
	h.n += int64(n)
	return n, err
}

func (m *Manager) digest(ctx context.Context, key string, p *pace.Pacer) (size int64, sum string, err error) {
	r, err := m.Objects.Get(ctx, key)
	if err != nil {
		return 0, "", err
	}
	defer r.Close()
	h := sha256.New()
	size, err = io.Copy(h, p.Reader(ctx, r))
	return size, hex.EncodeToString(h.Sum(nil)), err
}

// commit makes the image known. An append whose outcome is unknown is looked up, and done
// again only if it is not there: twice would do no harm.
func (m *Manager) commit(ctx context.Context, c *Commit) error {
	began := m.Now()
	c.Time = began.UnixMilli()
	b, err := c.Encode()
	if err != nil {
		return err
	}
	if err := m.hook("before-commit"); err != nil {
		return err
	}
	// Beside the image first: the list can be made anew from it.
	if err := putBytes(ctx, m.Objects, ManifestOf(c.Key), b); err != nil {
		return fmt.Errorf("write the commit beside the image: %w", err)
	}
	for try := 1; ; try++ {
		err = m.Journal.AddCheckpoint(ctx, b)
		if err == nil || !errors.Is(err, journal.ErrUnknown) || try == 10 {
			break
		}
		commits, _, e := m.List(ctx)
		if e == nil {
			for _, have := range commits {
				if have.ID == c.ID {
					err = nil
				}
			}
		}
		if err == nil {
			break
		}
		select {
		case <-time.After(time.Duration(try) * 20 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	if err := m.hook("commit-reply-lost"); err != nil {
		return err
	}
	m.Metrics.stage("commit", m.Now().Sub(began))
	m.record(trace.Event{Action: trace.AppendCommit, Checkpoint: c.ID, Key: c.Key, Journal: c.Journal, Offset: c.Offset, Epoch: c.Epoch, Digest: c.SHA256})
	slog.Info("made a checkpoint", "id", c.ID, "offset", c.Offset, "rows", c.Rows, "bytes", c.Size, "raw", c.Raw, "capture", c.Capture, "upload", c.Upload)
	return m.hook("after-commit")
}

// progress says from time to time how far a file has grown.
func (m *Manager) progress(what, path string, of int64) (stop func()) {
	began := m.Now()
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(5 * time.Second)
		defer tick.Stop()
		for {
			select {
			case <-done:
				return
			case <-tick.C:
				if info, err := os.Stat(path); err == nil {
					slog.Info("checkpoint: "+what+" goes on", "bytes", info.Size(), "of", of, "seconds", int(m.Now().Sub(began).Seconds()))
				}
			}
		}
	}()
	return func() { close(done) }
}

func compress(ctx context.Context, from, to string, p *pace.Pacer) (size int64, sum string, err error) {
	in, err := os.Open(from)
	if err != nil {
		return 0, "", err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return 0, "", err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	h := sha256.New()
	counted := &counter{w: io.MultiWriter(out, h)}
	z, err := zstd.NewWriter(counted, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1))
	if err != nil {
		return 0, "", err
	}
	if _, err = io.Copy(z, p.Reader(ctx, in)); err == nil {
		err = z.Close()
	}
	return counted.n, hex.EncodeToString(h.Sum(nil)), err
}

type counter struct {
	w io.Writer
	n int64
}

func (c *counter) Write(b []byte) (int, error) {
	n, err := c.w.Write(b)
	c.n += int64(n)
	return n, err
}
