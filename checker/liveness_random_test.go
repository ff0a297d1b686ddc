package checker

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/graph/simple"
	"gonum.org/v1/gonum/graph/topo"
)

// labelled is a graph given by its edges, as a specification.
type labelled struct {
	info     Info
	live     Liveness
	states   int
	initials []int
	edges    []labelledEdge
	atoms    []Atoms
	bounds   map[int]Bound
}

type labelledEdge struct {
	from, to, process int
	action            ActionID
	args              uint32
}

func (g *labelled) Info() *Info         { return &g.info }
func (g *labelled) Liveness() *Liveness { return &g.live }
func (g *labelled) Init(out *Sink[uint64]) {
	for _, s := range g.initials {
		*out.Slot() = uint64(s)
		out.Commit(-1, Instance{}, 0, 0)
	}
}
func (g *labelled) Next(s *uint64, out *Sink[uint64]) {
	if b, ok := g.bounds[int(*s)]; ok {
		out.Bounded(b)
	}
	for _, e := range g.edges {
		if e.from == int(*s) {
			*out.Slot() = uint64(e.to)
			out.Commit(e.process, Instance{e.action, e.args}, 0, 0)
		}
	}
}
func (g *labelled) Check(*uint64) (violated, reached Props) { return 0, 0 }
func (g *labelled) Describe(s *uint64) []Field {
	return []Field{{Path: "state", Value: fmt.Sprint(*s)}}
}
func (g *labelled) Atoms(s *uint64) Atoms { return g.atoms[*s] }

// randomGraph has few edges, so that all sets of them can be looked at.
func randomGraph(rnd *rand.Rand, states, edges int) *labelled {
	g := &labelled{states: states}
	g.info = Info{Name: "random", Actions: []string{"a", "b", "c"}, Processes: []string{"p", "q"}}
	for range states {
		g.atoms = append(g.atoms, Atoms(rnd.IntN(16)))
	}
	for range edges {
		g.edges = append(g.edges, labelledEdge{
			rnd.IntN(states), rnd.IntN(states), rnd.IntN(3) - 1, ActionID(rnd.IntN(3)), uint32(rnd.IntN(2)),
		})
	}
	g.initials = []int{rnd.IntN(states)}
	if rnd.IntN(3) == 0 {
		g.initials = append(g.initials, rnd.IntN(states))
	}
	some := func(n int) Atoms { // n of the four atoms, or fewer
		var a Atoms
		for range n {
			a |= 1 << rnd.IntN(4)
		}
		return a
	}
	set := func() StepSet {
		var s StepSet
		if rnd.IntN(3) > 0 {
			s.Actions = []ActionID{ActionID(rnd.IntN(3))}
		}
		if rnd.IntN(2) == 0 {
			s.Processes = []int{rnd.IntN(3) - 1}
		}
		if rnd.IntN(4) == 0 {
			s.Mask, s.Args = 1, uint32(rnd.IntN(2))
		}
		if rnd.IntN(4) == 0 {
			s.When = some(1)
		}
		if rnd.IntN(4) == 0 {
			s.Unless = some(1)
		}
		return s
	}
	g.live.Atoms = []string{"w", "x", "y", "z"}
	for i := range rnd.IntN(5) {
		f := Fairness{Name: fmt.Sprint("fair", i), Strong: rnd.IntN(2) == 0, Steps: []StepSet{set()}}
		if rnd.IntN(3) == 0 {
			f.Steps = append(f.Steps, set())
		}
		g.live.Fair = append(g.live.Fair, f)
	}
	if rnd.IntN(2) == 0 {
		g.live.Finally.Never = append(g.live.Finally.Never, set())
	}
	if rnd.IntN(3) == 0 {
		g.live.Finally.From = some(1)
	}
	if rnd.IntN(4) == 0 {
		g.live.Finally.Always = some(1)
	}
	for i := range 4 {
		p := LivenessProperty{Name: fmt.Sprint("property", i), Form: LivenessForm(i), P: some(1), Q: some(2)}
		if rnd.IntN(4) == 0 {
			p.P = 0
		}
		if p.Form != EventuallyAlways && rnd.IntN(3) == 0 {
			p.Steps = []StepSet{set()}
			if rnd.IntN(2) == 0 {
				p.Q = 0
			}
		}
		g.live.Properties = append(g.live.Properties, p)
	}
	return g
}

