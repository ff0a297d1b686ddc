package peer

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// TLC runs the model checker of TLA+ from its jar.
type TLC struct {
	// Jar is tla2tools.jar, Java the command.
	Jar, Java string
	// Heap is the largest heap, as java takes it: 4g.
	Heap string
	// Workers that expand states. Only one finds shortest counterexamples for sure.
	Workers int
}

// TLCResult is what a run of TLC found.
type TLCResult struct {
	Run
	// Distinct and Generated count states; initial states are generated too.
	Distinct, Generated uint64
	// Depth is the number of levels, 0 if the search did not end.
	Depth int
	// Violated is the property or invariant that is violated, and Trace how many
	// states the counterexample has.
	Violated string
	Trace    int
}

var (
	tlcStates    = regexp.MustCompile(`(?m)^(\d+) states generated, (\d+) distinct states found, (\d+) states left on queue\.`)
	tlcDepth     = regexp.MustCompile(`(?m)^The depth of the complete state graph search is (\d+)\.`)
	tlcViolation = regexp.MustCompile(`(?m)^Error: (?:Invariant (\S+) is violated|Action property (\S+) is violated|Temporal properties were violated|Deadlock reached)`)
	tlcStep      = regexp.MustCompile(`(?m)^State (\d+): `)
	tlcError     = regexp.MustCompile(`(?m)^(Error:|\*\*\*|Fatal)`)
)

// Check explores a module with a configuration and further arguments; scratch is a
// directory for its files.
func (t TLC) Check(ctx context.Context, scratch, config, module string, args ...string) (*TLCResult, error) {
	meta := filepath.Join(scratch, "states")
	if err := Clear(meta); err != nil {
		return nil, err
	}
	all := []string{
		"-XX:+UseParallelGC", "-Xmx" + t.Heap, "-cp", t.Jar, "tlc2.TLC",
		"-workers", strconv.Itoa(t.Workers), "-metadir", meta, "-noGenerateSpecTE", "-lncheck", "final", "-config", config,
	}
	r, err := Do(ctx, scratch, t.Java, append(append(all, args...), module)...)
	if err != nil {
		return nil, err
	}
	res, err := parseTLC(r.Output)
	if err != nil {
		return nil, fmt.Errorf("TLC on %s with %s: %w\n%s", filepath.Base(module), filepath.Base(config), err, r.Tail(15))
	}
	res.Run = *r
	return res, nil
}

func parseTLC(out string) (*TLCResult, error) {
	res := &TLCResult{}
	if v := tlcViolation.FindStringSubmatch(out); v != nil {
		if res.Violated = v[1] + v[2]; res.Violated == "" {
			res.Violated = strings.TrimSuffix(strings.TrimPrefix(v[0], "Error: "), ".")
		}
		for _, s := range tlcStep.FindAllStringSubmatch(out, -1) {
			n, err := strconv.Atoi(s[1])
			if err != nil {
				return nil, err
			}
			res.Trace = max(res.Trace, n)
		}
		res.Trace = max(res.Trace, 1) // of an initial state there is no trace
	} else if e := tlcError.FindStringIndex(out); e != nil {
		line, _, _ := strings.Cut(out[e[0]:], "\n\n")
		return nil, fmt.Errorf("it failed: %s", line)
	}
	n := tlcStates.FindAllStringSubmatch(out, -1)
	if n == nil {
		return nil, fmt.Errorf("no count of states in its output")
	}
	last := n[len(n)-1]
	res.Generated, _ = strconv.ParseUint(last[1], 10, 64)
	res.Distinct, _ = strconv.ParseUint(last[2], 10, 64)
	if last[3] != "0" && res.Violated == "" {
		return nil, fmt.Errorf("%s states were left unexplored", last[3])
	}
	if d := tlcDepth.FindStringSubmatch(out); d != nil {
		res.Depth, _ = strconv.Atoi(d[1])
	}
	return res, nil
}

// Simulate follows random behaviours of at most so many steps, always the same ones.
func (t TLC) Simulate(ctx context.Context, scratch, config, module string, behaviours, steps int) (*Run, error) {
	r, err := Do(ctx, scratch, t.Java, "-XX:+UseParallelGC", "-Xmx"+t.Heap, "-cp", t.Jar, "tlc2.TLC",
		"-simulate", fmt.Sprintf("num=%d", behaviours), "-depth", strconv.Itoa(steps), "-seed", "1", "-workers", "1",
		"-metadir", filepath.Join(scratch, "states"), "-noGenerateSpecTE", "-config", config, module)
	if err == nil && (r.Exit != 0 || tlcError.MatchString(r.Output)) {
		err = fmt.Errorf("TLC on %s: exit code %d\n%s", filepath.Base(module), r.Exit, r.Tail(15))
	}
	return r, err
}
