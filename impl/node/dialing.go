package node

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/quorate/quorate/impl/core"
)

// dialing is how connecting to a peer fares. After a failure the next attempt waits, each
// time twice as long.
type dialing struct {
	mu       sync.Mutex
	failures int       // in a row; guarded by mu
	next     time.Time // no attempt before; guarded by mu
	said     string    // the failure that was logged; guarded by mu
}

// reconnectBackoff is how long the first and the last of many attempts wait: as in Kafka
// (KafkaRaftManager: 50 and 500 ms), and never longer than half an election timeout, so
// that a peer that is back can take part in the next election.
func (c *Config) reconnectBackoff() (least, most time.Duration) {
	timeout := c.Core.ElectionTimeout
	if timeout == 0 {
		timeout = 1000
	}
	most = min(500*time.Millisecond, time.Duration(timeout)*time.Millisecond/2)
	return min(50*time.Millisecond, most), most
}

// dialing is that of a peer.
func (n *Node) dialing(peer core.ReplicaID) *dialing {
	d := n.net.dials[peer]
	if d == nil {
		d = new(dialing)
		n.net.dials[peer] = d
	}
	return d
}

// wait waits until the next attempt may be made.
func (d *dialing) wait(ctx context.Context) error {
	d.mu.Lock()
	left := time.Until(d.next)
	d.mu.Unlock()
	if left <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// done notes how an attempt ended, and logs it if it ended otherwise than the one before.
func (n *Node) dialed(d *dialing, peer core.ReplicaID, addr string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err == nil {
		if d.said != "" {
			slog.Info("connected again", "node", int(n.cfg.ID), "peer", int(peer), "addr", addr, "attempts", d.failures)
		}
		d.failures, d.next, d.said = 0, time.Time{}, ""
		return
	}
	wait := n.net.maxBackoff
	if d.failures < 16 {
		wait = min(wait, n.net.minBackoff<<d.failures)
	}
	d.failures++
	// A fifth more or less, so that those who lost a peer at the same time do not come back
	// at the same time (ClusterConnectionStates).
	d.next = time.Now().Add(time.Duration(float64(wait) * (0.8 + 0.4*rand.Float64())))
	if n.ctx.Err() == nil && d.said != err.Error() {
		d.said = err.Error()
		slog.Warn("cannot connect", "node", int(n.cfg.ID), "peer", int(peer), "addr", addr, "error", err)
	}
}
