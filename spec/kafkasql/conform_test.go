package kafkasql_test

import (
	"testing"

	"github.com/quorate/quorate/spec/kafkasql"
	"github.com/stretchr/testify/require"
)

// run is one of two instances, of which the second starts from an image of the first.
func run() kafkasql.Run {
	at := func(p int, action string, offset int) kafkasql.Recorded {
		return kafkasql.Recorded{Process: p, Action: action, Offset: offset}
	}
	return kafkasql.Run{Instances: 2, Keep: 2, Records: 3, Steps: []kafkasql.Recorded{
		at(0, "Start", -1), at(0, "ReplayAll", -1), at(0, "BecomeReady", 0), at(0, "Apply", 1),
		at(0, "BeginCapture", -1), at(0, "Apply", 2), at(0, "FinishCapture", 1), at(0, "UploadChunk", -1), at(0, "UploadChunk", -1), at(0, "VerifyUpload", -1), at(0, "AppendCommit", -1),
		at(1, "Start", -1), at(1, "Choose", -1), at(1, "FetchImage", -1), at(1, "Install", 1), at(1, "Apply", 2), at(1, "BecomeReady", 2), at(0, "Apply", 3), at(1, "Apply", 3),
	}}
}

func TestConform(t *testing.T) {
	n, err := kafkasql.Conform(run())
	require.NoError(t, err)
	require.Equal(t, len(run().Steps), n)
	for name, change := range map[string]func(*kafkasql.Run){
		"without a start": func(r *kafkasql.Run) { r.Steps = r.Steps[1:] },
		"a record twice":  func(r *kafkasql.Run) { r.Steps[15].Offset = 1 },
		"ready before the tail": func(r *kafkasql.Run) {
			r.Steps = append(r.Steps[:15:15], kafkasql.Recorded{Process: 1, Action: "BecomeReady", Offset: 1})
		},
		"an image of another offset":  func(r *kafkasql.Run) { r.Steps[6].Offset = 3 },
		"a commit before it verified": func(r *kafkasql.Run) { r.Steps[9].Action = "AppendCommit" },
		"a trim that nothing covers": func(r *kafkasql.Run) {
			r.Steps = append(r.Steps, kafkasql.Recorded{Process: -1, Action: "TrimJournal", Offset: -1})
		},
		"more than there is room for": func(r *kafkasql.Run) { r.Records = 100 },
	} {
		r := run()
		change(&r)
		_, err := kafkasql.Conform(r)
		require.Error(t, err, name)
	}
}
