package log

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/quorumstate"
	"github.com/quorate/quorate/traces/event"
	"github.com/stretchr/testify/require"
)

const testDir = "topic-0"

// model is what a log must be, as a list of batches.
type model struct {
	batches []Batch  // also those below start, since the log began anew
	begin   logStart // where the first of batches is
	// start is where the log starts; a crash leaves that or starting.
	start, starting int64
	// reset is what a crash may leave instead of all the rest.
	reset *model
	// A crash leaves the first n of written, where n is at least flushed.
	written []Batch
	flushed int
	pending bool // a truncation is not flushed
	// A crash leaves one of these quorum states.
	saved, saving quorumstate.Election
}

func (m *model) end() int64 { return max(m.begin.offset, endOf(m.batches)) }

func endOf(batches []Batch) int64 {
	if len(batches) == 0 {
		return 0
	}
	return batches[len(batches)-1].End
}

func (m *model) epoch() int32 {
	return m.epochBefore(m.end())
}

// epochBefore is the epoch of the record before an offset.
func (m *model) epochBefore(offset int64) int32 {
	epoch := m.begin.epoch
	for _, b := range m.batches {
		if b.Base < offset {
			epoch = b.Epoch
		}
	}
	return epoch
}

// step is one operation on a log and its model. It returns the log's error.
type step func(l *Log, m *model) error

func raw(t testing.TB, b []byte) Batch {
	it := NewBatches(b)
	require.True(t, it.Next(), "%v", it.Err())
	return it.Batch()
}

// add notes batches that an append is about to write: from now on they may be on
// disk.
func (m *model) add(batches ...Batch) {
	m.batches = append(m.batches[:len(m.batches):len(m.batches)], batches...)
	m.written = m.batches
}

func data(t testing.TB, epoch int32, sizes ...int) step {
	return func(l *Log, m *model) error {
		var values [][]byte
		for i, n := range sizes {
			values = append(values, bytes.Repeat([]byte{byte('a' + i)}, n))
		}
		if m.pending {
			_, err := l.AppendData(epoch, values, 9)
			require.ErrorIs(t, err, ErrNotFlushed)
			return nil
		}
		b := raw(t, AppendDataBatch(nil, m.end(), epoch, values, 9))
		m.add(b)
		done, err := l.AppendData(epoch, values, 9)
		return checkAppended(t, done, err, []Batch{b})
	}
}

func change(t testing.TB, epoch int32) step {
	return func(l *Log, m *model) error {
		c := LeaderChange{Leader: epoch, Voters: []int32{1, 2, 3}, Granting: []int32{1, 2}}
		if m.pending {
			_, err := l.AppendLeaderChange(epoch, c.Leader, c.Voters, c.Granting, 9)
			require.ErrorIs(t, err, ErrNotFlushed)
			return nil
		}
		b := raw(t, AppendLeaderChangeBatch(nil, m.end(), epoch, c, 9))
		m.add(b)
		done, err := l.AppendLeaderChange(epoch, c.Leader, c.Voters, c.Granting, 9)
		return checkAppended(t, done, err, []Batch{b})
	}
}

// fetched appends several batches at once, one for each size.
func fetched(t testing.TB, epoch int32, sizes ...int) step {
	return func(l *Log, m *model) error {
		var all []byte
		var batches []Batch
		end := m.end()
		for i, n := range sizes {
			b := raw(t, AppendDataBatch(nil, end, epoch, [][]byte{bytes.Repeat([]byte{byte('A' + i)}, n), {1}}, 9))
			all, batches, end = append(all, b.Bytes...), append(batches, b), b.End
		}
		if m.pending {
			_, err := l.AppendRaw(all)
			require.ErrorIs(t, err, ErrNotFlushed)
			return nil
		}
		m.add(batches...)
		done, err := l.AppendRaw(all)
		return checkAppended(t, done, err, batches)
	}
}

func checkAppended(t testing.TB, done Appended, err error, batches []Batch) error {
	if err == nil {
		require.Equal(t, batches[0].Base, done.Base)
		require.Equal(t, endOf(batches), done.End)
		require.Equal(t, runsOf(batches), done.Runs)
	}
	return err
}

func runsOf(batches []Batch) (runs []event.Run) {
	for _, b := range batches {
		runs = b.AppendRuns(runs)
	}
	return runs
}

func flush(l *Log, m *model) error {
	err := l.Flush()
	if err == nil {
		m.written, m.flushed, m.pending = m.batches, len(m.batches), false
	}
	return err
}

