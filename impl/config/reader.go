package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/impl/properties"
)

// reader takes values out of a file, and remembers what is wrong with them.
type reader struct {
	file     string
	values   map[string]properties.Entry
	used     map[string]bool
	errs     []error
	warnings []string
}

// required as a default: the key must be there.
const required = math.MinInt64

// maxMillis is the longest time that a time.Duration holds, in milliseconds: 292 years.
const maxMillis = math.MaxInt64 / int64(time.Millisecond)

// refuse says what is wrong with the value of a key.
func (r *reader) refuse(key, format string, args ...any) {
	e := r.values[key]
	r.errs = append(r.errs, &Error{r.file, e.Line, key, e.Value, fmt.Sprintf(format, args...)})
}

// missing says that a key should be there.
func (r *reader) missing(key, reason string) {
	r.errs = append(r.errs, &Error{File: r.file, Key: key, Reason: reason})
}

func (r *reader) warn(format string, args ...any) {
	r.warnings = append(r.warnings, fmt.Sprintf(format, args...))
}

// failed says whether something is wrong with a key.
func (r *reader) failed(key string) bool {
	for _, err := range r.errs {
		if err.(*Error).Key == key {
			return true
		}
	}
	return false
}

func (r *reader) text(key, otherwise string) string {
	r.used[key] = true
	if v := r.values[key].Value; v != "" {
		return v
	}
	return otherwise
}

// list is a value with commas in it.
func (r *reader) list(key string) []string {
	return splitList(r.text(key, ""))
}

func splitList(s string) (items []string) {
	for item := range strings.SplitSeq(s, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

func (r *reader) integer(key string, otherwise, least, most int64) int64 {
	v := r.text(key, "")
	if v == "" {
		if otherwise == required {
			r.missing(key, "is required")
		}
		return otherwise
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil || n < least || n > most {
		r.refuse(key, "want a number from %d to %d", least, most)
		return least
	}
	return n
}

// millis is a time. -1, where it is allowed, stays -1: no limit.
func (r *reader) millis(key string, otherwise, least, most int64) time.Duration {
	n := r.integer(key, otherwise, least, most)
	if n < 0 {
		return -1
	}
	return time.Duration(n) * time.Millisecond
}

// boolean is true or false, as Kafka reads it: in any case; false if it is not given.
func (r *reader) boolean(key string) bool {
	switch v := r.text(key, "false"); strings.ToLower(v) {
	case "true":
		return true
	case "false":
	default:
		r.refuse(key, "want true or false")
	}
	return false
}
