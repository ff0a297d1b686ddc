package registry_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/quorate/quorate/impl/registry"
	"github.com/quorate/quorate/impl/registry/trace"
	"github.com/quorate/quorate/spec/kafkasql"
	"github.com/stretchr/testify/require"
)

// specified is a recorded run in the words of the specification, which counts an offset
// as that of the next record, and an image as two halves. Every life of an instance is one
// of its instances.
func specified(events []trace.Event, records int) kafkasql.Run {
	run := kafkasql.Run{Keep: 2, Records: records}
	number := map[string]int{}
	for _, e := range events {
		step := kafkasql.Recorded{Action: e.Action, Process: -1, Offset: -1}
		switch e.Action {
		case trace.TrimJournal, trace.CollectGarbage, trace.DamageObject:
		default:
			n, ok := number[e.Instance]
			if !ok {
				n = len(number)
				number[e.Instance] = n
			}
			step.Process = n
		}
		switch e.Action {
		case trace.Append:
			continue // it may be told after it was applied
		case trace.CollectGarbage:
			if strings.HasSuffix(e.Key, ".json") {
				continue // the commit beside an image
			}
		case trace.Install, trace.BecomeReady, trace.FinishCapture:
			step.Offset = int(e.Offset) + 1
		case trace.TrimJournal:
			step.Offset = int(e.Offset)
		case trace.Apply:
			for at := e.First; at < e.Offset; at++ {
				run.Steps = append(run.Steps, kafkasql.Recorded{Action: trace.Apply, Process: step.Process, Offset: int(at) + 1})
			}
			step.Offset = int(e.Offset) + 1
		}
		run.Steps = append(run.Steps, step)
	}
	run.Instances = len(number)
	return run
}

// followable is a recorded run, of any length, in the words of the specification.
func followable(events []trace.Event) (run []kafkasql.Event) {
	for _, e := range events {
		f := kafkasql.Event{
			Action: e.Action, Life: e.Instance, Image: e.Checkpoint, Key: e.Key, Offset: e.Offset + 1, First: e.First, Epoch: e.Epoch,
			Start: e.Start, End: e.End, Kept: e.Kept,
		}
		switch {
		case e.Action == trace.Append, e.Action == trace.CollectGarbage && strings.HasSuffix(e.Key, ".json"):
			continue // an append may be told after it was applied; the commit beside an image is none
		case e.Action == trace.TrimJournal:
			f.Offset = e.Offset
		}
		run = append(run, f)
	}
	return run
}

func (n *inst) crash() {
	n.stop()
	n.w.trace.Record(trace.Event{Action: trace.Crash, Instance: n.ID(), Offset: -1})
}

// What instances do is a behaviour of the specification: with writes during a capture, a
// checkpoint that another overtakes while it is uploaded, a trim, an image that is damaged
// after it, one that is collected, and instances that are killed.
func TestConform(t *testing.T) {
	w := newWorld(t, mutation{})
	captured, capturing, goOn := pausing("mid-copy")
	t.Cleanup(goOn)
	uploaded, uploading, resume := pausing("mid-upload")
	t.Cleanup(resume)

	a, b := w.start("", captured), w.start("", uploaded)
	a.fill("a", 1)
	_ = b.digest()
	late, early := make(chan error, 1), make(chan error, 1)
	go func() { _, err := b.Checkpoint(w.ctx); late <- err }()
	<-uploading
	go func() { _, err := a.Checkpoint(w.ctx); early <- err }()
	<-capturing
	a.fill("b", 2)
	goOn()
	require.NoError(t, <-early)
	second := a.checkpoint()
	a.fill("c", 1)
	_ = b.digest()
	resume()
	require.NoError(t, <-late)
	third := a.checkpoint()
	_, err := a.Trim(w.ctx, false)
	require.NoError(t, err)
	collected, err := a.Collect(w.ctx)
	require.NoError(t, err)
	require.Len(t, collected, 4)
	b.crash()
	w.change(third.Key, flip)
	w.trace.Record(trace.Event{Action: trace.DamageObject, Key: third.Key, Offset: -1})
	a.crash()
	c := w.start("", func(*registry.Config) {})
	require.Equal(t, second.ID, c.Began().From.ID)
	_ = c.digest()
	c.stop()
	w.judge()

	events, err := trace.Read(strings.NewReader(w.lines.String()))
	require.NoError(t, err)
	run := specified(events, 4)
	n, err := kafkasql.Conform(run)
	require.NoError(t, err, "%d of %d steps", n, len(run.Steps))
	require.Greater(t, n, 40)
	n, err = kafkasql.Follow(followable(events), 2)
	require.NoError(t, err, "%d of %d steps", n, len(events))

	// One that leaves a step out, or takes one twice, is none.
	for i, s := range run.Steps {
		switch s.Action {
		case trace.Crash, trace.CollectGarbage, trace.DamageObject, trace.TrimJournal:
			continue // what is done to all may be left out
		case trace.Apply:
			continue // the next one says so, if there is one
		}
		other := run
		other.Steps = append(append([]kafkasql.Recorded{}, run.Steps[:i]...), run.Steps[i+1:]...)
		if last(run.Steps, i) {
			continue
		}
		_, err := kafkasql.Conform(other)
		require.Error(t, err, "without step %d, %+v", i, s)
	}
	noticed(t, followable(events))
}

// noticed takes out, one after the other, what others depend on, and changes what others
// rely on.
func noticed(t *testing.T, run []kafkasql.Event) {
	t.Helper()
	last := map[string]int{}
	for i, e := range run {
		last[e.Life] = i
	}
	for i, e := range run {
		change := func(name string, f func(e *kafkasql.Event)) {
			other := slices.Clone(run)
			f(&other[i])
			_, err := kafkasql.Follow(other, 2)
			require.Error(t, err, "%s of step %d, %+v", name, i+1, e)
		}
		switch e.Action {
		case trace.Start, trace.Choose, trace.FetchImage, trace.Install, trace.ReplayAll, trace.BecomeReady, trace.BeginCapture, trace.FinishCapture,
			trace.UploadChunk, trace.VerifyUpload:
			if i < last[e.Life] {
				_, err := kafkasql.Follow(append(slices.Clone(run[:i]), run[i+1:]...), 2)
				require.Error(t, err, "without step %d, %+v", i+1, e)
			}
		}
		switch e.Action {
		case trace.Choose, trace.Install:
			change("offset", func(e *kafkasql.Event) { e.Offset++ })
			change("epoch", func(e *kafkasql.Event) { e.Epoch++ })
			change("image", func(e *kafkasql.Event) { e.Image = "x" })
		case trace.TrimJournal:
			change("offset", func(e *kafkasql.Event) { e.Offset += 2 })
			change("kept", func(e *kafkasql.Event) { e.Kept = e.Kept[1:] })
		case trace.CollectGarbage:
			change("kept", func(e *kafkasql.Event) { e.Kept = e.Kept[1:] })
		case trace.BecomeReady:
			change("offset", func(e *kafkasql.Event) { e.Offset-- })
		case trace.Apply:
			change("first", func(e *kafkasql.Event) { e.First = -1 })
		case trace.RejectImage:
			change("action", func(e *kafkasql.Event) { e.Action = trace.Install })
		}
	}
}

// last says whether an instance does nothing after a step that depends on it.
func last(steps []kafkasql.Recorded, i int) bool {
	for _, s := range steps[i+1:] {
		if s.Process == steps[i].Process && s.Action != trace.Crash {
			return false
		}
	}
	return true
}
