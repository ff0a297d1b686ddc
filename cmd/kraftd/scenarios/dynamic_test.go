package scenarios

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	kfs "github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/metaprops"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// dynamic is a controller of a quorum whose voters are in the log, reached at an address.
func dynamic(node int, listen, bootstrap string, lines ...string) []string {
	return append([]string{
		fmt.Sprintf("node.id=%d", node), "listeners=CONTROLLER://" + listen,
		"controller.quorum.voters=", "controller.quorum.bootstrap.servers=" + bootstrap,
		"controller.quorum.append.linger.ms=0", "controller.quorum.election.timeout.ms=500", "controller.quorum.fetch.timeout.ms=1000",
	}, lines...)
}

// firstBatch is what the first leader of a dynamic quorum writes.
var firstBatch = []string{"LeaderChange", "KRaftVersion", "KRaftVoters"}

// voters are those of the last KRaftVoters record of the log, as id@directory.
func (p *place) voters() (list []string) {
	p.t.Helper()
	p.each(func(b log.Batch) {
		if !b.Control {
			return
		}
		require.NoError(p.t, b.Controls(func(_ log.Record, voters []log.Voter) error {
			if voters != nil {
				list = nil
			}
			for _, v := range voters {
				list = append(list, fmt.Sprintf("%d@%s", v.ID, metaprops.DirectoryID(v.Directory)))
			}
			return nil
		}))
	})
	return list
}

// listens is the address of the listener in the configuration.
func (p *place) listens() string {
	_, rest, _ := strings.Cut(p.read("node.properties"), "\nlisteners=CONTROLLER://")
	addr, _, _ := strings.Cut(rest, "\n")
	return addr
}

// voter is the node of a place, as voters lists it.
func (p *place) voter() string {
	m := p.meta(0)
	return fmt.Sprintf("%d@%s", m.NodeID, m.Directory)
}

// elects waits until the voters of a log are these places.
func (p *place) elects(of ...*place) {
	p.t.Helper()
	var want []string
	for _, o := range of {
		want = append(want, o.voter())
	}
	slices.Sort(want)
	eventually(p.t, fmt.Sprintf("the voters are %v", want), func() bool { return slices.Equal(want, p.voters()) })
}

// zeroRecords are the records of the zero checkpoint, as the log has them.
func (p *place) zeroRecords() []string { return inTransaction(p.zero().Records...) }

// withoutRecords leaves only the voters in a zero checkpoint.
func (p *place) withoutRecords() {
	p.t.Helper()
	voters := p.zero().Voters
	w, err := snapshot.Replace(kfs.OS{}, filepath.Join(p.dir(0), metadata.LogDir), metadata.ZeroID, 1, log.KRaftVersionControl(1), log.KRaftVotersControl(voters))
	require.NoError(p.t, err)
	require.NoError(p.t, w.Freeze())
}

var _ = add(11, "case 3, dynamic standalone: the voters first, then the bootstrap", func(t *testing.T) {
	addr := ports(t, 1)[0]
	p := newPlace(t, dynamic(1, addr, addr, unstable)...)
	p.formatted("-t", "A", "-standalone", "-feature", fmt.Sprint(metadata.VersionFeature, "=", int(idVersion)))
	s := p.launch()
	eventually(t, "the bootstrap is in the log", func() bool { return len(p.batches()) == 2 })
	want := p.batches()
	require.Equal(t, firstBatch, want[0])
	boot := p.zeroRecords()
	n := len(boot) - 1
	require.Equal(t, boot[:n], want[1][:n])
	require.Equal(t, boot[n], want[1][len(want[1])-1])
	require.Contains(t, boot, text(idRecord("A"))[0])
	for _, more := range want[1][n : len(want[1])-1] { // a default that goes with a feature
		require.Contains(t, more, "CONFIG_RECORD")
	}
	p.elects(p)
	require.Contains(t, p.read("d0/"+metadata.LogDir+"/quorum-state"), `"data_version":1`)
	s.stop()
	p.launch() // and later leaders write no voters
	p.has(append(want, []string{"LeaderChange"}))
})

