package wire

import (
	"encoding/binary"
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
	for _, f := range append([]Feature{c.kraftVersion()}, c.Features...) {
		// Before version 4 a minimum of 0 was not allowed (KAFKA-17011).
		if f.Min > 0 || r.Version >= 4 {
			r.SupportedFeatures = append(r.SupportedFeatures, kmsg.ApiVersionsResponseSupportedFeature{Name: f.Name, MinVersion: f.Min, MaxVersion: f.Max})
		}
	}
	finalized, offset := c.Features, int64(0)
	if c.FinalizedFeatures != nil {
		finalized, offset = c.FinalizedFeatures()
	}
	if c.Node != nil {
		r.UnknownTags.Set(nodeTag, binary.BigEndian.AppendUint32(nil, uint32(*c.Node)))
	}
	if offset < 0 {
		return // the epoch is -1 by default, and the list is empty
	}
	for _, f := range append([]Feature{c.kraftVersion()}, finalized...) {
		if f.Finalized > 0 {
			r.FinalizedFeaturesEpoch = offset
			r.FinalizedFeatures = append(r.FinalizedFeatures, kmsg.ApiVersionsResponseFinalizedFeature{
				Name: f.Name, MinVersionLevel: f.Finalized, MaxVersionLevel: f.Finalized,
			})
		}
	}
}

// nodeTag is a tagged field of ApiVersions responses that Kafka does not have, and ignores: the
// id of the node, an int32. Who knows only the address of a bootstrap server learns by it
// whom it talks to, before it sends anything that a trace has to name.
const nodeTag = 0x71756f // "quo"

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

// Peer is what a node says of itself in an ApiVersions response.
type Peer struct {
	// Versions are the newest ones that both ends understand.
	Versions Negotiated
	// Offered are all versions of all APIs that it serves.
	Offered map[API]Versions
	// Node is its id, NoReplica if it does not tell.
	Node core.ReplicaID
	// KRaftVersion is what it can do of kraft.version.
	KRaftVersion Versions
}

// ReadApiVersions is ReadPeer for the versions only.
func (c *Codec) ReadApiVersions(frame []byte, h Header) (Negotiated, core.ErrorCode, error) {
	p, code, err := c.ReadPeer(frame, h)
	return p.Versions, code, err
}

// ReadPeer reads the frame of an ApiVersions response. The code is UnsupportedVersion if
// the other end knows only older versions of ApiVersions itself.
func (c *Codec) ReadPeer(frame []byte, h Header) (p Peer, code core.ErrorCode, err error) {
	p.Node = core.NoReplica
	h.API = ApiVersions
	body, err := readResponseHeader(frame, h)
	if err != nil {
		return p, 0, err
	}
	r := kmsg.NewApiVersionsResponse()
	r.Version = h.Version
	if len(body) >= 2 && core.ErrorCode(int16(body[0])<<8|int16(body[1])) == core.UnsupportedVersion {
		return p, core.UnsupportedVersion, nil // the body is of version 0
	}
	if err := r.ReadFrom(body); err != nil {
		return p, 0, bodyError(h, err)
	}
	if r.ErrorCode != 0 {
		return p, core.ErrorCode(r.ErrorCode), nil
	}
	n := make(Negotiated, len(r.ApiKeys))
	p.Offered = make(map[API]Versions, len(r.ApiKeys))
	for _, k := range r.ApiKeys {
		p.Offered[API(k.ApiKey)] = Versions{k.MinVersion, k.MaxVersion, true}
		ours := c.Supported(API(k.ApiKey))
		v := min(ours.Max, k.MaxVersion)
		if ours.OK && v >= ours.Min && v >= k.MinVersion {
			n[API(k.ApiKey)] = v
		}
	}
	p.Versions = n
	for _, f := range r.SupportedFeatures {
		if f.Name == "kraft.version" {
			p.KRaftVersion = Versions{f.MinVersion, f.MaxVersion, true}
		}
	}
	r.UnknownTags.Each(func(tag uint32, value []byte) {
		if id := core.ReplicaID(int32(beUint32(value))); tag == nodeTag && len(value) == 4 && id >= 0 {
			p.Node = id
		}
	})
	return p, core.None, nil
}

func beUint32(b []byte) uint32 {
	if len(b) < 4 {
		return 0
	}
	return binary.BigEndian.Uint32(b)
}
