package history

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/quorate/quorate/checker/linear"
	"github.com/quorate/quorate/traces/event/ndjson"
)

// Objects that a history can be of, as its header names them. A history whose header
// names none is of a log: [History].
const (
	KeyValue  = "key-value"
	Registry  = "registry"
	ClusterID = "cluster-id"
)

// Objects is what the clients of one run saw of objects of a kind: the keys of a store, a
// schema registry, the cluster ids that nodes know.
type Objects struct {
	Header
	// Object is KeyValue, Registry or ClusterID.
	Object string
	// Ops have the Input that the model of the object has.
	Ops   []linear.ObjectOp
	Marks []Mark
}

// ObjectOf is the object that the history file at path is of, empty if of a log, or if its
// first line cannot be read, of which [Open] says why.
func ObjectOf(path string) (string, error) {
	lines, err := ndjson.Open(path)
	if err != nil {
		return "", err
	}
	defer lines.Close()
	var head struct{ Object string }
	if text, err := lines.Next(); err != nil || json.Unmarshal(text, &head) != nil {
		return "", nil
	}
	return head.Object, nil
}

// OpenObjects reads the history of objects at path, as Open does that of a log.
func OpenObjects(path string) (*Objects, error) {
	lines, err := ndjson.Open(path)
	return closing(lines, err, readObjects)
}

// ReadObjects reads a history of objects from r; the name is as in [Read].
func ReadObjects(r io.Reader, name string) (*Objects, error) {
	lines, err := ndjson.NewLines(r, name)
	return closing(lines, err, readObjects)
}

func readObjects(lines *ndjson.Lines) (*Objects, error) {
	h := &Objects{}
	var s ndjson.Scanner
	var l objectLine
	for {
		text, err := lines.Next()
		if err == io.EOF && lines.Line() == 0 {
			return nil, errors.New("an empty file, want the header of a history")
		} else if err == io.EOF {
			return h, nil
		} else if err != nil {
			return nil, err
		}
		if err := l.decode(&s, text, h.Object); err != nil {
			return nil, lines.Wrap(err)
		}
		switch {
		case l.kind == "history" && h.Object != "":
			return nil, lines.Wrap(errors.New("a second header"))
		case l.kind == "history":
			h.Header, h.Object = l.header, l.object
		case l.kind == "mark":
			h.Marks = append(h.Marks, l.mark)
		default:
			h.Ops = append(h.Ops, l.op)
		}
	}
}

// Write writes the history as lines of JSON.
func (h *Objects) Write(w io.Writer) error {
	if _, ok := objectShapes[h.Object]; !ok {
		return fmt.Errorf("there are no histories of the object %q", h.Object)
	}
	buf := bufio.NewWriter(w)
	line := []byte(`{"v":1,"type":"history"`)
	text := func(name, value string) {
		line = ndjson.AppendText(append(append(append(line, `,"`...), name...), `":`...), value)
	}
	end := func() {
		buf.Write(append(line, '}', '\n')) // the error is that of Flush
	}
	text("object", h.Object)
	text("run", h.Run)
	text("clock", h.Clock)
	end()
	for i := range h.Ops {
		op := &h.Ops[i]
		kind, known := kindOf(op), op.Outcome == linear.Known
		line = ndjson.AppendText(append(line[:0], `{"type":`...), kind)
		line = ndjson.AppendInt(line, `,"client":`, int64(op.Client))
		line = ndjson.AppendInt(line, `,"call":`, op.Call)
		line = ndjson.AppendInt(line, `,"return":`, op.Return)
		text("outcome", outcomes[op.Outcome])
		switch in := op.Input.(type) {
		case *linear.KeyValueOp:
			text("key", op.Key)
			if in.Kind == linear.Put || in.Kind == linear.CompareAndSet || in.Kind == linear.Get && known && in.There {
				text("value", in.Value)
			}
			if in.Kind == linear.CompareAndSet {
				text("old", in.Old)
				if known {
					line = fmt.Appendf(line, `,"set":%t`, in.There)
				}
			}
		case *linear.RegistryOp:
			if in.Kind != linear.ByID {
				text("subject", in.Subject)
			}
			if in.Kind == linear.Register || known && in.Schema != "" {
				text("schema", in.Schema)
			}
			if in.Kind == linear.ByID || known && in.ID != 0 {
				line = ndjson.AppendInt(line, `,"id":`, int64(in.ID))
			}
			if in.Kind == linear.Latest && known && in.Schema != "" {
				line = ndjson.AppendInt(line, `,"version":`, int64(in.Version))
			}
		case *linear.ClusterIDOp:
			text("node", op.Key)
			if in.Set || known {
				text("cluster", in.ID)
			}
		}
		end()
	}
	for i := range h.Marks {
		line = appendMark(line[:0], &h.Marks[i])
		buf.Write(append(line, '\n'))
	}
	return buf.Flush()
}

func kindOf(op *linear.ObjectOp) string {
	switch in := op.Input.(type) {
	case *linear.KeyValueOp:
		return [...]string{linear.Get: "get", linear.Put: "put", linear.Delete: "delete", linear.CompareAndSet: "compare-and-set"}[in.Kind]
	case *linear.RegistryOp:
		return [...]string{linear.Register: "register", linear.Latest: "latest", linear.ByID: "by-id"}[in.Kind]
	default:
		if in.(*linear.ClusterIDOp).Set {
			return "take"
		}
		return "know"
	}
}

// Model is what the history is held against.
func (h *Objects) Model() linear.Object {
	switch h.Object {
	case KeyValue:
		return linear.KeyValue()
	case Registry:
		return linear.Registry()
	}
	return linear.ClusterID()
}

// Check decides whether the history is linearizable; limits of 0 are 10,000 operations of
// one part, and 30 seconds. If it is not, a page with the marks beside the operations is written to picture,
// unless that is empty. The error beside a violation is for a picture that could not be
// written; the result holds without it.
func (h *Objects) Check(l linear.Limits, picture string) (linear.Result, error) {
	if l.Ops == 0 {
		l.Ops = 10_000
	}
	if l.Time == 0 {
		l.Time = 30 * time.Second
	}
	res, err := linear.CheckObject(h.Ops, h.Model(), l)
	if err == nil && res.Violation != nil && picture != "" {
		err = linear.WriteObjectHTML(picture, h.Ops, h.Model(), res.Violation, notes(h.Marks))
	}
	return res, err
}

// notes are marks as a picture has them.
func notes(marks []Mark) (list []linear.Note) {
	for _, m := range marks {
		list = append(list, linear.Note{Who: m.What, From: m.From, To: m.To, What: m.Note, Details: fmt.Sprintf("%s, from %d to %d: %s", m.What, m.From, m.To, m.Note)})
	}
	return list
}
