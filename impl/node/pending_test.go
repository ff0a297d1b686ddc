package node

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/quorate/quorate/traces/event"
	"github.com/stretchr/testify/require"
)

func readTrace(t *testing.T, path string) (events []event.Event) {
	r, err := event.Open(path)
	require.NoError(t, err)
	defer r.Close()
	for e, err := range r.All() {
		require.NoError(t, err)
		events = append(events, *e)
	}
	return events
}

// writePending leaves events as if a process had been killed with them in progress.
func writePending(t *testing.T, dir string, events ...event.Event) {
	p, err := openPending(dir)
	require.NoError(t, err)
	for i := range events {
		p.buf = appendPending(p.buf, &events[i])
	}
	require.NoError(t, p.store())
	p.close(false)
}

// A process that is killed between a write and its event leaves the event to the
// next incarnation, which believes only its disk.
func TestActionInProgressIsRecorded(t *testing.T) {
	for name, done := range map[string]bool{"written": true, "not written": false} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, 1, true, nil)
			c.append("a")
			c.kill(0)
			cfg := c.config(0)
			events := readTrace(t, cfg.Trace)
			at := len(events) - 1
			for events[at].Action != "Append" {
				at--
			}
			// As if it had been killed before the event of the append.
			var text []byte
			for i := range events[:at] {
				text = append(event.AppendJSON(text, &events[i]), '\n')
			}
			require.NoError(t, os.WriteFile(cfg.Trace, text, 0o644))
			lost := events[at]
			change := *lost.Log
			lost.Log = &change
			lost.Log.Digest, lost.State.Digest, lost.State.Has = 0, 0, lost.State.Has&^event.HasDigest
			if !done {
				lost.State.LogEnd++
			}
			writePending(t, cfg.Dir, events[at-1], lost)

			c.start(0)
			c.kill(0)
			again := readTrace(t, cfg.Trace)
			require.Equal(t, events[:at], again[:at])
			if done {
				require.Equal(t, events[at], again[at])
				at++
			}
			require.Equal(t, "Restart", again[at].Action)
			require.Equal(t, int32(2), again[at].Inc)
		})
	}
}

// cutTrace leaves of a trace what is before its last event of an action, which it returns.
func cutTrace(t *testing.T, path, action string) event.Event {
	events := readTrace(t, path)
	at := len(events) - 1
	for at >= 0 && events[at].Action != action {
		at--
	}
	require.GreaterOrEqual(t, at, 0, "no %s in the trace", action)
	var text []byte
	for i := range events[:at] {
		text = append(event.AppendJSON(text, &events[i]), '\n')
	}
	require.NoError(t, os.WriteFile(path, text, 0o644))
	return events[at]
}

// A process that is killed between a snapshot and its event, or between a log start and
// its event, leaves the event to the next incarnation.
func TestSnapshotInProgressIsRecorded(t *testing.T) {
	for _, action := range []string{"TakeSnapshot", "AdvanceLogStart"} {
		t.Run(action, func(t *testing.T) {
			c := newCluster(t, 1, true, func(cfg *Config) {
				cfg.Snapshots = snapshot.Policy{MaxBytes: 1000}
				if action == "AdvanceLogStart" {
					cfg.Retention = snapshot.Retention{MaxBytes: 1, MaxMs: -1}
				}
			})
			n := c.nodes[0]
			done := func() bool { return n.State().Snapshot.End > 0 }
			if action == "AdvanceLogStart" {
				done = func() bool { return n.State().LogStart > 0 }
			}
			for i := 0; !done(); i++ {
				c.append(strings.Repeat("x", 100))
				time.Sleep(5 * time.Millisecond)
			}
			c.kill(0)
			cfg := c.config(0)
			events := readTrace(t, cfg.Trace)
			lost := cutTrace(t, cfg.Trace, action)
			if action == "AdvanceLogStart" {
				lost.State = events[len(events)-1].State // as if nothing had come after it
			}
			// Nothing in progress but what is in the file, which is of no account otherwise.
			pending := lost
			pending.State.Digest, pending.State.Has = 0, pending.State.Has&^event.HasDigest
			if action == "AdvanceLogStart" {
				writePending(t, cfg.Dir, pending)
			} else {
				writePending(t, cfg.Dir)
			}
			before := len(readTrace(t, cfg.Trace))
			c.start(0)
			c.kill(0)
			again := readTrace(t, cfg.Trace)
			require.Equal(t, lost, again[before])
			require.Equal(t, "Restart", again[before+1].Action)
		})
	}
}

// A snapshot that no event can tell of was never taken.
func TestUntoldSnapshot(t *testing.T) {
	c := newCluster(t, 1, true, func(cfg *Config) { cfg.Snapshots = snapshot.Policy{MaxBytes: 1000} })
	for c.nodes[0].State().Snapshot == core.NoSnapshot {
		c.append(strings.Repeat("x", 100))
		time.Sleep(2 * time.Millisecond)
	}
	n := c.nodes[0]
	c.kill(0)
	cfg := c.config(0)
	for {
		events := readTrace(t, cfg.Trace)
		if events[len(events)-1].State.HighWatermark < 0 {
			break
		}
		cutTrace(t, cfg.Trace, events[len(events)-1].Action)
	}
	last, _, err := event.Last(cfg.Trace)
	require.NoError(t, err)
	receiving := last
	ids, err := snapshot.List(fs.OS{}, n.logDir())
	require.NoError(t, err)
	require.NotEmpty(t, ids)
	receiving.State.Fetching.Snapshot = event.SnapshotID{End: ids[0].End, Epoch: ids[0].Epoch}
	require.NoError(t, untold(fs.OS{}, n.logDir(), &receiving))
	left, err := snapshot.List(fs.OS{}, n.logDir())
	require.NoError(t, err)
	require.Equal(t, ids[:1], left, "what was being installed stays")
	c.start(0)
	left, err = snapshot.List(fs.OS{}, n.logDir())
	require.NoError(t, err)
	require.Empty(t, left)
	c.append("it goes on")
}