var noElection = quorumstate.Election{Leader: quorumstate.None, Voted: quorumstate.None}

func store(fsys fs.FS, dir string) *quorumstate.Store {
	return quorumstate.New(fsys, dir+"/"+quorumstate.FileName, quorumstate.Config{Version: 1})
}

// save writes the quorum state in the same directory.
func save(l *Log, m *model) error {
	m.saving = quorumstate.Election{Epoch: m.saved.Epoch + 1, Leader: quorumstate.None, Voted: 1}
	err := store(l.fsys, l.dir).Save(m.saving)
	if err == nil {
		m.saved = m.saving
	}
	return err
}

// truncate cuts to so many offsets before the end.
func truncate(t testing.TB, back int64) step {
	return func(l *Log, m *model) error {
		to := max(m.end()-back, m.start)
		kept := len(m.batches)
		for kept > 0 && m.batches[kept-1].End > to {
			kept--
		}
		if kept < len(m.batches) {
			m.pending = true
		}
		m.batches = m.batches[:kept]
		m.flushed = min(m.flushed, kept)
		end, err := l.TruncateTo(to)
		if err == nil {
			require.Equal(t, m.end(), end)
		}
		return err
	}
}

// advance moves the start to so many batches before the end.
func advance(t testing.TB, back int) step {
	return func(l *Log, m *model) error {
		offset := m.end()
		if back > 0 && back <= len(m.batches) {
			offset = m.batches[len(m.batches)-back].Base
		}
		if offset > m.start {
			m.starting = offset
		}
		before := l.StartOffset()
		err := l.AdvanceStart(offset, m.epochBefore(offset))
		if err == nil {
			m.start = m.starting
			if l.StartOffset() > before {
				m.written, m.flushed, m.pending = m.batches, len(m.batches), false
			}
		}
		return err
	}
}

// deleteOld removes the segments below the start.
func deleteOld(t testing.TB) step {
	return func(l *Log, m *model) error {
		before := l.Segments()
		n, size, err := l.DeleteOld()
		if err == nil {
			after := l.Segments()
			require.Equal(t, before[n:], after)
			for _, seg := range before[:n] {
				size -= seg.Size
			}
			require.Zero(t, size)
			require.True(t, len(after) == 1 || after[1].Base > m.start)
		}
		return err
	}
}

// reset installs a snapshot that ends so many offsets after the end of the log.
func reset(t testing.TB, gap int64) step {
	return func(l *Log, m *model) error {
		begin := logStart{offset: max(1, m.end()+gap), epoch: m.epoch() + 1, digest: uint64(m.end()) * 77}
		next := &model{begin: begin, start: begin.offset, starting: begin.offset, saved: m.saved, saving: m.saving}
		m.reset = next
		err := l.ResetTo(begin.offset, begin.epoch, begin.digest)
		if err == nil {
			*m = *next
		}
		return err
	}
}

// same is require.Equal for sweeps: it costs nothing where it holds.
func same[T comparable](t testing.TB, want, have T) {
	if want != have {
		t.Helper()
		require.Equal(t, want, have)
	}
}

// check compares every observation with what the model says.
func (m *model) check(t testing.TB, l *Log) {
	require.NoError(t, l.Err())
	same(t, m.end(), l.EndOffset())
	same(t, m.epoch(), l.LastEpoch())
	same(t, true, endOf(m.batches[:m.flushed]) <= l.FlushedEnd())
	same(t, true, l.FlushedEnd() <= l.EndOffset())
	same(t, m.start, l.StartOffset())
	same(t, m.epochBefore(m.start), l.StartEpoch())
	digest := m.begin.digest
	for _, b := range m.batches {
		have, ok := l.DigestAt(b.Base)
		same(t, b.Base >= m.start, ok)
		same(t, b.Base >= m.start, l.IsBoundary(b.Base))
		if ok {
			same(t, digest, have)
		}
		_, ok = l.DigestAt(b.Base + 1)
		same(t, b.End == b.Base+1 && b.End >= m.start, ok)
		digest = chain(digest, b.Bytes)
		epoch, ok := l.EpochOf(b.End - 1)
		same(t, b.End >= m.start, ok)
		if ok {
			same(t, b.Epoch, epoch)
		}
	}
	same(t, digest, l.Digest())
	require.Equal(t, m.epochs(), l.Epochs())
	for epoch := int32(0); epoch <= m.epoch()+1; epoch++ {
		same(t, m.endOffsetForEpoch(epoch), l.EndOffsetForEpoch(epoch))
	}
	m.checkReads(t, l)
}

