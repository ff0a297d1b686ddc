package scenarios

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience bounds every wait for a process. It is long, since machines may be busy.
const patience = 60 * time.Second

// kraftd is the program, built once for all.
var kraftd string

func TestMain(m *testing.M) { os.Exit(prepare(m)) }

func prepare(m *testing.M) int {
	dir, err := os.MkdirTemp("", "scenarios")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	kraftd = filepath.Join(dir, "kraftd")
	if out, err := exec.Command("go", "build", "-o", kraftd, "..").CombinedOutput(); err != nil {
		fmt.Printf("build kraftd: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// last is the number of the last scenario.
const last = 50

// open are those that nothing plays yet, each with what it waits for.
var open = map[int]string{}

// scenario is one of them.
type scenario struct {
	number int
	title  string
	play   func(t *testing.T)
}

// all are the scenarios. Files add theirs with [add].
var all []scenario

// add is called when variables are initialised: var _ = add(1, "…", func(t *testing.T) {…}).
func add(number int, title string, play func(t *testing.T)) bool {
	all = append(all, scenario{number, title, play})
	return true
}

// TestScenario plays all scenarios, and prints which have passed.
func TestScenario(t *testing.T) {
	slices.SortFunc(all, func(a, b scenario) int { return a.number - b.number })
	var mu sync.Mutex
	passed := map[int]string{} // guarded by mu
	t.Cleanup(func() {
		var table strings.Builder
		for n := range last + 1 {
			if why := open[n]; why != "" {
				fmt.Fprintf(&table, "%4d  open     %s\n", n, why)
			}
			for _, s := range all {
				if how := passed[n]; s.number == n && how != "" {
					fmt.Fprintf(&table, "%4d  %-8s %s\n", n, how, s.title)
				}
			}
		}
		t.Logf("scenario, passed:\n%s%s", table.String(), countedText())
	})
	for _, s := range all {
		t.Run(fmt.Sprintf("%02d", s.number), func(t *testing.T) {
			t.Parallel()
			t.Cleanup(func() {
				mu.Lock()
				defer mu.Unlock()
				passed[s.number] = map[bool]string{true: "FAILED", false: "passed"}[t.Failed()]
			})
			s.play(t)
		})
	}
}

// TestNumbers: each number is that of one scenario, or of one that is open.
func TestNumbers(t *testing.T) {
	have := slices.Collect(maps.Keys(open))
	for _, s := range all {
		have = append(have, s.number)
	}
	slices.Sort(have)
	var want []int
	for n := range last {
		want = append(want, n+1)
	}
	require.Equal(t, want, have)
}
