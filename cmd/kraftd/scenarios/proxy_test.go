package scenarios

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// proxy stands before a node and notes what it is asked.
type proxy struct {
	addr string
	mu   sync.Mutex
	seen []string // "Fetch null", "FetchSnapshot A", "ApiVersions"; guarded by mu
}

func newProxy(t *testing.T, to string) *proxy {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { l.Close() })
	p := &proxy{addr: l.Addr().String()}
	go func() {
		for {
			in, err := l.Accept()
			if err != nil {
				return
			}
			out, err := net.Dial("tcp", to)
			if err != nil {
				in.Close()
				continue
			}
			go func() {
				defer in.Close()
				defer out.Close()
				io.Copy(in, out)
			}()
			go func() {
				defer in.Close()
				defer out.Close()
				p.requests(in, out)
			}()
		}
	}()
	return p
}

func (p *proxy) requests(in io.Reader, out io.Writer) {
	for {
		var size [4]byte
		if _, err := io.ReadFull(in, size[:]); err != nil {
			return
		}
		frame := make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(in, frame); err != nil {
			return
		}
		p.note(frame)
		if _, err := out.Write(append(size[:], frame...)); err != nil {
			return
		}
	}
}

func (p *proxy) note(frame []byte) {
	r := kbin.Reader{Src: frame}
	key, version := r.Int16(), r.Int16()
	r.Int32()
	r.NullableString()
	q := kmsg.RequestForKey(key)
	q.SetVersion(version)
	if q.IsFlexible() {
		kmsg.SkipTags(&r)
	}
	text := kmsg.NameForKey(key)
	if err := q.ReadFrom(r.Src); err != nil {
		text += " " + err.Error()
	}
	id := func(s *string) string {
		if s == nil {
			return " null"
		}
		return " " + *s
	}
	switch q := q.(type) {
	case *kmsg.FetchRequest:
		text += id(q.ClusterID)
	case *kmsg.FetchSnapshotRequest:
		text += id(q.ClusterID)
	case *kmsg.VoteRequest:
		text += id(q.ClusterID)
	case *kmsg.BeginQuorumEpochRequest:
		text += id(q.ClusterID)
	case *kmsg.AddRaftVoterRequest:
		text += id(q.ClusterID)
	case *kmsg.BrokerRegistrationRequest:
		text += " " + q.ClusterID
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.seen); n == 0 || p.seen[n-1] != text {
		p.seen = append(p.seen, text)
	}
}

// requestsSeen are the requests that came, successive ones that are alike once.
func (p *proxy) requestsSeen() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.seen...)
}
