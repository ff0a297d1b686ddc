package log

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/fs/crashtest"
	"github.com/stretchr/testify/require"
)

// open is a log that is used, and what it must be.
type used struct {
	l *Log
	model
}

type steps func(t testing.TB) []step

// crashCase opens a log, does before, and is about do. Nothing of do is flushed on the
// way but by the log.
func crashCase(name string, cfg Config, before, do steps) crashtest.Case[used] {
	return crashtest.Case[used]{
		Name: name,
		Before: func(t testing.TB, d *fs.Double) (used, error) {
			u := used{model: model{saved: noElection, saving: noElection}}
			if before == nil { // not even the directory
				return u, nil
			}
			var err error
			if u.l, _, err = Open(d, testDir, cfg); err != nil {
				return u, err
			}
			return u.all(t, before(t))
		},
		Do: func(t testing.TB, d *fs.Double, u used) (used, error) {
			if u.l == nil {
				var err error
				if u.l, _, err = Open(d, testDir, cfg); err != nil {
					return u, err
				}
			}
			return u.all(t, do(t))
		},
		Recover: func(t testing.TB, d *fs.Double, u used) (used, error) {
			l, after := u.model.recover(t, d, cfg)
			checkDerived(t, l)
			return used{model: after}, l.Abandon()
		},
		Live: func(t testing.TB, d *fs.Double, u used) error {
			l, _, err := Open(d, testDir, cfg)
			if err != nil {
				return err
			}
			e := max(u.epoch(), 1)
			u.l = l
			u, err = u.all(t, []step{data(t, e, 30), change(t, e+1), flush, truncate(t, 1), flush, data(t, e+2, 300), flush, advance(t, 1), deleteOld(t)})
			if err != nil {
				return err
			}
			checkIndexes(t, d, int(cfg.withDefaults().IndexIntervalBytes), false)
			u.check(t, l)
			_, _ = u.model.recover(t, d.Crash(fs.KeepNone), cfg)
			return l.Abandon()
		},
		Key: func(u used) string { return u.key() },
	}
}

func (u used) all(t testing.TB, list []step) (used, error) {
	for _, s := range list {
		if err := s(u.l, &u.model); err != nil {
			return u, err
		}
		checkDerived(t, u.l)
	}
	return u, nil
}

// checkDerived: when all of a log is flushed, so is what the files say that follow from
// it, and they say so.
func checkDerived(t testing.TB, l *Log) {
	if l.FlushedEnd() != l.EndOffset() || l.truncated || errors.Is(l.Err(), ErrClosed) {
		return
	}
	disk := l.fsys.(*fs.Double).Crash(fs.KeepNone)
	checkpoint, err := fs.ReadFile(disk, testDir+"/"+epochFile)
	if len(l.Epochs()) > 0 || !errors.Is(err, fs.ErrNotExist) { // a new log has none yet
		require.NoError(t, err)
		require.Equal(t, string(renderEpochs(l.Epochs())), string(checkpoint))
	}
	point, err := fs.ReadFile(disk, testDir+"/"+pointFile)
	require.NoError(t, err)
	offset, ok := parsePoint(point)
	require.True(t, ok, "%q", point)
	require.LessOrEqual(t, offset, l.EndOffset())
	if l.cfg.RecoveryPointBytes == 1 {
		require.Equal(t, l.EndOffset(), offset)
	}
}

// key tells which outcomes a model allows.
func (m *model) key() string {
	digest := m.begin.digest
	for _, b := range m.written {
		digest = chain(digest, b.Bytes)
	}
	k := fmt.Sprint(m.begin, m.start, m.starting, m.flushed, len(m.written), digest, m.saved, m.saving)
	if m.reset != nil {
		k += " or " + m.reset.key()
	}
	return k
}

func closeLog(l *Log, m *model) error {
	if err := l.Close(); err != nil {
		return err
	}
	m.written, m.flushed, m.pending = m.batches, len(m.batches), false
	point, err := fs.ReadFile(l.fsys.(*fs.Double).Crash(fs.KeepNone), l.point.name)
	if err == nil && string(point) != string(renderPoint(l.end)) {
		err = fmt.Errorf("recovery point %q of a log closed at %d", point, l.end)
	}
	return err
}

