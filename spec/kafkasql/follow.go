package kafkasql

import (
	"cmp"
	"fmt"
	"math/bits"
	"slices"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec/concern"
)

// Event is a step of a recorded run of variant T, however long, by however many instances.
// Offsets are those of the next record.
type Event struct {
	Action string
	// Life is one start of one process; "" of an operator.
	Life string
	// Image is the attempt, or the image chosen; Key what an object is stored under.
	Image, Key string
	// Offset that the life stands at afterwards; that an image has; that a trim goes to.
	Offset int64
	// First is that of the first record of an Apply; Epoch that of the last one, or that
	// an image has.
	First int64
	Epoch int32
	// Start and End of the journal as a Start and an OutOfRange saw it.
	Start, End int64
	// Kept are the images that a trim or a collection relies on.
	Kept []string
}

// Follow says whether each step of a run is one of variant T: how many are, which is all
// of them if it is, and otherwise why the next is none.
//
// [Conform] asks whether the whole run is one of the whole specification, and has room for
// few instances and records. A step of T sees one instance, the journal's bounds and the
// checkpoints; so here the specification takes each step in a state that has just these,
// with the offsets that matter numbered anew. What processes record may be told a little
// late, or not at all if one was killed; so a commit may be there from when its upload was
// verified, and a trim may take effect at any time after it was decided.
func Follow(events []Event, keep int) (steps int, why error) {
	f := &follower{keep: keep, lives: map[string]*followed{}, images: map[string]*followedImage{}, epochs: map[int64]int32{}}
	for i, e := range events {
		if err := f.step(i, e); err != nil {
			return i, fmt.Errorf("step %d, %s of %s at offset %d: %w", i+1, e.Action, cmp.Or(e.Life, "an operator"), e.Offset, err)
		}
	}
	return len(events), nil
}

// followed is what is known of a life.
type followed struct {
	began      int // step of its Start
	start, end int64
	phase      Phase
	pos        int64
	epoch      int32
	cand       string
	tried      map[string]bool
	att        string
	step       Step
	at         []position // since its capture began
	owes       int64      // the next Apply has to end here, for an image is of that; 0: anywhere
}

type position struct {
	off   int64
	epoch int32
}

// followedImage is what is known of an image.
type followedImage struct {
	key                 string
	off                 int64
	epoch               int32
	verified, committed int // steps, 0: not
	bad, gone           bool
	relied              bool // somebody has found it in the list
}

type follower struct {
	keep   int
	lives  map[string]*followed
	images map[string]*followedImage
	epochs map[int64]int32 // of the record before an offset
	trimTo int64           // the furthest that was decided
	now    int
}

func (f *follower) step(i int, e Event) error {
	f.now = i + 1
	switch e.Action {
	case "Crash", "Pause", "Resume":
		return nil // a life that ends says no more, and one that stands still says nothing
	case "DamageObject":
		return f.hurt(e, func(m *followedImage) { m.bad = true })
	case "TrimJournal", "CollectGarbage":
		return f.tidies(e)
	}
	if e.Action == "Start" {
		return f.start(e)
	}
	l := f.lives[e.Life]
	if l == nil {
		return fmt.Errorf("it has not started")
	}
	switch e.Action {
	case "Choose", "FetchImage", "RejectImage", "Install", "ReplayAll", "GiveUp":
		return f.restores(l, e)
	case "Apply", "BecomeReady", "OutOfRange":
		return f.reads(l, e)
	case "BeginCapture", "FinishCapture", "UploadChunk", "VerifyUpload", "AppendCommit", "AbandonAttempt":
		return f.captures(l, e)
	case "NoticeRewind":
		return fmt.Errorf("no journal that is followed here loses its tail")
	}
	return fmt.Errorf("no action of an instance")
}

// small is a state that has what a step sees, and how offsets are numbered in it.
type small struct {
	s       State
	offsets []int64
	epochs  []int32
	images  []string
}

func (x *small) off(off int64) uint8     { return uint8(slices.Index(x.offsets, off)) }
func (x *small) epoch(epoch int32) uint8 { return uint8(slices.Index(x.epochs, epoch) + 1) }
func (x *small) image(id string) uint8   { return uint8(slices.Index(x.images, id) + 1) }

