// Package server is the HTTP API of a schema registry, as clients of registries speak it:
// subjects, versions, schemas by id, compatibility, deletion. Beside it are the paths of
// health, metrics and checkpoints, which are this registry's own.
package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/quorate/quorate/impl/registry"
	"github.com/quorate/quorate/impl/registry/journal"
	"github.com/quorate/quorate/impl/registry/state"
)

// maxBody is how large a request may be: that of a schema, and of the record it becomes.
const maxBody = 4 << 20

// Config of a server.
type Config struct {
	Registry *registry.Instance
	// Quorum is the journal, if it is one of ours: for the servers of its other nodes.
	Quorum *journal.KRaft
	// Gatherer of /metrics; nil: none.
	Gatherer prometheus.Gatherer
	// Timeout of a write (30 s).
	Timeout time.Duration
}

// Server answers requests.
type Server struct {
	cfg Config
	mux *http.ServeMux
}

// New makes a server.
func New(cfg Config) *Server {
	if cfg.Timeout == 0 {
		cfg.Timeout = 30 * time.Second
	}
	s := &Server{cfg: cfg, mux: http.NewServeMux()}
	read := func(pattern string, f func(*http.Request) (any, error)) {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.read(w, r, f) })
	}
	write := func(pattern string, f func(*http.Request, []byte) (any, error)) {
		s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) { s.write(w, r, f) })
	}
	read("GET /{$}", func(*http.Request) (any, error) { return struct{}{}, nil })
	read("GET /subjects", s.subjects)
	read("GET /subjects/{subject}/versions", s.versions)
	read("GET /subjects/{subject}/versions/{version}", s.version)
	read("GET /subjects/{subject}/versions/{version}/schema", s.versionText)
	read("GET /subjects/{subject}/versions/{version}/referencedby", s.referencedBy)
	read("GET /schemas/types", func(*http.Request) (any, error) { return schemaTypes, nil })
	read("GET /schemas/ids/{id}", s.schemaByID)
	read("GET /schemas/ids/{id}/schema", s.schemaTextByID)
	read("GET /schemas/ids/{id}/subjects", s.subjectsOfID)
	read("GET /schemas/ids/{id}/versions", s.versionsOfID)
	read("GET /config", s.config)
	read("GET /config/{subject}", s.config)
	read("GET /mode", func(*http.Request) (any, error) { return map[string]string{"mode": "READWRITE"}, nil })
	read("POST /subjects/{subject}", s.lookup)
	read("POST /compatibility/subjects/{subject}/versions", s.compatible)
	read("POST /compatibility/subjects/{subject}/versions/{version}", s.compatible)
	write("POST /subjects/{subject}/versions", s.register)
	write("DELETE /subjects/{subject}", s.deleteSubject)
	write("DELETE /subjects/{subject}/versions/{version}", s.deleteVersion)
	write("PUT /config", s.setConfig)
	write("PUT /config/{subject}", s.setConfig)
	write("DELETE /config", s.deleteConfig)
	write("DELETE /config/{subject}", s.deleteConfig)
	s.own()
	return s
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	s.mux.ServeHTTP(w, r)
}

// text is an answer that is not JSON of a value, but one already.
type text string

func answer(w http.ResponseWriter, code int, v any) {
	b := []byte(nil)
	if t, ok := v.(text); ok {
		b = []byte(t)
	} else {
		var err error
		if b, err = json.Marshal(v); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
	}
	w.Header().Set("Content-Type", "application/vnd.schemaregistry.v1+json")
	w.WriteHeader(code)
	_, _ = w.Write(b) // a client that has gone is told nothing
}

// refusal answers with an error, as clients of registries know them.
func refusal(w http.ResponseWriter, err error) {
	var r *state.Refusal
	var notLeader *journal.NotLeaderError
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &r):
	case errors.As(err, &tooLarge):
		r = &state.Refusal{Code: 41300, Message: err.Error()}
	case errors.Is(err, registry.ErrUnknown):
		// It may yet happen: whoever asks again gets the same id for the same schema.
		r = &state.Refusal{Code: 50002, Message: "Outcome of the write is unknown: " + err.Error()}
	case errors.As(err, &notLeader):
		r = &state.Refusal{Code: 50003, Message: "The write was not made: " + err.Error()}
	case errors.Is(err, registry.ErrNotReady):
		r = &state.Refusal{Code: 50301, Message: err.Error()}
	default:
		slog.Error("request", "err", err)
		r = &state.Refusal{Code: 50001, Message: "Error in the backend data store: " + err.Error()}
	}
	status := r.Code / 100
	if r.Code < 1000 {
		status = r.Code
	}
	answer(w, status, map[string]any{"error_code": r.Code, "message": r.Message})
}

func (s *Server) read(w http.ResponseWriter, r *http.Request, f func(*http.Request) (any, error)) {
	if !s.cfg.Registry.IsReady() {
		refusal(w, registry.ErrNotReady)
		return
	}
	v, err := f(r)
	if err != nil {
		refusal(w, err)
		return
	}
	answer(w, http.StatusOK, v)
}

