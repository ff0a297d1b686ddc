package history

import (
	"fmt"
	"time"

	"github.com/quorate/quorate/checker/linear"
)

// Options of Check.
type Options struct {
	// Whole: the committed log that is given is all that was ever committed, so
	// an append that is not in it has not taken effect.
	Whole bool
	// Dense: beyond the committed log that is given, every offset belongs to a
	// client of the history. Without it an offset that belongs to no append may
	// hold a control record.
	Dense bool
	// Register bounds the search for an order of the register; 0: 500 operations,
	// 1 second. Its memory grows with the number of clients and with time.
	Register linear.Limits
	// Picture is the path of an HTML page to be written if the history is not
	// linearizable; empty: none.
	Picture string
}

// Report is the outcome of Check.
type Report struct {
	// Run names the run.
	Run     string
	Verdict linear.Verdict
	// Why says why the history is not linearizable.
	Why string
	// Log is the check of offsets and values, by place.
	Log linear.Result
	// Register is the search for an order of the register alone, that knows of no
	// offset. It is a second opinion on a part of the history: undecided beyond
	// its limits.
	Register linear.Result
	Stats    Stats
}

// Check decides whether a history is linearizable, given the committed log from
// offset h.Start on as far as it is known; nil: not at all. Violations name
// operations by their index in h.Ops. The error is for a history that is
// malformed, for a picture that could not be written, and for checks that
// disagree, which is a fault of theirs.
//
// The verdict is that of the log, which covers the register: a read must have
// seen the last record below its end. It is never undecided, since histories hold
// no digests. The search of the register is a second opinion.
func Check(h *History, log []Record, opt Options) (*Report, error) {
	ids := newNames(h)
	ops := make([]linear.Op, len(h.Ops))
	registers := make([]linear.RegisterOp, len(h.Ops))
	for i := range h.Ops {
		op := &h.Ops[i]
		value := ids.id(op.Value)
		ops[i] = linear.Op{Client: op.Client, Kind: op.Kind, Outcome: op.Outcome, Call: op.Call, Return: op.Return, Offset: op.Offset, Value: value}
		if op.Kind == linear.Read && op.Outcome == linear.Known {
			ops[i].Saw = linear.SawLast
		}
		registers[i] = linear.RegisterOp{Client: op.Client, Write: op.Kind == linear.Append, Outcome: op.Outcome, Call: op.Call, Return: op.Return, Value: value}
	}
	to := linear.Options{Start: linear.State{End: h.Start}, Whole: opt.Whole, Gaps: !opt.Dense, Name: ids.name}
	for _, r := range log {
		to.Log = append(to.Log, linear.Entry{Value: ids.id(r.Value), Internal: r.Internal})
	}
	to.Notes = notes(h.Marks)
	r := &Report{Run: h.Run, Stats: measure(h)}
	var err error
	if r.Log, err = linear.Check(ops, to); err != nil {
		return nil, fmt.Errorf("history %q: %w", h.Run, err)
	}
	limits := opt.Register
	if limits.Ops == 0 {
		limits.Ops = 500
	}
	if limits.Time == 0 {
		limits.Time = time.Second
	}
	r.Register = linear.CheckRegister(registers, limits, ids.name)

	if err := r.decide(); err != nil {
		return nil, fmt.Errorf("history %q: %w", h.Run, err)
	}
	if r.Log.Violation != nil && opt.Picture != "" {
		err = linear.WriteHTML(opt.Picture, ops, to, r.Log.Violation)
	}
	return r, err
}

// decide draws the verdict from the two checks.
func (r *Report) decide() error {
	r.Verdict, r.Why = r.Log.Verdict, r.Log.Reason
	if v := r.Log.Violation; v != nil {
		r.Why = v.Text
	} else if v := r.Register.Violation; v != nil && r.Verdict == linear.Linearizable {
		return fmt.Errorf("the two checks disagree: by its offsets the history is linearizable, but %s", v.Text)
	}
	return nil
}

// names numbers the values of a history, from 1; the empty value is 0.
type names struct {
	ids  map[string]uint64
	text []string
}

func newNames(h *History) *names {
	return &names{ids: make(map[string]uint64, len(h.Ops)/2), text: []string{""}}
}

func (n *names) id(value string) uint64 {
	if value == "" {
		return 0
	}
	id, ok := n.ids[value]
	if !ok {
		id = uint64(len(n.text))
		n.ids[value] = id
		n.text = append(n.text, value)
	}
	return id
}

func (n *names) name(id uint64) string { return fmt.Sprintf("%q", n.text[id]) }