func list(s ...func(t testing.TB) step) steps {
	return func(t testing.TB) (all []step) {
		for _, f := range s {
			all = append(all, f(t))
		}
		return all
	}
}

// Steps by their arguments, for a testing.TB that comes later.
func tData(epoch int32, sizes ...int) func(testing.TB) step {
	return func(t testing.TB) step { return data(t, epoch, sizes...) }
}
func tFetched(epoch int32, sizes ...int) func(testing.TB) step {
	return func(t testing.TB) step { return fetched(t, epoch, sizes...) }
}
func tChange(epoch int32) func(testing.TB) step {
	return func(t testing.TB) step { return change(t, epoch) }
}
func tTruncate(back int64) func(testing.TB) step {
	return func(t testing.TB) step { return truncate(t, back) }
}
func tAdvance(back int) func(testing.TB) step {
	return func(t testing.TB) step { return advance(t, back) }
}
func tReset(gap int64) func(testing.TB) step {
	return func(t testing.TB) step { return reset(t, gap) }
}
func tFlush(testing.TB) step    { return flush }
func tSave(testing.TB) step     { return save }
func tClose(testing.TB) step    { return closeLog }
func tDelete(t testing.TB) step { return deleteOld(t) }

// Of two segments that go away whole, a crash leaves each file under either name or not
// at all: thousands of disks, and half a minute for each case. One segment is always
// tried.
var segments = flag.Bool("segments", false, "also crash the removal of two segments at once")

// crashCases have each operation of a log with what it can meet: within a segment and
// over several, with all before it flushed and with some of it not. The deep ones are for
// runs that are not short.
func crashCases(deep bool) (all []crashtest.Case[used]) {
	exact := Config{SegmentBytes: 2000, RecoveryPointBytes: 1, IndexIntervalBytes: 300}
	rare := Config{SegmentBytes: 2000, IndexIntervalBytes: 300} // recovery points are rare
	one := list(tChange(1), tData(1, 100), tFlush)
	two := list(tChange(1), tData(1, 700), tData(1, 900), tFlush, tData(1, 900), tFlush)
	three := list(tChange(1), tData(1, 900), tData(1, 900), tFlush, tData(1, 900), tData(1, 900), tChange(2), tFlush, tData(2, 900), tData(2, 900), tFlush)
	for _, c := range []struct {
		name       string
		deep       bool
		before, do steps
	}{
		{"open a new log", false, nil, list()},
		{"append", false, one, list(tData(1, 20), tData(1, 700), tFlush)},
		{"append an epoch", false, one, list(tData(1, 20), tChange(2), tData(2, 20), tFlush, tData(2, 9), tFlush)},
		{"append what was fetched", false, one, list(tFetched(1, 300, 20, 300), tFlush)},
		{"roll", false, list(tChange(1), tData(1, 900), tFlush), list(tData(1, 900), tFlush, tData(1, 30), tFlush)},
		{"roll before a flush", false, list(tChange(1), tData(1, 1400), tFlush), list(tData(1, 200), tData(1, 600), tFlush)},
		{"roll twice before a flush", true, list(tChange(1), tData(1, 1400), tFlush), list(tData(1, 200), tData(1, 500), tData(1, 30), tFlush)},
		{"truncate", false, list(tChange(1), tData(1, 100), tData(1, 600), tData(1, 30), tFlush), list(tTruncate(2), tFlush, tData(1, 40), tFlush)},
		{"truncate what is not flushed", false, one, list(tData(1, 400), tData(1, 30), tTruncate(2), tFlush, tData(1, 500), tFlush)},
		{"truncate epochs", false, list(tChange(1), tData(1, 100), tFlush, tChange(2), tChange(3), tFlush), list(tTruncate(2), tFlush, tChange(4), tFlush)},
		{"truncate segments", false, three, list(tTruncate(5), tFlush, tChange(4), tFlush)},
		{"truncate to the start", false, one, list(tTruncate(2), tFlush, tChange(2), tFlush)},
		{"advance the start", false, list(tChange(1), tData(1, 100), tChange(2), tData(2, 100), tFlush), list(tAdvance(2), tData(2, 20), tFlush, tAdvance(0))},
		{"advance over what is not flushed", false, one, list(tChange(2), tData(2, 400), tAdvance(1), tAdvance(0))},
		{"advance after a truncation", false, list(tChange(1), tData(1, 100), tData(1, 100), tFlush), list(tTruncate(1), tAdvance(0), tChange(2), tFlush)},
		{"delete a segment", false, two, list(tAdvance(1), tDelete)},
		{"delete segments", true, three, list(tAdvance(3), tDelete)},
		{"reset ahead", false, one, list(tReset(5), tData(2, 40), tFlush)},
		{"reset back", false, one, list(tReset(-1), tChange(3), tFlush)},
		{"reset segments", true, two, list(tReset(-2), tChange(3), tFlush)},
		{"reset with a tail", false, one, list(tData(1, 400), tReset(2), tData(2, 20), tFlush)},
		{"reset twice", false, list(tChange(1), tFlush), list(tReset(4), tReset(2), tData(3, 20), tFlush)},
		{"quorum state", false, list(tSave, tChange(1), tFlush), list(tSave, tData(1, 50), tSave, tFlush)},
		{"close", false, list(tChange(1), tData(1, 900), tFlush), list(tData(1, 400), tClose)},
	} {
		if !c.deep || deep && (!strings.HasSuffix(c.name, " segments") || *segments) {
			all = append(all, crashCase(c.name, exact, c.before, c.do))
		}
		if !c.deep && (deep || c.name == "close") {
			all = append(all, crashCase(c.name+", rare recovery points", rare, c.before, c.do))
		}
	}
	return append(all,
		foreignCase("go on after Kafka", exact, list(tChange(3), tFlush)),
		foreignCase("go on after Kafka and reset", exact, list(tReset(3), tChange(4), tFlush)),
		foreignCase("go on after Kafka and advance", exact, list(tAdvance(0), tChange(4), tFlush)))
}

