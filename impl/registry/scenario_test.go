package registry_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/quorate/quorate/impl/registry/checkpoint"
	"github.com/stretchr/testify/require"
)

// mutation is what is done to checkpoints so that a scenario must fail.
type mutation struct {
	name    string
	without bool
	change  func(*checkpoint.Rules)
}

// scenarios of acceptance; docs/registry.md says what each shows.
var scenarios = map[int]func(*world){}

// TestScenario plays each, and judges what was recorded.
func TestScenario(t *testing.T) {
	for _, n := range sorted() {
		t.Run(fmt.Sprintf("%02d", n), func(t *testing.T) {
			w := newWorld(t, mutation{})
			scenarios[n](w)
			w.judge()
		})
	}
}

func sorted() (numbers []int) {
	for n := range scenarios {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	return numbers
}

func TestAllScenarios(t *testing.T) {
	require.Len(t, scenarios, 27)
	require.Equal(t, 27, slices.Max(sorted()))
}

// mutations, each with the scenarios that must notice it.
var mutations = []struct {
	mutation
	noticed []int
}{
	{mutation{name: "no checkpoint is made", without: true}, []int{1, 3, 4, 5, 7, 13, 17, 18, 21, 23, 25, 27}},
	{mutation{name: "read on at the offset of the image", change: func(r *checkpoint.Rules) {
		r.Resume = func(offset int64) int64 { return offset }
	}}, []int{2, 13}},
	{mutation{name: "read on two after the image", change: func(r *checkpoint.Rules) {
		r.Resume = func(offset int64) int64 { return offset + 2 }
	}}, []int{1, 2, 13}},
	{mutation{name: "believe what the store has", change: func(r *checkpoint.Rules) {
		r.Intact = func(checkpoint.Commit, int64, string) error { return nil }
	}}, []int{9}},
	{mutation{name: "begin with nothing whatever is left of the journal", change: func(r *checkpoint.Rules) {
		r.MayReplay = func(checkpoint.View) bool { return true }
	}}, []int{11, 21}},
	{mutation{name: "never replay what is there", change: func(r *checkpoint.Rules) {
		r.MayReplay = func(v checkpoint.View) bool { return v.End == 0 }
	}}, []int{10}},
	{mutation{name: "choose by time", change: func(r *checkpoint.Rules) {
		r.Order = func(all []checkpoint.Commit) {
			slices.SortStableFunc(all, func(a, b checkpoint.Commit) int { return int(b.Time - a.Time) })
		}
	}}, []int{22}},
	{mutation{name: "choose the last one, wherever the journal begins", change: func(r *checkpoint.Rules) {
		r.Order = slices.Reverse[[]checkpoint.Commit]
		r.Usable = func(checkpoint.Commit, checkpoint.View) error { return nil }
	}}, []int{8, 15, 16}},
	{mutation{name: "take an image of any journal", change: func(r *checkpoint.Rules) {
		usable := r.Usable
		r.Usable = func(c checkpoint.Commit, v checkpoint.View) error {
			c.Journal = v.Journal
			return usable(c, v)
		}
		r.Inside = func(checkpoint.Commit, string, int64, int32) error { return nil }
	}}, []int{15}},
	{mutation{name: "take an image that is ahead of the journal, or of a tail that it lost", change: func(r *checkpoint.Rules) {
		r.Usable = func(c checkpoint.Commit, v checkpoint.View) error {
			if c.Journal != v.Journal {
				return checkpoint.ErrOtherJournal
			}
			return nil
		}
	}}, []int{16}},
	{mutation{name: "trim up to the newest image", change: func(r *checkpoint.Rules) {
		r.TrimTo = func(verified []checkpoint.Commit, _ int) int64 {
			if len(verified) == 0 {
				return -1
			}
			return verified[0].Offset + 1
		}
	}}, []int{13}},
	{mutation{name: "wait for the end that moves", change: func(r *checkpoint.Rules) {
		r.Ready = func(next, _ int64, now func() int64) bool { return next >= now() }
	}}, []int{14}},
	{mutation{name: "serve before the tail is applied", change: func(r *checkpoint.Rules) {
		r.Ready = func(int64, int64, func() int64) bool { return true }
	}}, []int{27}},
	{mutation{name: "nothing is ever due", change: func(r *checkpoint.Rules) {
		r.Due = neverDue
	}}, []int{20}},
	{mutation{name: "everything is garbage", change: func(r *checkpoint.Rules) {
		r.Garbage = allGarbage
	}}, []int{13}},
}

// TestMutation: each is noticed by the scenarios that are for it. A scenario that also
// passes without what it is for would show nothing.
func TestMutation(t *testing.T) {
	for _, m := range mutations {
		for _, n := range m.noticed {
			t.Run(fmt.Sprintf("%02d %s", n, m.name), func(t *testing.T) {
				try := &trial{T: t}
				done := make(chan struct{})
				go func() {
					defer close(done)
					w := newWorld(try, m.mutation)
					w.patient = impatience
					scenarios[n](w)
				}()
				<-done
				require.NotEmpty(t, try.failed, "nobody noticed")
			})
		}
	}
}
