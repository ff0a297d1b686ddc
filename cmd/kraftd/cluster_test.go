package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMain is kraftd itself, if it is started as such.
func TestMain(m *testing.M) {
	if os.Getenv("KRAFTD_TEST") != "" {
		main()
	}
	os.Exit(m.Run())
}

type process struct {
	*exec.Cmd
	stdout, stderr bytes.Buffer
}

func startProcess(t *testing.T, args ...string) *process {
	p := &process{Cmd: exec.Command(os.Args[0], args...)}
	p.Env = append(os.Environ(), "KRAFTD_TEST=1")
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		p.Process.Kill()
		p.Wait()
		if t.Failed() {
			t.Logf("%v:\n%s%s", args, p.stdout.String(), p.stderr.String())
		}
	})
	return p
}

// Three nodes are formatted and started from files, elect a leader, which is told to
// stop and hands over, and their files can be read.
func TestThreeNodes(t *testing.T) {
	dir := t.TempDir()
	var addrs, voters []string
	var held []net.Listener // all until the end, so that they differ
	for id := range 3 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		held = append(held, l)
		addrs = append(addrs, l.Addr().String())
		voters = append(voters, fmt.Sprintf("%d@%s", id+1, l.Addr()))
	}
	for _, l := range held {
		require.NoError(t, l.Close())
	}
	nodes := make([]*process, 3)
	file := func(i int) string { return filepath.Join(dir, fmt.Sprintf("node%d.properties", i+1)) }
	for i := range nodes {
		require.NoError(t, os.WriteFile(file(i), fmt.Appendf(nil, "node.id=%d\nprocess.roles=controller\ncontroller.listener.names=CONTROLLER\n"+
			"listeners=CONTROLLER://%s\ncontroller.quorum.voters=%s\nlog.dirs=%s/d%[1]d\ncontroller.quorum.append.linger.ms=0\n",
			i+1, addrs[i], strings.Join(voters, ","), dir), 0o600))
		code, _, errs := kraftd("format", "-config", file(i), "-cluster-id", "three")
		require.Equal(t, 0, code, errs)
		nodes[i] = startProcess(t, "start", "-config", file(i), "-log-format", "json")
	}
	bootstrap := strings.Join(addrs, ",")
	status := regexp.MustCompile(`^ClusterId: +three\nLeaderId: +(\d)\nLeaderEpoch: +(\d+)\nHighWatermark: +([1-9]\d*)\n`)
	describe := func() (leader, epoch int) {
		require.Eventually(t, func() bool {
			code, out, _ := kraftd("quorum", "describe", "--status", "--bootstrap-controller", bootstrap)
			m := status.FindStringSubmatch(out)
			if code != 0 || m == nil {
				return false
			}
			leader, _ = strconv.Atoi(m[1])
			epoch, _ = strconv.Atoi(m[2])
			return true
		}, time.Minute, 20*time.Millisecond)
		return leader, epoch
	}
	leader, epoch := describe()
	require.Eventually(t, func() bool { // all fetch
		_, out, _ := kraftd("quorum", "describe", "--replication", "--bootstrap-controller", addrs[leader%3])
		return strings.Count(out, "\n") == 4 && !strings.Contains(out, "\t-1 ")
	}, time.Minute, 20*time.Millisecond)

	other := startProcess(t, "start", "-config", file(leader-1))
	require.Error(t, other.Wait())
	require.Contains(t, other.stderr.String(), "another process uses it")

	stopped := nodes[leader-1]
	require.NoError(t, stopped.Process.Signal(syscall.SIGTERM))
	require.NoError(t, stopped.Wait(), "exit code 0")
	require.Contains(t, stopped.stderr.String(), `"msg":"stopped"`)
	require.Contains(t, stopped.stderr.String(), `"msg":"is Resigned"`)
	next, later := describe()
	require.NotEqual(t, leader, next)
	require.Greater(t, later, epoch)

	for i, p := range nodes {
		if i != leader-1 {
			require.NoError(t, p.Process.Signal(syscall.SIGTERM))
			require.NoError(t, p.Wait())
		}
	}
	var files []string
	for _, pattern := range []string{"d*/meta.properties", "d*/__cluster_metadata-0/*"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern))
		require.NoError(t, err)
		files = append(files, found...)
	}
	code, out, errs := kraftd(append([]string{"dump"}, files...)...)
	require.Equal(t, 0, code, errs)
	require.Contains(t, out, `LeaderChange {"version":0,"leaderId":`+strconv.Itoa(leader))
	require.Contains(t, out, "version: 1 cluster.id: three node.id: 2 directory.id: ")
}
