package node_test

import (
	"sync"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node"
	"github.com/stretchr/testify/require"
)

type watcher struct {
	mu     sync.Mutex
	states []node.State
	last   time.Time
	err    string
}

func (w *watcher) Stepped(began, ended time.Time, s node.State) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if began.Before(w.last) || ended.Before(began) {
		w.err = "steps overlap"
	}
	w.last = ended
	w.states = append(w.states, s)
}

// The only voter of a quorum becomes its leader, and an observer sees each step.
func TestObserver(t *testing.T) {
	var w watcher
	n, err := node.Start(node.Config{
		ID: 1, Dir: t.TempDir(), Voters: []node.Voter{{ID: 1, Addr: "127.0.0.1:9"}}, Observer: &w,
		Core: core.Config{ElectionTimeout: 10},
	})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return n.State().HighWatermark == 1 }, 10*time.Second, time.Millisecond)
	require.NoError(t, n.Close())
	w.mu.Lock()
	defer w.mu.Unlock()
	require.Empty(t, w.err)
	last := w.states[len(w.states)-1]
	last.Applied = n.State().Applied // the state machine goes on beside the loop
	require.Equal(t, n.State(), last)
	led := false
	for _, s := range w.states {
		led = led || s.Role == core.Leader && s.HighWatermark == 1
	}
	require.True(t, led)
}
