package kafkalog_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces"
	"github.com/quorate/quorate/traces/kafkalog"
)

// linesOf are the lines of a log in testdata.
func linesOf(t testing.TB, name string) []string {
	packed, err := os.ReadFile(filepath.Join("testdata", name+".log.zst"))
	require.NoError(t, err)
	z, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer z.Close()
	text, err := z.DecodeAll(packed, nil)
	require.NoError(t, err)
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

func write(t testing.TB, name string, lines []string) string {
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	return path
}

func validate(t testing.TB, preVote *bool, paths ...string) *traces.Result {
	log, err := kafkalog.Read(paths...)
	require.NoError(t, err)
	require.Empty(t, log.Unknown)
	if preVote != nil {
		log.Run.PreVote.All = *preVote
	}
	res, err := traces.Validate(log.Inputs(), traces.Options{Run: &log.Run})
	require.NoError(t, err)
	return res
}

var names = []string{"initial-election", "leader-failure", "back-to-back-leader-failures", "majority-partition"}

// TestKafkaIsAccepted: what Apache Kafka's own controllers did are behaviours of the
// specification, with its properties, and flushes are all that has to be guessed.
func TestKafkaIsAccepted(t *testing.T) {
	for name, want := range map[string]struct{ events, elections, crashes int }{
		"initial-election": {383, 1, 0}, "leader-failure": {3023, 2, 0}, "back-to-back-leader-failures": {3629, 3, 0}, "majority-partition": {4701, 2, 0},
	} {
		path := filepath.Join("testdata", name+".log.zst")
		res := validate(t, nil, path)
		if res.Verdict != traces.Accepted {
			t.Errorf("%s: %v\n%s", name, res.Verdict, res.Rejection.Text())
			continue
		}
		require.EqualValues(t, want.events, res.Stats.Events, name)
		require.Equal(t, want.elections, res.Stats.Actions["BecomeLeader"], name)
		require.Len(t, res.Stats.Hidden, 1, name)
		require.Positive(t, res.Stats.Hidden["Flush"], name)
		require.NotEmpty(t, res.Stats.Invariants)
		require.Contains(t, res.Stats.Reached, "FollowerLearnedHighWatermark")
		t.Logf("%s: %d events, %d messages, hidden %s, tolerated %v, reached %v", name, res.Stats.Events, res.Stats.Received, res.Stats.HiddenText(), res.Stats.Tolerated, res.Stats.Reached)
	}
}

// TestWithPreVote: the specification of 4.x, in which nobody stands before it has asked,
// refuses what older software did, where it did it.
func TestWithPreVote(t *testing.T) {
	with := true
	for _, name := range names {
		lines := linesOf(t, name)
		res := validate(t, &with, filepath.Join("testdata", name+".log.zst"))
		require.Equal(t, traces.Rejected, res.Verdict, name)
		require.Equal(t, "BecomeCandidate", res.Rejection.Action)
		require.Equal(t, "IsProspective", res.Rejection.Guard)
		require.Contains(t, lines[res.Rejection.Line-1], "Completed transition to CandidateState")
	}
}

// find is the index of the first line from one on that contains all of these.
func find(t testing.TB, lines []string, from int, marks ...string) int {
next:
	for i := from; i < len(lines); i++ {
		for _, m := range marks {
			if !strings.Contains(lines[i], m) {
				continue next
			}
		}
		return i
	}
	t.Fatalf("no line with %q", marks)
	return 0
}

func insert(lines []string, at int, line string) []string {
	return append(append(append([]string{}, lines[:at]...), line), lines[at:]...)
}

// TestEdited: changes by hand are rejected at the line that was changed.
func TestEdited(t *testing.T) {
	for _, c := range []struct {
		name, log string
		edit      func(t testing.TB, lines []string) ([]string, int)
		field     string
	}{
		{"a vote granted twice", "back-to-back-leader-failures", func(t testing.TB, lines []string) ([]string, int) {
			at := find(t, lines, 0, "Sent response", "voteGranted=false")
			require.Contains(t, lines[at], "candidateEpoch=2")
			lines[at] = strings.Replace(lines[at], "voteGranted=false", "voteGranted=true", 1)
			return lines, at
		}, "send.granted"},
		{"a high watermark before the first record of the epoch is on a majority", "majority-partition", func(t testing.TB, lines []string) ([]string, int) {
			led := find(t, lines, 0, "[Node 2] Completed transition to Leader(", "epoch=17")
			at := find(t, lines, led, "[Node 2] Received inbound message InboundRequest", "currentLeaderEpoch=17") + 1
			moved := find(t, lines, at, "LeaderState - [Node 2] High watermark set to", "offset=873")
			require.Greater(t, moved, at)
			return insert(lines, at, strings.Replace(lines[moved], "offset=873", "offset=872", 1)), at
		}, "state.hw"},
		{"a high watermark one too high", "leader-failure", func(t testing.TB, lines []string) ([]string, int) {
			at := find(t, lines, 5000, "FollowerState", "High watermark set to Optional")
			lines[at] = regexp.MustCompile(`offset=\d+`).ReplaceAllStringFunc(lines[at], func(s string) string {
				n, _ := strconv.Atoi(s[len("offset="):])
				return fmt.Sprint("offset=", n+1)
			})
			lines[at+1] = "" // it says the same
			return lines, at
		}, "state.hw"},
		{"a leader whose votes are not enough", "back-to-back-leader-failures", func(t testing.TB, lines []string) ([]string, int) {
			won := find(t, lines, 0, "Completed transition to Leader(", "epoch=3")
			got := won - 1
			for !strings.Contains(lines[got], "voteGranted=true") {
				got--
			}
			lines[got] = "" // the vote that made it
			return lines, won
		}, ""},
		{"an epoch that nobody has opened", "initial-election", func(t testing.TB, lines []string) ([]string, int) {
			at := find(t, lines, 0, "Completed transition to FollowerState", "epoch=1")
			lines[at] = strings.Replace(lines[at], "epoch=1", "epoch=2", 1)
			return lines, at
		}, "state.epoch"},
		{"a record that is not there", "initial-election", func(t testing.TB, lines []string) ([]string, int) {
			at := find(t, lines, 0, "Follower end offset updated to OffsetAndEpoch(offset=4")
			lines[at] = strings.Replace(lines[at], "offset=4", "offset=5", 1)
			return lines, at
		}, "state.logEnd"},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines, at := c.edit(t, linesOf(t, c.log))
			path := write(t, c.log+".log", lines)
			res := validate(t, nil, path)
			require.Equal(t, traces.Rejected, res.Verdict)
			t.Log("\n" + res.Rejection.Text())
			require.Equal(t, path, res.Rejection.File)
			require.EqualValues(t, at+1, res.Rejection.Line)
			if c.field != "" {
				require.Equal(t, c.field, res.Rejection.Differences[0].Field)
			}
		})
	}
}

