package scenarios

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/quorate/quorate/impl/metaprops"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// observer is a broker with empty directories, of a quorum that is reached at voters.
func observer(t *testing.T, voters string, lines ...string) *place {
	return newPlace(t, watching(voters, lines...)...)
}

func watching(voters string, lines ...string) []string {
	return append(append(slices.Clone(broker), "controller.quorum.voters="+voters,
		"controller.quorum.election.timeout.ms=500", "controller.quorum.fetch.timeout.ms=1000"), lines...)
}

// knows waits until a node has an id in both directories, and says so.
func (p *place) knows(id string, s *process) {
	p.t.Helper()
	s.says("learned the cluster id")
	for i := range 2 {
		m := p.meta(i)
		require.Equal(p.t, 2, m.Version)
		require.Equal(p.t, id, m.ClusterID)
	}
}

// afterID holds what a leader was asked against what may be asked: null until the id is
// known, and never again after.
func afterID(t *testing.T, p *proxy, id string) {
	t.Helper()
	eventually(t, "requests carry the id", func() bool { return slices.Contains(p.requestsSeen(), "Fetch "+id) })
	known := false
	for _, r := range p.requestsSeen() {
		known = known || strings.HasSuffix(r, " "+id)
		require.False(t, known && strings.HasSuffix(r, " null"), "%v", p.requestsSeen())
		require.Contains(t, []string{"ApiVersions", "Fetch null", "FetchSnapshot null", "Fetch " + id, "FetchSnapshot " + id, "BrokerRegistration " + id}, r)
	}
	eventually(t, "the registration carries the id", func() bool { return slices.Contains(p.requestsSeen(), "BrokerRegistration "+id) })
}

var _ = add(25, "a broker with empty directories learns the id by Fetch, and registers with it", func(t *testing.T) {
	q := newQuorum(t, 1, "A", bootstrapOf("A"))
	proxy := newProxy(t, q.addrs[0])
	p := observer(t, "1@"+proxy.addr)
	s := p.launch()
	eventually(t, "it is formatted", func() bool { _, err := os.Stat(p.path("d0/meta.properties")); return err == nil })
	dirs := []metaprops.Properties{p.meta(0), p.meta(1)}
	for _, m := range dirs {
		require.Equal(t, 2, m.Version)
		require.Empty(t, m.ClusterID)
		require.NotZero(t, m.Directory)
	}
	q.start()
	p.knows("A", s)
	for i, before := range dirs {
		before.ClusterID = "A"
		require.Equal(t, before, p.meta(i), "nothing else changes")
	}
	afterID(t, proxy, "A")
	require.Contains(t, proxy.requestsSeen(), "Fetch null")
	require.NotContains(t, p.names(), zeroName)
})

// behind runs a quorum of one until its log starts after its bootstrap.
func behind(t *testing.T, id string) *quorum {
	q := newQuorum(t, 1, id, bootstrapOf(id), "metadata.log.max.record.bytes.between.snapshots=100", "metadata.max.retention.bytes=0")
	q.start()
	p := q.places[0]
	for i := 0; ; i++ {
		if _, err := os.Stat(p.path(zeroName)); os.IsNotExist(err) {
			return q
		}
		q.set("a", fmt.Sprint(i))
	}
}

var _ = add(26, "the same by FetchSnapshot, where the log starts after the bootstrap", func(t *testing.T) {
	q := behind(t, "A")
	proxy := newProxy(t, q.addrs[0])
	p := observer(t, "1@"+proxy.addr)
	p.knows("A", p.launch())
	afterID(t, proxy, "A")
	require.Contains(t, proxy.requestsSeen(), "FetchSnapshot null")
})

var _ = add(27, "killed between two directories: the other is completed without the network", func(t *testing.T) {
	p := observer(t, "1@"+ports(t, 1)[0])
	d0 := metaprops.Properties{Version: 2, NodeID: 4, Directory: metaprops.NewDirectoryID()}
	d1 := metaprops.Properties{Version: 2, NodeID: 4, Directory: metaprops.NewDirectoryID(), ClusterID: "A"}
	p.setMeta(0, d0)
	p.setMeta(1, d1)
	p.launch().says("serves")
	d0.ClusterID = "A"
	require.Equal(t, d0, p.meta(0))
	require.Equal(t, d1, p.meta(1))
})

