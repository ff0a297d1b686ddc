// Package config reads the configuration file of a node, in Kafka's format and with
// Kafka's property names.
//
// Read [Load] and [Config] first. Values that are missing are Kafka's defaults, except
// where docs/kraftd.md says why not. An error names file, line, key, value and what
// would be right; all errors of a file are reported at once. Keys that mean nothing
// here, among them those of Kafka that only concern a broker, are [Config.Warnings].
//
// The package knows no node: who starts one maps a Config onto it.
package config

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/quorate/quorate/impl/properties"
)

// Config is a configuration that is valid.
type Config struct {
	// File it was read from.
	File string
	// NodeID is node.id.
	NodeID int32
	// Controller and Broker are what process.roles has, one or both.
	Controller, Broker bool
	// Voters is controller.quorum.voters. Empty: the voter set is a dynamic one (KIP-853).
	Voters []Voter
	// Bootstrap is controller.quorum.bootstrap.servers, host:port each.
	Bootstrap []string
	// AutoJoin is controller.quorum.auto.join.enable: a controller that is no voter of a dynamic
	// voter set becomes one by itself (KIP-1186).
	AutoJoin bool
	// ControllerListeners is controller.listener.names, in upper case. The first is the
	// one by which nodes of the quorum reach each other.
	ControllerListeners []string
	// Listeners and Advertised (advertised.listeners, or what follows from Listeners).
	Listeners, Advertised []Listener
	// LogDirs is log.dirs. MetadataLogDir is metadata.log.dir, or the first of LogDirs.
	LogDirs        []string
	MetadataLogDir string

	Quorum  Quorum
	Log     Log
	SSL     SSL
	Quorate Quorate
	// SuperUsers is super.users: principals such as "User:CN=controller-2". Nil: it is not
	// given.
	SuperUsers []string
	// UnstableFeatures is unstable.feature.versions.enable: levels of features may be used
	// that are not for production yet.
	UnstableFeatures bool
	// MaxConnections is max.connections: how many are accepted, but for those of voters.
	MaxConnections int

	// Warnings are about what is allowed and probably not meant, a line each.
	Warnings []string
	set      map[string]int // line of each key in the file

	quorumListener Listener // of a broker
}

// Voter is a member of the static voter set.
type Voter struct {
	ID   int32
	Addr string // host:port
}

// Listener is a named address to listen on.
type Listener struct {
	// Name in upper case. Protocol is what listener.security.protocol.map says.
	Name     string
	Protocol Protocol
	// Addr is host:port. The host is empty for all interfaces.
	Addr string
}

// Protocol is a security protocol.
type Protocol string

// The protocols that a listener may have here. Kafka also has SASL_PLAINTEXT and
// SASL_SSL.
const (
	Plaintext Protocol = "PLAINTEXT"
	TLS       Protocol = "SSL"
)

// Quorum are the times of controller.quorum.*.ms.
type Quorum struct {
	ElectionTimeout, FetchTimeout, ElectionBackoffMax time.Duration
	AppendLinger, RequestTimeout, RetryBackoff        time.Duration
	// Registration bounds how long an observer that starts may take to be let in
	// (initial.broker.registration.timeout.ms).
	Registration time.Duration
}

// Log is how the log and its snapshots are kept. -1 is no limit in retention.
type Log struct {
	SegmentBytes     int64         // metadata.log.segment.bytes
	SegmentAge       time.Duration // metadata.log.segment.ms
	RetentionBytes   int64         // metadata.max.retention.bytes
	RetentionAge     time.Duration // metadata.max.retention.ms
	SnapshotBytes    int64         // metadata.log.max.record.bytes.between.snapshots
	SnapshotInterval time.Duration // metadata.log.max.snapshot.interval.ms; 0: off
}

