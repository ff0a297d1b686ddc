package checker

import (
	"fmt"
	"unicode/utf8"
)

// send puts the messages of a step in flight: each leaves the card that was placed
// last, on the side of its receiver, and goes down in a lane of its own.
func (a *artist) send(process int, sends []Sent) {
	for _, m := range sends {
		f := &inFlight{text: m.Message, from: process, to: m.To, right: a.center(m.To) >= a.center(process), y: a.y - 8}
		f.x = a.center(process) - a.card/2
		if f.right {
			f.x = a.center(process) + a.card/2
		}
		a.enter(f)
	}
}

// enter gives a message a lane that no other message in flight beside it has.
func (a *artist) enter(f *inFlight) {
	for taken := true; taken; {
		taken = false
		for _, other := range a.flight {
			if other.from == f.from && other.right == f.right && other.lane == f.lane {
				f.lane++
				taken = true
			}
		}
	}
	f.laneX = a.center(f.from) - a.card/2 - 8 - f.lane*drawLane
	if f.right {
		f.laneX = a.center(f.from) + a.card/2 + 8 + f.lane*drawLane
	}
	a.flight = append(a.flight, f)
}

// find is the message in flight with this text that was sent first, and its place.
func (a *artist) find(text string) (int, *inFlight) {
	for i, f := range a.flight {
		if f.text == text {
			return i, f
		}
	}
	return -1, nil
}

// receive draws the way of a message that a step takes or, if fate is set, what
// became of it. It stays in flight if it is kept.
func (a *artist) receive(row *drawnStep, part *InnerStep, fate, kept bool) {
	y := a.y + drawBand - 6
	i, f := a.find(part.Message)
	if f != nil && !kept {
		a.flight = append(a.flight[:i:i], a.flight[i+1:]...)
	}
	to := part.Process
	if fate && f != nil {
		to = f.to
	}
	arrow := drawnArrow{Label: part.Message, LabelY: y - 6, Mark: "head", MarkY: y}
	switch {
	case f == nil && fate: // sent before the behaviour begins, and nobody knows where
		x := drawMargin + drawNumbers
		arrow.Path, arrow.MarkX = fmt.Sprintf("M%d %dh40", x, y), x+40
		arrow.label(a, x, x+40)
	case f == nil:
		x := a.center(to)
		arrow.Path, arrow.MarkX = fmt.Sprintf("M%d %dH%d", x-a.card/2, y, x), x
		arrow.label(a, x-a.card/2, x)
	default:
		x := a.center(to)
		arrow.Left = x < f.laneX
		switch {
		case fate && len(part.Sends) > 0:
			x = f.laneX
		case fate || part.Lost:
			x = f.laneX + (x-f.laneX)/3
		}
		arrow.Path, arrow.MarkX = a.way(f, x, y), x
		arrow.label(a, f.laneX, x)
		if f.copied {
			arrow.Tone = "copy"
		}
	}
	switch {
	case part.Lost:
		arrow.Label, arrow.Mark, arrow.Tone = "lost: "+arrow.Label, "cross", "lost"
	case fate:
		arrow.Label = part.Step + ": " + arrow.Label
		arrow.Mark, arrow.Tone = "cross", "lost"
		if len(part.Sends) > 0 {
			arrow.Mark, arrow.Tone = "split", ""
		}
	}
	if f != nil && (fate || part.Lost) {
		arrow.label(a, f.laneX, a.center(to))
	}
	row.Arrows = append(row.Arrows, arrow)
	a.y += drawBand
	if !fate {
		return
	}
	for k, m := range part.Sends {
		g := &inFlight{text: m.Message, to: m.To, x: arrow.MarkX, y: y, copied: k > 0}
		if f != nil {
			g.from, g.right = f.from, f.right
			a.enter(g)
			continue
		}
		g.from, g.right = m.To, true // its sender is not known
		a.enter(g)
		g.x = g.laneX
	}
	a.y += 4
}

// way is the path of a message: from where it left, down its lane, and across.
func (a *artist) way(f *inFlight, x, y int) string {
	return fmt.Sprintf("M%d %dH%dV%dH%d", f.x, f.y, f.laneX, y, x)
}

// label centers the text of an arrow between two places, within the drawing.
func (r *drawnArrow) label(a *artist, x1, x2 int) {
	width := textWidth(utf8.RuneCountInString(r.Label))
	r.LabelX = max(drawMargin+drawNumbers, min((x1+x2-width)/2, a.out.Width-drawMargin-width))
}

// stillInFlight draws the messages that nobody has taken in the end.
func (a *artist) stillInFlight() {
	for _, f := range a.flight {
		y := a.y + 16
		x := f.laneX + (a.center(f.to)-f.laneX)/2
		arrow := drawnArrow{
			Path: a.way(f, x, y), Tone: "waiting", Mark: "open", MarkX: x, MarkY: y,
			Label: "in flight: " + f.text, LabelY: y - 6,
		}
		arrow.label(a, f.laneX, a.center(f.to))
		a.out.End = append(a.out.End, arrow)
		a.y += 24
	}
	if len(a.flight) > 0 {
		a.y += 6
	}
}
