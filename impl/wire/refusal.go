package wire

import (
	"github.com/quorate/quorate/impl/core"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// AppendRefusal appends the frame of a response that has nothing but an error, which
// stands where that kind of response has it. There is none, and dst comes back as it
// was, if it is not known where.
func (c *Codec) AppendRefusal(dst []byte, req *Request, code core.ErrorCode) []byte {
	if req.API == ApiVersions {
		return c.AppendApiVersions(dst, req.Header, code)
	}
	r := refusal(req, code)
	if r == nil {
		return dst
	}
	return c.AppendBody(dst, req.Header, r)
}

func refusal(req *Request, code core.ErrorCode) kmsg.Response {
	if req.API == FetchSnapshot && code == unknownTopicOrPartition {
		return unknownPartition(req)
	}
	request := requestOf(req.Header)
	if request == nil {
		return nil
	}
	switch r := request.ResponseKind().(type) {
	case *kmsg.VoteResponse:
		r.ErrorCode = int16(code)
		return r
	case *kmsg.BeginQuorumEpochResponse:
		r.ErrorCode = int16(code)
		return r
	case *kmsg.EndQuorumEpochResponse:
		r.ErrorCode = int16(code)
		return r
	case *kmsg.FetchResponse:
		r.ErrorCode = int16(code)
		return r
	case *kmsg.FetchSnapshotResponse:
		r.ErrorCode = int16(code)
		return r
	case *kmsg.DescribeQuorumResponse:
		r.ErrorCode = int16(code)
		return r
	case *kmsg.DescribeClusterResponse:
		r.ErrorCode = int16(code)
		return r
	case *kmsg.AddRaftVoterResponse:
		r.ErrorCode = int16(code)
		return r
	case *kmsg.RemoveRaftVoterResponse:
		r.ErrorCode = int16(code)
		return r
	case *kmsg.UpdateRaftVoterResponse:
		r.ErrorCode = int16(code)
		return r
	case *kmsg.IncrementalAlterConfigsResponse:
		body, _ := req.Body.(*kmsg.IncrementalAlterConfigsRequest)
		for i := range body.Resources {
			out := kmsg.NewIncrementalAlterConfigsResponseResource()
			out.ErrorCode, out.ResourceType, out.ResourceName = int16(code), body.Resources[i].ResourceType, body.Resources[i].ResourceName
			r.Resources = append(r.Resources, out)
		}
		return r
	case *kmsg.DescribeConfigsResponse:
		body, _ := req.Body.(*kmsg.DescribeConfigsRequest)
		for i := range body.Resources {
			out := kmsg.NewDescribeConfigsResponseResource()
			out.ErrorCode, out.ResourceType, out.ResourceName = int16(code), body.Resources[i].ResourceType, body.Resources[i].ResourceName
			r.Resources = append(r.Resources, out)
		}
		return r
	}
	return nil
}
