// Command kv is a key-value store replicated by impl/node, with HTTP in front:
//
//	kv -id 1 -dir d1 -http 127.0.0.1:8081 -voters 1@127.0.0.1:7071,2@127.0.0.1:7072,3@127.0.0.1:7073
//	curl -X PUT 127.0.0.1:8081/colour -d red
//	curl 127.0.0.1:8081/colour
//	curl -X PUT '127.0.0.1:8081/colour?if=red' -d blue    409 if it is not red
//	curl -X DELETE 127.0.0.1:8081/colour
//
// Start it with the ids 2 and 3 too. Only the leader answers; others say 421 and who leads.
// 503 with "outcome unknown" means that the change may have happened, or may yet.
package main

import (
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/snapshot"
)

func main() {
	id := flag.Int("id", 1, "id of this node, one of the voters")
	dir := flag.String("dir", "", "directory of its files")
	addr := flag.String("http", "127.0.0.1:0", "where to serve HTTP")
	voters := flag.String("voters", "", "id@host:port of all nodes, comma-separated")
	flag.Parse()
	if err := run(*id, *dir, *addr, *voters); err != nil {
		log.Fatal(err)
	}
}

func run(id int, dir, addr, voters string) error {
	cfg := node.Config{
		ID: core.ReplicaID(id), Dir: dir, ClusterID: "kv",
		Snapshots: snapshot.Policy{MaxBytes: 1 << 20},
	}
	for part := range strings.SplitSeq(voters, ",") {
		id, addr, _ := strings.Cut(part, "@")
		n, err := strconv.ParseInt(id, 10, 32)
		if err != nil {
			return fmt.Errorf("voter %q is not id@host:port", part)
		}
		cfg.Voters = append(cfg.Voters, node.Voter{ID: core.ReplicaID(n), Addr: addr})
		if core.ReplicaID(n) == cfg.ID {
			cfg.Listen = addr
		}
	}
	s, err := start(cfg)
	if err != nil {
		return err
	}
	server := &http.Server{Addr: addr, Handler: s}
	go func() {
		stop := make(chan os.Signal, 1)
		signal.Notify(stop, os.Interrupt)
		select {
		case <-stop:
		case <-s.n.Done():
		}
		server.Close()
	}()
	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return errors.Join(err, s.n.Close())
	}
	return s.n.Close() // a leader resigns first
}

// start starts a node with a store.
func start(cfg node.Config) (*store, error) {
	s := newStore()
	cfg.Machine = s
	var err error
	s.n, err = node.Start(cfg)
	return s, err
}

// ServeHTTP implements [http.Handler].
func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimPrefix(r.URL.Path, "/")
	var err error
	done := true
	switch r.Method {
	case http.MethodGet:
		var value string
		if value, err = s.Get(r.Context(), key); err == nil && value == "" {
			http.Error(w, "no such key", http.StatusNotFound)
			return
		}
		if err == nil {
			fmt.Fprintln(w, value)
		}
	case http.MethodPut, http.MethodDelete:
		var body []byte
		if r.Method == http.MethodPut {
			if body, err = io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20)); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
		}
		var ifOld *string
		if r.URL.Query().Has("if") {
			old := r.URL.Query().Get("if")
			ifOld = &old
		}
		done, err = s.Put(r.Context(), rand.Text(), key, ifOld, string(body))
	default:
		http.Error(w, "want GET, PUT or DELETE", http.StatusMethodNotAllowed)
		return
	}
	var failed *node.OpError
	switch {
	case errors.Is(err, node.ErrNotLeader) && !errors.Is(err, node.ErrUnknown) && errors.As(err, &failed):
		http.Error(w, fmt.Sprintf("node %d leads", failed.Leader), http.StatusMisdirectedRequest)
	case err != nil:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	case !done:
		http.Error(w, "it had another value", http.StatusConflict)
	}
}
