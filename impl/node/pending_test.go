package node

import (
	"os"
	"path/filepath"
	"testing"

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
			other := events[at-1]
			text = append(event.AppendJSON(nil, &other), '\n')
			text = append(event.AppendJSON(text, &lost), '\n', '\n')
			require.NoError(t, os.WriteFile(filepath.Join(cfg.Dir, pendingFile), text, 0o644))

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

func TestLastEvent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace")
	check := func(text string, seq int64) {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		e, found, err := lastEvent(path)
		require.NoError(t, err)
		require.Equal(t, seq > 0, found)
		if found {
			require.Equal(t, seq, e.Seq)
		}
	}
	_, found, err := lastEvent(path)
	require.NoError(t, err)
	require.False(t, found)
	line := func(seq int64) string {
		return string(event.AppendJSON(nil, &event.Event{Inc: 1, Seq: seq, Action: "Restart"})) + "\n"
	}
	check("", 0)
	check(line(1), 1)
	check(line(1)+line(2), 2)
	check(line(1)+line(2)[:30], 0)
	check(line(1)+"garbage\n", 0)
	long := ""
	for i := range int64(3000) {
		long += line(i + 1)
	}
	check(long, 3000)
}
