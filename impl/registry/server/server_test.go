package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/registry"
	"github.com/quorate/quorate/impl/registry/journal"
	"github.com/quorate/quorate/impl/registry/objects"
	"github.com/quorate/quorate/impl/registry/server"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/sr"
)

// member is a node of a quorum with its registry.
type member struct {
	journal  *journal.KRaft
	registry *registry.Instance
	http     *httptest.Server
	client   *sr.Client
}

// quorum starts so many members that form a quorum.
func quorum(t *testing.T, size int, store objects.Store) []*member {
	t.Helper()
	var voters []node.Voter
	var listeners, fronts []net.Listener
	peers := server.Peers{}
	for id := range size {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		listeners = append(listeners, l)
		voters = append(voters, node.Voter{ID: core.ReplicaID(id + 1), Addr: l.Addr().String()})
		f, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		fronts = append(fronts, f)
		peers[int32(id+1)] = "http://" + f.Addr().String()
	}
	var members []*member
	dir := t.TempDir()
	for i, v := range voters {
		k, err := journal.OpenKRaft(node.Config{
			ID: v.ID, Dir: filepath.Join(dir, fmt.Sprint(i), "log"), Voters: voters, Listener: listeners[i], ClusterID: "registry",
			Core: core.Config{ElectionTimeout: 300, FetchTimeout: 600},
		}, peers)
		require.NoError(t, err)
		metrics := prometheus.NewRegistry()
		r, err := registry.Start(registry.Config{Dir: filepath.Join(dir, fmt.Sprint(i), "data"), Journal: k, Objects: store, Metrics: metrics})
		require.NoError(t, err)
		front := httptest.NewUnstartedServer(server.New(server.Config{Registry: r, Quorum: k, Gatherer: metrics}))
		front.Listener.Close()
		front.Listener = fronts[i]
		front.Start()
		client, err := sr.NewClient(sr.URLs(front.URL))
		require.NoError(t, err)
		members = append(members, &member{k, r, front, client})
		t.Cleanup(func() {
			front.Close()
			r.Close()
			k.Kill()
		})
	}
	for _, m := range members {
		select {
		case <-m.registry.Ready():
		case <-m.registry.Done():
			t.Fatal(m.registry.Err())
		case <-time.After(time.Minute):
			t.Fatal("not ready within a minute")
		}
	}
	return members
}

const (
	userV1 = `{"type":"record","name":"User","fields":[{"name":"id","type":"long"}]}`
	userV2 = `{"type":"record","name":"User","fields":[{"name":"id","type":"long"},{"name":"name","type":"string","default":""}]}`
	userV3 = `{"type":"record","name":"User","fields":[{"name":"id","type":"long"},{"name":"age","type":"int"}]}`
)

