//go:build interop

package interop

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Classes of Kafka.
const (
	kafkaServer    = "kafka.Kafka"
	storageTool    = "kafka.tools.StorageTool"
	dumpTool       = "org.apache.kafka.tools.DumpLogSegments"
	quorumTool     = "org.apache.kafka.tools.MetadataQuorumCommand"
	configTool     = "org.apache.kafka.tools.ConfigCommand"
	offsetTool     = "org.apache.kafka.tools.GetOffsetShell"
	metadataLogDir = "__cluster_metadata-0"
)

// member is a node of a cluster, which kraftd and Kafka can run, one after the other.
type member struct {
	id       int
	addr     string
	dir      string
	logs     string // directory for what Kafka logs
	settings map[string]string
	voters   string
	starts   int
	process  *process
	java     bool   // what runs, or ran
	trace    string // where Kafka logs what its raft layer does; empty: nowhere
}

// cluster makes members with directories that are not formatted yet. Times are short,
// but Kafka's in proportion.
func cluster(t *testing.T, n int, settings ...map[string]string) []*member {
	root := t.TempDir()
	var held []net.Listener // all until the end, so that they differ
	addr := func() string {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		held = append(held, l)
		return l.Addr().String()
	}
	var all []*member
	var voters []string
	for i := range n {
		m := &member{id: i + 1, addr: addr(), dir: filepath.Join(root, fmt.Sprintf("d%d", i+1)), logs: root}
		m.settings = map[string]string{}
		if i < len(settings) && settings[i] != nil {
			m.settings = settings[i]
		}
		voters = append(voters, fmt.Sprintf("%d@%s", m.id, m.addr))
		all = append(all, m)
	}
	for _, m := range all {
		m.voters = strings.Join(voters, ",")
	}
	for _, l := range held {
		require.NoError(t, l.Close())
	}
	return all
}

// config writes the configuration file, for either kind.
func (m *member) config(t *testing.T) string {
	all := map[string]string{
		"node.id": strconv.Itoa(m.id), "process.roles": "controller", "controller.listener.names": "CONTROLLER",
		"listeners": "CONTROLLER://" + m.addr, "controller.quorum.voters": m.voters, "log.dirs": m.dir,
	}
	maps.Copy(all, m.settings)
	var text string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		text += key + "=" + all[key] + "\n"
	}
	name := filepath.Join(m.logs, fmt.Sprintf("node%d.properties", m.id))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	return name
}

func (m *member) formatKraftd(t *testing.T, cluster string) {
	kraftdRun(t, "format", "-config", m.config(t), "-cluster-id", cluster)
}

func (m *member) formatKafka(t *testing.T, cluster string) {
	tool(t, storageTool, "format", "-c", m.config(t), "-t", cluster)
}

// startKraftd starts kraftd.
func (m *member) startKraftd(t *testing.T) {
	t.Helper()
	m.starts++
	m.java = false
	file := m.config(t)
	m.process = start(t, fmt.Sprintf("kraftd %d", m.id), exec.Command(kraftd, "start", "-config", file))
	eventually(t, fmt.Sprintf("kraftd %d serves", m.id), func() bool {
		if !m.process.running() {
			t.Fatalf("kraftd %d ended", m.id)
		}
		return strings.Contains(m.process.out.String(), " serves ")
	})
}

// kafkaLog is what the last Kafka of this node logs.
func (m *member) kafkaLog() string {
	return filepath.Join(m.logs, fmt.Sprintf("kafka%d-%d.log", m.id, m.starts))
}

// startKafka starts a Kafka controller. What it logs is looked through for errors when
// the test ends.
func (m *member) startKafka(t *testing.T) {
	t.Helper()
	m.launchKafka(t)
	m.awaitKafka(t)
}

// launchKafka starts it, and awaitKafka waits until it serves: a quorum starts as one.
func (m *member) launchKafka(t *testing.T) {
	t.Helper()
	m.starts++
	m.java = true
	log := m.kafkaLog()
	t.Cleanup(func() {
		requireNoErrors(t, log)
		if t.Failed() {
			b, _ := os.ReadFile(log)
			t.Logf("%s:\n%s", log, lastLines(string(b), 40))
		}
	})
	cmd := javaCommand(context.Background(), t, log, kafkaServer, m.config(t))
	if m.trace != "" {
		settings, err := filepath.Abs("testdata/log4j2-trace.properties")
		require.NoError(t, err)
		cmd.Args = slices.Insert(cmd.Args, len(javaFlags)+2, "-Dlog4j2.configurationFile="+settings, "-Dinterop.trace="+m.trace)
	}
	m.process = start(t, fmt.Sprintf("kafka %d", m.id), cmd)
}

func (m *member) awaitKafka(t *testing.T) {
	t.Helper()
	log := m.kafkaLog()
	eventually(t, fmt.Sprintf("kafka %d has started", m.id), func() bool {
		if !m.process.running() {
			t.Fatalf("kafka %d ended", m.id)
		}
		b, _ := os.ReadFile(log)
		return strings.Contains(string(b), "Kafka Server started")
	})
}

// awaitRegistered waits until a Kafka controller has found itself in the log, to which the
// leader has written it.
func (m *member) awaitRegistered(t *testing.T) {
	t.Helper()
	if !m.java {
		return
	}
	eventually(t, fmt.Sprintf("kafka %d is registered", m.id), func() bool {
		b, _ := os.ReadFile(m.kafkaLog())
		return strings.Contains(string(b), "Our registration has been persisted to the metadata log")
	})
}

func (m *member) kind() string {
	if m.java {
		return "kafka"
	}
	return "kraftd"
}
