package controller

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// APIs that are answered.
const (
	metadataAPI       wire.API = 3
	describeConfigs   wire.API = 32
	incrementalConfig wire.API = 44
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
	throttlingQuotaExceeded = 89
)

// Quorum is what a controller asks of its node.
type Quorum interface {
	ProposeIn(ctx context.Context, epoch int32, records [][]byte) (offset int64, err error)
	Read(ctx context.Context) (offset int64, err error)
	Leader() core.ReplicaID
}

var _ Quorum = (*node.Node)(nil)

// Controller is the state machine and the service of a node.
type Controller struct {
	state
	cfg    Config
	quorum atomic.Pointer[Quorum]
	// epoch in which this node leads and has all of earlier ones; 0: it does not.
	epoch atomic.Int32

	queue queue
}

// Config of a Controller.
type Config struct {
	ClusterID string
	// Nodes are where the nodes of the quorum can be reached, for Metadata.
	Nodes []node.Voter
}

var (
	_ node.Machine = (*Controller)(nil)
	_ node.Service = (*Controller)(nil)
)

// New makes a controller without state.
func New(cfg Config) *Controller { return &Controller{cfg: cfg} }

// Use gives the controller the node that it is the machine and the service of. Before, it
// answers as one that does not lead.
func (c *Controller) Use(q Quorum) { c.quorum.Store(&q) }

// LeaderChange implements [node.Machine].
func (c *Controller) LeaderChange(l node.Leadership) {
	if l.Self {
		c.epoch.Store(l.Epoch)
	} else {
		c.epoch.Store(0)
	}
}

// APIs implements [node.Service].
func (c *Controller) APIs() map[wire.API]wire.Versions {
	return map[wire.API]wire.Versions{
		metadataAPI:       {Min: 0, Max: 12, OK: true},
		describeConfigs:   {Min: 1, Max: 4, OK: true},
		incrementalConfig: {Min: 0, Max: 1, OK: true},
		registration:      {Min: 0, Max: 0, OK: true},
	}
}

// Handle implements [node.Service].
func (c *Controller) Handle(ctx context.Context, q kmsg.Request) kmsg.Response {
	switch q := q.(type) {
	case *kmsg.IncrementalAlterConfigsRequest:
		return c.alter(q)
	case *kmsg.DescribeConfigsRequest:
		return c.describe(ctx, q)
	case *kmsg.ControllerRegistrationRequest:
		return c.register(ctx, q)
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
