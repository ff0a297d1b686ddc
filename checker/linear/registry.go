package linear

import (
	"fmt"
	"slices"
	"strings"
)

// RegistryKind is what is asked of a schema registry.
type RegistryKind uint8

// Operations of a schema registry.
const (
	// Register a schema under a subject. What is registered there already is not
	// registered again.
	Register RegistryKind = iota
	// Latest is the last version of a subject.
	Latest
	// ByID is the schema with an id.
	ByID
)

// RegistryOp is the Input of an operation of [Registry].
type RegistryOp struct {
	Kind    RegistryKind
	Subject string
	// Schema that is registered, or was found; empty: none was.
	Schema string
	// ID of the schema, by which one is looked for, or which was answered. Ids are from 1.
	ID int32
	// Version of the schema in its subject, from 1.
	Version int32
}

// registryState is the schemas with their ids, by schema, and the subjects, by name, with
// their schemas by version. The id 0 was given by an operation whose answer nobody saw.
type registryState struct {
	schemas  []registered
	subjects []registrySubject
}

type registered struct {
	schema string
	id     int32
}

type registrySubject struct {
	name     string
	versions []string
}

func (s *registryState) find(schema string) (int, bool) {
	return slices.BinarySearchFunc(s.schemas, schema, func(r registered, schema string) int { return strings.Compare(r.schema, schema) })
}

func (s *registryState) subject(name string) (int, bool) {
	return slices.BinarySearchFunc(s.subjects, name, func(r registrySubject, name string) int { return strings.Compare(r.name, name) })
}

// is says whether a schema can have an id, and the state in which it has: one that was not
// seen before may be any that no other schema has.
func (s *registryState) is(at int, id int32) (bool, *registryState) {
	if have := s.schemas[at].id; have != 0 {
		return have == id, s
	}
	if id < 1 || slices.ContainsFunc(s.schemas, func(r registered) bool { return r.id == id }) {
		return false, s
	}
	next := &registryState{slices.Clone(s.schemas), s.subjects}
	next.schemas[at].id = id
	return true, next
}

// Registry is a schema registry, as a whole, since ids are those of all subjects: a schema
// has one id, whatever the subjects that it is registered under, and no other schema has
// it; versions of a subject count from 1. Which id a new schema gets is not said. It may be
// looked for by id before it is known to anybody, so that an id of which nobody has been
// told is of no schema yet, or of one whose registration has no known outcome.
func Registry() Object {
	return Object{
		Parts: registryParts,
		Init:  &registryState{},
		Step:  func(state any, op *ObjectOp) (bool, any) { return state.(*registryState).step(op) },
		Equal: func(a, b any) bool {
			x, y := a.(*registryState), b.(*registryState)
			return slices.Equal(x.schemas, y.schemas) && slices.EqualFunc(x.subjects, y.subjects, func(a, b registrySubject) bool {
				return a.name == b.name && slices.Equal(a.versions, b.versions)
			})
		},
		Hash: func(state any) uint64 {
			s, h := state.(*registryState), uint64(0)
			for _, r := range s.schemas {
				h = Chain(hashText(h, r.schema), uint64(r.id))
			}
			for _, sub := range s.subjects {
				h = hashText(h, sub.name)
				for _, v := range sub.versions {
					h = hashText(h, v)
				}
			}
			return h
		},
		Describe: func(op *ObjectOp) string {
			in := op.Input.(*RegistryOp)
			switch {
			case in.Kind == Register && op.Outcome == Known:
				return fmt.Sprintf("register %s under %s: id %d", in.Schema, in.Subject, in.ID)
			case in.Kind == Register:
				return fmt.Sprintf("register %s under %s", in.Schema, in.Subject)
			case in.Kind == ByID && in.Schema == "":
				return fmt.Sprintf("id %d: none", in.ID)
			case in.Kind == ByID:
				return fmt.Sprintf("id %d: %s", in.ID, in.Schema)
			case in.Schema == "":
				return fmt.Sprintf("latest of %s: none", in.Subject)
			}
			return fmt.Sprintf("latest of %s: version %d, id %d, %s", in.Subject, in.Version, in.ID, in.Schema)
		},
		Show: func(state any) string {
			s := state.(*registryState)
			var parts []string
			for _, r := range s.schemas {
				parts = append(parts, fmt.Sprintf("%s has id %d", r.schema, r.id))
			}
			for _, sub := range s.subjects {
				parts = append(parts, fmt.Sprintf("%s: %s", sub.name, strings.Join(sub.versions, ", ")))
			}
			return strings.Join(parts, "; ")
		},
	}
}

func (s *registryState) step(op *ObjectOp) (bool, *registryState) {
	switch in := op.Input.(*RegistryOp); in.Kind {
	case Register:
		return s.register(in, op.Outcome == Known)
	case ByID:
		at := slices.IndexFunc(s.schemas, func(r registered) bool { return r.id == in.ID })
		if in.Schema == "" {
			return at < 0, s // what has an id that nobody has seen may have another
		}
		if at >= 0 {
			return s.schemas[at].schema == in.Schema, s
		}
		at, there := s.find(in.Schema)
		if !there {
			return false, s
		}
		return s.is(at, in.ID)
	default:
		at, there := s.subject(in.Subject)
		if in.Schema == "" || !there {
			return in.Schema == "" && !there, s
		}
		versions := s.subjects[at].versions
		if int(in.Version) != len(versions) || versions[len(versions)-1] != in.Schema {
			return false, s
		}
		of, _ := s.find(in.Schema)
		return s.is(of, in.ID)
	}
}

func (s *registryState) register(in *RegistryOp, answered bool) (bool, *registryState) {
	next := s
	at, there := s.find(in.Schema)
	if !there {
		next = &registryState{slices.Insert(slices.Clone(s.schemas), at, registered{schema: in.Schema}), s.subjects}
	}
	if answered {
		var ok bool
		if ok, next = next.is(at, in.ID); !ok {
			return false, s
		}
	}
	of, there := next.subject(in.Subject)
	switch {
	case !there:
		next = &registryState{next.schemas, slices.Insert(slices.Clone(next.subjects), of, registrySubject{in.Subject, []string{in.Schema}})}
	case !slices.Contains(next.subjects[of].versions, in.Schema):
		versions := append(slices.Clone(next.subjects[of].versions), in.Schema)
		next = &registryState{next.schemas, slices.Clone(next.subjects)}
		next.subjects[of].versions = versions
	}
	return true, next
}
