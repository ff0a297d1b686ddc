package kafkasql

import "github.com/quorate/quorate/spec/concern"

// Mutation is a bug put back: one rule overridden.
type Mutation struct {
	concern.Mutation
	Override func(*Rules)
}

// Mutations are all.
var Mutations = []Mutation{}

// chooseLast tries the last commit of the topic first.
func chooseLast(r *Rules) { r.Better = func(_ *State, x, y int) bool { return x > y } }

// chooseNewest tries the commit with the newest time first.
func chooseNewest(r *Rules) {
	r.Better = func(s *State, x, y int) bool {
		ax, ay := s.Atts[s.Commits[x].Att-1].Ahead, s.Atts[s.Commits[y].Att-1].Ahead
		return ax > ay || ax == ay && x > y
	}
}

// acceptAll installs whatever was fetched.
func acceptAll(*State, *Instance, Commit) bool { return true }

// acceptFenced tries commits whose author had lost the lock, too.
func acceptFenced(r *Rules) {
	clean := r.Eligible
	r.Eligible = func(s *State, n *Instance, c Commit) bool {
		c.Fenced = 0
		return clean(s, n, c)
	}
}
