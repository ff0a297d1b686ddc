package node

import (
	"context"

	"github.com/quorate/quorate/impl/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Service answers requests of Kafka's protocol that a replica knows nothing of.
type Service interface {
	// APIs are those that it answers, with their versions. ApiVersions lists them.
	APIs() map[wire.API]wire.Versions
	// Handle answers a request, which has been read as its version says; that of the
	// response is set later. It is called by the goroutine that reads the connection,
	// and so any number of times at once, but once at a time for a connection. The
	// context ends when the node stops, and has the [Caller].
	Handle(ctx context.Context, q kmsg.Request) kmsg.Response
}

// Featured is a [Service] that tells ApiVersions of features.
type Featured interface {
	// Supported are the features that it knows, with the levels that it supports.
	Supported() []wire.Feature
	// Finalized are the levels in use, by what is committed below an offset; -1: none is
	// known yet.
	Finalized() (levels []wire.Feature, offset int64)
}

// answerBody has the service answer a request. It closes the connection if the service
// does not.
func (n *Node) answerBody(ctx context.Context, dst []byte, req *wire.Request) []byte {
	r := n.cfg.Service.Handle(ctx, req.Body)
	if r == nil {
		return dst
	}
	return n.codec.AppendBody(dst, req.Header, r)
}
