package trace

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// run is one that is as it should be: an instance fills a journal, makes three checkpoints,
// trims and collects; another starts from the last.
func run() []Event {
	commit := func(id string, offset int64) []Event {
		return []Event{
			{Action: BeginCapture, Instance: "a", Checkpoint: id, Offset: -1},
			{Action: FinishCapture, Instance: "a", Checkpoint: id, Key: "k" + id, Offset: offset, Epoch: 1},
			{Action: AppendCommit, Instance: "a", Checkpoint: id, Key: "k" + id, Journal: "j", Offset: offset, Epoch: 1},
		}
	}
	events := []Event{
		{Action: Start, Instance: "a", Journal: "j", Offset: -1},
		{Action: ReplayAll, Instance: "a", Offset: -1},
		{Action: BecomeReady, Instance: "a", Offset: -1},
		{Action: Append, Instance: "a", Offset: 3},
		{Action: Apply, Instance: "a", First: 0, Offset: 3, Epoch: 1, Sum: "x"},
	}
	events = append(events, commit("1", 3)...)
	events = append(events, Event{Action: Apply, Instance: "a", First: 5, Offset: 8, Epoch: 1, Sum: "y"})
	events = append(events, commit("2", 8)...)
	events = append(events, Event{Action: Apply, Instance: "a", First: 9, Offset: 9, Epoch: 1, Sum: "z"})
	events = append(events, commit("3", 9)...)
	return append(events,
		Event{Action: TrimJournal, Instance: "a", Offset: 8, Kept: []string{"3", "2"}},
		Event{Action: CollectGarbage, Instance: "a", Key: "k1", Offset: 3, Kept: []string{"3", "2"}},
		Event{Action: Start, Instance: "b", Journal: "j", Start: 8, End: 10, Offset: -1},
		Event{Action: Install, Instance: "b", Checkpoint: "2", Key: "k2", Journal: "j", Offset: 8, Epoch: 1},
		Event{Action: Apply, Instance: "b", First: 9, Offset: 9, Epoch: 1, Sum: "z"},
		Event{Action: BecomeReady, Instance: "b", Offset: 9, End: 10, Tail: 1},
	)
}

func find(events []Event, action, instance string) *Event {
	i := slices.IndexFunc(events, func(e Event) bool { return e.Action == action && e.Instance == instance })
	return &events[i]
}

// A journal may begin earlier than it did: a broker that is killed soon after a trim has
// forgotten it. What is judged of a start is the journal as that start saw it.
func TestJudgeStartGoesBack(t *testing.T) {
	back := append(run(),
		Event{Action: Start, Instance: "c", Journal: "j", End: 10, Offset: -1},
		Event{Action: ReplayAll, Instance: "c", Offset: -1},
		Event{Action: Apply, Instance: "c", First: 0, Offset: 3, Epoch: 1, Sum: "x"},
		Event{Action: Apply, Instance: "c", First: 5, Offset: 8, Epoch: 1, Sum: "y"},
		Event{Action: Apply, Instance: "c", First: 9, Offset: 9, Epoch: 1, Sum: "z"},
		Event{Action: BecomeReady, Instance: "c", Offset: 9, End: 10, Tail: 10},
		Event{Action: TrimJournal, Instance: "c", Offset: 8, Kept: []string{"3", "2"}},
		Event{Action: Start, Instance: "d", Journal: "j", Start: 3, End: 10, Offset: -1},
		Event{Action: Install, Instance: "d", Checkpoint: "2", Key: "k2", Journal: "j", Offset: 8, Epoch: 1},
		Event{Action: Apply, Instance: "d", First: 9, Offset: 9, Epoch: 1, Sum: "z"},
		Event{Action: BecomeReady, Instance: "d", Offset: 9, End: 10, Tail: 1},
	)
	require.Empty(t, Judge(back, 2))
	find(back, Start, "c").Start = 8
	require.Len(t, Judge(back, 2), 1, "where it does begin later, nobody replays it")
}

