package main

import (
	"fmt"
	"io"
	"time"
)

// report writes the table, the fits, and the bars.
func report(w io.Writer, all []result) {
	fmt.Fprintln(w, "Times in milliseconds are p50 / p99 / p100.")
	fmt.Fprintln(w, "\n| rows | bytes of each | records of each | image MB | stored MB | capture s | checkpoint s | of which work s | longest transaction ms | writes without ms | writes during ms | reads without ms | reads during ms | start without s | start with s | tail |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	for _, r := range all {
		fmt.Fprintf(w, "| %d | %d | %d | %.1f | %.1f | %.3f | %.3f | %.3f | %.1f | %s | %s | %s | %s | %.2f | %.3f | %d |\n",
			r.rows, r.payload, r.factor, mb(r.raw), mb(r.stored), median(r.capture).Seconds(), median(r.total).Seconds(), median(r.work).Seconds(), ms(quantile(r.pause, 1)),
			three(r.writeIdle), three(r.writeDuring), three(r.readIdle), three(r.readDuring),
			r.without.Seconds(), r.with.Seconds(), r.tail)
	}
	var bytes, seconds, records, replays []float64
	for _, r := range all {
		bytes, seconds = append(bytes, mb(r.raw)), append(seconds, median(r.work).Seconds())
		records, replays = append(records, float64(r.records())), append(replays, r.without.Seconds())
	}
	a, b := fit(bytes, seconds)
	c, d := fit(records, replays)
	fmt.Fprintf(w, "\nLeast squares: a checkpoint is %.3f s of work and %.4f s for each MB of the image; a replay %.3f s and %.1f µs for each record.\n", a, b, c, d*1e6)
	fmt.Fprintln(w, "\nBreak-even: a checkpoint is as much work as the replay of so many records; with more than that since the last one, it pays at the next start.")
	fmt.Fprintln(w, "\n| rows | bytes of each | work s | records to break even | that is, at 100 writes/s |")
	fmt.Fprintln(w, "|---|---|---|---|---|")
	for _, r := range all {
		if r.factor != 1 {
			continue
		}
		perRecord := r.without.Seconds() / float64(r.records())
		n := median(r.work).Seconds() / perRecord
		fmt.Fprintf(w, "| %d | %d | %.3f | %.0f | every %s |\n", r.rows, r.payload, median(r.work).Seconds(), n, (time.Duration(n/100) * time.Second))
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
			fmt.Fprintf(w, "At %d rows of %d bytes (%d records of each), %d checkpoints: the slowest of %d writes during one took %.1f ms (without: %.1f ms of %d), the longest transaction %.1f ms; p99 of %d reads %.2f ms, %.2f times that of %d without.\n\n",
				r.rows, r.payload, r.factor, len(r.total), len(r.writeDuring), ms(quantile(r.writeDuring, 1)), ms(quantile(r.writeIdle, 1)), len(r.writeIdle), ms(quantile(r.pause, 1)),
				len(r.readDuring), ms(during), float64(during)/float64(idle), len(r.readIdle))
		}
	}
}

func mb(n int64) float64 { return float64(n) / 1e6 }

func ms(d time.Duration) float64 { return float64(d) / 1e6 }

// three quantiles: the middle, the slowest of a hundred, and the slowest of all.
func three(d []time.Duration) string {
	return fmt.Sprintf("%.2f / %.2f / %.2f", ms(quantile(d, 0.5)), ms(quantile(d, 0.99)), ms(quantile(d, 1)))
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
