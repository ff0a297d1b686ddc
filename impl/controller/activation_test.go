package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/quorate/quorate/impl/wire"
	"github.com/stretchr/testify/require"
)

func level(feature string, to int16) []byte { return metadata.AppendFeatureLevel(nil, feature, to) }

func mv(v metadata.Version) []byte { return level(metadata.VersionFeature, int16(v)) }

func credential(user string) []byte {
	c := metadata.ScramCredential{Name: user, Mechanism: metadata.ScramSHA256, Salt: []byte{1}, StoredKey: []byte{2}, ServerKey: []byte{3}, Iterations: 4096}
	return c.Append(nil)
}

func setting(name, value string) []byte {
	return metadata.ConfigRecord{ResourceType: brokerResource, Name: name, Value: &value}.Append(nil)
}

var (
	begin = metadata.AppendBeginTransaction(nil, bootstrapName)
	end   = metadata.AppendEndTransaction(nil)
	abort = metadata.AppendAbortTransaction(nil, failover)
)

const v10, v12, v13, v35 = metadata.Version(10), metadata.Version(12), metadata.TransactionVersion, metadata.ClusterIDVersion

// at is a snapshot with an id.
type at struct {
	memory
	id snapshot.ID
}

func (a at) ID() snapshot.ID { return a.id }

// lead has a controller lead, with a log of before, and returns its node.
func lead(t *testing.T, c *Controller, before ...[]byte) *quorum {
	t.Helper()
	q := &quorum{c: c, epoch: 7, records: before}
	for i, r := range before {
		require.NoError(t, c.Apply(node.Batch{Base: int64(i), End: int64(i) + 1, Records: []node.Record{{Offset: int64(i), Value: r}}}))
	}
	c.Use(q)
	c.LeaderChange(node.Leadership{Epoch: 7, Leader: 2, Self: true})
	c.activeEpoch()
	return q
}

