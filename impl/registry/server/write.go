package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"

	"github.com/quorate/quorate/impl/registry"
	"github.com/quorate/quorate/impl/registry/state"
)

// write makes a write, and answers when it is applied here, so that a client reads here
// what it wrote here.
func (s *Server) write(w http.ResponseWriter, r *http.Request, f func(*http.Request, []byte) (any, error)) {
	ctx, cancel := s.timeout(r)
	defer cancel()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		refusal(w, err)
		return
	}
	if !s.cfg.Registry.IsReady() {
		refusal(w, registry.ErrNotReady)
		return
	}
	v, err := f(r.WithContext(ctx), body)
	if err != nil {
		refusal(w, err)
		return
	}
	answer(w, http.StatusOK, v)
}

func (s *Server) do(ctx context.Context, op state.Op) (state.Result, error) {
	r, _, err := s.cfg.Registry.Write(ctx, op)
	if err == nil && r.Refused != nil {
		err = r.Refused
	}
	return r, err
}

func (s *Server) register(r *http.Request, body []byte) (any, error) {
	b, err := schemaOf(bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	subject := r.PathValue("subject")
	for {
		// One that is there needs no record.
		have, err := s.db().Lookup(r.Context(), subject, b.SchemaType, b.Schema, b.References, false)
		if err == nil {
			return map[string]int{"id": have.ID}, nil
		}
		if refused := (*state.Refusal)(nil); !errors.As(err, &refused) {
			return nil, err
		}
		op := state.Op{Type: state.OpRegister, Subject: subject, SchemaType: b.SchemaType, Schema: b.Schema, References: b.References}
		if op.Checked, op.Level, err = s.check(r.Context(), subject, b); err != nil {
			return nil, err
		}
		result, err := s.do(r.Context(), op)
		if refused := (*state.Refusal)(nil); errors.As(err, &refused) && refused.Code == state.CodeChanged {
			continue
		}
		return map[string]int{"id": result.ID}, err
	}
}

func (s *Server) deleteSubject(r *http.Request, _ []byte) (any, error) {
	result, err := s.do(r.Context(), state.Op{Type: state.OpDeleteSubject, Subject: r.PathValue("subject"), Permanent: flagOf(r, "permanent")})
	return result.Versions, err
}

func (s *Server) deleteVersion(r *http.Request, _ []byte) (any, error) {
	v, err := versionOf(r)
	if err != nil {
		return nil, err
	}
	result, err := s.do(r.Context(), state.Op{Type: state.OpDeleteVersion, Subject: r.PathValue("subject"), Version: v, Permanent: flagOf(r, "permanent")})
	return result.Version, err
}

func (s *Server) setConfig(r *http.Request, body []byte) (any, error) {
	var b struct {
		Compatibility string `json:"compatibility"`
	}
	if err := json.Unmarshal(body, &b); err != nil {
		return nil, &state.Refusal{Code: 42203, Message: "Invalid compatibility level: " + err.Error()}
	}
	if !slices.Contains(state.Levels, b.Compatibility) {
		return nil, &state.Refusal{Code: 42203, Message: "Invalid compatibility level. Valid values are none, backward, forward, full, backward_transitive, forward_transitive, and full_transitive"}
	}
	result, err := s.do(r.Context(), state.Op{Type: state.OpSetConfig, Subject: r.PathValue("subject"), Level: b.Compatibility})
	return map[string]string{"compatibility": result.Level}, err
}

func (s *Server) deleteConfig(r *http.Request, _ []byte) (any, error) {
	result, err := s.do(r.Context(), state.Op{Type: state.OpDeleteConfig, Subject: r.PathValue("subject")})
	return map[string]string{"compatibility": result.Level}, err
}
