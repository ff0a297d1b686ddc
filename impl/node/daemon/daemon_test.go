package daemon

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node"
	"github.com/stretchr/testify/require"
)

func TestUsage(t *testing.T) {
	good := []string{"-id", "1", "-dir", "d", "-voters", "1@127.0.0.1:9091,2@127.0.0.1:9092"}
	o, err := parse("kraftd start", append(good, "-election-timeout", "150ms", "-log-format", "json", "-log-level", "error"), nil)
	require.NoError(t, err)
	cfg := o.node
	require.True(t, o.json)
	require.Equal(t, slog.LevelError, o.level)
	require.Equal(t, core.ReplicaID(1), cfg.ID)
	require.Equal(t, "127.0.0.1:9091", cfg.Listen)
	require.Equal(t, []node.Voter{{ID: 1, Addr: "127.0.0.1:9091"}, {ID: 2, Addr: "127.0.0.1:9092"}}, cfg.Voters)
	require.Equal(t, core.Ticks(150*time.Millisecond/time.Millisecond), cfg.Core.ElectionTimeout)

	for _, bad := range [][]string{
		{"-what"}, {"more"}, {"-id", "-3"}, {"-id", "x"}, {"-id", "9999999999"}, {"-dir", ""}, {"-voters", ""},
		{"-voters", "1"}, {"-voters", "1@localhost"}, {"-voters", "x@localhost:1"}, {"-voters", "1@localhost:0"},
		{"-voters", "1@localhost:1,1@localhost:2"}, {"-voters", "-1@localhost:1"}, {"-listen", "9091"},
		{"-client", "127.0.0.1:99999"}, {"-fetch-version", "12"}, {"-election-timeout", "0"}, {"-append-linger", "-1s"},
		{"-election-timeout", "5"}, {"-directory-id", "abc"}, {"-config", "x"}, {"-metrics", "9090"}, {"-log-format", "xml"}, {"-log-level", "loud"},
		{"-log-level", "INFO+2"},
	} {
		var stdout, stderr bytes.Buffer
		require.Equal(t, exitUsage, Start("kraftd start", append(append([]string{}, good...), bad...), &stdout, &stderr), "%v", bad)
		require.Regexp(t, `^kraftd start: .+ \(see -help\)\n$`, stderr.String(), "%v", bad)
		require.Empty(t, stdout.String())
	}
	var stdout, stderr bytes.Buffer
	require.Equal(t, exitOK, Start("kraftd start", []string{"-help"}, &stdout, &stderr))
	require.Contains(t, stderr.String(), "-election-timeout")
}

// A directory that cannot be used is not a usage error.
func TestFailure(t *testing.T) {
	var stdout, stderr bytes.Buffer
	code := Start("kraftd start", []string{"-id", "1", "-dir", "/dev/null/x", "-voters", "1@127.0.0.1:9091"}, &stdout, &stderr)
	require.Equal(t, exitFailed, code)
	require.Contains(t, stderr.String(), "/dev/null")
}
