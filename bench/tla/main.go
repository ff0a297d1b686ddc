// Command tla holds the specification in spec/ to its twin in TLA+ (docs/tla): TLC
// explores the same models, and must find as many distinct states, take as many
// steps and go as deep; with a mutation it must find a counterexample of the same
// length. Both times are printed.
//
//	go run ./bench/tla -jar tla2tools.jar
//	go run ./bench/tla -jar tla2tools.jar -models election,figure8 -mutations KAFKA-12619
//	go run ./bench/tla -write
//
// It exits with 1 if anything differs, 2 if it cannot run, and 0 with a word that
// says so if there is no jar.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/quorate/quorate/bench/internal/peer"
	"github.com/quorate/quorate/spec"
)

// small is the number of states up to which a model is run when none is named.
const small = 450_000

// mutations are those that docs/tla/Mutations.tla has, run when none is named.
var mutations = []string{
	"majority-of-one-less", "KAFKA-10533", "candidate-claims-unflushed", "leader-counts-unflushed",
	"unconfirmed-read", "read-before-commit", "KAFKA-12619", "figure-8", "majority-of-half", "late-response",
}

// rules are the rules that those mutations override.
var rules = map[string]string{
	"KAFKA-12619": "MayExpose", "figure-8": "MayExpose", "KAFKA-10533": "MayAcknowledge",
	"candidate-claims-unflushed": "MayClaim", "leader-counts-unflushed": "OwnEnd",
	"majority-of-one-less": "Majority", "majority-of-half": "Majority", "late-response": "TakesLate",
	"unconfirmed-read": "IsConfirmed", "read-before-commit": "MayRead",
}

type comparison struct {
	tlc     peer.TLC
	quorate string
	module  string
	scratch string
	timeout time.Duration
	failed  bool
}

func main() {
	c := comparison{}
	jar := flag.String("jar", os.Getenv("TLA2TOOLS"), "tla2tools.jar; default: TLA2TOOLS")
	models := flag.String("models", "", fmt.Sprintf("models, separated by commas; none: -; default: those of up to %d states", small))
	mutated := flag.String("mutations", strings.Join(mutations, ","), "mutations, separated by commas; none: -")
	dir := flag.String("spec", "docs/tla", "the directory of the modules")
	write := flag.Bool("write", false, "write Models.tla anew and do nothing else")
	flag.StringVar(&c.tlc.Java, "java", "java", "the java command")
	flag.StringVar(&c.tlc.Heap, "heap", "4g", "the largest heap of TLC")
	flag.IntVar(&c.tlc.Workers, "workers", 1, "workers of TLC and of quorate; mutations always have one")
	flag.StringVar(&c.quorate, "quorate", "bin/quorate", "our command")
	flag.StringVar(&c.scratch, "out", "out/tla", "a directory for what TLC writes")
	flag.DurationVar(&c.timeout, "timeout", 30*time.Minute, "the longest that one run of TLC may take")
	flag.Parse()
	if flag.NArg() > 0 {
		usage("unexpected argument %q", flag.Arg(0))
	}
	if *write {
		if err := os.WriteFile(filepath.Join(*dir, "Models.tla"), []byte(modelsModule()), 0o644); err != nil {
			usage("%v", err)
		}
		return
	}
	if *jar == "" {
		fmt.Println("tla: SKIPPED: no TLC. Nothing was compared. Give it the jar of the TLA+ tools:\n" +
			"  make tla TLA2TOOLS=/path/to/tla2tools.jar\n" +
			"docs/tla/README.md says where to get it and how to build it from its sources.")
		return
	}
	var err error
	if c.tlc.Jar, err = filepath.Abs(*jar); err == nil {
		_, err = os.Stat(c.tlc.Jar)
	}
	if err == nil {
		c.module, err = filepath.Abs(filepath.Join(*dir, "KRaft.tla"))
	}
	if err == nil {
		c.scratch, err = filepath.Abs(c.scratch)
	}
	if err == nil {
		err = peer.Clear(c.scratch)
	}
	if err != nil {
		usage("%v", err)
	}
	if err := c.models(modelNames(*models)); err != nil {
		usage("%v", err)
	}
	if err := c.mutations(list(*mutated)); err != nil {
		usage("%v", err)
	}
	if c.failed {
		fmt.Println("\nDIFFERENT: the twin and the specification do not agree")
		os.Exit(1)
	}
	fmt.Println("\nequal")
}

func usage(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "tla: "+format+"\n", args...)
	os.Exit(2)
}

func list(s string) []string {
	if s == "" || s == "-" {
		return nil
	}
	return strings.Split(s, ",")
}

