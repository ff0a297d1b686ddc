package wire

import "encoding/binary"

// Header is the header of a request.
type Header struct {
	API         API
	Version     int16
	Correlation int32
	// ClientID is empty if it was null.
	ClientID string
}

// flexible says whether the request is of a version with tagged fields. Where the
// version is too new to know, it is: newer versions do not lose them.
func (h Header) flexible() bool {
	switch h.API {
	case Fetch:
		return h.Version >= 12
	case ApiVersions:
		return h.Version >= 3
	case Vote, DescribeQuorum, FetchSnapshot, DescribeCluster, AddRaftVoter, RemoveRaftVoter, UpdateRaftVoter:
		return true
	case BeginQuorumEpoch, EndQuorumEpoch:
		return h.Version >= 1
	}
	r := requestOf(h) // somebody else may serve it
	return r != nil && r.IsFlexible()
}

// appendRequestHeader writes header version 1, or 2 where the version is flexible.
// The client id is a plain string in both.
func appendRequestHeader(dst []byte, h Header) []byte {
	dst = binary.BigEndian.AppendUint16(dst, uint16(h.API))
	dst = binary.BigEndian.AppendUint16(dst, uint16(h.Version))
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.Correlation))
	dst = binary.BigEndian.AppendUint16(dst, uint16(len(h.ClientID)))
	dst = append(dst, h.ClientID...)
	if h.flexible() {
		dst = append(dst, 0) // tagged fields
	}
	return dst
}

// readRequestHeader returns the header of a request and its body.
func readRequestHeader(frame []byte) (h Header, body []byte, err error) {
	if len(frame) < 10 {
		return h, nil, malformed("request of %d bytes is too short for a header", len(frame))
	}
	h.API = API(binary.BigEndian.Uint16(frame))
	h.Version = int16(binary.BigEndian.Uint16(frame[2:]))
	h.Correlation = int32(binary.BigEndian.Uint32(frame[4:]))
	n := int(int16(binary.BigEndian.Uint16(frame[8:])))
	body = frame[10:]
	if n < -1 || n > len(body) {
		return h, nil, malformed("client id of %d bytes", n)
	}
	if n > 0 {
		h.ClientID, body = string(body[:n]), body[n:]
	}
	if h.flexible() {
		if body, err = skipTags(body); err != nil {
			return h, nil, err
		}
	}
	return h, body, nil
}

// appendResponseHeader writes header version 0, or 1 where the request was of a
// flexible version, except for ApiVersions: its client does not know yet what the
// other end understands.
func appendResponseHeader(dst []byte, h Header) []byte {
	dst = binary.BigEndian.AppendUint32(dst, uint32(h.Correlation))
	if h.API != ApiVersions && h.flexible() {
		dst = append(dst, 0) // tagged fields
	}
	return dst
}

// readResponseHeader returns the body of the response to a request with header h.
func readResponseHeader(frame []byte, h Header) ([]byte, error) {
	if len(frame) < 4 {
		return nil, malformed("response of %d bytes is too short for a header", len(frame))
	}
	if have := int32(binary.BigEndian.Uint32(frame)); have != h.Correlation {
		return nil, malformed("response to request %d, want %d", have, h.Correlation)
	}
	if h.API == ApiVersions || !h.flexible() {
		return frame[4:], nil
	}
	return skipTags(frame[4:])
}

// skipTags skips the tagged fields of a header. None is known.
func skipTags(b []byte) ([]byte, error) {
	count, b, ok := uvarint(b)
	if !ok {
		return nil, malformed("tagged fields of the header")
	}
	for range count {
		var size uint32
		if _, b, ok = uvarint(b); ok {
			size, b, ok = uvarint(b)
		}
		if !ok || uint64(size) > uint64(len(b)) {
			return nil, malformed("tagged fields of the header")
		}
		b = b[size:]
	}
	return b, nil
}

func uvarint(b []byte) (uint32, []byte, bool) {
	v, n := binary.Uvarint(b)
	if n <= 0 || v > 1<<32-1 {
		return 0, nil, false
	}
	return uint32(v), b[n:], true
}
