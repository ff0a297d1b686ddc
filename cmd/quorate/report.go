package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/quorate/quorate/checker"
)

// runReport is one run of a command that does several.
type runReport struct {
	report
	// OK says that it ended as it should: as expected, or else without a violation.
	OK bool `json:"ok"`
	// Cut says that it ended before the end, so that there is no verdict.
	Cut  bool   `json:"cut,omitempty"`
	Note string `json:"note,omitempty"`
}

// record keeps a run for the report and the summary.
func (o *output) record(e *entry, v Variant, r *checker.Result, code verdict, note string) {
	o.runs = append(o.runs, &runReport{
		report: report{e.Name, e.Module, v.Mutation, v.DropGuard, v.On, r},
		OK:     code == exitHolds, Cut: code == exitLimit, Note: note,
	})
}

func (r *runReport) title() string {
	return titleOf(&entry{Name: r.Model}, Variant{r.Mutation, r.DropGuard, r.On})
}

// outcome is the verdict in a word or two.
func (r *runReport) outcome() string {
	text := string(r.Status)
	if len(r.Violations) > 0 {
		text = "violates " + r.Violations[0].Property
	} else if r.Cut {
		text = "no verdict: " + r.LimitedBy
	}
	return text
}

// writeSummary is the table at the end of a command that ran several models.
func writeSummary(w io.Writer, runs []*runReport) error {
	tw := checker.NewColumns(w)
	fmt.Fprintln(tw, "\nmodel\tverdict\tdistinct\tgenerated\tdepth\tseconds\t")
	var distinct, generated uint64
	var seconds float64
	good := 0
	for _, r := range runs {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%s\t%d\t%.2f\t%s\n", r.title(), r.outcome(), count(r.Distinct), count(r.Generated), r.Depth, r.Seconds, r.Note)
		distinct, generated, seconds = distinct+r.Distinct, generated+r.Generated, seconds+r.Seconds
		if r.OK {
			good++
		}
	}
	fmt.Fprintf(tw, "%d runs\t%d as they should be\t%s\t%s\t\t%.2f\t\n", len(runs), good, count(distinct), count(generated), seconds)
	return tw.Flush()
}

// writeReport writes what other programs read: JUnit's XML, or JSON.
func writeReport(w io.Writer, kind string, runs []*runReport) error {
	if kind == "junit" {
		return writeJUnit(w, runs)
	}
	out := struct {
		Tool  string       `json:"tool"`
		Runs  []*runReport `json:"runs"`
		OK    int          `json:"ok"`
		Cut   int          `json:"cut"`
		Wrong int          `json:"wrong"`
	}{Tool: "quorate " + version(), Runs: runs}
	if runs == nil {
		out.Runs = []*runReport{}
	}
	for _, r := range runs {
		switch {
		case r.OK:
			out.OK++
		case r.Cut:
			out.Cut++
		default:
			out.Wrong++
		}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", " ")
	return e.Encode(out)
}

// JUnit's XML has no standard; this is what readers of it agree on.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Time     string       `xml:"time,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name       string          `xml:"name,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Skipped    int             `xml:"skipped,attr"`
		Time       string          `xml:"time,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase     `xml:"testcase"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitMessage `xml:"failure,omitempty"`
		Skipped *junitMessage `xml:"skipped,omitempty"`
	}
	junitMessage struct {
		Message string `xml:"message,attr"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes a suite for each run, with a case for each property and one for
// how the run ended. A property that is violated as it should be passes.
func writeJUnit(w io.Writer, runs []*runReport) error {
	all := junitSuites{Name: "quorate"}
	var seconds float64
	for _, r := range runs {
		s, err := r.junit()
		if err != nil {
			return err
		}
		all.Suites = append(all.Suites, s)
		all.Tests, all.Failures, all.Skipped = all.Tests+s.Tests, all.Failures+s.Failures, all.Skipped+s.Skipped
		seconds += r.Seconds
	}
	all.Time = fmt.Sprintf("%.3f", seconds)
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err
	}
	e := xml.NewEncoder(w)
	e.Indent("", " ")
	if err := e.Encode(all); err != nil {
		return err
	}
	_, err := io.WriteString(w, "\n")
	return err
}

func (r *runReport) junit() (junitSuite, error) {
	class := r.Module + "." + r.title()
	s := junitSuite{Name: r.title(), Time: fmt.Sprintf("%.3f", r.Seconds)}
	s.Properties = []junitProperty{
		{"distinct", fmt.Sprint(r.Distinct)}, {"generated", fmt.Sprint(r.Generated)}, {"depth", fmt.Sprint(r.Depth)},
		{"workers", fmt.Sprint(r.Workers)}, {"expected omissions", fmt.Sprintf("%.2g", r.Omission)},
	}
	run := junitCase{Class: class, Name: "run", Time: s.Time}
	switch {
	case r.Cut:
		run.Skipped = &junitMessage{Message: r.outcome()}
	case !r.OK:
		message := r.outcome()
		if r.Note != "" {
			message = r.Note
		}
		run.Failure = &junitMessage{Message: message}
	}
	s.Cases = append(s.Cases, run)
	for _, p := range r.Properties {
		c := junitCase{Class: class, Name: p.Name, Time: "0"}
		switch p.Verdict {
		case "violated":
			if !r.OK {
				text, err := r.counterexample(p.Name)
				if err != nil {
					return s, err
				}
				c.Failure = &junitMessage{Message: p.Name + " is violated", Text: text}
			}
		case "open":
			c.Skipped = &junitMessage{Message: "the run ended before its end"}
		case "never":
			c.Skipped = &junitMessage{Message: "never reached in this model"}
		}
		s.Cases = append(s.Cases, c)
	}
	for _, c := range s.Cases {
		s.Tests++
		if c.Failure != nil {
			s.Failures++
		}
		if c.Skipped != nil {
			s.Skipped++
		}
	}
	return s, nil
}

// counterexample is the way to a violation as text.
func (r *runReport) counterexample(property string) (string, error) {
	for _, v := range r.Violations {
		if v.Property == property {
			var b strings.Builder
			err := checker.WriteTrace(&b, v.Trace)
			return "\n" + b.String(), err
		}
	}
	return "", nil
}
