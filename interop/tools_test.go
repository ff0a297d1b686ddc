//go:build interop

package interop

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTools asks a quorum of three kraftd with Kafka's tools, and has its dump tool read
// what they leave.
func TestTools(t *testing.T) {
	small := func() map[string]string {
		return map[string]string{between: "3000"}
	}
	members := cluster(t, 3, small(), small(), small())
	for _, m := range members {
		m.formatKraftd(t, "interop-tools")
		m.startKraftd(t)
	}
	leader, s := awaitLeader(t, members)
	var addrs []string
	for _, m := range members {
		addrs = append(addrs, m.addr)
	}
	bootstrap := strings.Join(addrs, ",")

	out := tool(t, configTool, "--bootstrap-controller", bootstrap, "--alter", "--entity-type", "brokers", "--entity-default",
		"--add-config", "log.cleaner.backoff.ms=12345")
	require.Contains(t, out, "Completed updating default config for brokers in the cluster.")
	out = tool(t, configTool, "--bootstrap-controller", bootstrap, "--describe", "--entity-type", "brokers", "--entity-default")
	require.Contains(t, out, "log.cleaner.backoff.ms=12345")
	out, err := tryTool(t, configTool, "--bootstrap-controller", bootstrap, "--alter", "--entity-type", "topics", "--entity-name", "foo",
		"--add-config", "segment.ms=-5")
	require.Error(t, err, "a value out of range is refused")
	require.Contains(t, out, "InvalidConfigurationException")

	// The rest is enough for a snapshot.
	leader.setConfigs(t, 60)
	for _, m := range members {
		eventually(t, fmt.Sprintf("node %d has taken a snapshot", m.id), func() bool { return len(files(t, m, "*.checkpoint")) > 0 })
	}

	_, s = awaitLeader(t, members)
	out = tool(t, quorumTool, "--bootstrap-controller", bootstrap, "describe", "--status")
	for key, want := range map[string]string{
		"ClusterId": "interop-tools", "LeaderId": fmt.Sprint(s.leader), "LeaderEpoch": fmt.Sprint(s.epoch), "HighWatermark": fmt.Sprint(s.highWatermark),
		"MaxFollowerLag": "0", "MaxFollowerLagTimeMs": `\d+`, "CurrentObservers": `\[\]`,
	} {
		require.Regexp(t, `(?m)^`+key+`: +`+want+`$`, out)
	}
	for _, m := range members {
		require.Contains(t, out, fmt.Sprintf(`"endpoints": ["CONTROLLER://%s"]`, m.addr))
	}
	out = tool(t, quorumTool, "--bootstrap-controller", bootstrap, "describe", "--replication")
	for _, m := range members {
		state := "Follower"
		if m.id == s.leader {
			state = "Leader"
		}
		require.Regexp(t, fmt.Sprintf(`(?m)^%d\s+\S{22}\s+%d\s+0\s+\d+\s+\d+\s+%s\s*$`, m.id, s.highWatermark, state), out)
	}

	for _, m := range members {
		m.process.stop(t)
	}
	for i, m := range members {
		checkpoints := files(t, m, "*.checkpoint")
		segments := files(t, m, "*.log")
		require.NotEmpty(t, files(t, m, "*.index"))
		if i > 0 {
			continue // Java starts slowly, and the others are the same
		}
		all := slices.Concat(segments, checkpoints, files(t, m, "*.index"), files(t, m, "*.timeindex"))
		requireDump(t, m, tool(t, dumpTool, "--cluster-metadata-decoder", "--files", strings.Join(all, ",")))
	}
	// What is held against its output shows damage.
	b, err := os.ReadFile(files(t, members[0], "*.log")[0])
	require.NoError(t, err)
	b[len(b)-1] ^= 1
	damaged := filepath.Join(t.TempDir(), "00000000000000000000.log")
	require.NoError(t, os.WriteFile(damaged, b, 0o644))
	out, _ = tryTool(t, dumpTool, "--cluster-metadata-decoder", "--files", damaged)
	require.Regexp(t, complaints, out)
}

func files(t *testing.T, m *member, pattern string) []string {
	found, err := filepath.Glob(filepath.Join(m.dir, metadataLogDir, pattern))
	require.NoError(t, err)
	return found
}

// complaints are what kafka-dump-log prints about files that are not right.
var complaints = regexp.MustCompile(`(?i)isvalid: false|invalid bytes|mismatch|non-consecutive|corrupt|out of order|exception|could not|error`)

// requireDump holds what kafka-dump-log prints to being of every record of a node, each
// decoded, without a complaint.
func requireDump(t *testing.T, m *member, out string) {
	t.Helper()
	if at := complaints.FindStringIndex(out); at != nil {
		t.Errorf("kafka-dump-log complains:\n%s", out[max(0, at[0]-300):min(len(out), at[1]+300)])
	}
	records := 0
	for _, b := range batchesOf(t, m.dir) {
		records += int(b.End - b.Base)
	}
	segment, rest, ok := strings.Cut(out, "Snapshot end offset")
	require.True(t, ok, "no checkpoint was dumped")
	require.Equal(t, records, strings.Count(segment, "\n| offset: "), "each record is printed")
	require.Contains(t, segment, "LeaderChange: {")
	require.Contains(t, segment, `payload: {"type":"FEATURE_LEVEL_RECORD","version":0,"data":{"name":"metadata.version"`)
	require.Contains(t, segment, `payload: {"type":"CONFIG_RECORD","version":0,"data":{"resourceType":4,"resourceName":"","name":"log.cleaner.backoff.ms","value":"12345"}}`)
	require.Contains(t, rest, "SnapshotHeader")
	require.Contains(t, rest, "SnapshotFooter")
	require.Contains(t, rest, `{"type":"CONFIG_RECORD","version":0`)
	require.NotContains(t, out, "skipping", "a record that is not decoded")
	t.Logf("kafka-dump-log reads %d records of the log, and %d of checkpoints", records, strings.Count(rest, "\n| offset: "))
}
