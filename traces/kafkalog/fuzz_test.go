package kafkalog

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces"
	"github.com/quorate/quorate/traces/event/ndjson"
)

// corpus has a line of each kind of the logs, in the order in which they may follow each
// other.
const corpus = "testdata/lines.log"

// FuzzRead: no log makes the reader panic, and whatever it reads the validator can judge.
func FuzzRead(f *testing.F) {
	text, err := os.ReadFile(corpus)
	require.NoError(f, err)
	all := strings.SplitAfter(string(text), "\n")
	f.Add(string(text))
	for i := range all {
		f.Add(strings.Join(all[:i], ""))
		f.Add(strings.Join(all[i:], ""))
	}
	f.Add("[2025-01-01 12:00:00,000] INFO [RaftManager id=1] Completed transition to Voted(epoch=3, votedId=2, highWatermark=Optional.empty) from null (org.apache.kafka.raft.QuorumState)")
	f.Fuzz(func(t *testing.T, text string) {
		lines, err := ndjson.NewLines(strings.NewReader(text), "raft.log")
		require.NoError(t, err)
		log, nodes := newLog(), map[int32]*node{}
		if err = log.entries(lines, "raft.log", nodes); err == nil {
			err = log.finish(nodes)
		}
		if err == nil {
			_, err = traces.Validate(log.Inputs(), traces.Options{Run: &log.Run})
		}
		if err != nil {
			require.NotEmpty(t, err.Error())
		}
	})
}
