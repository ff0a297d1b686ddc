package sim

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Knob is something that a run may do without: a kind of fault, or what else makes it
// larger than it need be.
type Knob uint8

// Knobs. Those up to Resign strike now and then; those up to Wipe happen to messages,
// writes and processes by chance; the others are how a run is.
const (
	CrashOne Knob = iota
	CrashLeader
	CrashInStep
	CrashAll
	Storage
	FlipBit
	Partition
	OneWay
	Isolate
	ResetConnections
	Resign

	Loss
	Reset
	Duplicate
	Slow
	ClientLoss
	Aim
	CrashAgain
	Damage
	Wipe
	Pause
	Flap

	Drift
	SlowFlush
	FullDisk

	numKnobs
)

var knobNames = [numKnobs]string{
	"crash", "crash-leader", "crash-in-step", "crash-all", "storage", "bit-flip", "partition", "one-way", "isolate",
	"reset-connections", "resign",
	"loss", "reset", "duplicate", "slow", "client-loss", "crash-at-write", "crash-again", "damage", "wipe", "pause", "flap",
	"drift", "slow-flush", "full-disk",
}

// String returns the name.
func (k Knob) String() string { return knobNames[k] }

// Knobs is a set of them.
type Knobs uint32

func (s Knobs) has(k Knob) bool { return s>>k&1 == 1 }

// With is the set and k.
func (s Knobs) With(k Knob) Knobs { return s | 1<<k }

// String lists the names, with commas.
func (s Knobs) String() string {
	var names []string
	for k := range numKnobs {
		if s.has(k) {
			names = append(names, k.String())
		}
	}
	return strings.Join(names, ",")
}

// Others are the knobs that are not in the set.
func (s Knobs) Others() Knobs { return ^s & (1<<numKnobs - 1) }

// ParseKnobs parses names with commas; empty: none.
func ParseKnobs(text string) (Knobs, error) {
	var s Knobs
	if text == "" {
		return 0, nil
	}
	for name := range strings.SplitSeq(text, ",") {
		k := slices.Index(knobNames[:], name)
		if k < 0 {
			return 0, fmt.Errorf("sim: %q: want %s", name, strings.Join(knobNames[:], ", "))
		}
		s = s.With(Knob(k))
	}
	return s, nil
}

// Range is the numbers from First to Last.
type Range struct{ First, Last int64 }

// Ranges are numbers in ascending order, without overlap.
type Ranges []Range

func (l Ranges) has(n int64) bool {
	i, _ := slices.BinarySearchFunc(l, n, func(r Range, n int64) int {
		if r.Last < n {
			return -1
		}
		return 1
	})
	return i < len(l) && l[i].First <= n
}

// With is the numbers and those from first to last.
func (l Ranges) With(first, last int64) Ranges {
	all := append(slices.Clone(l), Range{first, last})
	slices.SortFunc(all, func(a, b Range) int {
		if a.First < b.First {
			return -1
		}
		return 1
	})
	out := all[:1]
	for _, r := range all[1:] {
		if at := &out[len(out)-1]; at.Last == math.MaxInt64 || r.First <= at.Last+1 {
			at.Last = max(at.Last, r.Last)
		} else {
			out = append(out, r)
		}
	}
	return out
}

// String is as ParseRanges reads it: 3,7-9,12-.
func (l Ranges) String() string {
	var parts []string
	for _, r := range l {
		switch {
		case r.First == r.Last:
			parts = append(parts, fmt.Sprint(r.First))
		case r.Last == math.MaxInt64:
			parts = append(parts, fmt.Sprintf("%d-", r.First))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", r.First, r.Last))
		}
	}
	return strings.Join(parts, ",")
}

// ParseRanges parses numbers and ranges with commas; a range without an end has none.
func ParseRanges(text string) (Ranges, error) {
	var l Ranges
	if text == "" {
		return nil, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, err := strconv.ParseInt(first, 10, 64)
		b, err2 := int64(math.MaxInt64), error(nil)
		if last != "" || !isRange {
			b, err2 = strconv.ParseInt(last, 10, 64)
		}
		if err != nil || err2 != nil || a < 1 || b < a {
			return nil, fmt.Errorf("sim: %q: want numbers from 1 and ranges, as 3,7-9,12-", text)
		}
		l = l.With(a, b)
	}
	return l, nil
}

// Happening is a fault of a run.
type Happening struct {
	// Number counts the faults of a run from 1, those too that are skipped.
	Number int64
	At     Time
	Kind   Knob
	// Nodes it is about: of a message sender and receiver. 0: none.
	Nodes [2]int32
}

// String is a line without its end.
func (h *Happening) String() string {
	text := fmt.Sprintf("%6d  %9.3f ms  %s", h.Number, float64(h.At)/float64(millisecond), h.Kind)
	switch {
	case h.Nodes[1] > 0:
		text += fmt.Sprintf(" %d to %d", h.Nodes[0], h.Nodes[1])
	case h.Nodes[0] > 0:
		text += fmt.Sprintf(" of %d", h.Nodes[0])
	}
	return text
}

// happens numbers a fault that is to happen, and says whether it does.
func (c *cluster) happens(k Knob, a, b *node) bool {
	c.stats.Faults++
	if c.cfg.Skip.has(c.stats.Faults) {
		return false
	}
	if c.sinks.Fault != nil {
		h := Happening{Number: c.stats.Faults, At: c.now, Kind: k}
		for i, n := range [...]*node{a, b} {
			if n != nil {
				h.Nodes[i] = int32(n.id)
			}
		}
		c.sinks.Fault(&h)
	}
	return true
}

// without turns off what the configuration leaves out.
func (k *knobs) without(s Knobs) {
	for fault := range numFaults {
		if s.has(Knob(fault)) {
			k.weights[fault] = 0
		}
	}
	zero := func(of Knob, fields ...*int) {
		for _, f := range fields {
			if s.has(of) {
				*f = 0
			}
		}
	}
	zero(Loss, &k.loss)
	zero(Reset, &k.reset)
	zero(Duplicate, &k.duplicate)
	zero(Slow, &k.slow)
	zero(ClientLoss, &k.clientLoss)
	zero(Aim, &k.aim)
	zero(CrashAgain, &k.again)
	zero(Damage, &k.damage)
	zero(Wipe, &k.wipe)
	zero(Flap, &k.flap)
	zero(Drift, &k.drift)
	zero(FullDisk, &k.fullDisk)
	if s.has(Pause) {
		k.pauseEvery = 0
	}
	if s.has(SlowFlush) {
		k.flushMax = k.flushMin + millisecond
	}
}
