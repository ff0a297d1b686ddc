package linear

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// pictured is the largest number of operations in a picture.
const pictured = 60

// WriteHTML draws the neighbourhood of a violation that Check found: one
// self-contained page, written to path, with the operations on a time line, the
// longest orders that are possible, and the violation in words.
func WriteHTML(path string, ops []Op, opt Options, v *Violation) error {
	around := neighbours(ops, v)
	start := Options{Gaps: true, Name: opt.Name, Start: State{End: math.MaxInt64}}
	for i := range around {
		// What is not in the picture is a gap, and of unknown content.
		around[i].Saw = 0
		if around[i].Outcome == Known {
			start.Start.End = min(start.Start.End, around[i].Offset)
		}
	}
	if start.Start.End == math.MaxInt64 {
		start.Start.End = opt.Start.End
	}
	return draw(path, LogModel(around, start), LogOperations(around), v, opt.Notes)
}

// WriteRegisterHTML draws the neighbourhood of a violation that CheckRegister
// found.
func WriteRegisterHTML(path string, ops []RegisterOp, v *Violation, name func(uint64) string) error {
	var until int64 = never
	if v.Later >= 0 {
		until = ops[v.Later].Return
	}
	all := RegisterOperations(ops, until)
	slices.SortStableFunc(all, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	if len(all) > pictured {
		all = all[len(all)-pictured:]
	}
	return draw(path, RegisterModel(name), all, v, nil)
}

// neighbours are the two operations of a violation and those closest to them.
func neighbours(ops []Op, v *Violation) []Op {
	var must []int
	for _, i := range []int{v.Earlier, v.Later} {
		if i >= 0 {
			must = append(must, i)
		}
	}
	distance := func(i int) int64 {
		d := int64(math.MaxInt64)
		for _, m := range must {
			gap := max(ops[i].Call-min(ops[m].returned(), ops[m].Call), ops[m].Call-min(ops[i].returned(), ops[i].Return))
			d = min(d, max(gap, 0))
		}
		return d
	}
	index := make([]int, len(ops))
	for i := range index {
		index[i] = i
	}
	near := make([]int64, len(ops))
	for i := range near {
		if near[i] = distance(i); slices.Contains(must, i) {
			near[i] = -1
		}
	}
	slices.SortStableFunc(index, func(a, b int) int { return cmp.Compare(near[a], near[b]) })
	index = index[:min(len(index), pictured)]
	slices.Sort(index)
	out := make([]Op, len(index))
	for i, at := range index {
		out[i] = ops[at]
	}
	return out
}

// draw writes porcupine's page, with the notes of the time that it shows. Its
// visualization has panicked on histories that are not linearizable (porcupine issue
// 42); a picture must not end a check.
func draw(path string, model porcupine.Model, ops []porcupine.Operation, v *Violation, notes []Note) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s: drawing the history: %v", path, r)
		}
	}()
	_, info := porcupine.CheckOperationsVerbose(model, ops, 2*time.Second)
	at, until := int64(0), int64(0)
	for i, op := range ops {
		if i == 0 || op.Call < at {
			at = op.Call
		}
		until = max(until, op.Call)
		if op.Return < never {
			until = max(until, op.Return)
		}
	}
	for _, n := range notes {
		if n.To >= at && n.From <= until {
			from, to := max(n.From, at), min(n.To, until)
			info.AddAnnotations([]porcupine.Annotation{{Tag: n.Who, Start: from, End: to, Description: n.What, Details: n.Details, BackgroundColor: "#d6e4ff"}})
		}
	}
	info.AddAnnotations([]porcupine.Annotation{{Tag: "violation", Start: at, Description: "why", Details: v.Text, BackgroundColor: "#ffb3b3"}})
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := porcupine.Visualize(model, info, f); err != nil {
		f.Close()
		return fmt.Errorf("%s: %w", path, err)
	}
	return f.Close()
}
