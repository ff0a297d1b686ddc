package trace

import (
	"fmt"
	"slices"
)

// Judge holds what was recorded, of all instances and in the order in which it happened,
// against what checkpoints have to keep to (the properties of spec/kafkasql; keep is how
// many images are kept). It returns the first violation of each kind, nil if there is
// none. What is judged is the outcome: it does not know the decisions that led to it.
func Judge(events []Event, keep int) []error {
	j := &judge{keep: keep, lives: map[string]*life{}, commits: map[string]Event{}, applied: map[int64]bool{}, order: map[string]string{}, seen: map[string]bool{}}
	for _, e := range events {
		j.event = e
		j.step()
	}
	return j.found
}

// life is one start of an instance.
type life struct {
	start Event
	last  int64 // applied, -1: nothing
	ready bool
	ended bool
	began bool // has restored, or replays all
}

type judge struct {
	keep    int
	event   Event
	lives   map[string]*life
	commits map[string]Event  // by checkpoint
	applied map[int64]bool    // offsets that ended a transaction
	order   map[string]string // sums by first and last offset, and epoch
	journal string
	found   []error
	seen    map[string]bool
}

func (j *judge) violated(property, format string, args ...any) {
	if j.seen[property] {
		return
	}
	j.seen[property] = true
	j.found = append(j.found, fmt.Errorf("event %d, %s of %s: %s: %s", j.event.Seq, j.event.Action, j.event.Instance, property, fmt.Sprintf(format, args...)))
}

func (j *judge) life() *life {
	l := j.lives[j.event.Instance]
	if l == nil {
		l = &life{last: -1}
		j.lives[j.event.Instance] = l
		if j.event.Action != Start {
			j.violated("Order", "it has not started")
		}
	}
	return l
}

func (j *judge) step() {
	e := j.event
	switch e.Action {
	case Append, Crash, Pause, Resume, TrimJournal, CollectGarbage, DamageObject:
		j.apart()
		return
	}
	l := j.life()
	if l.ended {
		j.violated("Order", "it had given up")
	}
	switch e.Action {
	case Start:
		l.start = e
		if e.Journal != j.journal { // made anew
			j.journal, j.applied, j.order = e.Journal, map[int64]bool{}, map[string]string{}
		}
	case Install:
		j.install(l)
	case ReplayAll:
		if l.start.Start > 0 {
			j.violated("RefuseRatherThanGuess", "the journal begins at %d", l.start.Start)
		}
		l.last, l.began = -1, true
	case Apply:
		j.apply(l)
	case BecomeReady:
		j.becomeReady(l)
	case BeginCapture:
		if !l.ready {
			j.violated("ServingPrefix", "an image of an instance that is not ready")
		}
	case AppendCommit:
		j.commits[e.Checkpoint] = e
	case GiveUp, OutOfRange, NoticeRewind:
		l.ended = true
	}
}

// install judges a restore: it is what was committed, of this journal, and what comes after
// it is still there.
func (j *judge) install(l *life) {
	e := j.event
	if c, ok := j.commits[e.Checkpoint]; ok && (c.Offset != e.Offset || c.Epoch != e.Epoch || c.Key != e.Key) {
		j.violated("CommitImpliesComplete", "it is of offset %d in epoch %d, and %d in %d was committed", e.Offset, e.Epoch, c.Offset, c.Epoch)
	}
	if e.Journal != l.start.Journal || e.Offset >= l.start.End {
		j.violated("RightJournal", "offset %d of journal %s, where %s ends at %d", e.Offset, e.Journal, l.start.Journal, l.start.End)
	}
	if e.Offset+1 < l.start.Start {
		j.violated("ServingPrefix", "offsets %d to %d are missing", e.Offset+1, l.start.Start-1)
	}
	l.last, l.began = e.Offset, true
}

// apply judges that what is applied is the next of the journal, and the same for all.
func (j *judge) apply(l *life) {
	e := j.event
	if !l.began {
		j.violated("Order", "nothing was restored")
	}
	if e.First <= l.last || e.Offset < e.First {
		j.violated("ServingPrefix", "offsets %d to %d after %d", e.First, e.Offset, l.last)
	}
	key := fmt.Sprint(e.First, " to ", e.Offset, " in epoch ", e.Epoch)
	if sum, ok := j.order[key]; ok && sum != e.Sum {
		j.violated("StateMachineSafety", "offsets %s are other records than another instance applied", key)
	}
	j.order[key] = e.Sum
	j.applied[e.Offset] = true
	l.last = e.Offset
}

func (j *judge) becomeReady(l *life) {
	e := j.event
	if e.End != l.start.End {
		j.violated("NoServeBeforeCaughtUp", "it had to apply all before %d, and took %d for that", l.start.End, e.End)
	}
	for offset := range j.applied {
		if offset > l.last && offset < l.start.End {
			j.violated("NoServeBeforeCaughtUp", "%d was applied elsewhere, and this instance is at %d", offset, l.last)
		}
	}
	if e.Offset != l.last {
		j.violated("ServingPrefix", "it is at %d, and applied up to %d", e.Offset, l.last)
	}
	l.ready = true
}

// apart judges what is done to all.
func (j *judge) apart() {
	e := j.event
	switch e.Action {
	case TrimJournal:
		if len(e.Kept) < j.keep {
			j.violated("TrimJustified", "it relies on %d images, and %d are to be kept", len(e.Kept), j.keep)
		}
		for _, id := range e.Kept {
			if c, ok := j.commits[id]; ok && e.Offset > c.Offset+1 {
				j.violated("TrimJustified", "to %d, where image %s ends with %d", e.Offset, id, c.Offset)
			}
		}
	case CollectGarbage:
		for _, id := range e.Kept {
			if c, ok := j.commits[id]; ok && (c.Key == e.Key || c.Offset < e.Offset) {
				j.violated("NoLiveObjectDeleted", "%s, while %s of offset %d is kept", e.Key, id, c.Offset)
			}
		}
		if len(e.Kept) < j.keep {
			j.violated("NoLiveObjectDeleted", "there are %d images, and %d are to be kept", len(e.Kept), j.keep)
		}
	case Append:
		if l := j.lives[e.Instance]; l != nil && !l.ready {
			j.violated("NoServeBeforeCaughtUp", "a write before it was ready")
		}
	}
}

// Count is how often each action was recorded.
func Count(events []Event, actions ...string) (n int) {
	for _, e := range events {
		if slices.Contains(actions, e.Action) {
			n++
		}
	}
	return n
}
