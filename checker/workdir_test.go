//go:build linux || darwin

// Elsewhere there are no locks, and nothing is removed.

package checker

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const leftDir = "QUORATE_TEST_LEFT"

// TestFilesOfKilledRunsAreRemoved kills a process within its run. The next run
// removes what it has left, and nothing else.
func TestFilesOfKilledRunsAreRemoved(t *testing.T) {
	spec := &loops{size: 10_000}
	opt := Options{Workers: 1, Mem: leastMem[loopState](t, 1), Dir: os.Getenv(leftDir)}
	if opt.Dir != "" {
		_, _ = Run[loopState](&hurting{loops: spec, at: 5000, hurt: func() bool {
			self, _ := os.FindProcess(os.Getpid())
			_ = self.Kill()
			select {}
		}}, opt)
		return
	}
	opt.Dir = t.TempDir()
	living, err := opt.newWorkDir()
	require.NoError(t, err)
	defer living.remove()
	other := filepath.Join(opt.Dir, workDirs+"notes")
	require.NoError(t, os.Mkdir(other, 0o755))
	cmd := exec.Command(os.Args[0], "-test.run=^TestFilesOfKilledRunsAreRemoved$")
	cmd.Env = append(os.Environ(), leftDir+"="+opt.Dir)
	require.ErrorContains(t, cmd.Run(), "killed")
	left, err := filepath.Glob(filepath.Join(opt.Dir, workDirs+"*", "frontier-0-a"))
	require.NoError(t, err)
	require.Len(t, left, 1, "the test needs files that are left")

	var notes bytes.Buffer
	opt.Notes = &notes
	_, err = Run(spec, opt)
	require.NoError(t, err)
	assert.Equal(t, "removed "+filepath.Dir(left[0])+", which a run that was killed has left\n", notes.String())
	assert.NoDirExists(t, filepath.Dir(left[0]))
	assert.DirExists(t, living.path, "its process lives")
	assert.DirExists(t, other, "it is not ours")
}
