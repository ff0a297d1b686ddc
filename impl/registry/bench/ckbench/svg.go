package main

import (
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// line of a plot; both axes are logarithmic.
type line struct {
	name   string
	points [][2]float64
}

// plots writes the pictures.
func plots(dir string, all []result) error {
	byShape := func(x func(result) float64, y func(result) float64) (lines []line) {
		for _, r := range all {
			name := fmt.Sprintf("%d B, ×%d", r.Payload, r.Factor)
			if n := len(lines); n == 0 || lines[n-1].name != name {
				lines = append(lines, line{name: name})
			}
			l := &lines[len(lines)-1]
			l.points = append(l.points, [2]float64{x(r), y(r)})
		}
		return lines
	}
	rows := func(r result) float64 { return float64(r.Rows) }
	seconds := func(f func(result) time.Duration) func(result) float64 {
		return func(r result) float64 { return f(r).Seconds() }
	}
	var starts []line
	for _, l := range byShape(func(r result) float64 { return float64(r.shape().records()) }, seconds(func(r result) time.Duration { return r.Without })) {
		l.name = "replay, " + l.name
		starts = append(starts, l)
	}
	for _, l := range byShape(func(r result) float64 { return float64(r.shape().records()) }, seconds(func(r result) time.Duration { return r.With })) {
		l.name = "image, " + l.name
		starts = append(starts, l)
	}
	var writes []line
	for _, l := range byShape(rows, func(r result) float64 { return ms(r.WriteIdle.P99) }) {
		l.name = "without, " + l.name
		writes = append(writes, l)
	}
	for _, l := range byShape(rows, func(r result) float64 { return ms(r.WriteDuring.P99) }) {
		l.name = "during, " + l.name
		writes = append(writes, l)
	}
	for name, p := range map[string]struct {
		title, x, y string
		lines       []line
	}{
		"checkpoint": {"Time of a checkpoint", "rows", "seconds", byShape(rows, seconds(func(r result) time.Duration { return r.Total }))},
		"start":      {"Time of a start, with and without a checkpoint", "records of the journal", "seconds", starts},
		"writes":     {"p99 of writes, without and during a checkpoint", "rows", "milliseconds", writes},
		"bytes":      {"Bytes of an image as it is stored", "rows", "MB", byShape(rows, func(r result) float64 { return mb(r.Stored) })},
	} {
		if err := os.WriteFile(filepath.Join(dir, name+".svg"), []byte(plot(p.title, p.x, p.y, p.lines)), 0o644); err != nil {
			return err
		}
	}
	return nil
}

var colours = []string{"#1b6ca8", "#d1495b", "#2e8b57", "#8d6a9f", "#1b6ca8", "#d1495b", "#2e8b57", "#8d6a9f"}

// plot draws lines; from the fifth on they are dashed.
func plot(title, xName, yName string, lines []line) string {
	const width, height, left, right, top, bottom = 760, 420, 70, 190, 40, 50
	minX, maxX, minY, maxY := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		for _, p := range l.points {
			if p[0] > 0 && p[1] > 0 {
				minX, maxX = min(minX, p[0]), max(maxX, p[0])
				minY, maxY = min(minY, p[1]), max(maxY, p[1])
			}
		}
	}
	x0, x1 := math.Floor(math.Log10(minX)), math.Ceil(math.Log10(maxX))
	y0, y1 := math.Floor(math.Log10(minY)), math.Ceil(math.Log10(maxY))
	x1, y1 = max(x1, x0+1), max(y1, y0+1)
	px := func(v float64) float64 { return left + (math.Log10(v)-x0)/(x1-x0)*(width-left-right) }
	py := func(v float64) float64 { return height - bottom - (math.Log10(v)-y0)/(y1-y0)*(height-top-bottom) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="100%%" height="100%%" fill="white"/><text x="%d" y="22" font-size="15">%s</text>`+"\n", left, html.EscapeString(title))
	for e := x0; e <= x1; e++ {
		x := px(math.Pow(10, e))
		fmt.Fprintf(&b, `<path d="M%.1f %d V%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", x, top, height-bottom, x, height-bottom+18, power(e))
	}
	for e := y0; e <= y1; e++ {
		y := py(math.Pow(10, e))
		fmt.Fprintf(&b, `<path d="M%d %.1f H%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left, y, width-right, left-6, y+4, power(e))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", (left+width-right)/2, height-10, html.EscapeString(xName))
	fmt.Fprintf(&b, `<text transform="translate(16 %d) rotate(-90)" text-anchor="middle">%s</text>`+"\n", (top+height-bottom)/2, html.EscapeString(yName))
	for i, l := range lines {
		colour, dash := colours[i%len(colours)], ""
		if i >= 4 {
			dash = ` stroke-dasharray="5 4"`
		}
		var path strings.Builder
		for _, p := range l.points {
			if p[0] <= 0 || p[1] <= 0 {
				continue
			}
			verb := "L"
			if path.Len() == 0 {
				verb = "M"
			}
			fmt.Fprintf(&path, "%s%.1f %.1f ", verb, px(p[0]), py(p[1]))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, px(p[0]), py(p[1]), colour)
		}
		fmt.Fprintf(&b, `<path d="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", strings.TrimSpace(path.String()), colour, dash)
		y := top + 12 + 20*i
		fmt.Fprintf(&b, `<path d="M%d %d h22" stroke="%s" stroke-width="2"%s/><text x="%d" y="%d">%s</text>`+"\n", width-right+12, y, colour, dash, width-right+40, y+4, html.EscapeString(l.name))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func power(e float64) string {
	if e >= 0 && e < 7 {
		return fmt.Sprintf("%.0f", math.Pow(10, e))
	}
	return fmt.Sprintf("%g", math.Pow(10, e))
}
