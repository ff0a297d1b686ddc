package wire

import (
	"bytes"
	"testing"

	"github.com/quorate/quorate/impl/core"
)

func fetchResponse(size int) core.Message {
	return core.Message{Kind: core.Fetch, Response: true, Leader: 1, Epoch: 5, HighWatermark: 1 << 30,
		Records: make([]byte, size), Diverging: core.NoEpochEnd}
}

func BenchmarkFetchResponse(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"1KiB", 1 << 10}, {"1MiB", 1 << 20}} {
		c := testCodec()
		m := fetchResponse(size.bytes)
		e := Expect{Header: Header{API: Fetch, Version: 18}}
		frame := c.AppendResponse(nil, e.Header, &m)
		b.Run("encode/"+size.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(frame)))
			buf := make([]byte, 0, len(frame))
			for b.Loop() {
				buf = c.AppendResponse(buf[:0], e.Header, &m)
			}
		})
		b.Run("decode/"+size.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(frame)))
			r := bytes.NewReader(nil)
			var buf []byte
			var have core.Message
			for b.Loop() {
				r.Reset(frame)
				var err error
				if buf, err = ReadFrame(r, MaxResponse, buf); err != nil {
					b.Fatal(err)
				}
				if _, err = c.ReadResponse(buf, e, &have); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFetchRequest(b *testing.B) {
	c := testCodec()
	m := requests()[4]
	h := Header{API: Fetch, Version: 18, ClientID: "quorate-1-1-1"}
	frame, _ := c.AppendRequest(nil, h, &m)
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		var buf []byte
		for b.Loop() {
			buf, _ = c.AppendRequest(buf[:0], h, &m)
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		var req Request
		for b.Loop() {
			if err := c.ReadRequest(frame[4:], &req); err != nil {
				b.Fatal(err)
			}
		}
	})
}