// Quorate are settings that Kafka does not have.
type Quorate struct {
	// MetricsListener is host:port of HTTP for metrics and health
	// (quorate.metrics.listener). Empty: none.
	MetricsListener string
	// TraceFile is where events are recorded (quorate.trace.file). Empty: nowhere.
	TraceFile string
	// TraceDir is where recordings are made that begin while the node runs
	// (quorate.trace.dir). Empty: none may.
	TraceDir string
	// UnformattedVoters: voters of a static quorum may start without format, and the first
	// leader draws the cluster id. It is the second revision of KIP-1262
	// (quorate.unformatted.voters), and not safe where disks are lost.
	UnformattedVoters bool
	// BeforeKIP1170: the zero checkpoint is loaded as Kafka did before that proposal, as
	// committed state (quorate.internal.before.kip1170). For tests of upgrades.
	BeforeKIP1170 bool
	// DeleteLegacy: bootstrap.checkpoint is deleted once a committed snapshot has what it
	// was for (quorate.bootstrap.checkpoint.delete).
	DeleteLegacy bool
	// ClientListener is host:port of the provisional client protocol
	// (quorate.client.listener). Empty: none.
	ClientListener string
}

// IsSet says whether the file has a key.
func (c *Config) IsSet(key string) bool { return c.set[key] > 0 }

// ControllerListener is the listener of the quorum. A broker has none of its own: the
// address is empty, and name and protocol are those of the quorum.
func (c *Config) ControllerListener() Listener {
	if !c.Controller {
		return c.quorumListener
	}
	return named(c.Listeners, c.ControllerListeners[0])
}

// IsVoter says whether this node is in the static voter set.
func (c *Config) IsVoter() bool {
	return slices.ContainsFunc(c.Voters, func(v Voter) bool { return v.ID == c.NodeID })
}

// Error is one thing that is wrong with a file.
type Error struct {
	File string
	Line int // from 1; 0: about what is not there
	// Key and Value as they stand in the file; Value is empty if Line is 0.
	Key, Value string
	Reason     string
}

func (e *Error) Error() string {
	switch {
	case e.Key == "":
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason)
	case e.Line == 0:
		return fmt.Sprintf("%s: %s: %s", e.File, e.Key, e.Reason)
	}
	return fmt.Sprintf("%s:%d: %s=%s: %s", e.File, e.Line, e.Key, e.Value, e.Reason)
}

// Load reads a file.
func Load(name string) (*Config, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("configuration: %w", err)
	}
	return Parse(name, b)
}

// Parse reads the content of a file. The name is for messages. An error is one or
// more [*Error], joined.
func Parse(name string, content []byte) (*Config, error) {
	entries, err := properties.Parse(content)
	if err != nil {
		var bad *properties.Error
		errors.As(err, &bad)
		return nil, &Error{File: name, Line: bad.Line, Reason: bad.Reason}
	}
	r := &reader{file: name, values: map[string]properties.Entry{}, used: map[string]bool{}}
	c := &Config{File: name, set: map[string]int{}}
	for _, e := range entries {
		e.Value = strings.TrimSpace(e.Value)
		if before, ok := r.values[e.Key]; ok {
			r.warn("%s:%d: %s is also on line %d, which does not count", name, e.Line, e.Key, before.Line)
		}
		r.values[e.Key], c.set[e.Key] = e, e.Line
	}
	r.node(c)
	r.network(c)
	r.quorum(c)
	r.log(c)
	r.security(c)
	r.quorate(c)
	for _, e := range entries {
		if !r.used[e.Key] {
			r.used[e.Key] = true
			r.warn("%s:%d: %s is not a key that kraftd knows, and has no effect", name, r.values[e.Key].Line, e.Key)
		}
	}
	c.Warnings = r.warnings
	if err := errors.Join(r.errs...); err != nil {
		return nil, err
	}
	return c, nil
}

func (r *reader) node(c *Config) {
	c.NodeID = int32(r.integer("node.id", required, 0, math.MaxInt32))
	r.roles(c)
	c.UnstableFeatures = r.boolean("unstable.feature.versions.enable")
	c.LogDirs = r.list("log.dirs")
	if dir := r.text("log.dir", ""); len(c.LogDirs) == 0 && dir != "" {
		c.LogDirs = splitList(dir)
	}
	c.MetadataLogDir = r.text("metadata.log.dir", "")
	switch {
	case len(c.LogDirs) == 0:
		// Kafka's default is /tmp/kafka-logs.
		r.missing("log.dirs", "is required: a default below /tmp would not outlive the machine's next start")
	case c.MetadataLogDir == "":
		c.MetadataLogDir = c.LogDirs[0]
	}
	for i, dir := range c.LogDirs {
		for _, other := range c.LogDirs[:i] {
			if filepath.Clean(dir) == filepath.Clean(other) {
				r.refuse("log.dirs", "%s is given twice", dir)
			}
		}
	}
}

