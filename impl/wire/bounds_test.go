package wire

import (
	"math"
	"testing"

	"github.com/quorate/quorate/impl/core"
	"github.com/stretchr/testify/require"
)

// Requests of replicas are small: one that is well-formed, and too large, is none.
func TestLargeMessages(t *testing.T) {
	c := testCodec()
	for count, fine := range map[int]bool{1000: true, 4000: false} {
		m := core.Message{Kind: core.EndQuorumEpoch, From: core.ReplicaKey{ID: 1}, Epoch: 1, Preferred: make([]core.ReplicaKey, count)}
		frame, _ := c.AppendRequest(nil, Header{Version: 1}, &m)
		require.Less(t, len(frame), MaxRequest)
		err := c.ReadRequest(frame[4:], new(Request))
		if fine {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, ErrMalformed)
		}
	}
}

// Nobody gets more by asking for more.
func TestLargeFetches(t *testing.T) {
	c := testCodec()
	for asked, want := range map[int32]int32{math.MinInt32: 0, 0: 0, 1 << 20: 1 << 20, MaxRecords: MaxRecords, math.MaxInt32: MaxRecords} {
		m := core.Message{Kind: core.Fetch, Epoch: 1, MaxBytes: asked}
		frame, _ := c.AppendRequest(nil, Header{Version: 18}, &m)
		var req Request
		require.NoError(t, c.ReadRequest(frame[4:], &req))
		require.Equal(t, want, req.Message.MaxBytes)
	}
}

// A chunk lies within its snapshot.
func TestChunksOutside(t *testing.T) {
	c := testCodec()
	h := Header{API: FetchSnapshot, Version: 1}
	for _, test := range []struct {
		position, size int64
		fine           bool
	}{{0, 5, true}, {7, 12, true}, {math.MaxInt64 - 5, math.MaxInt64, true}, {0, 4, false}, {8, 12, false}, {13, 12, false},
		{math.MaxInt64, 12, false}, {-1, 12, false}, {0, -1, false}, {math.MinInt64, math.MaxInt64, false}} {
		m := core.Message{Kind: core.FetchSnapshot, Epoch: 1, SnapshotID: core.SnapshotID{End: 3, Epoch: 1}, Position: test.position, Size: test.size, Chunk: []byte("chunk")}
		_, err := c.ReadResponse(c.AppendResponse(nil, h, &m)[4:], Expect{Header: h}, new(core.Message))
		if test.fine {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, ErrMalformed, "%+v", test)
		}
	}
}