// epochs is where each epoch starts.
func (m *model) epochs() (epochs []EpochStart) {
	if m.start > 0 {
		epochs = append(epochs, EpochStart{m.epochBefore(m.start), m.start})
	}
	for i, b := range m.batches {
		if i > 0 && b.Epoch == m.batches[i-1].Epoch || b.Base < m.start {
			continue
		}
		if n := len(epochs); n > 0 && epochs[n-1].StartOffset == b.Base {
			epochs = epochs[:n-1]
		}
		if n := len(epochs); n == 0 || epochs[n-1].Epoch < b.Epoch {
			epochs = append(epochs, EpochStart{b.Epoch, b.Base})
		}
	}
	return epochs
}

func (m *model) endOffsetForEpoch(epoch int32) event.EpochEnd {
	if m.start > 0 && epoch < m.epochs()[0].Epoch {
		return event.EpochEnd{Epoch: epoch, EndOffset: m.start}
	}
	e := event.EpochEnd{Epoch: m.epoch(), EndOffset: m.end()}
	for i := len(m.batches) - 1; i >= 0 && m.batches[i].Epoch > epoch; i-- {
		e = event.EpochEnd{Epoch: epoch, EndOffset: m.batches[i].Base}
		if i > 0 {
			e.Epoch = m.batches[i-1].Epoch
		}
	}
	return e
}

func (m *model) checkReads(t testing.TB, l *Log) {
	var span Span
	var all, want []byte
	if m.start > 0 {
		require.ErrorIs(t, l.Read(&span, m.start-1, 600, m.end()), ErrOffset)
		_, err := l.TruncateTo(m.start - 1)
		require.ErrorIs(t, err, ErrOffset)
	}
	for from := m.start; from < m.end(); from = span.End {
		same(t, nil, l.Read(&span, from, 600, m.end()))
		same(t, from, span.Base)
		same(t, true, span.End > from)
		all = append(all, span.Bytes...)
	}
	for _, b := range m.batches {
		if b.Base < m.start {
			continue
		}
		want = append(want, b.Bytes...)
		same(t, nil, l.Read(&span, b.End-1, 0, b.End)) // within the batch: the whole of it
		same(t, true, bytes.Equal(b.Bytes, span.Bytes))
		same(t, [2]int64{b.Base, b.End}, [2]int64{span.Base, span.End})
		same(t, 1, len(span.Runs))
		same(t, true, reflect.DeepEqual(b.AppendRuns(nil), span.Runs))
		same(t, nil, l.Read(&span, b.Base, 1<<20, b.End-1))
		same(t, 0, len(span.Bytes))
	}
	same(t, true, bytes.Equal(want, all))
}

// run opens a log and does the steps until one fails.
func run(t testing.TB, d *fs.Double, cfg Config, steps []step, checked bool) (m model, err error) {
	m.saved, m.saving = noElection, noElection
	l, _, err := Open(d, testDir, cfg)
	if err != nil {
		return m, err
	}
	defer l.Abandon()
	for _, s := range steps {
		if err := s(l, &m); err != nil {
			if errors.Is(err, quorumstate.ErrFailed) {
				return m, err
			}
			// It fails for ever, with the same error.
			require.ErrorIs(t, err, ErrFailed)
			require.Equal(t, err, l.Flush())
			for _, n := range []int{1, 1900} { // the second one rolls
				_, again := l.AppendData(99, [][]byte{make([]byte, n)}, 0)
				require.Equal(t, err, again)
			}
			_, again := l.TruncateTo(0)
			require.Equal(t, err, again)
			require.Equal(t, err, l.AdvanceStart(1, 1))
			require.Equal(t, err, l.ResetTo(1, 1, 1))
			_, _, again = l.DeleteOld()
			require.Equal(t, err, again)
			require.Equal(t, err, l.Read(&Span{}, 0, 1, 1))
			return m, err
		}
		if checked {
			m.check(t, l)
		}
	}
	return m, nil
}

