//go:build interop

package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// journalTopic is the topic that is the journal.
const journalTopic = "kafkasql-journal"

// TestRegistry has the registry keep its journal in a topic of a Kafka that is a broker and
// a controller. Instances are killed, as Kafka is, and each time another begins with nothing
// but Kafka and the images: it has the rows that were there, by their digest and by those of
// an instance that never began at an image, and has read the tail alone. What the topic has
// left after a trim, Kafka's own tool says.
func TestRegistry(t *testing.T) {
	command := filepath.Join(t.TempDir(), "registry")
	out, err := exec.Command("go", "build", "-C", "../impl/registry", "-o", command, "./cmd/registry").CombinedOutput()
	require.NoError(t, err, "build the registry:\n%s", out)
	broker := startBroker(t)
	images := filepath.Join(t.TempDir(), "images")
	run := func(args ...string) []string {
		return append([]string{"run", "--brokers", broker.bootstrap, "--topic", journalTopic, "--listen", "127.0.0.1:0", "--dir", t.TempDir()}, args...)
	}
	withImages := func() []string { return run("--objects", images, "--state-digest") }

	a := startRegistry(t, "a", command, withImages())
	require.EqualValues(t, 1, a.metric(t, "full_replay_total"))
	a.fill(t, 0, 120)
	require.Contains(t, registryRun(t, command, "checkpoint", "now", "--url", a.url), "CHECKPOINT")
	first := a.checkpoints(t, 1)[0]
	require.Equal(t, a.digest(t), digest{first.Offset, first.Digest})
	a.fill(t, 120, 40)
	want := a.digest(t)
	require.Equal(t, first.Offset+40, want.Offset)
	a.process.kill()

	whole := startRegistry(t, "whole", command, run()) // without images
	require.EqualValues(t, 1, whole.metric(t, "full_replay_total"))
	require.EqualValues(t, want.Offset+1, whole.metric(t, "start_records_replayed"))
	require.Equal(t, want, whole.digest(t), "what was killed, and a replay of the whole topic")
	b := startRegistry(t, "b", command, withImages())
	b.requireFrom(t, first, want)
	t.Logf("from the image of offset %d and %d records, and from %d records: digest %.16s", first.Offset, want.Offset-first.Offset, want.Offset+1, want.Digest)

	b.fill(t, 160, 40)
	registryRun(t, command, "checkpoint", "now", "--url", b.url)
	second := b.checkpoints(t, 2)[1]
	b.fill(t, 200, 40)
	want = b.digest(t)
	whole.awaitDigest(t, want)
	answer := registryRun(t, command, "trim", "--dry-run", "--url", b.url)
	require.Contains(t, answer, fmt.Sprintf("the journal began at offset 0 and would be trimmed to %d,", first.Offset))
	require.EqualValues(t, 0, broker.offset(t, "earliest"), "a dry run trims nothing")
	answer = registryRun(t, command, "trim", "--url", b.url)
	require.Contains(t, answer, fmt.Sprintf("the journal began at offset 0 and is trimmed to %d,", first.Offset))
	require.Equal(t, first.Offset, broker.offset(t, "earliest"))
	b.process.kill()

	// Kafka too, after it has written where the log begins (docs/interop.md); so the leader
	// has another epoch, which images of before are held against.
	eventually(t, "Kafka has written where the topic begins", func() bool {
		written, _ := os.ReadFile(filepath.Join(broker.dir, "log-start-offset-checkpoint"))
		return strings.Contains(string(written), fmt.Sprintf("%s 0 %d\n", journalTopic, first.Offset))
	})
	broker.process.kill()
	broker.startKafka(t)
	c := startRegistry(t, "c", command, withImages())
	c.requireFrom(t, second, want)
	c.fill(t, 240, 40)
	next := c.digest(t)
	require.Equal(t, want.Offset+40, next.Offset)
	require.Greater(t, c.epoch(t), second.Epoch, "Kafka was killed")
	whole.awaitDigest(t, next)
	t.Logf("the topic begins at %d; from the image of offset %d and %d records, and never restarted: digest %.16s",
		first.Offset, second.Offset, want.Offset-second.Offset, want.Digest)
	c.process.kill()

	// The older image ends with the first record that the topic still has.
	require.NoError(t, os.Truncate(filepath.Join(images, filepath.FromSlash(second.Key)), second.Size/2))
	d := startRegistry(t, "d", command, withImages())
	d.requireFrom(t, first, next)
	require.EqualValues(t, 1, d.metric(t, `images_rejected_total{reason="damaged"}`))

	// Nobody makes up what is gone.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	refused := exec.CommandContext(ctx, command, run()...)
	endWithUs(refused)
	said, err := refused.CombinedOutput()
	require.Error(t, err)
	require.Equal(t, 3, refused.ProcessState.ExitCode(), "%s", said)
	require.Contains(t, string(said), fmt.Sprintf("the journal begins at offset %d: the first missing offset is", first.Offset))
}

// broker is a Kafka that is a broker and a controller.
type broker struct {
	*member
	bootstrap string
}

func startBroker(t *testing.T) *broker {
	both := cluster(t, 2) // two addresses
	m := both[0]
	b := &broker{m, both[1].addr}
	m.settings = map[string]string{
		"process.roles": "broker,controller", "listeners": "PLAINTEXT://" + b.bootstrap + ",CONTROLLER://" + m.addr,
		"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT", "controller.quorum.voters": fmt.Sprintf("%d@%s", m.id, m.addr),
		"log.initial.task.delay.ms": "100", "log.flush.start.offset.checkpoint.interval.ms": "100",
		"num.network.threads": "1", "num.io.threads": "2", "log.cleaner.dedupe.buffer.size": "4194304",
	}
	m.formatKafka(t, "interop-registry")
	m.startKafka(t)
	return b
}

