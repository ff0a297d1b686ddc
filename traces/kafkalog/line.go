package kafkalog

import (
	"fmt"
	"strconv"
	"strings"
)

// line is one entry of a log.
type line struct {
	file string
	at   int64 // from 1
	node int32
	// level is TRACE, DEBUG, INFO, WARN or ERROR; logger is the name of the class below
	// org.apache.kafka.raft.
	level, logger string
	text          string
	// when is the date of the entry, as it stands there, empty if there is none.
	when string
}

func (l *line) fail(format string, args ...any) error {
	return &Error{File: l.file, Line: l.at, Err: fmt.Errorf(format, args...)}
}

// Error is a line that cannot be read.
type Error struct {
	File string
	Line int64
	Err  error
}

func (e *Error) Error() string { return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err) }

// Unwrap returns the fault.
func (e *Error) Unwrap() error { return e.Err }

const raft = "org.apache.kafka.raft."

var levels = []string{"TRACE ", "DEBUG ", "INFO ", "WARN ", "ERROR "}

// split takes a line apart, in either of the layouts
//
//	LEVEL logger - [Node 1] text
//	[date] LEVEL [RaftManager id=1] text (logger)
//
// of which the second is that of Kafka's own log4j configuration. ok is false for what is
// no entry of the raft layer: another logger, or the continuation of an entry.
func split(s string) (l line, ok bool) {
	if s = strings.TrimRight(s, "\r"); strings.HasPrefix(s, "[") {
		if date, rest, found := strings.Cut(s, "] "); found {
			s, l.when = rest, date[1:]
		}
	}
	for _, level := range levels {
		if rest, found := strings.CutPrefix(s, level); found {
			s, l.level = rest, strings.TrimSuffix(level, " ")
			break
		}
	}
	if l.level == "" {
		return l, false
	}
	if rest, found := strings.CutPrefix(s, raft); found {
		l.logger, l.text, found = strings.Cut(rest, " - ")
		if !found {
			return l, false
		}
	} else {
		at := strings.LastIndex(s, " ("+raft)
		if at < 0 || !strings.HasSuffix(s, ")") {
			return l, false
		}
		l.logger, l.text = s[at+2+len(raft):len(s)-1], s[:at]
	}
	l.node = -1
	if head, rest, found := strings.Cut(l.text, "] "); found && strings.HasPrefix(head, "[") {
		for _, key := range []string{"Node ", "nodeId=", "id="} {
			if _, id, found := strings.Cut(head, key); found {
				if n, err := strconv.ParseInt(digits(id), 10, 32); err == nil {
					l.node, l.text = int32(n), rest
					break
				}
			}
		}
	}
	return l, true
}

// digits is the number at the beginning of s, with its sign.
func digits(s string) string {
	n := 0
	for n < len(s) && (s[n] >= '0' && s[n] <= '9' || n == 0 && s[n] == '-') {
		n++
	}
	return s[:n]
}

// fields reads numbers out of what Java's toString makes of a message. The first one that
// is not there, or is no number, stays as the error.
type fields struct {
	text string
	err  error
}

// from drops everything before a mark.
func (f *fields) from(mark string) *fields {
	if _, rest, found := strings.Cut(f.text, mark); found {
		f.text = rest
	} else if f.err == nil {
		f.err = fmt.Errorf("no %q in it", mark)
	}
	return f
}

func (f *fields) has(mark string) bool { return strings.Contains(f.text, mark) }

func (f *fields) int(key string, bits int) int64 {
	_, rest, found := strings.Cut(f.text, key)
	n, err := strconv.ParseInt(digits(rest), 10, bits)
	if f.err == nil && (!found || err != nil) {
		f.err = fmt.Errorf("no number after %q", key)
	}
	return n
}

func (f *fields) int64(key string) int64 { return f.int(key, 64) }
func (f *fields) int32(key string) int32 { return int32(f.int(key, 32)) }
func (f *fields) int16(key string) int16 { return int16(f.int(key, 16)) }

// offsetAndEpoch reads OffsetAndEpoch(offset=1, epoch=2), which since 4.x is a record and
// has square brackets.
func (f *fields) offsetAndEpoch() (offset int64, epoch int32) {
	mark := "OffsetAndEpoch("
	if f.has("OffsetAndEpoch[") {
		mark = "OffsetAndEpoch["
	}
	f.from(mark)
	return f.int64("offset="), f.int32("epoch=")
}

func (f *fields) bool(key string) bool {
	_, rest, found := strings.Cut(f.text, key)
	yes, no := strings.HasPrefix(rest, "true"), strings.HasPrefix(rest, "false")
	if f.err == nil && (!found || !yes && !no) {
		f.err = fmt.Errorf("neither true nor false after %q", key)
	}
	return yes
}