func (s *Server) db() *state.DB { return s.cfg.Registry.DB() }

func flagOf(r *http.Request, name string) bool {
	ok, _ := strconv.ParseBool(r.URL.Query().Get(name))
	return ok
}

// versionOf is the version in the path: 0 for the latest.
func versionOf(r *http.Request) (int, error) {
	v := r.PathValue("version")
	if v == "latest" || v == "-1" || v == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(v)
	if err != nil || n < 1 {
		return 0, &state.Refusal{Code: 42202, Message: fmt.Sprintf("The specified version '%s' is not a valid version id. Allowed values are between [1, 2^31-1] and the string \"latest\"", v)}
	}
	return n, nil
}

func idOf(r *http.Request) (int, error) {
	n, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || n < 1 {
		return 0, &state.Refusal{Code: 40403, Message: fmt.Sprintf("Schema %s not found", r.PathValue("id"))}
	}
	return n, nil
}

func (s *Server) subjects(r *http.Request) (any, error) {
	return s.db().Subjects(r.Context(), r.URL.Query().Get("subjectPrefix"), flagOf(r, "deleted"))
}

func (s *Server) versions(r *http.Request) (any, error) {
	return s.db().Versions(r.Context(), r.PathValue("subject"), flagOf(r, "deleted"))
}

func (s *Server) find(r *http.Request) (state.Schema, error) {
	v, err := versionOf(r)
	if err != nil {
		return state.Schema{}, err
	}
	return s.db().Version(r.Context(), r.PathValue("subject"), v, flagOf(r, "deleted"))
}

func (s *Server) version(r *http.Request) (any, error) {
	v, err := s.find(r)
	return wire(v), err
}

func (s *Server) versionText(r *http.Request) (any, error) {
	v, err := s.find(r)
	return text(v.Text), err
}

func (s *Server) referencedBy(r *http.Request) (any, error) {
	v, err := s.find(r)
	if err != nil {
		return nil, err
	}
	return s.db().Referrers(r.Context(), v.Subject, v.Version)
}

func (s *Server) byID(r *http.Request) (state.Schema, error) {
	id, err := idOf(r)
	if err != nil {
		return state.Schema{}, err
	}
	return s.db().SchemaByID(r.Context(), id)
}

func (s *Server) schemaByID(r *http.Request) (any, error) {
	v, err := s.byID(r)
	w := wire(v)
	w.ID = 0
	return w, err
}

func (s *Server) schemaTextByID(r *http.Request) (any, error) {
	v, err := s.byID(r)
	return text(v.Text), err
}

func (s *Server) uses(r *http.Request) ([]state.Schema, error) {
	id, err := idOf(r)
	if err != nil {
		return nil, err
	}
	return s.db().Uses(r.Context(), id, flagOf(r, "deleted"))
}

func (s *Server) subjectsOfID(r *http.Request) (any, error) {
	uses, err := s.uses(r)
	names := []string{}
	for _, u := range uses {
		if n := len(names); n == 0 || names[n-1] != u.Subject {
			names = append(names, u.Subject)
		}
	}
	return names, err
}

func (s *Server) versionsOfID(r *http.Request) (any, error) {
	uses, err := s.uses(r)
	type use struct {
		Subject string `json:"subject"`
		Version int    `json:"version"`
	}
	all := []use{}
	for _, u := range uses {
		all = append(all, use{u.Subject, u.Version})
	}
	return all, err
}

func (s *Server) config(r *http.Request) (any, error) {
	level, err := s.db().Level(r.Context(), r.PathValue("subject"), flagOf(r, "defaultToGlobal"))
	return map[string]string{"compatibilityLevel": level}, err
}

// schemaBody is what clients send and get.
type schemaBody struct {
	Subject    string            `json:"subject,omitempty"`
	Version    int               `json:"version,omitempty"`
	ID         int               `json:"id,omitempty"`
	SchemaType string            `json:"schemaType,omitempty"`
	Schema     string            `json:"schema"`
	References []state.Reference `json:"references,omitempty"`
}

func wire(s state.Schema) schemaBody {
	b := schemaBody{Subject: s.Subject, Version: s.Version, ID: s.ID, SchemaType: s.Type, Schema: s.Text, References: s.References}
	if b.SchemaType == "AVRO" {
		b.SchemaType = "" // as registries have it
	}
	return b
}

func (s *Server) lookup(r *http.Request) (any, error) {
	b, err := schemaOf(r.Body)
	if err != nil {
		return nil, err
	}
	v, err := s.db().Lookup(r.Context(), r.PathValue("subject"), b.SchemaType, b.Schema, b.References, flagOf(r, "deleted"))
	return wire(v), err
}

func (s *Server) timeout(r *http.Request) (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.Context(), s.cfg.Timeout)
}
