package linear

import (
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
)

// RegisterOp is one operation of a client on one of several registers. Times are
// as in [Op].
type RegisterOp struct {
	Client int32
	// Key names the register; registers are checked one by one, since a history
	// is linearizable if and only if it is for each register.
	Key          string
	Write        bool
	Outcome      Outcome
	Call, Return int64
	// Value written or read; 0 is what a register holds at first.
	Value uint64
}

// RegisterModel is a set of registers as a sequential object, for porcupine; its
// inputs are *RegisterOp. A nil name prints values as numbers.
func RegisterModel(name func(uint64) string) porcupine.Model {
	if name == nil {
		name = func(v uint64) string { return fmt.Sprint(v) }
	}
	return porcupine.Model{
		Partition: func(ops []porcupine.Operation) [][]porcupine.Operation {
			byKey := make(map[string][]porcupine.Operation)
			for _, op := range ops {
				key := op.Input.(*RegisterOp).Key
				byKey[key] = append(byKey[key], op)
			}
			keys := make([]string, 0, len(byKey))
			for key := range byKey {
				keys = append(keys, key)
			}
			slices.Sort(keys) // pictures of one history are equal
			parts := make([][]porcupine.Operation, 0, len(keys))
			for _, key := range keys {
				parts = append(parts, byKey[key])
			}
			return parts
		},
		Init: func() any { return uint64(0) },
		Step: func(state, input, _ any) (bool, any) {
			if op := input.(*RegisterOp); op.Write {
				return true, op.Value
			} else {
				return op.Value == state.(uint64), state
			}
		},
		Hash: func(state any) uint64 { return Chain(0, state.(uint64)) },
		DescribeOperation: func(input, _ any) string {
			op := input.(*RegisterOp)
			verb := "read"
			if op.Write {
				verb = "write"
			}
			if op.Key != "" {
				verb += " " + op.Key
			}
			if op.Outcome == Unknown {
				return fmt.Sprintf("%s %s, outcome unknown", verb, name(op.Value))
			}
			return fmt.Sprintf("%s %s", verb, name(op.Value))
		},
		DescribeState: func(state any) string { return name(state.(uint64)) },
	}
}

// RegisterOperations gives to porcupine what was called by a time; what had not
// returned by then is as if it never did. A beginning of a linearizable history
// is linearizable. Failed operations and reads without an answer are left out.
func RegisterOperations(ops []RegisterOp, until int64) []porcupine.Operation {
	var out []porcupine.Operation
	for i := range ops {
		op := &ops[i]
		returned := op.Outcome == Known && op.Return <= until
		if op.Call > until || op.Outcome == Failed || !op.Write && !returned {
			continue
		}
		end := int64(never)
		if returned {
			end = op.Return
		}
		out = append(out, porcupine.Operation{ClientId: int(op.Client), Input: op, Call: op.Call, Return: end})
	}
	return out
}

// CheckRegister decides by search whether a history of registers is
// linearizable. Of a history longer than the limit it decides the beginning, and
// says so in Reason: a violation there is one, but if there is none the verdict
// is Undecided.
func CheckRegister(ops []RegisterOp, l Limits, name func(uint64) string) Result {
	var res Result
	model := RegisterModel(name)
	// The times at which something became known, the candidates for an end.
	var calls, ends []int64
	for i := range ops {
		op := &ops[i]
		if op.Outcome == Known {
			ends = append(ends, op.Return)
		}
		if op.Outcome == Known || op.Outcome == Unknown && op.Write {
			calls = append(calls, op.Call)
		}
	}
	slices.Sort(calls)
	slices.Sort(ends)
	ends = slices.Compact(ends)
	end, more := int64(never), len(calls) > l.ops()
	if more {
		// The last end by which not more operations were called than the limit.
		n, _ := slices.BinarySearch(ends, calls[l.ops()])
		if ends = ends[:n]; n == 0 {
			res.Reason = fmt.Sprintf("more than %d operations at once", l.ops())
			return res
		}
		end = ends[n-1]
	}
	part := RegisterOperations(ops, end)
	res.Searched = len(part)
	res.Verdict, res.Reason = run(model, part, l)
	switch {
	case res.Verdict == Linearizable && more:
		res.Verdict = Undecided
		res.Reason = fmt.Sprintf("the first %d operations are linearizable, %d more are beyond the limit of the search", len(part), len(calls)-len(part))
	case res.Verdict == NotLinearizable:
		res.Violation = registerViolation(ops, model, ends, l)
	}
	return res
}

// registerViolation finds the first return with which the history stops being
// linearizable.
func registerViolation(ops []RegisterOp, model porcupine.Model, ends []int64, l Limits) *Violation {
	end := firstReturn(ends, model, l, func(end int64) []porcupine.Operation { return RegisterOperations(ops, end) })
	v := &Violation{Earlier: -1, Later: -1}
	for i := range ops {
		if ops[i].Outcome == Known && ops[i].Return == end {
			v.Later = i
		}
	}
	op := &ops[v.Later]
	// Of a read, the write that it saw and the write that it should have seen.
	stale := ""
	if !op.Write {
		stale = registerStale(ops, v, op, model)
	}
	v.Text = fmt.Sprintf("until %d the operations can be ordered, but not with what then returned to client %d (called at %d): %s%s",
		op.Return, op.Client, op.Call, model.DescribeOperation(op, nil), stale)
	return v
}

// firstReturn is the first of the returns, ascending, with which a history stops being
// linearizable; upTo has the operations until one.
func firstReturn(ends []int64, model porcupine.Model, l Limits, upTo func(end int64) []porcupine.Operation) int64 {
	n, _ := slices.BinarySearchFunc(ends, true, func(end int64, _ bool) int {
		if v, _ := run(model, upTo(end), l); v == NotLinearizable {
			return 0
		}
		return -1
	})
	return ends[min(n, len(ends)-1)]
}

func registerStale(ops []RegisterOp, v *Violation, read *RegisterOp, model porcupine.Model) string {
	source := -1
	for i := range ops {
		if w := &ops[i]; w.Write && w.Key == read.Key && w.Value == read.Value && w.Outcome != Failed {
			source = i
		}
	}
	if source < 0 {
		if read.Value != 0 {
			return "; nobody wrote that value"
		}
		return ""
	}
	v.Earlier = source
	w := &ops[source]
	if w.Call > read.Return {
		return fmt.Sprintf("; that write was called at %d, after the read had returned", w.Call)
	}
	for i := range ops {
		x := &ops[i]
		if x.Key == read.Key && x.Outcome == Known && x.Value != read.Value && w.Outcome == Known && w.Return < x.Call && x.Return < read.Call {
			return fmt.Sprintf("; that write had returned at %d, and before the read was called came, from %d to %d: %s",
				w.Return, x.Call, x.Return, model.DescribeOperation(x, nil))
		}
	}
	return ""
}
