package daemon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/impl/node"
)

// recorder switches the recording of a node:
//
//	GET    /trace           the file and the number of events, as JSON
//	POST   /trace?run=NAME  begins, in a directory of that name
//	DELETE /trace           ends
//
// Only programs of this machine are served, and no page of another origin in a browser. A
// recording goes on over restarts: a file says so.
type recorder struct {
	dir  string // quorate.trace.dir; empty: no recording may begin
	node atomic.Pointer[node.Node]
	cfg  *node.Config
}

// switchTimeout bounds how long a recording may take to begin.
const switchTimeout = 8 * time.Second

var runName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

func (r *recorder) file(run string) string {
	return filepath.Join(r.dir, run, fmt.Sprintf("node-%d.events", r.cfg.ID))
}

// on is the file that has the name of the run that is recorded.
func (r *recorder) on() string { return filepath.Join(r.dir, fmt.Sprintf("node-%d.on", r.cfg.ID)) }

// resume has a node that starts go on with the recording of the process before.
func (r *recorder) resume() error {
	if r.dir == "" || r.cfg.Trace != "" {
		return nil
	}
	b, err := os.ReadFile(r.on())
	if errors.Is(err, os.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	run := strings.TrimSpace(string(b))
	if !runName.MatchString(run) {
		return fmt.Errorf("%s: %q is not the name of a run", r.on(), run)
	}
	r.cfg.Trace, r.cfg.TraceOptional = r.file(run), true
	return nil
}

// handler serves /trace before anything else.
func (r *recorder) handler(next http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/trace", r.serve)
	mux.Handle("/", next)
	return http.NewCrossOriginProtection().Handler(mux)
}

func (r *recorder) serve(w http.ResponseWriter, q *http.Request) {
	host, _, err := net.SplitHostPort(q.RemoteAddr)
	if ip := net.ParseIP(host); err != nil || ip == nil || !ip.IsLoopback() {
		http.Error(w, "only from this machine", http.StatusForbidden)
		return
	}
	n := r.node.Load()
	if n == nil {
		http.Error(w, "the node starts", http.StatusServiceUnavailable)
		return
	}
	switch q.Method {
	case http.MethodGet:
	case http.MethodPost:
		err = r.begin(q.Context(), n, q.FormValue("run"))
	case http.MethodDelete:
		if err = n.StopTrace(); !errors.Is(err, node.ErrStopped) && r.dir != "" {
			if gone := os.Remove(r.on()); gone != nil && !errors.Is(gone, os.ErrNotExist) {
				err = errors.Join(err, gone)
			}
		}
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "GET, POST or DELETE", http.StatusMethodNotAllowed)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusConflict)
		return
	}
	file, events := n.Tracing()
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(struct {
		File   string `json:"file"`
		Events int64  `json:"events"`
	}{file, events})
}

// begin begins a recording, in a new file.
func (r *recorder) begin(ctx context.Context, n *node.Node, run string) error {
	switch {
	case r.dir == "":
		return errors.New("quorate.trace.dir is not set")
	case !runName.MatchString(run):
		return fmt.Errorf("run %q: up to 100 letters, digits, dots, underscores and hyphens", run)
	}
	if file, _ := n.Tracing(); file != "" {
		return fmt.Errorf("%w: %s", node.ErrTracing, file)
	}
	file := r.file(run)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, switchTimeout)
	defer cancel()
	if err := n.StartTrace(ctx, file); err != nil {
		return err
	}
	return errors.Join(r.describe(n, filepath.Dir(file)), os.WriteFile(r.on(), []byte(run+"\n"), 0o644))
}

// describe writes who takes part in the run, unless another node has.
func (r *recorder) describe(n *node.Node, dir string) error {
	run := struct {
		Kind      string  `json:"kind"`
		Voters    []int32 `json:"voters"`
		Observers []int32 `json:"observers,omitempty"`
		PreVote   bool    `json:"preVote"`
		// KRaftVersion is 1 where the voters are in the log.
		KRaftVersion int16 `json:"kraftVersion,omitempty"`
	}{Kind: "real", PreVote: !r.cfg.DisablePreVote}
	for _, v := range r.cfg.Voters {
		run.Voters = append(run.Voters, int32(v.ID))
	}
	if voters, dynamic := n.Voters(); dynamic {
		run.KRaftVersion, run.Voters = 1, nil
		for _, v := range voters {
			run.Voters = append(run.Voters, v.ID)
		}
	}
	if !slices.Contains(run.Voters, int32(r.cfg.ID)) {
		run.Observers = []int32{int32(r.cfg.ID)}
	}
	b, err := json.Marshal(run)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, "run.json"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil
	} else if err != nil {
		return err
	}
	_, err = f.Write(append(b, '\n'))
	return errors.Join(err, f.Close())
}
