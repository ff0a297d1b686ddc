package node

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/quorumstate"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/quorate/quorate/impl/wire"
)

// Voter is a replica of the static voter set.
type Voter struct {
	ID core.ReplicaID
	// Directory id; zero: not known, and any will do.
	Directory core.DirectoryID
	// Addr is host:port of its listener.
	Addr string
}

// HostPort is Addr in its parts; zero values if it is none.
func (v Voter) HostPort() (host string, port int32) {
	e, err := v.endpoint()
	if err != nil {
		return "", 0
	}
	return e.Host, int32(e.Port)
}

// Config of a Node.
type Config struct {
	ID        core.ReplicaID
	Directory core.DirectoryID
	// Dir holds all files of the replica. It is made if it is missing.
	Dir string
	// FS holds Dir. Nil: the operating system's, and Dir is locked against another
	// process.
	FS fs.FS
	// Listen is host:port of the quorum's listener. Empty: any port of 127.0.0.1.
	// Listener, if not nil, is used instead.
	Listen   string
	Listener net.Listener
	// ClientListen is host:port of the listener of the provisional client protocol.
	// Empty: none.
	ClientListen string
	// ListenerName is what the quorum's listener is called in requests, in upper case
	// (the first of controller.listener.names). All nodes must agree. Empty: CONTROLLER.
	ListenerName string
	// Voters of a static quorum, which counts as long as neither log nor zero checkpoint
	// have a voter set (KIP-853). A node that is not a voter is an observer.
	Voters []Voter
	// Bootstrap are servers, host:port, that know who leads, for a node whose voter set is not
	// static (controller.quorum.bootstrap.servers).
	Bootstrap []string
	// Advertised is host:port at which other nodes reach the quorum's listener, as a dynamic
	// voter set is to have it. Empty: the address of the listener.
	Advertised string
	// AutoJoin: an observer becomes a voter of a dynamic voter set by itself, in place of
	// one with its id and another directory (controller.quorum.auto.join.enable, KIP-1186).
	AutoJoin bool
	// ClusterID, if not empty, must be that of every peer that states one. Empty: it is
	// not known; see [Node.LearnClusterID].
	ClusterID string
	// Discover: this is an observer that has yet to learn its cluster id. Of a log that it
	// got from one leader and one of another it could not tell that they are of one
	// cluster, so it ends with [ErrOtherLeader] instead of following a second one.
	Discover bool
	// LoadsZeroAsSnapshot: the machine is to take the zero checkpoint for committed state,
	// as Kafka did before KIP-1170. For tests of upgrades.
	LoadsZeroAsSnapshot bool
	// Trace is the file to which events are appended. Empty: none are recorded.
	Trace string
	// TraceOptional: the node starts, and goes on, also if Trace cannot be written.
	TraceOptional bool
	// DisablePreVote: the behaviour before Kafka 4.0, Vote up to version 1.
	DisablePreVote bool
	// MaxFetch is the highest version of Fetch to use: 17 or 18 (0).
	MaxFetch int16
	// Core has timeouts and limits. What this Config says elsewhere is ignored in it;
	// Seed 0 is one that differs from start to start.
	Core core.Config
	Log  log.Config
	// MaxConnections bounds the accepted connections, but for those of voters. 0: 256.
	MaxConnections int
	// TLS, if not nil, is what the quorum's listener and connections to peers speak.
	TLS *TLS
	// SuperUsers are the principals that may ask for anything: the nodes of the quorum, and
	// who administers it. Nil: everybody may.
	SuperUsers []string
	limits     limits // zero: the default
	// Observer, if not nil, is told of each step.
	Observer Observer
	// Machine is what the quorum replicates. Nil: a [Values], which the node makes.
	Machine Machine
	// Service, if not nil, answers requests of clients.
	Service Service
	// Snapshots says when the machine is asked for a snapshot. Zero: never.
	Snapshots snapshot.Policy
	// Retention says how much of log and snapshots is kept. Zero: 100 MiB, 7 days, as in
	// Kafka. It is looked at after each snapshot and every RetentionCheck (1 minute).
	Retention      snapshot.Retention
	RetentionCheck time.Duration
}

