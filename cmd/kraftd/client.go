package main

import (
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/quorate/quorate/impl/node"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxResponse is the largest response that is read, in bytes.
const maxResponse = 16 << 20

// client asks one node, one request after the other.
type client struct {
	net.Conn
	format      *kmsg.RequestFormatter
	correlation int32
	versions    map[int16]int16 // the newest that the node serves, by API
}

// dial connects, by TLS if there is any, and asks which requests the node serves.
func dial(addr string, secure *node.TLS, deadline time.Time) (*client, error) {
	conn, err := connect(addr, secure, deadline)
	if err != nil {
		return nil, err
	}
	conn.SetDeadline(deadline)
	c := &client{Conn: conn, format: kmsg.NewRequestFormatter(kmsg.FormatterClientID("kraftd"))}
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "kraftd", "0"
	c.versions = map[int16]int16{int16(kmsg.ApiVersions): 3}
	resp, err := c.do(req, 3)
	if err != nil {
		conn.Close()
		return nil, err
	}
	r := resp.(*kmsg.ApiVersionsResponse)
	if r.ErrorCode != 0 {
		conn.Close()
		return nil, refusal(r.ErrorCode, nil)
	}
	for _, k := range r.ApiKeys {
		c.versions[k.ApiKey] = k.MaxVersion
	}
	return c, nil
}

func connect(addr string, secure *node.TLS, deadline time.Time) (net.Conn, error) {
	d := &net.Dialer{Deadline: deadline}
	if secure == nil {
		conn, err := d.Dial("tcp", addr)
		if err != nil {
			return nil, fmt.Errorf("cannot be reached: %w", err)
		}
		return conn, nil
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	conn, err := tls.DialWithDialer(d, "tcp", addr, secure.Client(host))
	if err != nil {
		return nil, fmt.Errorf("cannot be reached by TLS: %w", err)
	}
	return conn, nil
}

// serves is the newest version of a request that the node serves, -1 if none.
func (c *client) serves(api kmsg.Key) int16 {
	if v, ok := c.versions[int16(api)]; ok {
		return v
	}
	return -1
}

// do sends a request, in the given version or the newest below that the node serves,
// and reads the response.
func (c *client) do(req kmsg.Request, version int16) (kmsg.Response, error) {
	req.SetVersion(min(version, c.serves(kmsg.Key(req.Key()))))
	c.correlation++
	if _, err := c.Write(c.format.AppendRequest(nil, req, c.correlation)); err != nil {
		return nil, fmt.Errorf("does not take a request: %w", err)
	}
	var size [4]byte
	if _, err := io.ReadFull(c, size[:]); err != nil {
		return nil, fmt.Errorf("does not answer %s: %w", kmsg.NameForKey(req.Key()), err)
	}
	n := int32(binary.BigEndian.Uint32(size[:]))
	if n < 4 || n > maxResponse {
		return nil, fmt.Errorf("answers with %d bytes, which no node of a quorum does", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(c, b); err != nil {
		return nil, fmt.Errorf("ends its answer too soon: %w", err)
	}
	if got := int32(binary.BigEndian.Uint32(b)); got != c.correlation {
		return nil, fmt.Errorf("answers request %d instead of %d", got, c.correlation)
	}
	b = b[4:]
	resp := req.ResponseKind()
	resp.SetVersion(req.GetVersion())
	if resp.IsFlexible() && req.Key() != int16(kmsg.ApiVersions) { // whose header has no tags
		r := &reader{b: b}
		if r.tags(); r.bad {
			return nil, errors.New("answers with a malformed header")
		}
		b = r.b
	}
	if a, ok := resp.(*kmsg.ApiVersionsResponse); ok && len(b) >= 2 && binary.BigEndian.Uint16(b) == 35 {
		a.SetVersion(0) // UNSUPPORTED_VERSION is answered so
	}
	if err := resp.ReadFrom(b); err != nil {
		return nil, fmt.Errorf("answers %s with what is none: %w", kmsg.NameForKey(req.Key()), err)
	}
	return resp, nil
}