// recover opens a log after a crash and says which of the model's batches it
// found: all that were flushed, and of the others some, in order.
func (m *model) recover(t testing.TB, d *fs.Double, cfg Config) (*Log, model) {
	l, found, err := Open(d, testDir, cfg)
	require.NoError(t, err)
	require.Equal(t, l.EndOffset(), found.End)
	if r := m.reset; r != nil && l.StartOffset() == r.start && l.Digest() == r.begin.digest {
		r.check(t, l)
		return l, *r
	}
	require.Contains(t, []int64{m.start, m.starting}, l.StartOffset())
	n := 0
	for n < len(m.written) && m.written[n].End <= found.End {
		n++
	}
	require.GreaterOrEqual(t, n, m.flushed, "lost a flushed batch: %+v", found)
	after := model{batches: m.written[:n], written: m.written[:n], flushed: n, begin: m.begin, start: l.StartOffset(), starting: l.StartOffset()}
	require.LessOrEqual(t, after.start, after.end())
	after.check(t, l)
	after.saved, _, err = store(d, testDir).Load()
	require.NoError(t, err)
	require.Contains(t, []quorumstate.Election{m.saved, m.saving}, after.saved)
	after.saving = after.saved
	return l, after
}

// randomScript is a list of steps that depends only on the seed.
func randomScript(t testing.TB, seed uint64, n int) (steps []step) {
	r := rand.New(rand.NewPCG(seed, 1))
	epoch := int32(1)
	size := func() int { return []int{1, 20, 200, 470, 520, 1100}[r.IntN(6)] }
	for range n {
		switch r.IntN(13) {
		case 11:
			steps = append(steps, advance(t, r.IntN(8)), deleteOld(t))
		case 12:
			if r.IntN(3) > 0 {
				steps = append(steps, advance(t, r.IntN(3)))
				continue
			}
			steps = append(steps, reset(t, int64(r.IntN(12)-6)))
			epoch += 2
		case 10:
			steps = append(steps, save)
		case 0:
			epoch++
			steps = append(steps, change(t, epoch))
		case 1, 2:
			steps = append(steps, data(t, epoch, size()))
		case 3:
			steps = append(steps, data(t, epoch, size(), size()))
		case 4, 5:
			steps = append(steps, fetched(t, epoch, size(), size(), size()))
		case 6:
			steps = append(steps, truncate(t, int64(r.IntN(6))))
		case 7:
			steps = append(steps, truncate(t, int64(r.IntN(3))), flush)
		default:
			steps = append(steps, flush)
		}
	}
	return steps
}

var testConfigs = []Config{
	{SegmentBytes: 2000, RecoveryPointBytes: 1, IndexIntervalBytes: 300},
	{SegmentBytes: 2000, IndexIntervalBytes: 1},
	{SegmentBytes: 1 << 20, RecoveryPointBytes: 1500},
}

func TestModel(t *testing.T) {
	for seed := range uint64(40) {
		d := fs.NewDouble()
		cfg := testConfigs[seed%3]
		m, err := run(t, d, cfg, randomScript(t, seed, 60), true)
		require.NoError(t, err)
		l, _, err := Open(d, testDir, cfg)
		require.NoError(t, err)
		m.check(t, l)
		require.NoError(t, l.Abandon())
	}
}

// TestOS runs a script on a real disk and on the double, and compares the files.
func TestOS(t *testing.T) {
	real := t.TempDir()
	double := fs.NewDouble()
	var m [2]model
	for i, c := range []struct {
		fsys fs.FS
		dir  string
	}{{fs.OS{}, real + "/" + testDir}, {double, testDir}} {
		l, _, err := Open(c.fsys, c.dir, testConfigs[0])
		require.NoError(t, err)
		for _, s := range randomScript(t, 7, 100) {
			require.NoError(t, s(l, &m[i]))
		}
		m[i].check(t, l)
		require.NoError(t, l.Close())
		require.ErrorIs(t, l.Flush(), ErrClosed)
		l, _, err = Open(c.fsys, c.dir, testConfigs[0])
		require.NoError(t, err)
		m[i].check(t, l)
		require.NoError(t, l.Close())
	}
	a, err := files(fs.OS{}, real+"/"+testDir)
	require.NoError(t, err)
	b, err := files(double, testDir)
	require.NoError(t, err)
	require.Equal(t, b, a)
}

// files returns the content of all files in a directory.
func files(fsys fs.FS, dir string) (map[string]string, error) {
	names, err := fsys.List(dir)
	all := map[string]string{}
	for _, name := range names {
		b, err2 := fs.ReadFile(fsys, dir+"/"+name)
		all[name], err = string(b), errors.Join(err, err2)
	}
	return all, err
}
