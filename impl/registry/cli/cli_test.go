package cli

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/registry/state"
	"github.com/quorate/quorate/impl/registry/trace"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/sr"
)

// asCommand has the test binary be the command.
const asCommand = "REGISTRY_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(asCommand) != "" {
		os.Exit(Main(nil, os.Args[1:]))
	}
	os.Exit(m.Run())
}

func process(t *testing.T, args ...string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, args...)
	cmd.Env = append(os.Environ(), asCommand+"=1")
	return cmd
}

// do runs the command to its end.
func do(t *testing.T, code int, args ...string) string {
	t.Helper()
	var out bytes.Buffer
	cmd := process(t, args...)
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	require.Equal(t, code, cmd.ProcessState.ExitCode(), "%v: %v: %s", args, err, out.String())
	return out.String()
}

// serve starts a registry, and returns its URL.
func serve(t *testing.T, args ...string) (*exec.Cmd, string) {
	t.Helper()
	cmd := process(t, append([]string{"run", "--listen", "127.0.0.1:0"}, args...)...)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = io.Discard
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	url := "http://" + strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	require.Eventually(t, func() bool {
		a, err := http.Get(url + "/health/ready")
		if err != nil {
			return false
		}
		a.Body.Close()
		return a.StatusCode == http.StatusOK
	}, time.Minute, 5*time.Millisecond)
	return cmd, url
}

// The commands, on a registry that is killed and started again.
func TestCommands(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	dir := t.TempDir()
	images, events := filepath.Join(dir, "images"), filepath.Join(dir, "events")
	args := []string{"--dir", filepath.Join(dir, "a"), "--objects", images, "--trace", events, "--state-digest"}
	cmd, url := serve(t, args...)
	client, err := sr.NewClient(sr.URLs(url))
	require.NoError(t, err)
	for i, say := range []string{"there are 0 good images", "there is 1 good image", ""} {
		if say != "" {
			require.Contains(t, do(t, 1, "trim", "--dry-run", "--url", url), say+", and --keep asks for 2: nothing is trimmed")
		}
		_, err := client.CreateSchema(ctx, fmt.Sprint("s", i), sr.Schema{Schema: `"int"`})
		require.NoError(t, err)
		require.Contains(t, do(t, 0, "checkpoint", "now", "--url", url), "CHECKPOINT")
	}
	require.Len(t, strings.Split(strings.TrimSpace(do(t, 0, "checkpoint", "list", "--url", url)), "\n"), 4)
	require.Contains(t, do(t, 0, "trim", "--dry-run", "--url", url), "would be trimmed to")
	require.Contains(t, do(t, 0, "trim", "-url="+url), "is trimmed to")

	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	_, url = serve(t, args...)
	client, err = sr.NewClient(sr.URLs(url))
	require.NoError(t, err)
	names, err := client.Subjects(ctx)
	require.NoError(t, err)
	require.Len(t, names, 3)
	a, err := http.Get(url + "/metrics")
	require.NoError(t, err)
	b, err := io.ReadAll(a.Body)
	require.NoError(t, err)
	require.NoError(t, a.Body.Close())
	require.Contains(t, string(b), "registry_restore_used_total 1")

	require.Equal(t, 3, strings.Count(do(t, 0, "checkpoint", "verify", "--objects", images), "good"))
	to := filepath.Join(dir, "restored")
	do(t, 0, "restore", "--objects", images, "--to", to)
	img, err := state.Inspect(ctx, to, true, nil)
	require.NoError(t, err)
	require.NotEmpty(t, img.Digest)
	require.Contains(t, do(t, 1, "restore", "--objects", images, "--to", to), "is not overwritten")
	files, err := filepath.Glob(filepath.Join(images, "images", "*", "*.zst"))
	require.NoError(t, err)
	require.Len(t, files, 3)
	for _, f := range files {
		require.NoError(t, os.Truncate(f, 100))
	}
	require.Contains(t, do(t, 1, "checkpoint", "verify", "--objects", images), "3 of 3 images cannot be used")
	require.Contains(t, do(t, 1, "restore", "--objects", images, "--to", to+"2"), "there is no image to restore")
	require.NoFileExists(t, to+"2")
	require.Contains(t, do(t, 1, "trim", "--url", url), "there are 0 good images, and --keep asks for 2: nothing is trimmed")

	require.Contains(t, do(t, 0, "judge", events), "2 starts, 1 from an image, 3 commits")
	text, err := os.ReadFile(events)
	require.NoError(t, err)
	wrong := filepath.Join(dir, "wrong")
	require.NoError(t, os.WriteFile(wrong, bytes.Replace(text, []byte(`"action":"ReplayAll"`), []byte(`"action":"GiveUp"`), 1), 0o644))
	require.Contains(t, do(t, 1, "judge", wrong), "it had given up")
	require.Contains(t, do(t, 1, "judge", to), "line 1")
	require.Contains(t, do(t, 1, "judge", os.DevNull), "no event")
	require.Contains(t, do(t, exitUsage, "judge"), "wants one file")
	f, err := os.Open(events)
	require.NoError(t, err)
	defer f.Close()
	recorded, err := trace.Read(f)
	require.NoError(t, err)
	require.Empty(t, trace.Judge(recorded, 2))
	require.Equal(t, 1, trace.Count(recorded, trace.Install))
}

