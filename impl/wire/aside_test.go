package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// What somebody else answers is listed, read in all its versions, and answered with the
// header that its version has. It cannot take the place of what a replica answers.
func TestAside(t *testing.T) {
	const alter, describe API = 44, 32
	c := &Codec{Extra: map[API]Versions{alter: {0, 1, true}, describe: {1, 4, true}, Vote: {0, 99, true}}}
	require.Equal(t, Versions{0, 1, true}, c.Supported(alter))
	require.EqualValues(t, 1, c.Supported(Vote).Max, "the replica's own")

	for version := int16(0); version <= 1; version++ {
		q := kmsg.NewPtrIncrementalAlterConfigsRequest()
		q.Version = version
		q.Resources = []kmsg.IncrementalAlterConfigsRequestResource{{ResourceType: 2, ResourceName: "t"}}
		frame := kmsg.NewRequestFormatter(kmsg.FormatterClientID("me")).AppendRequest(nil, q, 7)
		var r Request
		require.NoError(t, c.ReadRequest(frame[4:], &r))
		require.Equal(t, Header{alter, version, 7, "me"}, r.Header)
		require.Zero(t, r.Message.Kind)
		require.Equal(t, q.Resources, r.Body.(*kmsg.IncrementalAlterConfigsRequest).Resources)
		require.ErrorIs(t, c.ReadRequest(frame[4:len(frame)-1], new(Request)), ErrMalformed)

		answer := kmsg.NewPtrIncrementalAlterConfigsResponse()
		answer.Resources = []kmsg.IncrementalAlterConfigsResponseResource{{ErrorCode: 40, ResourceType: 2, ResourceName: "t"}}
		out := c.AppendBody(nil, r.Header, answer)
		want := []byte{0, 0, 0, 7}
		if version == 1 {
			want = append(want, 0) // no tags
		}
		require.Equal(t, want, out[4:4+len(want)])
		got := kmsg.NewPtrIncrementalAlterConfigsResponse()
		got.Version = version
		require.NoError(t, got.ReadFrom(out[4+len(want):]))
		require.Equal(t, answer.Resources, got.Resources)
	}
	require.ErrorIs(t, (&Codec{}).ReadRequest([]byte{0, 44, 0, 0, 0, 0, 0, 7, 255, 255, 1}, new(Request)), ErrMalformed)

	body, err := readResponseHeader(c.AppendApiVersions(nil, Header{API: ApiVersions, Version: 3}, 0)[4:], Header{API: ApiVersions, Version: 3})
	require.NoError(t, err)
	versions := kmsg.NewPtrApiVersionsResponse()
	versions.Version = 3
	require.NoError(t, versions.ReadFrom(body))
	require.Len(t, versions.ApiKeys, len(served)+2, "Vote is there once")
}