// naive judges a labelled graph by looking at every set of edges that a behaviour
// may take again and again. It shares nothing with RunLiveness.
type naive struct {
	*labelled
	out [][]int // edges by state
}

func (n *naive) in(e int, sets []StepSet) bool {
	edge := n.edges[e]
	for _, s := range sets {
		ok := s.Actions == nil
		for _, a := range s.Actions {
			ok = ok || a == edge.action
		}
		who := s.Processes == nil
		for _, p := range s.Processes {
			who = who || p == edge.process
		}
		at := n.atoms[edge.from]
		if ok && who && edge.args&s.Mask == s.Args && at&s.When == s.When && at&s.Unless == 0 {
			return true
		}
	}
	return false
}

func (n *naive) never(e int) bool { return n.in(e, n.live.Finally.Never) }

// recurring is what a behaviour does again and again: edges, and states.
type recurring struct{ edges, states uint64 }

// fair says whether a behaviour that recurs so is fair.
func (n *naive) fair(r recurring) bool {
	for _, f := range n.live.Fair {
		taken, everywhere, somewhere := false, true, false
		for s := range n.states {
			if r.states>>s&1 == 0 {
				continue
			}
			enabled := false
			for _, e := range n.out[s] {
				enabled = enabled || n.in(e, f.Steps) && !n.never(e)
			}
			everywhere, somewhere = everywhere && enabled, somewhere || enabled
		}
		for e := range n.edges {
			taken = taken || r.edges>>e&1 == 1 && n.in(e, f.Steps)
		}
		if !taken && (f.Strong && somewhere || !f.Strong && everywhere) {
			return false
		}
	}
	return true
}

// all lists what fair behaviours may do again and again where the assumptions hold.
func (n *naive) all() []recurring {
	var list []recurring
	good := func(s int) bool { return n.atoms[s]&n.live.Finally.Always == n.live.Finally.Always }
	for s := range n.states {
		if r := (recurring{0, 1 << s}); good(s) && n.fair(r) {
			list = append(list, r)
		}
	}
	for set := uint64(1); set < 1<<len(n.edges); set++ {
		r := recurring{edges: set}
		ok := true
		for e, edge := range n.edges {
			if set>>e&1 == 1 {
				r.states |= 1<<edge.from | 1<<edge.to
				ok = ok && !n.never(e) && good(edge.from) && good(edge.to)
			}
		}
		if ok && n.connected(r) && n.fair(r) {
			list = append(list, r)
		}
	}
	return list
}

// connected says whether each state can reach each other one by the edges.
func (n *naive) connected(r recurring) bool {
	for s := range n.states {
		if r.states>>s&1 == 0 {
			continue
		}
		seen := uint64(1) << s
		for range n.states {
			for e, edge := range n.edges {
				if r.edges>>e&1 == 1 && seen>>edge.from&1 == 1 {
					seen |= 1 << edge.to
				}
			}
		}
		if seen != r.states {
			return false
		}
	}
	return true
}

