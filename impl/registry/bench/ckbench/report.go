package main

import (
	"fmt"
	"io"
	"time"
)

// report writes the table, the fits, and the bars.
func report(w io.Writer, all []result) {
	fmt.Fprintln(w, "| rows | bytes of each | records of each | image MB | stored MB | capture s | checkpoint s | longest transaction ms | write p99 idle → during ms | write p100 idle → during ms | read p99 idle → during ms | start without s | start with s | tail |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, r := range all {
		fmt.Fprintf(w, "| %d | %d | %d | %.1f | %.1f | %.3f | %.3f | %.1f | %s | %s | %s | %.2f | %.3f | %d |\n",
			r.rows, r.payload, r.factor, mb(r.raw), mb(r.stored), median(r.capture).Seconds(), median(r.total).Seconds(), ms(quantile(r.pause, 1)),
			pair(r.writeIdle, r.writeDuring, 0.99), pair(r.writeIdle, r.writeDuring, 1), pair(r.readIdle, r.readDuring, 0.99),
			r.without.Seconds(), r.with.Seconds(), r.tail)
	}
	var bytes, seconds, records, replays []float64
	for _, r := range all {
		bytes, seconds = append(bytes, mb(r.raw)), append(seconds, median(r.total).Seconds())
		records, replays = append(records, float64(r.records())), append(replays, r.without.Seconds())
	}
	a, b := fit(bytes, seconds)
	c, d := fit(records, replays)
	fmt.Fprintf(w, "\nLeast squares: a checkpoint takes %.3f s and %.4f s for each MB of the image; a replay %.3f s and %.1f µs for each record.\n", a, b, c, d*1e6)
	fmt.Fprintln(w, "\nBreak-even: a checkpoint costs as much time as the replay of so many records; with more than that since the last one, it pays at the next start.")
	fmt.Fprintln(w, "\n| rows | bytes of each | checkpoint s | records to break even | that is, at 100 writes/s |")
	fmt.Fprintln(w, "|---|---|---|---|---|")
	for _, r := range all {
		if r.factor != 1 {
			continue
		}
		perRecord := r.without.Seconds() / float64(r.records())
		n := median(r.total).Seconds() / perRecord
		fmt.Fprintf(w, "| %d | %d | %.3f | %.0f | every %s |\n", r.rows, r.payload, median(r.total).Seconds(), n, (time.Duration(n/100) * time.Second))
	}
	fmt.Fprintln(w)
	for _, r := range all {
		if !r.sameDigest || r.tail != 10_000 || r.records() < 1_000_000 {
			continue
		}
		fmt.Fprintf(w, "Start of %d records with a tail of %d: %.2f s by replay, %.3f s from a checkpoint, **%.1f times faster**, the same digest.\n\n",
			r.records(), r.tail, r.without.Seconds(), r.with.Seconds(), r.without.Seconds()/r.with.Seconds())
	}
	for _, r := range all {
		if r.rows == 100_000 {
			idle, during := quantile(r.readIdle, 0.99), quantile(r.readDuring, 0.99)
			fmt.Fprintf(w, "At %d rows of %d bytes (%d records of each): the slowest of %d writes during a checkpoint took %.1f ms (idle: %.1f ms of %d), the longest transaction %.1f ms; reads p99 %.2f ms, %.2f times idle.\n\n",
				r.rows, r.payload, r.factor, len(r.writeDuring), ms(quantile(r.writeDuring, 1)), ms(quantile(r.writeIdle, 1)), len(r.writeIdle), ms(quantile(r.pause, 1)), ms(during), float64(during)/float64(idle))
		}
	}
}

func mb(n int64) float64 { return float64(n) / 1e6 }

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

func pair(idle, during []time.Duration, q float64) string {
	return fmt.Sprintf("%.1f → %.1f", ms(quantile(idle, q)), ms(quantile(during, q)))
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
	if a < 0 {
		return 0, sxy / sxx
	}
	return a, b
}
