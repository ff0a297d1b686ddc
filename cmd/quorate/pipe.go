package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
)

// pipe is standard output whose reader may go away, as that of "quorate check | head".
// What is written then is dropped, and the run ends as if it had been interrupted,
// unless it writes a file too.
type pipe struct {
	io.Writer
	cancel context.CancelFunc
	// filed says that a file is yet to be written.
	filed, broken atomic.Bool
}

// Write implements io.Writer.
func (p *pipe) Write(b []byte) (int, error) {
	if p.broken.Load() {
		return len(b), nil
	}
	n, err := p.Writer.Write(b)
	if errors.Is(err, syscall.EPIPE) {
		p.broken.Store(true)
		if !p.filed.Load() {
			p.cancel()
		}
		return len(b), nil
	}
	return n, err
}

// survivePipes has writes to a pipe that nobody reads fail, and not end the process.
func survivePipes() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }
