package linear

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/anishathalye/porcupine"
)

// Object is a sequential object that a search can hold a history against: [KeyValue],
// [ClusterID], [Registry]. A history of several that do not know of each other, each with
// a Key, is linearizable if and only if it is for each, and is decided one by one.
type Object struct {
	// Init is the state at first.
	Init any
	// Step says whether an operation can take effect in a state with the answer that it
	// had, if its outcome is known, and which state follows. It changes no state.
	Step func(state any, op *ObjectOp) (ok bool, next any)
	// Equal and Hash are of states, and agree. Equal may be nil where == is meant.
	Equal func(a, b any) bool
	Hash  func(state any) uint64
	// Parts, if not nil, replaces the keys of a history by finer ones: operations of two
	// parts touch nothing in common.
	Parts func(ops []ObjectOp) []string
	// Describe says what an operation asked and what it was answered, Show what a state is.
	Describe func(op *ObjectOp) string
	Show     func(state any) string
}

// ObjectOp is one operation of a client on an object. Times are as in [Op].
type ObjectOp struct {
	Client       int32
	Key          string
	Outcome      Outcome
	Call, Return int64
	// Input is what was asked and, if the outcome is known, answered, as the object has it.
	Input any
	// Reads: it changes nothing, so that without an answer it says nothing.
	Reads bool
}

func (o *Object) model() porcupine.Model {
	return porcupine.Model{
		Partition: func(ops []porcupine.Operation) (parts [][]porcupine.Operation) {
			byKey := make(map[string]int)
			for _, op := range ops {
				key := op.Input.(*ObjectOp).Key
				i, ok := byKey[key]
				if !ok {
					i, parts = len(parts), append(parts, nil)
					byKey[key] = i
				}
				parts[i] = append(parts[i], op)
			}
			slices.SortFunc(parts, func(a, b []porcupine.Operation) int { // pictures of one history are equal
				return cmp.Compare(a[0].Input.(*ObjectOp).Key, b[0].Input.(*ObjectOp).Key)
			})
			return parts
		},
		Init:  func() any { return o.Init },
		Step:  func(state, input, _ any) (bool, any) { return o.Step(state, input.(*ObjectOp)) },
		Equal: o.Equal,
		Hash:  o.Hash,
		DescribeOperation: func(input, _ any) string {
			op := input.(*ObjectOp)
			text := o.Describe(op)
			if op.Key != "" {
				text = op.Key + ": " + text
			}
			if op.Outcome == Unknown {
				text += ", outcome unknown"
			}
			return text
		},
		DescribeState: o.Show,
	}
}

// divided is a history by its parts.
func (o *Object) divided(ops []ObjectOp) []ObjectOp {
	if o.Parts == nil {
		return ops
	}
	ops = slices.Clone(ops)
	for i, part := range o.Parts(ops) {
		ops[i].Key = part
	}
	return ops
}

// largest is the number of operations of the part that has most.
func largest(ops []porcupine.Operation) (n int) {
	of := make(map[string]int)
	for _, op := range ops {
		key := op.Input.(*ObjectOp).Key
		of[key]++
		n = max(n, of[key])
	}
	return n
}

// objectOperations are those that were called by a time; what had not returned by then is
// as if it never did. A beginning of a linearizable history is linearizable.
func objectOperations(ops []ObjectOp, until int64) []porcupine.Operation {
	var out []porcupine.Operation
	for i := range ops {
		op := &ops[i]
		returned := op.Outcome == Known && op.Return <= until
		if op.Call > until || op.Outcome == Failed || op.Reads && !returned {
			continue
		}
		end := int64(never)
		if returned {
			end = op.Return
		} else if op.Outcome == Known {
			later := *op // its answer is of no account yet
			later.Outcome = Unknown
			op = &later
		}
		out = append(out, porcupine.Operation{ClientId: int(op.Client), Input: op, Call: op.Call, Return: end})
	}
	return out
}

// CheckObject decides by search whether a history of objects of a kind is linearizable.
// Limits count the operations of the largest part of it, which is a search of its own. The
// error is for a history that is malformed.
func CheckObject(ops []ObjectOp, o Object, l Limits) (res Result, err error) {
	ops = o.divided(ops)
	var ends []int64
	for i := range ops {
		op := &ops[i]
		if op.Outcome != Known {
			continue
		}
		if op.Return < op.Call {
			return res, fmt.Errorf("operation %d: returned at %d, before it was called at %d", i, op.Return, op.Call)
		}
		ends = append(ends, op.Return)
	}
	model := o.model()
	all := objectOperations(ops, never)
	res.Searched = len(all)
	if n := largest(all); n > l.ops() {
		res.Reason = fmt.Sprintf("%d operations of one part to search among, the limit is %d", n, l.ops())
		return res, nil
	}
	l.Ops = max(len(all), 1)
	if res.Verdict, res.Reason = run(model, all, l); res.Verdict != NotLinearizable {
		return res, nil
	}
	slices.Sort(ends)
	ends = slices.Compact(ends)
	end := firstReturn(ends, model, l, func(end int64) []porcupine.Operation { return objectOperations(ops, end) })
	v := &Violation{Earlier: -1, Later: -1}
	for i := range ops {
		if ops[i].Outcome == Known && ops[i].Return == end {
			v.Later = i
		}
	}
	op := &ops[v.Later]
	v.Text = fmt.Sprintf("until %d the operations can be ordered, but not with what then returned to client %d (called at %d): %s",
		op.Return, op.Client, op.Call, model.DescribeOperation(op, nil))
	res.Violation = v
	return res, nil
}

// WriteObjectHTML draws the neighbourhood of a violation that CheckObject found, with what
// happened to the system meanwhile beside it.
func WriteObjectHTML(path string, ops []ObjectOp, o Object, v *Violation, notes []Note) error {
	ops = o.divided(ops)
	key, until := ops[v.Later].Key, ops[v.Later].Return
	var of []ObjectOp
	for i := range ops {
		if ops[i].Key == key {
			of = append(of, ops[i])
		}
	}
	all := objectOperations(of, until)
	slices.SortStableFunc(all, func(a, b porcupine.Operation) int { return cmp.Compare(a.Call, b.Call) })
	if len(all) > pictured {
		all = all[len(all)-pictured:]
	}
	return draw(path, o.model(), all, v, notes)
}

// hashText folds a text into a hash.
func hashText(h uint64, s string) uint64 {
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 0x100000001b3 // FNV-1a
	}
	return Chain(h, uint64(len(s)))
}
