package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/fs/crashtest"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/stretchr/testify/require"
)

// diskQuorum is a quorum of one: what it has flushed is committed.
type diskQuorum struct {
	l      *log.Log
	c      *Controller
	epoch  int32
	failed error
}

func (q *diskQuorum) ProposeIn(_ context.Context, _ int32, records [][]byte) (int64, error) {
	base := q.l.EndOffset()
	if _, err := q.l.AppendData(q.epoch, records, 1); err != nil {
		return 0, err
	}
	if err := q.l.Flush(); err != nil {
		return 0, err
	}
	return base, q.c.Apply(batchOf(base, records))
}

func batchOf(base int64, records [][]byte) node.Batch {
	b := node.Batch{Base: base, End: base + int64(len(records))}
	for i, r := range records {
		b.Records = append(b.Records, node.Record{Offset: base + int64(i), Value: r})
	}
	return b
}

func (q *diskQuorum) Read(context.Context) (int64, error) { return q.l.EndOffset(), nil }
func (q *diskQuorum) Leader() core.ReplicaID              { return 1 }
func (q *diskQuorum) Fail(err error)                      { q.failed = err }

const logPath = "d/__cluster_metadata-0"

// begun is a controller that has found what is on a disk.
func begun(d *fs.Double) (*diskQuorum, error) {
	legacy, ok, err := metadata.ReadLegacy(d, "d")
	cfg := Config{}
	if ok || err != nil {
		cfg.Legacy = Legacy{Name: legacy.File, Records: legacy.Records, Err: err}
	}
	c := New(cfg)
	l, _, err := log.Open(d, logPath, log.Config{})
	if err != nil {
		return nil, err
	}
	q := &diskQuorum{l: l, c: c, epoch: max(l.LastEpoch(), 0) + 1}
	r, err := snapshot.Open(d, logPath, metadata.ZeroID)
	if err == nil {
		err = c.LoadBootstrap(r)
		r.Close()
	}
	if err != nil && !strings.Contains(err.Error(), fs.ErrNotExist.Error()) {
		return nil, err
	}
	var span log.Span
	for at := int64(0); at < l.EndOffset(); at = span.End {
		if err := l.Read(&span, at, 1<<20, l.EndOffset()); err != nil {
			return nil, err
		}
		it := log.NewBatches(span.Bytes)
		for it.Next() {
			if it.Batch().Control {
				continue
			}
			var records [][]byte
			if err := it.Batch().Records(func(r log.Record) error { records = append(records, slices.Clone(r.Value)); return nil }); err != nil {
				return nil, err
			}
			if err := c.Apply(batchOf(it.Batch().Base, records)); err != nil {
				return nil, err
			}
		}
	}
	return q, nil
}

// lead has it lead, and activate.
func (q *diskQuorum) lead() error {
	if _, err := q.l.AppendLeaderChange(q.epoch, 1, []int32{1}, []int32{1}, 1); err != nil {
		return err
	}
	if err := q.l.Flush(); err != nil {
		return err
	}
	q.c.Use(q)
	q.c.LeaderChange(node.Leadership{Epoch: q.epoch, Leader: 1, Self: true})
	q.c.activeEpoch()
	return q.failed
}

// outcome is what may be found: no bootstrap, or the whole one.
type outcome struct{ none, whole bool }

// found is what a controller has after it has read its log.
func (q *diskQuorum) found(want [][]byte) (outcome, error) {
	if q.c.version() == 0 {
		if len(q.c.features)+len(q.c.other)+len(q.c.state.configs) > 0 || q.c.cluster != "" {
			return outcome{}, fmt.Errorf("a part of a bootstrap counts")
		}
		return outcome{none: true}, nil
	}
	write, err := q.c.state.Snapshot()
	if q.c.transaction != nil {
		return outcome{}, fmt.Errorf("a transaction is open behind a bootstrap")
	}
	var m memory
	if err == nil {
		err = write(&m)
	}
	if err == nil && !slices.Equal(texts(want), texts(m)) {
		err = fmt.Errorf("the bootstrap is %v, found is %v", texts(want), texts(m))
	}
	return outcome{whole: true}, err
}

