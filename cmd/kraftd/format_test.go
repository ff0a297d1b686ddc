package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/metaprops"
	"github.com/quorate/quorate/impl/node"
	"github.com/stretchr/testify/require"
)

// kraftd runs a command.
func kraftd(args ...string) (code int, stdout, stderr string) {
	var out, err bytes.Buffer
	code = run(args, &out, &err)
	return code, out.String(), err.String()
}

// configuration writes a configuration file of node 1 with directories a and b.
func configuration(t *testing.T, more string) (file, dir string) {
	t.Helper()
	dir = t.TempDir()
	file = filepath.Join(dir, "node.properties")
	text := fmt.Sprintf("node.id=1\nprocess.roles=controller\ncontroller.listener.names=CONTROLLER\nlisteners=CONTROLLER://127.0.0.1:0\n"+
		"controller.quorum.voters=1@127.0.0.1:9091\nlog.dirs=%s/a,%[1]s/b\nmetadata.log.dir=%[1]s/m/n\n%s", dir, more)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return file, dir
}

func TestFormat(t *testing.T) {
	file, dir := configuration(t, "num.io.threads=8\n")
	code, out, errs := kraftd("format", "-config", file, "-cluster-id", "c=1")
	require.Equal(t, 0, code, errs)
	require.Equal(t, "kraftd format: warning: "+file+":8: num.io.threads is not a key that kraftd knows, and has no effect\n", errs)
	lines := strings.Split(strings.TrimSpace(out), "\n")
	require.Len(t, lines, 3)
	require.Regexp(t, `^Formatted data directory .*/b for node 1 of cluster c=1, with directory id \S{22} and metadata\.version 4\.4-IV2\.$`, lines[0])
	require.Regexp(t, `^Formatted metadata directory .*/m/n `, lines[2], "last: once it is, all are")
	set, err := metaprops.Load(fs.OS{}, []string{dir + "/m/n", dir + "/a", dir + "/b"})
	require.NoError(t, err)
	require.NoError(t, set.Check(1, "c=1"), "among others, directory ids differ")
	for _, d := range set.Dirs {
		require.True(t, d.Formatted)
		require.Equal(t, 1, d.Version)
		require.Contains(t, out, d.Directory.String())
	}

	before, err := os.ReadFile(dir + "/a/meta.properties")
	require.NoError(t, err)
	code, _, errs = kraftd("format", "-c", file, "-t", "c=1")
	require.Equal(t, 1, code)
	require.Equal(t, "kraftd format: "+dir+`/m/n is already formatted, for node 1 of cluster "c=1"; -ignore-formatted leaves it as it is and formats the others`+"\n", after(errs))
	code, out, _ = kraftd("format", "-c", file, "-t", "c=1", "-g")
	require.Equal(t, 0, code)
	require.Equal(t, "All of the log directories are already formatted.\n", out)

	require.NoError(t, os.Remove(dir+"/b/meta.properties"))
	code, _, errs = kraftd("format", "-c", file, "-t", "other", "-g")
	require.Equal(t, 1, code)
	require.Contains(t, errs, dir+`/m/n/meta.properties is of cluster "c=1", and the configuration of cluster "other"`)
	require.NoFileExists(t, dir+"/b/meta.properties")
	code, out, _ = kraftd("format", "-c", file, "-t", "c=1", "-g")
	require.Equal(t, 0, code)
	require.Equal(t, 1, strings.Count(out, "\n"))
	require.Contains(t, out, "Formatted data directory "+dir+"/b ")
	now, err := os.ReadFile(dir + "/a/meta.properties")
	require.NoError(t, err)
	require.Equal(t, string(before), string(now))

	require.NoError(t, os.WriteFile(dir+"/b/meta.properties", []byte("version=1\nnode.id=2\ncluster.id=c=1\n"), 0o600))
	code, _, errs = kraftd("format", "-c", file, "-t", "c=1", "-g")
	require.Equal(t, 1, code)
	require.Contains(t, errs, dir+"/b/meta.properties is of node 2, and the configuration has node.id 1")
	require.NoError(t, os.WriteFile(dir+"/b/meta.properties", []byte("version=7"), 0o600))
	code, _, errs = kraftd("format", "-c", file, "-t", "c=1", "-g")
	require.Equal(t, 1, code)
	require.Contains(t, errs, dir+`/b/meta.properties: version "7" is not 0, 1 or 2`)
}

