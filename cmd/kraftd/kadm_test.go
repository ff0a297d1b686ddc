package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// voters are three kraftd of one quorum.
type voters struct {
	t     *testing.T
	dir   string
	addrs []string
	nodes []*process
}

// startVoters formats and starts them, with more lines in their configuration.
func startVoters(t *testing.T, more string) *voters {
	v := &voters{t: t, dir: t.TempDir(), nodes: make([]*process, 3)}
	var names []string
	var held []net.Listener // all until the end, so that they differ
	for id := range v.nodes {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		held = append(held, l)
		v.addrs = append(v.addrs, l.Addr().String())
		names = append(names, fmt.Sprintf("%d@%s", id+1, l.Addr()))
	}
	for _, l := range held {
		require.NoError(t, l.Close())
	}
	for i := range v.nodes {
		require.NoError(t, os.WriteFile(v.file(i), fmt.Appendf(nil, "node.id=%d\nprocess.roles=controller\ncontroller.listener.names=CONTROLLER\n"+
			"listeners=CONTROLLER://%s\ncontroller.quorum.voters=%s\nlog.dirs=%s/d%[1]d\ncontroller.quorum.append.linger.ms=0\n"+
			"controller.quorum.election.timeout.ms=300\ncontroller.quorum.fetch.timeout.ms=800\n%[5]s",
			i+1, v.addrs[i], strings.Join(names, ","), v.dir, more), 0o600))
		code, _, errs := kraftd("format", "-config", v.file(i), "-cluster-id", "three")
		require.Equal(t, 0, code, errs)
		v.start(i)
	}
	return v
}

func (v *voters) file(i int) string {
	return filepath.Join(v.dir, fmt.Sprintf("node%d.properties", i+1))
}

func (v *voters) start(i int) {
	v.nodes[i] = startProcess(v.t, "start", "-config", v.file(i), "-log-format", "json")
}

// admin is a client that tries nothing a second time: what is not known to have happened
// would happen twice.
func (v *voters) admin() *kadm.Client {
	cl, err := kgo.NewClient(kgo.SeedBrokers(v.addrs...), kgo.RequestRetries(0), kgo.RetryTimeout(2*time.Second),
		kgo.DialTimeout(time.Second), kgo.MetadataMinAge(100*time.Millisecond))
	require.NoError(v.t, err)
	v.t.Cleanup(cl.Close)
	return kadm.NewClient(cl)
}

// leader waits for one that the nodes take for the leader.
func (v *voters) leader() int32 {
	cl, err := kgo.NewClient(kgo.SeedBrokers(v.addrs...))
	require.NoError(v.t, err)
	defer cl.Close()
	var leader int32
	require.Eventually(v.t, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		resp, err := cl.Request(ctx, kmsg.NewPtrMetadataRequest()) // kadm's may be old
		if err == nil {
			leader = resp.(*kmsg.MetadataResponse).ControllerID
		}
		return err == nil && leader > 0
	}, time.Minute, 20*time.Millisecond)
	return leader
}

// again does something until it is not refused by one that does not lead, which any node
// may be that the client happens to ask.
func again(t *testing.T, do func(context.Context) error) {
	t.Helper()
	var err error
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		err = do(ctx)
		cancel()
		if err == nil {
			return
		}
	}
	require.NoError(t, err)
}

func set(adm *kadm.Client, ctx context.Context, topic, name, value string) error {
	rs, err := adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: name, Value: &value}}, topic)
	if err != nil {
		return err
	}
	return rs[0].Err
}

// get is a value, "" if there is none.
func get(adm *kadm.Client, ctx context.Context, topic, name string) (string, error) {
	rs, err := adm.DescribeTopicConfigs(ctx, topic)
	if err != nil {
		return "", err
	}
	for _, c := range rs[0].Configs {
		if c.Key == name {
			return *c.Value, rs[0].Err
		}
	}
	return "", rs[0].Err
}

