package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/quorate/quorate/impl/registry"
	"github.com/quorate/quorate/impl/registry/checkpoint"
	"github.com/quorate/quorate/impl/registry/journal"
)

// own are the paths that are this registry's own.
func (s *Server) own() {
	// Live as long as it has not ended for a reason; ready when it serves.
	s.mux.HandleFunc("GET /health/live", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.cfg.Registry.Err(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "live")
	})
	s.mux.HandleFunc("GET /health/ready", func(w http.ResponseWriter, _ *http.Request) {
		if !s.cfg.Registry.IsReady() {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ready")
	})
	if s.cfg.Gatherer != nil {
		s.mux.Handle("GET /metrics", promhttp.HandlerFor(s.cfg.Gatherer, promhttp.HandlerOpts{}))
	}
	if s.cfg.Quorum != nil {
		s.quorum()
	}
	// Instances that have applied the same records have the same.
	s.mux.HandleFunc("GET /digest", func(w http.ResponseWriter, r *http.Request) {
		if !s.cfg.Registry.IsReady() {
			reply(w, nil, registry.ErrNotReady)
			return
		}
		at, digest, err := s.db().DigestAt(r.Context())
		reply(w, map[string]any{"offset": at.Offset, "leaderEpoch": at.Epoch, "stateDigest": digest}, err)
	})
	s.mux.HandleFunc("GET /checkpoints", func(w http.ResponseWriter, r *http.Request) {
		all, err := s.cfg.Registry.Checkpoints(r.Context())
		if all == nil {
			all = []checkpoint.Commit{}
		}
		reply(w, all, err)
	})
	s.mux.HandleFunc("POST /checkpoints", func(w http.ResponseWriter, r *http.Request) {
		// It is made to its end also if who asked for it goes away.
		c, err := s.cfg.Registry.Checkpoint(context.WithoutCancel(r.Context()))
		reply(w, c, err)
	})
	s.mux.HandleFunc("POST /trim", func(w http.ResponseWriter, r *http.Request) {
		t, err := s.cfg.Registry.Trim(r.Context(), flagOf(r, "dryRun"))
		reply(w, t, err)
	})
}

// reply answers one of the registry's own requests.
func reply(w http.ResponseWriter, v any, err error) {
	var notLeader *journal.NotLeaderError
	switch {
	case err == nil:
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(v); err != nil {
			return // the client has gone
		}
	case errors.As(err, &notLeader):
		http.Error(w, err.Error(), http.StatusMisdirectedRequest)
	case errors.Is(err, checkpoint.ErrBusy), errors.Is(err, checkpoint.ErrNotCovered):
		http.Error(w, err.Error(), http.StatusConflict)
	default:
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	}
}