// logDir is the name of the directory of the log, as in Kafka.
const logDir = "__cluster_metadata-0"

func (c *Config) defaults() {
	if c.MaxConnections <= 0 {
		c.MaxConnections = 256
	}
	if c.Retention == (snapshot.Retention{}) {
		c.Retention = snapshot.Retention{MaxBytes: 100 << 20, MaxMs: 7 * 24 * 3600 * 1000}
	}
	if c.RetentionCheck <= 0 {
		c.RetentionCheck = time.Minute
	}
}

func (c *Config) check() error {
	if c.ID < 0 {
		return errors.New("node: the id is negative")
	}
	if c.Dir == "" {
		return errors.New("node: no directory is given")
	}
	if len(c.Voters) == 0 && len(c.Bootstrap) == 0 {
		return errors.New("node: there are neither voters nor bootstrap servers")
	}
	if (len(c.Voters) == 0 || c.AutoJoin) && c.Directory == (core.DirectoryID{}) {
		return errors.New("node: a dynamic voter set needs the id of the directory")
	}
	for _, addr := range append([]string{}, c.Bootstrap...) {
		if _, err := (Voter{Addr: addr}).endpoint(); err != nil {
			return fmt.Errorf("node: bootstrap server: %w", err)
		}
	}
	if c.MaxFetch != 0 && c.MaxFetch != 17 && c.MaxFetch != 18 {
		return fmt.Errorf("node: Fetch version %d, want 17 or 18", c.MaxFetch)
	}
	for _, v := range c.Voters {
		if _, err := v.endpoint(); err != nil {
			return fmt.Errorf("node: voter %d: %w", v.ID, err)
		}
	}
	return nil
}

func (v Voter) endpoint() (wire.Endpoint, error) {
	host, port, err := net.SplitHostPort(v.Addr)
	if err != nil {
		return wire.Endpoint{}, err
	}
	p, err := strconv.ParseUint(port, 10, 16)
	if err != nil || p == 0 || host == "" {
		return wire.Endpoint{}, fmt.Errorf("address %q is not host:port", v.Addr)
	}
	return wire.Endpoint{Host: host, Port: uint16(p)}, nil
}

// core is the configuration of the replica core.
func (c *Config) core(incarnation int32) core.Config {
	k := c.Core
	k.ID, k.Directory = c.ID, c.Directory
	k.Voters, k.Bootstrap = nil, nil
	for _, v := range c.Voters {
		k.Voters = append(k.Voters, core.ReplicaKey{ID: v.ID, Directory: v.Directory})
	}
	k.PreVote = !c.DisablePreVote
	k.Trace = c.Trace != ""
	if k.RequestTimeout == 0 {
		k.RequestTimeout = 2000
	}
	if k.Seed == 0 {
		k.Seed = uint64(time.Now().UnixNano())<<16 ^ uint64(c.ID)<<8 ^ uint64(incarnation)
	}
	return k
}

func (c *Config) codec() *wire.Codec {
	w := &wire.Codec{
		ClusterID: c.ClusterID, Listener: c.ListenerName, PreVote: !c.DisablePreVote, MaxFetch: c.MaxFetch,
		Endpoints: make(map[core.ReplicaID]wire.Endpoint, len(c.Voters)),
	}
	for _, v := range c.Voters {
		w.Endpoints[v.ID], _ = v.endpoint() // checked
	}
	id := c.ID
	w.Node = &id
	if c.Service != nil {
		w.Extra = c.Service.APIs()
	}
	if f, ok := c.Service.(Featured); ok {
		w.Features, w.FinalizedFeatures = f.Supported(), f.Finalized
	}
	return w
}

// quorumState is how the file is written while the voter set is static.
func (c *Config) quorumState() quorumstate.Config {
	q := quorumstate.Config{Version: 0}
	for _, v := range c.Voters {
		q.Voters = append(q.Voters, int32(v.ID))
	}
	return q
}
