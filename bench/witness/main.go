package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/quorate/quorate/bench/internal/peer"
	"github.com/quorate/quorate/spec"
)

// epochs is the highest epoch that is looked at: the established one and the next.
const epochs = 2

// length of random behaviours.
const length = 80

// run is one public specification in one size.
type run struct {
	name, spec string
	servers    int
	// inFlight bounds their messages; unbounded: not at all, and then each difference must
	// have a name in both directions.
	inFlight int
	// behaviours is how many random ones are followed instead of all, 0: all.
	behaviours int
	// disruptive is how often an election begins without need, in kip_996.
	disruptive int

	note string
}

const unbounded = 1000

var runs = []run{
	{name: "853-2", spec: "kip_853", servers: 2, inFlight: unbounded},
	{name: "853-3", spec: "kip_853", servers: 3, inFlight: 2},
	{name: "853-3-random", spec: "kip_853", servers: 3, inFlight: unbounded, behaviours: 5000},
	{name: "996-2", spec: "kip_996", servers: 2, inFlight: 3, disruptive: 1},
	{name: "996-2-random", spec: "kip_996", servers: 2, inFlight: unbounded, disruptive: 9, behaviours: 5000},
}

// complete says whether TLC reaches all that the public specification allows.
func (r *run) complete() bool { return r.inFlight == unbounded && r.behaviours == 0 }

// model is the same box in ours. The public specifications have no EndQuorumEpoch and no
// answer to BeginQuorumEpoch, so here nobody learns anything from such answers.
func (r *run) model() *spec.Model {
	m := &spec.Model{
		Name: r.name, Voters: r.servers, Epochs: epochs, InFlight: 2, MergeFlush: true,
		Silent: spec.Kinds(spec.BeginQuorumEpoch, spec.EndQuorumEpoch), Resigns: 3, CheckQuorum: true,
	}
	if r.spec == "kip_996" {
		m.PreVote = spec.All(r.servers)
	}
	return m
}

// replicas are the role, epoch and vote of each replica of a projected state.
var replicas = regexp.MustCompile(`<<(\w+), (\d+), (\w+), <<`)

// resigned is a replica that resigned, with its epoch and its log.
var resigned = regexp.MustCompile(`<<Resigned, (\d+), \w+, <<([\d, ]*)>>>>`)

// named are the differences that are known: what is in one specification only, and why.
// Each is a predicate on a projected state that we reach and they do not.
var named = []struct {
	name string
	is   func(state string) bool
}{
	{"the first record of a leader is a step of its own", func(s string) bool { return s == between }},
	{"a leader gives up before its first record", func(s string) bool {
		for _, m := range resigned.FindAllStringSubmatch(s, -1) {
			epoch, _ := strconv.Atoi(m[1])
			if last := m[2][max(0, len(m[2])-1):]; last != strconv.Itoa(epoch) {
				return true
			}
		}
		return false
	}},
	{"a replica gives up a pre-vote while answers are outstanding", func(s string) bool {
		for i, m := range replicas.FindAllStringSubmatch(s, -1) {
			// Having stood in this very epoch it can have come there in no other way.
			if m[1] == "Unattached" && m[3] == strconv.Itoa(i+1) {
				return true
			}
		}
		return false
	}},
}

func main() {
	jar := flag.String("jar", os.Getenv("TLA2TOOLS"), "tla2tools.jar; default: TLA2TOOLS")
	community := flag.String("community", "", "CommunityModules.jar, which the public specifications need")
	specs := flag.String("specs", "", "the directory kraft of a copy of kafka-tlaplus")
	out := flag.String("out", "out/witness", "a directory for what TLC reads and writes")
	java := flag.String("java", "java", "the java command")
	only := flag.String("run", "", "one run only: 853-2, 853-3, 853-3-random, 996-2, 996-2-random")
	list := flag.Bool("list", false, "list states that only one of the two reaches")
	timeout := flag.Duration("timeout", 20*time.Minute, "the longest that one run of TLC may take")
	flag.Parse()
	if *jar == "" || *community == "" || *specs == "" {
		fmt.Println("witness: SKIPPED: it takes -jar, -community and -specs. Nothing was compared")
		return
	}
	for _, p := range []*string{jar, community, specs, out} {
		var err error
		if *p, err = filepath.Abs(*p); err != nil {
			fatal("%v", err)
		}
	}
	tlc := peer.TLC{Jar: *jar + string(os.PathListSeparator) + *community, Java: *java, Heap: "4g", Workers: 1}
	same, any := true, false
	for i := range runs {
		r := &runs[i]
		if *only != "" && *only != r.name {
			continue
		}
		any = true
		ctx, cancel := context.WithTimeout(context.Background(), *timeout)
		theirs, err := r.theirs(ctx, tlc, *specs, filepath.Join(*out, r.name))
		cancel()
		if err != nil {
			fatal("%s: %v", r.name, err)
		}
		ours, res, err := explore(r.model(), view{preVote: r.spec == "kip_996"})
		if err != nil {
			fatal("%s: %v", r.name, err)
		}
		fmt.Printf("%s: %s; ours: all of %d states\n", r.name, r.note, res.Distinct)
		same = compare(r, ours, theirs, *list) && same
	}
	if !any {
		fatal("no run %q", *only)
	}
	if !same {
		fmt.Println("\nDIFFERENT: a difference that has no name")
		os.Exit(1)
	}
}

func fatal(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "witness: "+format+"\n", args...)
	os.Exit(2)
}

// compare prints what both reach and what only one does, and returns whether every
// difference is accounted for.
func compare(r *run, ours, theirs map[string]bool, list bool) bool {
	both := 0
	kinds := make([]int, len(named))
	var lost, extra []string
	for _, s := range slices.Sorted(maps.Keys(ours)) {
		kind := slices.IndexFunc(named, func(n struct {
			name string
			is   func(string) bool
		}) bool {
			return n.is(s)
		})
		switch {
		case theirs[s]:
			both++
		case kind >= 0:
			kinds[kind]++
		default:
			extra = append(extra, s)
		}
	}
	for _, s := range slices.Sorted(maps.Keys(theirs)) {
		if !ours[s] {
			lost = append(lost, s)
		}
	}
	fmt.Printf("  projected states: %d in both, %d only theirs\n", both, len(lost))
	for i, n := range kinds {
		if n > 0 {
			fmt.Printf("  %d only ours: %s\n", n, named[i].name)
		}
	}
	if len(extra) > 0 {
		why := "without a name"
		if !r.complete() {
			why = "beyond what TLC was told to look at, or has come across"
		}
		fmt.Printf("  %d only ours: %s\n", len(extra), why)
	}
	if list || len(lost) > 0 || r.complete() {
		for _, s := range lost {
			fmt.Println("  only theirs", s)
		}
		for _, s := range extra {
			fmt.Println("  only ours  ", s)
		}
	}
	return len(lost) == 0 && (len(extra) == 0 || !r.complete())
}
