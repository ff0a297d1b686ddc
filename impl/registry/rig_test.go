package registry_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/quorate/quorate/impl/registry"
	"github.com/quorate/quorate/impl/registry/checkpoint"
	"github.com/quorate/quorate/impl/registry/journal"
	"github.com/quorate/quorate/impl/registry/objects"
	"github.com/quorate/quorate/impl/registry/state"
	"github.com/quorate/quorate/impl/registry/trace"
	"github.com/stretchr/testify/require"
)

// patience bounds every wait: on any machine what is waited for comes before, or never.
const patience = time.Minute

// tester is a test, or a trial that is expected to fail.
type tester interface {
	require.TestingT
	Helper()
	Name() string
	TempDir() string
	Cleanup(func())
}

// trial is a test whose failure is noted, and ends what it tries.
type trial struct {
	*testing.T
	failed string
}

func (t *trial) Errorf(format string, args ...any) { t.failed += fmt.Sprintf(format, args...) }
func (t *trial) FailNow() {
	if t.failed == "" {
		t.failed = "it failed"
	}
	runtime.Goexit()
}

// world is what instances have in common, and what a scenario does to it.
type world struct {
	t       tester
	ctx     context.Context
	rules   checkpoint.Rules
	without bool // no checkpoint is ever made
	journal journal.Journal
	mem     *journal.Memory // the journal, unless it is another
	dir     string          // of the images
	store   *faulty
	trace   *trace.Recorder
	lines   *bytes.Buffer
	started int
	patient time.Duration
}

func newWorld(t tester, m mutation) *world {
	ctx, cancel := context.WithTimeout(context.Background(), 2*patience)
	t.Cleanup(cancel)
	images := t.TempDir()
	dir, err := objects.NewDir(images)
	require.NoError(t, err)
	w := &world{t: t, ctx: ctx, dir: images, rules: checkpoint.DefaultRules(), without: m.without, store: &faulty{Store: dir}, lines: &bytes.Buffer{}, patient: patience}
	if m.change != nil {
		m.change(&w.rules)
	}
	w.mem = journal.NewMemory("journal-1")
	w.journal = w.mem
	w.trace = trace.NewRecorder(w.lines)
	return w
}

// judge holds what was recorded against the properties.
func (w *world) judge() {
	w.t.Helper()
	require.NoError(w.t, w.trace.Err())
	events, err := trace.Read(bytes.NewReader(w.lines.Bytes()))
	require.NoError(w.t, err)
	require.Empty(w.t, trace.Judge(events, 2))
}

// inst is an instance of a world.
type inst struct {
	*registry.Instance
	w    *world
	dir  string
	cfg  registry.Config
	reg  *prometheus.Registry
	once sync.Once
}

// launch starts an instance, with an empty disk unless dir is given.
func (w *world) launch(dir string, adjust ...func(*registry.Config)) *inst {
	w.t.Helper()
	w.started++
	if dir == "" {
		dir = filepath.Join(w.t.TempDir(), fmt.Sprint("instance", w.started))
	}
	reg := prometheus.NewRegistry()
	cfg := registry.Config{Dir: dir, Journal: w.journal, Objects: w.store, Rules: w.rules, Grace: time.Nanosecond, StateDigest: true, Trace: w.trace, Metrics: reg}
	for _, a := range adjust {
		a(&cfg)
	}
	i, err := registry.Start(cfg)
	require.NoError(w.t, err)
	n := &inst{Instance: i, w: w, dir: dir, cfg: cfg, reg: reg}
	w.t.Cleanup(n.stop)
	return n
}

func (n *inst) stop() { n.once.Do(func() { n.Close() }) }

// start launches one and waits until it is ready.
func (w *world) start(dir string, adjust ...func(*registry.Config)) *inst {
	w.t.Helper()
	n := w.launch(dir, adjust...)
	select {
	case <-n.Ready():
	case <-n.Done():
		require.NoError(w.t, n.Err(), "it ended before it was ready")
		require.Fail(w.t, "it ended before it was ready")
	case <-time.After(w.patient):
		require.Fail(w.t, "it is not ready")
	}
	return n
}