// project makes the state of a life, or of none, with some images and offsets.
func (f *follower) project(l *followed, start, end int64, images []string, offsets ...int64) (*small, error) {
	x := &small{offsets: append([]int64{0, start, end}, offsets...), images: images}
	epochs := map[int64]int32{}
	note := func(off int64, epoch int32) {
		x.offsets = append(x.offsets, off)
		if off > 0 {
			epochs[off] = epoch
		}
	}
	if l != nil {
		note(l.pos, l.epoch)
		if l.phase >= Choosing && l.phase <= Replaying {
			x.offsets = append(x.offsets, l.end)
		}
	}
	for _, id := range images {
		note(f.images[id].off, f.images[id].epoch)
	}
	slices.Sort(x.offsets)
	x.offsets = slices.Compact(x.offsets)
	if len(x.offsets) > MaxJournal+1 || len(images) > min(MaxAttempts, MaxCommits) {
		return nil, fmt.Errorf("%d offsets and %d images are more than a state has room for", len(x.offsets), len(images))
	}
	// Between two offsets that matter there is one record, which stands for all.
	for _, off := range x.offsets[1:] {
		epoch, ok := f.epochs[off]
		if !ok {
			epoch = epochs[off]
		}
		x.epochs = append(x.epochs, epoch)
	}
	of := slices.Clone(x.epochs)
	for _, e := range epochs {
		x.epochs = append(x.epochs, e)
	}
	slices.Sort(x.epochs)
	x.epochs = slices.Compact(x.epochs)
	s := &x.s
	s.Journal, s.JEpoch = 1, uint8(max(len(x.epochs), 1))
	s.N, s.LogStart = x.off(end), x.off(start)
	for n := range s.N {
		s.J[n] = Record{Kind: Touch, Number: 1, Epoch: x.epoch(of[n])}
	}
	for i, id := range images {
		m := f.images[id]
		att := uint8(i + 1)
		img := DB{Off: x.off(m.off), Epoch: x.epoch(m.epoch), Journal: 1, Schema: 1}
		img.Has = 1<<img.Off - 1
		if m.off == 0 {
			img.Epoch = 0
		}
		s.Atts[i] = Attempt{By: 1, Img: img, Off: img.Off, Epoch: img.Epoch, Journal: 1}
		s.NAtts++
		if m.verified > 0 {
			s.Objects[i] = Object{First: att, Second: att, Bad: bit(m.bad)}
		}
		if m.gone {
			s.Objects[i] = Object{First: att, Gone: 1}
		}
	}
	if l == nil {
		return x, nil
	}
	n := &s.I[0]
	*n = Instance{Phase: l.phase, Version: 1}
	if l.phase >= Replaying {
		n.Pos = x.off(l.pos)
		n.DB = DB{Off: n.Pos, Journal: 1, Schema: 1, Has: 1<<n.Pos - 1}
		if n.Pos > 0 {
			n.DB.Epoch = x.epoch(l.epoch)
		}
	}
	if l.phase >= Choosing && l.phase <= Replaying {
		n.End = x.off(l.end)
		n.Must = n.End
	}
	return x, nil
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// commit makes images known, in this order.
func (x *small) commit(ids ...string) {
	for _, id := range ids {
		att := x.image(id)
		x.s.Commits[x.s.NCommits] = Commit{Att: att, Key: att}
		x.s.NCommits++
	}
	if n := &x.s.I[0]; n.restoring() {
		n.CkEnd = x.s.NCommits
	}
}

// take has the specification take a step, of the instance or of an operator, which must
// be possible, break nothing, and lead where want says.
func (f *follower) take(x *small, action string, want func(t *State) bool) error {
	const often = 200
	m := newMachine(&Model{
		Name: "followed", Variant: T, Instances: 1, Up: 1, Fine: true, Attempts: MaxAttempts, Keep: f.keep,
		Crashes: often, Trims: often, Damages: often, Collections: often, Failures: often,
	}, f.rules(), concern.Drop{})
	why := fmt.Errorf("it is not possible here")
	ok := false
	m.Next(&x.s, func(t concern.Step[State]) {
		switch {
		case Action(t.Instance.Action).String() != action || t.Process < 0:
		case !want(t.Next):
			why = fmt.Errorf("it leads elsewhere")
		default:
			// That the state can be recovered is said of all images, and here are a few.
			if bad := (t.Violated | m.Check(t.Next)) &^ Recoverable; bad != 0 {
				why = fmt.Errorf("it breaks %s", Properties[bits.TrailingZeros64(uint64(bad))].Name)
				return
			}
			ok = true
		}
	}, func(checker.Bound) {})
	if ok {
		return nil
	}
	return why
}

// rules are those of T, but that the record may stay with which the oldest image ends.
func (f *follower) rules() *Rules {
	r := CleanRules(T, f.keep)
	trimTo := r.TrimTo
	r.TrimTo = func(s *State) uint8 {
		to := trimTo(s)
		return max(to, 1) - 1
	}
	return r
}

func (f *follower) start(e Event) error {
	if e.Start > f.trimTo {
		return fmt.Errorf("the journal begins at %d, and was to be trimmed to %d at most", e.Start, f.trimTo)
	}
	if l := f.lives[e.Life]; l != nil && l.phase != Choosing {
		return fmt.Errorf("it has started")
	}
	// One that finds what it had listed gone begins anew.
	l := &followed{began: f.now, start: e.Start, end: e.End, tried: map[string]bool{}}
	x, err := f.project(l, e.Start, e.End, nil)
	if err != nil {
		return err
	}
	f.lives[e.Life] = l
	if err := f.take(x, "Start", func(t *State) bool { return t.I[0].Phase == Choosing }); err != nil {
		return err
	}
	l.phase = Choosing
	return nil
}

// known are images that a life certainly knows, and has not tried.
func (f *follower) known(l *followed) (ids []string) {
	for id, m := range f.images {
		if m.committed > 0 && m.committed < l.began && !l.tried[id] {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Compare(f.images[a].committed, f.images[b].committed) })
	return ids
}

// candidates has a life choose between each image that it knows and the one that it has
// chosen, or none.
func (f *follower) candidates(l *followed, action, chosen string, want func(x *small) func(t *State) bool) error {
	ids := f.known(l)
	try := func(images ...string) error {
		x, err := f.project(l, l.start, l.end, images)
		if err != nil {
			return err
		}
		x.commit(images...)
		return f.take(x, action, want(x))
	}
	if chosen == "" && len(ids) == 0 {
		return try()
	}
	if chosen != "" {
		if err := try(chosen); err != nil {
			return err
		}
	}
	for _, id := range ids {
		var err error
		switch {
		case id == chosen:
			continue
		case chosen == "":
			err = try(id)
		case f.images[id].off == f.images[chosen].off:
			continue // of equal ones the later is taken, and which one that is not recorded
		default:
			err = try(id, chosen)
		}
		if err != nil {
			return fmt.Errorf("where there is %s of offset %d: %w", id, f.images[id].off, err)
		}
	}
	return nil
}

func (f *follower) restores(l *followed, e Event) error {
	switch e.Action {
	case "Choose":
		m := f.images[e.Image]
		if m == nil || m.verified == 0 {
			return fmt.Errorf("%s was not stored", e.Image)
		}
		if e.Offset != m.off || e.Epoch != m.epoch {
			return fmt.Errorf("%s is of offset %d in epoch %d", e.Image, m.off, m.epoch)
		}
		if l.tried[e.Image] {
			return fmt.Errorf("%s was rejected", e.Image)
		}
		err := f.candidates(l, e.Action, e.Image, func(x *small) func(t *State) bool {
			return func(t *State) bool { return t.I[0].Phase == Chosen && t.Commits[t.I[0].Cand-1].Att == x.image(e.Image) }
		})
		if err == nil {
			l.phase, l.cand = Chosen, e.Image
		}
		return err
	case "ReplayAll":
		err := f.candidates(l, e.Action, "", func(*small) func(t *State) bool {
			return func(t *State) bool { return t.I[0].Phase == Replaying && t.I[0].Pos == 0 }
		})
		if err == nil {
			l.phase, l.pos = Replaying, 0
		}
		return err
	case "GiveUp":
		err := f.candidates(l, e.Action, "", func(*small) func(t *State) bool {
			return func(t *State) bool { return t.I[0].Phase == GaveUp }
		})
		if err == nil {
			l.phase = GaveUp
		}
		return err
	}
	if l.cand != e.Image || l.cand == "" {
		return fmt.Errorf("it has not chosen %s", e.Image)
	}
	x, err := f.project(l, l.start, l.end, []string{e.Image})
	if err != nil {
		return err
	}
	x.commit(e.Image)
	n := &x.s.I[0]
	n.Phase, n.Cand = Chosen, 1
	if e.Action == "FetchImage" {
		if l.phase != Chosen {
			return fmt.Errorf("it is %s", l.phase)
		}
		l.phase = Fetched
		return f.take(x, e.Action, func(t *State) bool { return t.I[0].Phase == Fetched })
	}
	if l.phase != Fetched {
		return fmt.Errorf("it is %s", l.phase)
	}
	// What it has fetched is what is there now: it was told when it began to.
	o := x.s.Objects[0]
	n.Phase, n.Bad = Fetched, o.Bad
	if o.Gone == 0 {
		n.First, n.Second = o.First, o.Second
	}
	if e.Action == "RejectImage" {
		l.phase, l.cand = Choosing, ""
		l.tried[e.Image] = true
		return f.take(x, e.Action, func(t *State) bool { return t.I[0].Phase == Choosing })
	}
	// It may have been fetched before it was collected.
	if m := f.images[e.Image]; m.gone && !m.bad {
		n.First, n.Second = 1, 1
	}
	m := f.images[e.Image]
	if e.Offset != m.off || e.Epoch != m.epoch {
		return fmt.Errorf("it is of offset %d in epoch %d", m.off, m.epoch)
	}
	l.phase, l.pos, l.epoch, l.cand = Replaying, e.Offset, e.Epoch, ""
	return f.take(x, e.Action, func(t *State) bool { return t.I[0].Phase == Replaying && t.I[0].Pos == x.off(e.Offset) })
}

// reads are steps that follow the journal.
func (f *follower) reads(l *followed, e Event) error {
	switch e.Action {
	case "Apply":
		if e.First < l.pos || e.Offset <= e.First || l.owes > 0 && e.Offset != l.owes {
			return fmt.Errorf("offsets %d to %d at %d (an image is of %d)", e.First, e.Offset-1, l.pos, l.owes)
		}
		if epoch, ok := f.epochs[e.Offset]; ok && epoch != e.Epoch {
			return fmt.Errorf("the record before it is of epoch %d, and was of %d", e.Epoch, epoch)
		}
		f.epochs[e.Offset] = e.Epoch
		x, err := f.project(l, l.start, max(l.end, e.Offset), nil, e.Offset)
		// One transaction may go past an offset that matters: the end that was to be reached.
		for err == nil && x.s.I[0].Pos < x.off(e.Offset) {
			var next State
			if err = f.take(x, e.Action, func(t *State) bool { next = *t; return t.I[0].Pos > x.s.I[0].Pos }); err == nil {
				x.s = next
			}
		}
		l.pos, l.epoch, l.owes = e.Offset, e.Epoch, 0
		if l.att != "" && l.step == Capturing {
			l.at = append(l.at, position{l.pos, l.epoch})
		}
		return err
	case "BecomeReady":
		x, err := f.project(l, l.start, max(l.end, l.pos), nil)
		if err == nil {
			err = f.take(x, e.Action, func(t *State) bool { return t.I[0].Phase == Ready && t.I[0].Pos == x.off(e.Offset) })
		}
		l.phase, l.end = Ready, 0
		return err
	}
	if e.Start > f.trimTo {
		return fmt.Errorf("the journal begins at %d, and was to be trimmed to %d at most", e.Start, f.trimTo)
	}
	x, err := f.project(l, e.Start, max(e.End, l.pos, l.end), nil)
	if err == nil {
		err = f.take(x, e.Action, func(t *State) bool { return t.I[0].Phase == GaveUp })
	}
	l.phase = GaveUp
	return err
}

// captures are steps of an attempt.
func (f *follower) captures(l *followed, e Event) error {
	if e.Action == "BeginCapture" {
		if f.images[e.Image] != nil {
			return fmt.Errorf("there is an image %s", e.Image)
		}
		if l.att != "" || l.phase != Ready {
			return fmt.Errorf("it is %s, with attempt %q", l.phase, l.att)
		}
		f.images[e.Image] = &followedImage{}
		l.att, l.step, l.at = e.Image, Capturing, []position{{l.pos, l.epoch}}
		return nil // the moment that is copied is told by the copy
	}
	if l.att != e.Image || l.att == "" {
		return fmt.Errorf("its attempt is %q", l.att)
	}
	m := f.images[l.att]
	x := func() (*small, error) {
		ids := []string{l.att}
		for m.gone && len(ids) <= f.keep {
			// It was collected, for which there had to be better ones.
			b := f.better(l.att, ids)
			if b == "" {
				break
			}
			ids = append(ids, b)
		}
		x, err := f.project(l, l.start, max(l.pos, f.end(ids)), ids)
		if err == nil {
			x.commit(ids[1:]...)
			n := &x.s.I[0]
			n.Att, n.Step = 1, l.step
			if l.step == HalfUploaded {
				x.s.Objects[0] = Object{First: 1}
			}
			if l.step == Uploaded {
				x.s.Objects[0] = Object{First: 1, Second: 1, Bad: bit(m.bad)}
			}
		}
		return x, err
	}
	if e.Action == "FinishCapture" {
		return f.captured(l, e, m)
	}
	s, err := x()
	if err != nil {
		return err
	}
	next := map[string]map[Step]Step{
		"UploadChunk":    {Captured: HalfUploaded, HalfUploaded: Uploaded},
		"VerifyUpload":   {Uploaded: Verified},
		"AppendCommit":   {Verified: Idle},
		"AbandonAttempt": {Capturing: Idle, Captured: Idle, HalfUploaded: Idle, Uploaded: Idle, Verified: Idle},
	}
	to, ok := next[e.Action][l.step]
	if !ok {
		return fmt.Errorf("its attempt is %s", l.step)
	}
	if err := f.take(s, e.Action, func(t *State) bool { return t.I[0].Step == to }); err != nil {
		return err
	}
	switch l.step = to; {
	case to == Verified:
		m.verified = f.now
	case e.Action == "AppendCommit":
		m.committed = f.now
	}
	if to == Idle {
		l.att = ""
	}
	return nil
}

// captured is the end of a copy: begun at one of the positions that the life had, or at
// the next one, of which it has not told yet.
func (f *follower) captured(l *followed, e Event, m *followedImage) error {
	if l.step != Capturing {
		return fmt.Errorf("its attempt is %s", l.step)
	}
	at := slices.Index(l.at, position{e.Offset, e.Epoch})
	if at < 0 && e.Offset <= l.pos {
		return fmt.Errorf("no transaction ended there since %d", l.at[0].off)
	}
	if at < 0 {
		l.owes = e.Offset
	}
	m.off, m.epoch, m.key = e.Offset, e.Epoch, e.Key
	f.epochs[e.Offset] = e.Epoch
	// The specification begins the copy there, and ends it where the life is now.
	then := &followed{phase: Ready, pos: e.Offset, epoch: e.Epoch}
	x, err := f.project(then, l.start, max(l.pos, e.Offset), nil, l.pos)
	if err != nil {
		return err
	}
	var begun State
	if err := f.take(x, "BeginCapture", func(t *State) bool { begun = *t; return t.I[0].Step == Capturing }); err != nil {
		return err
	}
	x.s = begun
	if err := f.take(x, e.Action, func(t *State) bool { return t.I[0].Step == Captured && t.Atts[0].Off == x.off(e.Offset) }); err != nil {
		return err
	}
	l.step, l.at = Captured, nil
	return nil
}

// tidies are trims and collections, judged by the images on which they rely.
func (f *follower) tidies(e Event) error {
	var kept []string
	for _, id := range e.Kept {
		m := f.images[id]
		if m != nil && m.gone {
			// Another has collected it since, for which there had to be better ones.
			id = f.better(id, e.Kept, kept)
			m = f.images[id]
		}
		if m == nil || m.verified == 0 {
			return fmt.Errorf("it relies on %q, which is not there", id)
		}
		m.relied = true
		kept = append(kept, id)
	}
	slices.SortFunc(kept, func(a, b string) int { return cmp.Compare(f.images[a].verified, f.images[b].verified) })
	if e.Action == "TrimJournal" {
		x, err := f.project(nil, 0, f.end(kept), kept, e.Offset)
		if err == nil {
			x.commit(kept...)
			// It may trim less than it is allowed to.
			err = f.take(x, e.Action, func(t *State) bool { return t.LogStart >= x.off(e.Offset) })
		}
		f.trimTo = max(f.trimTo, e.Offset)
		return err
	}
	key := ""
	for id, m := range f.images {
		if m.key == e.Key {
			key = id
		}
	}
	if key == "" {
		return fmt.Errorf("there is no image under %s", e.Key)
	}
	if slices.Contains(kept, key) {
		return fmt.Errorf("%s is kept", key)
	}
	x, err := f.project(nil, 0, f.end(append(kept, key)), append(slices.Clone(kept), key))
	if err != nil {
		return err
	}
	x.commit(kept...)
	x.s.Objects[len(kept)] = Object{First: x.image(key), Second: x.image(key)}
	f.images[key].gone = true
	return f.take(x, e.Action, func(t *State) bool { return t.Objects[len(kept)].Gone == 1 })
}

// better is an image that is there, and none of others, with the offset of another one or
// a greater one.
func (f *follower) better(than string, others ...[]string) string {
	for id, m := range f.images {
		if (m.committed > 0 || m.relied) && !m.gone && !m.bad && m.off >= f.images[than].off && !slices.Contains(slices.Concat(others...), id) {
			return id
		}
	}
	return ""
}

// end is behind all images given.
func (f *follower) end(ids []string) (end int64) {
	for _, id := range ids {
		end = max(end, f.images[id].off)
	}
	return end
}

func (f *follower) hurt(e Event, how func(*followedImage)) error {
	for _, m := range f.images {
		if m.key == e.Key {
			how(m)
			return nil
		}
	}
	return fmt.Errorf("there is no image under %s", e.Key)
}
