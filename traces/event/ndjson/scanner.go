package ndjson

import (
	"fmt"
	"math"
	"unicode/utf8"
)

// Error says what is wrong with a line, in which field and at which byte.
type Error struct {
	// Field is the path of the field, as in recv.conn.from; empty for the line.
	Field string
	// Offset is the position of the fault in the line, in bytes from 0.
	Offset int
	// Msg says what was wanted and what was found.
	Msg string
	// Torn: the line is the beginning of a well-formed line and ends too soon,
	// as when the process that wrote it was killed.
	Torn bool
}

// Error gives field, fault and byte offset.
func (e *Error) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("%s (byte %d of the line)", e.Msg, e.Offset)
	}
	return fmt.Sprintf("%s: %s (byte %d of the line)", e.Field, e.Msg, e.Offset)
}

// Scanner takes one line apart. The first fault sticks: every later call does
// nothing and returns a zero value, so a decoder need only ask once for each
// field. An object is read as
//
//	s.Object()
//	for key := s.Key(true); key != nil; key = s.Key(false) {
//		switch string(key) {
//		case "offset":
//			s.Once(&seen, 1<<0)
//			x.Offset = s.Int(0, math.MaxInt64)
//		default:
//			s.Unknown()
//		}
//		if s.Failed() {
//			s.In(key)
//			return
//		}
//	}
type Scanner struct {
	b       []byte
	i       int
	err     *Error
	scratch []byte
}

// Reset starts on a line, without its newline.
func (s *Scanner) Reset(line []byte) {
	s.b, s.i, s.err = line, 0, nil
}

// Failed says whether a fault was found.
func (s *Scanner) Failed() bool { return s.err != nil }

// Err is the fault found, nil if none.
func (s *Scanner) Err() error {
	if s.err == nil {
		return nil
	}
	return s.err
}

// Fail records a fault at the current position.
func (s *Scanner) Fail(format string, args ...any) { s.failAt(s.i, format, args...) }

func (s *Scanner) failAt(at int, format string, args ...any) {
	if s.err == nil {
		s.err = &Error{Offset: at, Msg: fmt.Sprintf(format, args...)}
	}
}

func (s *Scanner) torn() {
	if s.err == nil {
		s.err = &Error{Offset: len(s.b), Msg: "the line ends too soon", Torn: true}
	}
}

// In puts the name of an enclosing field before the path of the fault.
func (s *Scanner) In(name []byte) {
	if s.err.Field == "" {
		s.err.Field = string(name)
	} else if s.err.Field[0] == '[' {
		s.err.Field = string(name) + s.err.Field
	} else {
		s.err.Field = string(name) + "." + s.err.Field
	}
}

// InElement puts the index of an enclosing array before the path of the fault.
func (s *Scanner) InElement(i int) { s.In(fmt.Appendf(nil, "[%d]", i)) }

func (s *Scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return
		}
	}
}

// peek is the next byte that is no space; 0 and a fault at the end.
func (s *Scanner) peek() byte {
	if s.i < len(s.b) && s.b[s.i] > ' ' {
		return s.b[s.i]
	}
	s.space()
	if s.i == len(s.b) {
		s.torn()
		return 0
	}
	return s.b[s.i]
}

func (s *Scanner) open(c byte, want string) {
	if s.err != nil {
		return
	}
	if got := s.peek(); got == c {
		s.i++
	} else {
		s.want(want, got)
	}
}

// want records that something else was found.
func (s *Scanner) want(want string, got byte) {
	if s.err != nil {
		return
	}
	found := fmt.Sprintf("%q", rune(got))
	switch {
	case got == '{':
		found = "an object"
	case got == '[':
		found = "an array"
	case got == '"':
		found = "a string"
	case got == 't' || got == 'f':
		found = "a boolean"
	case got == 'n':
		found = "null"
	case got == '-' || '0' <= got && got <= '9':
		found = "a number"
	}
	s.Fail("want %s, found %s", want, found)
}

// Object enters an object.
func (s *Scanner) Object() { s.open('{', "an object") }

// Array enters an array.
func (s *Scanner) Array() { s.open('[', "an array") }

// Key moves to the next field of an object and returns its name as it stands in
// the line; nil at the end of the object or after a fault. First says that no
// field of the object was read yet.
func (s *Scanner) Key(first bool) []byte {
	if !s.more('}', first) {
		return nil
	}
	if got := s.peek(); got != '"' {
		s.want("a field name", got)
		return nil
	}
	start := s.i + 1
	for j := start; j < len(s.b); j++ {
		switch c := s.b[j]; {
		case c == '"':
			s.i = j + 1
			if got := s.peek(); got != ':' {
				s.want("a colon", got)
				return nil
			}
			s.i++
			return s.b[start:j]
		case c == '\\' || c < ' ':
			s.failAt(j, "a field name with %q in it", rune(c))
			return nil
		}
	}
	s.torn()
	return nil
}

