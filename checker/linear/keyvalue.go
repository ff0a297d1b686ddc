package linear

import "fmt"

// KeyValueKind is what is asked of a key of a key-value store.
type KeyValueKind uint8

// Operations of a key-value store.
const (
	Get KeyValueKind = iota
	Put
	Delete
	// CompareAndSet sets Value where the key has Old, or where it is not there and Old is
	// empty.
	CompareAndSet
)

// KeyValueOp is the Input of an operation of [KeyValue]; the key is that of the ObjectOp.
type KeyValueOp struct {
	Kind KeyValueKind
	// Value that is put or set, or was got.
	Value, Old string
	// There: a get found the key, or a compare-and-set set it.
	There bool
}

// kvState is one key.
type kvState struct {
	value string
	there bool
}

// KeyValue is a key of a key-value store, which is not there at first.
func KeyValue() Object {
	return Object{
		Init: kvState{},
		Step: func(state any, op *ObjectOp) (bool, any) {
			s, in := state.(kvState), op.Input.(*KeyValueOp)
			switch in.Kind {
			case Get:
				return in.There == s.there && (!in.There || in.Value == s.value), s
			case Put:
				return true, kvState{in.Value, true}
			case Delete:
				return true, kvState{}
			}
			same := s.there && s.value == in.Old || !s.there && in.Old == ""
			if op.Outcome == Known && in.There != same {
				return false, s
			}
			if same {
				s = kvState{in.Value, true}
			}
			return true, s
		},
		Hash: func(state any) uint64 {
			s := state.(kvState)
			if !s.there {
				return 0
			}
			return hashText(1, s.value)
		},
		Describe: func(op *ObjectOp) string {
			in := op.Input.(*KeyValueOp)
			switch {
			case in.Kind == Get && !in.There:
				return "get nothing"
			case in.Kind == Get:
				return "get " + in.Value
			case in.Kind == Put:
				return "put " + in.Value
			case in.Kind == Delete:
				return "delete"
			case op.Outcome == Known && !in.There:
				return fmt.Sprintf("not %s in the place of %q", in.Value, in.Old)
			}
			return fmt.Sprintf("%s in the place of %q", in.Value, in.Old)
		},
		Show: func(state any) string {
			if s := state.(kvState); s.there {
				return s.value
			}
			return "nothing"
		},
	}
}

// ClusterIDOp is the Input of an operation of [ClusterID]: a node is given an id, or is
// asked for the one it knows, empty if none.
type ClusterIDOp struct {
	Set bool
	ID  string
}

// ClusterID is the cluster id that a node, the Key, knows: none at first, and then one, for
// ever (KIP-1262).
func ClusterID() Object {
	return Object{
		Init: "",
		Step: func(state any, op *ObjectOp) (bool, any) {
			s, in := state.(string), op.Input.(*ClusterIDOp)
			switch {
			case !in.Set:
				return in.ID == s, s
			case s == "" || s == in.ID:
				return true, in.ID
			}
			return op.Outcome != Known, s // another is refused
		},
		Hash: func(state any) uint64 { return hashText(0, state.(string)) },
		Describe: func(op *ObjectOp) string {
			switch in := op.Input.(*ClusterIDOp); {
			case in.Set:
				return "takes " + in.ID
			case in.ID == "":
				return "knows none"
			default:
				return "knows " + in.ID
			}
		},
		Show: func(state any) string {
			if s := state.(string); s != "" {
				return s
			}
			return "none"
		},
	}
}
