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

// long is the run of two instances above, with another 10,000 records before it.
func long() (events []kafkasql.Event) {
	const by = 10_000
	all := kafkasql.Event{Action: "Apply", Life: "A", First: 0, Offset: by, Epoch: 1}
	for _, r := range run().Steps {
		e := kafkasql.Event{Action: r.Action, Life: string(rune('A' + r.Process)), Epoch: 1}
		if r.Offset >= 0 {
			e.Offset = int64(r.Offset) + by
		}
		switch r.Action {
		case "Start":
			if e.End = by; r.Process == 1 {
				e.End = by + 2
			}
		case "Apply":
			e.First = e.Offset - 1
		case "Choose", "FetchImage", "Install", "BeginCapture", "FinishCapture", "UploadChunk", "VerifyUpload", "AppendCommit":
			e.Image = "image"
			if r.Action == "Choose" {
				e.Offset = by + 1
			}
		}
		events = append(events, e)
		if r.Action == "ReplayAll" {
			events = append(events, all)
		}
	}
	return events
}

func TestFollow(t *testing.T) {
	n, err := kafkasql.Follow(long(), 2)
	require.NoError(t, err)
	require.Equal(t, len(long()), n)
	find := func(events []kafkasql.Event, action, life string) *kafkasql.Event {
		for i := range events {
			if events[i].Action == action && events[i].Life == life {
				return &events[i]
			}
		}
		return nil
	}
	for name, change := range map[string]func(e []kafkasql.Event) []kafkasql.Event{
		"without a start":       func(e []kafkasql.Event) []kafkasql.Event { return e[1:] },
		"an action of nobody":   func(e []kafkasql.Event) []kafkasql.Event { e[1].Action = "X"; return e },
		"two starts":            func(e []kafkasql.Event) []kafkasql.Event { return append(e, e[0]) },
		"a start behind a trim": func(e []kafkasql.Event) []kafkasql.Event { e[0].Start = 5; return e },
		"an image that was never stored": func(e []kafkasql.Event) []kafkasql.Event {
			find(e, "Choose", "B").Image = "x"
			return e
		},
		"a replay where there is an image": func(e []kafkasql.Event) []kafkasql.Event {
			find(e, "Choose", "B").Action = "ReplayAll"
			return e
		},
		"a record twice": func(e []kafkasql.Event) []kafkasql.Event { find(e, "Apply", "B").First--; return e },
		"ready before the end": func(e []kafkasql.Event) []kafkasql.Event {
			find(e, "Start", "B").End++
			return e
		},
		"other records": func(e []kafkasql.Event) []kafkasql.Event { find(e, "Apply", "B").Epoch = 2; return e },
		"an image of another moment": func(e []kafkasql.Event) []kafkasql.Event {
			find(e, "FinishCapture", "A").Offset -= 7
			return e
		},
		"rejected for nothing": func(e []kafkasql.Event) []kafkasql.Event {
			find(e, "Install", "B").Action = "RejectImage"
			return e
		},
		"a trim that nothing covers": func(e []kafkasql.Event) []kafkasql.Event {
			return append(e, kafkasql.Event{Action: "TrimJournal", Offset: 10_000, Kept: []string{"image"}})
		},
		"a trim by what is not there": func(e []kafkasql.Event) []kafkasql.Event {
			return append(e, kafkasql.Event{Action: "TrimJournal", Offset: 10_000, Kept: []string{"image", "x"}})
		},
		"a collection of nothing": func(e []kafkasql.Event) []kafkasql.Event {
			return append(e, kafkasql.Event{Action: "CollectGarbage", Key: "x"})
		},
		"a journal that begins behind what it reads, for nothing": func(e []kafkasql.Event) []kafkasql.Event {
			return append(e, kafkasql.Event{Action: "OutOfRange", Life: "B", Start: 10_005, End: 10_006})
		},
	} {
		_, err := kafkasql.Follow(change(long()), 2)
		require.Error(t, err, name)
	}
}
