package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// quorum commits at once, and gives what is committed to a controller.
type quorum struct {
	mu      sync.Mutex
	c       *Controller
	epoch   int32
	records [][]byte
	batches int
	reads   int
	err     error
	failed  error         // what the node was told to end with
	wait    chan struct{} // not nil: what is proposed waits for it
	begun   chan struct{}
}

func (q *quorum) ProposeIn(_ context.Context, epoch int32, records [][]byte) (int64, error) {
	if q.wait != nil {
		q.begun <- struct{}{}
		<-q.wait
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.err != nil:
		return 0, q.err
	case epoch != q.epoch:
		return 0, node.ErrNotLeader
	case len(records) > 1000:
		return 0, node.ErrTooLarge
	}
	base := int64(len(q.records))
	b := node.Batch{Base: base, End: base + int64(len(records)), Epoch: epoch}
	for i, r := range records {
		b.Records = append(b.Records, node.Record{Offset: base + int64(i), Value: slices.Clone(r)})
	}
	q.records = append(q.records, records...)
	q.batches++
	return base, q.c.Apply(b)
}

func (q *quorum) Read(context.Context) (int64, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.reads++
	return int64(len(q.records)), q.err
}

func (q *quorum) Leader() core.ReplicaID { return 2 }

func (q *quorum) Fail(err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.failed = err
}

func newController() (*Controller, *quorum) {
	c := New(Config{ClusterID: "cluster", Nodes: []node.Voter{{ID: 1, Addr: "n1:9091"}, {ID: 2, Addr: "n2:9092"}}})
	q := &quorum{c: c, epoch: 3}
	c.Use(q)
	c.LeaderChange(node.Leadership{Epoch: 3, Leader: 2, Self: true})
	c.activeEpoch() // the bootstrap is written
	q.batches = 0
	return c, q
}

// op is a text such as "topic foo retention.ms = 5"; the operators are = + - and x, which
// deletes.
func operation(text string) (r kmsg.IncrementalAlterConfigsRequestResource) {
	kinds := map[string]kmsg.ConfigResourceType{"topic": 2, "broker": 4, "logger": 8, "metrics": 16, "group": 32, "what": 99}
	ops := map[string]kmsg.IncrementalAlterConfigOp{"=": 0, "x": 1, "+": 2, "-": 3, "?": 9}
	f := strings.SplitN(text, " ", 5)
	r.ResourceType, r.ResourceName = kinds[f[0]], strings.ReplaceAll(f[1], "_", "")
	cfg := kmsg.NewIncrementalAlterConfigsRequestResourceConfig()
	cfg.Name, cfg.Op = f[2], ops[f[3]]
	if len(f) > 4 {
		cfg.Value = kmsg.StringPtr(f[4])
	}
	r.Configs = append(r.Configs, cfg)
	return r
}

func alter(c *Controller, validate bool, ops ...string) (codes []int16, messages []string) {
	q := kmsg.NewPtrIncrementalAlterConfigsRequest()
	q.ValidateOnly = validate
	for _, op := range ops {
		q.Resources = append(q.Resources, operation(op))
	}
	for i, r := range c.Handle(context.Background(), q).(*kmsg.IncrementalAlterConfigsResponse).Resources {
		if r.ResourceType != q.Resources[i].ResourceType || r.ResourceName != q.Resources[i].ResourceName {
			panic("the answer is to something else")
		}
		codes = append(codes, r.ErrorCode)
		if r.ErrorMessage == nil {
			messages = append(messages, "")
		} else {
			messages = append(messages, *r.ErrorMessage)
		}
	}
	return codes, messages
}

// described is what DescribeConfigs says, "name=value/source/type(synonyms)".
func described(c *Controller, kind kmsg.ConfigResourceType, name string, names []string) (all []string, code int16) {
	q := kmsg.NewPtrDescribeConfigsRequest()
	q.IncludeSynonyms = true
	q.Resources = []kmsg.DescribeConfigsRequestResource{{ResourceType: kind, ResourceName: name, ConfigNames: names}}
	r := c.Handle(context.Background(), q).(*kmsg.DescribeConfigsResponse).Resources[0]
	for _, cfg := range r.Configs {
		text := fmt.Sprintf("%s=%s/%d/%d", cfg.Name, *cfg.Value, cfg.Source, cfg.ConfigType)
		for _, s := range cfg.ConfigSynonyms {
			text += fmt.Sprintf(" %s/%d", *s.Value, s.Source)
		}
		all = append(all, text)
	}
	return all, r.ErrorCode
}

