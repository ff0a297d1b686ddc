package daemon

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDropLog: that the log is gone is flushed. Directories of /proc cannot be, and the
// kernel says so when it is asked to.
func TestDropLog(t *testing.T) {
	require.NoError(t, dropLog(t.TempDir()))
	require.Error(t, dropLog("/proc/self/task"))
}