// distances to each state in which the assumptions hold and the property may be
// violated from there on, if nothing that it waits for comes any more; -1: none.
// It relaxes all edges until nothing changes.
func (n *naive) distances(p *LivenessProperty, ignore bool) []int {
	const far = 1 << 20
	type node struct {
		s             int
		open, settled bool
	}
	dist := map[node]int{}
	get := func(x node) int {
		if d, ok := dist[x]; ok {
			return d
		}
		return far
	}
	constrained := p != nil && (p.Form == Eventually || p.Form == LeadsTo) && !ignore
	ok := func(x node) bool {
		return !constrained || !x.open || p.Q == 0 || n.atoms[x.s]&p.Q != p.Q
	}
	changed := false
	set := func(x node, d int) {
		if ok(x) && d < get(x) {
			dist[x] = d
			changed = true
		}
	}
	for _, s := range n.initials {
		set(node{s, p == nil || p.Form != LeadsTo, false}, 0)
	}
	final := n.live.Finally
	for changed = true; changed; {
		changed = false
		for s := range n.states {
			for _, open := range []bool{false, true} {
				for _, settled := range []bool{false, true} {
					x := node{s, open, settled}
					d := get(x)
					if d == far {
						continue
					}
					if !open && n.atoms[s]&p.P == p.P {
						set(node{s, true, settled}, d)
					}
					if start := final.From | final.Always; n.atoms[s]&start == start {
						set(node{s, open, true}, d)
					}
					for _, e := range n.out[s] {
						t := n.edges[e].to
						if settled && (n.never(e) || n.atoms[t]&final.Always != final.Always) {
							continue
						}
						if constrained && open && n.in(e, p.Steps) {
							continue
						}
						set(node{t, open, settled}, d+1)
					}
				}
			}
		}
	}
	list := make([]int, n.states)
	for s := range list {
		list[s] = -1
		if d := get(node{s, true, true}); d < far {
			list[s] = d
		}
	}
	return list
}

// violates says whether what recurs violates a property, whatever came before.
func (n *naive) violates(p *LivenessProperty, r recurring) bool {
	bad := p.Form != EventuallyAlways
	for s := range n.states {
		if r.states>>s&1 == 1 {
			satisfied := p.Q != 0 && n.atoms[s]&p.Q == p.Q
			if p.Form == EventuallyAlways {
				bad = bad || !satisfied
			} else if satisfied {
				return false
			}
		}
	}
	for e := range n.edges {
		if r.edges>>e&1 == 1 && n.in(e, p.Steps) {
			return false
		}
	}
	return bad
}

// Leaving out what is in no suffix changes no answer.
func TestLivenessFromEnds(t *testing.T) {
	rounds := 4000
	if testing.Short() {
		rounds = 400
	}
	smaller, violated := 0, 0
	for seed := range rounds {
		rnd := rand.New(rand.NewPCG(uint64(seed), 11))
		g := randomGraph(rnd, 3+rnd.IntN(6), 4+rnd.IntN(14))
		g.live.Finally.From = 8
		for s := range g.atoms {
			g.atoms[s] |= 8
		}
		for _, s := range []int{rnd.IntN(g.states), rnd.IntN(g.states)} {
			g.atoms[s] &^= 8
		}
		for range g.states { // what follows a state without it has not got it either
			for _, e := range g.edges {
				g.atoms[e.to] &= g.atoms[e.from] | 7
			}
		}
		want, err := RunLiveness[uint64](g, Options{})
		require.NoError(t, err)
		g.live.Finally.FromEnds = true
		got, err := RunLiveness[uint64](g, Options{})
		require.NoError(t, err)
		if got.Distinct < want.Distinct {
			smaller++
		}
		violated += len(got.Violations)
		require.Equal(t, want.Violations, got.Violations, "seed %d", seed)
		got.Distinct, got.Edges, got.Seconds, got.Bytes = want.Distinct, want.Edges, want.Seconds, want.Bytes
		require.Equal(t, want, got, "seed %d", seed)
	}
	assert.Greater(t, smaller, rounds/10)
	assert.Greater(t, violated, rounds/4)
}

func TestLivenessFromEndsIsHeld(t *testing.T) {
	g := &labelled{
		states: 2, initials: []int{0}, atoms: []Atoms{0, 1},
		edges: []labelledEdge{{from: 0, to: 1}},
	}
	g.info = Info{Name: "back", Actions: []string{"a"}, Processes: []string{"p"}}
	g.live = Liveness{
		Atoms: []string{"early"}, Finally: Finally{From: 1, FromEnds: true},
		Properties: []LivenessProperty{{Name: "p", Form: Eventually, Q: 1}},
	}
	_, err := RunLiveness[uint64](g, Options{})
	assert.ErrorContains(t, err, "Finally.From ends, and a step leads to it from a state without it")
}