// What a client of registries asks is answered as it expects.
func TestClient(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	m := quorum(t, 1, nil)[0]
	c := m.client

	one, err := c.CreateSchema(ctx, "users-value", sr.Schema{Schema: userV1})
	require.NoError(t, err)
	require.Equal(t, 1, one.Version)
	again, err := c.CreateSchema(ctx, "users-value", sr.Schema{Schema: strings.ReplaceAll(userV1, ",", " , ")})
	require.NoError(t, err)
	require.Equal(t, one.ID, again.ID, "blanks are nothing")
	two, err := c.CreateSchema(ctx, "users-value", sr.Schema{Schema: userV2})
	require.NoError(t, err)
	require.Equal(t, 2, two.Version)
	_, err = c.CreateSchema(ctx, "users-value", sr.Schema{Schema: userV3})
	requireCode(t, err, 409)
	_, err = c.CreateSchema(ctx, "users-value", sr.Schema{Schema: `{"type":"what"}`})
	requireCode(t, err, 42201)

	check, err := c.CheckCompatibility(sr.WithParams(ctx, sr.Verbose), "users-value", 2, sr.Schema{Schema: userV3})
	require.NoError(t, err)
	require.False(t, check.Is)
	require.NotEmpty(t, check.Messages)
	set := c.SetCompatibility(ctx, sr.SetCompatibility{Level: sr.CompatNone}, "users-value")
	require.NoError(t, set[0].Err)
	three, err := c.CreateSchema(ctx, "users-value", sr.Schema{Schema: userV3})
	require.NoError(t, err)
	require.Equal(t, 3, three.Version)
	level := c.Compatibility(ctx, "users-value", "")
	require.Equal(t, sr.CompatNone, level[0].Level)
	require.Equal(t, sr.CompatBackward, level[1].Level)
	reset := c.ResetCompatibility(ctx, "users-value")
	require.NoError(t, reset[0].Err)

	byID, err := c.SchemaByID(ctx, two.ID)
	require.NoError(t, err)
	require.Equal(t, userV2, byID.Schema)
	latest, err := c.SchemaByVersion(ctx, "users-value", -1)
	require.NoError(t, err)
	require.Equal(t, three.ID, latest.ID)
	found, err := c.LookupSchema(ctx, "users-value", sr.Schema{Schema: userV1})
	require.NoError(t, err)
	require.Equal(t, one.ID, found.ID)
	require.Equal(t, 1, found.Version)
	_, err = c.LookupSchema(ctx, "users-value", sr.Schema{Schema: `"int"`})
	requireCode(t, err, 40403)

	ref, err := c.CreateSchema(ctx, "teams-value", sr.Schema{
		Schema:     `{"type":"record","name":"Team","fields":[{"name":"lead","type":"User"}]}`,
		References: []sr.SchemaReference{{Name: "User", Subject: "users-value", Version: 1}},
	})
	require.NoError(t, err)
	require.Len(t, ref.References, 1)
	proto, err := c.CreateSchema(ctx, "p", sr.Schema{Schema: `syntax = "proto3"; message A {}`, Type: sr.TypeProtobuf})
	require.NoError(t, err)
	require.Equal(t, sr.TypeProtobuf, proto.Type)
	_, err = c.CreateSchema(ctx, "p", sr.Schema{Schema: `syntax = "proto3"; message B {}`, Type: sr.TypeProtobuf})
	requireCode(t, err, 409)

	subjects, err := c.Subjects(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{"p", "teams-value", "users-value"}, subjects)
	_, err = c.DeleteSubject(ctx, "users-value", sr.SoftDelete)
	requireCode(t, err, 42206)
	require.NoError(t, c.DeleteSchema(ctx, "users-value", 2, sr.SoftDelete))
	require.NoError(t, c.DeleteSchema(ctx, "users-value", 2, sr.HardDelete))
	versions, err := c.SubjectVersions(ctx, "users-value")
	require.NoError(t, err)
	require.Equal(t, []int{1, 3}, versions)
	_, err = c.SchemaByID(ctx, two.ID)
	requireCode(t, err, 40403)
	_, err = c.DeleteSubject(ctx, "teams-value", sr.HardDelete)
	requireCode(t, err, 40405)
	gone, err := c.DeleteSubject(ctx, "teams-value", sr.SoftDelete)
	require.NoError(t, err)
	require.Equal(t, []int{1}, gone)
	uses, err := c.SchemaUsagesByID(ctx, one.ID)
	require.NoError(t, err)
	require.Len(t, uses, 1)
	_, err = c.SubjectVersions(ctx, "nobody")
	requireCode(t, err, 40401)
	types, err := c.SupportedTypes(ctx)
	require.NoError(t, err)
	require.Len(t, types, 3)
}

func requireCode(t *testing.T, err error, code int) {
	t.Helper()
	var e *sr.ResponseError
	require.ErrorAs(t, err, &e)
	require.Equal(t, code, e.ErrorCode, e.Message)
}

// Whoever is asked: a write is there, also where the client reads next, and all instances
// have the same rows.
func TestQuorum(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	store, err := objects.NewDir(t.TempDir())
	require.NoError(t, err)
	members := quorum(t, 3, store)
	for i := range 30 {
		c := members[i%3].client
		made, err := c.CreateSchema(ctx, fmt.Sprint("s", i), sr.Schema{Schema: fmt.Sprintf(`{"type":"fixed","name":"f%d","size":%d}`, i, i+1)})
		require.NoError(t, err)
		require.Equal(t, i+1, made.ID)
		_, err = c.SchemaByVersion(ctx, fmt.Sprint("s", i), 1) // from the same instance
		require.NoError(t, err)
	}
	for _, m := range members { // also by one that does not lead
		answer, err := http.Post(m.http.URL+"/checkpoints", "", nil)
		require.NoError(t, err)
		answer.Body.Close()
		require.Equal(t, 200, answer.StatusCode)
	}
	answer, err := http.Post(members[1].http.URL+"/trim", "", nil)
	require.NoError(t, err)
	answer.Body.Close()
	require.Equal(t, 200, answer.StatusCode)
	digests := map[string]bool{}
	for _, m := range members {
		require.Eventually(t, func() bool { return m.journal.Node().State().LogStart > 0 }, 30*time.Second, 5*time.Millisecond, "all trim")
		b, err := m.journal.Bounds(ctx)
		require.NoError(t, err)
		require.NoError(t, m.registry.WaitApplied(ctx, b.End-1))
		d, err := m.registry.DB().Digest(ctx)
		require.NoError(t, err)
		digests[d] = true
		answer, err := http.Get(m.http.URL + "/digest")
		require.NoError(t, err)
		told, err := io.ReadAll(answer.Body)
		require.NoError(t, errors.Join(err, answer.Body.Close()))
		p, err := m.registry.DB().Position(ctx)
		require.NoError(t, err)
		require.JSONEq(t, fmt.Sprintf(`{"offset":%d,"leaderEpoch":%d,"stateDigest":%q}`, p.Offset, p.Epoch, d), string(told))
		list, err := m.registry.Checkpoints(ctx)
		require.NoError(t, err)
		require.Len(t, list, 3)
	}
	require.Len(t, digests, 1)
}