// foreignCase opens a log that Kafka has cut since it was used here, below the recovery
// point.
func foreignCase(name string, cfg Config, do steps) crashtest.Case[used] {
	c := crashCase(name, cfg, list(tChange(1), tData(1, 100), tChange(2), tAdvance(2), tFlush), do)
	before := c.Before
	c.Before = func(t testing.TB, d *fs.Double) (used, error) {
		u, err := before(t, d)
		if err != nil {
			return u, err
		}
		require.NoError(t, u.l.Abandon())
		u.l = nil
		u.batches = u.batches[:2]
		u.written, u.flushed = u.batches, 2
		f, err := d.Open(testDir + "/" + segmentName(0))
		require.NoError(t, err)
		require.NoError(t, f.Truncate(int64(len(u.batches[0].Bytes)+len(u.batches[1].Bytes))))
		require.NoError(t, fs.WriteFile(d, testDir+"/"+epochFile, []byte("0\n1\n1 1\n")))
		_, err = d.Create(testDir + "/00000000000000000002" + producerSuffix)
		return u, err
	}
	return c
}

// TestEveryCrash: no crash at any operation, of any of them, loses what was flushed,
// leaves a gap, or a log that does not open.
func TestEveryCrash(t *testing.T) { crashtest.Sweep(t, crashCases(!testing.Short())) }

// TestEveryFlush: each of the flushes is needed for that.
func TestEveryFlush(t *testing.T) {
	crashtest.Flushes(t, crashCases(false), map[string]string{
		"syncdir fs.WriteFile < log.(*Log).openMetadata < log.(*Log).open":           "the directory is flushed again before Open returns",
		"syncdir fs.WriteFile < log.(*Log).writeDerived < log.(*Log).finishReset #1": "of leader-epoch-checkpoint: the recovery point follows, and flushes the directory too",
		"syncdir quorumstate.(*Store).Load":                                          "the log, opened before, has flushed the directory; see impl/quorumstate",
	})
}

// TestEveryFailure: what fails is said, by operation and file, and nothing is lost.
func TestEveryFailure(t *testing.T) { crashtest.Failures(t, crashCases(false)) }
