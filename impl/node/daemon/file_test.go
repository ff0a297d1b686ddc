package daemon

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/metaprops"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/stretchr/testify/require"
)

// setup writes the configuration of the only voter of a quorum, and formats its
// directories m (of the metadata log), a and b.
func setup(t *testing.T, more string) (file, dir string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "node.properties")
	text := fmt.Sprintf("node.id=1\nprocess.roles=controller\ncontroller.listener.names=C\nlisteners=C://127.0.0.1:0\n"+
		"controller.quorum.voters=1@127.0.0.1:9\ncontroller.quorum.election.timeout.ms=10\n"+
		"log.dirs=%s/a,%[1]s/b\nmetadata.log.dir=%[1]s/m\n%s", dir, more)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	for i, d := range []string{"m", "a", "b"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, d), 0o755))
		p := metaprops.Properties{Version: 1, ClusterID: "c", NodeID: 1, Directory: metaprops.NewDirectoryID()}
		if i == 0 {
			p.Directory = metaprops.DirectoryID{} // as an older Kafka leaves it
		}
		require.NoError(t, metaprops.Write(fs.OS{}, filepath.Join(dir, d), p))
	}
	return file, dir
}

// logs is a buffer that several goroutines may use.
type logs struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestFromFile(t *testing.T) {
	file, dir := setup(t, "advertised.listeners=C://n1:7\nsuper.users=User:ANONYMOUS\nfoo=1\nmax.connections=9\ncontroller.quorum.append.linger.ms=3\nmetadata.log.segment.bytes=9000000\n")
	o, err := parse("x", []string{"-config", file, "-metrics", "127.0.0.1:0"}, nil)
	require.NoError(t, err)
	require.Equal(t, []string{
		file + ":11: foo is not a key that kraftd knows, and has no effect",
		"advertised.listeners has n1:7, but the voters of a static quorum are told 127.0.0.1:9, as controller.quorum.voters says",
	}, o.warnings)
	require.Equal(t, node.Config{
		ID: 1, Dir: dir + "/m", Listen: "127.0.0.1:0", ListenerName: "C", Voters: []node.Voter{{ID: 1, Addr: "127.0.0.1:9"}},
		Core:       core.Config{ElectionTimeout: 10, FetchTimeout: 2000, ElectionBackoffMax: 1000, RequestTimeout: 2000, RetryBackoff: 20, AppendLinger: 3},
		Log:        o.node.Log,
		Snapshots:  snapshot.Policy{MaxBytes: 20 << 20, MaxIntervalMs: 3600 * 1000},
		Retention:  snapshot.Retention{MaxBytes: 100 << 20, MaxMs: 7 * 24 * 3600 * 1000},
		SuperUsers: []string{"User:ANONYMOUS"}, MaxConnections: 9,
	}, o.node)
	require.EqualValues(t, 9000000, o.node.Log.SegmentBytes)
	require.EqualValues(t, 7*24*3600*1000, o.node.Log.SegmentMs)
	require.Equal(t, "127.0.0.1:0", o.metrics)

	// It leads, says so in logs and metrics, and resigns when it is told to stop.
	signals := make(chan os.Signal, 2)
	var errs logs
	out, in := io.Pipe()
	o.json = true
	ended := make(chan error, 1)
	go func() { ended <- o.run(slog.New(o.logs(&errs)), signals, in) }()
	line := make([]byte, 1000)
	n, err := out.Read(line)
	require.NoError(t, err)
	var incarnation int
	var quorum, metrics string
	_, err = fmt.Sscanf(string(line[:n]), "node 1 incarnation %d serves %s metrics %s\n", &incarnation, &quorum, &metrics)
	require.NoError(t, err, string(line[:n]))
	require.Equal(t, 1, incarnation)
	get := func(path string) (int, string) {
		resp, err := http.Get("http://" + metrics + path)
		require.NoError(t, err)
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		return resp.StatusCode, string(b)
	}
	require.Eventually(t, func() bool { code, _ := get("/readyz"); return code == 200 }, 20*time.Second, 5*time.Millisecond)
	code, _ := get("/healthz")
	require.Equal(t, 200, code)
	_, text := get("/metrics")
	require.Contains(t, text, `kafka_server_raft_metrics_current_state{state="leader"} 1`)
	set, err := metaprops.Load(fs.OS{}, []string{dir + "/m"})
	require.NoError(t, err)
	require.NotZero(t, set.Dirs[0].Directory, "one was given")
	require.Contains(t, text, `current_vote_directory_id{directory_id="`+set.Dirs[0].Directory.String()+`"} 1`)
	for _, d := range []string{"m", "a", "b"} {
		_, err := node.LockDir(filepath.Join(dir, d))
		require.Error(t, err, "%s is in use", d)
	}
	signals <- syscall.SIGTERM
	require.NoError(t, <-ended)
	var messages []string
	for line := range strings.Lines(errs.String()) {
		var entry map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &entry), line)
		messages = append(messages, entry["msg"].(string))
	}
	require.Equal(t, "wrote meta.properties", messages[0])
	require.Subset(t, messages, []string{"started", "is Leader", "stops", "stopped"})
	require.Equal(t, "stopped", messages[len(messages)-1])
	for _, d := range []string{"m", "a", "b"} {
		unlock, err := node.LockDir(filepath.Join(dir, d))
		require.NoError(t, err)
		unlock()
	}
	_, err = http.Get("http://" + metrics + "/healthz")
	require.Error(t, err, "it is not served any more")
}

