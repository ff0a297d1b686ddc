package checker

import (
	"fmt"
	"math"
	"time"
)

// The widths of the levels of a breadth-first search rise and fall, roughly like a
// bell: their logarithm grows more slowly from level to level, by about as much each
// time. A forecast takes the mean of that slowing since growth was fastest, and goes on
// with it until a level would be empty. How wrong that is was measured on all models
// (testdata/levels.txt): a range has room for nine in ten of them, and is not given
// while it would be wider than that a reader could do something with it.
const (
	forecastLevels = 12    // fewer say nothing about a slowing
	forecastStates = 2_000 // nor do fewer states
	forecastWidth  = 5     // the widest range that is shown, upper over lower end
)

// forecastSpread says how the states still to come, in terms of those that were
// predicted, were spread: 5 and 95 of 100 cases, rounded outwards. The further the
// prediction goes beyond what was seen, the less it is worth.
var forecastSpread = []struct{ upTo, low, high float64 }{
	{0.05, 0.12, 1.2}, {0.15, 0.25, 1.2}, {0.4, 0.3, 1.5}, {0.8, 0.4, 2.5}, {1.5, 0.4, 11}, {3, 0.4, 13},
}

// forecast gives a range for the number of distinct states, from the widths of the
// levels so far; false while it cannot be told.
func forecast(levels []uint64) (low, high float64, ok bool) {
	n := len(levels)
	sum := float64(0)
	for _, w := range levels {
		sum += float64(w)
	}
	if n < forecastLevels || sum < forecastStates || levels[n-1] == 0 {
		return 0, 0, false
	}
	width := func(i int) float64 { return math.Log(float64(levels[i])) }
	step := max(3, n/6) // growth is measured over several levels, since they alternate
	growth := (width(n-1) - width(n-1-step)) / float64(step)
	fastest := growth
	for i := 1; i+step < n; i++ {
		fastest = max(fastest, (width(i+step)-width(i))/float64(step))
	}
	slowing := max((fastest-growth)/float64(n-step), 0.003)
	rest := float64(0)
	next := float64(levels[n-1])
	for range 1000 {
		growth -= slowing
		if next *= math.Exp(growth); next < 1 {
			break
		}
		rest += next
	}
	for _, s := range forecastSpread {
		if rest < s.upTo*sum {
			low, high = sum+s.low*rest, sum+s.high*rest
			return low, high, high <= forecastWidth*low
		}
	}
	return 0, 0, false
}

// forecastText says what is left of a run that finds so many new states a second, as
// "about 3.1–4.8 M states, 40–90 s left".
func forecastText(levels []uint64, distinct uint64, rate float64) string {
	low, high, ok := forecast(levels)
	if !ok {
		return ""
	}
	low = max(low, float64(distinct))
	high = max(high, low)
	text := ", about " + roundRange(low, high) + " states"
	if rate <= 0 {
		return text
	}
	left := func(states float64) time.Duration {
		return time.Duration(math.Min((states-float64(distinct))/rate, 1e8) * float64(time.Second))
	}
	a, b := durationText(left(low)), durationText(left(high))
	if a == b {
		return fmt.Sprintf("%s, %s left", text, a)
	}
	return fmt.Sprintf("%s, %s to %s left", text, a, b)
}

func roundRange(low, high float64) string {
	a, b := round(low), round(high)
	if a == b {
		return a
	}
	return a + " to " + b
}

// durationText writes a time as roughly as a forecast knows it.
func durationText(d time.Duration) string {
	switch s := d.Seconds(); {
	case s < 90:
		return fmt.Sprintf("%.0f s", s)
	case s < 90*60:
		return fmt.Sprintf("%.0f min", s/60)
	default:
		return fmt.Sprintf("%.1f h", s/3600)
	}
}
