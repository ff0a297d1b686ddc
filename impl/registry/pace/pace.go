// Package pace keeps work that has no hurry to a share of one CPU, so that work that has
// some need not wait for it.
package pace

import (
	"context"
	"io"
	"time"
)

const (
	// slice is how long is worked between two rests. Whoever waits for the CPU that the
	// work is on waits about as long, at worst.
	slice = 300 * time.Microsecond
	// longest is the longest rest: a step that took long, because the machine or its disk
	// is busy, is not followed by one that takes for ever.
	longest = 100 * time.Millisecond
)

// Pacer is of one piece of work, which one goroutine at a time does. Nil never rests.
type Pacer struct {
	share  float64
	began  time.Time // of the slice
	rested time.Duration
}

// New is a pacer that works for so great a share of the time, more than 0 and less than 1.
// Any other share: nil.
func New(share float64) *Pacer {
	if share <= 0 || share >= 1 {
		return nil
	}
	return &Pacer{share: share, began: time.Now()}
}

// Step is called between small steps of the work. It rests when it is time to. Errors:
// that of the context.
func (p *Pacer) Step(ctx context.Context) error {
	if p == nil {
		return ctx.Err()
	}
	worked := time.Since(p.began)
	if worked < slice {
		return ctx.Err()
	}
	rest := min(time.Duration(float64(worked)*(1-p.share)/p.share), longest)
	before := time.Now()
	select {
	case <-time.After(rest):
	case <-ctx.Done():
		return ctx.Err()
	}
	p.began = time.Now()
	p.rested += p.began.Sub(before)
	return nil
}

// Rested is how long it has rested in all.
func (p *Pacer) Rested() time.Duration {
	if p == nil {
		return 0
	}
	return p.rested
}

// Reader reads from r, a little at a time, and rests between. It fails when the context
// has ended.
func (p *Pacer) Reader(ctx context.Context, r io.Reader) io.Reader { return reader{ctx, p, r} }

// little is what is read at a time, in bytes: it is compressed in less than a slice.
const little = 64 << 10

type reader struct {
	ctx context.Context
	p   *Pacer
	r   io.Reader
}

func (r reader) Read(b []byte) (int, error) {
	if err := r.p.Step(r.ctx); err != nil {
		return 0, err
	}
	return r.r.Read(b[:min(len(b), little)])
}
