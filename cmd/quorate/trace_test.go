package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// aTrace is a quorum of one that elects itself and commits a record.
var aTrace = []string{
	`{"v":1,"node":{"id":4},"inc":1,"seq":1,"step":1,"action":"Restart","state":{"role":"Unattached","epoch":0,"hw":-1},"durable":{"election":true,"logEnd":0}}`,
	`{"v":1,"node":{"id":4},"inc":1,"seq":2,"step":2,"action":"BecomeProspective","state":{"role":"Prospective"}}`,
	`{"v":1,"node":{"id":4},"inc":1,"seq":3,"step":2,"action":"BecomeCandidate","state":{"role":"Candidate","epoch":1,"voted":4},"durable":{"election":true}}`,
	`{"v":1,"node":{"id":4},"inc":1,"seq":4,"step":2,"action":"BecomeLeader","state":{"role":"Leader","leader":4},"durable":{"election":true}}`,
	`{"v":1,"node":{"id":4},"inc":1,"seq":5,"step":2,"action":"AppendLeaderChange","state":{"logEnd":1},"log":{"base":0,"appended":[[1,"LeaderChange",1]],"digest":"000000000000000a"}}`,
	`{"v":1,"node":{"id":4},"inc":1,"seq":6,"step":3,"action":"Flush","state":{"hw":1,"flushed":1},"durable":{"logEnd":1}}`,
}

func traceCheck(t *testing.T, args ...string) (int, string) {
	var out bytes.Buffer
	code := run(context.Background(), append([]string{"trace", "check"}, args...), &out, &out)
	return code, out.String()
}

func writeTrace(t *testing.T, lines ...string) string {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "node-4.ndjson"), []byte(strings.Join(lines, "\n")+"\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "run.json"), []byte(`{"voters":[4],"preVote":true}`), 0o600))
	return dir
}

func TestTraceCheck(t *testing.T) {
	changed := append([]string{}, aTrace...)
	changed[5] = strings.Replace(changed[5], `"hw":1`, `"hw":0`, 1)
	for _, c := range []struct {
		name  string
		lines []string
		args  []string
		code  int
		says  string
	}{
		{"accepted", aTrace, nil, exitHolds, "accepted"},
		{"rejected", changed, nil, exitViolated, "state.hw: specification 1, trace 0"},
		{"malformed", append([]string{"x"}, aTrace...), nil, exitUsage, "node-4.ndjson:1"},
		{"no events", nil, nil, exitUsage, "node-4.ndjson"},
		{"a lost event", append(aTrace[:5:5], `{"v":1,"node":{"id":4},"inc":2,"seq":1,"step":1,"action":"Restart","state":{"role":"Resigned","logEnd":1}}`), []string{"-hidden", "2"}, exitHolds, "accepted"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := writeTrace(t, c.lines...)
			code, out := traceCheck(t, append(c.args, dir)...)
			require.Equal(t, c.code, code, out)
			require.Contains(t, out, c.says)
		})
	}
}

func TestTraceCheckJSON(t *testing.T) {
	code, out := traceCheck(t, "-json", writeTrace(t, aTrace...))
	require.Equal(t, exitHolds, code, out)
	var r struct {
		Verdict string
		Stats   struct{ Events int }
	}
	require.NoError(t, json.Unmarshal([]byte(out), &r))
	require.Equal(t, "accepted", r.Verdict)
	require.Equal(t, len(aTrace), r.Stats.Events)
}

// Without an answer there is nothing to print but why.
func TestTraceCheckMalformed(t *testing.T) {
	bad := writeTrace(t, append(aTrace[:2:2], "x")...)
	code, out := traceCheck(t, bad)
	require.Equal(t, exitUsage, code)
	require.True(t, strings.HasPrefix(out, "quorate: "), out)
	require.Equal(t, 1, strings.Count(out, "\n"), out)

	changed := append([]string{}, aTrace...)
	changed[5] = strings.Replace(changed[5], `"hw":1`, `"hw":0`, 1)
	code, out = traceCheck(t, writeTrace(t, aTrace...), writeTrace(t, changed...), bad)
	require.Equal(t, exitUsage, code)
	require.Contains(t, out, "accepted")
	require.Contains(t, out, "state.hw: specification 1, trace 0") // what was found before
}

func TestTraceCheckCountsAll(t *testing.T) {
	changed := append([]string{}, aTrace...)
	changed[3] = strings.Replace(changed[3], `"leader":4`, `"leader":-1`, 1)
	dir := writeTrace(t, changed...)
	code, out := traceCheck(t, dir)
	require.Equal(t, exitViolated, code)
	require.Contains(t, out, " 3 of 6 ")
	_, out = traceCheck(t, "-json", dir)
	require.Contains(t, out, `"events":3,"total":6,`)
	_, out = traceCheck(t, writeTrace(t, aTrace...))
	require.NotContains(t, out, " of ")
	changed[5] = "x" // how many there are cannot be said
	_, out = traceCheck(t, writeTrace(t, changed...))
	require.Contains(t, out, "state.leader")
	require.NotContains(t, out, " 3 of ")
}

func TestTraceCheckUsage(t *testing.T) {
	code, out := traceCheck(t)
	require.Equal(t, exitUsage, code)
	require.Contains(t, out, "which runs?")
	require.Contains(t, out, "node-*.ndjson")
	code, out = traceCheck(t, "-help")
	require.Equal(t, exitHolds, code)
	require.Regexp(t, `--hidden int .*\(default 0\)`, out)
}