// Element moves to the next element of an array and says whether there is one.
func (s *Scanner) Element(first bool) bool { return s.more(']', first) }

func (s *Scanner) more(end byte, first bool) bool {
	if s.err != nil {
		return false
	}
	switch got := s.peek(); {
	case s.err != nil:
		return false
	case got == end:
		s.i++
		return false
	case first:
		return true
	case got == ',':
		s.i++
		return true
	default:
		s.Fail("want a comma or %q, found %q", rune(end), rune(got))
		return false
	}
}

// Once marks a field as read and fails if it was read before.
func (s *Scanner) Once(seen *uint32, bit uint32) {
	if *seen&bit != 0 {
		s.Fail("a duplicate field")
	}
	*seen |= bit
}

// Unknown records that the field just named is not in the schema.
func (s *Scanner) Unknown() { s.Fail("a field that the schema does not have") }

// Need fails unless a field was read.
func (s *Scanner) Need(seen, bit uint32, name string) {
	if seen&bit == 0 {
		s.failAt(max(s.i-1, 0), "the field %q is missing", name)
	}
}

// Int reads an integer from min to max.
func (s *Scanner) Int(min, max int64) int64 {
	if s.err != nil {
		return 0
	}
	got := s.peek()
	start, i := s.i, s.i
	neg := got == '-'
	if neg {
		i++
	}
	if i == len(s.b) {
		s.torn()
		return 0
	}
	if s.b[i] < '0' || s.b[i] > '9' {
		s.want("an integer", got)
		return 0
	}
	digits := i
	var n uint64
	for ; i < len(s.b); i++ {
		c := s.b[i] - '0'
		if c > 9 {
			break
		}
		if n > (math.MaxUint64-9)/10 {
			s.failAt(start, "the number is out of range (%d to %d)", min, max)
			return 0
		}
		n = n*10 + uint64(c)
	}
	switch {
	case i == len(s.b):
		s.torn()
		return 0
	case s.b[digits] == '0' && i > digits+1:
		s.failAt(start, "a number with a leading zero")
		return 0
	case s.b[i] == '.' || s.b[i]|0x20 == 'e':
		s.failAt(start, "want an integer, without fraction or exponent")
		return 0
	}
	v := int64(n)
	bad := n > math.MaxInt64
	if neg {
		v, bad = -v, n > math.MaxInt64+1
	}
	if bad || v < min || v > max {
		s.failAt(start, "%s is out of range (%d to %d)", s.b[start:i], min, max)
		return 0
	}
	s.i = i
	return v
}

// Bool reads true or false.
func (s *Scanner) Bool() bool {
	if s.err != nil {
		return false
	}
	got := s.peek()
	for _, word := range [...]string{"true", "false"} {
		if got != word[0] {
			continue
		}
		for j := range len(word) {
			if s.i+j == len(s.b) {
				s.torn()
				return false
			}
			if s.b[s.i+j] != word[j] {
				s.Fail("want true or false")
				return false
			}
		}
		s.i += len(word)
		return word == "true"
	}
	s.want("a boolean", got)
	return false
}

// Text reads a string. The bytes are valid until the next call.
func (s *Scanner) Text() []byte {
	if s.err != nil {
		return nil
	}
	if got := s.peek(); got != '"' {
		s.want("a string", got)
		return nil
	}
	start := s.i + 1
	escaped, wide := false, false
	for j := start; j < len(s.b); j++ {
		switch c := s.b[j]; {
		case c == '"':
			raw := s.b[start:j]
			s.i = j + 1
			if wide && !utf8.Valid(raw) {
				s.failAt(start, "a string that is not UTF-8")
				return nil
			}
			if escaped {
				return s.unescape(raw, start)
			}
			return raw
		case c == '\\':
			escaped = true
			j++
		case c < ' ':
			s.failAt(j, "a control character in a string")
			return nil
		case c >= utf8.RuneSelf:
			wide = true
		}
	}
	s.torn()
	return nil
}

// Hex reads a string of exactly 16 lower-case hexadecimal digits.
func (s *Scanner) Hex() uint64 {
	text := s.Text()
	if s.err != nil {
		return 0
	}
	var v uint64
	for _, c := range text {
		switch {
		case '0' <= c && c <= '9':
			v = v<<4 | uint64(c-'0')
		case 'a' <= c && c <= 'f':
			v = v<<4 | uint64(c-'a'+10)
		default:
			s.failAt(s.i-len(text)-1, "want 16 hexadecimal digits in lower case")
			return 0
		}
	}
	if len(text) != 16 {
		s.failAt(s.i-len(text)-1, "want 16 hexadecimal digits, found %d", len(text))
		return 0
	}
	return v
}

// End fails if anything but space is left.
func (s *Scanner) End() {
	if s.err != nil {
		return
	}
	if s.space(); s.i < len(s.b) {
		s.Fail("something follows the object")
	}
}