var _ = add(28, "unknown, and restarted against another cluster: it joins that, and keeps nothing of the first", func(t *testing.T) {
	// Both logs have a batch that ends at offset 5, in epoch 1: a leader of B would go on
	// from the end of what the node has of A.
	a := newQuorum(t, 1, "A", [][]byte{mv(10), setting("of", "A"), setting("x", "1"), setting("y", "1")})
	a.start()
	p := observer(t, a.voters)
	s := p.launch()
	eventually(t, "it has the log of A", func() bool { return slices.Contains(p.data(), text(setting("of", "A"))[0]) })
	s.kill()
	require.Empty(t, p.meta(0).ClusterID)
	b := newQuorum(t, 1, "B", bootstrapOf("B"))
	b.start()
	b.set("of", "B")
	p.configure(watching(b.voters)...)
	p.knows("B", p.launch())
	b.places[0].has(p.batches())
	require.NotContains(t, p.data(), text(setting("of", "A"))[0])
})

// other: a node of A is started against B.
func other(t *testing.T, p *place) {
	b := newQuorum(t, 1, "B", bootstrapOf("B"))
	b.start()
	b.places[0].has(fresh(inTransaction(bootstrapOf("B")...)...))
	proxy := newProxy(t, b.addrs[0])
	p.configure(watching("1@"+proxy.addr, late)...)
	metas := []string{p.read("d0/meta.properties"), p.read("d1/meta.properties")}
	p.launch().fails("INCONSISTENT_CLUSTER_ID", `this node is of cluster "A"`)
	require.Equal(t, metas, []string{p.read("d0/meta.properties"), p.read("d1/meta.properties")})
	require.Equal(t, fresh(inTransaction(bootstrapOf("B")...)...), b.places[0].batches())
	for _, r := range proxy.requestsSeen() {
		require.Contains(t, []string{"ApiVersions", "Fetch A"}, r)
	}
}

var _ = add(29, "formatted with A, started against B: refused until the deadline, files as they were", func(t *testing.T) {
	p := observer(t, "1@127.0.0.1:9")
	p.prepare(4, "A", nil)
	other(t, p)
})

var _ = add(30, "the same with an id that was learned", func(t *testing.T) {
	a := newQuorum(t, 1, "A", bootstrapOf("A"))
	a.start()
	p := observer(t, a.voters)
	s := p.launch()
	p.knows("A", s)
	s.kill()
	other(t, p)
})

// beforeID: before its id is durable an observer asks for nothing but ApiVersions, Fetch and
// FetchSnapshot.
func beforeID(t *testing.T) {
	q := newQuorum(t, 1, "A", [][]byte{mv(20)}) // no id yet
	q.start()
	proxy := newProxy(t, q.addrs[0])
	p := observer(t, "1@"+proxy.addr)
	s := p.launch()
	eventually(t, "it fetches", func() bool { return len(p.data()) == 3 })
	for _, r := range proxy.requestsSeen() {
		require.Contains(t, []string{"ApiVersions", "Fetch null"}, r)
	}
	q.upgrade(idVersion, 1)
	p.knows("A", s)
	afterID(t, proxy, "A")
}

// late is a deadline that is enough to be answered, on a busy machine too.
const late = "initial.broker.registration.timeout.ms=6000"

var _ = add(37, "a cluster below the version that has ids: an unformatted broker gives up, and says why", func(t *testing.T) {
	q := newQuorum(t, 1, "A", [][]byte{mv(20)})
	q.start()
	p := observer(t, q.voters, late)
	p.launch().fails("has no cluster id after 6s. It has one from metadata.version 4.5-IV1 (level 35) on", q.addrs[0])
	for i := range 2 {
		require.Equal(t, 2, p.meta(i).Version)
		require.Empty(t, p.meta(i).ClusterID)
	}
})