// Franz-go talks to kraftd: what it offers, who leads, configurations of topics and
// brokers, the log itself.
func TestFranz(t *testing.T) {
	v := startVoters(t, "")
	adm := v.admin()
	leader := v.leader()
	again(t, func(ctx context.Context) error { return set(adm, ctx, "foo", "segment.ms", "1000") })
	again(t, func(ctx context.Context) error {
		value, err := get(adm, ctx, "foo", "segment.ms")
		require.Contains(t, []string{"", "1000"}, value)
		return err
	})

	ctx := context.Background()
	versions, err := adm.ApiVersions(ctx)
	require.NoError(t, err)
	require.Len(t, versions, 3)
	for _, b := range versions {
		require.NoError(t, b.Err)
		for key, want := range map[int16]int16{1: 18, 3: 12, 18: 4, 32: 4, 44: 1, 52: 2, 55: 2, 59: 1, 60: 1} {
			_, last, ok := b.KeyVersions(key)
			require.True(t, ok, "API %d", key)
			require.Equal(t, want, last, "API %d", key)
		}
	}

	// A broker's go to the node of that id; only the leader answers.
	for id := int32(1); id <= 3; id++ {
		rs, err := adm.AlterBrokerConfigs(ctx, []kadm.AlterConfig{
			{Op: kadm.SetConfig, Name: "log.retention.ms", Value: kmsg.StringPtr("7")},
			{Op: kadm.AppendConfig, Name: "ssl.enabled.protocols", Value: kmsg.StringPtr("TLSv1.3")},
		}, id)
		require.NoError(t, err)
		if id == leader {
			require.NoError(t, rs[0].Err)
		} else {
			require.ErrorIs(t, rs[0].Err, kerr.NotController)
		}
	}
	described, err := adm.DescribeBrokerConfigs(ctx, leader)
	require.NoError(t, err)
	require.NoError(t, described[0].Err)
	var names []string
	for _, c := range described[0].Configs {
		names = append(names, c.Key)
	}
	require.Equal(t, []string{"log.retention.ms", "min.insync.replicas", "ssl.enabled.protocols"}, names, "what is set, and what the bootstrap has for all brokers")
	require.Equal(t, "TLSv1.3", *described[0].Configs[2].Value)
	again(t, func(ctx context.Context) error {
		err := set(adm, ctx, "foo", "retention.ms", "soon")
		if strings.Contains(fmt.Sprint(err), "INVALID_CONFIG") {
			return nil
		}
		return fmt.Errorf("not refused, but %w", err)
	})

	quorum := kmsg.NewPtrDescribeQuorumRequest()
	quorum.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{}}}}
	client, err := kgo.NewClient(kgo.SeedBrokers(v.addrs...))
	require.NoError(t, err)
	defer client.Close()
	_, err = client.Request(ctx, kmsg.NewPtrMetadataRequest())
	require.NoError(t, err)
	resp, err := client.Broker(int(leader)).Request(ctx, quorum)
	require.NoError(t, err)
	p := resp.(*kmsg.DescribeQuorumResponse).Topics[0].Partitions[0]
	require.Equal(t, leader, p.LeaderID)
	require.Len(t, p.CurrentVoters, 3)

	fetch := kmsg.NewPtrFetchRequest()
	fetch.ReplicaID, fetch.MaxBytes = -1, 1<<20
	part := kmsg.NewFetchRequestTopicPartition()
	part.CurrentLeaderEpoch, part.LastFetchedEpoch = p.LeaderEpoch, 0
	topic := kmsg.NewFetchRequestTopic()
	topic.TopicID, topic.Partitions = [16]byte{15: 1}, []kmsg.FetchRequestTopicPartition{part}
	fetch.Topics = []kmsg.FetchRequestTopic{topic}
	resp, err = client.Broker(int(leader)).Request(ctx, fetch)
	require.NoError(t, err)
	fetched := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0]
	require.Zero(t, fetched.ErrorCode)
	require.Contains(t, string(fetched.RecordBatches), "\x04foo\x0bsegment.ms\x051000")
}

// register is one configuration: an operation writes a value or reads one.
type register struct {
	key   string
	write bool
	value string
}

var registers = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		by := map[string][]porcupine.Operation{}
		for _, op := range history {
			key := op.Input.(register).key
			by[key] = append(by[key], op)
		}
		var parts [][]porcupine.Operation
		for _, part := range by {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		if in := input.(register); in.write {
			return true, in.value
		}
		return output == state, state
	},
	DescribeOperation: func(in, out any) string { return fmt.Sprintf("%+v %v", in, out) },
}

