//go:build interop

package interop

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/metaprops"
	"github.com/stretchr/testify/require"
)

// dynamicMembers are nodes that find their quorum at the addresses of all.
func dynamicMembers(t *testing.T, n int) []*member {
	members := cluster(t, n)
	var addrs []string
	for _, m := range members {
		addrs = append(addrs, m.addr)
	}
	for _, m := range members {
		m.settings = map[string]string{
			"controller.quorum.voters": "", "controller.quorum.bootstrap.servers": strings.Join(addrs, ","),
			"advertised.listeners":                  "CONTROLLER://" + m.addr,
			"controller.quorum.election.timeout.ms": "1000", "controller.quorum.fetch.timeout.ms": "2000",
		}
	}
	return members
}

func (m *member) directory(t *testing.T) string {
	p, err := metaprops.Read(fs.OS{}, m.dir)
	require.NoError(t, err)
	return p.Directory.String()
}

// awaitVoters waits until the leader counts these as voters, with what they are by disk.
func awaitVoters(t *testing.T, running []*member, voters ...*member) (*member, status) {
	t.Helper()
	var leader *member
	var s status
	var out string
	eventually(t, "the voters are as they should be", func() bool {
		leader, s = awaitLeader(t, running)
		out = kraftdRun(t, "quorum", "describe", "-status", "-bootstrap-controller", leader.addr)
		_, list, _ := strings.Cut(out, "CurrentVoters:")
		list, _, _ = strings.Cut(list, "\n")
		for _, m := range voters {
			if !strings.Contains(list, fmt.Sprintf(`"id": %d, "directoryId": "%s", "endpoints": ["CONTROLLER://%s"]`, m.id, m.directory(t), m.addr)) {
				return false
			}
		}
		return strings.Count(list, `"id"`) == len(voters)
	})
	return leader, s
}

// TestMembership: voters come and go in a quorum of both kinds (KIP-853, KIP-1186). Kafka's
// tool adds and removes a kraftd; a Kafka controller joins a kraftd that leads by itself, and
// a kraftd a Kafka controller; and what they leave are the same logs.
func TestMembership(t *testing.T) {
	all := dynamicMembers(t, 4)
	one, two, kafka, four := all[0], all[1], all[2], all[3]
	const id = "interop-membership-00A"
	kraftdRun(t, "format", "-config", one.config(t), "-cluster-id", id, "-standalone")
	one.startKraftd(t)
	awaitVoters(t, all[:1], one)

	kraftdRun(t, "format", "-config", two.config(t), "-cluster-id", id, "-no-initial-controllers")
	two.startKraftd(t)
	add := func(m *member) {
		var out string
		eventually(t, "Kafka's tool adds a voter", func() bool {
			var err error
			out, err = tryTool(t, quorumTool, "--bootstrap-controller", one.addr, "--command-config", m.config(t), "add-controller")
			return err == nil
		})
		require.Contains(t, out, fmt.Sprintf("Added controller %d with directory id %s", m.id, m.directory(t)))
	}
	add(two)
	awaitVoters(t, all[:2], one, two)

	kafka.settings["controller.quorum.auto.join.enable"] = "true"
	tool(t, storageTool, "format", "-c", kafka.config(t), "-t", id, "--no-initial-controllers")
	kafka.startKafka(t)
	kafka.awaitRegistered(t)
	leader, s := awaitVoters(t, all[:3], one, two, kafka)
	require.False(t, leader.java)
	leader.setConfigs(t, 20)
	_, s = awaitLeader(t, all[:3])
	requireSameLogs(t, all[:3], s.highWatermark)

	// Until Kafka leads, leaders are removed, and come back as voters.
	for range 6 {
		if leader, _ = awaitLeader(t, all[:3]); leader.java {
			break
		}
		out := tool(t, quorumTool, "--bootstrap-controller", leader.addr, "remove-controller", "--controller-id", fmt.Sprint(leader.id),
			"--controller-directory-id", leader.directory(t))
		require.Contains(t, out, fmt.Sprintf("Removed KRaft controller %d with directory id %s", leader.id, leader.directory(t)))
		var rest []*member
		for _, m := range all[:3] {
			if m != leader {
				rest = append(rest, m)
			}
		}
		awaitVoters(t, rest, rest...)
		// Whoever leads now refuses it until the replica has caught up with it.
		eventually(t, "who was removed is added", func() bool {
			b, err := exec.Command(kraftd, "quorum", "add-controller", "-bootstrap-controller", kafka.addr, "-command-config", leader.config(t)).CombinedOutput()
			out = string(b)
			return err == nil
		})
		require.Contains(t, out, "Added controller")
		awaitVoters(t, all[:3], one, two, kafka)
	}
	require.True(t, leader.java, "Kafka was never elected")

	// A kraftd with empty directories joins what Kafka leads.
	four.settings["controller.quorum.auto.join.enable"] = "true"
	kraftdRun(t, "format", "-config", four.config(t), "-cluster-id", id, "-no-initial-controllers")
	four.startKraftd(t)
	leader, _ = awaitVoters(t, all, all...)
	leader.setConfigs(t, 20)
	_, s = awaitLeader(t, all)
	requireSameLogs(t, all, s.highWatermark)
}
