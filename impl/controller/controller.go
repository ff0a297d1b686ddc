package controller

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/quorate/quorate/impl/concern"
	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// APIs that are answered.
const (
	metadataAPI       wire.API = 3
	describeConfigs   wire.API = 32
	incrementalConfig wire.API = 44
	updatesFeatures   wire.API = 57
	brokerAPI         wire.API = 62
	registration      wire.API = 70
)

// Error codes of Kafka's protocol.
const (
	unknownServerError      = -1
	unknownTopicOrPartition = 3
	requestTimedOut         = 7
	messageTooLarge         = 10
	invalidTopic            = 17
	invalidConfig           = 40
	notController           = 41
	invalidRequest          = 42
	unsupportedVersion      = 35
	throttlingQuotaExceeded = 89
	invalidUpdateVersion    = 95
	featureUpdateFailed     = 96
)

// Quorum is what a controller asks of its node.
type Quorum interface {
	ProposeIn(ctx context.Context, epoch int32, records [][]byte) (offset int64, err error)
	Read(ctx context.Context) (offset int64, err error)
	Leader() core.ReplicaID
	// Fail ends the node.
	Fail(err error)
}

var _ Quorum = (*node.Node)(nil)

// Controller is the state machine and the service of a node.
type Controller struct {
	state
	cfg    Config
	quorum atomic.Pointer[Quorum]
	used   chan struct{} // closed by Use
	use    sync.Once
	// term in which this node leads; nil: it does not.
	term atomic.Pointer[term]
	// zero is what the zero checkpoint has. Of the machine's goroutine only.
	zero *bootstrap
	// id is the cluster id of this node, nil until it knows one.
	id atomic.Pointer[string]
	// begun: that the machine has begun is recorded. Of the machine's goroutine only.
	begun bool
	// served is the last epoch of which a client's write is recorded.
	served atomic.Int32

	chunk    int // records of a batch of an activation; 0: maxBatchRecords
	queue    queue
	updating sync.Mutex // held by who updates features
}

// Config of a Controller.
type Config struct {
	// Node is the node's id, for messages.
	Node int32
	// ClusterID of the node; empty: it has yet to learn it.
	ClusterID string
	// Learn is called for a node that does not know its cluster id, with the first one that
	// is committed. When it returns, that is the node's; an error ends the node.
	Learn func(id string) error
	// Nodes are where the nodes of the quorum can be reached, for Metadata.
	Nodes []node.Voter
	// Voters, if not nil, are those of a dynamic voter set, which count instead of Nodes;
	// false: it is static.
	Voters func() ([]node.Voter, bool)
	// Legacy is a bootstrap.checkpoint, if there is one; ZeroName is what the zero
	// checkpoint is called in messages.
	Legacy   Legacy
	ZeroName string
	// DefaultVersion is the metadata.version of a cluster with no bootstrap. 0: the latest
	// for production.
	DefaultVersion metadata.Version
	// DrawsClusterID: the first leader makes a cluster id if none was given to it (the
	// second revision of KIP-1262).
	DrawsClusterID bool
	// Loaded is called when a committed snapshot with a metadata.version was loaded: what
	// the bootstrap was is not needed any more. Nil: nobody asks.
	Loaded func() error
	// Trace records what the controller does. Nil: nobody does.
	Trace *concern.Recorder
}

var (
	_ node.Machine      = (*Controller)(nil)
	_ node.Bootstrapper = (*Controller)(nil)
	_ node.Service      = (*Controller)(nil)
)

// New makes a controller without state.
func New(cfg Config) *Controller {
	c := &Controller{cfg: cfg, used: make(chan struct{})}
	if cfg.ClusterID != "" {
		c.id.Store(&cfg.ClusterID)
	}
	return c
}

// Use gives the controller the node that it is the machine and the service of. Before, it
// answers as one that does not lead.
func (c *Controller) Use(q Quorum) {
	c.quorum.Store(&q)
	c.use.Do(func() { close(c.used) })
}

// knownID is the cluster id of this node, empty if it does not know it.
func (c *Controller) knownID() string {
	if id := c.id.Load(); id != nil {
		return *id
	}
	return ""
}

