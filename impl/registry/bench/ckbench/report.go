package main

import (
	"fmt"
	"io"
	"time"
)

// report writes the table, the fits, and the bars.
func report(w io.Writer, all []result) {
	fmt.Fprintln(w, "Times in milliseconds are p50 / p99 / p100; load is the load average of the machine in the minute before a row was finished, to which two threads of the measurement add. With more load than that, other work had its share of CPUs and disk, with and without a checkpoint alike.")
	fmt.Fprintln(w, "\n| rows | bytes of each | records of each | image MB | stored MB | capture s | checkpoint s | of which work s | longest transaction ms | writes without ms | writes during ms | reads without ms | reads during ms | start without s | start with s | tail | load |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, r := range all {
		fmt.Fprintf(w, "| %d | %d | %d | %.1f | %.1f | %.3f | %.3f | %.3f | %.1f | %s | %s | %s | %s | %.2f | %.3f | %d | %s |\n",
			r.Rows, r.Payload, r.Factor, mb(r.Raw), mb(r.Stored), r.Capture.Seconds(), r.Total.Seconds(), r.Work.Seconds(), ms(r.Pause),
			r.WriteIdle, r.WriteDuring, r.ReadIdle, r.ReadDuring, r.Without.Seconds(), r.With.Seconds(), r.Tail, r.Load)
	}
	var bytes, seconds, records, replays []float64
	for _, r := range all {
		bytes, seconds = append(bytes, mb(r.Raw)), append(seconds, r.Work.Seconds())
		records, replays = append(records, float64(r.shape().records())), append(replays, r.Without.Seconds())
	}
	a, b := fit(bytes, seconds)
	c, d := fit(records, replays)
	fmt.Fprintf(w, "\nLeast squares: a checkpoint is %.3f s of work and %.4f s for each MB of the image; a replay %.3f s and %.1f µs for each record.\n", a, b, c, d*1e6)
	fmt.Fprintln(w, "\nBreak-even: a checkpoint is as much work as the replay of so many records; with more than that since the last one, it pays at the next start.")
	fmt.Fprintln(w, "\n| rows | bytes of each | work s | records to break even | that is, at 100 writes/s |")
	fmt.Fprintln(w, "|---|---|---|---|---|")
	for _, r := range all {
		if r.Factor != 1 {
			continue
		}
		n := r.Work.Seconds() / r.Without.Seconds() * float64(r.shape().records())
		fmt.Fprintf(w, "| %d | %d | %.3f | %.0f | every %s |\n", r.Rows, r.Payload, r.Work.Seconds(), n, (time.Duration(n/100) * time.Second))
	}
	fmt.Fprintln(w)
	for _, r := range all {
		if r.Tail == 10_000 && r.shape().records() >= 1_000_000 {
			fmt.Fprintf(w, "Start of %d records with a tail of %d (%d rows of %d bytes): %.2f s by replay, %.3f s from a checkpoint, **%.1f times faster**, the same digest.\n\n",
				r.shape().records(), r.Tail, r.Rows, r.Payload, r.Without.Seconds(), r.With.Seconds(), r.Without.Seconds()/r.With.Seconds())
		}
	}
	for _, r := range all {
		if r.Rows == 100_000 {
			fmt.Fprintf(w, "At %d rows of %d bytes (%d records of each), %d checkpoints: of %d writes during one the slowest took %.1f ms, and %d more than %d ms (without: of %d, %.1f ms, %d); the longest transaction took %.1f ms; p99 of %d reads was %.2f ms, **%.2f times** that of %d without.\n\n",
				r.Rows, r.Payload, r.Factor, r.Checkpoints, r.WriteDuring.N, ms(r.WriteDuring.P100), r.WriteDuring.Slow, slow.Milliseconds(), r.WriteIdle.N, ms(r.WriteIdle.P100), r.WriteIdle.Slow,
				ms(r.Pause), r.ReadDuring.N, ms(r.ReadDuring.P99), float64(r.ReadDuring.P99)/float64(r.ReadIdle.P99), r.ReadIdle.N)
		}
	}
}

func mb(n int64) float64 { return float64(n) / 1e6 }

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

func (l latency) String() string {
	return fmt.Sprintf("%.2f / %.2f / %.2f", ms(l.P50), ms(l.P99), ms(l.P100))
}

// fit is the line y = a + b·x of least squares of the relative error, with a not negative: the
// small ones count as much as the large.
func fit(x, y []float64) (a, b float64) {
	var s, sx, sy, sxx, sxy float64
	for i := range x {
		w := 1 / (y[i] * y[i])
		s, sx, sy, sxx, sxy = s+w, sx+w*x[i], sy+w*y[i], sxx+w*x[i]*x[i], sxy+w*x[i]*y[i]
	}
	b = (s*sxy - sx*sy) / (s*sxx - sx*sx)
	a = (sy - b*sx) / s
	if !(a >= 0) { // or there are no two points
		return 0, sxy / sxx
	}
	return a, b
}
