package checker

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Measures of a drawing, in pixels. Text is monospaced, so that its width is known
// without a font.
const (
	drawMargin   = 24
	drawNumbers  = 56 // the column of step numbers and of the loop
	drawGutter   = 60 // between cards of neighbours, where messages travel
	drawLane     = 6
	drawLine     = 15
	drawPad      = 8
	drawBand     = 30 // of an arrow and its label above a card
	drawGap      = 12
	drawHead     = 30
	drawMinCard  = 132
	drawMaxCard  = 236
	drawMaxNotes = 300
)

// textWidth is the width of so many characters at 11 pixels.
func textWidth(n int) int { return (n*67 + 9) / 10 }

func columnsOf(width int) int { return width * 10 / 67 }

// drawing is a diagram with a place for everything.
type drawing struct {
	Width, Height int
	Title         string
	Legend        []string
	Head          int // where the names of the lifelines stand
	Lifelines     []drawnLine
	Steps         []*drawnStep
	Loop          *drawnLoop
	Verdict       []drawnText
	Bad           bool
	VerdictY      int
	VerdictHeight int
	End           []drawnArrow // messages that are still in flight
	States        []drawnState // for the page
}

type drawnLine struct {
	Name      string
	X, Y1, Y2 int
	Width     int
	Notes     bool // the column of what belongs to no process
}

// drawnStep is a state and the step that led to it.
type drawnStep struct {
	N, Y, Height int
	Width        int
	Cards        []drawnCard
	Arrows       []drawnArrow
	State        string // the whole state, as text
	End          bool   // the last state once more
}

type drawnCard struct {
	X, Y, Width, Height int
	Title               []drawnText
	Lines               []drawnText
	Class               string
}

// drawnText is a line of text; Full is what it stands for, if it was cut.
type drawnText struct {
	X, Y int
	Runs []drawnRun
	Full string
}

type drawnRun struct{ Class, Text string }

type drawnArrow struct {
	Path           string
	Tone           string // of the line and its label: "", "lost", "copy", "waiting"
	Label          string
	LabelX, LabelY int
	// Mark is drawn at the end: "head", "cross", "split" or "open".
	Mark         string
	MarkX, MarkY int
	Left         bool // the head points to the left
}

type drawnLoop struct {
	Path         string
	X, Middle    int
	HeadX, HeadY int
	From         int
}

// drawnState is a state as the page shows it.
type drawnState struct {
	Step   string       `json:"step"`
	Fields []drawnField `json:"fields"`
}

type drawnField struct {
	Part    string `json:"part"`
	Name    string `json:"name"`
	Value   string `json:"value"`
	Old     string `json:"old,omitempty"`
	Changed bool   `json:"changed,omitempty"`
}

// inFlight is a message between the step that sends it and that which takes it.
type inFlight struct {
	text     string
	from, to int
	x, y     int // where it leaves the card, or the copy the original
	lane     int
	laneX    int
	right    bool
	copied   bool
}

// artist places the parts of a diagram, from the top down.
type artist struct {
	d        *Behaviour
	out      *drawing
	card     int // width of a card
	notes    int // width of the column of what belongs to no process, 0: none
	columns  int
	y        int
	flight   []*inFlight
	messages bool // steps say which messages they take and send
}

func draw(d *Behaviour) *drawing {
	a := &artist{d: d, out: &drawing{Title: d.Title, Bad: d.Bad}}
	for _, s := range d.Trace {
		a.messages = a.messages || s.Message != "" || len(s.Sends) > 0
	}
	a.columns = len(d.Processes)
	for n, s := range d.Trace {
		if n > 0 && s.Process < 0 && s.Message == "" {
			a.columns = len(d.Processes) + 1 // the environment
		}
	}
	a.measure()
	a.heading()
	for n := range d.Trace {
		a.step(n)
	}
	a.stillInFlight()
	a.last()
	a.end()
	return a.out
}

// column is that of a process; the environment is the last.
func (a *artist) column(process int) int {
	if process < 0 {
		return len(a.d.Processes)
	}
	return process
}

func (a *artist) center(process int) int {
	return drawMargin + drawNumbers + a.card/2 + a.column(process)*(a.card+drawGutter)
}

func (a *artist) notesX() int {
	return drawMargin + drawNumbers + a.columns*(a.card+drawGutter)
}

// owner is the process that a field belongs to, -1 if none.
func (a *artist) owner(path string) (process int, name string) {
	part, name, ok := strings.Cut(path, ".")
	if process = slices.Index(a.d.Processes, part); process < 0 {
		return -1, path
	}
	if !ok {
		name = "state"
	}
	return process, name
}

