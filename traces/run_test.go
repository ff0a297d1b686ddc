package traces

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces/event"
)

// TestReadRun: what is wrong with a run.json is said with its name.
func TestReadRun(t *testing.T) {
	path := filepath.Join(t.TempDir(), RunFile)
	for text, want := range map[string]string{
		`{"voters":[1,2,3],"preVote":true}`:                                         "",
		`{"kind":"sim","seed":18446744073709551615,"voters":[1],"preVote":false}`:   "",
		`{"voters":[1],"observers":[2],"preVote":[2],"nodes":[{"id":2,"dir":"x"}]}`: "",
		`{"voters":[1],"voter":[2]}`:                                                `unknown field "voter"`,
		`{"voters":[1],"nodes":[{"id":1,"directory":"x"}]}`:                         `unknown field "directory"`,
		`{"voters":[1,2,1]}`:                                                        "node 1 is listed twice",
		`{"voters":[1,2],"observers":[2]}`:                                          "node 2 is listed twice",
		`{"voters":[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20]}`:           "20 replicas",
		`{"voters":[1],"nodes":[{"id":2,"dir":"x"}]}`:                               "node 2 of nodes",
		`{"voters":[1],"nodes":[{"id":1},{"id":1}]}`:                                "node 1 is listed twice in nodes",
		`{"voters":[1],"preVote":[2]}`:                                              "node 2 of preVote",
		`{"voters":[1]} {}`:                                                         "something follows",
		`{"observers":[1]}`:                                                         "no voters",
		`[`:                                                                         "the object ends too soon",
		``:                                                                          "the file is empty",
		`{"voters":[1`:                                                              "the object ends too soon",
		`[1]`:                                                                       "byte 1: want an object, found array",
		`{"voters":1}`:                                                              "voters: want an array, found number",
		`{"voters":["a"]}`:                                                          "voters: want a whole number of 32 bits, found string",
		`{"voters":[99999999999]}`:                                                  "voters: want a whole number of 32 bits, found number 99999999999",
		`{"voters":[1],"nodes":[{"id":"x"}]}`:                                       "nodes.id: want a whole number of 32 bits, found string",
		`{"voters":[1],"preVote":"yes"}`:                                            `preVote: want true, false or an array of node ids, found "yes"`,
		`{"voters":[-1]}`:                                                           "node -1: ids are from 0",
		`{"voters":[1],"observers":[-2]}`:                                           "node -2: ids are from 0",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := ReadRun(path)
		if want == "" {
			require.NoError(t, err, text)
			continue
		}
		require.ErrorContains(t, err, want, text)
		require.True(t, strings.HasPrefix(err.Error(), path+": "), "%v", err)
	}
}

// TestRunDirectory: the id of a log directory is the same in run.json and trace.
func TestRunDirectory(t *testing.T) {
	events := read(t, generate(1, single, 20, false))[0]
	for dir, want := range map[string]string{"dir": "", "": "", "other": `directory "dir", in the description of the run "other"`} {
		run := *single
		run.Nodes = []RunNode{{ID: 4, Dir: dir}}
		res, err := Validate([]Input{Events("f", events)}, Options{Run: &run})
		if want == "" {
			require.NoError(t, err)
			require.Equal(t, Accepted, res.Verdict)
			continue
		}
		require.ErrorContains(t, err, "f:1: node 4 has "+want)
	}
}

// TestManyTraces: which trace is one too many.
func TestManyTraces(t *testing.T) {
	one := func(id int32) []event.Event {
		return []event.Event{{Node: event.Node{ID: id}, Inc: 1, Seq: 1, Action: "Restart"}}
	}
	_, err := Validate([]Input{Events("a", one(1)), Events("b", one(1))}, Options{})
	require.EqualError(t, err, "b:1: node 1 has another trace, a")
	var inputs []Input
	for id := range int32(20) {
		inputs = append(inputs, Events("f", one(id)))
	}
	_, err = Validate(inputs, Options{})
	require.ErrorContains(t, err, "f: one of 20 traces")
}

// TestDirectoryAsTrace: a directory named like a trace is no trace to be left out.
func TestDirectoryAsTrace(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "node-2.ndjson"), nil, 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "node-1.ndjson"), 0o700))
	for _, path := range []string{dir, filepath.Join(dir, "node-1.ndjson")} {
		_, err := Recordings(path)
		require.ErrorContains(t, err, filepath.Join(dir, "node-1.ndjson")+": a directory")
	}
}