func TestFileRefused(t *testing.T) {
	for name, c := range map[string]struct {
		more string // of the configuration
		do   func(t *testing.T, dir string)
		code int
		says string
	}{
		"ssl":           {"listener.security.protocol.map=C:SSL\nssl.keystore.type=PEM\nssl.keystore.location=k\n", nil, 2, "node.properties: TLS: "},
		"two listeners": {"controller.listener.names=C,D\nlisteners=C://127.0.0.1:0,D://127.0.0.1:0\n", nil, 2, "listeners: more than one is not supported yet"},
		"bad value":     {"metadata.log.segment.bytes=x\n", nil, 2, "node.properties:9: metadata.log.segment.bytes=x: want a number"},
		"no directory": {"", func(t *testing.T, dir string) { require.NoError(t, os.RemoveAll(dir+"/b")) }, 1,
			"/b is not formatted, as a controller that takes part in the first election must be"},
		"not formatted": {"", func(t *testing.T, dir string) { require.NoError(t, os.Remove(dir+"/m/meta.properties")) }, 1, "/m is not formatted"},
		"other node": {"", func(t *testing.T, dir string) {
			require.NoError(t, metaprops.Write(fs.OS{}, dir+"/a", metaprops.Properties{Version: 1, ClusterID: "c", NodeID: 2}))
		}, 1, "/a/meta.properties is of node 2, and the configuration has node.id 1"},
		"other cluster": {"", func(t *testing.T, dir string) {
			require.NoError(t, metaprops.Write(fs.OS{}, dir+"/b", metaprops.Properties{Version: 1, ClusterID: "d", NodeID: 1}))
		}, 1, `/b/meta.properties is of cluster "d", and `},
		"no cluster": {"", func(t *testing.T, dir string) {
			for _, d := range []string{"/m", "/a", "/b"} {
				require.NoError(t, metaprops.Write(fs.OS{}, dir+d, metaprops.Properties{Version: 2, NodeID: 1}))
			}
		}, 1, "has no cluster.id"},
		"unreadable": {"", func(t *testing.T, dir string) {
			require.NoError(t, os.WriteFile(dir+"/m/meta.properties", []byte("version=8"), 0o600))
		}, 1, `/m/meta.properties: version "8" is not 0, 1 or 2`},
		"log elsewhere": {"", func(t *testing.T, dir string) { require.NoError(t, os.Mkdir(dir+"/a/__cluster_metadata-0", 0o700)) }, 1,
			"/a has a __cluster_metadata-0, but metadata.log.dir is "},
		"in use": {"", func(t *testing.T, dir string) {
			unlock, err := node.LockDir(dir + "/a")
			require.NoError(t, err)
			t.Cleanup(unlock)
		}, 1, "/a: another process uses it"},
		"no directory of the trace": {"quorate.trace.file=/nowhere/x.events\n", nil, 1, "quorate.trace.file: /nowhere/x.events: open /nowhere/"},
		"port in use": {"", func(t *testing.T, dir string) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			t.Cleanup(func() { l.Close() })
			b, err := os.ReadFile(dir + "/node.properties")
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(dir+"/node.properties", append(b, "quorate.metrics.listener="+l.Addr().String()+"\n"...), 0o600))
		}, 1, "metrics: listen tcp"},
	} {
		t.Run(name, func(t *testing.T) {
			file, dir := setup(t, c.more)
			if c.do != nil {
				c.do(t, dir)
			}
			var stdout, stderr bytes.Buffer
			require.Equal(t, c.code, Start("kraftd start", []string{"-config", file}, &stdout, &stderr), stderr.String())
			require.Contains(t, stderr.String(), c.says)
			require.Empty(t, stdout.String())
			for _, d := range []string{"m", "b"} { // nothing stays locked
				if unlock, err := node.LockDir(filepath.Join(dir, d)); err == nil {
					unlock()
				} else {
					require.ErrorIs(t, err, os.ErrNotExist)
				}
			}
		})
	}
	var stdout, stderr bytes.Buffer
	require.Equal(t, 2, Start("kraftd start", []string{"-config", "x", "-id", "1"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "-id cannot be given beside -config")
}

// A second signal ends a node that does not end by itself.
func TestSecondSignal(t *testing.T) {
	busy := make(blocked)
	n, err := node.Start(node.Config{ID: 1, Dir: t.TempDir(), Voters: []node.Voter{{ID: 1, Addr: "127.0.0.1:9"}, {ID: 2, Addr: "127.0.0.1:10"}}, Observer: busy})
	require.NoError(t, err)
	signals := make(chan os.Signal, 1)
	signals <- os.Interrupt
	require.ErrorContains(t, stop(n, signals), "second signal")
	close(busy)
	require.NoError(t, n.Close())
}

// blocked keeps a node in a step until it is closed.
type blocked chan struct{}

func (b blocked) Stepped(time.Time, time.Time, node.State) { <-b }