// changeText is what became of a field, as a line.
func changeText(name string, c Change) drawnText {
	switch {
	case c.Old == "":
		return drawnText{Runs: []drawnRun{{"path", "+ " + name + " "}, {"new", c.New}}}
	case c.New == "":
		return drawnText{Runs: []drawnRun{{"path", "- " + name + " "}, {"gone", c.Old}}}
	}
	return drawnText{Runs: []drawnRun{{"path", name + " "}, {"old", c.Old}, {"arrow", " → "}, {"new", c.New}}}
}

func (t drawnText) len() int {
	n := 0
	for _, r := range t.Runs {
		n += utf8.RuneCountInString(r.Text)
	}
	return n
}

func (t drawnText) String() string {
	var b strings.Builder
	for _, r := range t.Runs {
		b.WriteString(r.Text)
	}
	return b.String()
}

// fields of state n, by process; those of nobody under -1.
func (a *artist) fields(n int) map[int][]drawnText {
	by := map[int][]drawnText{}
	for _, f := range a.d.Trace[n].Fields {
		if f.Value == "" || a.messages && n > 0 && strings.HasPrefix(f.Path, "network.") {
			continue // the arrows show it
		}
		process, name := a.owner(f.Path)
		by[process] = append(by[process], drawnText{Runs: []drawnRun{{"path", name + " "}, {"is", f.Value}}})
	}
	return by
}

// changes of step n, by process; those of nobody under -1. Of the first state, all.
func (a *artist) changes(n int) map[int][]drawnText {
	if n == 0 {
		return a.fields(0)
	}
	by := map[int][]drawnText{}
	for _, c := range Changes(a.d.Trace[n-1].Fields, a.d.Trace[n].Fields) {
		if a.messages && strings.HasPrefix(c.Path, "network.") {
			continue
		}
		process, name := a.owner(c.Path)
		by[process] = append(by[process], changeText(name, c))
	}
	return by
}

// measure chooses the widths of cards and notes by what they hold.
func (a *artist) measure() {
	card, notes := 0, 0
	for n, s := range a.d.Trace {
		for process, lines := range a.changes(n) {
			for _, t := range lines {
				if process < 0 {
					notes = max(notes, t.len())
				} else {
					card = max(card, t.len())
				}
			}
		}
		if n > 0 {
			card = max(card, utf8.RuneCountInString(s.Step))
		}
		for _, in := range s.Inner {
			card = max(card, utf8.RuneCountInString(in.Step))
		}
	}
	a.card = min(max(textWidth(card)+2*drawPad, drawMinCard), drawMaxCard)
	if notes > 0 {
		a.notes = min(textWidth(notes)+2*drawPad, drawMaxNotes)
	}
	a.out.Width = a.notesX() + a.notes + drawMargin
	if a.notes == 0 {
		a.out.Width -= drawGutter
	}
	a.out.Width = max(a.out.Width, 2*drawMargin+textWidth(utf8.RuneCountInString(a.d.Title))*13/11)
}

func (a *artist) heading() {
	a.y = drawMargin + 2*drawLine
	a.out.Legend = fold(a.d.Legend, columnsOf(a.out.Width-2*drawMargin))
	if len(a.out.Legend) > 0 {
		a.y += len(a.out.Legend)*drawLine + 4
	}
	a.out.Head = a.y
	for i := range a.columns {
		name := "environment"
		if i < len(a.d.Processes) {
			name = a.d.Processes[i]
		}
		a.out.Lifelines = append(a.out.Lifelines, drawnLine{
			Name: name, X: drawMargin + drawNumbers + a.card/2 + i*(a.card+drawGutter), Y1: a.y + drawHead - 6,
			Width: max(48, textWidth(utf8.RuneCountInString(name))+2*drawPad),
		})
	}
	if a.notes > 0 {
		a.out.Lifelines = append(a.out.Lifelines, drawnLine{Name: "beside the processes", X: a.notesX(), Y1: a.y, Notes: true})
	}
	a.y += drawHead + 6
}

// fold breaks text into lines of so many characters.
func fold(text string, width int) []string {
	var lines []string
	for _, word := range strings.Fields(text) {
		last := len(lines) - 1
		if last >= 0 && utf8.RuneCountInString(lines[last])+1+utf8.RuneCountInString(word) <= width {
			lines[last] += " " + word
		} else {
			lines = append(lines, word)
		}
	}
	return lines
}

