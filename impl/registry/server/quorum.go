package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"

	"github.com/quorate/quorate/impl/registry/journal"
)

// quorumAnswer is what a server tells another of the same quorum.
type quorumAnswer struct {
	Offset int64 `json:"offset"`
	// NotLeader: nothing was done; Leader is who leads, -1 if it is not known.
	NotLeader bool  `json:"notLeader,omitempty"`
	Leader    int32 `json:"leader,omitempty"`
	// Unknown: it may have been done.
	Unknown bool   `json:"unknown,omitempty"`
	Error   string `json:"error,omitempty"`
}

// quorum are the paths for the servers of other nodes.
func (s *Server) quorum() {
	tell := func(w http.ResponseWriter, offset int64, err error) {
		a := quorumAnswer{Offset: offset, Unknown: errors.Is(err, journal.ErrUnknown)}
		if err != nil {
			a.Error = err.Error()
		}
		if notLeader := (*journal.NotLeaderError)(nil); errors.As(err, &notLeader) {
			a.NotLeader, a.Leader = true, notLeader.Leader
		}
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(a); err != nil {
			return // who asked has gone
		}
	}
	s.mux.HandleFunc("GET /internal/end", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := s.timeout(r)
		defer cancel()
		end, err := s.cfg.Quorum.EndAsLeader(ctx)
		tell(w, end, err)
	})
	s.mux.HandleFunc("POST /internal/records/{kind}", func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := s.timeout(r)
		defer cancel()
		value, err := io.ReadAll(r.Body)
		kind := r.PathValue("kind")
		if err == nil && len(kind) != 1 {
			err = fmt.Errorf("%q is no kind of a record", kind)
		}
		offset := int64(0)
		if err == nil {
			offset, err = s.cfg.Quorum.ProposeAsLeader(ctx, kind[0], value)
		}
		tell(w, offset, err)
	})
}

// Peers are the URLs of the servers of a quorum, by node.
type Peers map[int32]string

var _ journal.Peers = Peers(nil)

func (p Peers) ask(ctx context.Context, leader int32, method, path string, body []byte) (int64, error) {
	base := p[leader]
	if base == "" {
		return 0, &journal.NotLeaderError{Leader: leader}
	}
	r, err := http.NewRequestWithContext(ctx, method, base+path, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(r)
	if refused := (*net.OpError)(nil); errors.As(err, &refused) && refused.Op == "dial" {
		return 0, &journal.NotLeaderError{Leader: -1} // it never got there
	}
	if err != nil {
		return 0, fmt.Errorf("%w: %w", journal.ErrUnknown, err)
	}
	defer answer.Body.Close()
	var a quorumAnswer
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<16)).Decode(&a); err != nil {
		return 0, fmt.Errorf("%w: %s: %s: %w", journal.ErrUnknown, base, answer.Status, err)
	}
	switch {
	case a.NotLeader:
		return 0, &journal.NotLeaderError{Leader: a.Leader}
	case a.Unknown:
		return 0, fmt.Errorf("%w: %s", journal.ErrUnknown, a.Error)
	case a.Error != "":
		return 0, errors.New(a.Error)
	}
	return a.Offset, nil
}

// End implements [journal.Peers].
func (p Peers) End(ctx context.Context, leader int32) (int64, error) {
	return p.ask(ctx, leader, http.MethodGet, "/internal/end", nil)
}

// Propose implements [journal.Peers].
func (p Peers) Propose(ctx context.Context, leader int32, kind byte, value []byte) (int64, error) {
	return p.ask(ctx, leader, http.MethodPost, "/internal/records/"+url.PathEscape(string(kind)), value)
}