func modelNames(s string) []string {
	if s != "" {
		return list(s)
	}
	var names []string
	for i := range spec.Models {
		m := &spec.Models[i]
		if pin, ok := m.Pin(); ok && pin.Distinct <= small && m.Unsafe == "" && beyond(m) == "" {
			names = append(names, m.Name)
		}
	}
	return names
}

// models compares whole explorations.
func (c *comparison) models(names []string) error {
	if len(names) == 0 {
		return nil
	}
	fmt.Println("| model | distinct | generated | depth | TLC s | CPU s | generated/CPU s | ours s | CPU s | generated/CPU s | TLC to ours | CPU | |")
	fmt.Println("|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---|")
	for _, name := range names {
		m, ok := spec.ModelNamed(name)
		if !ok {
			return fmt.Errorf("no model %q: see quorate models", name)
		}
		if f := beyond(m); f != "" {
			return fmt.Errorf("model %s has %s, which the twin does not know", name, f)
		}
		var names []string
		for _, p := range spec.Properties {
			if twin(p) && m.Unsafe == "" {
				names = append(names, p.Name)
			}
		}
		ours, err := c.ours(name)
		if err != nil {
			return err
		}
		theirs, err := c.theirs(c.tlc, name, config(name, names, ""))
		if err != nil {
			return err
		}
		verdict := "equal"
		switch {
		case theirs.Violated != "":
			verdict = fmt.Sprintf("DIFFERENT: TLC says that %s is violated, after %d steps", theirs.Violated, theirs.Trace-1)
		case theirs.Distinct != ours.Distinct || theirs.Generated != ours.Generated+ours.Initial || theirs.Depth != ours.Depth:
			verdict = fmt.Sprintf("DIFFERENT: TLC has %d, %d, %d", theirs.Distinct, theirs.Generated-ours.Initial, theirs.Depth)
		}
		c.failed = c.failed || verdict != "equal"
		fmt.Printf("| %s | %d | %d | %d | %.1f | %.1f | %.0f | %.3f | %.3f | %.0f | %.0f | %.0f | %s |\n", name, ours.Distinct, ours.Generated, ours.Depth,
			theirs.Run.Seconds, theirs.CPU, float64(theirs.Generated)/theirs.CPU,
			ours.Run.Seconds, ours.CPU, float64(ours.Generated)/ours.CPU,
			theirs.Run.Seconds/ours.Run.Seconds, theirs.CPU/ours.CPU, verdict)
	}
	return nil
}

// mutations compares the lengths of shortest counterexamples.
func (c *comparison) mutations(ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	one := c.tlc
	one.Workers = 1
	fmt.Println("\n| mutation | model | property | steps | TLC s | ours s | |")
	fmt.Println("|---|---|---|---:|---:|---:|---|")
	for _, id := range ids {
		m, ok := spec.MutationNamed(id)
		if !ok {
			return fmt.Errorf("no mutation %q: see quorate bugs", id)
		}
		rule, ok := rules[id]
		if !ok {
			return fmt.Errorf("the twin has no mutation %q", id)
		}
		ours, err := c.ours(m.Model, "-mutate", id, "-property", m.Property)
		if err != nil {
			return err
		}
		if len(ours.Violations) == 0 {
			return fmt.Errorf("quorate does not catch %s in %s", id, m.Model)
		}
		steps := len(ours.Violations[0].Trace) - 1
		theirs, err := c.theirs(one, m.Model, config(m.Model, []string{m.Property}, rule+" <- "+strings.ReplaceAll(id, "-", "_")+"_"+rule))
		if err != nil {
			return err
		}
		verdict := "equal"
		switch {
		case theirs.Violated == "":
			verdict = "DIFFERENT: TLC does not catch it"
		case theirs.Violated != m.Property || theirs.Trace-1 != steps:
			verdict = fmt.Sprintf("DIFFERENT: TLC says that %s is violated, after %d steps", theirs.Violated, theirs.Trace-1)
		}
		c.failed = c.failed || verdict != "equal"
		fmt.Printf("| %s | %s | %s | %d | %.1f | %.3f | %s |\n", id, m.Model, m.Property, steps, theirs.Run.Seconds, ours.Run.Seconds, verdict)
	}
	return nil
}

func (c *comparison) ours(model string, args ...string) (*peer.QuorateResult, error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	return peer.Quorate(ctx, c.quorate, model, append(args, "-workers", fmt.Sprint(c.tlc.Workers))...)
}

func (c *comparison) theirs(tlc peer.TLC, model, config string) (*peer.TLCResult, error) {
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	name := filepath.Join(c.scratch, model+".cfg")
	if err := os.WriteFile(name, []byte(config), 0o644); err != nil {
		return nil, err
	}
	return tlc.Check(ctx, c.scratch, name, c.module)
}
