//go:build interop

package interop

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// keepVar names a directory where TestKafkaTrace leaves the log that it judged.
const keepVar = "QUORATE_INTEROP_KEEP"

// TestKafkaTrace has three Kafka controllers log what their raft layer does, kills the
// leader, starts it again, and holds the log against the specification, with Pre-Vote.
func TestKafkaTrace(t *testing.T) {
	members := cluster(t, 3)
	for _, m := range members {
		m.settings = map[string]string{
			"controller.quorum.election.timeout.ms": "2000", "controller.quorum.fetch.timeout.ms": "3000",
			"controller.quorum.election.backoff.max.ms": "500",
		}
		m.formatKafka(t, "interop-trace-cluster")
		m.trace = filepath.Join(m.logs, fmt.Sprintf("raft%d.log", m.id))
	}
	for _, m := range members {
		m.launchKafka(t)
	}
	for _, m := range members {
		m.awaitKafka(t)
	}
	leader := ledBy(t, members, nil)
	t.Logf("node %d leads; it is killed", leader.id)
	leader.process.kill()
	next := ledBy(t, members, leader)
	t.Logf("node %d leads", next.id)
	leader.startKafka(t)
	eventually(t, "who was killed follows", func() bool {
		b, _ := os.ReadFile(leader.trace)
		_, since, _ := cutLast(string(b), "Reading KRaft snapshot and log")
		return strings.Contains(since, "Completed transition to FollowerState") && strings.Contains(since, "Follower high watermark updated")
	})
	var logs []string
	for _, m := range members {
		m.process.kill()
		logs = append(logs, m.trace)
	}
	if dir := os.Getenv(keepVar); dir != "" {
		for _, log := range logs {
			b, err := os.ReadFile(log)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(log)), b, 0o644))
		}
	}
	quorate := filepath.Join(t.TempDir(), "quorate")
	out, err := exec.Command("go", "build", "-o", quorate, "../cmd/quorate").CombinedOutput()
	require.NoError(t, err, "%s", out)
	out, err = exec.Command(quorate, append([]string{"trace", "check", "-kafka-log"}, logs...)...).CombinedOutput()
	t.Logf("%s", out)
	require.NoError(t, err)
	require.Contains(t, string(out), "accepted")
}

// cutLast cuts s around the last sep.
func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}

// ledBy waits until one of the members, not the one that was killed, leads as the last of
// all, and another follows it.
func ledBy(t *testing.T, members []*member, killed *member) (leader *member) {
	eventually(t, "a leader, and who follows it", func() bool {
		epoch := -1
		leader = nil
		follows := map[string]bool{}
		for _, m := range members {
			if m == killed {
				continue
			}
			b, _ := os.ReadFile(m.trace)
			_, last, ok := cutLast(string(b), "Completed transition to ")
			var e int
			if at := strings.Index(last, "epoch="); ok && at >= 0 {
				fmt.Sscanf(last[at:], "epoch=%d", &e)
			}
			switch {
			case strings.HasPrefix(last, "LeaderState") || strings.HasPrefix(last, "Leader("):
				if e > epoch {
					leader, epoch = m, e
				}
			case strings.HasPrefix(last, "FollowerState"):
				follows[fmt.Sprint(e)] = strings.Contains(string(b), "Follower high watermark updated") || follows[fmt.Sprint(e)]
			}
		}
		return leader != nil && follows[fmt.Sprint(epoch)]
	})
	return leader
}
