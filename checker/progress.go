package checker

import (
	"fmt"
	"sync"
	"time"
)

// reportProgress writes a line now and then until the returned function is called.
func (s *search[S]) reportProgress() (stop func()) {
	if s.opt.Progress == nil {
		return func() {}
	}
	every := s.opt.ProgressEvery
	if every <= 0 {
		every = time.Second
	}
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		before, at := uint64(0), s.began
		for {
			select {
			case <-done:
				return
			case now := <-tick.C:
				generated := uint64(0)
				for _, w := range s.workers {
					generated += w.generatedNow.Load()
				}
				rate := float64(generated-before) / now.Sub(at).Seconds()
				fmt.Fprintf(s.opt.Progress, "%s: level %d, %d states in it, %d distinct, %d generated, %.2f M/s, %.0f s\n",
					s.info.Name, s.depthNow.Load(), s.widthNow.Load(), s.distinctNow(), generated,
					rate/1e6, now.Sub(s.began).Seconds())
				before, at = generated, now
			}
		}
	})
	return func() { close(done); wg.Wait() }
}
