//go:build interop

package interop

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/metadata"
	"github.com/stretchr/testify/require"
)

const (
	alice = `SCRAM-SHA-256=[name=alice,salt="MWx2NHBkbnc0ZndxN25vdGN4bTB5Y3ZlMg==",password=secret,iterations=8192]`
	bob   = `SCRAM-SHA-512=[name=bob,salt="N3E=",saltedpassword="YCE="]`
)

const initialControllers = "1@127.0.0.1:9091:JEXY6aqzQY-32P5TStzaFg,2@127.0.0.1:9092:MvDxzVmcRsaTz33bUuRU6A"

var static = "controller.quorum.voters=1@127.0.0.1:9091"

var dynamic = "controller.quorum.bootstrap.servers=127.0.0.1:9091"

// formatCases are formatted by both. lines are of the configuration.
var formatCases = []struct {
	name  string
	lines []string
	args  []string
}{
	{"static", []string{static}, nil},
	{"static with release", []string{static}, []string{"--release-version", "3.4"}},
	{"static with features", []string{static}, []string{"--release-version", "4.0", "--feature", "group.version=0", "--feature", "eligible.leader.replicas.version=1", "--feature", "kraft.version=0"}},
	{"static without initial controllers", []string{static}, []string{"--no-initial-controllers"}},
	{"static with credentials", []string{static}, []string{"--add-scram", alice, "--add-scram", bob}},
	{"standalone", []string{dynamic}, []string{"--standalone"}},
	{"standalone with version", []string{dynamic, "unstable.feature.versions.enable=true"}, []string{"--standalone", "--feature", "metadata.version=34"}},
	{"initial controllers", []string{dynamic}, []string{"--initial-controllers", initialControllers}},
	{"initial controllers with others", []string{dynamic}, []string{"--initial-controllers", strings.Replace(initialControllers, "1@", "3@", 1)}},
	{"no initial controllers", []string{dynamic}, []string{"--no-initial-controllers"}},
	{"broker", []string{dynamic, "process.roles=broker", "listeners=PLAINTEXT://127.0.0.1:9092"}, nil},
	{"broker with initial controllers", []string{dynamic, "process.roles=broker", "listeners=PLAINTEXT://127.0.0.1:9092"}, []string{"--initial-controllers", initialControllers}},

	// Refused by both, and nothing is written.
	{"refused: static and standalone", []string{static}, []string{"--standalone"}},
	{"refused: nothing said", []string{dynamic}, nil},
	{"refused: broker and standalone", []string{dynamic, "process.roles=broker", "listeners=PLAINTEXT://127.0.0.1:9092"}, []string{"--standalone"}},
	{"refused: credential too early", []string{static}, []string{"--release-version", "3.4", "--add-scram", alice}},
	{"refused: not for production", []string{static}, []string{"--feature", "metadata.version=34"}},
	{"refused: kraft.version", []string{static}, []string{"--feature", "kraft.version=1"}},
	{"refused: needs", []string{static}, []string{"--release-version", "3.9", "--feature", "eligible.leader.replicas.version=1"}},
}

// TestFormat formats directories with kafka-storage and with kraftd: they have the same
// files, and the same bytes in them but for times and for directory ids that are drawn.
func TestFormat(t *testing.T) {
	for _, c := range formatCases {
		t.Run(c.name, func(t *testing.T) {
			both := map[string]map[string]string{}
			for _, kind := range []string{"kafka", "kraftd"} {
				root := t.TempDir()
				lines := []string{"node.id=1", "process.roles=controller", "controller.listener.names=CONTROLLER", "listeners=CONTROLLER://127.0.0.1:9091",
					"log.dirs=" + root + "/d0," + root + "/d1"}
				for _, line := range c.lines {
					key, _, _ := strings.Cut(line, "=")
					lines = append(slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, key+"=") }), line)
				}
				file := filepath.Join(root, "node.properties")
				require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
				args := append([]string{"format", "-c", file, "-t", "my cluster"}, c.args...)
				var out string
				var err error
				if kind == "kafka" {
					out, err = tryTool(t, storageTool, args...)
				} else {
					out, err = tryKraftd(args...)
				}
				require.Equal(t, strings.HasPrefix(c.name, "refused"), err != nil, "%s: %s", kind, out)
				both[kind] = masked(t, root)
			}
			require.Equal(t, slices.Sorted(maps.Keys(both["kafka"])), slices.Sorted(maps.Keys(both["kraftd"])))
			for name, want := range both["kafka"] {
				require.Equal(t, want, both["kraftd"][name], name)
			}
		})
	}
}