// What each operation makes of what is there, and what cannot be, by Kafka's codes.
func TestAlter(t *testing.T) {
	c, q := newController()
	for _, step := range []struct {
		op   string
		code int16
		says string   // the message
		then []string // of topic foo
	}{
		{"topic foo retention.ms = 5", 0, "", []string{"retention.ms=5/1/5 5/1"}},
		{"topic foo retention.ms = -2", 40, "want at least -1", nil},
		{"topic foo retention.ms = 5s", 40, "want an integer of 64 bits", nil},
		{"topic foo segment.bytes = 3000000000", 40, "want an integer of 32 bits", nil},
		{"topic foo retention.ms + 5", 40, "Can't APPEND to key retention.ms because its type is not LIST.", nil},
		{"topic foo retention.ms =", 42, "Null value not supported", nil},
		{"topic foo retention.ms ? 1", 42, "Unknown operation type 9", nil},
		{"topic foo what.is.that = 1", 40, "Unknown topic config name: what.is.that", nil},
		{"topic foo what.is.that x", 0, "", nil},
		{"topic foo preallocate = maybe", 40, "want true or false", nil},
		{"topic foo min.cleanable.dirty.ratio = NaN", 40, "want a number from 0 to 1", nil},
		{"topic foo cleanup.policy + compact", 0, "", []string{"cleanup.policy=delete,compact/1/7 delete,compact/1", "retention.ms=5/1/5 5/1"}},
		{"topic foo cleanup.policy + compact", 0, "", []string{"cleanup.policy=delete,compact/1/7 delete,compact/1", "retention.ms=5/1/5 5/1"}},
		{"topic foo cleanup.policy - delete", 0, "", []string{"cleanup.policy=compact/1/7 compact/1", "retention.ms=5/1/5 5/1"}},
		{"topic foo cleanup.policy = shred", 40, "want compact, delete", nil},
		{"topic foo cleanup.policy x", 0, "", []string{"retention.ms=5/1/5 5/1"}},
		{"topic foo retention.ms x", 0, "", []string{}},
		{"topic _ retention.ms = 1", 42, "Default topic resources", nil},
		{"topic a/b retention.ms = 1", 17, "cannot be the name of a topic", nil},
		{"topic .. retention.ms = 1", 17, "cannot be the name of a topic", nil},
		{"broker x any.name = 1", 42, "not a number", nil},
		{"broker -1 any.name = 1", 42, "not a number", nil},
		{"logger 1 any.name = 1", 42, "Unexpected resource type 8", nil},
		{"what 1 any.name = 1", 42, "Unexpected resource type 99", nil},
		{"metrics _ interval.ms = 1", 42, "can't be empty", nil},
		{"group _ x = 1", 42, "Default group", nil},
		{"group g x = " + strings.Repeat("v", 32768), 40, "exceeds the maximum value size", nil},
		{"group g x = " + strings.Repeat("v", 32767), 0, "", nil},
		{"metrics m match + a=b", 0, "", nil},
	} {
		before := len(q.records)
		codes, messages := alter(c, true, step.op)
		require.Equal(t, []int16{step.code}, codes, "%s: %s", step.op, messages[0])
		require.Len(t, q.records, before, "it was only to be validated")
		codes, messages = alter(c, false, step.op)
		require.Equal(t, []int16{step.code}, codes, "%s: %s", step.op, messages[0])
		require.Contains(t, messages[0], step.says)
		if step.code != 0 {
			require.Len(t, q.records, before)
		}
		if step.then != nil {
			all, code := described(c, 2, "foo", nil)
			require.Zero(t, code)
			require.Equal(t, step.then, append([]string{}, all...), step.op)
		}
	}

	// One resource is all or nothing, others go on; twice the same is refused.
	codes, messages := alter(c, false, "topic a segment.ms = 1", "topic b segment.ms = 0", "topic c segment.ms = 1", "topic c segment.ms = 2")
	require.Equal(t, []int16{0, 40, 42, 42}, codes)
	require.Contains(t, messages[2], "Duplicate resource.")
	req := kmsg.NewPtrIncrementalAlterConfigsRequest()
	two := operation("topic d segment.ms = 1")
	two.Configs = append(two.Configs, operation("topic d preallocate = perhaps").Configs...)
	req.Resources = append(req.Resources, two)
	two.ResourceName, two.Configs = "e", slices.Repeat(two.Configs[:1], 2)
	req.Resources = append(req.Resources, two)
	resp := c.Handle(context.Background(), req).(*kmsg.IncrementalAlterConfigsResponse)
	require.EqualValues(t, 40, resp.Resources[0].ErrorCode)
	require.EqualValues(t, 42, resp.Resources[1].ErrorCode)
	for name, want := range map[string]int{"a": 1, "b": 0, "c": 0, "d": 0, "e": 0} {
		all, _ := described(c, 2, name, nil)
		require.Len(t, all, want, name)
	}
}

