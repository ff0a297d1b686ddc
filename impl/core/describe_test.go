package core

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What a leader tells of its followers is what Kafka's LeaderState would.
func TestDescribe(t *testing.T) {
	g := newRig(t, logOf(2, EpochStart{1, 0}), nil)
	_, _, ok := g.r.Describe(g.now)
	require.False(t, ok, "only a leader knows")
	g.lead()
	epoch := g.state().Epoch
	g.flush()
	none := Progress{Key: ReplicaKey{ID: 2}, End: UnknownOffset, LastFetch: Never, LastCaughtUp: Never}
	describe := func() (voters, observers []Progress) {
		voters, observers, ok := g.r.Describe(g.now)
		require.True(t, ok)
		for _, ps := range [][]Progress{voters, observers} {
			for i := range ps {
				ps[i].leaderEnd = 0
			}
		}
		return voters, observers
	}
	voters, observers := describe()
	require.Empty(t, observers)
	require.Equal(t, Progress{Key: ReplicaKey{ID: 1}, End: 3, LastFetch: g.now, LastCaughtUp: g.now}, voters[0])
	require.Equal(t, none, voters[1])

	fetch := func(from ReplicaID, offset Offset, last Epoch) {
		g.ask(from, Message{Kind: Fetch, Epoch: epoch, Offset: offset, LastEpoch: last})
	}
	t1 := g.now
	fetch(2, 2, 1) // behind, and nothing is known of before
	voters, _ = describe()
	require.Equal(t, Progress{Key: ReplicaKey{ID: 2}, End: 2, LastFetch: t1, LastCaughtUp: Never}, voters[1])
	g.now += 5
	t2 := g.now
	g.step(Input{Kind: InputAppend, Client: 1, Records: [][]byte{{1}}})
	fetch(2, 3, epoch) // has what there was at t1
	voters, _ = describe()
	require.Equal(t, Progress{Key: ReplicaKey{ID: 2}, End: 3, LastFetch: t2, LastCaughtUp: t1}, voters[1])
	g.now += 5
	fetch(2, 4, epoch) // has all
	voters, _ = describe()
	require.Equal(t, Progress{Key: ReplicaKey{ID: 2}, End: 4, LastFetch: g.now, LastCaughtUp: g.now}, voters[1])
	t3 := g.now
	g.now += 5
	fetch(2, 3, 1) // diverges: proves nothing
	fetch(2, 9, epoch)
	voters, _ = describe()
	require.Equal(t, t3, voters[1].LastFetch)

	// Others are observers: known by id and directory, and forgotten after a while.
	g.ask(9, Message{Kind: Fetch, Epoch: epoch, Offset: 4, LastEpoch: epoch})
	fetch(-1, 4, epoch) // who has no id is not told of
	_, observers = describe()
	require.Equal(t, []Progress{{Key: ReplicaKey{ID: 9}, End: 4, LastFetch: g.now, LastCaughtUp: g.now}}, observers)
	for i := range ReplicaID(2 * maxObservers) {
		g.r.lead.follow(g.r, ReplicaKey{ID: 10 + i}, 4)
	}
	_, observers = describe()
	require.LessOrEqual(t, len(observers), maxObservers+3)
	_, observers, _ = g.r.Describe(g.now + observerSession)
	require.Empty(t, observers)
	g.r.now += observerSession
	g.r.lead.follow(g.r, ReplicaKey{ID: 7}, 4)
	require.LessOrEqual(t, len(g.r.lead.progress), 3, "and their room is free again")

	// Another leadership begins anew.
	g.r.lead.start(g.r)
	voters, _ = describe()
	require.Equal(t, none, voters[1])
}
