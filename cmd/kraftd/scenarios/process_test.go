package scenarios

import (
	"bytes"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// process is a node that runs. It is killed when the test ends, and what it said shown if
// the test failed.
type process struct {
	*exec.Cmd
	t              *testing.T
	stdout, stderr output
	exited         chan struct{}
}

// output is what a process writes, while it does.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer // guarded by mu
}

func (o *output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(b)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// launch starts kraftd with the configuration of the place.
func (p *place) launch() *process {
	p.t.Helper()
	n := &process{Cmd: exec.Command(kraftd, "start", "-config", p.config()), t: p.t, exited: make(chan struct{})}
	n.Stdout, n.Stderr = &n.stdout, &n.stderr
	require.NoError(p.t, n.Start())
	go func() {
		n.Wait()
		close(n.exited)
	}()
	p.t.Cleanup(func() {
		n.kill()
		if p.t.Failed() {
			p.t.Logf("%v:\n%s%s", n.Args, n.stdout.String(), n.stderr.String())
		}
	})
	return n
}

// starts launches a node, and waits until it serves.
func (p *place) starts() *process {
	p.t.Helper()
	n := p.launch()
	eventually(p.t, "the node serves", func() bool {
		select {
		case <-n.exited:
			p.t.Fatalf("the node has ended:\n%s", n.stderr.String())
		default:
		}
		return strings.Contains(n.stdout.String(), " serves ")
	})
	return n
}

// kill is kill -9.
func (n *process) kill() {
	n.Process.Kill()
	<-n.exited
}

// stop tells a node to stop, and waits until it has.
func (n *process) stop() {
	n.t.Helper()
	require.NoError(n.t, n.Process.Signal(syscall.SIGTERM))
	n.ends()
	require.Zero(n.t, n.ProcessState.ExitCode(), n.stderr.String())
}

// ends waits for the end of a node.
func (n *process) ends() {
	n.t.Helper()
	select {
	case <-n.exited:
	case <-time.After(patience):
		n.t.Fatalf("the node goes on:\n%s", n.stderr.String())
	}
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}