// Clients write and read configurations while the leader is killed: what they saw is a
// history of single registers.
func TestConfigsAreLinearizable(t *testing.T) {
	v := startVoters(t, "metadata.log.max.record.bytes.between.snapshots=20000\nmetadata.max.retention.bytes=30000\n")
	first := v.admin()
	leader := v.leader()
	again(t, func(ctx context.Context) error { return set(first, ctx, "warm", "segment.ms", "1") })
	const clients, keys, lasts = 4, 3, 4 * time.Second
	began := time.Now()
	now := func() int64 { return int64(time.Since(began)) }
	var mu sync.Mutex
	var history []porcupine.Operation
	var writes, reads, unknown, refused int
	inFlight := 0 // at the kill
	var flying [clients]bool
	working, rest := context.WithTimeout(context.Background(), lasts)
	defer rest()
	var wg sync.WaitGroup
	for w := range clients {
		adm := v.admin()
		random := rand.New(rand.NewPCG(1, uint64(w)))
		wg.Go(func() {
			for n := 1; working.Err() == nil; n++ {
				in := register{key: fmt.Sprintf("t%d", random.IntN(keys)), write: random.IntN(2) == 0}
				if in.write {
					in.value = strconv.Itoa(w*1_000_000 + n)
				}
				op := porcupine.Operation{ClientId: w, Input: in, Call: now()}
				mu.Lock()
				flying[w] = true
				mu.Unlock()
				ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
				var err error
				if in.write {
					err = set(adm, ctx, in.key, "segment.ms", in.value)
				} else {
					op.Output, err = get(adm, ctx, in.key, "segment.ms")
				}
				cancel()
				op.Return = now()
				mu.Lock()
				flying[w] = false
				switch {
				case err == nil && in.write:
					writes++
					history = append(history, op)
				case err == nil:
					reads++
					history = append(history, op)
				case in.write && !isRefusal(err): // it may take effect at any time from now on
					unknown++
					op.Return = math.MaxInt64
					history = append(history, op)
				default:
					refused++
				}
				mu.Unlock()
				if err != nil {
					time.Sleep(2 * time.Millisecond)
				}
			}
		})
	}
	time.Sleep(lasts / 4)
	for inFlight == 0 && working.Err() == nil {
		mu.Lock()
		for _, f := range flying {
			if f {
				inFlight++
			}
		}
		if inFlight > 0 { // nobody can note an end before the kill
			require.NoError(t, v.nodes[leader-1].Process.Kill())
		}
		mu.Unlock()
	}
	v.nodes[leader-1].Wait()
	killed := now()
	time.Sleep(lasts / 8)
	v.start(int(leader - 1))
	wg.Wait()
	t.Logf("%d writes, %d reads, %d of unknown outcome, %d refused; %d in flight at the kill", writes, reads, unknown, refused, inFlight)
	require.Positive(t, inFlight)
	after := 0
	for _, op := range history {
		if op.Call > killed && op.Return != math.MaxInt64 {
			after++
		}
	}
	require.Positive(t, after, "it works again after the failover")
	result, _ := porcupine.CheckOperationsVerbose(registers, history, time.Minute)
	require.Equal(t, porcupine.Ok, result)

	// And the judge sees it when a value that was overwritten comes back.
	bad := append([]porcupine.Operation{}, history...)
	bad = append(bad, porcupine.Operation{ClientId: clients, Input: register{key: "t0", write: true, value: "new"}, Call: now(), Return: now() + 1},
		porcupine.Operation{ClientId: clients, Input: register{key: "t0"}, Output: "no such value", Call: now() + 2, Return: now() + 3})
	result, _ = porcupine.CheckOperationsVerbose(registers, bad, time.Minute)
	require.Equal(t, porcupine.Illegal, result)
}

// isRefusal: the node said that nothing has happened.
func isRefusal(err error) bool {
	return strings.Contains(err.Error(), "NOT_CONTROLLER") || strings.Contains(err.Error(), "THROTTLING_QUOTA_EXCEEDED") ||
		strings.Contains(err.Error(), "unable to dial")
}