// offset is where the journal's topic begins ("earliest") or ends ("latest"), as Kafka's
// tool says.
func (b *broker) offset(t *testing.T, which string) int64 {
	t.Helper()
	out := tool(t, offsetTool, "--bootstrap-server", b.bootstrap, "--topic", journalTopic, "--time", which)
	n, ok := strings.CutPrefix(strings.TrimSpace(out), journalTopic+":0:")
	require.True(t, ok, out)
	offset, err := strconv.ParseInt(n, 10, 64)
	require.NoError(t, err, out)
	return offset
}

// instance is a registry that runs.
type instance struct {
	process *process
	url     string
}

var listening = regexp.MustCompile(`(?m)^listening on (\S+)$`)

// startRegistry starts one, and waits until it serves.
func startRegistry(t *testing.T, name, command string, args []string) *instance {
	t.Helper()
	i := &instance{process: start(t, "registry "+name, exec.Command(command, args...))}
	eventually(t, name+" is ready", func() bool {
		if !i.process.running() {
			t.Fatalf("%s ended", name)
		}
		m := listening.FindStringSubmatch(i.process.out.String())
		if m == nil {
			return false
		}
		i.url = "http://" + m[1]
		answer, err := http.Get(i.url + "/health/ready")
		if err != nil {
			return false
		}
		answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
	return i
}

// registryRun runs a command of the registry to its end.
func registryRun(t *testing.T, command string, args ...string) string {
	t.Helper()
	out, err := exec.Command(command, args...).CombinedOutput()
	require.NoError(t, err, "registry %v:\n%s", args, out)
	return string(out)
}

// ask sends a request, which must be answered with 200.
func (i *instance) ask(t *testing.T, method, path string, body any) []byte {
	t.Helper()
	b, err := json.Marshal(body)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, i.url+path, bytes.NewReader(b))
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	b, err = io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.StatusCode, "%s %s: %s", method, path, b)
	return b
}

// fill makes so many writes, each of one record: schemas whose number tells their id, and
// now and then the deletion of the one before.
func (i *instance) fill(t *testing.T, from, count int) {
	t.Helper()
	id := from - from/4
	for n := from; n < from+count; n++ {
		subject := fmt.Sprintf("/subjects/s%d", n/4)
		if n%4 == 3 {
			i.ask(t, http.MethodDelete, subject, nil)
			continue
		}
		schema := fmt.Sprintf(`{"type":"fixed","name":"f","size":%d}`, n+1)
		if n%4 > 0 { // backward compatible with what is there
			schema = fmt.Sprintf(`{"type":"fixed","name":"f","size":%d,"doc":"%d"}`, n/4*4+1, n)
		}
		id++
		require.JSONEq(t, fmt.Sprintf(`{"id":%d}`, id), string(i.ask(t, http.MethodPost, subject+"/versions", map[string]string{"schema": schema})))
	}
}

// digest of all rows after a record was applied.
type digest struct {
	Offset int64  `json:"offset"`
	Digest string `json:"stateDigest"`
}

func (i *instance) digest(t *testing.T) (d digest) {
	t.Helper()
	require.NoError(t, json.Unmarshal(i.ask(t, http.MethodGet, "/digest", nil), &d))
	require.Len(t, d.Digest, 64)
	return d
}

// epoch of the last record that was applied.
func (i *instance) epoch(t *testing.T) int32 {
	var d struct {
		Epoch int32 `json:"leaderEpoch"`
	}
	require.NoError(t, json.Unmarshal(i.ask(t, http.MethodGet, "/digest", nil), &d))
	return d.Epoch
}

// awaitDigest waits until an instance has applied what others wrote.
func (i *instance) awaitDigest(t *testing.T, want digest) {
	t.Helper()
	var have digest
	eventually(t, fmt.Sprintf("%s has offset %d", i.process.name, want.Offset), func() bool {
		have = i.digest(t)
		return have.Offset >= want.Offset
	})
	require.Equal(t, want, have, i.process.name)
}

// image is a checkpoint.
type image struct {
	ID     string `json:"checkpointId"`
	Key    string `json:"objectKey"`
	Size   int64  `json:"size"`
	Offset int64  `json:"offset"`
	Epoch  int32  `json:"leaderEpoch"`
	Digest string `json:"stateDigest"`
}

func (i *instance) checkpoints(t *testing.T, count int) (all []image) {
	t.Helper()
	require.NoError(t, json.Unmarshal(i.ask(t, http.MethodGet, "/checkpoints", nil), &all))
	require.Len(t, all, count)
	return all
}

// metric is one of the registry's.
func (i *instance) metric(t *testing.T, name string) float64 {
	t.Helper()
	metrics := i.ask(t, http.MethodGet, "/metrics", nil)
	m := regexp.MustCompile(`(?m)^registry_` + regexp.QuoteMeta(name) + ` (\S+)$`).FindSubmatch(metrics)
	require.NotNil(t, m, "no metric %s", name)
	v, err := strconv.ParseFloat(string(m[1]), 64)
	require.NoError(t, err)
	return v
}

// requireFrom holds an instance to having begun at an image, read the records after it and
// no others, and to have then what is wanted.
func (i *instance) requireFrom(t *testing.T, c image, want digest) {
	t.Helper()
	require.EqualValues(t, 1, i.metric(t, "restore_used_total"), i.process.name)
	require.EqualValues(t, 0, i.metric(t, "full_replay_total"), i.process.name)
	require.EqualValues(t, want.Offset-c.Offset, i.metric(t, "start_records_replayed"), i.process.name)
	require.Equal(t, want, i.digest(t), i.process.name)
}