var inbound = regexp.MustCompile(`(InboundRequest\([^)]*\), |OutboundResponse\()correlationId=(\d+)`)

// TestClusterOfItsOwn: the same runs as an operator has them: a file for each node, in the
// layout of Kafka's log4j configuration, and with correlation ids that each node counts by
// itself, so that requests have to be matched by what they say.
func TestClusterOfItsOwn(t *testing.T) {
	for _, name := range names {
		files := map[string][]string{}
		for _, text := range linesOf(t, name) {
			head, rest, ok := strings.Cut(text, " - [Node ")
			id, rest, _ := strings.Cut(rest, "] ")
			level, logger, _ := strings.Cut(head, " ")
			if !ok {
				files["0"] = append(files["0"], text) // the rest of an entry
				continue
			}
			if strings.Contains(rest, "InboundRequest(") {
				rest = inbound.ReplaceAllStringFunc(rest, func(s string) string {
					at := strings.LastIndex(s, "=") + 1
					corr, err := strconv.Atoi(s[at:])
					require.NoError(t, err)
					return s[:at] + strconv.Itoa(corr+7_000_000)
				})
			}
			files[id] = append(files[id], fmt.Sprintf("[2025-01-01 12:00:00,000] %s [RaftManager id=%s] %s (%s)", level, id, rest, logger))
		}
		var paths []string
		for id, lines := range files {
			paths = append(paths, write(t, "raft-"+id+".log", lines))
		}
		res := validate(t, nil, paths...)
		if res.Verdict != traces.Accepted {
			t.Errorf("%s: %v\n%s", name, res.Verdict, res.Rejection.Text())
		}
		one := validate(t, nil, filepath.Join("testdata", name+".log.zst"))
		require.Equal(t, one.Stats.Events, res.Stats.Events)
		require.Equal(t, one.Stats.Received, res.Stats.Received)
	}
}

