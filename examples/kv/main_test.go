package main

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/stretchr/testify/require"
)

// ask makes a request, at all stores until one leads.
func ask(t *testing.T, stores []*store, method, path, body string) (int, string) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		for _, s := range stores {
			w := httptest.NewRecorder()
			s.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
			if w.Code != http.StatusMisdirectedRequest && w.Code != http.StatusServiceUnavailable {
				return w.Code, strings.TrimSpace(w.Body.String())
			}
		}
	}
	t.Fatal("nobody leads")
	return 0, ""
}

// Three stores agree, also on who was first; the values are there after a crash of the
// leader, and after one of all, from snapshots.
func TestStores(t *testing.T) {
	var voters []node.Voter
	var listeners []net.Listener
	for id := range core.ReplicaID(3) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		listeners = append(listeners, l)
		voters = append(voters, node.Voter{ID: id + 1, Addr: l.Addr().String()})
	}
	dir := t.TempDir()
	stores := make([]*store, 3)
	begin := func(i int, l net.Listener) {
		s, err := start(node.Config{
			ID: voters[i].ID, Dir: filepath.Join(dir, fmt.Sprint(i)), Voters: voters, Listener: l, Listen: voters[i].Addr, ClusterID: "kv",
			Snapshots: snapshot.Policy{MaxBytes: 3000}, Retention: snapshot.Retention{MaxBytes: 5000, MaxMs: -1},
			Core: core.Config{ElectionTimeout: 150, FetchTimeout: 400},
		})
		require.NoError(t, err)
		stores[i] = s
	}
	for i, l := range listeners {
		begin(i, l)
	}
	t.Cleanup(func() {
		for _, s := range stores {
			s.n.Kill()
		}
	})
	code, _ := ask(t, stores, "PUT", "/colour", "red")
	require.Equal(t, 200, code)
	code, body := ask(t, stores, "GET", "/colour", "")
	require.Equal(t, "200 red", fmt.Sprint(code, " ", body))
	code, _ = ask(t, stores, "GET", "/shape", "")
	require.Equal(t, 404, code)

	var wg sync.WaitGroup
	var mu sync.Mutex
	winners := 0
	for i := range 8 {
		wg.Go(func() {
			code, body := ask(t, stores, "PUT", "/colour?if=red", fmt.Sprint("blue", i))
			mu.Lock()
			defer mu.Unlock()
			if code == 200 {
				winners++
			} else if code != 409 {
				t.Errorf("%d %s", code, body)
			}
		})
	}
	wg.Wait()
	require.Equal(t, 1, winners)

	for i, s := range stores {
		if s.n.State().Role == core.Leader {
			s.n.Kill()
			begin(i, nil)
			break
		}
	}
	for i := range 60 {
		code, body = ask(t, stores, "PUT", fmt.Sprint("/n", i), strings.Repeat("x", 50))
		require.Equal(t, 200, code, body)
	}
	code, _ = ask(t, stores, "DELETE", "/n7", "")
	require.Equal(t, 200, code)
	require.Eventually(t, func() bool { return stores[0].n.State().LogStart > 0 }, 10*time.Second, time.Millisecond)
	for i := range stores {
		stores[i].n.Kill()
		begin(i, nil)
	}
	code, _ = ask(t, stores, "GET", "/n7", "")
	require.Equal(t, 404, code)
	code, body = ask(t, stores, "GET", "/n59", "")
	require.Equal(t, fmt.Sprint("200 ", strings.Repeat("x", 50)), fmt.Sprint(code, " ", body))
	code, body = ask(t, stores, "GET", "/colour", "")
	require.Equal(t, 200, code)
	require.Contains(t, body, "blue")
}
