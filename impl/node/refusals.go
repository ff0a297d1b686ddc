package node

import (
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/impl/core"
)

// Refusal is a reason for which a request or a connection is not served.
type Refusal uint8

// Reasons of refusals.
const (
	// RefusedConnection: there was no place for it.
	RefusedConnection Refusal = iota
	// RefusedHandshake: no TLS, or no certificate that is trusted.
	RefusedHandshake
	// RefusedFrame: its announced size is not allowed.
	RefusedFrame
	// RefusedRequest: bytes that are no request that is served.
	RefusedRequest
	// RefusedPrincipal: the principal may not do it.
	RefusedPrincipal
	// RefusedSlowSender: a request did not arrive as a whole in time.
	RefusedSlowSender
	// RefusedSlowReader: a response was not taken in time.
	RefusedSlowReader
	// RefusedMemory: too much that others were to read had not been taken.
	RefusedMemory
	refusals
)

var refusalNames = [refusals]string{
	"connections", "handshake", "frame", "request", "principal", "slow-sender", "slow-reader", "memory",
}

func (r Refusal) String() string { return refusalNames[r] }

// Network is what a node has to do with others, for metrics.
type Network struct {
	// Connections that were accepted and are open, and those of voters among them.
	Connections, VoterConnections int
	// Requests of others that the core has and has not answered: parked fetches, mostly.
	Requests int
	// Unsent are the bytes of responses that were not taken yet.
	Unsent int64
	// Refused counts what was refused since the start, by Refusal.
	Refused [refusals]uint64
}

// Network is how things are now.
func (n *Node) Network() (s Network) {
	s.Connections, s.VoterConnections = n.net.places.count()
	s.Requests, s.Unsent = int(n.net.requests.Load()), n.net.unsent.Load()
	for r := range n.net.refused {
		s.Refused[r] = n.net.refused[r].Load()
	}
	return s
}

// network is the part of a Node that deals with others.
type network struct {
	limits   limits
	places   *places
	allowed  map[string]bool // principals that may all; nil: all may
	requests atomic.Int64
	unsent   atomic.Int64
	refused  [refusals]atomic.Uint64
	said     [refusals]atomic.Int64 // when it was logged last, in nanoseconds since 1970

	dials                  map[core.ReplicaID]*dialing // owned by the loop
	minBackoff, maxBackoff time.Duration
}

func (w *network) init(cfg *Config) {
	w.limits = cfg.limits
	if w.limits == (limits{}) {
		w.limits = defaultLimits
	}
	w.places = newPlaces(cfg.ID, cfg.Voters, cfg.MaxConnections)
	w.dials = map[core.ReplicaID]*dialing{}
	w.minBackoff, w.maxBackoff = cfg.reconnectBackoff()
	if cfg.SuperUsers != nil {
		w.allowed = map[string]bool{}
		for _, user := range cfg.SuperUsers {
			w.allowed[user] = true
		}
	}
}

// complainEvery bounds how often a reason is logged: others must not fill the disk.
const complainEvery = time.Second

// refuse counts a refusal and logs it, if the reason was not logged just before.
func (n *Node) refuse(r Refusal, conn net.Conn, why string, args ...any) {
	n.net.refused[r].Add(1)
	now, last := time.Now().UnixNano(), n.net.said[r].Load()
	if now-last < int64(complainEvery) || !n.net.said[r].CompareAndSwap(last, now) {
		return
	}
	args = append([]any{"node", int(n.cfg.ID), "from", conn.RemoteAddr().String(), "reason", r.String(), "total", n.net.refused[r].Load()}, args...)
	slog.Warn("refused: "+why, args...)
}