// A flag may have one dash, as those of the other commands; what is a value stays.
func TestOneDash(t *testing.T) {
	root := new(command).root()
	require.Equal(t,
		[]string{"run", "--dir", "x", "--cluster-id", "-abc", "--every=1h", "--id", "-1", "-h", "--help", "-", "-what", "--", "-dir"},
		normalise(root, []string{"run", "-dir", "x", "--cluster-id", "-abc", "-every=1h", "-id", "-1", "-h", "-help", "-", "-what", "--", "-dir"}))
	require.Contains(t, do(t, exitUsage, "run", "-dir", "x", "-keep", "1"), "--keep is 1")
}

// What cannot be used is named.
func TestUsage(t *testing.T) {
	for want, args := range map[string][]string{
		"--dir must be given":        {"run"},
		"--checkpoint-cpu is 0":      {"run", "--dir", "x", "--checkpoint-cpu", "0"},
		"--checkpoint-cpu is NaN":    {"run", "--dir", "x", "--checkpoint-cpu", "nan"},
		"--checkpoint-cpu is 2":      {"run", "--dir", "x", "--checkpoint-cpu", "2"},
		"--keep is 1":                {"run", "--dir", "x", "--keep", "1"},
		"is not id@host:port":        {"run", "--dir", t.TempDir(), "--voters", "x"},
		"--peers must name":          {"run", "--dir", t.TempDir(), "--voters", "1@localhost:1,2@localhost:2"},
		"opens directories only":     {"run", "--dir", t.TempDir(), "--objects", "s3://bucket"},
		"--to must be given":         {"restore"},
		"--objects must be given":    {"checkpoint", "verify"},
		"--every is less than 0":     {"run", "--dir", "x", "--every", "-1s"},
		"--grace is less than 0":     {"run", "--dir", "x", "--grace", "-1h"},
		"does not name node 7":       {"run", "--dir", t.TempDir(), "--id", "7", "--voters", "1@localhost:1"},
		"unknown command \"what\"":   {"what"},
		"did you mean verify":        {"checkpoint", "verifi"},
		"a command must be given":    {"checkpoint"},
		"takes no argument":          {"run", "what"},
		"unknown flag":               {"trim", "--what"},
		"unknown shorthand flag":     {"trim", "-what"},
		"invalid argument \"x\" for": {"run", "--every", "x"},
	} {
		require.Contains(t, do(t, exitUsage, args...), want)
	}
	// What is only read is not made, and nothing is not all good.
	none := filepath.Join(t.TempDir(), "none")
	for _, args := range [][]string{{"checkpoint", "verify"}, {"checkpoint", "list"}, {"restore", "--to", "x"}} {
		require.Contains(t, do(t, exitFailed, append(args, "--objects", none)...), "no such file or directory")
		require.NoDirExists(t, none)
	}
	require.Contains(t, do(t, exitFailed, "checkpoint", "verify", "--objects", t.TempDir()), "there is no image")
	require.Contains(t, do(t, exitFailed, "checkpoint", "now", "--url", "http://127.0.0.1:1"), "connection refused")
	require.Contains(t, do(t, exitFailed, "run", "--dir", t.TempDir(), "--brokers", "127.0.0.1:1"), "127.0.0.1:1")
}