var _ = add(38, "an upgrade writes version and id in one batch, and who waits takes it", func(t *testing.T) {
	q := newQuorum(t, 1, "A", [][]byte{mv(20)})
	q.start()
	p := observer(t, q.voters)
	s := p.launch()
	eventually(t, "it waits", func() bool { return len(p.data()) == 3 })
	require.Empty(t, p.meta(0).ClusterID)
	q.upgrade(idVersion, 1)
	p.knows("A", s)
	require.True(t, slices.ContainsFunc(q.places[0].batches(), func(b []string) bool {
		return slices.Equal(text(mv(idVersion), idRecord("A")), b)
	}), "one batch")
	s.says("registered")
})

var _ = add(39, "a leader lost with the upgrade in its log alone: nothing of it counts, and it is repeated", func(t *testing.T) {
	q := newQuorum(t, 3, "A", [][]byte{mv(20)})
	boot := [][]byte{begin, mv(20), end}
	q.places[0].history(3, leaderChange, boot, [][]byte{mv(idVersion), idRecord("A")})
	q.places[1].history(3, leaderChange, boot)
	q.places[2].history(3, leaderChange, boot)
	q.start(1, 2)
	eventually(t, "it is told of", func() bool { epoch, _, _ := features(t, q.addrs[1]); return epoch >= 0 })
	_, levels, _ := features(t, q.addrs[1])
	require.Equal(t, map[string]int16{"metadata.version": 20}, levels)
	require.NotContains(t, q.places[1].data(), text(idRecord("A"))[0])
	q.upgrade(idVersion, 1)
	q.start(0)
	want := append(text(boot...), text(mv(idVersion), idRecord("A"))...)
	for _, p := range q.places {
		p.waitData(want...)
	}
})

var _ = add(40, "upgraded twice: the id is there twice, and is one", func(t *testing.T) {
	q := newQuorum(t, 1, "A", [][]byte{mv(20)}, "metadata.log.max.record.bytes.between.snapshots=1")
	q.start()
	q.upgrade(idVersion, 1)
	q.upgrade(33, 3)
	q.upgrade(idVersion, 1)
	p := q.places[0]
	count := 0
	for _, r := range p.data() {
		if r == text(idRecord("A"))[0] {
			count++
		}
	}
	require.Equal(t, 2, count)
	eventually(t, "a snapshot has it once", func() bool {
		return len(p.snapshots()) > 0 && slices.Equal(text(mv(idVersion), idRecord("A")), p.snapshot())
	})
})

var _ = add(43, "a data directory that cannot be written goes offline; without that of the metadata log the node ends", func(t *testing.T) {
	q := newQuorum(t, 1, "A", [][]byte{mv(20)})
	q.start()
	p, m := observer(t, q.voters), observer(t, q.voters)
	s, ends := p.launch(), m.launch()
	for _, o := range []*place{p, m} {
		eventually(t, "it waits", func() bool { return len(o.data()) == 3 })
	}
	// A directory where the new file would be written, which stops root too.
	require.NoError(t, os.Mkdir(p.path("d1/meta.properties.tmp"), 0o755))
	require.NoError(t, os.Mkdir(m.path("d0/meta.properties.tmp"), 0o755))
	q.upgrade(idVersion, 1)
	s.says("learned the cluster id")
	s.says("a log directory is offline")
	require.Equal(t, "A", p.meta(0).ClusterID)
	require.Empty(t, p.meta(1).ClusterID)
	s.runs()
	ends.fails("persist cluster id", "metadata directory "+m.dir(0))
	require.Empty(t, m.meta(0).ClusterID)
	require.NotContains(t, ends.said(), "learned the cluster id")
})

