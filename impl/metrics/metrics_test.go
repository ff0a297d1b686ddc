package metrics

import (
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var (
	t0     = time.Unix(1_700_000_000, 0)
	voters = []node.Voter{{ID: 1}, {ID: 2}, {ID: 3}}
)

func at(ms int) time.Time { return t0.Add(time.Duration(ms) * time.Millisecond) }

func state(role core.Role, epoch core.Epoch, leader core.ReplicaID, hw, end core.Offset) node.State {
	return node.State{ID: 1, Incarnation: 4, State: core.State{
		Role: role, Epoch: epoch, Leader: leader, Voted: core.NoKey, HighWatermark: hw, LogEnd: end, LastEpoch: epoch,
	}}
}

// tracker has a clock that the test sets.
func tracker(id core.ReplicaID) (*Tracker, *time.Time) {
	t, now := NewTracker(core.ReplicaKey{ID: id, Directory: core.DirectoryID{15: 200}}, voters), t0
	t.now = func() time.Time { return now }
	return t, &now
}

// value is the value of a metric without labels.
func value(t *testing.T, tr *Tracker, name string) float64 {
	t.Helper()
	registry := prometheus.NewPedanticRegistry() // which holds Collect to Describe
	registry.MustRegister(tr)
	all, err := registry.Gather()
	require.NoError(t, err)
	for _, family := range all {
		if m := family.Metric[0]; family.GetName() == name {
			return m.GetGauge().GetValue() + m.GetCounter().GetValue()
		}
	}
	require.Fail(t, "no metric "+name, "%v", all)
	return 0
}

// A replica stands, is elected, appends, and sees its records committed.
func TestLeader(t *testing.T) {
	tr, now := tracker(1)
	require.Zero(t, testutil.CollectAndCount(tr), "nothing is known before the start")
	for _, s := range []struct {
		began, ended int
		state        node.State
	}{
		{0, 0, state(core.Unattached, 3, -1, -1, 10)},
		{1000, 1002, state(core.Prospective, 3, -1, -1, 10)},
		{1010, 1012, state(core.Candidate, 4, -1, -1, 10)},
		{1030, 1042, state(core.Leader, 4, 1, -1, 11)},
		{1050, 1051, state(core.Leader, 4, 1, 11, 11)},
		{1100, 1101, state(core.Leader, 4, 1, 11, 16)},
		{1101, 1102, state(core.Leader, 4, 1, 11, 21)},
		{1120, 1130, state(core.Leader, 4, 1, 21, 21)},
	} {
		tr.Stepped(at(s.began), at(s.ended), s.state)
	}
	*now = at(1130)
	require.NoError(t, testutil.CollectAndCompare(tr, strings.NewReader(`
# HELP kafka_server_raft_metrics_current_state 1 for the state that the replica is in: leader, candidate, prospective, prospective-voted, follower, unattached, unattached-voted or observer.
# TYPE kafka_server_raft_metrics_current_state gauge
kafka_server_raft_metrics_current_state{state="leader"} 1
# HELP kafka_server_raft_metrics_current_vote_directory_id 1 for the directory id that has the vote of this replica.
# TYPE kafka_server_raft_metrics_current_vote_directory_id gauge
kafka_server_raft_metrics_current_vote_directory_id{directory_id="AAAAAAAAAAAAAAAAAAAAyA"} 1
`), "kafka_server_raft_metrics_current_state", "kafka_server_raft_metrics_current_vote_directory_id"))
	for name, want := range map[string]float64{
		"current_leader": 1, "current_vote": 1, "current_epoch": 4, "high_watermark": 21, "log_end_offset": 21, "log_end_epoch": 4,
		"number_unknown_voter_connections": 0, "number_of_voters": 3,
		"election_latency_avg": 40, "election_latency_max": 40, // from 1002 to 1042
		"commit_latency_avg":  (21. + 30 + 29) / 3, // 1030 to 1051, 1100 and 1101 to 1130
		"commit_latency_max":  30,
		"append_records_rate": 11. / (30 + 0.088), // in a window that begins with the first append, at 1042
		"fetch_records_rate":  0,
		"poll_idle_ratio_avg": 1 - (2.+2+12+1+1+1+10)/1130,
	} {
		assert.InDelta(t, want, value(t, tr, "kafka_server_raft_metrics_"+name), 1e-6, name)
	}
	assert.EqualValues(t, 11, value(t, tr, "quorate_append_records_total"))
	assert.EqualValues(t, 1, value(t, tr, "quorate_elections_total"))
	assert.EqualValues(t, 4, value(t, tr, "quorate_incarnation"))

	*now = at(1130 + 60_000) // all that was is out of the window
	assert.True(t, math.IsNaN(value(t, tr, "kafka_server_raft_metrics_commit_latency_avg")))
	assert.True(t, math.IsNaN(value(t, tr, "kafka_server_raft_metrics_election_latency_max")))
	assert.Zero(t, value(t, tr, "kafka_server_raft_metrics_append_records_rate"))
	assert.EqualValues(t, 1, value(t, tr, "kafka_server_raft_metrics_poll_idle_ratio_avg"))
	assert.EqualValues(t, 11, value(t, tr, "quorate_append_records_total"))
}

// What a leader wrote and then lost is not counted as committed by another.
func TestLostLeadership(t *testing.T) {
	tr, now := tracker(1)
	tr.Stepped(at(0), at(0), state(core.Leader, 4, 1, 5, 5))
	tr.Stepped(at(1), at(2), state(core.Leader, 4, 1, 5, 7))
	tr.Stepped(at(3), at(4), state(core.Follower, 5, 2, 5, 7))
	tr.Stepped(at(5), at(6), state(core.Follower, 5, 2, 5, 6)) // cut
	tr.Stepped(at(7), at(8), state(core.Follower, 5, 2, 9, 9))
	tr.Stepped(at(9), at(10), state(core.Leader, 6, 1, 10, 10))
	*now = at(10)
	assert.EqualValues(t, 3, value(t, tr, "quorate_fetch_records_total"))
	assert.EqualValues(t, 3, value(t, tr, "quorate_append_records_total"))
	assert.EqualValues(t, 1, value(t, tr, "kafka_server_raft_metrics_commit_latency_max"), "only that of epoch 6")
}

func TestUncommittedIsBounded(t *testing.T) {
	tr, _ := tracker(1)
	for i := range 3 * maxUncommitted {
		tr.Stepped(at(i), at(i), state(core.Leader, 4, 1, 0, core.Offset(i)))
	}
	require.Len(t, tr.uncommitted, maxUncommitted)
	tr.Stepped(at(0), at(1), state(core.Leader, 4, 1, 4*maxUncommitted, 4*maxUncommitted))
	require.Empty(t, tr.uncommitted)
}

func TestStateNames(t *testing.T) {
	vote := core.ReplicaKey{ID: 2}
	for _, c := range []struct {
		id    core.ReplicaID
		role  core.Role
		voted core.ReplicaKey
		name  string
		vote  float64
	}{
		{1, core.Unattached, core.NoKey, "unattached", -1},
		{1, core.Unattached, vote, "unattached-voted", 2},
		{1, core.Prospective, core.NoKey, "prospective", -1},
		{1, core.Prospective, vote, "prospective-voted", 2},
		{1, core.Candidate, core.NoKey, "candidate", 1},
		{1, core.Leader, core.NoKey, "leader", 1},
		{1, core.Follower, vote, "follower", -1},
		{9, core.Follower, core.NoKey, "observer", -1},
		{9, core.Unattached, core.NoKey, "unattached", -1},
		{1, core.Resigned, vote, "unattached", -1},
	} {
		tr, _ := tracker(c.id)
		s := state(c.role, 1, -1, -1, 0)
		s.Voted = c.voted
		tr.Stepped(t0, t0, s)
		assert.Equal(t, c.name, tr.stateName(), "%v", c)
		assert.Equal(t, c.vote, value(t, tr, "kafka_server_raft_metrics_current_vote"), "%v", c)
	}
}

func TestWindow(t *testing.T) {
	var w window
	require.Equal(t, sample{}, w.total(t0))
	w.add(t0, -5)
	require.Equal(t, sample{1, -5, -5}, w.total(t0))
	w.add(at(29_999), 3)
	w.add(at(30_000), 1) // a new sample
	require.Equal(t, sample{3, -1, 3}, w.total(at(59_999)))
	require.Equal(t, sample{1, 1, 1}, w.total(at(60_000)))
	require.Equal(t, sample{}, w.total(at(90_000)))
	require.Zero(t, w.rate(at(90_000)))
}

func get(t *testing.T, h http.Handler, path string) (int, string) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
	b, err := io.ReadAll(w.Body)
	require.NoError(t, err)
	return w.Code, strings.TrimSpace(string(b))
}

