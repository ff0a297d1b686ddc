package checker

import (
	"embed"
	"fmt"
	"html/template"
	"io"
)

// Behaviour is what a run found, to be drawn as a sequence diagram: a lifeline for each
// process, time downwards, an arrow for each message from the step that sends it to
// the step that takes it, and beside the lifelines what each step changed.
type Behaviour struct {
	// Title says what the behaviour is, Legend explains notation in it.
	Title, Legend string
	// Processes names the lifelines, as Result.Processes.
	Processes []string
	Trace     []TraceStep
	// Loop, if not nil, is the state from which the behaviour repeats for ever.
	Loop *int
	// Verdict is what the behaviour shows; Bad says that it should not.
	Verdict []string
	Bad     bool
}

// Behaviours has one for each counterexample, or for the witness. The title says which
// model and variant the result is of; it may be empty.
func (r *Result) Behaviours(title string) []Behaviour {
	if title == "" {
		title = r.Spec
	}
	list := Counterexamples(title, r.Legend, r.Processes, r.Violations)
	if len(r.Witness) > 0 {
		list = append(list, Behaviour{
			Title: fmt.Sprintf("%s: found in %s", title, stepsText(len(r.Witness)-1)), Legend: r.Legend, Processes: r.Processes,
			Trace: r.Witness, Verdict: []string{"the state that was looked for"},
		})
	}
	for _, w := range r.Witnesses {
		list = append(list, Behaviour{
			Title: fmt.Sprintf("%s: %s reached in %s", title, w.Property, stepsText(len(w.Trace)-1)), Legend: r.Legend, Processes: r.Processes,
			Trace: w.Trace, Verdict: []string{fmt.Sprintf("reaches %s%s", w.Property, prefixed(": ", w.Doc))},
		})
	}
	return list
}

// Counterexamples are violations, to be drawn.
func Counterexamples(title, legend string, processes []string, violations []Violation) []Behaviour {
	var list []Behaviour
	for _, v := range violations {
		d := Behaviour{Legend: legend, Processes: processes}
		d.Title = fmt.Sprintf("%s: counterexample to %s, %s", title, v.Property, stepsText(len(v.Trace)-1))
		d.Trace, d.Bad, d.Loop = v.Trace, true, v.Loop
		d.Verdict = append([]string{fmt.Sprintf("violates %s (%s)%s", v.Property, v.Kind, prefixed(": ", v.Doc))}, v.Because...)
		list = append(list, d)
	}
	return list
}

func stepsText(n int) string {
	if n == 1 {
		return "1 step"
	}
	return fmt.Sprintf("%d steps", n)
}

//go:embed diagram.svg.tmpl diagram.html.tmpl
var diagramFiles embed.FS

var diagramTemplates = template.Must(template.ParseFS(diagramFiles, "*.tmpl"))

// WriteSVG writes the diagram as a picture that needs nothing else: no fonts, no
// scripts. Pointing at a step shows the whole state after it. It is light or dark as
// the viewer is.
func (d *Behaviour) WriteSVG(w io.Writer) error {
	return diagramTemplates.ExecuteTemplate(w, "diagram.svg.tmpl", draw(d))
}

// WritePage writes a page with the diagrams, in one file that loads nothing. The
// arrow keys walk through the steps, and the state after a step stands beside it.
func WritePage(w io.Writer, title string, list []Behaviour) error {
	page := struct {
		Title    string
		Drawings []*drawing
	}{Title: title}
	for i := range list {
		page.Drawings = append(page.Drawings, draw(&list[i]))
	}
	return diagramTemplates.ExecuteTemplate(w, "diagram.html.tmpl", page)
}

// Behaviours has the behaviour that only one side has, for each side that has one, to
// be drawn. The processes are those of A and of B.
func (c *Comparison) Behaviours(a, b []string) []Behaviour {
	var list []Behaviour
	add := func(d *Divergence, has, lacks string, processes []string) {
		if d == nil {
			return
		}
		list = append(list, Behaviour{
			Title:  fmt.Sprintf("%s has what %s has not, %s", has, lacks, stepsText(len(d.Trace)-1)),
			Legend: c.Legend, Processes: processes, Trace: d.Trace, Bad: true,
			Verdict: []string{"the last step is not one of " + lacks},
		})
	}
	add(c.OnlyA, c.A, c.B, a)
	add(c.OnlyB, c.B, c.A, b)
	return list
}

// Drawings has one for each counterexample, or else the behaviour that was asked for.
func (r *Simulation) Drawings(title string) []Behaviour {
	var violations []Violation
	for _, v := range r.Violations {
		violations = append(violations, v.Violation)
	}
	list := Counterexamples(title, r.Legend, r.Processes, violations)
	if len(list) == 0 && len(r.Behaviour) > 0 {
		list = append(list, Behaviour{
			Title: fmt.Sprintf("%s: behaviour %d of seed %d, %s", title, r.First, r.Seed, stepsText(len(r.Behaviour)-1)), Legend: r.Legend,
			Processes: r.Processes, Trace: r.Behaviour,
		})
	}
	return list
}