func TestLivenessAgainstNaive(t *testing.T) {
	rounds := 6000
	if testing.Short() {
		rounds = 1000
	}
	verdicts := map[string]int{}
	for seed := range rounds {
		rnd := rand.New(rand.NewPCG(uint64(seed), 7))
		g := randomGraph(rnd, 2+rnd.IntN(5), 2+rnd.IntN(9))
		n := &naive{labelled: g, out: make([][]int, g.states)}
		for e, edge := range g.edges {
			n.out[edge.from] = append(n.out[edge.from], e)
		}
		r, err := RunLiveness[uint64](g, Options{})
		require.NoError(t, err)
		all := n.all()
		base := n.distances(nil, false)
		var fair []recurring
		for _, x := range all {
			if reached(base, x, n.states) >= 0 {
				fair = append(fair, x)
			}
		}
		require.EqualValues(t, maximal(fair), r.Fair, "seed %d: fair components", seed)
		suffix, hopeless := n.hopeless(base, fair)
		require.EqualValues(t, suffix, r.Suffix, "seed %d", seed)
		require.EqualValues(t, hopeless, r.Hopeless, "seed %d", seed)
		for i := range g.live.Properties {
			p := &g.live.Properties[i]
			got := r.Properties[i]
			want, stem := "holds", -1
			premise := base
			if p.Form == LeadsTo {
				premise = n.distances(p, true)
			}
			if !reaches(premise, fair, n.states) {
				want = "vacuous"
			} else {
				dist := n.distances(p, false)
				for _, x := range all {
					if d := reached(dist, x, n.states); d >= 0 && n.violates(p, x) && (stem < 0 || d < stem) {
						want, stem = "violated", d
					}
				}
			}
			verdicts[p.Form.String()+" "+want]++
			require.Equal(t, want, got.Verdict, "seed %d: %s %+v", seed, p.Name, p)
			if want == "violated" {
				require.Equal(t, stem, got.Stem, "seed %d: %s: the stem is the shortest", seed, p.Name)
				for _, v := range r.Violations {
					if v.Property == p.Name {
						n.checkLasso(t, p, &v, got, seed)
					}
				}
			}
		}
	}
	for form := Eventually; form <= EventuallyAlways; form++ {
		for _, verdict := range []string{"holds", "violated", "vacuous"} {
			assert.Greater(t, verdicts[form.String()+" "+verdict], rounds/20, "%s %s: %v", form, verdict, verdicts)
		}
	}
}

// hopeless counts the states of the suffix, and those that lead to nothing fair.
func (n *naive) hopeless(base []int, fair []recurring) (suffix, hopeless int) {
	for s := range n.states {
		if base[s] < 0 {
			continue
		}
		suffix++
		seen := uint64(1) << s
		for range n.states {
			for e, edge := range n.edges {
				if seen>>edge.from&1 == 1 && !n.never(e) && n.atoms[edge.to]&n.live.Finally.Always == n.live.Finally.Always {
					seen |= 1 << edge.to
				}
			}
		}
		found := false
		for _, r := range fair {
			found = found || r.states&seen != 0
		}
		if !found {
			hopeless++
		}
	}
	return suffix, hopeless
}

// reached is the least distance to a state of r, -1 if there is none.
func reached(dist []int, r recurring, states int) int {
	best := -1
	for s := range states {
		if r.states>>s&1 == 1 && dist[s] >= 0 && (best < 0 || dist[s] < best) {
			best = dist[s]
		}
	}
	return best
}

func reaches(dist []int, list []recurring, states int) bool {
	for _, r := range list {
		if reached(dist, r, states) >= 0 {
			return true
		}
	}
	return false
}

// maximal counts the sets of states that no other one contains.
func maximal(list []recurring) int {
	sets := map[uint64]bool{}
	for _, r := range list {
		sets[r.states] = true
	}
	count := 0
	for a := range sets {
		within := false
		for b := range sets {
			within = within || a != b && a&b == a
		}
		if !within {
			count++
		}
	}
	return count
}

