package objects

import (
	"context"
	"io"
)

// Until reads from r, and fails as soon as the context has ended.
func Until(ctx context.Context, r io.Reader) io.Reader { return untilReader{ctx, r} }

type untilReader struct {
	ctx context.Context
	r   io.Reader
}

func (u untilReader) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(b)
}