var _ = add(14, "case 2: a zero checkpoint without metadata records leaves it to bootstrap.checkpoint", func(t *testing.T) {
	q := newQuorum(t, 1, "A", [][]byte{})
	q.places[0].legacy(mv(20), setting("a", "1"))
	q.start()
	q.places[0].has(fresh(inTransaction(mv(20), setting("a", "1"))...))

	addr := ports(t, 1)[0]
	p := newPlace(t, dynamic(1, addr, addr)...)
	p.formatted("-t", "A", "-standalone")
	p.withoutRecords()
	p.legacy(mv(20), setting("a", "1"))
	p.launch()
	p.has([][]string{firstBatch, inTransaction(mv(20), setting("a", "1"))})
})

var _ = add(35, "a controller with empty directories learns the id, registers, and becomes a voter", func(t *testing.T) {
	beforeID(t)
	joins(t, 1)
})

// joins runs a voter, and controllers with empty directories that join it by themselves. All
// that they ask of it goes through a proxy.
func joins(t *testing.T, joiners int) (places []*place, nodes []*process) {
	addrs := ports(t, 1+joiners)
	proxy := newProxy(t, addrs[0])
	first := newPlace(t, dynamic(1, addrs[0], proxy.addr, "advertised.listeners=CONTROLLER://"+proxy.addr, unstable)...)
	first.formatted("-t", "A", "-standalone", "-feature", fmt.Sprint(metadata.VersionFeature, "=", int(idVersion)))
	places, nodes = []*place{first}, []*process{first.launch()}
	for i := range joiners {
		p := newPlace(t, dynamic(2+i, addrs[1+i], proxy.addr, "controller.quorum.auto.join.enable=true")...)
		s := p.launch()
		p.knows("A", s)
		places, nodes = append(places, p), append(nodes, s)
		first.elects(places...)
	}
	seen := proxy.requestsSeen()
	for i, r := range seen {
		if strings.HasPrefix(r, "AddRaftVoter") {
			require.Contains(t, seen[:i], "Fetch A", "%s before the id is known: %v", r, seen)
		}
	}
	require.Contains(t, seen, "AddRaftVoter A")
	eventually(t, "it registers", func() bool { return slices.Contains(proxy.requestsSeen(), "ControllerRegistration") })
	eventually(t, "it is registered", func() bool {
		return slices.ContainsFunc(first.data(), func(r string) bool { return strings.Contains(r, "REGISTER_CONTROLLER_RECORD") })
	})
	require.NotContains(t, seen, "AddRaftVoter null")
	for _, p := range places {
		p.elects(places...)
	}
	return places, nodes
}

var _ = add(36, "a node that joined becomes leader: what it says carries the id, and nobody writes another", func(t *testing.T) {
	places, nodes := joins(t, 2)
	// The first voter goes, and what is left is who joined.
	nodes[0].kill()
	before := places[1].data()
	eventually(t, "one of them leads", func() bool {
		b := places[1].batches()
		return b[len(b)-1][0] == "LeaderChange"
	})
	q := &quorum{t: t, addrs: []string{places[1].listens(), places[2].listens()}}
	q.set("after", "1")
	for _, p := range places[1:] {
		eventually(t, "it has the record", func() bool { return slices.Contains(p.data(), text(setting("after", "1"))[0]) })
		ids := 0
		for _, r := range p.data() {
			if strings.Contains(r, "CLUSTER_ID") {
				ids++
				require.Contains(t, r, `"A"`)
			}
		}
		require.Equal(t, 1, ids)
		require.Equal(t, before, p.data()[:len(before)])
	}
	for _, addr := range q.addrs {
		d := kmsg.NewPtrDescribeClusterRequest()
		d.EndpointType = 2
		r, err := ask[*kmsg.DescribeClusterResponse](t, addr, d)
		require.NoError(t, err)
		require.Equal(t, "A", r.ClusterID)
	}
	nodes[1].kill() // a quorum of one of three is none
	nodes[2].kill()
})
