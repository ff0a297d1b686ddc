package registry_test

import (
	"sync/atomic"

	"github.com/quorate/quorate/impl/registry"
	"github.com/quorate/quorate/impl/registry/checkpoint"
	"github.com/quorate/quorate/impl/registry/journal"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func init() {
	scenarios[12] = retentionByTime
	scenarios[26] = brokerFaults
}

// kafka has the world's journal be a topic of a cluster of three brokers.
func (w *world) kafka() *kfake.Cluster {
	w.t.Helper()
	c, err := kfake.NewCluster(kfake.NumBrokers(3))
	require.NoError(w.t, err)
	w.t.Cleanup(c.Close)
	w.journal = w.open(c)
	return c
}

func (w *world) open(c *kfake.Cluster) *journal.Kafka {
	w.t.Helper()
	k, err := journal.OpenKafka(w.ctx, journal.KafkaConfig{Brokers: c.ListenAddrs(), Topic: "journal", Checkpoints: "checkpoints", Replication: 3})
	require.NoError(w.t, err)
	w.t.Cleanup(func() { k.Close() })
	return k
}

// each gives an instance a journal of its own, as another process has.
func (w *world) each(c *kfake.Cluster) func(*registry.Config) {
	return func(cfg *registry.Config) { cfg.Journal = w.open(c) }
}

// 12: brokers delete by time: a registry does not start on such a topic, unless it is told
// to; and then it notices when something is gone.
func retentionByTime(w *world) {
	c, err := kfake.NewCluster(kfake.NumBrokers(1))
	require.NoError(w.t, err)
	w.t.Cleanup(c.Close)
	client, err := kgo.NewClient(kgo.SeedBrokers(c.ListenAddrs()...))
	require.NoError(w.t, err)
	w.t.Cleanup(client.Close)
	value := "1000"
	_, err = kadm.NewClient(client).CreateTopic(w.ctx, 1, 1, map[string]*string{"retention.ms": &value}, "journal")
	require.NoError(w.t, err)
	cfg := journal.KafkaConfig{Brokers: c.ListenAddrs(), Topic: "journal", Checkpoints: "checkpoints", Replication: 1}
	_, err = journal.OpenKafka(w.ctx, cfg)
	var refused *journal.RetentionError
	require.ErrorAs(w.t, err, &refused)
	require.Equal(w.t, journal.RetentionError{Topic: "journal", Key: "retention.ms", Value: "1000", Want: "-1"}, *refused)

	cfg.AllowRetention = true
	k, err := journal.OpenKafka(w.ctx, cfg)
	require.NoError(w.t, err)
	w.t.Cleanup(func() { k.Close() })
	w.journal = k
	a := w.start("")
	a.fill("a", 10)
	a.stop()
	_, err = k.TrimTo(w.ctx, 5) // as time would
	require.NoError(w.t, err)
	var missing *checkpoint.MissingError
	require.ErrorAs(w.t, w.refused(), &missing)
}

// 26: brokers that do what they are asked and say that they did not, and leaders that
// move: every write and every checkpoint is there once.
func brokerFaults(w *world) {
	c := w.kafka()
	var moves atomic.Int32
	a := w.start("", func(cfg *registry.Config) {
		cfg.Hook = func(point string) error {
			if point == "before-commit" {
				return c.MoveTopicPartition("checkpoints", 0, moves.Add(1)%3)
			}
			return nil
		}
	})
	a.fill("a", 10)
	for i, fault := range []*kerr.Error{kerr.NotEnoughReplicasAfterAppend, kerr.RequestTimedOut, kerr.NotLeaderForPartition} {
		c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "journal", Err: fault})
		require.Equal(w.t, 1, a.write(reg(fault.Message, "x"+fault.Message)).Version)
		require.NoError(w.t, c.MoveTopicPartition("journal", 0, int32(i)))
		require.Equal(w.t, 2, a.write(reg(fault.Message, "y"+fault.Message)).Version)
		c.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: "checkpoints", Err: fault})
		made := a.checkpoint()
		list, err := a.Checkpoints(w.ctx)
		require.NoError(w.t, err)
		require.Len(w.t, list, i+1)
		require.Equal(w.t, made.ID, list[i].ID)
	}
	want := a.digest()
	b := w.start("", w.each(c))
	require.NotNil(w.t, b.Began().From)
	require.Equal(w.t, want, b.digest())
	trimmed, err := a.Trim(w.ctx, false)
	require.NoError(w.t, err)
	require.Positive(w.t, trimmed.To)
	d := w.start("", w.each(c))
	require.Equal(w.t, want, d.digest())
	require.Less(w.t, d.Replayed(), int64(10))
}
