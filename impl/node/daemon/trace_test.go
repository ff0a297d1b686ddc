package daemon

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node"
	"github.com/stretchr/testify/require"
)

// Recording is switched by HTTP, by programs of this machine only, and goes on after a
// restart until it is switched off.
func TestTraceSwitch(t *testing.T) {
	cfg := node.Config{ID: 1, Dir: t.TempDir(), Voters: []node.Voter{{ID: 1, Addr: "127.0.0.1:1"}}, Listen: "127.0.0.1:0",
		Core: core.Config{ElectionTimeout: 50, FetchTimeout: 100}}
	r := &recorder{cfg: &cfg}
	h := r.handler(http.NotFoundHandler())
	ask := func(method, target string, change ...func(*http.Request)) (int, string) {
		q := httptest.NewRequest(method, target, nil)
		q.RemoteAddr = "127.0.0.1:40000"
		for _, f := range change {
			f(q)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, q)
		return w.Code, w.Body.String()
	}
	refused := func(code int, text, method, target string, change ...func(*http.Request)) {
		t.Helper()
		got, body := ask(method, target, change...)
		require.Equal(t, code, got, body)
		require.Contains(t, body, text)
	}
	refused(503, "the node starts", "GET", "/trace")
	start := func() *node.Node {
		require.NoError(t, r.resume())
		n, err := node.Start(cfg)
		require.NoError(t, err)
		t.Cleanup(n.Kill)
		r.node.Store(n)
		require.Eventually(t, func() bool { return n.State().HighWatermark > 0 }, 20*time.Second, time.Millisecond)
		return n
	}
	n := start()
	refused(409, "quorate.trace.dir is not set", "POST", "/trace?run=a")
	r.dir = t.TempDir()
	refused(403, "only from this machine", "POST", "/trace?run=a", func(q *http.Request) { q.RemoteAddr = "192.0.2.1:1" })
	refused(403, "", "POST", "/trace?run=a", func(q *http.Request) { q.Header.Set("Sec-Fetch-Site", "cross-site") })
	for _, run := range []string{"", "../a", "a/b", ".a", "a%00"} {
		refused(409, "letters, digits", "POST", "/trace?run="+run)
	}
	refused(409, "does not record", "DELETE", "/trace")
	refused(405, "GET, POST or DELETE", "PUT", "/trace")
	refused(404, "", "GET", "/other")

	status := func(code int, body string) (file string) {
		t.Helper()
		require.Equal(t, 200, code, body)
		var s struct{ File string }
		require.NoError(t, json.Unmarshal([]byte(body), &s))
		return s.File
	}
	file := filepath.Join(r.dir, "a", "node-1.events")
	require.Equal(t, file, status(ask("POST", "/trace?run=a")))
	refused(409, "records already", "POST", "/trace?run=b")
	b, err := os.ReadFile(filepath.Join(r.dir, "a", "run.json"))
	require.NoError(t, err)
	require.JSONEq(t, `{"kind":"real","voters":[1],"preVote":true}`, string(b))
	n.Kill()
	n = start()
	require.Equal(t, file, status(ask("GET", "/trace")))
	require.Empty(t, status(ask("DELETE", "/trace")))
	refused(409, "exists", "POST", "/trace?run=a")
	require.Equal(t, filepath.Join(r.dir, "b", "node-1.events"), status(ask("POST", "/trace?run=b")))
	require.Empty(t, status(ask("DELETE", "/trace")))

	// A file that cannot be continued is no reason not to start.
	n.Kill()
	cfg.Trace = ""
	require.NoError(t, os.WriteFile(r.on(), []byte("a\n"), 0o600))
	start()
	require.Empty(t, status(ask("GET", "/trace")))
	require.NoError(t, os.WriteFile(r.on(), []byte("../../a\n"), 0o600))
	cfg.Trace = ""
	require.ErrorContains(t, r.resume(), "not the name of a run")
}