func TestHandler(t *testing.T) {
	tr, now := tracker(1)
	h := Handler(tr, 10*time.Second)
	says := func(path string, code int, text string) {
		t.Helper()
		c, s := get(t, h, path)
		require.Equal(t, code, c)
		require.Equal(t, text, s)
	}
	says("/healthz", 503, "node 1 starts")
	says("/readyz", 503, "node 1 starts")
	tr.Stepped(t0, t0, state(core.Unattached, 1, -1, -1, 0))
	says("/healthz", 200, "ok")
	says("/readyz", 503, "node 1 knows no leader")
	tr.Stepped(t0, t0, state(core.Follower, 1, 2, -1, 0))
	says("/readyz", 503, "node 1 does not know yet what is committed")
	tr.Stepped(t0, t0, state(core.Follower, 1, 2, 0, 0))
	says("/readyz", 200, "ok")
	code, text := get(t, h, "/metrics")
	require.Equal(t, 200, code)
	require.Contains(t, text, "\nkafka_server_raft_metrics_current_leader 2\n")
	require.Contains(t, text, "\ngo_goroutines ")
	*now = at(10_001)
	says("/healthz", 503, "node 1 has been in one step for 10.001s")
	says("/readyz", 503, "node 1 has been in one step for 10.001s")
	code, _ = get(t, h, "/other")
	require.Equal(t, 404, code)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/metrics", nil))
	require.Equal(t, http.StatusMethodNotAllowed, w.Code)
}