// TestFaults: what cannot be read is said with its place.
func TestFaults(t *testing.T) {
	for _, c := range []struct {
		old, new string // in the first line that has the old
		want     string
	}{
		{"Received inbound message InboundRequest", "Received inbound message InboundQuery", "neither a request nor a response"},
		{"data=FetchRequestData(", "data=PullRequest(", "PullRequest is no message"},
		{"currentLeaderEpoch=0", "currentLeaderEpoch=", `no number after "currentLeaderEpoch="`},
		{"fetchOffset=0", "fetchOffset=99999999999999999999", `no number after "fetchOffset="`},
		{"candidateEpoch=1", "candidateEpoch=x", "no number after"},
		{"voteGranted=true", "voteGranted=1", `neither true nor false after "voteGranted="`},
		{"Completed transition to Unattached(", "Completed transition to Elder(", `unknown role "Elder"`},
		{"Completed transition to FollowerState(", "Completed transition to Voted(", "no voted key"},
		{"Completed transition to Unattached(epoch=0, votedKey=null, voters=[0, 1, 2], electionTimeoutMs=1738, highWatermark=Optional.empty) from null", "Completed transition to Unattached(epoch=0)", "a transition from nothing"},
		{"Reading KRaft snapshot and log", "Reading the log", "no start before it"},
		{"Leader appended records at base offset 0", "Leader appended records at base offset x", "an append: no number"},
		{"High watermark set to LogOffsetMetadata(offset=1", "High watermark set to 1", "no high watermark in"},
		{"Follower high watermark updated to 1", "Follower high watermark updated to x", "the high watermark: no number"},
		{"[Node 0]", "[Somebody]", "whose line is it?"},
		{"data=FetchRequestData(", "data=FetchSnapshotRequestData(", "FetchSnapshot: logs of runs in which replicas fetch snapshots cannot be read"},
		{"data=FetchRequestData(", "data=AddRaftVoterRequestData(", "the specification has a static voter set"},
		{"Starting voters are VoterSet(voters={0=VoterNode(", "Starting voters are VoterSet(voters={(", "node 1 starts with voters"},
	} {
		lines := linesOf(t, "initial-election")
		at := find(t, lines, 0, c.old)
		lines[at] = strings.Replace(lines[at], c.old, c.new, 1)
		path := write(t, "raft.log", lines)
		_, err := kafkalog.Read(path)
		require.ErrorContains(t, err, c.want, c.new)
		if !strings.Contains(c.want, "starts with voters") && !strings.Contains(c.want, "no start") {
			require.ErrorContains(t, err, fmt.Sprintf("%s:%d: ", path, at+1))
		}
	}
	path := write(t, "server.log", []string{"INFO kafka.server.KafkaServer - started", "x"})
	_, err := kafkalog.Read(path)
	require.ErrorContains(t, err, path+": no entry of org.apache.kafka.raft.* in 2 lines")
	_, err = kafkalog.Read(filepath.Join(t.TempDir(), "none.log"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// inKafkasLayout is a line as Kafka's own log4j configuration writes it.
func inKafkasLayout(t testing.TB, text string) string {
	m := regexp.MustCompile(`^([A-Z]+) (\S+) - \[Node (\d+)\] (.*)$`).FindStringSubmatch(text)
	require.NotNil(t, m, text)
	return fmt.Sprintf("[2025-01-01 12:00:00,000] %s [RaftManager id=%s] %s (%s)", m[1], m[3], m[4], m[2])
}

// TestWithoutTrace: a log that does not say which messages were handled cannot be judged,
// nor one in which TRACE was switched on later.
func TestWithoutTrace(t *testing.T) {
	for _, name := range names {
		var info, debug, kafkas, late []string
		lines := linesOf(t, name)
		half := find(t, lines, 0, "Completed transition to FollowerState") + 40
		for i, text := range lines {
			level, _, _ := strings.Cut(text, " ")
			switch level {
			case "INFO", "WARN":
				info = append(info, text)
				kafkas = append(kafkas, inKafkasLayout(t, text))
				debug = append(debug, text)
			case "DEBUG":
				debug = append(debug, text)
			}
			if level == "INFO" || i > half {
				late = append(late, text)
			}
		}
		for what, lines := range map[string][]string{"at INFO": info, "at DEBUG": debug, "at INFO, in Kafka's layout": kafkas} {
			path := write(t, "server.log", lines)
			_, err := kafkalog.Read(path)
			require.ErrorContains(t, err, "node 0: no line at TRACE", "%s %s", name, what)
			require.ErrorContains(t, err, "org.apache.kafka.raft must be at TRACE from the process's start: a log at INFO or DEBUG cannot be judged")
			var at *kafkalog.Error
			require.ErrorAs(t, err, &at)
			require.Contains(t, lines[at.Line-1], "Completed transition to")
		}
		_, err := kafkalog.Read(write(t, "server.log", late))
		require.ErrorContains(t, err, "at TRACE from the process's start?", name)
	}
	// One node of them is enough, and a log that is no better for it names its first line.
	var lines []string
	for _, text := range linesOf(t, "initial-election") {
		if !strings.HasPrefix(text, "TRACE") || !strings.Contains(text, "[Node 1]") {
			lines = append(lines, text)
		}
	}
	_, err := kafkalog.Read(write(t, "server.log", lines))
	require.ErrorContains(t, err, "node 1: no line at TRACE")
}

// TestGzip: a log that was compressed with gzip is read, whatever it is called, and one
// that is cut short is refused.
func TestGzip(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte(strings.Join(linesOf(t, "initial-election"), "\n")))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	for _, name := range []string{"raft.log.gz", "raft.log"} {
		path := filepath.Join(t.TempDir(), name)
		require.NoError(t, os.WriteFile(path, packed.Bytes(), 0o600))
		res := validate(t, nil, path)
		require.Equal(t, traces.Accepted, res.Verdict)
		require.EqualValues(t, 383, res.Stats.Events)
		for _, length := range []int{packed.Len() / 2, 5} {
			require.NoError(t, os.WriteFile(path, packed.Bytes()[:length], 0o600))
			_, err = kafkalog.Read(path)
			require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			require.ErrorContains(t, err, path+":")
		}
	}
}

// TestMissingLines: a request that is handled and never answered, while its node goes on,
// is a hole in the log.
func TestMissingLines(t *testing.T) {
	lines := linesOf(t, "initial-election")
	at := find(t, lines, 0, "Sent response", "VoteResponseData")
	lines[at] = ""
	path := write(t, "raft.log", lines)
	_, err := kafkalog.Read(path)
	require.ErrorContains(t, err, "a request that is never answered: are lines missing?")
}

// TestUnknown: a line of a kind that is not known is counted.
func TestUnknown(t *testing.T) {
	lines := linesOf(t, "initial-election")
	at := find(t, lines, 0, "Registered the listener")
	lines[at] = strings.Replace(lines[at], "Registered the listener", "Dismissed every listener", 1)
	log, err := kafkalog.Read(write(t, "raft.log", lines))
	require.NoError(t, err)
	require.Len(t, log.Unknown, 1)
	u := log.Unknown["KafkaRaftClient: Dismissed every listener"]
	require.EqualValues(t, at+1, u.Line)
	require.Equal(t, 1, u.Count)
}

func BenchmarkRead(b *testing.B) {
	for _, name := range names {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				res := validate(b, nil, filepath.Join("testdata", name+".log.zst"))
				require.Equal(b, traces.Accepted, res.Verdict)
			}
		})
	}
}

