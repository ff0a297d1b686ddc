package journal_test

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/registry/journal"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
)

func alone(t *testing.T, dir string) *journal.KRaft {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	k, err := journal.OpenKRaft(node.Config{
		ID: 1, Dir: dir, ClusterID: "j", Listener: l, Voters: []node.Voter{{ID: 1, Addr: l.Addr().String()}},
		Core: core.Config{ElectionTimeout: 50, FetchTimeout: 200},
	}, nil)
	require.NoError(t, err)
	t.Cleanup(k.Kill)
	return k
}

// What a registry needs of a journal, of each kind.
func TestJournals(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(t, err)
	t.Cleanup(c.Close)
	kafka, err := journal.OpenKafka(ctx, journal.KafkaConfig{Brokers: c.ListenAddrs(), Topic: "t", Checkpoints: "c", Replication: 1})
	require.NoError(t, err)
	for name, j := range map[string]journal.Journal{
		"memory": journal.NewMemory("m"), "kraft": alone(t, filepath.Join(t.TempDir(), "k")), "kafka": kafka,
	} {
		t.Run(name, func(t *testing.T) {
			id, err := j.ID(ctx)
			require.NoError(t, err)
			require.NotEmpty(t, id)
			var offsets []int64
			for i := range 20 {
				o, err := j.Append(ctx, []byte(fmt.Sprint(i)))
				require.NoError(t, err)
				offsets = append(offsets, o)
				require.NoError(t, j.AddCheckpoint(ctx, []byte(fmt.Sprint("c", i))))
			}
			read := func(from int64) (values []string, at []int64) {
				b, err := j.Bounds(ctx)
				require.NoError(t, err)
				for from < b.End {
					records, next, err := j.Read(ctx, from)
					require.NoError(t, err)
					require.Greater(t, next, from)
					for _, r := range records {
						values, at = append(values, string(r.Value)), append(at, r.Offset)
						epoch, err := j.EpochAt(ctx, r.Offset)
						require.NoError(t, err)
						require.Equal(t, r.Epoch, epoch)
					}
					from = next
				}
				return values, at
			}
			values, at := read(0)
			require.Len(t, values, 20)
			require.Equal(t, offsets, at)
			_, at = read(offsets[7])
			require.Equal(t, offsets[7:], at, "from exactly there")
			list, err := j.Checkpoints(ctx)
			require.NoError(t, err)
			require.Len(t, list, 20)
			require.Equal(t, "c19", string(list[19]))

			b, err := j.Bounds(ctx)
			require.NoError(t, err)
			_, err = j.EpochAt(ctx, b.End)
			require.ErrorIs(t, err, journal.ErrNoEpoch)
			start, err := j.TrimTo(ctx, offsets[10])
			require.NoError(t, err)
			require.LessOrEqual(t, start, offsets[10])
			require.Greater(t, start, offsets[8])
			var hole *journal.HoleError
			_, _, err = j.Read(ctx, offsets[3])
			require.ErrorAs(t, err, &hole)
			require.Equal(t, start, hole.Bounds.Start)
			_, at = read(start)
			require.Equal(t, offsets[10:], at)

			// A reader waits for what comes.
			b, err = j.Bounds(ctx)
			require.NoError(t, err)
			got := make(chan []journal.Record)
			go func() {
				for next := b.End; ; {
					records, n, err := j.Read(ctx, next)
					if err != nil || len(records) > 0 {
						got <- records
						return
					}
					next = n
				}
			}()
			_, err = j.Append(ctx, []byte("late"))
			require.NoError(t, err)
			require.Equal(t, "late", string((<-got)[0].Value))
			require.NoError(t, j.Close())
			_, err = j.Append(ctx, []byte("x"))
			require.Error(t, err)
		})
	}
}

// The identity, the list and the start of an embedded journal are there after a crash.
func TestKRaftRestart(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir := filepath.Join(t.TempDir(), "k")
	k := alone(t, dir)
	id, err := k.ID(ctx)
	require.NoError(t, err)
	var last int64
	for i := range 10 {
		last, err = k.Append(ctx, []byte(fmt.Sprint(i)))
		require.NoError(t, err)
		require.NoError(t, k.AddCheckpoint(ctx, []byte(fmt.Sprint(i))))
	}
	start, err := k.TrimTo(ctx, last)
	require.NoError(t, err)
	k.Kill()
	k = alone(t, dir)
	again, err := k.ID(ctx)
	require.NoError(t, err)
	require.Equal(t, id, again)
	b, err := k.Bounds(ctx)
	require.NoError(t, err)
	require.Equal(t, start, b.Start)
	list, err := k.Checkpoints(ctx)
	require.NoError(t, err)
	require.Len(t, list, 1, "the others were before the start")
	_, err = k.EpochAt(ctx, start-1)
	require.NoError(t, err, "of the record before the start too")
}
