package history

import (
	"math"

	"github.com/quorate/quorate/checker/linear"
	"github.com/quorate/quorate/traces/event/ndjson"
)

var outcomes = [...]string{linear.Known: "ok", linear.Unknown: "unknown", linear.Failed: "fail"}

func appendHeader(dst []byte, h *Header) []byte {
	dst = append(dst, `{"v":1,"type":"history","run":`...)
	dst = ndjson.AppendText(dst, h.Run)
	dst = ndjson.AppendText(append(dst, `,"clock":`...), h.Clock)
	if h.Start != 0 {
		dst = ndjson.AppendInt(dst, `,"start":`, h.Start)
	}
	return append(dst, '}')
}

func appendOp(dst []byte, op *Op) []byte {
	if op.Kind == linear.Append {
		dst = append(dst, `{"type":"append"`...)
	} else {
		dst = append(dst, `{"type":"read"`...)
	}
	dst = ndjson.AppendInt(dst, `,"client":`, int64(op.Client))
	dst = ndjson.AppendInt(dst, `,"call":`, op.Call)
	dst = ndjson.AppendInt(dst, `,"return":`, op.Return)
	dst = ndjson.AppendText(append(dst, `,"outcome":`...), outcomes[op.Outcome])
	if op.Kind == linear.Append || op.Outcome == linear.Known {
		dst = ndjson.AppendText(append(dst, `,"value":`...), op.Value)
	}
	if op.Outcome == linear.Known {
		dst = ndjson.AppendInt(dst, `,"offset":`, op.Offset)
	}
	return append(dst, '}')
}

func appendMark(dst []byte, m *Mark) []byte {
	dst = ndjson.AppendText(append(dst, `{"type":"mark","what":`...), m.What)
	dst = ndjson.AppendInt(dst, `,"from":`, m.From)
	dst = ndjson.AppendInt(dst, `,"to":`, m.To)
	if m.Note != "" {
		dst = ndjson.AppendText(append(dst, `,"note":`...), m.Note)
	}
	return append(dst, '}')
}

// line is any line of a history: its type says which part counts.
type line struct {
	kind   string // history, append, read, mark
	header Header
	op     Op
	mark   Mark
}

const (
	fType = 1 << iota
	fVersion
	fRun
	fClock
	fStart
	fClient
	fCall
	fReturn
	fOutcome
	fValue
	fOffset
	fWhat
	fFrom
	fTo
	fNote
)

var fields = [...]string{"type", "v", "run", "clock", "start", "client", "call", "return", "outcome", "value", "offset", "what", "from", "to", "note"}

// shape says which fields a type of line must and may have.
var shape = map[string]struct{ must, may uint32 }{
	"history": {fType | fVersion | fRun | fClock, fStart},
	"append":  {fType | fClient | fCall | fReturn | fOutcome | fValue, fOffset},
	"read":    {fType | fClient | fCall | fReturn | fOutcome, fValue | fOffset},
	"mark":    {fType | fWhat | fFrom | fTo, fNote},
}

// decode reads one line; the error is an *ndjson.Error.
func (l *line) decode(s *ndjson.Scanner, text []byte) error {
	*l = line{}
	s.Reset(text)
	var seen uint32
	s.Object()
	for key := s.Key(true); key != nil; key = s.Key(false) {
		l.field(s, key, &seen)
		if s.Failed() {
			s.In(key)
			break
		}
	}
	l.complete(s, seen)
	s.End()
	return s.Err()
}

func (l *line) field(s *ndjson.Scanner, key []byte, seen *uint32) {
	time := func() int64 { return s.Int(0, math.MaxInt64) }
	switch string(key) {
	case "type":
		s.Once(seen, fType)
		text := s.Text()
		if _, ok := shape[string(text)]; !ok && !s.Failed() {
			s.Fail("want history, append, read or mark, found %q", text)
		}
		l.kind = string(text)
	case "v":
		s.Once(seen, fVersion)
		if v := s.Int(math.MinInt64, math.MaxInt64); v != Version && !s.Failed() {
			s.Fail("the version of the schema is %d, this program reads version %d only", v, Version)
		}
	case "run":
		s.Once(seen, fRun)
		l.header.Run = string(s.Text())
	case "clock":
		s.Once(seen, fClock)
		l.header.Clock = string(s.Text())
	case "start":
		s.Once(seen, fStart)
		l.header.Start = s.Int(0, math.MaxInt64/4)
	case "client":
		s.Once(seen, fClient)
		l.op.Client = int32(s.Int(0, math.MaxInt32))
	case "call":
		s.Once(seen, fCall)
		l.op.Call = time()
	case "return":
		s.Once(seen, fReturn)
		l.op.Return = time()
	case "outcome":
		s.Once(seen, fOutcome)
		l.outcome(s)
	case "value":
		s.Once(seen, fValue)
		l.op.Value = string(s.Text())
	case "offset":
		s.Once(seen, fOffset)
		l.op.Offset = s.Int(0, math.MaxInt64/4)
	case "what":
		s.Once(seen, fWhat)
		l.mark.What = string(s.Text())
	case "from":
		s.Once(seen, fFrom)
		l.mark.From = time()
	case "to":
		s.Once(seen, fTo)
		l.mark.To = time()
	case "note":
		s.Once(seen, fNote)
		l.mark.Note = string(s.Text())
	default:
		s.Unknown()
	}
}

func (l *line) outcome(s *ndjson.Scanner) {
	text := s.Text()
	for o, name := range outcomes {
		if string(text) == name {
			l.op.Outcome = linear.Outcome(o)
			return
		}
	}
	if !s.Failed() {
		s.Fail("want ok, unknown or fail, found %q", text)
	}
}

// complete holds what was read against the shape of its type.
func (l *line) complete(s *ndjson.Scanner, seen uint32) {
	if s.Failed() {
		return
	}
	s.Need(seen, fType, "type")
	want := shape[l.kind]
	if l.op.Kind = linear.Append; l.kind == "read" {
		l.op.Kind = linear.Read
	}
	op := l.kind == "append" || l.kind == "read"
	if op && l.op.Outcome == linear.Known {
		want.must |= fOffset | fValue
	} else if op {
		want.may &^= fOffset
		if l.kind == "read" {
			want.may &^= fValue
		}
	}
	for i, name := range fields {
		bit := uint32(1) << i
		if want.must&bit != 0 {
			s.Need(seen, bit, name)
		} else if seen&bit != 0 && want.may&bit == 0 {
			s.Fail("a line of type %s and this outcome has no field %q", l.kind, name)
		}
	}
	switch {
	case op && l.op.Return < l.op.Call:
		s.Fail("returned at %d, before it was called at %d", l.op.Return, l.op.Call)
	case l.kind == "append" && l.op.Value == "":
		s.Fail("an append of the empty value, which stands for none")
	case l.kind == "mark" && l.mark.To < l.mark.From:
		s.Fail("a mark that ends at %d, before it begins at %d", l.mark.To, l.mark.From)
	}
}