// after leaves out the line of a warning.
func after(s string) string { _, rest, _ := strings.Cut(s, "\n"); return rest }

// A directory in use, or one that cannot be made, is left alone, and so are the others.
func TestFormatCannot(t *testing.T) {
	file, dir := configuration(t, "")
	require.NoError(t, os.Mkdir(dir+"/b", 0o700))
	unlock, err := node.LockDir(dir + "/b")
	require.NoError(t, err)
	code, _, errs := kraftd("format", "-config", file, "-cluster-id", "c")
	require.Equal(t, 1, code)
	require.Equal(t, "kraftd format: lock "+dir+"/b: another process uses it\n", errs)
	unlock()
	require.NoError(t, os.WriteFile(dir+"/m", nil, 0o600)) // m/n cannot be made
	code, _, errs = kraftd("format", "-config", file, "-cluster-id", "c")
	require.Equal(t, 1, code)
	require.Contains(t, errs, dir+"/m")
}

func TestUsage(t *testing.T) {
	file, _ := configuration(t, "metadata.log.segment.bytes=1\n")
	good, _ := configuration(t, "")
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"", 2, "Usage"},
		{"help", 0, "start"},
		{"stop", 2, `unknown command "stop"`},
		{"start -what", 2, "-what"},
		{"format", 2, "kraftd format: -config is required (see -help)"},
		{"format -config " + good, 2, "-cluster-id is required"},
		{"format -config x -cluster-id c more", 2, `unexpected argument "more"`},
		{"format -what", 2, "flag provided but not defined: -what"},
		{"format -config /none -cluster-id c", 2, "/none: no such file"},
		{"format -config " + file + " -cluster-id c", 2, file + ":8: metadata.log.segment.bytes=1: want a number from 8388608 to 2147483647"},
		{"format -help", 0, "KIP-1170"},
		{"random-uuid x", 2, `unexpected argument "x"`},
		{"random-uuid -help", 0, "Usage"},
		{"dump", 2, "no file is given"},
		{"dump -help", 0, "-print-data-log"},
		{"dump /none/quorum-state", 1, "/none/quorum-state: no such file"},
		{"quorum", 2, `want "quorum describe"`},
		{"quorum describe", 2, "want one of -status and -replication"},
		{"quorum describe -status -replication", 2, "want one of"},
		{"quorum describe -status -human-readable", 2, "only for -replication"},
		{"dump nofile", 1, "nofile: no such file or directory"},
		{"quorum remove-controller -bootstrap-controller a:1 -controller-id -5", 2, "-controller-id -5: want a number from 0 to"},
		{"quorum remove-controller -bootstrap-controller a:1", 2, "-controller-id is required"},
		{"quorum add-controller -bootstrap-controller a:1", 2, "kraftd quorum: -command-config is required"},
		{"quorum add-controller -bootstrap-controller a:1 -command-config nofile", 2, "open nofile: no such file or directory"},
		{"quorum describe -status -bootstrap-controller ,", 2, `"" is not host:port`},
		{"quorum describe --status", 2, "-bootstrap-controller is required"},
		{"quorum describe -status -bootstrap-controller 127.0.0.1:1 x", 2, `unexpected argument "x"`},
		{"quorum describe -status -timeout 50ms -bootstrap-controller 127.0.0.1:1", 1, "127.0.0.1:1 cannot be reached"},
		{"quorum describe -help", 0, "Usage"},
	} {
		code, out, errs := kraftd(strings.Fields(c.args)...)
		require.Equal(t, c.code, code, "%s: %s", c.args, errs)
		require.Contains(t, out+errs, c.says, c.args)
	}
	code, _, errs := kraftd("format", "-config", file, "-cluster-id", " c")
	require.Equal(t, 2, code)
	require.Contains(t, errs, "white space at an end")
}

func TestRandomUUID(t *testing.T) {
	code, out, _ := kraftd("random-uuid")
	require.Equal(t, 0, code)
	_, err := metaprops.ParseDirectoryID(strings.TrimSpace(out))
	require.NoError(t, err)
}
