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
	// context ends when the node stops.
	Handle(ctx context.Context, q kmsg.Request) kmsg.Response
}

// answerBody has the service answer a request.
func (n *Node) answerBody(dst []byte, req *wire.Request) []byte {
	return n.codec.AppendBody(dst, req.Header, n.cfg.Service.Handle(n.ctx, req.Body))
}
