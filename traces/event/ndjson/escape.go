package ndjson

import (
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape resolves the escapes of a string that starts at a byte of the line.
func (s *Scanner) unescape(raw []byte, start int) []byte {
	out := s.scratch[:0]
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			continue
		}
		at := start + i
		i++ // Text saw to it that a byte follows
		switch c := raw[i]; c {
		case '"', '\\', '/':
			out = append(out, c)
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, ok := hex4(raw[i+1:])
			i += 4
			if ok && utf16.IsSurrogate(r) {
				var low rune
				if ok = i+2 < len(raw) && raw[i+1] == '\\' && raw[i+2] == 'u'; ok {
					if low, ok = hex4(raw[i+3:]); ok {
						r = utf16.DecodeRune(r, low)
						ok = r != utf8.RuneError
						i += 6
					}
				}
			}
			if !ok {
				s.failAt(at, `a \u that is no character`)
				return nil
			}
			out = utf8.AppendRune(out, r)
		default:
			s.failAt(at, "an unknown escape")
			return nil
		}
	}
	s.scratch = out
	return out
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 4 {
		return 0, false
	}
	var r rune
	for _, c := range b[:4] {
		switch {
		case '0' <= c && c <= '9':
			r = r<<4 | rune(c-'0')
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			r = r<<4 | rune(c|0x20-'a'+10)
		default:
			return 0, false
		}
	}
	return r, true
}

const hexDigits = "0123456789abcdef"

// AppendText appends a string in quotes. What is not UTF-8 becomes U+FFFD.
func AppendText(dst []byte, text string) []byte {
	dst = append(dst, '"')
	plain := 0 // text[plain:i] needs no escape
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(text[i:])
			if r == utf8.RuneError && size == 1 {
				dst = append(dst, text[plain:i]...)
				dst = append(dst, `\ufffd`...)
				plain = i + 1
			}
			i += size
		case c == '"' || c == '\\':
			dst = append(dst, text[plain:i]...)
			dst = append(dst, '\\', c)
			i++
			plain = i
		case c < ' ':
			dst = append(dst, text[plain:i]...)
			dst = append(dst, `\u00`...)
			dst = append(dst, hexDigits[c>>4], hexDigits[c&15])
			i++
			plain = i
		default:
			i++
		}
	}
	dst = append(dst, text[plain:]...)
	return append(dst, '"')
}

// AppendInt appends a name, given with its quotes and colon, and an integer.
func AppendInt(dst []byte, name string, v int64) []byte {
	dst = append(dst, name...)
	return strconv.AppendInt(dst, v, 10)
}

// AppendHex appends 16 hexadecimal digits in quotes.
func AppendHex(dst []byte, v uint64) []byte {
	dst = append(dst, '"')
	for shift := 60; shift >= 0; shift -= 4 {
		dst = append(dst, hexDigits[v>>shift&15])
	}
	return append(dst, '"')
}