// BenchmarkStepped is what following a node costs per step.
func BenchmarkStepped(b *testing.B) {
	tr := NewTracker(core.ReplicaKey{ID: 1}, voters)
	now := time.Now()
	for i := range b.N {
		end := core.Offset(i)
		tr.Stepped(now, now, state(core.Leader, 4, 1, end-1, end))
	}
}

// Two leaderships of which no state between was seen are not one.
func TestNextLeadership(t *testing.T) {
	tr, now := tracker(1)
	tr.Stepped(at(0), at(0), state(core.Leader, 4, 1, 5, 5))
	tr.Stepped(at(1), at(2), state(core.Leader, 4, 1, 5, 7))
	tr.Stepped(at(50), at(51), state(core.Leader, 6, 1, 7, 7))
	*now = at(51)
	assert.True(t, math.IsNaN(value(t, tr, "kafka_server_raft_metrics_commit_latency_max")))
}

// What the node has to do with others is asked for when the metrics are.
func TestNetwork(t *testing.T) {
	tr, _ := tracker(1)
	tr.Stepped(at(0), at(1), state(core.Follower, 1, 2, 0, 0))
	without := testutil.CollectAndCount(tr)
	s := node.Network{Connections: 7, VoterConnections: 2, Requests: 3, Unsent: 99}
	s.Refused[node.RefusedHandshake] = 5
	tr.Watch(func() node.Network { return s })
	assert.Equal(t, without+4+len(s.Refused), testutil.CollectAndCount(tr))
	assert.EqualValues(t, 7, value(t, tr, "quorate_connections"))
	assert.EqualValues(t, 2, value(t, tr, "quorate_voter_connections"))
	assert.EqualValues(t, 3, value(t, tr, "quorate_requests_in_progress"))
	assert.EqualValues(t, 99, value(t, tr, "quorate_unsent_bytes"))
	w := httptest.NewRecorder()
	Handler(tr, time.Second).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	assert.Contains(t, w.Body.String(), `quorate_refused_total{reason="handshake"} 5`)
	assert.Contains(t, w.Body.String(), `quorate_refused_total{reason="slow-reader"} 0`)
}
