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
	"github.com/quorate/quorate/traces/concerns"
	"github.com/quorate/quorate/traces/event/concern"
	"github.com/stretchr/testify/require"
)

// TestFiveConcerns has election, commit, bootstrap, snapshot and cluster-id discovery in one
// run: three controllers are formatted and bootstrap their cluster, snapshots are taken and
// the log start follows, one observer that was never formatted learns the cluster id by
// Fetch and one by FetchSnapshot, nodes of both kinds are killed at random, and an observer
// is restarted against another cluster. What all of them did is held against the
// specification: elections, commits and snapshots against package spec, to which a log that is
// dropped, as a node does while it does not know its cluster, is a lost disk; bootstrap and
// cluster ids against spec/bootstrap and spec/clusterid on the same logs.
func TestFiveConcerns(t *testing.T) {
	const kills = 12
	q := newQuorum(t, 3, "", nil, "metadata.log.max.record.bytes.between.snapshots=4000", "metadata.max.retention.bytes=4000",
		"unstable.feature.versions.enable=true")
	for _, p := range q.places {
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
		p := newPlace(t, watching(q.voters, fmt.Sprintf("node.id=%d", id))...)
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
	require.Contains(t, bySnapshot.read(traceFile), `"action":"InstallSnapshot"`)
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
	byFetch.configure(watching(other.voters, "node.id=4", late)...)
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
		require.Contains(t, p.read(traceFile), `"action":"TakeSnapshot"`)
		require.Equal(t, text(mv(idVersion), idRecord("A")), p.beginning())
	}
	t.Logf("%d kills, %d records", kills, value)

	dir := t.TempDir()
	var files []string
	for i, p := range places {
		name := filepath.Join(dir, fmt.Sprintf("node-%d.ndjson", i+1))
		require.NoError(t, os.Rename(p.path(traceFile), name))
		files = append(files, name)
		name = filepath.Join(dir, concern.FileName(int32(i+1)))
		require.NoError(t, os.Rename(p.path(concern.FileName(int32(i+1))), name))
	}
	rec, err := traces.Files(files...)
	require.NoError(t, err)
	res, err := traces.Validate(rec.Inputs, traces.Options{Hidden: 1, Run: &traces.Run{
		Voters: []int32{1, 2, 3}, Observers: []int32{4, 5}, PreVote: traces.PreVote{All: true},
	}})
	require.NoError(t, err)
	require.Equal(t, traces.Accepted, res.Verdict, "%v", res.Rejection)
	inputs, err := concerns.Find(rec.Inputs)
	require.NoError(t, err)
	beside, err := concerns.Validate(inputs, concerns.Options{Hidden: 1})
	require.NoError(t, err)
	if beside.Rejection != nil {
		t.Fatal(beside.Rejection.Text())
	}
	for _, in := range inputs {
		require.NotNil(t, in.Replica, "%s is held against the log of its replica", in.Name)
	}
	adopted := beside.Events[concern.ClusterID]["Adopt"]
	require.GreaterOrEqual(t, adopted, 2, "once by Fetch, once by FetchSnapshot")
	require.Positive(t, beside.Events[concern.Bootstrap]["InstallSnapshot"])
	require.Equal(t, 1, beside.Events[concern.ClusterID]["Timeout"], "at the other cluster")
	held := map[string]int{}
	for action, times := range res.Stats.Actions {
		held[concernOf(action)] += times
	}
	t.Logf("accepted: election %d events, commit %d, snapshot %d, bootstrap %d, cluster id %d; %d crashes, hidden steps %v",
		held["election"], held["commit"], held["snapshot"], beside.Of(concern.Bootstrap), beside.Of(concern.ClusterID), res.Stats.Crashes, res.Stats.Hidden)
	t.Logf("beside the traces: %s", beside.Text())
}

// concernOf is which of the concerns an action of a replica belongs to.
func concernOf(action string) string {
	for _, of := range []struct{ concern, words string }{
		{"snapshot", "Snapshot AdvanceLogStart"},
		{"commit", "LeaderChange"},
		{"election", "Vote Quorum Prospective Candidate BecomeLeader Resign"},
	} {
		for _, word := range strings.Fields(of.words) {
			if strings.Contains(action, word) {
				return of.concern
			}
		}
	}
	return "commit"
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
