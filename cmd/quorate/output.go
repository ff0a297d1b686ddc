package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
)

// Formats of results.
const (
	formatText = "text"
	formatJSON = "json"
	formatSVG  = "svg"
	formatHTML = "html"
	formatITF  = "itf"
)

var formats = []string{formatText, formatJSON, formatSVG, formatHTML, formatITF}

// output is how a command shows what it found, and where.
type output struct {
	format string
	file   string
	report string // "junit", "json", or none

	stdout     func() io.Writer
	behaviours []checker.Behaviour
	runs       []*runReport
}

func (o *output) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	o.stdout = cmd.OutOrStdout
	flags.StringVar(&o.format, "format", formatText, "text, json, or the behaviour that was found as svg, html or itf")
	flags.StringVarP(&o.file, "output", "o", "", "write the behaviour, or the report, to this file")
	complete(cmd, "format", fixed(formats...))
}

// registerReport is for commands that run several models.
func (o *output) registerReport(cmd *cobra.Command) {
	cmd.Flags().StringVar(&o.report, "report", "", "write a report of all runs to the file of -o: junit or json")
	complete(cmd, "report", fixed("junit", "json"))
}

// draws says that a behaviour is asked for, and not a text.
func (o *output) draws() bool {
	return o.format == formatSVG || o.format == formatHTML || o.format == formatITF
}

// quiet says that what goes to standard output is for programs.
func (o *output) quiet() bool {
	return o.format == formatJSON || o.draws() && o.file == ""
}

// check refuses what cannot be written, before anything is explored.
func (o *output) check() error {
	switch {
	case !slices.Contains(formats, o.format):
		return unknown("format", o.format, formats)
	case o.report != "" && o.report != "junit" && o.report != "json":
		return unknown("report", o.report, []string{"junit", "json"})
	case o.report != "" && o.draws():
		return fmt.Errorf("-report %s and -format %s: one run writes one file", o.report, o.format)
	case o.report != "" && o.file == "":
		return fmt.Errorf("-report %s: to which file? -o FILE", o.report)
	case o.file != "" && !o.draws() && o.report == "":
		return errors.New("-o is for -format svg, html and itf, and for -report; for text use the shell")
	case o.file == "":
		return nil
	}
	if err := writable(o.file); err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	if o.stdout != nil {
		if p, ok := o.stdout().(*pipe); ok {
			p.filed.Store(true)
		}
	}
	return nil
}

// writable says whether a file can be written, and leaves no trace of the attempt.
func writable(file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if errors.Is(err, os.ErrNotExist) {
		if f, err = os.CreateTemp(filepath.Dir(file), ".quorate-"); err == nil {
			defer os.Remove(f.Name())
		} else if why := new(os.PathError); errors.As(err, &why) { // of a file that nobody named
			return &os.PathError{Op: "create", Path: file, Err: why.Err}
		}
	}
	if err != nil {
		return err
	}
	return f.Close()
}

// result shows a result, and keeps its behaviours for finish.
func (o *output) result(cmd *cobra.Command, e *entry, v Variant, r *checker.Result) error {
	if o.draws() {
		o.behaviours = append(o.behaviours, r.Behaviours(titleOf(e, v))...)
		if o.file == "" {
			return nil // the picture is what goes to standard output
		}
	}
	return writeResult(cmd.OutOrStdout(), e, v, r, o.format == formatJSON)
}

// titleOf names a model and its variant.
func titleOf(e *entry, v Variant) string {
	if v == (Variant{}) {
		return e.Name
	}
	return e.Name + " " + v.String()
}

