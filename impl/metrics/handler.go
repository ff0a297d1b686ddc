package metrics

import (
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Handler serves
//
//	/metrics  the metrics of the Tracker, of Go and of the process
//	/healthz  200 while the loop of the node goes on (Tracker.Alive), else 503
//	/readyz   200 while the node is in a quorum that works (Tracker.Ready), else 503
//
// Nothing of it changes anything or asks who wants to know.
func Handler(t *Tracker, limit time.Duration) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(t, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, t, t.Alive(limit)) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		reason := t.Alive(limit)
		if reason == "" {
			reason = t.Ready()
		}
		answer(w, t, reason)
	})
	return mux
}

func answer(w http.ResponseWriter, t *Tracker, reason string) {
	if reason != "" {
		http.Error(w, fmt.Sprintf("node %d %s", t.self.ID, reason), http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "ok")
}