// The four cases of KIP-1170, and the two that it leaves out, with and without
// transactions, and with one that a leader before left open.
func TestActivation(t *testing.T) {
	legacy := Legacy{Name: "d/bootstrap.checkpoint", Records: [][]byte{mv(v13), setting("from", "legacy")}}
	withID := func(v metadata.Version) memory {
		return memory{mv(v), metadata.AppendClusterID(nil, "X"), credential("a")}
	}
	for name, of := range map[string]struct {
		cfg    Config
		zero   memory // nil: no callback
		before memory
		want   memory // written
		fails  string
	}{
		"1: legacy alone":         {cfg: Config{Legacy: legacy}, want: memory{begin, mv(v13), setting("from", "legacy"), end}},
		"2: zero without records": {cfg: Config{Legacy: legacy}, zero: memory{}, want: memory{begin, mv(v13), setting("from", "legacy"), end}},
		"3: zero alone":           {zero: withID(v35), want: memory{begin, mv(v35), metadata.AppendClusterID(nil, "X"), credential("a"), end}},
		"4: both":                 {cfg: Config{Legacy: legacy}, zero: memory{mv(v10)}, want: memory{mv(v10)}},
		"5: neither":              {want: memory{begin, mv(metadata.LatestProduction), end}},
		"5: neither, and a default that needs an id": {cfg: Config{DefaultVersion: v35}, fails: "the default has metadata.version 4.5-IV1 and no cluster id: this controller was not formatted properly"},
		"6: zero without records alone":              {zero: memory{}, want: memory{begin, mv(metadata.LatestProduction), end}},
		"no transactions":                            {zero: memory{mv(v12), credential("a")}, want: memory{mv(v12), credential("a")}},
		"elr": {zero: memory{mv(v13), level("eligible.leader.replicas.version", 1)},
			want: memory{begin, mv(v13), level("eligible.leader.replicas.version", 1), setting("min.insync.replicas", "1"), end}},
		"ancient, needed":     {cfg: Config{Legacy: Legacy{Name: "old", Records: [][]byte{mv(1)}}}, fails: "old: metadata.version level 1 is not supported: want 3.3-IV3 to 4.5-IV1"},
		"ancient, not needed": {cfg: Config{Legacy: Legacy{Name: "old", Records: [][]byte{mv(1)}}}, before: memory{mv(v12)}},
		"broken, needed":      {cfg: Config{Legacy: Legacy{Name: "old", Err: errors.New("torn")}}, fails: "torn"},
		"broken, not needed":  {cfg: Config{Legacy: Legacy{Name: "old", Err: errors.New("torn")}}, before: memory{mv(v12)}},

		"written":                     {zero: withID(v35), before: memory{mv(v13)}},
		"written, open":               {zero: withID(v35), before: memory{mv(v13), begin, setting("a", "1")}, want: memory{abort}},
		"written, open, no way":       {zero: withID(v35), before: memory{mv(v12), begin}, fails: "a transaction is open, and metadata.version 3.6-IV0 cannot end it"},
		"begun":                       {zero: memory{mv(v13)}, before: memory{begin}, want: memory{abort, begin, mv(v13), end}},                           // H2
		"begun, version inside":       {zero: memory{mv(v13)}, before: memory{begin, mv(v13), credential("a")}, want: memory{abort, begin, mv(v13), end}}, // H1
		"begun, no way":               {zero: memory{mv(v12)}, before: memory{begin, mv(v13)}, fails: "a transaction is open, and metadata.version 3.6-IV0 of"},
		"aborted":                     {zero: memory{mv(v13)}, before: memory{begin, mv(v13), abort}, want: memory{begin, mv(v13), end}},
		"ended":                       {zero: memory{mv(v13)}, before: memory{begin, mv(v13), end}},
		"of another cluster":          {cfg: Config{ClusterID: "Y", Legacy: Legacy{Name: "old", Records: withID(v35)}}, fails: `old has cluster id "X", and meta.properties has "Y"`},
		"no id":                       {cfg: Config{ClusterID: "Y"}, zero: memory{mv(v35)}, fails: "was not formatted properly"},
		"an id too early":             {zero: memory{mv(v13), metadata.AppendClusterID(nil, "X")}, fails: "which has no such record"},
		"an id twice":                 {zero: memory{mv(v35), metadata.AppendClusterID(nil, "X"), metadata.AppendClusterID(nil, "Y")}, fails: `the cluster id is "X"`},
		"no version":                  {zero: memory{credential("a")}, fails: "a bootstrap without a metadata.version"},
		"a transaction in it":         {zero: memory{begin, mv(v13), end}, fails: "in a bootstrap"},
		"zero of another cluster":     {cfg: Config{ClusterID: "Y"}, zero: withID(v35), fails: `it has cluster id "X", and meta.properties has "Y"`},
		"zero of the same cluster":    {cfg: Config{ClusterID: "X"}, zero: withID(v35), want: slices.Concat(memory{begin}, withID(v35), memory{end})},
		"atomic, 10 000 and a record": {zero: append(memory{mv(v12)}, slices.Repeat(memory{credential("a")}, 10_000)...), fails: "are too many for one batch"},
	} {
		t.Run(name, func(t *testing.T) {
			c := New(of.cfg)
			if of.zero != nil {
				if err := c.LoadBootstrap(of.zero); err != nil {
					require.NotEmpty(t, of.fails, err)
					require.ErrorContains(t, err, of.fails)
					return
				}
				require.Zero(t, c.version(), "what is loaded of a bootstrap is no state")
				_, offset := c.Finalized()
				require.EqualValues(t, -1, offset, "and none of it is told of")
			}
			q := lead(t, c, of.before...)
			if of.fails != "" {
				require.ErrorContains(t, q.failed, of.fails)
				require.Len(t, q.records, len(of.before))
				require.Zero(t, c.activeEpoch())
				return
			}
			require.NoError(t, q.failed)
			require.EqualValues(t, 7, c.activeEpoch())
			require.Equal(t, texts(of.want), texts(q.records[len(of.before):]))
			require.NotZero(t, c.version(), "an active controller has a metadata.version")
		})
	}
}

func texts(records [][]byte) (all []string) {
	for _, b := range records {
		r, err := metadata.Decode(b)
		if err != nil {
			panic(err)
		}
		all = append(all, r.String())
	}
	return all
}