// TestOneVoter: it counts itself as soon as it has appended.
func TestOneVoter(t *testing.T) {
	var lines []string
	say := func(logger, text string) {
		level := "INFO"
		if strings.HasPrefix(text, "Leader appended") {
			level = "TRACE"
		}
		lines = append(lines, fmt.Sprintf("[2025-01-01 12:00:00,000] %s [RaftManager id=1] %s (org.apache.kafka.raft.%s)", level, text, logger))
	}
	say("KafkaRaftClient", "Reading KRaft snapshot and log as part of the initialization")
	say("KafkaRaftClient", "Starting voters are VoterSet(voters={1=VoterNode(voterKey=ReplicaKey(id=1, directoryId=<undefined>), x)})")
	say("QuorumState", "Completed transition to Unattached(epoch=0, votedKey=null, voters=[1], electionTimeoutMs=1, highWatermark=Optional.empty) from null")
	say("QuorumState", "Completed transition to CandidateState(localId=1, epoch=1, retries=1, highWatermark=Optional.empty) from Unattached(epoch=0)")
	say("QuorumState", "Completed transition to Leader(localReplicaKey=x, epoch=1, epochStartOffset=0, highWatermark=Optional.empty, voterStates={}) from CandidateState(epoch=1)")
	say("KafkaRaftClient", "Leader appended records at base offset 0, new end offset is OffsetAndEpoch(offset=1, epoch=1)")
	say("LeaderState", "High watermark set to LogOffsetMetadata(offset=1, metadata=Optional.empty) for the first time for epoch 1")
	say("KafkaRaftClient", "Leader appended records at base offset 1, new end offset is OffsetAndEpoch(offset=4, epoch=1)")
	say("LeaderState", "High watermark set to LogOffsetMetadata(offset=4, metadata=Optional.empty) from LogOffsetMetadata(offset=1)")
	res := validate(t, nil, write(t, "raft.log", lines))
	require.Equal(t, traces.Accepted, res.Verdict)
	require.Equal(t, 2, res.Stats.Actions["Flush"])
	lines[len(lines)-1] = strings.Replace(lines[len(lines)-1], "offset=4", "offset=5", 1)
	path := write(t, "raft.log", lines)
	res = validate(t, nil, path)
	require.Equal(t, traces.Rejected, res.Verdict)
	require.EqualValues(t, len(lines), res.Rejection.Line)
}