var comment = regexp.MustCompile(`(?m)^#.*\n`)

// masked is what is in the directories below root, by name. Times are zero, and the ids of
// directories that were drawn stand as such.
func masked(t *testing.T, root string) map[string]string {
	all := map[string]string{}
	drawn := regexp.MustCompile(`directory\.id=(\S+)`)
	var ids []string
	require.NoError(t, filepath.WalkDir(root, func(name string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Name() == "node.properties" {
			return err
		}
		b, err := os.ReadFile(name)
		rel, _ := filepath.Rel(root, name)
		all[rel] = string(b)
		if m := drawn.FindSubmatch(b); m != nil && !strings.Contains(initialControllers, string(m[1])) {
			ids = append(ids, string(m[1]))
		}
		return err
	}))
	for name, content := range all {
		switch {
		case strings.HasSuffix(name, ".checkpoint"):
			content = maskedBatches(t, content, ids)
		default:
			lines := strings.Split(strings.TrimSpace(comment.ReplaceAllString(content, "")), "\n")
			slices.Sort(lines) // Kafka writes them in no order
			content = strings.Join(lines, "\n")
			for _, id := range ids {
				content = strings.ReplaceAll(content, id, "(drawn)")
			}
		}
		all[name] = content
	}
	return all
}

// maskedBatches is a dump of batches without their times, checksums and drawn directory
// ids. That a checksum is right is checked first.
func maskedBatches(t *testing.T, content string, ids []string) string {
	b := []byte(content)
	for at := 0; at < len(b); {
		size := 12 + int(binary.BigEndian.Uint32(b[at+8:]))
		one := b[at : at+size]
		require.Equal(t, binary.BigEndian.Uint32(one[17:]), crc32.Checksum(one[21:], crc32.MakeTable(crc32.Castagnoli)))
		clear(one[17:21])
		clear(one[27:43])
		if at == 0 { // SnapshotHeader: LastContainedLogTimestamp
			clear(one[73:81])
		}
		at += size
	}
	for _, id := range ids {
		b = []byte(strings.ReplaceAll(string(b), string(decodeID(t, id)), strings.Repeat("D", 16)))
	}
	return fmt.Sprintf("%d bytes\n%s", len(b), hex.Dump(b))
}

func decodeID(t *testing.T, id string) []byte {
	b, err := base64.RawURLEncoding.DecodeString(id)
	require.NoError(t, err)
	return b
}

func tryKraftd(args ...string) (string, error) {
	out, err := exec.Command(kraftd, args...).CombinedOutput()
	return string(out), err
}

// TestDynamicQuorum starts Kafka on what kraftd format -standalone has prepared. The log begins with the voters, then with the bootstrap in a
// transaction, the records of the zero checkpoint among them.
func TestDynamicQuorum(t *testing.T) {
	m := cluster(t, 1)[0]
	m.settings = map[string]string{"controller.quorum.voters": "", "controller.quorum.bootstrap.servers": m.addr}
	kraftdRun(t, "format", "-config", m.config(t), "-cluster-id", "dynamic", "-standalone", "-add-scram", alice)
	zero, ok, err := metadata.ReadZero(fs.OS{}, m.dir)
	require.NoError(t, err)
	require.True(t, ok)
	m.startKafka(t)
	m.awaitRegistered(t)
	m.process.stop(t)

	batches := batchesOf(t, m.dir)
	require.Equal(t, []string{"LeaderChange", "KRaftVersion", "KRaftVoters"}, recordsOf(t, batches[0]))
	want := []string{`{"type":"BEGIN_TRANSACTION_RECORD","version":0,"data":{"name":"Bootstrap records"}}`}
	for _, b := range zero.Records {
		r, err := metadata.Decode(b)
		require.NoError(t, err)
		want = append(want, r.String())
	}
	// Kafka adds what follows from eligible.leader.replicas.version.
	want = append(want, `{"type":"CONFIG_RECORD","version":0,"data":{"resourceType":4,"resourceName":"","name":"min.insync.replicas","value":"1"}}`,
		`{"type":"END_TRANSACTION_RECORD","version":0,"data":{}}`)
	require.Equal(t, want, recordsOf(t, batches[1]))
}

// recordsOf are the records of a batch in words.
func recordsOf(t *testing.T, b log.Batch) (list []string) {
	require.NoError(t, b.Records(func(r log.Record) error {
		if b.Control {
			list = append(list, r.Control().String())
			return nil
		}
		record, err := metadata.Decode(r.Value)
		list = append(list, record.String())
		return err
	}))
	return list
}