// step places state n and what led to it.
func (a *artist) step(n int) {
	s := &a.d.Trace[n]
	row := &drawnStep{N: n, Y: a.y, Width: a.out.Width, State: wholeText(s)}
	a.out.Steps = append(a.out.Steps, row)
	a.out.States = append(a.out.States, a.state(n))
	changes := a.changes(n)
	top := a.y
	if n == 0 {
		a.whole(row, changes)
	} else {
		parts := append([]InnerStep{{Process: s.Process, Step: s.Step, Message: s.Message, Sends: s.Sends}}, s.Inner...)
		for k, part := range parts {
			if part.Message != "" {
				a.receive(row, &part, k == 0 && s.Process < 0, k == 0 && s.Kept)
			}
			if k == 0 && s.Process < 0 && s.Message != "" || part.Lost {
				continue
			}
			var lines []drawnText
			if !slices.ContainsFunc(parts[k+1:], func(p InnerStep) bool { return p.Process == part.Process && !p.Lost }) {
				lines = changes[part.Process]
				if part.Process < 0 {
					lines = nil // they are beside the processes
				} else {
					delete(changes, part.Process)
				}
			}
			a.y = a.place(row, part.Process, part.Step, lines, a.y, "step")
			a.send(part.Process, part.Sends)
		}
		bottom := a.y
		for process := range a.d.Processes { // changed without taking part
			if lines := changes[process]; len(lines) > 0 {
				bottom = max(bottom, a.place(row, process, "", lines, a.y+4, "changed"))
			}
		}
		a.y = bottom
	}
	if lines := changes[-1]; len(lines) > 0 {
		if len(row.Cards) > 0 {
			top = row.Cards[0].Y
		}
		a.y = max(a.y, a.placeNotes(row, lines, top))
	}
	row.Height = a.y - row.Y
	a.y += drawGap
}

// last places the state in which the behaviour ends, as the first is placed.
func (a *artist) last() {
	n := len(a.d.Trace) - 1
	if n < 1 {
		return
	}
	row := &drawnStep{N: n, Y: a.y, Width: a.out.Width, State: wholeText(&a.d.Trace[n]), End: true}
	a.out.Steps = append(a.out.Steps, row)
	changes := a.fields(n)
	a.whole(row, changes)
	if lines := changes[-1]; len(lines) > 0 {
		a.y = max(a.y, a.placeNotes(row, lines, row.Y))
	}
	row.Height = a.y - row.Y
	a.y += drawGap
}

// whole places the state of each process, from changes that have all of it.
func (a *artist) whole(row *drawnStep, changes map[int][]drawnText) {
	bottom := a.y
	for process := range a.d.Processes {
		if lines := changes[process]; len(lines) > 0 {
			bottom = max(bottom, a.place(row, process, "", lines, a.y, "initial"))
		}
	}
	a.y = bottom
}

// place puts a card on the lifeline of a process and returns where it ends.
func (a *artist) place(row *drawnStep, process int, title string, lines []drawnText, y int, class string) int {
	c := drawnCard{X: a.center(process) - a.card/2, Y: y, Width: a.card, Class: class}
	room := columnsOf(a.card - 2*drawPad)
	at := y + drawPad/2
	for _, t := range fold(title, room) {
		at += drawLine
		c.Title = append(c.Title, drawnText{X: c.X + drawPad, Y: at - 2, Runs: []drawnRun{{"title", t}}})
	}
	for _, t := range broken(lines, room) {
		at += drawLine
		t.X, t.Y = c.X+drawPad, at-2
		c.Lines = append(c.Lines, t)
	}
	c.Height = at + drawPad/2 + 2 - y
	row.Cards = append(row.Cards, c)
	return y + c.Height
}

func (a *artist) placeNotes(row *drawnStep, lines []drawnText, y int) int {
	c := drawnCard{X: a.notesX(), Y: y, Width: a.notes, Class: "notes"}
	at := y + drawPad/2
	for _, t := range broken(lines, columnsOf(a.notes-drawPad)) {
		at += drawLine
		t.X, t.Y = c.X, at-2
		c.Lines = append(c.Lines, t)
	}
	c.Height = at + drawPad/2 - y
	row.Cards = append(row.Cards, c)
	return y + c.Height
}

// broken puts what became of a field on a second line if it does not fit the first,
// and cuts what does not fit then.
func broken(lines []drawnText, room int) []drawnText {
	var out []drawnText
	for _, t := range lines {
		if t.len() <= room {
			out = append(out, t)
			continue
		}
		full := t.String()
		first, second := t.Runs[:len(t.Runs)-1], t.Runs[len(t.Runs)-1:]
		if len(t.Runs) == 4 {
			first, second = t.Runs[:2], t.Runs[2:]
		}
		for i, runs := range [][]drawnRun{first, second} {
			runs = slices.Clone(runs)
			if i == 1 {
				runs[0].Text = "  " + strings.TrimLeft(runs[0].Text, " ")
			}
			out = append(out, drawnText{Runs: cut(runs, room), Full: full})
		}
	}
	return out
}

