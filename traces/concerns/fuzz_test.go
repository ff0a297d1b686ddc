package concerns

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces"
	event "github.com/quorate/quorate/traces/event/concern"
)

// Whatever a file says, there is an answer, and it is the same twice.
func FuzzValidate(f *testing.F) {
	for node := int32(1); node <= 5; node++ {
		b, err := os.ReadFile(recorded + "/" + event.FileName(node))
		require.NoError(f, err)
		f.Add(b, byte(1))
		lines := bytes.SplitAfter(b, []byte("\n"))
		f.Add(bytes.Join(append(lines[len(lines)/2:], lines[:len(lines)/2]...), nil), byte(0))
	}
	f.Fuzz(func(t *testing.T, data []byte, hidden byte) {
		in := Input{Name: "f", Open: func() (Source, error) { return event.NewReader(bytes.NewReader(data), "f") }}
		answer := func() string {
			res, err := Validate([]Input{in}, Options{Hidden: int(hidden % 3)})
			if err != nil {
				return err.Error()
			}
			text := fmt.Sprint(res.Verdict, res.Events)
			if res.Rejection != nil {
				text += res.Rejection.Text()
			}
			return text
		}
		require.Equal(t, answer(), answer())
	})
}

// What does not fit into a state of the specification is no verdict.
func TestOutOfBudget(t *testing.T) {
	r := open(t)
	at := r.find(4, "Replay", 0)
	e := r.events[4][at]
	e.Records = []event.Record{{Kind: event.Begin}}
	for range 30 {
		e.Records = append(e.Records, event.Record{Kind: event.MetaVersion, Level: 20})
	}
	e.End = e.Base + 31
	e.Image = &event.Image{Open: true}
	r.events = map[int32][]event.Event{4: append(r.events[4][:at], e)}
	r.alone = true
	res := r.validate(Options{})
	require.Equal(t, traces.OutOfBudget, res.Verdict)
	require.Contains(t, res.Rejection.Text(), "more than a state of the specification holds")
}

// A process may have been killed between a step and its event: with a budget the step is
// looked for, and counted.
func TestHidden(t *testing.T) {
	for name, cut := range map[string]func(r *run) (hidden int){
		"a flush": func(r *run) int { // the second process finds both directories as they were to be
			at := r.find(4, "SetMemory", 1)
			r.cutTo(4, at-1)
			return 0
		},
		"the last file": func(r *run) int {
			at := r.find(4, "SetMemory", 1)
			r.cutTo(4, at-2)
			return 1
		},
		"the zero checkpoint is gone": func(r *run) int {
			at := r.find(1, "DeleteZero", 0)
			r.cutTo(1, at)
			return 1
		},
		"the last name that format gave": func(r *run) int {
			r.cutTo(2, r.find(2, "RenameMeta", 0))
			return 1
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t)
			want := cut(r)
			res := r.validate(Options{Hidden: 1})
			require.Nil(t, res.Rejection)
			require.Equal(t, want, res.Hidden)
			if want > 0 {
				res = r.validate(Options{})
				require.Equal(t, traces.Rejected, res.Verdict)
				require.Equal(t, "Start", res.Rejection.Action)
				require.True(t, strings.HasPrefix(res.Rejection.Why, "a crash does not leave what was found"), res.Rejection.Why)
			}
		})
	}
}

// cutTo ends a process before an event.
func (r *run) cutTo(node int32, at int) {
	end := at
	for end < len(r.events[node]) && r.events[node][end].Process == r.events[node][at].Process {
		end++
	}
	r.events[node] = append(r.events[node][:at], r.events[node][end:]...)
}
