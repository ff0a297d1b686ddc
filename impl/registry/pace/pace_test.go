package pace

import (
	"bytes"
	"context"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// work works for a slice.
func work() {
	for began := time.Now(); time.Since(began) < slice; {
	}
}

func TestRest(t *testing.T) {
	ctx := context.Background()
	p := New(0.25)
	for range 10 {
		work()
		require.NoError(t, p.Step(ctx))
	}
	// A rest is at least three times what was worked before, however busy the machine is,
	// but for the longest.
	require.GreaterOrEqual(t, p.Rested(), 10*3*slice)
	before := p.Rested()
	require.NoError(t, p.Step(ctx))
	require.Equal(t, before, p.Rested(), "a rest without work")
}

func TestShare(t *testing.T) {
	for _, share := range []float64{-1, 0, 1, 2} {
		p := New(share)
		require.Nil(t, p)
		work()
		require.NoError(t, p.Step(context.Background()))
		require.Zero(t, p.Rested())
	}
}

func TestEnd(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, p := range []*Pacer{nil, New(0.5)} {
		work()
		require.ErrorIs(t, p.Step(ctx), context.Canceled)
		_, err := io.ReadAll(p.Reader(ctx, bytes.NewReader([]byte("x"))))
		require.ErrorIs(t, err, context.Canceled)
	}
}

func TestReader(t *testing.T) {
	b := bytes.Repeat([]byte("0123456789"), 50_000)
	got, err := io.ReadAll(New(0.9).Reader(context.Background(), bytes.NewReader(b)))
	require.NoError(t, err)
	require.Equal(t, b, got)
}