func cut(runs []drawnRun, room int) []drawnRun {
	for i := range runs {
		n := utf8.RuneCountInString(runs[i].Text)
		if n > room {
			runs[i].Text = string([]rune(runs[i].Text)[:max(0, room-1)]) + "…"
			return runs[:i+1]
		}
		room -= n
	}
	return runs
}

// wholeText is a state as text, for a tooltip.
func wholeText(s *TraceStep) string {
	var b strings.Builder
	p := &printer{w: &b}
	p.whole(s.Fields)
	head := s.Step
	if s.Actor != "" {
		head = s.Actor + ": " + head
	}
	return head + "\n" + strings.ReplaceAll(b.String(), "         ", "")
}

func (a *artist) state(n int) drawnState {
	s := &a.d.Trace[n]
	out := drawnState{Step: s.Step}
	if s.Actor != "" {
		out.Step = s.Actor + ": " + s.Step
	}
	changed := map[string]string{}
	var gone []Change
	if n > 0 {
		for _, c := range Changes(a.d.Trace[n-1].Fields, s.Fields) {
			changed[c.Path] = c.Old
			if !slices.ContainsFunc(s.Fields, func(f Field) bool { return f.Path == c.Path }) {
				gone = append(gone, c)
			}
		}
	}
	field := func(path, value string) drawnField {
		part, name, _ := strings.Cut(path, ".")
		old, differs := changed[path]
		return drawnField{part, name, value, old, differs}
	}
	for _, f := range s.Fields {
		out.Fields = append(out.Fields, field(f.Path, f.Value))
	}
	for _, c := range gone { // after what is left of its part
		f := field(c.Path, "")
		at := len(out.Fields)
		for at > 0 && out.Fields[at-1].Part != f.Part {
			at--
		}
		if at == 0 {
			at = len(out.Fields)
		}
		out.Fields = slices.Insert(out.Fields, at, f)
	}
	return out
}

// end draws what stands below the last step.
func (a *artist) end() {
	for i := range a.out.Lifelines {
		a.out.Lifelines[i].Y2 = a.y - drawGap
	}
	a.loop()
	a.out.VerdictY = a.y + 4
	y := a.out.VerdictY + drawPad
	verdict := a.d.Verdict
	if l := a.d.Loop; l != nil && *l == len(a.d.Trace)-1 {
		verdict = append([]string{"nothing happens any more"}, verdict...)
	}
	for _, text := range verdict {
		for _, line := range fold(text, columnsOf(a.out.Width-2*drawMargin-2*drawPad)*11/12) {
			y += drawLine + 2
			a.out.Verdict = append(a.out.Verdict, drawnText{X: drawMargin + drawPad, Y: y - 4, Runs: []drawnRun{{"verdict", line}}})
		}
	}
	a.out.VerdictHeight = y + drawPad - a.out.VerdictY
	a.out.Height = y + drawPad + drawMargin
}

// loop draws the way back from the last state.
func (a *artist) loop() {
	if a.d.Loop == nil || *a.d.Loop >= len(a.d.Trace) || *a.d.Loop < 0 {
		return
	}
	if *a.d.Loop == len(a.d.Trace)-1 {
		return // nothing happens any more: no way back to draw
	}
	to, last := a.out.Steps[*a.d.Loop], a.out.Steps[len(a.d.Trace)-1]
	x := drawMargin + 4
	top, bottom := to.Y+to.Height+drawGap/2, last.Y+last.Height+drawGap/2
	right := drawMargin + drawNumbers - 8
	a.out.Loop = &drawnLoop{
		Path: fmt.Sprintf("M%d %dH%dV%dH%d", right, bottom, x, top, right),
		X:    x, Middle: (top + bottom) / 2, HeadX: right, HeadY: top, From: *a.d.Loop,
	}
}

// What the template would have to compute.

func (o *drawing) LegendY(i int) int { return drawMargin + 2*drawLine + 2 + i*drawLine }
func (o *drawing) NumberX() int      { return drawMargin + drawNumbers - 14 }
func (o *drawing) PlateWidth() int   { return o.Width - 2*drawMargin }
func (l drawnLine) TextY() int       { return l.headY() + 16 }
func (l drawnLine) Left() int        { return l.X - l.Width/2 }
func (s *drawnStep) RowY() int       { return s.Y - drawGap/2 }
func (s *drawnStep) RowHeight() int  { return s.Height + drawGap }
func (l *drawnLoop) TextX() int      { return l.X - 6 }

func (l drawnLine) headY() int {
	if l.Notes {
		return l.Y1
	}
	return l.Y1 - drawHead + 6
}

// NumberY is the line of the first card, below the arrow that leads to it.
func (s *drawnStep) NumberY() int {
	if len(s.Cards) > 0 {
		return s.Cards[0].Y + drawPad/2 + drawLine - 2
	}
	return s.Y + drawBand - 6
}
