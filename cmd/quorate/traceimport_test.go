package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const kafkaLogFile = "../../traces/kafkalog/testdata/initial-election.log.zst"

// TestImportKafkaLog: what is imported is accepted, like the log itself.
func TestImportKafkaLog(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "run")
	code, stdout, stderr := quorate("trace", "import", "kafka-log", "-o", dir, kafkaLogFile)
	require.Equal(t, exitHolds, code, stderr)
	require.Contains(t, stdout, "node 2: ")
	for _, args := range [][]string{{dir}, {"-kafka-log", kafkaLogFile}} {
		code, out := traceCheck(t, args...)
		require.Equal(t, exitHolds, code, out)
		require.Regexp(t, ` 4 +383 +0 .* 17 \(Flush 17\) +accepted`, out)
	}

	code, _, stderr = quorate("trace", "import", "kafka-log", "-o", dir, kafkaLogFile)
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, filepath.Join(dir, "run.json"))
	code, _, stderr = quorate("trace", "import", "kafka-log", kafkaLogFile)
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "to which directory?")
	code, _, stderr = quorate("trace", "import", "kafka-log")
	require.Equal(t, exitUsage, code)
	require.Contains(t, stderr, "which logs?")
}

// TestKafkaLogWithPreVote: another run.json may say that the software asks for pre-votes.
func TestKafkaLogWithPreVote(t *testing.T) {
	file := filepath.Join(t.TempDir(), "run.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"voters":[0,1,2],"observers":[3],"preVote":true}`), 0o600))
	code, out := traceCheck(t, "-run", file, "-kafka-log", kafkaLogFile)
	require.Equal(t, exitViolated, code, out)
	require.Contains(t, out, "BecomeCandidate is not enabled: guard IsProspective is false")
	require.Contains(t, out, "initial-election.log.zst:")
}

// TestKafkaLogMalformed: the line is named.
func TestKafkaLogMalformed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "raft.log")
	require.NoError(t, os.WriteFile(file, []byte("INFO org.apache.kafka.raft.QuorumState - [Node 0] Completed transition to Elder(epoch=0) from null\n"), 0o600))
	for _, args := range [][]string{{"trace", "check", "-kafka-log", file}, {"trace", "import", "kafka-log", "-o", t.TempDir(), file}} {
		code, _, stderr := quorate(args...)
		require.Equal(t, exitUsage, code)
		require.Contains(t, stderr, file+`:1: a transition to an unknown role "Elder"`)
	}
}

// A log that says no messages cannot be judged, and is no rejection.
func TestKafkaLogWithoutTrace(t *testing.T) {
	text, err := os.ReadFile("../../traces/kafkalog/testdata/lines.log")
	require.NoError(t, err)
	var kept []string
	for _, line := range strings.Split(string(text), "\n") {
		if !strings.HasPrefix(line, "TRACE ") && !strings.HasPrefix(line, "DEBUG ") {
			kept = append(kept, line)
		}
	}
	path := filepath.Join(t.TempDir(), "server.log")
	require.NoError(t, os.WriteFile(path, []byte(strings.Join(kept, "\n")), 0o600))
	code, out := traceCheck(t, "-kafka-log", path)
	require.Equal(t, exitUsage, code, out)
	require.Contains(t, out, "no line at TRACE")
}
