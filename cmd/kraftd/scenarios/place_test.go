package scenarios

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	kfs "github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/metaprops"
	"github.com/stretchr/testify/require"
)

// place is where a node lives: a configuration, and log directories d0, which is that of
// the metadata log, and d1. None is made before it is formatted.
type place struct {
	t    *testing.T
	root string
}

// newPlace writes a configuration: lines in place of, or beside, those of a controller of
// a static quorum, node 1.
func newPlace(t *testing.T, lines ...string) *place {
	p := &place{t: t, root: t.TempDir()}
	t.Cleanup(p.held)
	p.configure(lines...)
	return p
}

// configure writes the configuration anew. A line KEY= takes a key away.
func (p *place) configure(lines ...string) {
	all := []string{
		"node.id=1", "process.roles=controller", "controller.listener.names=CONTROLLER", "listeners=CONTROLLER://127.0.0.1:0",
		"controller.quorum.voters=1@127.0.0.1:9091", "log.dirs=" + p.dir(0) + "," + p.dir(1),
		"quorate.trace.file=" + p.path(traceFile),
	}
	for _, line := range lines {
		key, value, _ := strings.Cut(line, "=")
		kept := all[:0]
		for _, l := range all {
			if !strings.HasPrefix(l, key+"=") {
				kept = append(kept, l)
			}
		}
		if all = kept; value != "" {
			all = append(all, line)
		}
	}
	p.write("node.properties", strings.Join(all, "\n")+"\n")
}

// Lines of configurations.
var (
	dynamicQuorum = []string{"controller.quorum.voters=", "controller.quorum.bootstrap.servers=127.0.0.1:9091", "listeners=CONTROLLER://127.0.0.1:9091"}
	broker        = []string{"node.id=4", "process.roles=broker", "listeners=PLAINTEXT://127.0.0.1:0"}
)

func (p *place) path(name string) string { return filepath.Join(p.root, name) }

// dir is a log directory.
func (p *place) dir(i int) string { return p.path(fmt.Sprintf("d%d", i)) }

// config is the name of the configuration.
func (p *place) config() string { return p.path("node.properties") }

// write writes a file, and makes the directory that it is in.
func (p *place) write(name, content string) {
	p.t.Helper()
	if filepath.Dir(name) != "." {
		p.changed()
	}
	require.NoError(p.t, os.MkdirAll(filepath.Dir(p.path(name)), 0o755))
	require.NoError(p.t, os.WriteFile(p.path(name), []byte(content), 0o644))
}

func (p *place) read(name string) string {
	p.t.Helper()
	b, err := os.ReadFile(p.path(name))
	require.NoError(p.t, err)
	return string(b)
}

// tree is all that there is in the log directories: the content of each file, by its name;
// a directory is "/". Locks are left out: that there is one says nothing.
func (p *place) tree() map[string]string {
	p.t.Helper()
	all := map[string]string{}
	for i := range 2 {
		err := filepath.WalkDir(p.dir(i), func(name string, e fs.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			if err != nil || e.Name() == ".lock" {
				return err
			}
			rel, _ := filepath.Rel(p.root, name)
			if e.IsDir() {
				all[rel] = "/"
				return nil
			}
			b, err := os.ReadFile(name)
			all[rel] = string(b)
			return err
		})
		require.NoError(p.t, err)
	}
	return all
}

// names are those of the files in the log directories.
func (p *place) names() (list []string) {
	for name, content := range p.tree() {
		if content != "/" {
			list = append(list, name)
		}
	}
	return list
}

// meta is the meta.properties of a log directory.
func (p *place) meta(i int) metaprops.Properties {
	p.t.Helper()
	m, err := metaprops.Read(kfs.OS{}, p.dir(i))
	require.NoError(p.t, err)
	return m
}

// zeroName is the name of the zero checkpoint.
var zeroName = "d0/" + metadata.LogDir + "/" + metadata.ZeroID.FileName()

// zero is the zero checkpoint.
func (p *place) zero() metadata.Bootstrap {
	p.t.Helper()
	b, ok, err := metadata.ReadZero(kfs.OS{}, p.dir(0))
	require.NoError(p.t, err)
	require.True(p.t, ok, "there is a zero checkpoint")
	return b
}

// result is how a command ended.
type result struct {
	code           int
	stdout, stderr string
}

func (r result) String() string { return fmt.Sprintf("exit code %d\n%s%s", r.code, r.stdout, r.stderr) }

// run runs kraftd to its end.
func run(t *testing.T, args ...string) result {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, kraftd, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	require.NoError(t, ctx.Err(), "kraftd %v does not end:\n%s%s", args, stdout.String(), stderr.String())
	if _, ended := err.(*exec.ExitError); !ended {
		require.NoError(t, err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// format runs kraftd format with the configuration of the place.
func (p *place) format(args ...string) result {
	p.t.Helper()
	return run(p.t, append([]string{"format", "-c", p.config()}, args...)...)
}

// formatted runs kraftd format, which must succeed.
func (p *place) formatted(args ...string) {
	p.t.Helper()
	r := p.format(args...)
	require.Zero(p.t, r.code, r.String())
}

// refused runs a command, which must fail, say something, and change nothing.
func (p *place) refused(says string, command func() result) {
	p.t.Helper()
	before := p.tree()
	r := command()
	require.NotZero(p.t, r.code, r.String())
	require.Contains(p.t, r.stderr, says)
	require.Equal(p.t, before, p.tree(), "nothing changes")
}