func TestTraceCheckHidden(t *testing.T) {
	dir := writeTrace(t, aTrace...)
	for _, arg := range []string{"-hidden=-1", "--hidden=-7"} {
		code, out := traceCheck(t, arg, dir)
		require.Equal(t, exitUsage, code, out)
		require.Contains(t, out, "--hidden -")
	}
	code, out := traceCheck(t, "-hidden", "-1", dir)
	require.Equal(t, exitUsage, code, out)
	require.Contains(t, out, "--hidden -1")
}

// Files of one directory are a run with its run.json.
func TestTraceCheckFiles(t *testing.T) {
	dir, other := writeTrace(t, aTrace...), writeTrace(t, aTrace...)
	file, runFile := filepath.Join(dir, "node-4.ndjson"), filepath.Join(dir, "run.json")
	code, out := traceCheck(t, file)
	require.Equal(t, exitHolds, code, out)
	require.NoError(t, os.WriteFile(runFile, []byte(`{"voters":[4,5],"preVote":true}`), 0o600))
	code, out = traceCheck(t, file) // one of two does not elect itself
	require.Equal(t, exitViolated, code, out)
	second := filepath.Join(dir, "node-5.ndjson")
	require.NoError(t, os.WriteFile(second, []byte(strings.Replace(aTrace[0], `"id":4`, `"id":5`, 1)+"\n"), 0o600))
	code, out = traceCheck(t, file, second)
	require.Equal(t, exitViolated, code, out)
	require.NoError(t, os.WriteFile(runFile, []byte(`{"voters":[4],"observers":[5],"preVote":true}`), 0o600))
	code, out = traceCheck(t, file, second)
	require.Equal(t, exitHolds, code, out)
	require.Contains(t, out, "\n"+dir+"  2 ") // the run is called by its directory
	require.NoError(t, os.WriteFile(runFile, []byte(`{"voters":[4],"observer":[5]}`), 0o600))
	code, out = traceCheck(t, file, second)
	require.Equal(t, exitUsage, code, out)
	require.Contains(t, out, runFile+`: unknown field "observer"`)
	code, out = traceCheck(t, file, filepath.Join(other, "node-4.ndjson")) // of no one directory
	require.Equal(t, exitUsage, code, out)
	require.Contains(t, out, "node 4 has another trace, "+file)
}

// A rejection can be drawn, and there is nothing to draw if there is none.
func TestTraceCheckPicture(t *testing.T) {
	changed := append([]string{}, aTrace...)
	changed[5] = strings.Replace(changed[5], `"hw":1`, `"hw":0`, 1)
	dir := writeTrace(t, changed...)
	for format, want := range map[string]string{"svg": "</svg>", "html": "</html>", "itf": `"ITF"`} {
		file := filepath.Join(t.TempDir(), "picture")
		code, out := traceCheck(t, "-format", format, "-o", file, dir)
		require.Equal(t, exitViolated, code, out)
		require.Contains(t, out, "state.hw")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Contains(t, string(text), want)
		code, out = traceCheck(t, "-format", format, dir)
		require.Equal(t, exitViolated, code)
		require.Contains(t, out, want)
		require.NotContains(t, out, "verdict\n")
	}
	code, out := traceCheck(t, "-format", "svg", writeTrace(t, aTrace...))
	require.Equal(t, exitHolds, code)
	require.Equal(t, "quorate: accepted: no picture was written\n", out)
	file := filepath.Join(t.TempDir(), "picture")
	code, out = traceCheck(t, "-format", "html", "-o", file, writeTrace(t, aTrace...))
	require.Equal(t, exitHolds, code)
	require.Contains(t, out, "quorate: accepted: no picture was written\n")
	require.NoFileExists(t, file)
	code, out = traceCheck(t, "-help")
	require.Equal(t, exitHolds, code)
	require.Regexp(t, `--output string +.* of a rejected run`, out)
	code, out = traceCheck(t, "-format", "png", dir)
	require.Equal(t, exitUsage, code)
	require.Contains(t, out, "png")
}

// A last line that ends too soon is passed over, and the report says so; a disk that was lost is
// a hidden step, and a rejection says how to allow it.
func TestTraceCheckTornAndLost(t *testing.T) {
	file := filepath.Join(t.TempDir(), "node-4.ndjson")
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o600)) }
	whole := strings.Join(aTrace, "\n") + "\n"

	const passed = "1 line was passed over that ends too soon, as if its process had been killed: "
	write(whole[:len(whole)-10])
	code, text := traceCheck(t, file)
	require.Equal(t, exitHolds, code, text)
	require.Contains(t, text, passed+file)
	write(whole)
	code, text = traceCheck(t, file)
	require.Equal(t, exitHolds, code, text)
	require.NotContains(t, text, "passed over")

	write(whole + `{"v":1,"node":{"id":4},"inc":2,"seq":1,"step":4,"action":"Restart","state":{"role":"Unattached","epoch":0,"hw":-1,"logEnd":0},"durable":{"election":true,"logEnd":0}}` + "\n")
	code, text = traceCheck(t, file)
	require.Equal(t, exitViolated, code, text)
	require.Contains(t, text, "(that a disk was lost is a hidden step: -hidden 1 would allow it)")
	code, text = traceCheck(t, "-hidden", "1", "-invariants=false", file)
	require.Equal(t, exitHolds, code, text)
	require.Contains(t, text, "LoseDisk")
}
