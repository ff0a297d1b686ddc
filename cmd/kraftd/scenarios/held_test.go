package scenarios

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/quorate/quorate/traces"
	"github.com/quorate/quorate/traces/concerns"
	"github.com/quorate/quorate/traces/event/concern"
	"github.com/stretchr/testify/require"
)

// traceFile is the trace of the replica of a place; what it does about bootstrap and cluster
// id is recorded beside it.
const traceFile = "trace.ndjson"

// counted are the events of all places that were held against the specification.
var counted struct {
	mu     sync.Mutex
	places int
	events map[string]map[string]int // by concern and action
}

// countedText says how many.
func countedText() string {
	counted.mu.Lock()
	defer counted.mu.Unlock()
	var text strings.Builder
	fmt.Fprintf(&text, "held against the specification at %d places:", counted.places)
	for _, of := range slices.Sorted(maps.Keys(counted.events)) {
		fmt.Fprintf(&text, "\n%s:", of)
		for _, action := range slices.Sorted(maps.Keys(counted.events[of])) {
			fmt.Fprintf(&text, " %s %d", action, counted.events[of][action])
		}
	}
	return text.String()
}

// recordings are what the nodes of a place have recorded beside their traces.
func (p *place) recordings() (names []string) {
	names, err := filepath.Glob(p.path("concerns-*.ndjson"))
	require.NoError(p.t, err)
	return names
}

// changed is called when the test changes files of a node by hand: what was recorded before
// does not lead to them.
func (p *place) changed() {
	p.t.Helper()
	for _, name := range append(p.recordings(), p.path(traceFile)) {
		if err := os.Remove(name); !os.IsNotExist(err) {
			require.NoError(p.t, err)
		}
	}
}

// held holds what the node of a place has done, as a process may be killed between a step and
// its event, against the specification of bootstrap and cluster ids.
func (p *place) held() {
	for _, name := range p.recordings() {
		in := concerns.File(name)
		if _, err := os.Stat(p.path(traceFile)); err == nil {
			replica := traces.File(p.path(traceFile))
			in.Replica = &replica
		}
		res, err := concerns.Validate([]concerns.Input{in}, concerns.Options{Hidden: 1})
		if err != nil {
			p.t.Error(err)
			return
		}
		if res.Rejection != nil {
			p.t.Errorf("%s\n%s", res.Rejection.Text(), p.read(filepath.Base(name)))
		}
		counted.mu.Lock()
		counted.places++
		if counted.events == nil {
			counted.events = map[string]map[string]int{concern.Bootstrap: {}, concern.ClusterID: {}}
		}
		for of, actions := range res.Events {
			for action, times := range actions {
				counted.events[of][action] += times
			}
		}
		counted.mu.Unlock()
	}
}