// finish writes the file. It is called once, when all runs have ended.
func (o *output) finish(cmd *cobra.Command) error {
	switch {
	case o.report != "":
		return o.write(cmd, func(w io.Writer) error { return writeReport(w, o.report, o.runs) })
	case !o.draws():
		return nil
	case len(o.behaviours) == 0:
		fmt.Fprintln(cmd.ErrOrStderr(), "quorate: there is no behaviour to show")
		return nil
	}
	first := &o.behaviours[0]
	if n := len(o.behaviours) - 1; n > 0 && o.format != formatHTML {
		fmt.Fprintf(cmd.ErrOrStderr(), "quorate: not shown: %d more; -property chooses one, -format html has all\n", n)
	}
	return o.write(cmd, func(w io.Writer) error {
		switch o.format {
		case formatSVG:
			return first.WriteSVG(w)
		case formatITF:
			return first.WriteITF(w)
		}
		return checker.WritePage(w, first.Title, o.behaviours)
	})
}

func (o *output) write(cmd *cobra.Command, text func(io.Writer) error) error {
	if o.file == "" {
		return text(cmd.OutOrStdout())
	}
	var b bytes.Buffer
	if err := text(&b); err != nil {
		return err
	}
	if err := writeWhole(o.file, b.Bytes()); err != nil {
		return fmt.Errorf("-o: %w", err)
	}
	return nil
}

// writeWhole writes a file, and leaves no part of it behind if it cannot be written. What
// stood in it before is then lost only if it is no file that a name can be moved to.
func writeWhole(file string, text []byte) error {
	info, err := os.Lstat(file)
	if err == nil && !info.Mode().IsRegular() { // a link, a pipe, a terminal
		return os.WriteFile(file, text, 0o666)
	}
	beside := file + ".part"
	f, err := os.OpenFile(beside, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if errors.Is(err, os.ErrPermission) || errors.Is(err, os.ErrExist) {
		return os.WriteFile(file, text, 0o666) // the directory takes no other file
	} else if err != nil {
		return fmt.Errorf("beside %s: %w", file, err)
	}
	if info != nil {
		err = f.Chmod(info.Mode().Perm())
	}
	if err == nil {
		_, err = f.Write(text)
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(beside, file)
	}
	if err == nil {
		return nil
	}
	os.Remove(beside)
	if why := new(os.PathError); errors.As(err, &why) {
		return &os.PathError{Op: why.Op, Path: file, Err: why.Err}
	}
	return err
}

// report is a result as JSON: what was explored, and what came of it.
type report struct {
	Model     string `json:"model"`
	Module    string `json:"module"`
	Mutation  string `json:"mutation,omitempty"`
	DropGuard string `json:"drop_guard,omitempty"`
	On        string `json:"on,omitempty"`
	*checker.Result
}

// writeResult writes a result as a line of JSON, or for a reader.
func writeResult(w io.Writer, e *entry, v Variant, r *checker.Result, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(report{e.Name, e.Module, v.Mutation, v.DropGuard, v.On, r})
	}
	if mu, ok := spec.MutationNamed(v.Mutation); ok {
		fmt.Fprintf(w, "%s: %s\n%s\n\n", mu.ID, mu.Title, wrapped(mu.Story))
		if note := neverReached(e, v, r); note != "" { // else the verdict below reads as if nothing were wrong
			fmt.Fprintf(w, "%s, and nothing else is wrong:\n", note)
		}
	}
	_, mu, ofConcern := concernMutation(v.Mutation)
	if ofConcern {
		fmt.Fprintf(w, "%s: %s\n%s\n\n", mu.ID, mu.Title, wrapped(mu.Story))
	}
	if v != (Variant{}) {
		fmt.Fprintf(w, "%s, ", v)
	}
	if err := r.WriteText(w); err != nil {
		return err
	}
	if ofConcern && len(r.Violations) > 0 && mu.Steps > 0 && !slices.ContainsFunc(r.Violations, func(x checker.Violation) bool { return x.Property == mu.Property }) {
		_, err := fmt.Fprintf(w, "  %s is listed with %s, after %d steps: quorate bugs show %s\n", mu.ID, mu.Property, mu.Steps, mu.ID)
		return err
	}
	return nil
}

// wrapped breaks a text into lines that fit a terminal.
func wrapped(text string) string {
	const width = 88
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(text) {
		switch {
		case column == 0:
		case column+1+len(word) > width:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