var _ = add(45, "a peer with another id is refused, and the quorum keeps its leader and epoch", func(t *testing.T) {
	// Nobody but the third has a reason to stand, however busy the machine.
	q := newQuorum(t, 3, "A", bootstrapOf("A"), "controller.quorum.election.timeout.ms=2000", "controller.quorum.fetch.timeout.ms=30000")
	q.places[2].configure(append(q.configuration(2), "controller.quorum.election.timeout.ms=300", "controller.quorum.fetch.timeout.ms=600")...)
	for i := range 2 {
		m := q.places[2].meta(i)
		m.ClusterID = "B"
		q.places[2].setMeta(i, m)
	}
	q.places[2].checkpoint(bootstrapOf("B"))
	q.start(0, 1)
	q.set("a", "1")
	leader := func() (id, epoch int32) {
		for _, addr := range q.addrs[:2] {
			r := kmsg.NewPtrDescribeQuorumRequest()
			r.Topics = []kmsg.DescribeQuorumRequestTopic{{Topic: "__cluster_metadata", Partitions: make([]kmsg.DescribeQuorumRequestTopicPartition, 1)}}
			if r, err := ask[*kmsg.DescribeQuorumResponse](t, addr, r); err == nil && r.Topics[0].Partitions[0].ErrorCode == 0 {
				return r.Topics[0].Partitions[0].LeaderID, r.Topics[0].Partitions[0].LeaderEpoch
			}
		}
		return -1, -1
	}
	id, epoch := leader()
	require.Positive(t, id)
	s := q.start(2)[0]
	s.says("INCONSISTENT_CLUSTER_ID")
	s.says("is Prospective")
	q.set("a", "2")
	after, then := leader()
	require.Equal(t, []int32{id, epoch}, []int32{after, then})
	s.runs()
	require.Empty(t, q.places[2].data())
	require.Equal(t, "B", q.places[2].meta(0).ClusterID)
})

var _ = add(47, "(R2) three voters that nobody formatted: one id, drawn by the first leader", func(t *testing.T) {
	q := newQuorum(t, 3, "", nil, "quorate.unformatted.voters=true")
	asked := newAsked(t)
	s := q.start()
	asked.learns(q)
	for i, p := range q.places {
		s[i].says("learned the cluster id")
		require.Equal(t, 2, p.meta(0).Version)
	}
	id := q.places[0].meta(0).ClusterID
	require.NotEmpty(t, id)
	for _, p := range q.places {
		for i := range 2 {
			require.Equal(t, id, p.meta(i).ClusterID)
		}
		count := 0
		for _, r := range p.data() {
			if strings.Contains(r, "CLUSTER_ID_RECORD") {
				count++
			}
		}
		require.Equal(t, 1, count)
	}
	s[0].kill()
	q.start(0)
	eventually(t, "it serves again", func() bool { _, ok := asked.knows(q, 0); return ok })
	asked.check(q, id)
})

var _ = add(48, "(R2) a leader lost with the id that it drew in its log alone: another is drawn, and it takes that", func(t *testing.T) {
	q := newQuorum(t, 3, "", nil, "quorate.unformatted.voters=true")
	for i, p := range q.places {
		for d := range 2 {
			p.setMeta(d, metaprops.Properties{Version: 2, NodeID: int32(i + 1), Directory: metaprops.NewDirectoryID()})
		}
	}
	q.places[0].history(3, leaderChange, append(append([][]byte{begin}, bootstrapOf("lost")...), end))
	q.places[1].history(3, leaderChange)
	q.places[2].history(3, leaderChange)
	q.start(1, 2)[0].says("learned the cluster id")
	id := q.places[1].meta(0).ClusterID
	require.NotEqual(t, "lost", id)
	q.places[0].knows(id, q.start(0)[0])
	require.NotContains(t, q.places[0].data(), text(idRecord("lost"))[0])
})

var _ = add(50, "a downgrade that loses the id: who knows it runs on, who does not waits in vain", func(t *testing.T) {
	q := newQuorum(t, 1, "A", bootstrapOf("A"), "metadata.log.max.record.bytes.between.snapshots=1", "metadata.max.retention.bytes=0")
	q.start()
	known := observer(t, q.voters)
	s := known.launch()
	known.knows("A", s)
	q.upgrade(33, 3)
	p := q.places[0]
	eventually(t, "the image has no id", func() bool {
		if len(p.snapshots()) == 0 {
			return false
		}
		image := slices.DeleteFunc(p.snapshot(), func(r string) bool { return strings.Contains(r, "REGISTER_BROKER_RECORD") })
		return slices.Equal(text(mv(33)), image)
	})
	q.set("a", "1")
	eventually(t, "the known one goes on", func() bool {
		return slices.Contains(known.data(), text(setting("a", "1"))[0]) || len(known.snapshots()) > 0
	})
	s.runs()
	observer(t, q.voters, late).launch().fails("has no cluster id after 6s")
})
