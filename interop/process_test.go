//go:build interop

package interop

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience bounds every wait. It is long, since Java starts slowly on a busy machine.
const patience = 90 * time.Second

// process is a node that runs. It is killed when the test ends, and its output shown
// if the test failed.
type process struct {
	*exec.Cmd
	name   string
	out    lockedBuffer
	exited chan struct{}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func start(t *testing.T, name string, cmd *exec.Cmd) *process {
	p := &process{Cmd: cmd, name: name, exited: make(chan struct{})}
	p.Stdout, p.Stderr = &p.out, &p.out
	endWithUs(p.Cmd)
	require.NoError(t, p.Start())
	go func() {
		p.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.kill()
		if t.Failed() {
			t.Logf("%s:\n%s", name, lastLines(p.out.String(), 40))
		}
	})
	return p
}

// kill is kill -9.
func (p *process) kill() {
	p.Process.Kill()
	<-p.exited
}

// stop tells the process to stop, and waits until it has.
func (p *process) stop(t *testing.T) {
	t.Helper()
	require.NoError(t, p.Process.Signal(syscall.SIGTERM), p.name)
	select {
	case <-p.exited:
	case <-time.After(patience):
		t.Fatalf("%s does not stop", p.name)
	}
}

func (p *process) running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// javaFlags keep a process small, and its start short.
var javaFlags = []string{"-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"}

// javaCommand runs a class of Kafka, which logs to a file.
func javaCommand(ctx context.Context, t *testing.T, log, class string, args ...string) *exec.Cmd {
	settings, err := filepath.Abs("testdata/log4j2.properties")
	require.NoError(t, err)
	all := append([]string{}, javaFlags...)
	all = append(all, "-Dlog4j2.configurationFile="+settings, "-Dinterop.log="+log, "-cp", strings.Join(kafka.jars, ":"), class)
	return exec.CommandContext(ctx, kafka.java, append(all, args...)...)
}

// tool runs one of Kafka's tools to its end, and returns what it printed. It must
// succeed, and log no error.
func tool(t *testing.T, class string, args ...string) string {
	t.Helper()
	out, err := tryTool(t, class, args...)
	require.NoError(t, err, "%s %v:\n%s", class, args, out)
	return out
}

func tryTool(t *testing.T, class string, args ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	log := filepath.Join(t.TempDir(), "tool.log")
	cmd := javaCommand(ctx, t, log, class, args...)
	endWithUs(cmd)
	out, err := cmd.CombinedOutput()
	requireNoErrors(t, log)
	return string(out), err
}

// kraftdRun runs a command of kraftd to its end.
func kraftdRun(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command(kraftd, args...).CombinedOutput()
	require.NoError(t, err, "kraftd %v:\n%s", args, out)
	return string(out)
}

// errorLine is a line at ERROR or above, with the exception that the next one names.
var errorLine = regexp.MustCompile(`(?m)^\S+ (?:ERROR|FATAL) .*(?:\n[\w.$]+Exception: .*)?`)

// notActiveYet says whether an error is that of a Kafka controller which has been elected and
// is not active yet: whoever asks it to be registered is refused (NotControllerException),
// which it logs as an error, and asks again. It asks itself too.
func notActiveYet(text string) bool {
	return strings.Contains(text, "Unexpected error handling request RequestHeader(apiKey=CONTROLLER_REGISTRATION, ") &&
		strings.Contains(text, "NotControllerException: The active controller appears to be node")
}

// requireNoErrors holds a log of Kafka to having nothing at ERROR or above.
func requireNoErrors(t *testing.T, log string) {
	t.Helper()
	b, err := os.ReadFile(log)
	if os.IsNotExist(err) {
		return // nothing was logged
	}
	require.NoError(t, err)
	lines := slices.DeleteFunc(errorLine.FindAllString(string(b), -1), notActiveYet)
	if len(lines) > 0 {
		t.Errorf("%s has %d lines at ERROR:\n%.3000s", log, len(lines), strings.Join(lines, "\n"))
	}
}

func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	if len(lines) > n {
		lines = append([]string{fmt.Sprintf("(%d lines)", len(lines)-n)}, lines[len(lines)-n:]...)
	}
	return strings.Join(lines, "\n")
}

// eventually waits until a condition holds; what says what was waited for.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}
