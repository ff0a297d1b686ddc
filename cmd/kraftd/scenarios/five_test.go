package scenarios

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/traces"
	"github.com/stretchr/testify/require"
)

// TestFiveConcerns has election, commit, bootstrap, snapshot and cluster-id discovery in one
// run: three controllers are formatted and bootstrap their cluster, snapshots are taken and
// the log start follows, one observer that was never formatted learns the cluster id by
// Fetch and one by FetchSnapshot, nodes of both kinds are killed at random, and an observer
// is restarted against another cluster. What all of them did is held against the
// specification of election, commit and snapshots; that a log was dropped, which a node does
// while it does not know its cluster, is a lost disk to it.
func TestFiveConcerns(t *testing.T) {
	const kills = 12
	trace := func(p *place) string { return "quorate.trace.file=" + p.path("trace.ndjson") }
	q := newQuorum(t, 3, "", nil, "metadata.log.max.record.bytes.between.snapshots=4000", "metadata.max.retention.bytes=4000",
		"unstable.feature.versions.enable=true")
	for i, p := range q.places {
		p.configure(append(q.configuration(i), trace(p))...)
		p.formatted("-t", "A", "-r", "4.5-IV1")
	}
	other := newQuorum(t, 3, "B", bootstrapOf("B")) // with voters of the same names
	other.start()
	for _, p := range other.places {
		p.waitData(inTransaction(bootstrapOf("B")...)...)
	}

	nodes := q.start()
	places := slices.Clone(q.places)
	watch := func(id int) *place {
		p := newPlace(t)
		p.configure(append(watching(q.voters, fmt.Sprintf("node.id=%d", id)), trace(p))...)
		places, nodes = append(places, p), append(nodes, p.launch())
		return p
	}
	random := rand.New(rand.NewPCG(1, 2))
	value := 0
	write := func(n int) {
		for range n {
			value++
			q.set("a", fmt.Sprint(value))
		}
	}
	write(5)
	byFetch := watch(4)
	byFetch.knows("A", nodes[3])
	require.Empty(t, byFetch.snapshots(), "it was sent none")
	require.Contains(t, byFetch.data(), text(idRecord("A"))[0])
	for gone := 0; gone < 3; {
		write(10)
		gone = 0
		for _, p := range q.places {
			if _, err := os.Stat(p.path(zeroName)); os.IsNotExist(err) {
				gone++
			}
		}
	}
	bySnapshot := watch(5)
	bySnapshot.knows("A", nodes[4])
	require.Contains(t, bySnapshot.read("trace.ndjson"), `"action":"InstallSnapshot"`)
	for range kills {
		i := random.IntN(len(nodes))
		time.Sleep(time.Duration(random.IntN(150)) * time.Millisecond)
		nodes[i].kill()
		write(1 + random.IntN(10))
		nodes[i] = places[i].launch()
	}
	write(1)
	last := text(setting("a", fmt.Sprint(value)))[0]
	for _, p := range places {
		eventually(t, "all have the last record", func() bool {
			d := p.data()
			return slices.Contains(d, last) || len(p.snapshots()) > 0 && len(d) == 0
		})
	}

	// Against another cluster an observer ends, with its files as they were.
	nodes[3].stop()
	metas := []string{byFetch.read("d0/meta.properties"), byFetch.read("d1/meta.properties")}
	byFetch.configure(append(watching(other.voters, "node.id=4", late), trace(byFetch))...)
	byFetch.launch().fails("INCONSISTENT_CLUSTER_ID")
	require.Equal(t, metas, []string{byFetch.read("d0/meta.properties"), byFetch.read("d1/meta.properties")})
	for _, p := range other.places {
		require.Equal(t, inTransaction(bootstrapOf("B")...), p.data())
	}
	for i, s := range nodes {
		if i != 3 {
			s.stop()
		}
	}

	for _, p := range places[:3] {
		require.Contains(t, p.read("trace.ndjson"), `"action":"TakeSnapshot"`)
		require.Equal(t, text(mv(idVersion), idRecord("A")), p.beginning())
	}
	t.Logf("%d kills, %d records", kills, value)

	dir := t.TempDir()
	var files []string
	for i, p := range places {
		name := filepath.Join(dir, fmt.Sprintf("node-%d.ndjson", i+1))
		require.NoError(t, os.Rename(p.path("trace.ndjson"), name))
		files = append(files, name)
	}
	rec, err := traces.Files(files...)
	require.NoError(t, err)
	res, err := traces.Validate(rec.Inputs, traces.Options{Hidden: 1, Run: &traces.Run{
		Voters: []int32{1, 2, 3}, Observers: []int32{4, 5}, PreVote: traces.PreVote{All: true},
	}})
	require.NoError(t, err)
	require.Equal(t, traces.Accepted, res.Verdict, "%v", res.Rejection)
	t.Logf("accepted: %d events, %d crashes, hidden steps %v", res.Stats.Events, res.Stats.Crashes, res.Stats.Hidden)
}

// beginning are the records of the latest snapshot that say how the cluster began.
func (p *place) beginning() (list []string) {
	for _, r := range p.snapshot() {
		if strings.Contains(r, `"`+metadata.VersionFeature+`"`) || strings.Contains(r, "CLUSTER_ID") {
			list = append(list, r)
		}
	}
	return list
}