// Apply implements [node.Machine].
func (c *Controller) Apply(b node.Batch) error {
	c.begins(start{})
	if err := c.state.Apply(b); err != nil {
		return err
	}
	if c.knownID() == "" { // it is adopted because it was applied
		c.replayed(b, nil)
		return c.learn()
	}
	err := c.learn()
	c.replayed(b, err)
	return err
}

// Load implements [node.Machine].
func (c *Controller) Load(r node.SnapshotReader) error {
	if err := c.state.Load(r); err != nil {
		return err
	}
	known := c.knownID() != ""
	if !known {
		c.loaded(r.ID(), nil)
	}
	err := c.learn()
	if known {
		c.loaded(r.ID(), err)
	}
	if err != nil {
		return err
	}
	if c.cfg.Loaded == nil || r.ID().End == 0 || c.version() == 0 {
		return nil
	}
	return c.cfg.Loaded()
}

// learn holds the committed cluster id against the node's, which may have yet to learn
// it: once here, not from any message and not from what is not committed (KIP-1262).
func (c *Controller) learn() error {
	committed, own := c.ClusterID(), c.knownID()
	switch {
	case committed == "" || committed == own:
		return nil
	case own != "":
		return fmt.Errorf("the log has cluster id %q, and meta.properties has %q", committed, own)
	}
	c.adopts(committed)
	if c.cfg.Learn != nil {
		if err := c.cfg.Learn(committed); err != nil {
			return err
		}
	}
	c.id.Store(&committed)
	c.remembers(committed)
	return nil
}

// APIs implements [node.Service].
func (c *Controller) APIs() map[wire.API]wire.Versions {
	return map[wire.API]wire.Versions{
		metadataAPI:       {Min: 0, Max: 12, OK: true},
		describeConfigs:   {Min: 1, Max: 4, OK: true},
		incrementalConfig: {Min: 0, Max: 1, OK: true},
		updatesFeatures:   {Min: 0, Max: 1, OK: true},
		registration:      {Min: 0, Max: 0, OK: true},
		brokerAPI:         {Min: 0, Max: 4, OK: true},
	}
}

// Handle implements [node.Service].
func (c *Controller) Handle(ctx context.Context, q kmsg.Request) kmsg.Response {
	switch q := q.(type) {
	case *kmsg.IncrementalAlterConfigsRequest:
		return c.alter(q)
	case *kmsg.DescribeConfigsRequest:
		return c.describe(ctx, q)
	case *kmsg.UpdateFeaturesRequest:
		return c.updateFeatures(ctx, q)
	case *kmsg.ControllerRegistrationRequest:
		return c.register(ctx, q)
	case *kmsg.BrokerRegistrationRequest:
		return c.registerBroker(ctx, q)
	case *kmsg.MetadataRequest:
		return c.metadata(q)
	}
	return q.ResponseKind() // of no API above
}

// refusal is an error of the protocol for a resource, with a message.
type refusal struct {
	code    int16
	message string
}

// refusalOf is how a client is told of an error of the node.
func refusalOf(err error) *refusal {
	var code int16
	switch {
	case err == nil:
		return nil
	case errors.Is(err, node.ErrUnknown):
		return &refusal{requestTimedOut, "the leader was deposed before the change was committed; it may yet be"}
	case errors.Is(err, node.ErrNotLeader), errors.Is(err, node.ErrStopped):
		return &refusal{notController, "this is not the active controller"}
	case errors.Is(err, node.ErrBusy):
		code = throttlingQuotaExceeded
	case errors.Is(err, node.ErrTooLarge):
		code = messageTooLarge
	default:
		code = unknownServerError
	}
	return &refusal{code, err.Error()}
}

func (r *refusal) fields() (int16, *string) {
	if r == nil {
		return 0, nil
	}
	return r.code, kmsg.StringPtr(r.message)
}

// queue are changes that wait for the batch before them to be committed.
type queue struct {
	mu      sync.Mutex
	waiting []*change // guarded by mu
	busy    bool      // a goroutine works on them; guarded by mu
}
