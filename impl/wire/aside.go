package wire

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Requests of clients that somebody else answers: see [Codec.Extra]. Their bodies are
// those of kmsg.

// requestOf is an empty request of a version, nil if kmsg does not know the API.
func requestOf(h Header) kmsg.Request {
	r := kmsg.RequestForKey(int16(h.API))
	if r != nil {
		r.SetVersion(h.Version)
	}
	return r
}

// readAside reads the body of a request that is not for the core.
func readAside(body []byte, req *Request) error {
	r := requestOf(req.Header)
	if r == nil {
		return malformed("no such API")
	}
	req.Body = r
	return r.ReadFrom(body)
}

// AppendBody appends the frame of the response to a request with a Body.
func (c *Codec) AppendBody(dst []byte, h Header, r kmsg.Response) []byte {
	r.SetVersion(h.Version)
	dst, start := beginFrame(dst)
	dst = appendResponseHeader(dst, h)
	return endFrame(r.AppendTo(dst), start)
}

// AppendBodyRequest appends the frame of a request of kmsg, of its version.
func (c *Codec) AppendBodyRequest(dst []byte, h Header, q kmsg.Request) []byte {
	h.API, h.Version = API(q.Key()), q.GetVersion()
	dst, start := beginFrame(dst)
	dst = appendRequestHeader(dst, h)
	return endFrame(q.AppendTo(dst), start)
}

// ReadBody reads the frame of the response to a request of kmsg.
func (c *Codec) ReadBody(frame []byte, h Header, q kmsg.Request) (kmsg.Response, error) {
	h.API, h.Version = API(q.Key()), q.GetVersion()
	body, err := readResponseHeader(frame, h)
	if err != nil {
		return nil, err
	}
	r := q.ResponseKind()
	return r, bodyError(h, r.ReadFrom(body))
}

// listed are all APIs that are served, ascending.
func (c *Codec) listed() []API {
	all := slices.Clone(served[:])
	for api := range c.Extra {
		if c.aside(api) {
			all = append(all, api)
		}
	}
	slices.Sort(all)
	return all
}

// aside says whether somebody else answers the requests of an API.
func (c *Codec) aside(api API) bool {
	_, extra := c.Extra[api]
	return extra && !slices.Contains(served[:], api)
}
