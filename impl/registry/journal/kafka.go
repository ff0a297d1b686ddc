package journal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

// KafkaConfig says which topics of which cluster are the journal.
type KafkaConfig struct {
	Brokers []string
	// Topic of the journal, Checkpoints of the list. They are made if they are missing,
	// with one partition, and as CheckTopic wants them.
	Topic, Checkpoints string
	// Replication factor of topics that are made; -1: the cluster's default.
	Replication int16
	// AllowRetention: a journal from which the brokers delete records by time or size is
	// taken all the same.
	AllowRetention bool
	// Options for all clients, of TLS and the like.
	Options []kgo.Opt
}

// Kafka is a journal that is a topic of a Kafka cluster.
type Kafka struct {
	cfg   KafkaConfig
	id    string
	admin *kadm.Client
	write *kgo.Client

	mu     sync.Mutex
	reader *kgo.Client // of Read
	next   int64       // where it stands
	closed bool
}

// RetentionError: brokers would delete records that no checkpoint may cover.
type RetentionError struct{ Topic, Key, Value, Want string }

// Error implements error.
func (e *RetentionError) Error() string {
	return fmt.Sprintf("topic %s has %s=%s, and must have %s: records would be lost that no checkpoint covers", e.Topic, e.Key, e.Value, e.Want)
}

// wanted are the settings that a topic must have.
var wanted = []struct{ key, value string }{
	{"cleanup.policy", "delete"}, {"retention.ms", "-1"}, {"retention.bytes", "-1"},
}

// OpenKafka opens a journal, or makes one. Errors: *RetentionError.
func OpenKafka(ctx context.Context, cfg KafkaConfig) (*Kafka, error) {
	options := append([]kgo.Opt{kgo.SeedBrokers(cfg.Brokers...), kgo.ClientID("registry")}, cfg.Options...)
	// Acks of all and the idempotent producer are the client's default: a retry whose
	// first try was heard is no second record. Partitions are given, not chosen.
	write, err := kgo.NewClient(append(options, kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0), kgo.UnknownTopicRetries(2),
		kgo.ProducerBatchCompression(kgo.ZstdCompression(), kgo.NoCompression()))...)
	if err != nil {
		return nil, err
	}
	k := &Kafka{cfg: cfg, admin: kadm.NewClient(write), write: write}
	if err := k.open(ctx); err != nil {
		write.Close()
		return nil, err
	}
	return k, nil
}

func (k *Kafka) open(ctx context.Context) error {
	settings := map[string]*string{}
	for _, w := range wanted {
		settings[w.key] = &w.value
	}
	for _, topic := range []string{k.cfg.Topic, k.cfg.Checkpoints} {
		made, err := k.admin.CreateTopic(ctx, 1, k.cfg.Replication, settings, topic)
		if err != nil && !errors.Is(made.Err, kerr.TopicAlreadyExists) && !errors.Is(err, kerr.TopicAlreadyExists) {
			return fmt.Errorf("make topic %s: %w", topic, err)
		}
	}
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		topics, err := k.admin.ListTopics(ctx, k.cfg.Topic, k.cfg.Checkpoints)
		if err == nil {
			err = topics.Error()
		}
		if err == nil {
			for _, t := range topics {
				if len(t.Partitions) != 1 {
					return fmt.Errorf("topic %s has %d partitions, and must have one: the order between them is not kept", t.Topic, len(t.Partitions))
				}
			}
			k.id = topics[k.cfg.Topic].ID.String()
			break
		}
		if !errors.Is(err, kerr.UnknownTopicOrPartition) || time.Now().After(end) {
			return fmt.Errorf("look up the topics: %w", err)
		}
	}
	if k.cfg.AllowRetention {
		return nil
	}
	return k.checkTopics(ctx)
}

func (k *Kafka) checkTopics(ctx context.Context) error {
	configs, err := k.admin.DescribeTopicConfigs(ctx, k.cfg.Topic, k.cfg.Checkpoints)
	if err != nil {
		return err
	}
	for _, c := range configs {
		if c.Err != nil {
			return fmt.Errorf("configuration of topic %s: %w", c.Name, c.Err)
		}
		for _, w := range wanted {
			i := slices.IndexFunc(c.Configs, func(have kadm.Config) bool { return have.Key == w.key })
			if i >= 0 && c.Configs[i].MaybeValue() != w.value {
				return &RetentionError{c.Name, w.key, c.Configs[i].MaybeValue(), w.value}
			}
		}
	}
	return nil
}

// ID implements [Journal]: the id of the topic, which is another if it was deleted and
// made again.
func (k *Kafka) ID(context.Context) (string, error) { return k.id, nil }

// Bounds implements [Journal].
func (k *Kafka) Bounds(ctx context.Context) (Bounds, error) { return k.boundsOf(ctx, k.cfg.Topic) }

func (k *Kafka) boundsOf(ctx context.Context, topic string) (b Bounds, err error) {
	starts, err := k.admin.ListStartOffsets(ctx, topic)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return b, fmt.Errorf("start of topic %s: %w", topic, err)
	}
	ends, err := k.admin.ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return b, fmt.Errorf("end of topic %s: %w", topic, err)
	}
	s, _ := starts.Lookup(topic, 0)
	e, ok := ends.Lookup(topic, 0)
	if !ok {
		return b, fmt.Errorf("topic %s: no offsets were told", topic)
	}
	return Bounds{s.Offset, e.Offset}, nil
}