// checkLasso holds a counterexample to the graph, step by step.
func (n *naive) checkLasso(t *testing.T, p *LivenessProperty, v *Violation, got LivePropertyResult, seed int) {
	t.Helper()
	require.NotNil(t, v.Loop)
	loop, last := *v.Loop, len(v.Trace)-1
	require.Equal(t, got.Stem, loop)
	require.Equal(t, got.Cycle, last-loop)
	at := func(i int) int { return int(v.Trace[i].State.(uint64)) }
	require.Contains(t, n.initials, at(0))
	require.Equal(t, at(loop), at(last), "seed %d: the cycle is closed", seed)
	taken := make([]int, len(v.Trace)) // edge to each state
	for i := 1; i <= last; i++ {
		found := false
		for e, edge := range n.edges {
			if edge.from == at(i-1) && edge.to == at(i) && edge.process == v.Trace[i].Process && (Instance{edge.action, edge.args}) == v.Trace[i].Instance {
				taken[i], found = e, true
			}
		}
		require.True(t, found, "seed %d: step %d is a step of the graph", seed, i)
	}
	r := recurring{states: 1 << at(loop)}
	for i := loop + 1; i <= last; i++ {
		r.edges |= 1 << taken[i]
		r.states |= 1 << at(i)
	}
	require.True(t, n.fair(r), "seed %d: %s: the cycle is fair", seed, p.Name)
	require.True(t, n.violates(p, r), "seed %d: %s: the cycle violates it", seed, p.Name)
	final := n.live.Finally
	holds := func(from int) bool {
		if n.atoms[at(from)]&final.From != final.From {
			return false
		}
		for i := from; i <= last; i++ {
			if n.atoms[at(i)]&final.Always != final.Always || i > from && n.never(taken[i]) {
				return false
			}
		}
		for i := loop + 1; i <= last; i++ {
			if n.never(taken[i]) {
				return false
			}
		}
		return true
	}
	assumed := false
	for i := 0; i <= last; i++ {
		assumed = assumed || holds(i)
	}
	require.True(t, assumed, "seed %d: %s: the assumptions hold in the end", seed, p.Name)
	quiet := func(from int) bool { // nothing that the property waits for, from there on
		for i := from; i <= last; i++ {
			if p.Q != 0 && n.atoms[at(i)]&p.Q == p.Q || i > from && n.in(taken[i], p.Steps) {
				return false
			}
		}
		return true
	}
	switch p.Form {
	case Eventually:
		require.True(t, quiet(0), "seed %d", seed)
	case LeadsTo:
		open := false
		for i := 0; i <= last; i++ {
			open = open || n.atoms[at(i)]&p.P == p.P && quiet(i)
		}
		require.True(t, open, "seed %d", seed)
	}
}

// Components are those of gonum.
func TestComponentsAgainstGonum(t *testing.T) {
	for seed := range 300 {
		rnd := rand.New(rand.NewPCG(uint64(seed), 3))
		states := 1 + rnd.IntN(60)
		g := randomGraph(rnd, states, rnd.IntN(3*states))
		g.initials = nil
		for s := range states {
			g.initials = append(g.initials, s)
		}
		g.live.Finally, g.live.Fair = Finally{}, nil
		r, err := RunLiveness[uint64](g, Options{})
		require.NoError(t, err)
		d := simple.NewDirectedGraph()
		for s := range states {
			d.AddNode(simple.Node(s))
		}
		loops := map[int64]bool{}
		for _, e := range g.edges {
			if e.from == e.to {
				loops[int64(e.from)] = true
			} else {
				d.SetEdge(d.NewEdge(simple.Node(e.from), simple.Node(e.to)))
			}
		}
		components := topo.TarjanSCC(d)
		nonTrivial := 0
		for _, c := range components {
			if len(c) > 1 || loops[c[0].ID()] {
				nonTrivial++
			}
		}
		require.EqualValues(t, len(components), r.Components, "seed %d", seed)
		require.EqualValues(t, nonTrivial, r.NonTrivial, "seed %d", seed)
		require.EqualValues(t, len(components), r.Fair, "seed %d: without fairness every state may stutter", seed)
	}
}
