package traces

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/quorate/quorate/traces/event"
)

// Shrunk is what is left of a rejected run that is still rejected, at the same event and for
// the same reason.
type Shrunk struct {
	// Events are those that are left, by node. A node of the run that has none lost its
	// trace.
	Events map[int32][]event.Event
	// Hidden and HiddenAt are what a validation has to allow, so that to have left events out
	// means that they are not known, and not that nothing happened.
	Hidden   int
	HiddenAt []int32
	// Before is how many events the run had, Past how many of them the rejected one depends
	// on, with itself, and Left how many are left.
	Before, Past, Left int
	// Tries is how many runs were validated.
	Tries     int
	Rejection *Rejection
	// Stopped: there was more to try, and who watched wanted no more.
	Stopped bool
}

// ErrNotRejected is a run that is not rejected, so that there is nothing to shrink.
var ErrNotRejected = errors.New("the run is not rejected: there is nothing to shrink")

// Shrink looks for the fewest events of a rejected run that still cannot be: first only what
// the rejected event depends on; then without whole nodes; then without single events, at
// most hidden of a node in a row. Each of these runs says less than the one before: what was
// left out may have been anything, of so many steps. At most tries runs are validated.
// watch, unless nil, is told of each how many there were and how many events are left; once it
// returns false no more are tried.
func Shrink(inputs []Input, opt Options, hidden, tries int, watch func(tries, left int) bool) (*Shrunk, error) {
	if hidden < 1 || hidden > MaxHidden {
		return nil, fmt.Errorf("hidden %d: from 1 to %d", hidden, MaxHidden)
	}
	res, err := Validate(inputs, opt)
	if err != nil {
		return nil, err
	}
	if res.Verdict != Rejected {
		return nil, ErrNotRejected
	}
	s := &shrinker{opt: opt, hidden: max(hidden, opt.Hidden), limit: tries, watch: watch, want: res.Rejection, all: map[int32][]event.Event{}}
	for _, in := range inputs {
		list, err := readAll(in)
		if err != nil {
			return nil, err
		}
		for i := range list {
			if list[i].Attach != nil || list[i].Detach != nil {
				return nil, errors.New("recordings that begin or end in the life of a node are not shrunk")
			}
		}
		s.all[list[0].Node.ID] = list
	}
	if opt.Run == nil {
		ids := slices.Sorted(maps.Keys(s.all))
		s.opt.Run = &Run{Voters: ids, PreVote: PreVote{All: true}}
	}
	out := &Shrunk{}
	s.past()
	for id, list := range s.all {
		out.Before += len(list)
		out.Past += s.count(id)
	}
	if ok, err := s.try(); err != nil {
		return nil, err
	} else if !ok {
		return nil, errors.New("the run is not rejected so by what its event depends on alone: it is left as it is")
	}
	if err := s.loseNodes(); err != nil {
		return nil, err
	}
	for _, size := range []int{s.hidden, 1} {
		if err := s.dropEvents(size); err != nil {
			return nil, err
		}
	}
	out.Events, out.HiddenAt = s.events()
	if len(out.HiddenAt) > 0 {
		out.Hidden = s.hidden
	}
	for _, list := range out.Events {
		out.Left += len(list)
	}
	out.Tries, out.Rejection, out.Stopped = s.tries, s.found, s.stopped
	return out, nil
}

type shrinker struct {
	opt    Options
	hidden int
	limit  int
	tries  int
	watch  func(tries, left int) bool
	// stopped: watch wants no more.
	stopped bool
	want    *Rejection
	found   *Rejection // of the smallest run
	all     map[int32][]event.Event
	kept    map[int32][]bool
}

func (s *shrinker) count(id int32) (n int) {
	for _, kept := range s.kept[id] {
		if kept {
			n++
		}
	}
	return n
}

// past keeps what the rejected event depends on.
func (s *shrinker) past() {
	type place struct {
		id int32
		at int
	}
	sent := map[messageID]place{}
	for id, list := range s.all {
		for i := range list {
			for k := range list[i].Send {
				if m := idOf(&list[i].Send[k]); sent[m].id == 0 {
					sent[m] = place{id, i}
				}
			}
		}
	}
	s.kept = map[int32][]bool{}
	for id, list := range s.all {
		s.kept[id] = make([]bool, len(list))
	}
	var open []place
	list := s.all[s.want.Node]
	for i := range list {
		if list[i].Inc == s.want.Inc && list[i].Seq == s.want.Seq {
			open = append(open, place{s.want.Node, i})
		}
	}
	for len(open) > 0 {
		p := open[len(open)-1]
		open = open[:len(open)-1]
		for i := p.at; i >= 0 && !s.kept[p.id][i]; i-- {
			s.kept[p.id][i] = true
			if m := s.all[p.id][i].Recv; m != nil && !m.External {
				if from, is := sent[idOf(m)]; is {
					open = append(open, from)
				}
			}
		}
	}
}