// A broker has those of all brokers where it has none of its own.
func TestDescribeBroker(t *testing.T) {
	c, q := newController()
	codes, _ := alter(c, false, "broker _ log.retention.ms = 1", "broker 7 log.retention.ms = 2")
	require.Equal(t, []int16{0, 0}, codes)
	alter(c, false, "broker _ x = y")
	all, _ := described(c, 4, "7", nil)
	require.Equal(t, []string{"log.retention.ms=2/2/0 2/2 1/3", "x=y/3/0 y/3"}, all)
	all, _ = described(c, 4, "", []string{"x", "none"})
	require.Equal(t, []string{"x=y/3/0 y/3"}, all)
	all, _ = described(c, 4, "7", []string{})
	require.Empty(t, all)
	_, code := described(c, 4, "seven", nil)
	require.EqualValues(t, 42, code)
	// A broker's is written even if it is so already, a topic's is not.
	for op, more := range map[string]int{"broker 7 log.retention.ms = 2": 1, "broker 7 none x": 1, "topic t segment.ms x": 0} {
		before := len(q.records)
		alter(c, false, op)
		require.Len(t, q.records, before+more, op)
	}
}

// What an operation makes is made from all before it, also from those that are not
// committed yet; all that wait are one batch.
func TestChangesWaitTogether(t *testing.T) {
	c, q := newController()
	q.wait, q.begun = make(chan struct{}), make(chan struct{}, 10)
	var wg sync.WaitGroup
	wg.Go(func() { alter(c, false, "topic t segment.ms = 1") })
	<-q.begun
	const many = 50
	for i := range many {
		wg.Go(func() {
			codes, _ := alter(c, false, fmt.Sprintf("topic t leader.replication.throttled.replicas + %d", i))
			require.Equal(t, []int16{0}, codes)
		})
	}
	for {
		c.queue.mu.Lock()
		n := len(c.queue.waiting)
		c.queue.mu.Unlock()
		if n == many {
			break
		}
	}
	close(q.wait)
	wg.Wait()
	require.Equal(t, 2, q.batches)
	v, _ := c.get(resource{topicResource, "t"}, "leader.replication.throttled.replicas")
	require.Len(t, elements(v), many)

	// Too much for one batch is not too much for two; alone it is.
	big := func(n int) *kmsg.IncrementalAlterConfigsRequest {
		q := kmsg.NewPtrIncrementalAlterConfigsRequest()
		r := operation("broker 1 x0 = 1")
		for i := 1; i < n; i++ {
			r.Configs = append(r.Configs, operation(fmt.Sprintf("broker 1 x%d = 1", i)).Configs...)
		}
		q.Resources = append(q.Resources, r)
		return q
	}
	q.wait = nil
	group := []*change{}
	for _, n := range []int{600, 600, 1001} {
		group = append(group, &change{resources: big(n).Resources, refused: make([]*refusal, 1)})
	}
	c.commit(group)
	require.Nil(t, group[0].refused[0])
	require.Nil(t, group[1].refused[0])
	require.EqualValues(t, messageTooLarge, group[2].refused[0].code)
}

// Who does not lead says so, and what is not known to have happened is not told as either.
func TestRefusals(t *testing.T) {
	c, q := newController()
	alterCode := func() int16 { codes, _ := alter(c, false, "topic foo segment.ms = 5"); return codes[0] }
	readCode := func() int16 { _, code := described(c, 2, "foo", nil); return code }
	check := func(alter, read int16) {
		t.Helper()
		require.Equal(t, alter, alterCode())
		require.Equal(t, read, readCode())
	}
	check(0, 0)
	alter(c, false, "topic foo segment.ms x")
	c.LeaderChange(node.Leadership{Epoch: 4, Leader: 1})
	q.err = &node.OpError{Code: core.NotLeaderOrFollower}
	check(41, 41)
	q.err = nil
	c.LeaderChange(node.Leadership{Epoch: 5, Leader: 2, Self: true})
	check(41, 0) // its node is in another epoch than it has been told
	q.epoch = 5
	for code, err := range map[int16]error{
		7:  &node.OpError{Code: core.NotLeaderOrFollower, Unknown: true},
		89: &node.OpError{Code: core.ThrottlingQuotaExceeded},
		-1: errors.New("?"),
		41: node.ErrStopped,
	} {
		q.err = err
		check(code, code)
	}
	fresh := New(Config{})
	codes, _ := alter(fresh, false, "topic foo segment.ms = 5")
	require.Equal(t, []int16{41}, codes)
	_, code := described(fresh, 2, "foo", nil)
	require.EqualValues(t, 41, code)
	// Nothing to write is told by one who leads.
	q.err = nil
	reads := q.reads
	alter(c, false, "topic foo segment.ms x")
	require.Equal(t, reads+1, q.reads)
}