// Batches have at most 10 000 records and 8 MiB, and none is empty.
func TestChunks(t *testing.T) {
	size := func(n, bytes int) (sizes []int) {
		for _, chunk := range chunksOf(slices.Repeat([][]byte{make([]byte, bytes)}, n), maxBatchRecords) {
			sizes = append(sizes, len(chunk))
		}
		return sizes
	}
	require.Empty(t, size(0, 1))
	require.Equal(t, []int{10_000}, size(10_000, 1))
	require.Equal(t, []int{10_000, 1}, size(10_001, 1))
	require.Equal(t, []int{10_000, 10_000}, size(20_000, 1))
	require.Equal(t, []int{10_000, 10_000, 5_002}, size(25_002, 1))
	require.Equal(t, []int{7, 3}, size(10, 1<<20))
	require.Equal(t, []int{1, 1}, size(2, 8<<20), "one that is too large alone is for the log to refuse")
}

// A leader is lost after each record of what its activation writes, with and without what
// it has of it reaching the others. Whoever is next, there is one bootstrap in the end, and
// never a part of one (OneBootstrap and AllOrNothing of spec/bootstrap).
func TestActivationFailover(t *testing.T) {
	points := 0
	for _, version := range []metadata.Version{v12, v13, v35} {
		zero := memory{mv(version)}
		if version >= metadata.ClusterIDVersion {
			zero = append(zero, metadata.AppendClusterID(nil, "X"))
		}
		for i := range 5 {
			zero = append(zero, credential(fmt.Sprint("user ", i)))
		}
		make1 := func() *Controller {
			c := New(Config{ClusterID: "X"})
			require.NoError(t, c.LoadBootstrap(zero))
			return c
		}
		first := lead(t, make1()).records
		for cut := range len(first) + 1 {
			if version < metadata.TransactionVersion && cut > 0 && cut < len(first) {
				continue // one batch
			}
			second := lead(t, make1(), first[:cut:cut]...).records
			for again := range len(second) + 1 - cut { // the second one is lost too
				if version < metadata.TransactionVersion && again > 0 && again < len(second)-cut {
					continue
				}
				points++
				c := make1()
				q := lead(t, c, second[:cut+again:cut+again]...)
				require.NoError(t, q.failed)
				write, err := c.Snapshot()
				require.NoError(t, err)
				var m memory
				require.NoError(t, write(&m))
				require.Equal(t, texts(zero), texts(m), "after %d and %d of\n%s", cut, again, strings.Join(texts(q.records), "\n"))
				ends := 0
				for _, text := range texts(q.records) {
					if strings.Contains(text, "END_TRANSACTION") {
						ends++
					}
				}
				require.Equal(t, version >= metadata.TransactionVersion, ends == 1)
			}
		}
	}
	t.Logf("%d points at which leaders were lost", points)
}

// A leader that is deposed while it activates is not active, and does not end.
func TestActivationDeposed(t *testing.T) {
	c := New(Config{})
	q := &quorum{c: c, epoch: 7, wait: make(chan struct{}), begun: make(chan struct{}, 1)}
	c.Use(q)
	c.LeaderChange(node.Leadership{Epoch: 7, Leader: 2, Self: true})
	<-q.begun
	got := make(chan []int16)
	go func() {
		codes, _ := alter(c, false, "topic foo segment.ms = 5")
		got <- codes
	}()
	q.mu.Lock()
	q.epoch = 8
	q.mu.Unlock()
	close(q.wait)
	require.Equal(t, []int16{41}, <-got, "what came meanwhile has waited")
	c.LeaderChange(node.Leadership{Epoch: 8, Leader: 1})
	require.Zero(t, c.activeEpoch())
	require.NoError(t, q.failed)

	c = New(Config{})
	q = &quorum{c: c, epoch: 7, err: &node.OpError{Code: 10}}
	c.Use(q)
	c.LeaderChange(node.Leadership{Epoch: 7, Leader: 2, Self: true})
	require.Zero(t, c.activeEpoch())
	require.ErrorContains(t, q.failed, "activation in epoch 7")
}

