//go:build interop

package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/quorumstate"
	"github.com/stretchr/testify/require"
)

// TestKafkaCandidateThatLost confirms a finding on a running Kafka ("A candidate that has
// already lost comes back", docs/findings.md). Node 3 voted for itself in epoch 1, lost to
// node 1 and fetched a record of it. After a restart it is a candidate again, and the
// answer of a voter that knows no leader, INVALID_REQUEST as Kafka's own would be, ends its
// process. kraftd in its place follows node 1.
func TestKafkaCandidateThatLost(t *testing.T) {
	const timeout = "controller.quorum.election.timeout.ms"
	members := cluster(t, 3, nil, map[string]string{timeout: "600000"}, map[string]string{timeout: "20000"})
	answers, lost := members[1], members[2]
	for _, m := range members[1:] {
		m.formatKraftd(t, "interop-lost-candidate")
		require.NoError(t, os.MkdirAll(filepath.Join(m.dir, metadataLogDir), 0o755)) // format may have
	}
	dir := filepath.Join(lost.dir, metadataLogDir)
	l, _, err := log.Open(fs.OS{}, dir, log.Config{})
	require.NoError(t, err)
	_, err = l.AppendRaw(log.AppendLeaderChangeBatch(nil, 0, 1, log.LeaderChange{Leader: 1, Voters: []int32{1, 2, 3}, Granting: []int32{1, 2}}, 1))
	require.NoError(t, err)
	require.NoError(t, l.Close())
	require.NoError(t, os.Remove(filepath.Join(dir, log.PointFile)), "as if Kafka had written it")
	writeElection(t, answers, -1, 1)
	writeElection(t, lost, 1, 3)
	answers.startKraftd(t)

	lost.starts++
	lost.java = true
	lost.process = start(t, "kafka 3", javaCommand(t.Context(), t, lost.kafkaLog(), kafkaServer, lost.config(t)))
	says := func() string {
		b, _ := os.ReadFile(lost.kafkaLog())
		return string(b)
	}
	eventually(t, "Kafka ends, or gives up to be elected", func() bool {
		return !lost.process.running() || strings.Contains(says(), "Completed transition to ProspectiveState")
	})
	require.Contains(t, says(), "Completed transition to CandidateState(localId=3")
	ended := !lost.process.running() && strings.Contains(says(), "IllegalStateException: Received unexpected invalid request error")
	if kafka.version == "4.4.0" {
		require.True(t, ended, lastLines(says(), 20))
	}
	t.Logf("Kafka %s ended by the answer: %v", kafka.version, ended)

	lost.process.kill()
	writeElection(t, lost, 1, 3) // Kafka has forgotten the leader
	lost.startKraftd(t)
	eventually(t, "kraftd follows", func() bool {
		return strings.Contains(lost.process.out.String(), `msg="is Follower" node=3 epoch=1 leader=1`)
	})
	require.NotContains(t, lost.process.out.String(), `msg="is Candidate"`)
}

// writeElection makes a quorum-state file by hand, of epoch 1.
func writeElection(t *testing.T, m *member, leader, voted int32) {
	t.Helper()
	name := filepath.Join(m.dir, metadataLogDir, quorumstate.FileName)
	text := fmt.Sprintf(`{"clusterId":"","leaderId":%d,"leaderEpoch":1,"votedId":%d,"appliedOffset":0,"currentVoters":[{"voterId":1},{"voterId":2},{"voterId":3}],"data_version":0}`, leader, voted)
	require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
}