func activationCases() (all []crashtest.Case[outcome]) {
	for _, version := range []metadata.Version{v12, v13, v35} {
		want := [][]byte{mv(version)}
		if version >= metadata.ClusterIDVersion {
			want = append(want, metadata.AppendClusterID(nil, "X"))
		}
		want = append(want, credential("a"), credential("b"))
		written := want
		if version >= metadata.TransactionVersion {
			written = slices.Concat([][]byte{begin}, want, [][]byte{end})
		}
		for _, legacy := range []bool{false, true} {
			for before := 0; before < len(written); before++ { // records that a leader before has committed
				if version < metadata.TransactionVersion && before > 0 {
					break // they are one batch
				}
				all = append(all, activationCase(version, legacy, want, written[:before]))
			}
		}
	}
	return all
}

func activationCase(version metadata.Version, legacy bool, want, before [][]byte) crashtest.Case[outcome] {
	from := map[bool]string{true: "bootstrap.checkpoint", false: "the zero checkpoint"}[legacy]
	return crashtest.Case[outcome]{
		Name: fmt.Sprintf("%s from %s after %d records", version, from, len(before)),
		Before: func(t testing.TB, d *fs.Double) (outcome, error) {
			require.NoError(t, d.Mkdir("d"))
			require.NoError(t, d.Mkdir(logPath))
			w, err := snapshot.Create(d, logPath, metadata.ZeroID, 1)
			require.NoError(t, err)
			require.NoError(t, w.Append(want))
			require.NoError(t, w.Freeze())
			if legacy {
				b, err := fs.ReadFile(d, logPath+"/"+metadata.ZeroID.FileName())
				require.NoError(t, err)
				require.NoError(t, d.Remove(logPath+"/"+metadata.ZeroID.FileName()))
				require.NoError(t, fs.WriteFile(d, "d/"+metadata.LegacyFile, b))
			}
			if len(before) > 0 {
				l, _, err := log.Open(d, logPath, log.Config{})
				require.NoError(t, err)
				_, err = l.AppendLeaderChange(1, 1, []int32{1}, []int32{1}, 1)
				require.NoError(t, err)
				_, err = l.AppendData(1, before, 1)
				require.NoError(t, err)
				require.NoError(t, l.Close())
			}
			return outcome{none: true}, nil
		},
		Do: func(t testing.TB, d *fs.Double, s outcome) (outcome, error) {
			either := outcome{none: true, whole: true}
			q, err := begun(d)
			if err != nil {
				return s, err
			}
			if version >= metadata.TransactionVersion {
				q.c.chunk = 2 // so that there are several
			}
			if err := q.lead(); err != nil {
				return either, err
			}
			return outcome{whole: true}, q.l.Abandon()
		},
		Recover: func(t testing.TB, d *fs.Double, s outcome) (outcome, error) {
			q, err := begun(d)
			if err != nil {
				return s, err
			}
			o, err := q.found(want)
			if err == nil && (o.none && !s.none || o.whole && !s.whole) {
				err = fmt.Errorf("found %+v, allowed is %+v", o, s)
			}
			if err != nil {
				return o, err
			}
			return o, q.l.Abandon()
		},
		Live: func(t testing.TB, d *fs.Double, s outcome) error {
			q, err := begun(d)
			require.NoError(t, err)
			end := q.l.EndOffset()
			require.NoError(t, q.lead())
			if s.whole {
				require.Equal(t, end+1, q.l.EndOffset(), "nothing is written again")
			}
			again, err := begun(d.Crash(fs.KeepNone))
			require.NoError(t, err)
			o, err := again.found(want)
			require.True(t, o.whole)
			return err
		},
		Key: func(s outcome) string { return fmt.Sprintf("%+v", s) },
	}
}

// TestEveryCrash: whatever operation of an activation is the last one of its process, with
// nothing, a part or all of what was not flushed on the disk, there is no bootstrap or the
// whole one afterwards, the whole one if the controller was active, and the next start
// makes up for what is missing, once.
func TestEveryCrash(t *testing.T) { crashtest.Sweep(t, activationCases()) }