// Nothing of a transaction is seen before it ends, and nothing at all of one that is
// aborted; markers that do not belong where they stand are errors.
func TestTransaction(t *testing.T) {
	c := New(Config{})
	apply := func(records ...[]byte) error {
		return c.Apply(node.Batch{Base: 10, End: 11, Records: []node.Record{{Offset: 10, Value: records[0]}}})
	}
	require.NoError(t, apply(mv(v35)))
	levels, offset := c.Finalized()
	require.Equal(t, []wire.Feature{{Name: "metadata.version", Finalized: 35}}, levels)
	require.EqualValues(t, 10, offset)
	require.ErrorContains(t, apply(end), "without a transaction")
	require.ErrorContains(t, apply(abort), "without a transaction")
	require.NoError(t, apply(begin))
	require.ErrorContains(t, apply(begin), "within a transaction")
	require.NoError(t, apply(metadata.AppendClusterID(nil, "X")))
	require.NoError(t, apply(setting("a", "1")))
	require.Empty(t, c.ClusterID())
	require.Empty(t, c.all(resource{brokerResource, ""}))
	require.NoError(t, apply(abort))
	require.Empty(t, c.ClusterID())
	require.Empty(t, c.knownID())
	require.ErrorContains(t, New(Config{}).Load(memory{mv(v13), begin}), "no snapshot may have")
}

// Credentials are kept one for each user and mechanism, and are gone when they are removed.
func TestCredentials(t *testing.T) {
	removed := append(metadata.AppendString(metadata.AppendFrame(nil, metadata.TypeRemoveScramCredential, 0), "a"), 1, 0)
	c := New(Config{})
	for _, r := range [][]byte{mv(v13), credential("a"), credential("b"), credential("a"), removed, removed, credential("a")} {
		require.NoError(t, c.replay(r))
	}
	write, err := c.Snapshot()
	require.NoError(t, err)
	var m memory
	require.NoError(t, write(&m))
	require.Equal(t, memory{mv(v13), credential("b"), credential("a")}, m)
}

// A node that has no cluster id takes the first that is committed, once, and is told
// before it counts; one that has another ends.
func TestLearn(t *testing.T) {
	var told []string
	refuse := errors.New("disk is full")
	fails := refuse
	c := New(Config{Learn: func(id string) error { told = append(told, id); return fails }})
	id := metadata.AppendClusterID(nil, "my cluster")
	require.NoError(t, c.Apply(node.Batch{End: 1, Records: []node.Record{{Value: mv(v35)}}}))
	require.Empty(t, told)
	require.ErrorIs(t, c.Apply(node.Batch{End: 2, Records: []node.Record{{Offset: 1, Value: id}}}), refuse)
	require.Empty(t, c.knownID(), "it was not persisted")
	fails = nil
	require.NoError(t, c.Apply(node.Batch{End: 3, Records: []node.Record{{Offset: 2, Value: id}}}))
	require.Equal(t, "my cluster", c.knownID())
	require.NoError(t, c.Load(at{memory{mv(v35), id}, snapshot.ID{End: 3, Epoch: 1}}))
	require.Len(t, told, 2)
	other := metadata.AppendClusterID(nil, "other")
	require.ErrorContains(t, c.Load(at{memory{mv(v35), other}, snapshot.ID{End: 9, Epoch: 1}}), `the log has cluster id "other", and meta.properties has "my cluster"`)
	require.Error(t, New(Config{ClusterID: "Y"}).Load(memory{mv(v35), id}))

	loads := 0
	c = New(Config{Loaded: func() error { loads++; return nil }})
	require.NoError(t, c.Load(at{memory{mv(v35), id}, snapshot.ID{}}))
	require.NoError(t, c.Load(at{nil, snapshot.ID{End: 2}}))
	require.Zero(t, loads, "nothing that says that the bootstrap is committed")
	require.NoError(t, c.Load(at{memory{mv(v35), id}, snapshot.ID{End: 9, Epoch: 1}}))
	require.Equal(t, 1, loads)
}

// The first leader of a cluster whose voters were not formatted draws the id, and does not
// use it before it is committed (R2 of KIP-1262).
func TestDrawsClusterID(t *testing.T) {
	cfg := Config{DefaultVersion: v35, DrawsClusterID: true}
	c := New(cfg)
	q := lead(t, c)
	require.NoError(t, q.failed)
	id := c.ClusterID()
	require.NotEmpty(t, id)
	require.Equal(t, id, c.knownID())
	require.Equal(t, texts(memory{begin, mv(v35), metadata.AppendClusterID(nil, id), end}), texts(q.records))
	other := New(cfg)
	q = lead(t, other, q.records[:3:3]...) // begun by one that was lost
	require.NoError(t, q.failed)
	require.NotEqual(t, id, other.knownID())
	require.Equal(t, other.ClusterID(), other.knownID())
}