// roles: there is no node without one.
func (r *reader) roles(c *Config) {
	roles := r.list("process.roles")
	if len(roles) == 0 {
		r.missing("process.roles", `is required: want "controller" (there is no ZooKeeper mode)`)
	}
	for i, role := range roles {
		switch {
		case slices.Contains(roles[:i], role):
			r.refuse("process.roles", "%s is given twice", role)
		case role == "broker":
			c.Broker = true
		case role == "controller":
			c.Controller = true
		default:
			r.refuse("process.roles", `%q is not a role: want controller or broker`, role)
		}
	}
}

func (r *reader) quorum(c *Config) {
	c.Quorum = Quorum{
		// Kafka takes 0 for the first two, with which no leader lasts.
		ElectionTimeout:    r.millis("controller.quorum.election.timeout.ms", 1000, 1, math.MaxInt32),
		FetchTimeout:       r.millis("controller.quorum.fetch.timeout.ms", 2000, 1, math.MaxInt32),
		ElectionBackoffMax: r.millis("controller.quorum.election.backoff.max.ms", 1000, 1, math.MaxInt32),
		AppendLinger:       r.millis("controller.quorum.append.linger.ms", 25, 0, math.MaxInt32),
		RequestTimeout:     r.millis("controller.quorum.request.timeout.ms", 2000, 1, math.MaxInt32),
		RetryBackoff:       r.millis("controller.quorum.retry.backoff.ms", 20, 1, math.MaxInt32),
		Registration:       r.millis("initial.broker.registration.timeout.ms", 60_000, 1, math.MaxInt32),
	}
}

func (r *reader) log(c *Config) {
	c.Log = Log{
		SegmentBytes:     r.integer("metadata.log.segment.bytes", 1<<30, 8<<20, math.MaxInt32),
		SegmentAge:       r.millis("metadata.log.segment.ms", 7*24*3600*1000, 1, maxMillis),
		RetentionBytes:   r.integer("metadata.max.retention.bytes", 100<<20, -1, math.MaxInt64),
		RetentionAge:     r.millis("metadata.max.retention.ms", 7*24*3600*1000, -1, maxMillis),
		SnapshotBytes:    r.integer("metadata.log.max.record.bytes.between.snapshots", 20<<20, 1, math.MaxInt64),
		SnapshotInterval: r.millis("metadata.log.max.snapshot.interval.ms", 3600*1000, 0, maxMillis),
	}
	if e, ok := r.values["internal.metadata.log.segment.bytes"]; ok && e.Value != "" { // for tests, as in Kafka
		c.Log.SegmentBytes = r.integer(e.Key, 1<<30, 12, math.MaxInt32)
	}
}

func (r *reader) quorate(c *Config) {
	c.Quorate.TraceFile = r.text("quorate.trace.file", "")
	c.Quorate.TraceDir = r.text("quorate.trace.dir", "")
	c.Quorate.UnformattedVoters = r.boolean("quorate.unformatted.voters")
	c.Quorate.BeforeKIP1170 = r.boolean("quorate.internal.before.kip1170")
	c.Quorate.DeleteLegacy = r.boolean("quorate.bootstrap.checkpoint.delete")
	for _, l := range []struct {
		key string
		to  *string
	}{{"quorate.metrics.listener", &c.Quorate.MetricsListener}, {"quorate.client.listener", &c.Quorate.ClientListener}} {
		*l.to = r.text(l.key, "")
		if *l.to == "" {
			continue
		}
		host, _, err := splitAddr(*l.to, true)
		switch {
		case err != nil:
			r.refuse(l.key, "%v", err)
		case !loopback(host):
			r.warn("%s:%d: %s=%s is reached from other machines, and asks nobody who he is", r.file, r.values[l.key].Line, l.key, *l.to)
		}
	}
}
