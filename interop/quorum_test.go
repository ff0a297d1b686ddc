//go:build interop

package interop

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// between says how many bytes of records lead to a snapshot.
const between = "metadata.log.max.record.bytes.between.snapshots"

// mixed is two kraftd and a Kafka controller, which are called 1, 2 and 3.
type mixed struct {
	members []*member
	kills   map[string]int
}

func (q *mixed) start(t *testing.T, m *member) {
	t.Helper()
	if m.id == 3 {
		m.startKafka(t)
	} else {
		m.startKraftd(t)
	}
}

// kill is kill -9 of one, and not the end of it: then it is started again. In between
// the others must go on.
func (q *mixed) kill(t *testing.T, m *member) {
	t.Helper()
	q.kills[m.kind()]++
	m.process.kill()
	next, s := awaitLeader(t, q.members)
	require.NotEqual(t, m.id, s.leader)
	t.Logf("killed %s %d; %s %d leads epoch %d", m.kind(), m.id, next.kind(), next.id, s.epoch)
	next.setConfigs(t, 5)
	q.start(t, m)
	m.awaitRegistered(t)
}

// led kills leaders until one of a kind leads.
func (q *mixed) led(t *testing.T, java bool) (*member, status) {
	t.Helper()
	for range 8 {
		leader, s := awaitLeader(t, q.members)
		if leader.java == java {
			t.Logf("%s %d leads epoch %d", leader.kind(), leader.id, s.epoch)
			return leader, s
		}
		q.kill(t, leader)
	}
	t.Fatal("none of this kind was elected")
	return nil, status{}
}

// lose has a follower lose its log, and get a snapshot of the leader, which has taken
// one.
func (q *mixed) lose(t *testing.T, leader, m *member) {
	t.Helper()
	taken := func(m *member) (all []string) {
		return slices.DeleteFunc(files(t, m, "*.checkpoint"), func(name string) bool { return strings.HasPrefix(filepath.Base(name), strings.Repeat("0", 20)) })
	}
	eventually(t, leader.kind()+" has taken a snapshot", func() bool { return len(taken(leader)) > 0 })
	m.process.kill()
	require.NoError(t, os.RemoveAll(filepath.Join(m.dir, metadataLogDir)))
	q.start(t, m)
	m.awaitRegistered(t)
	var got string
	eventually(t, m.kind()+" has got a snapshot", func() bool {
		all := taken(m)
		if len(all) > 0 {
			got = all[0]
		}
		return len(all) > 0
	})
	want, err := os.ReadFile(filepath.Join(leader.dir, metadataLogDir, filepath.Base(got)))
	require.NoError(t, err)
	have, err := os.ReadFile(got)
	require.NoError(t, err)
	require.True(t, bytes.Equal(want, have), "%s is not the leader's", got)
	t.Logf("%s %d lost its log, and got %s, %d bytes, from %s %d", m.kind(), m.id, filepath.Base(got), len(have), leader.kind(), leader.id)
}

// TestMixedQuorum: two kraftd and a Kafka controller elect leaders of both kinds,
// replicate, survive kill -9 of both, send each other snapshots, and keep the same logs.
// Kafka logs no error.
func TestMixedQuorum(t *testing.T) {
	// Kafka is mostly elected, but for the epoch in which it was killed: it stands first
	// without a leader, and last when one is gone, when the other grants pre-votes again.
	last := func() map[string]string {
		return map[string]string{"controller.quorum.election.timeout.ms": "2000", "controller.quorum.fetch.timeout.ms": "1000", between: "2000"}
	}
	q := &mixed{kills: map[string]int{}, members: cluster(t, 3, last(), last(),
		map[string]string{"controller.quorum.election.timeout.ms": "500", "controller.quorum.fetch.timeout.ms": "2500", between: "2000"})}
	cluster := "interop-mixed-quorum-0"
	for _, m := range q.members[:2] {
		m.formatKraftd(t, cluster)
	}
	q.members[2].formatKafka(t, cluster)
	for _, id := range []int{3, 1, 2} {
		q.start(t, q.members[id-1])
	}

	kafka, _ := q.led(t, true)
	kafka.awaitRegistered(t)
	kafka.setConfigs(t, 50)
	q.lose(t, kafka, q.members[0])
	_, s := awaitLeader(t, q.members)
	requireSameLogs(t, q.members, s.highWatermark)
	q.kill(t, kafka)

	leader, _ := q.led(t, false)
	before := s.highWatermark
	leader.setConfigs(t, 50)
	_, s = awaitLeader(t, q.members)
	require.GreaterOrEqual(t, s.highWatermark, before+50)
	q.lose(t, leader, kafka)
	_, s = awaitLeader(t, q.members)
	requireSameLogs(t, q.members, s.highWatermark)
	q.kill(t, leader)

	kafka, _ = q.led(t, true)
	kafka.setConfigs(t, 5)
	_, s = awaitLeader(t, q.members)
	requireSameLogs(t, q.members, s.highWatermark)
	require.Positive(t, q.kills["kafka"])
	require.Positive(t, q.kills["kraftd"])
	t.Logf("killed with -9: %v", q.kills)
}