// events are those that are kept, and the nodes that may take hidden steps.
func (s *shrinker) events() (map[int32][]event.Event, []int32) {
	out := map[int32][]event.Event{}
	var at []int32
	for _, id := range slices.Sorted(maps.Keys(s.all)) {
		inc, seq, gap := int32(0), int64(0), false
		missing := false
		for i := range s.all[id] {
			if !s.kept[id][i] {
				missing = true
				continue
			}
			gap = gap || missing // behind the last one nothing is missed
			e := s.all[id][i]
			if e.Inc != inc {
				inc, seq = e.Inc, 0
			}
			seq++
			e.Seq = seq
			out[id] = append(out[id], e)
		}
		if gap || len(out[id]) == 0 && missing {
			at = append(at, id)
		}
	}
	return out, at
}

// try says whether what is kept is still rejected as it was.
func (s *shrinker) try() (bool, error) {
	s.tries++
	events, at := s.events()
	var inputs []Input
	for _, id := range slices.Sorted(maps.Keys(events)) {
		inputs = append(inputs, Events(fmt.Sprintf("node-%d", id), events[id]))
	}
	opt := s.opt
	if len(at) > 0 {
		opt.Hidden, opt.HiddenAt = s.hidden, at
	}
	opt.MaxWorlds, opt.MaxSearch = 32, 2000 // what takes longer is no simpler
	res, err := Validate(inputs, opt)
	if err != nil {
		return false, err
	}
	r := res.Rejection
	if res.Verdict != Rejected || r.Node != s.want.Node || r.Inc != s.want.Inc || r.Seq != int64(s.seqOf()) || !sameReason(r, s.want) {
		return false, nil
	}
	s.found = r
	return true, nil
}

// seqOf is the number of the rejected event among those of its incarnation that are kept.
func (s *shrinker) seqOf() (n int) {
	for i := range s.all[s.want.Node] {
		if e := &s.all[s.want.Node][i]; e.Inc == s.want.Inc && e.Seq <= s.want.Seq && s.kept[s.want.Node][i] {
			n++
		}
	}
	return n
}

// sameReason says whether two rejections are of one kind: the guard that refuses, the
// properties that do not hold, or the fields that differ.
func sameReason(a, b *Rejection) bool {
	fields := func(r *Rejection) (list []string) {
		for _, d := range r.Differences {
			list = append(list, d.Field)
		}
		return list
	}
	return a.Guard == b.Guard && slices.Equal(a.Properties, b.Properties) && slices.Equal(fields(a), fields(b))
}

// without tries to do without events of a node.
func (s *shrinker) without(id int32, events []int) error {
	if s.watch != nil && !s.stopped && s.tries < s.limit {
		left := 0
		for id := range s.all {
			left += s.count(id)
		}
		s.stopped = !s.watch(s.tries, left)
	}
	if s.tries >= s.limit || s.stopped {
		return nil
	}
	for _, i := range events {
		s.kept[id][i] = false
	}
	ok, err := s.try()
	if err != nil || ok {
		return err
	}
	for _, i := range events {
		s.kept[id][i] = true
	}
	return nil
}

// loseNodes tries to do without the traces of whole nodes.
func (s *shrinker) loseNodes() error {
	for _, id := range slices.Sorted(maps.Keys(s.all)) {
		var events []int
		for i, kept := range s.kept[id] {
			if kept {
				events = append(events, i)
			}
		}
		if id == s.want.Node || len(events) == 0 || hiddenAtOnce(s.all, id) > s.hidden {
			continue // more steps than are allowed might be between two of its messages
		}
		if err := s.without(id, events); err != nil {
			return err
		}
	}
	return nil
}

// dropEvents tries to do without so many events in a row, the earliest first.
func (s *shrinker) dropEvents(size int) error {
	for _, id := range slices.Sorted(maps.Keys(s.all)) {
		list := s.all[id]
		for i := 0; i+size <= len(list); i++ {
			var events []int
			for k := i; k < i+size; k++ {
				e := &list[k]
				first := k == 0 || list[k-1].Inc != e.Inc
				if s.kept[id][k] && !first && !(id == s.want.Node && e.Inc == s.want.Inc && e.Seq == s.want.Seq) {
					events = append(events, k)
				}
			}
			if len(events) < size || s.row(id, i, i+size) > s.hidden {
				continue
			}
			if err := s.without(id, events); err != nil {
				return err
			}
		}
	}
	return nil
}

// row is how many events would be left out in a row around some, without those behind the
// last that is kept.
func (s *shrinker) row(id int32, from, to int) int {
	kept := s.kept[id]
	for from > 0 && !kept[from-1] {
		from--
	}
	for to < len(kept) && !kept[to] {
		to++
	}
	if to == len(kept) {
		return 0
	}
	return to - from
}
