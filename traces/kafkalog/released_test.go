package kafkalog_test

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces"
	"github.com/quorate/quorate/traces/kafkalog"
)

var released = []string{"kafka-4.4.0-1", "kafka-4.4.0-2", "kafka-4.4.0-3"}

// TestReleasedKafka: three processes of Apache Kafka 4.4.0, of which the first leader is
// killed and comes back, on a machine so busy that it took many elections, did what the
// specification allows, Pre-Vote included.
func TestReleasedKafka(t *testing.T) {
	var paths []string
	for _, name := range released {
		paths = append(paths, filepath.Join("testdata", name+".log.zst"))
	}
	res := validate(t, nil, paths...)
	if res.Rejection != nil {
		t.Fatal(res.Rejection.Text())
	}
	require.Equal(t, traces.Accepted, res.Verdict)
	require.EqualValues(t, 639, res.Stats.Events)
	require.Equal(t, 1, res.Stats.Crashes)
	require.Equal(t, map[string]int{"Flush": 48}, res.Stats.Hidden)
	require.GreaterOrEqual(t, res.Stats.Actions["BecomeLeader"], 2)
	require.Positive(t, res.Stats.Actions["BecomeProspective"])

	log, err := kafkalog.Read(paths...)
	require.NoError(t, err)
	require.Equal(t, traces.PreVote{All: true}, log.Run.PreVote)
	require.True(t, log.Run.AsksVoters, "a follower whose leader is gone asks others")
	log.Run.AsksVoters = false
	res, err = traces.Validate(log.Inputs(), traces.Options{Run: &log.Run})
	require.NoError(t, err)
	require.Equal(t, "ToLeader", res.Rejection.Guard)
	log.Run.AsksVoters, log.Run.PreVote = true, traces.PreVote{}
	res, err = traces.Validate(log.Inputs(), traces.Options{Run: &log.Run})
	require.NoError(t, err)
	require.Equal(t, traces.Rejected, res.Verdict, "without Pre-Vote nobody is prospective")
}

// TestReleasedKafkaDiverges: in another such run a leader has nothing of the epoch of a
// record that a follower has, and the follower cuts its log to nothing.
func TestReleasedKafkaDiverges(t *testing.T) {
	var paths []string
	for i := range 3 {
		paths = append(paths, filepath.Join("testdata", fmt.Sprintf("kafka-4.4.0-diverging-%d.log.zst", i+1)))
	}
	res := validate(t, nil, paths...)
	if res.Rejection != nil {
		t.Fatal(res.Rejection.Text())
	}
	require.Equal(t, traces.Accepted, res.Verdict)
	require.EqualValues(t, 430, res.Stats.Events)
	require.Equal(t, 1, res.Stats.Crashes)
}

// TestReleasedKafkaEdited: a change by hand of one node's log is rejected at its line.
func TestReleasedKafkaEdited(t *testing.T) {
	for name, c := range map[string]struct {
		log       int
		marks     []string
		from, to  string
		atOrAfter bool // what follows from it is rejected, not the line
	}{
		"a high watermark one too high": {1, []string{"Follower high watermark updated to 21"}, "to 21", "to 22", false},
		"a vote granted to another":     {0, []string{"Sent response", "voteGranted=false"}, "voteGranted=false", "voteGranted=true", false},
		"an append one too long":        {0, []string{"Leader appended records", "offset=1,"}, "offset=1,", "offset=2,", true},
	} {
		t.Run(name, func(t *testing.T) {
			var paths []string
			at := 0
			for i, log := range released {
				path := filepath.Join("testdata", log+".log.zst")
				if i == c.log {
					lines := linesOf(t, log)
					at = find(t, lines, 0, c.marks...)
					lines[at] = strings.Replace(lines[at], c.from, c.to, 1)
					path = write(t, "edited.log", lines)
				}
				paths = append(paths, path)
			}
			res := validate(t, nil, paths...)
			require.Equal(t, traces.Rejected, res.Verdict)
			if !c.atOrAfter {
				where := res.Rejection.Line
				require.Equal(t, "edited.log", filepath.Base(res.Rejection.File))
				require.EqualValues(t, at+1, where, res.Rejection.Text())
			}
		})
	}
}