func TestMetadata(t *testing.T) {
	c, _ := newController()
	q := kmsg.NewPtrMetadataRequest()
	q.Topics = []kmsg.MetadataRequestTopic{{Topic: kmsg.StringPtr("t")}}
	r := c.Handle(context.Background(), q).(*kmsg.MetadataResponse)
	require.Equal(t, "cluster", *r.ClusterID)
	require.EqualValues(t, 2, r.ControllerID)
	require.Len(t, r.Brokers, 2)
	require.Equal(t, "n2", r.Brokers[1].Host)
	require.EqualValues(t, 9092, r.Brokers[1].Port)
	require.EqualValues(t, 3, r.Topics[0].ErrorCode)
}

// memory is a snapshot in memory.
type memory [][]byte

func (m *memory) Append(records [][]byte) error {
	for _, r := range records {
		*m = append(*m, slices.Clone(r))
	}
	return nil
}

func (m memory) ID() snapshot.ID { return snapshot.ID{} }

func (m memory) Records(yield func([]byte) error) error {
	for _, r := range m {
		if err := yield(r); err != nil {
			return err
		}
	}
	return nil
}

// A snapshot is the state when it was cut, the same at each replica, and all that a log of
// Kafka's had. There is none before a metadata.version, nor within a transaction.
func TestSnapshot(t *testing.T) {
	feature := func(level byte) []byte { return []byte("\x01\x0c\x00\x02m\x00" + string(level) + "\x00") }
	begin, end, abort := []byte("\x01\x17\x00\x00"), []byte("\x01\x18\x00\x00"), []byte("\x01\x19\x00\x00")
	cfg := func(name, value string) []byte {
		r := metadata.ConfigRecord{ResourceType: 4, Name: name}
		if value != "" {
			r.Value = &value
		}
		return r.Append(nil)
	}
	version := []byte("\x01\x0c\x00\x11metadata.version\x00\x19\x00")
	topic := []byte("\x01\x02\x00whatever")
	var a, b state
	apply := func(s *state, records ...[]byte) {
		for _, r := range records {
			require.NoError(t, s.Apply(node.Batch{Records: []node.Record{{Value: r}}}))
		}
	}
	refused := func() {
		t.Helper()
		_, err := a.Snapshot()
		require.ErrorIs(t, err, node.ErrNoSnapshot)
	}
	refused()
	apply(&a, cfg("old", "1"), cfg("old", ""))
	refused()
	apply(&a, begin, version)
	refused()
	apply(&a, abort)
	refused()
	apply(&a, begin, version)
	refused()
	apply(&a, end, feature(7), topic, cfg("z", "1"), cfg("gone", "1"), []byte("\x01\x14\x00\x00"),
		begin, cfg("a", "never"), abort, begin, cfg("a", "2"), cfg("gone", ""), end, feature(9), begin, cfg("later", "3"))
	_, ok := a.get(resource{4, ""}, "later")
	require.False(t, ok, "the transaction has not ended")
	refused()
	apply(&a, abort)
	write, err := a.Snapshot()
	require.NoError(t, err)
	apply(&a, cfg("z", "changed"))
	var m memory
	require.NoError(t, write(&m))
	require.Equal(t, memory{version, feature(9), topic, cfg("a", "2"), cfg("z", "1")}, m)

	require.NoError(t, b.Load(m))
	require.Equal(t, map[string]string{"a": "2", "z": "1"}, b.all(resource{4, ""}))
	write, err = b.Snapshot()
	require.NoError(t, err)
	var again memory
	require.NoError(t, write(&again))
	require.Equal(t, m, again)
	apply(&b, cfg("z", "changed"))
	require.Equal(t, a.all(resource{4, ""}), b.all(resource{4, ""}))

	require.ErrorContains(t, b.Load(memory{feature(1), []byte("x")}), "record 1: not a metadata record")
	require.Equal(t, a.all(resource{4, ""}), b.all(resource{4, ""}), "what could not be loaded changes nothing")
	require.ErrorIs(t, b.Apply(node.Batch{Records: []node.Record{{Offset: 8, Value: []byte{9}}}}), metadata.ErrRecord)
}
