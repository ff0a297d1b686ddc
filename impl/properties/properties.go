// Package properties reads and writes the text format of java.util.Properties, which
// Kafka's configuration files and meta.properties have.
//
// [Parse] keeps the line of each entry, so that whoever reads a configuration can say
// where something is wrong; libraries for this format do not. Text is UTF-8, as
// Kafka reads meta.properties. (It reads configuration files as ISO 8859-1, which is
// the same for ASCII.)
package properties

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Entry is a key with its value. If a key occurs twice, the last one counts.
type Entry struct {
	Key, Value string
	// Line on which the entry starts, from 1.
	Line int
}

// Error is what is wrong with a text, and on which line, from 1.
type Error struct {
	Line   int
	Reason string
}

func (e *Error) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Reason) }

// Parse returns the entries of a text in their order. What Java refuses it refuses:
// a \u that is not followed by four hexadecimal digits. It also refuses what is not
// UTF-8. In one thing it differs from Java: a backslash alone on the last line is no
// entry. An error is an [*Error].
func Parse(text []byte) ([]Entry, error) {
	var entries []Entry
	r := reader{rest: string(text), line: 1}
	for {
		line, number, ok := r.next()
		if !ok {
			return entries, nil
		}
		if !utf8.ValidString(line) {
			return nil, &Error{number, "is not UTF-8"}
		}
		key, value := split(line)
		e := Entry{Line: number}
		for _, part := range []struct {
			raw string
			to  *string
		}{{key, &e.Key}, {value, &e.Value}} {
			var bad string
			if *part.to, bad = unescape(part.raw); bad != "" {
				return nil, &Error{number, fmt.Sprintf("%q is not a \\u with four hexadecimal digits", bad)}
			}
		}
		entries = append(entries, e)
	}
}

// reader makes logical lines of natural ones.
type reader struct {
	rest string
	line int // of what rest starts with
}

// next is the next logical line that is neither blank nor a comment, with escapes,
// and the number of its first natural line. A line that ends with an odd number of
// backslashes goes on in the next one.
func (r *reader) next() (line string, number int, ok bool) {
	for r.rest != "" {
		number = r.line
		var whole strings.Builder
		natural := r.natural()
		for continued(natural) && !(whole.Len() == 0 && comment(natural)) {
			whole.WriteString(natural[:len(natural)-1])
			natural = r.natural()
		}
		if whole.Len() == 0 && comment(natural) {
			continue
		}
		whole.WriteString(natural)
		if whole.Len() > 0 {
			return whole.String(), number, true
		}
	}
	return "", 0, false
}

const space = " \t\f"

func comment(line string) bool { return line != "" && (line[0] == '#' || line[0] == '!') }

// natural takes a line off the rest, without its end and the white space before it.
func (r *reader) natural() string {
	i := strings.IndexAny(r.rest, "\r\n")
	if i < 0 {
		line := strings.TrimLeft(r.rest, space)
		r.rest = ""
		return line
	}
	line := strings.TrimLeft(r.rest[:i], space)
	if strings.HasPrefix(r.rest[i:], "\r\n") {
		i++
	}
	r.rest = r.rest[i+1:]
	r.line++
	return line
}

// continued says whether a line ends with an odd number of backslashes. At the end of
// the text such a backslash is dropped.
func continued(line string) bool {
	n := len(line) - len(strings.TrimRight(line, `\`))
	return n%2 == 1
}

// split cuts a logical line at the first '=', ':' or white space that is not escaped.
func split(line string) (key, value string) {
	end := len(line)
	for i := 0; i < len(line); i++ {
		if line[i] == '\\' {
			i++
		} else if strings.IndexByte("=:"+space, line[i]) >= 0 {
			end = i
			break
		}
	}
	value = strings.TrimLeft(line[end:], space)
	if value != "" && (value[0] == '=' || value[0] == ':') {
		value = strings.TrimLeft(value[1:], space)
	}
	return line[:end], value
}

// unescape replaces escapes. bad is an escape that is malformed. A \u is a unit of
// UTF-16; half of a pair becomes U+FFFD.
func unescape(s string) (_ string, bad string) {
	if !strings.Contains(s, `\`) {
		return s, ""
	}
	var units []uint16
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			r, n := utf8.DecodeRuneInString(s[i:])
			units = utf16.AppendRune(units, r)
			i += n
			continue
		}
		i++ // a backslash is never the last: see continued
		switch s[i] {
		case 'u':
			digits := s[i+1 : min(i+5, len(s))]
			n, err := strconv.ParseUint(digits, 16, 16)
			if err != nil || len(digits) < 4 {
				return "", s[i-1 : min(i+5, len(s))]
			}
			units = append(units, uint16(n))
			i += 5
		case 't', 'n', 'r', 'f':
			units = append(units, uint16("\t\n\r\f"[strings.IndexByte("tnrf", s[i])]))
			i++
		default: // whatever it is, also a part of a longer rune
			r, n := utf8.DecodeRuneInString(s[i:])
			units = utf16.AppendRune(units, r)
			i += n
		}
	}
	return string(utf16.Decode(units)), ""
}

// Append appends a line for each entry, in the order of the keys. Parse reads the
// same entries from it.
func Append(dst []byte, entries []Entry) []byte {
	entries = slices.Clone(entries)
	slices.SortStableFunc(entries, func(a, b Entry) int { return strings.Compare(a.Key, b.Key) })
	for _, e := range entries {
		dst = appendEscaped(dst, e.Key, true)
		dst = append(dst, '=')
		dst = appendEscaped(dst, e.Value, false)
		dst = append(dst, '\n')
	}
	return dst
}

// appendEscaped escapes what Properties.store does: in a key all spaces, in a value
// the first.
func appendEscaped(dst []byte, s string, key bool) []byte {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; c {
		case '\t', '\n', '\r', '\f':
			dst = append(dst, '\\', "tnrf"[strings.IndexByte("\t\n\r\f", c)])
		case '\\', '=', ':', '#', '!':
			dst = append(dst, '\\', c)
		case ' ':
			if key || i == 0 {
				dst = append(dst, '\\')
			}
			dst = append(dst, c)
		default:
			dst = append(dst, c)
		}
	}
	return dst
}