// EpochAt implements [Journal].
func (k *Kafka) EpochAt(ctx context.Context, offset int64) (int32, error) {
	b, err := k.Bounds(ctx)
	if err != nil {
		return 0, err
	}
	if offset >= b.End || offset < b.Start {
		// A broker knows the epoch of the record before its log only for a while, and
		// says of no epoch where it began before that. So nothing is claimed; trimming
		// leaves the record that the oldest image ends with.
		return 0, ErrNoEpoch
	}
	c, err := k.consumer(k.cfg.Topic, offset)
	if err != nil {
		return 0, err
	}
	defer c.Close()
	for {
		fetches := c.PollRecords(ctx, 1)
		if err := fetches.Err0(); err != nil {
			return 0, err
		}
		for _, e := range fetches.Errors() {
			return 0, e.Err
		}
		for _, r := range fetches.Records() {
			if r.Offset != offset {
				return 0, ErrNoEpoch
			}
			return r.LeaderEpoch, nil
		}
	}
}

// consumer reads a topic from exactly an offset on, and never from anywhere else.
func (k *Kafka) consumer(topic string, from int64) (*kgo.Client, error) {
	return kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(k.cfg.Brokers...), kgo.ClientID("registry"),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: {0: kgo.NewOffset().At(from)}}),
		kgo.ConsumeResetOffset(kgo.NoResetOffset()),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()),
		kgo.KeepControlRecords(), // they move the position
		kgo.FetchMaxWait(500 * time.Millisecond),
	}, k.cfg.Options...)...)
}

// Append implements [Journal].
func (k *Kafka) Append(ctx context.Context, value []byte) (int64, error) {
	return k.produce(ctx, k.cfg.Topic, value)
}

func (k *Kafka) produce(ctx context.Context, topic string, value []byte) (int64, error) {
	r := &kgo.Record{Topic: topic, Partition: 0, Value: value}
	err := k.write.ProduceSync(ctx, r).FirstErr()
	if err != nil {
		return 0, fmt.Errorf("append to topic %s: %w: %w", topic, ErrUnknown, err)
	}
	return r.Offset, nil
}

// Read implements [Journal].
func (k *Kafka) Read(ctx context.Context, from int64) ([]Record, int64, error) {
	k.mu.Lock()
	if k.closed {
		k.mu.Unlock()
		return nil, from, ErrClosed
	}
	if k.reader == nil || k.next != from {
		if k.reader != nil {
			k.reader.Close()
			k.reader = nil
		}
		k.mu.Unlock()
		// An offset that is not there is silently made the nearest one by the client.
		b, err := k.Bounds(ctx)
		if err != nil {
			return nil, from, err
		}
		if from < b.Start || from > b.End {
			return nil, from, &HoleError{from, b}
		}
		c, err := k.consumer(k.cfg.Topic, from)
		if err != nil {
			return nil, from, err
		}
		k.mu.Lock()
		k.reader, k.next = c, from
	}
	reader := k.reader
	k.mu.Unlock()
	for {
		fetches := reader.PollRecords(ctx, 1000)
		if err := fetches.Err0(); err != nil {
			if errors.Is(err, kgo.ErrClientClosed) {
				err = ErrClosed
			}
			return nil, from, err
		}
		for _, e := range fetches.Errors() {
			var lost *kgo.ErrDataLoss
			if errors.Is(e.Err, kerr.OffsetOutOfRange) || errors.As(e.Err, &lost) {
				b, err := k.Bounds(ctx)
				return nil, from, errors.Join(&HoleError{from, b}, e.Err, err)
			}
			return nil, from, e.Err
		}
		records, next := []Record(nil), from
		for _, r := range fetches.Records() {
			if !r.Attrs.IsControl() {
				records = append(records, Record{r.Offset, r.LeaderEpoch, r.Value})
			}
			next = r.Offset + 1
		}
		if next > from {
			k.mu.Lock()
			k.next = next
			k.mu.Unlock()
			return records, next, nil
		}
	}
}

// TrimTo implements [Journal].
func (k *Kafka) TrimTo(ctx context.Context, offset int64) (int64, error) {
	var o kadm.Offsets
	o.AddOffset(k.cfg.Topic, 0, offset, -1)
	done, err := k.admin.DeleteRecords(ctx, o)
	if err == nil {
		err = done.Error()
	}
	b, e := k.Bounds(ctx)
	return b.Start, errors.Join(err, e)
}

// Checkpoints implements [Journal].
func (k *Kafka) Checkpoints(ctx context.Context) (all [][]byte, err error) {
	b, err := k.boundsOf(ctx, k.cfg.Checkpoints)
	if err != nil || b.Start >= b.End {
		return nil, err
	}
	c, err := k.consumer(k.cfg.Checkpoints, b.Start)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	for {
		// No end but the one that the brokers named: that nothing came means nothing.
		fetches := c.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			return nil, err
		}
		for _, e := range fetches.Errors() {
			return nil, e.Err
		}
		for _, r := range fetches.Records() {
			if !r.Attrs.IsControl() {
				all = append(all, r.Value)
			}
			if r.Offset+1 >= b.End {
				return all, nil
			}
		}
	}
}

// AddCheckpoint implements [Journal].
func (k *Kafka) AddCheckpoint(ctx context.Context, value []byte) error {
	_, err := k.produce(ctx, k.cfg.Checkpoints, value)
	return err
}

// Close implements [Journal].
func (k *Kafka) Close() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return nil
	}
	k.closed = true
	if k.reader != nil {
		k.reader.Close()
	}
	k.write.Close()
	return nil
}
