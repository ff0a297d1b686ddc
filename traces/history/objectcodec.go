package history

import (
	"math"

	"github.com/quorate/quorate/checker/linear"
	"github.com/quorate/quorate/traces/event/ndjson"
)

// objectLine is any line of a history of objects: its type says which part counts.
type objectLine struct {
	kind, object string
	header       Header
	mark         Mark
	op           linear.ObjectOp
	texts        map[string]string // fields that are texts, by name
	id, version  int32
	set          bool
}

// Fields of lines of objects; each a bit of what was seen, in this order.
var objectFields = [...]string{"type", "v", "object", "run", "clock", "what", "from", "to", "note", "client", "call", "return", "outcome",
	"key", "value", "old", "set", "subject", "schema", "id", "version", "node", "cluster"}

// objectShape says which fields a type of line has besides its type: always, if the
// outcome is known, and possibly if it is.
type objectShape struct{ always, known, possibly []string }

func operation(own ...string) []string {
	return append([]string{"client", "call", "return", "outcome"}, own...)
}

var (
	// objectShapes are those of operations, by object.
	objectShapes = map[string]map[string]objectShape{
		KeyValue: {
			"get":             {operation("key"), nil, []string{"value"}},
			"put":             {operation("key", "value"), nil, nil},
			"delete":          {operation("key"), nil, nil},
			"compare-and-set": {operation("key", "value", "old"), []string{"set"}, nil},
		},
		Registry: {
			"register": {operation("subject", "schema"), []string{"id"}, nil},
			"latest":   {operation("subject"), nil, []string{"schema", "id", "version"}},
			"by-id":    {operation("id"), nil, []string{"schema"}},
		},
		ClusterID: {
			"take": {operation("node", "cluster"), nil, nil},
			"know": {operation("node"), []string{"cluster"}, nil},
		},
	}
	objectHeader = objectShape{always: []string{"v", "object", "run", "clock"}}
	objectMark   = objectShape{always: []string{"what", "from", "to"}, possibly: []string{"note"}}
)

func bitOf(name string) uint32 {
	for i, f := range objectFields {
		if f == name {
			return 1 << i
		}
	}
	return 0
}

func bitsOf(names []string) (bits uint32) {
	for _, n := range names {
		bits |= bitOf(n)
	}
	return bits
}

// decode reads one line of a history of an object, empty: its header.
func (l *objectLine) decode(s *ndjson.Scanner, text []byte, object string) error {
	*l = objectLine{object: object, texts: make(map[string]string)}
	s.Reset(text)
	var seen uint32
	s.Object()
	for key := s.Key(true); key != nil; key = s.Key(false) {
		l.field(s, string(key), &seen)
		if s.Failed() {
			s.In(key)
			break
		}
	}
	l.complete(s, seen, object)
	s.End()
	return s.Err()
}

func (l *objectLine) field(s *ndjson.Scanner, key string, seen *uint32) {
	bit := bitOf(key)
	if bit == 0 {
		s.Unknown()
		return
	}
	s.Once(seen, bit)
	time := func() int64 { return s.Int(0, math.MaxInt64) }
	switch key {
	case "type":
		l.kind = string(s.Text())
	case "v":
		if v := s.Int(math.MinInt64, math.MaxInt64); v != Version && !s.Failed() {
			s.Fail("the version of the schema is %d, this program reads version %d only", v, Version)
		}
	case "object":
		l.object = string(s.Text())
		if _, ok := objectShapes[l.object]; !ok && !s.Failed() {
			s.Fail("want %s, %s or %s, found %q", KeyValue, Registry, ClusterID, l.object)
		}
	case "run":
		l.header.Run = string(s.Text())
	case "clock":
		l.header.Clock = string(s.Text())
	case "what":
		l.mark.What = string(s.Text())
	case "from":
		l.mark.From = time()
	case "to":
		l.mark.To = time()
	case "note":
		l.mark.Note = string(s.Text())
	case "client":
		l.op.Client = int32(s.Int(0, math.MaxInt32))
	case "call":
		l.op.Call = time()
	case "return":
		l.op.Return = time()
	case "outcome":
		var of line
		of.outcome(s)
		l.op.Outcome = of.op.Outcome
	case "set":
		l.set = s.Bool()
	case "id":
		l.id = int32(s.Int(1, math.MaxInt32))
	case "version":
		l.version = int32(s.Int(1, math.MaxInt32))
	default:
		l.texts[key] = string(s.Text())
	}
}

// complete holds what was read against the shape of its type, and makes an operation of it.
func (l *objectLine) complete(s *ndjson.Scanner, seen uint32, object string) {
	s.Need(seen, bitOf("type"), "type")
	if s.Failed() {
		return
	}
	var want objectShape
	isOp := false
	switch {
	case l.kind == "history":
		want = objectHeader
	case object == "":
		s.Fail("want the header of a history, found a line of type %s", l.kind)
		return
	case l.kind == "mark":
		want = objectMark
	default:
		if want, isOp = objectShapes[object][l.kind]; !isOp {
			s.Fail("a history of the object %s has no line of type %q", object, l.kind)
			return
		}
	}
	must, may := bitsOf(want.always)|bitOf("type"), bitsOf(want.possibly)
	if l.op.Outcome == linear.Known {
		must |= bitsOf(want.known)
	} else {
		may = 0
	}
	_, found := l.texts["schema"]
	if l.kind == "latest" && found {
		must |= may
	}
	for i, name := range objectFields {
		bit := uint32(1) << i
		if must&bit != 0 {
			s.Need(seen, bit, name)
		} else if seen&bit != 0 && (may&bit == 0 || l.kind == "latest" && !found) {
			s.Fail("a line of type %s and this outcome has no field %q", l.kind, name)
		}
	}
	switch {
	case isOp && l.op.Return < l.op.Call:
		s.Fail("returned at %d, before it was called at %d", l.op.Return, l.op.Call)
	case l.kind == "mark" && l.mark.To < l.mark.From:
		s.Fail("a mark that ends at %d, before it begins at %d", l.mark.To, l.mark.From)
	case (l.kind == "register" || found) && l.texts["schema"] == "":
		s.Fail("an empty schema")
	case l.kind == "take" && l.texts["cluster"] == "":
		s.Fail("an empty cluster id, which stands for none")
	case isOp:
		l.input()
	}
}

func (l *objectLine) input() {
	t := l.texts
	switch l.object {
	case KeyValue:
		_, there := t["value"]
		in := &linear.KeyValueOp{Value: t["value"], Old: t["old"], There: there && l.kind == "get" || l.set}
		in.Kind = map[string]linear.KeyValueKind{"get": linear.Get, "put": linear.Put, "delete": linear.Delete, "compare-and-set": linear.CompareAndSet}[l.kind]
		l.op.Key, l.op.Input, l.op.Reads = t["key"], in, in.Kind == linear.Get
	case Registry:
		in := &linear.RegistryOp{Subject: t["subject"], Schema: t["schema"], ID: l.id, Version: l.version}
		in.Kind = map[string]linear.RegistryKind{"register": linear.Register, "latest": linear.Latest, "by-id": linear.ByID}[l.kind]
		l.op.Input, l.op.Reads = in, in.Kind != linear.Register
	case ClusterID:
		in := &linear.ClusterIDOp{Set: l.kind == "take", ID: t["cluster"]}
		l.op.Key, l.op.Input, l.op.Reads = t["node"], in, !in.Set
	}
}
