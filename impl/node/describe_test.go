package node

import (
	"testing"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/stretchr/testify/require"
)

// A leader tells of itself what is so now; one that has stopped tells nothing, at once.
func TestDescribe(t *testing.T) {
	n, err := Start(Config{ID: 1, Dir: t.TempDir(), Voters: []Voter{{ID: 1, Addr: "127.0.0.1:9"}}})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return n.State().HighWatermark == 1 }, 10*time.Second, time.Millisecond)
	before := time.Now().UnixMilli()
	q := n.describe()
	require.Equal(t, core.None, q.Error)
	require.Len(t, q.Voters, 1)
	require.EqualValues(t, 1, q.Voters[0].LogEnd)
	require.InDelta(t, before, q.Voters[0].LastFetch, 60_000, "milliseconds since 1970")
	require.Equal(t, q.Voters[0].LastFetch, q.Voters[0].LastCaughtUp)
	require.EqualValues(t, -1, n.wall(core.Never))
	require.NoError(t, n.Close())
	require.Equal(t, core.NotLeaderOrFollower, n.describe().Error)
}