// refused launches one that must not become ready, and returns its error.
func (w *world) refused(adjust ...func(*registry.Config)) error {
	w.t.Helper()
	n := w.launch("", adjust...)
	select {
	case <-n.Ready():
		require.Fail(w.t, "it is ready")
	case <-n.Done():
	case <-time.After(w.patient):
		require.Fail(w.t, "it neither serves nor refuses to")
	}
	require.Error(w.t, n.Err())
	return n.Err()
}

func (n *inst) write(op state.Op) state.Result {
	n.w.t.Helper()
	r, _, err := n.Write(n.w.ctx, op)
	require.NoError(n.w.t, err)
	return r
}

func reg(subject, text string) state.Op {
	return state.Op{Type: state.OpRegister, Subject: subject, SchemaType: "AVRO", Schema: text}
}

// fill registers so many schemas.
func (n *inst) fill(name string, count int) {
	n.w.t.Helper()
	for i := range count {
		n.write(reg(fmt.Sprint(name, "-", i%7), fmt.Sprintf("schema %d of %s %s", i, name, strings.Repeat("x", 100))))
	}
}

// digest of everything up to the end of the journal.
func (n *inst) digest() string {
	n.w.t.Helper()
	b, err := n.w.journal.Bounds(n.w.ctx)
	require.NoError(n.w.t, err)
	require.NoError(n.w.t, n.WaitApplied(n.w.ctx, b.End-1))
	d, err := n.DB().Digest(n.w.ctx)
	require.NoError(n.w.t, err)
	return d
}

// checkpoint makes one, unless the world is without.
func (n *inst) checkpoint() checkpoint.Commit {
	n.w.t.Helper()
	if n.w.without {
		return checkpoint.Commit{}
	}
	c, err := n.Checkpoint(n.w.ctx)
	require.NoError(n.w.t, err)
	return c
}

// metric is the value of a counter or gauge, summed over its labels.
func (n *inst) metric(name string) (sum float64) {
	n.w.t.Helper()
	families, err := n.reg.Gather()
	require.NoError(n.w.t, err)
	for _, f := range families {
		if f.GetName() != "registry_"+name {
			continue
		}
		for _, m := range f.Metric {
			sum += m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return sum
}

// faulty is a store that can be made to fail.
type faulty struct {
	objects.Store
	mu   sync.Mutex
	fail func(what, key string) error
}

func (f *faulty) set(fail func(what, key string) error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.fail = fail
}

func (f *faulty) check(what, key string) error {
	f.mu.Lock()
	fail := f.fail
	f.mu.Unlock()
	if fail == nil {
		return nil
	}
	return fail(what, key)
}

func (f *faulty) Put(ctx context.Context, key string, r io.Reader) error {
	return errors.Join(f.check("put", key), f.Store.Put(ctx, key, r))
}

func (f *faulty) Get(ctx context.Context, key string) (io.ReadCloser, error) {
	if err := f.check("get", key); err != nil {
		return nil, err
	}
	return f.Store.Get(ctx, key)
}

// change replaces the bytes of an object.
func (w *world) change(key string, f func([]byte) []byte) {
	w.t.Helper()
	if key == "" {
		return // without checkpoints
	}
	r, err := w.store.Store.Get(w.ctx, key)
	require.NoError(w.t, err)
	b, err := io.ReadAll(r)
	require.NoError(w.t, errors.Join(err, r.Close()))
	require.NoError(w.t, w.store.Delete(w.ctx, key))
	require.NoError(w.t, w.store.Store.Put(w.ctx, key, bytes.NewReader(f(b))))
}

func flip(b []byte) []byte {
	c := slices.Clone(b)
	c[len(c)/2] ^= 1
	return c
}

// at calls a function once, at a point.
func at(point string, f func() error) func(*registry.Config) {
	var once sync.Once
	return func(c *registry.Config) {
		c.Hook = func(p string) (err error) {
			if p == point {
				once.Do(func() { err = f() })
			}
			return err
		}
	}
}

// pausing waits at a point, once; reached is closed when it is there.
func pausing(point string) (adjust func(*registry.Config), reached chan struct{}, resume func()) {
	reached, gate := make(chan struct{}), make(chan struct{})
	var once sync.Once
	return at(point, func() error {
		close(reached)
		<-gate
		return nil
	}), reached, func() { once.Do(func() { close(gate) }) }
}
