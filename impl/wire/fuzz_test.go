package wire

import (
	"bytes"
	"testing"

	"github.com/quorate/quorate/impl/core"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func FuzzFrame(f *testing.F) {
	f.Add([]byte{0, 0, 0, 1, 5}, 4)
	f.Add([]byte{0xff, 0, 0, 1, 5}, 0)
	f.Add([]byte{0, 2, 0, 1, 5}, 100)
	f.Fuzz(func(t *testing.T, b []byte, room int) {
		const limit = 1 << 20
		got, err := ReadFrame(bytes.NewReader(b), limit, make([]byte, 0, min(max(room, 0), limit)))
		if err == nil && (len(b) < 4+len(got) || !bytes.Equal(b[4:4+len(got)], got)) {
			t.Fatalf("frame %x of %x", got, b)
		}
	})
}

// FuzzRequest covers headers and the bodies of all requests. What is accepted must
// be what is sent again.
func FuzzRequest(f *testing.F) {
	c := testCodec()
	c.Extra = map[API]Versions{32: {1, 4, true}, 44: {0, 1, true}}
	for _, api := range c.listed() {
		for version := int16(0); version <= c.Supported(api).Max; version++ {
			if h := (Header{API: api, Version: version, ClientID: "q"}); kindOf(api) == 0 && api != ApiVersions && c.Supported(api).has(version) {
				f.Add(requestOf(h).AppendTo(appendRequestHeader(nil, h)))
			}
		}
	}
	for _, m := range requests() {
		v := c.Supported(apiOf(m.Kind))
		for version := v.Min; version <= v.Max; version++ {
			if frame, code := c.AppendRequest(nil, Header{Version: version, ClientID: "q"}, &m); code == core.None {
				f.Add(frame[4:])
			}
		}
	}
	for version := int16(0); version <= 5; version++ {
		f.Add(c.AppendApiVersionsRequest(nil, Header{Version: version})[4:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var req, again Request
		if c.ReadRequest(b, &req) != nil {
			return
		}
		if body, ok := req.Body.(*kmsg.DescribeQuorumRequest); ok && body != nil {
			if len(c.AppendDescribeQuorum(nil, &req, &Quorum{})) < 8 {
				t.Fatal("no answer")
			}
		}
		if req.API == DescribeCluster && len(c.AppendDescribeCluster(nil, &req, 1)) < 8 || req.API == UpdateRaftVoter && len(c.AppendUpdateRaftVoter(nil, &req, core.State{Leader: 1})) < 8 {
			t.Fatal("no answer")
		}
		if req.Message.Kind == 0 || req.Invalid {
			code := req.Refused
			if req.Invalid {
				m := req.Answer(3, 1)
				code = m.Error
				if len(c.AppendResponse(nil, req.Header, &m)) < 8 {
					t.Fatal("no answer")
				}
			}
			if len(c.AppendRefusal(nil, &req, code)) < 8 {
				t.Fatal("no answer")
			}
			return
		}
		frame, code := c.AppendRequest(nil, req.Header, &req.Message)
		if code != core.None {
			t.Fatalf("cannot be sent: %+v", req.Message)
		}
		if err := c.ReadRequest(frame[4:], &again); err != nil {
			t.Fatal(err)
		}
		if len(again.Message.Preferred) != len(req.Message.Preferred) || again.Message.Epoch != req.Message.Epoch ||
			again.Message.Offset != req.Message.Offset || again.Message.From != req.Message.From {
			t.Fatalf("%+v became %+v", req.Message, again.Message)
		}
	})
}

func fuzzResponse(f *testing.F, api API) {
	c := testCodec()
	for _, m := range responses() {
		if apiOf(m.Kind) == api {
			v := c.Supported(api)
			for version := v.Min; version <= v.Max; version++ {
				h := Header{API: api, Version: version}
				f.Add(c.AppendResponse(nil, h, &m)[4:], version)
				f.Add(c.AppendRefusal(nil, &Request{Header: h}, core.InvalidRequest)[4:], version)
			}
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, version int16) {
		if !c.Supported(api).has(version) {
			return
		}
		e := Expect{Header: Header{API: api, Version: version}}
		var m core.Message
		code, err := c.ReadResponse(b, e, &m)
		if err != nil || code != core.None {
			return
		}
		if m.Epoch < 0 || m.Leader < core.NoReplica || m.HighWatermark < core.UnknownOffset {
			t.Fatalf("accepted %+v", m)
		}
		var again core.Message
		if _, err := c.ReadResponse(c.AppendResponse(nil, e.Header, &m)[4:], e, &again); err != nil {
			t.Fatal(err)
		}
		if again.Epoch != m.Epoch || again.Leader != m.Leader || again.HighWatermark != m.HighWatermark ||
			again.Diverging != m.Diverging || !bytes.Equal(again.Records, m.Records) || !bytes.Equal(again.Chunk, m.Chunk) || again.SnapshotID != m.SnapshotID || again.Granted != m.Granted {
			t.Fatalf("%+v became %+v", m, again)
		}
	})
}

func FuzzVoteResponse(f *testing.F)             { fuzzResponse(f, Vote) }
func FuzzBeginQuorumEpochResponse(f *testing.F) { fuzzResponse(f, BeginQuorumEpoch) }
func FuzzEndQuorumEpochResponse(f *testing.F)   { fuzzResponse(f, EndQuorumEpoch) }
func FuzzFetchResponse(f *testing.F)            { fuzzResponse(f, Fetch) }
func FuzzFetchSnapshotResponse(f *testing.F)    { fuzzResponse(f, FetchSnapshot) }

func FuzzApiVersionsResponse(f *testing.F) {
	c := testCodec()
	for version := int16(0); version <= 4; version++ {
		h := Header{API: ApiVersions, Version: version}
		f.Add(c.AppendApiVersions(nil, h, core.None)[4:], version)
		f.Add(c.AppendApiVersions(nil, h, core.UnsupportedVersion)[4:], version)
	}
	f.Fuzz(func(t *testing.T, b []byte, version int16) {
		if !c.Supported(ApiVersions).has(version) {
			return
		}
		n, _, err := c.ReadApiVersions(b, Header{Version: version})
		if err != nil {
			return
		}
		for api, v := range n {
			if !c.Supported(api).has(v) {
				t.Fatalf("API %d version %d", api, v)
			}
		}
	})
}
