package wire

import (
	"github.com/quorate/quorate/impl/core"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// AppendApiVersions appends the frame of an ApiVersions response: what is served,
// and kraft.version 0 to 1 as a supported feature, which Kafka's leader reads
// before it adds a voter. The answer to a version that is not known is of version
// 0, with UnsupportedVersion (KIP-511).
func (c *Codec) AppendApiVersions(dst []byte, h Header, code core.ErrorCode) []byte {
	version := h.Version
	if code == core.UnsupportedVersion {
		version = 0
	}
	r := kmsg.NewApiVersionsResponse()
	r.Version, r.ErrorCode = version, int16(code)
	for _, api := range c.listed() {
		v := c.Supported(api)
		r.ApiKeys = append(r.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: int16(api), MinVersion: v.Min, MaxVersion: v.Max})
	}
	// Before version 4 a minimum of 0 was not allowed in supported features.
	if version >= 4 {
		r.SupportedFeatures = []kmsg.ApiVersionsResponseSupportedFeature{{Name: "kraft.version", MinVersion: 0, MaxVersion: 1}}
	}
	dst, start := beginFrame(dst)
	dst = appendResponseHeader(dst, h)
	return endFrame(r.AppendTo(dst), start)
}

// AppendApiVersionsRequest appends the frame of an ApiVersions request, the first on
// every connection.
func (c *Codec) AppendApiVersionsRequest(dst []byte, h Header) []byte {
	r := kmsg.NewApiVersionsRequest()
	r.Version = h.Version
	r.ClientSoftwareName, r.ClientSoftwareVersion = "quorate", "0"
	h.API = ApiVersions
	dst, start := beginFrame(dst)
	dst = appendRequestHeader(dst, h)
	return endFrame(r.AppendTo(dst), start)
}

// ReadApiVersions reads the frame of an ApiVersions response and returns the newest
// versions that both ends understand. The code is UnsupportedVersion if the other
// end knows only older versions of ApiVersions itself.
func (c *Codec) ReadApiVersions(frame []byte, h Header) (Negotiated, core.ErrorCode, error) {
	h.API = ApiVersions
	body, err := readResponseHeader(frame, h)
	if err != nil {
		return nil, 0, err
	}
	r := kmsg.NewApiVersionsResponse()
	r.Version = h.Version
	if len(body) >= 2 && core.ErrorCode(int16(body[0])<<8|int16(body[1])) == core.UnsupportedVersion {
		return nil, core.UnsupportedVersion, nil // the body is of version 0
	}
	if err := r.ReadFrom(body); err != nil {
		return nil, 0, bodyError(h, err)
	}
	if r.ErrorCode != 0 {
		return nil, core.ErrorCode(r.ErrorCode), nil
	}
	n := make(Negotiated, len(served))
	for _, k := range r.ApiKeys {
		ours := c.Supported(API(k.ApiKey))
		v := min(ours.Max, k.MaxVersion)
		if ours.OK && v >= ours.Min && v >= k.MinVersion {
			n[API(k.ApiKey)] = v
		}
	}
	return n, core.None, nil
}
