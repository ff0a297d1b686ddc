//go:build linux

package node

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// A directory has one user, also if one of them takes locks as Kafka does. (The other
// process is this test, started anew.)
func TestLockDir(t *testing.T) {
	if dir := os.Getenv("QUORATE_TEST_LOCK"); dir != "" {
		f, err := os.OpenFile(dir+"/.lock", os.O_CREATE|os.O_RDWR, 0o644)
		require.NoError(t, err)
		if err := syscall.FcntlFlock(f.Fd(), syscall.F_SETLK, &syscall.Flock_t{Type: syscall.F_WRLCK}); err != nil {
			os.Stdout.WriteString("refused\n")
			return
		}
		os.Stdout.WriteString("locked\n")
		os.Stdin.Read(make([]byte, 1)) // until the other closes it
		return
	}
	dir := t.TempDir()
	asKafka := func() (says string, end func()) {
		cmd := exec.Command(os.Args[0], "-test.run=^TestLockDir$")
		cmd.Env = append(os.Environ(), "QUORATE_TEST_LOCK="+dir)
		in, err := cmd.StdinPipe()
		require.NoError(t, err)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		b := make([]byte, 20)
		n, err := out.Read(b)
		require.NoError(t, err)
		line, _, _ := strings.Cut(string(b[:n]), "\n") // the test's own verdict may follow
		return line, func() { in.Close(); cmd.Wait() }
	}

	unlock, err := LockDir(dir)
	require.NoError(t, err)
	_, err = LockDir(dir)
	require.ErrorIs(t, err, errLocked)
	says, end := asKafka()
	end()
	require.Equal(t, "refused", says, "after the second LockDir, which closed a file of that name")
	unlock()

	says, end = asKafka()
	require.Equal(t, "locked", says)
	_, err = LockDir(dir)
	require.ErrorIs(t, err, errLocked)
	end()
	unlock, err = LockDir(dir)
	require.NoError(t, err)
	unlock()
	_, err = LockDir(dir + "/none")
	require.ErrorIs(t, err, os.ErrNotExist)
}