// Every property is violated by a run that breaks it, and none by one that does not.
func TestJudge(t *testing.T) {
	require.Empty(t, Judge(run(), 2))
	without := func(action, instance string) func([]Event) []Event {
		return func(es []Event) []Event {
			return slices.DeleteFunc(es, func(e Event) bool { return e.Action == action && e.Instance == instance })
		}
	}
	change := func(action, instance string, f func(*Event)) func([]Event) []Event {
		return func(es []Event) []Event { f(find(es, action, instance)); return es }
	}
	for name, c := range map[string]struct {
		property string
		change   func([]Event) []Event
	}{
		"the image is of another record":     {"CommitImpliesComplete", change(Install, "b", func(e *Event) { e.Epoch = 2 })},
		"the image is of another journal":    {"RightJournal", change(Install, "b", func(e *Event) { e.Journal = "i" })},
		"the image is ahead of the journal":  {"RightJournal", change(Start, "b", func(e *Event) { e.End = 8 })},
		"the record after the image is gone": {"ServingPrefix", change(Install, "b", func(e *Event) { e.Offset = 6 })},
		"a record is applied twice":          {"ServingPrefix", change(Apply, "b", func(e *Event) { e.First = 8 })},
		"another record is applied":          {"StateMachineSafety", change(Apply, "b", func(e *Event) { e.Sum = "!" })},
		"it serves before the tail": {"NoServeBeforeCaughtUp", func(es []Event) []Event {
			es = without(Apply, "b")(es)
			find(es, BecomeReady, "b").Offset = 8
			return es
		}},
		"it took an older end":                {"NoServeBeforeCaughtUp", change(BecomeReady, "b", func(e *Event) { e.End = 9 })},
		"it is not where it was":              {"ServingPrefix", change(BecomeReady, "b", func(e *Event) { e.Offset = 7 })},
		"it guessed":                          {"RefuseRatherThanGuess", change(Start, "a", func(e *Event) { e.Start = 1 })},
		"it wrote before it was ready":        {"NoServeBeforeCaughtUp", without(BecomeReady, "a")},
		"the journal is trimmed too far":      {"TrimJustified", change(TrimJournal, "a", func(e *Event) { e.Offset = 10 })},
		"the trim relies on one image":        {"TrimJustified", change(TrimJournal, "a", func(e *Event) { e.Kept = e.Kept[:1] })},
		"a kept image is collected":           {"NoLiveObjectDeleted", change(CollectGarbage, "a", func(e *Event) { e.Key = "k2" })},
		"an image that may be newer":          {"NoLiveObjectDeleted", change(CollectGarbage, "a", func(e *Event) { e.Offset = 9 })},
		"it never started":                    {"Order", without(Start, "b")},
		"nothing was restored":                {"Order", without(Install, "b")},
		"it went on after it had given up":    {"Order", change(Install, "b", func(e *Event) { e.Action = GiveUp })},
		"an image of one that is not serving": {"ServingPrefix", without(BecomeReady, "a")},
	} {
		found := Judge(c.change(run()), 2)
		require.True(t, slices.ContainsFunc(found, func(err error) bool { return strings.Contains(err.Error(), c.property) }), "%s: %v", name, found)
	}
}

func TestReadWhatWasRecorded(t *testing.T) {
	var b bytes.Buffer
	r := NewRecorder(&b)
	for _, e := range run() {
		r.Record(e)
	}
	require.NoError(t, r.Err())
	(*Recorder)(nil).Record(Event{})
	got, err := Read(bytes.NewReader(b.Bytes()))
	require.NoError(t, err)
	require.Len(t, got, len(run()))
	require.EqualValues(t, len(run()), got[len(got)-1].Seq)
	cut, err := Read(bytes.NewReader(b.Bytes()[:b.Len()-5]))
	require.NoError(t, err)
	require.Len(t, cut, len(run())-1, "a last line that is cut off is none")
	first, _, _ := bytes.Cut(b.Bytes(), []byte("\n"))
	cut, err = Read(bytes.NewReader(append(slices.Clone(first[:len(first)/2]), b.Bytes()...)))
	require.NoError(t, err)
	require.Equal(t, got, cut, "and so is the beginning of one, with another behind it")
	_, err = Read(strings.NewReader("{}\n"))
	require.ErrorContains(t, err, "line 1")
}

func FuzzRead(f *testing.F) {
	var b bytes.Buffer
	r := NewRecorder(&b)
	for _, e := range run() {
		r.Record(e)
	}
	f.Add(b.Bytes())
	f.Add([]byte("{\"action\":\"Start\"}\n{"))
	f.Fuzz(func(_ *testing.T, b []byte) {
		events, err := Read(bytes.NewReader(b))
		if err == nil {
			Judge(events, 2)
		}
	})
}
