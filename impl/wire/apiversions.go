package wire

import (
	"regexp"

	"github.com/quorate/quorate/impl/core"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// softwareName is what the names and versions of client software must be (KIP-511).
var softwareName = regexp.MustCompile(`^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$`)

// readApiVersionsRequest refuses clients that name their software badly.
func readApiVersionsRequest(body []byte, version int16) (core.ErrorCode, error) {
	r := kmsg.NewApiVersionsRequest()
	r.Version = version
	if err := r.ReadFrom(body); err != nil {
		return 0, err
	}
	if version >= 3 && (!softwareName.MatchString(r.ClientSoftwareName) || !softwareName.MatchString(r.ClientSoftwareVersion)) {
		return core.InvalidRequest, nil
	}
	return core.None, nil
}

// AppendApiVersions appends the frame of an ApiVersions response: what is served, by
// which versions, and the features. A version of ApiVersions that is not served is
// answered in version 0 with UnsupportedVersion and the versions of it that are
// (KIP-511), and a request that is refused otherwise with nothing but the error.
func (c *Codec) AppendApiVersions(dst []byte, h Header, code core.ErrorCode) []byte {
	r := kmsg.NewApiVersionsResponse()
	r.Version, r.ErrorCode = h.Version, int16(code)
	apis := []API(nil)
	switch code {
	case core.None:
		apis = c.listed()
		c.features(&r)
	case core.UnsupportedVersion:
		r.Version, apis = 0, []API{ApiVersions}
	}
	for _, api := range apis {
		v := c.Supported(api)
		r.ApiKeys = append(r.ApiKeys, kmsg.ApiVersionsResponseApiKey{ApiKey: int16(api), MinVersion: v.Min, MaxVersion: v.Max})
	}
	dst, start := beginFrame(dst)
	dst = appendResponseHeader(dst, h)
	return endFrame(r.AppendTo(dst), start)
}

// features fills in what a response of version 3 or later says of features.
func (c *Codec) features(r *kmsg.ApiVersionsResponse) {
	if r.Version < 3 {
		return
	}
	for _, f := range append([]Feature{kraftVersion}, c.Features...) {
		// Before version 4 a minimum of 0 was not allowed (KAFKA-17011).
		if f.Min > 0 || r.Version >= 4 {
			r.SupportedFeatures = append(r.SupportedFeatures, kmsg.ApiVersionsResponseSupportedFeature{Name: f.Name, MinVersion: f.Min, MaxVersion: f.Max})
		}
	}
	finalized, offset := c.Features, int64(0)
	if c.FinalizedFeatures != nil {
		finalized, offset = c.FinalizedFeatures()
	}
	if offset < 0 {
		return // the epoch is -1 by default, and the list is empty
	}
	for _, f := range finalized {
		if f.Finalized > 0 {
			r.FinalizedFeaturesEpoch = offset
			r.FinalizedFeatures = append(r.FinalizedFeatures, kmsg.ApiVersionsResponseFinalizedFeature{
				Name: f.Name, MinVersionLevel: f.Finalized, MaxVersionLevel: f.Finalized,
			})
		}
	}
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
	n := make(Negotiated, len(r.ApiKeys))
	for _, k := range r.ApiKeys {
		ours := c.Supported(API(k.ApiKey))
		v := min(ours.Max, k.MaxVersion)
		if ours.OK && v >= ours.Min && v >= k.MinVersion {
			n[API(k.ApiKey)] = v
		}
	}
	return n, core.None, nil
}
