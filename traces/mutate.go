package traces

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// Mutant is a recorded run with one change, which was accepted all the same.
type Mutant struct {
	Node   int32
	Inc    int32
	Seq    int64
	Action string
	// Change is the field that was changed, or what was done with the event.
	Change string
	// Reason why the change is harmless, empty if there is none.
	Reason string
}

// MutationReport says how many changes of a run a validation notices.
type MutationReport struct {
	Events, Tried, Rejected int
	// ByChange has for each kind of change how many were tried and rejected.
	ByChange map[string][2]int
	// Harmless counts, by reason, the changes that were accepted for a good one.
	Harmless map[string]int
	// Unexplained were accepted for no reason known.
	Unexplained []Mutant
}

// Text is the report in words.
func (r *MutationReport) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d events, %d changes tried: %d rejected, %d accepted and harmless, %d accepted and unexplained",
		r.Events, r.Tried, r.Rejected, r.Tried-r.Rejected-len(r.Unexplained), len(r.Unexplained))
	for _, reason := range slices.Sorted(maps.Keys(r.Harmless)) {
		fmt.Fprintf(&b, "\n%8d %s", r.Harmless[reason], reason)
	}
	b.WriteString("\nnot all rejected:")
	for _, kind := range slices.Sorted(maps.Keys(r.ByChange)) {
		if n := r.ByChange[kind]; n[0] != n[1] {
			fmt.Fprintf(&b, " %s %d of %d,", kind, n[1], n[0])
		}
	}
	b.WriteString(" every other field always")
	return b.String()
}

// Reasons why a changed run is accepted.
const (
	reasonStep     = "step numbers only group the events of one step of the code; the specification has none"
	reasonUnread   = "the message is received by nobody, so its number says nothing, and it might have been to another"
	reasonPrefix   = "a response that is received by nobody: it might have carried more"
	reasonRead     = "the number of a read is a name, and nothing else refers to this one"
	reasonDied     = "last event of its incarnation: to have sent nothing is to have sent a message that was lost"
	reasonLast     = "last event of its incarnation: without it the process ended one step earlier"
	reasonFound    = "a process may write the quorum-state file at its start or leave it as it is"
	reasonUnseen   = "the step shows in no later event: without it the run is another behaviour of the specification"
	reasonCommute  = "the two steps commute: both orders are behaviours of the specification"
	reasonCopied   = "a copy of the request arrives: networks may do that"
	reasonOther    = "the two messages are alike: either may be the one that was handled"
	reasonResign   = "why a leader resigns is a matter of time, and changes nothing of what it does"
	reasonFlush    = "a flush up to where the log was durable already does nothing"
	reasonBegins   = "a recording that begins with a replica that has no records yet says the same"
	reasonRenumber = "an incarnation of a single event under another number"
)

// MutateFields changes every field of every event of an accepted run in turn, and
// drops, repeats and reorders events, and validates each of the changed runs.
func MutateFields(inputs []Input, opt Options) (*MutationReport, error) {
	var all []Input
	for _, in := range inputs {
		events, err := readAll(in)
		if err != nil {
			return nil, err
		}
		all = append(all, Events(in.Name, events))
	}
	v, err := newValidator(all, opt)
	if err != nil {
		return nil, err
	}
	v.quiet = true
	if err := v.load(); err != nil {
		return nil, err
	}
	m := &mutator{report: &MutationReport{ByChange: map[string][2]int{}, Harmless: map[string]int{}}, received: map[messageID]bool{}}
	for n := range v.who.ids {
		if s, ok := v.nodes[n].source.(*memory); ok {
			m.events[n] = s.Events
			for i := range s.Events {
				if e := &s.Events[i]; v.receives(e) {
					m.received[idOf(e.Recv)] = true
				}
			}
		}
	}
	var wait sync.WaitGroup
	jobs := make(chan job, 4)
	for range 2 {
		wait.Go(func() {
			for j := range jobs {
				m.all(j)
			}
		})
	}
	err = func() error {
		for {
			n := v.choose()
			if n < 0 {
				if v.end().Verdict != Accepted {
					return errors.New("the run itself is not accepted")
				}
				return nil
			}
			jobs <- job{v.clone(), n}
			if v.take(n) != nil {
				return errors.New("the run itself is not accepted")
			}
			m.report.Events++
			if err := v.next(n); err != nil {
				return err
			}
		}
	}()
	close(jobs)
	wait.Wait()
	return m.report, err
}

func readAll(in Input) ([]event.Event, error) {
	s, err := in.Open()
	if err != nil {
		return nil, err
	}
	defer closeSource(s)
	var list []event.Event
	for {
		var e event.Event
		switch err := s.Read(&e); {
		case err == io.EOF:
			return list, nil
		case err != nil:
			return nil, malformed(in.Name, err)
		}
		list = append(list, e)
	}
}

// clone is the validator at its present position; its sources must be in memory.
func (v *validator) clone() *validator {
	c := *v
	c.outcomes = nil
	c.stats.byName, c.stats.tolerated = nil, maps.Clone(v.stats.tolerated)
	c.worlds = nil
	for _, w := range v.worlds {
		c.worlds = append(c.worlds, w.clone())
	}
	for n := range c.nodes {
		if s, ok := c.nodes[n].source.(*memory); ok {
			own := *s
			c.nodes[n].source = &own
		}
	}
	return &c
}

// job is a validator that is about to take the next event of a node.
type job struct {
	v *validator
	n int
}

type mutator struct {
	mu       sync.Mutex
	report   *MutationReport
	events   [spec.MaxReplicas][]event.Event
	received map[messageID]bool
}

// all tries every change of one event.
func (m *mutator) all(j job) {
	e := &j.v.nodes[j.n].event
	for k := 0; ; k++ {
		changed := copyEvent(e)
		f := field{left: k}
		f.walk(reflect.ValueOf(changed).Elem(), "")
		if f.path == "" {
			break
		}
		m.try(j, f.path, changed, nil)
	}
	if j.v.receives(e) {
		if id, ok := m.another(j, e); ok {
			changed := copyEvent(e)
			changed.Recv.Conn, changed.Recv.Correlation = id.conn, id.corr
			if len(changed.Send) > 0 && changed.Send[0].Response {
				changed.Send[0].Conn, changed.Send[0].Correlation = id.conn, id.corr
			}
			m.try(j, "(another message)", changed, nil)
		}
	}
	rest := m.rest(j)
	if len(rest) > 0 {
		m.try(j, "(dropped)", nil, renumber(rest, e.Inc, -1))
		if next := rest[0]; next.Inc == e.Inc {
			first, second := *copyEvent(&next), *copyEvent(e)
			first.Seq, second.Seq = second.Seq, first.Seq
			first.Step, second.Step = second.Step, first.Step
			m.try(j, "(reordered)", &first, append([]event.Event{second}, rest[1:]...))
		}
	} else {
		m.try(j, "(dropped)", nil, []event.Event{})
	}
	again := *copyEvent(e)
	again.Seq++
	m.try(j, "(repeated)", copyEvent(e), append([]event.Event{again}, renumber(rest, e.Inc, 1)...))
}

// rest are the events of the node after the next one.
func (m *mutator) rest(j job) []event.Event {
	s := j.v.nodes[j.n].source.(*memory)
	return s.Events[s.at:]
}

func renumber(list []event.Event, inc int32, by int64) []event.Event {
	list = slices.Clone(list)
	for i := range list {
		if list[i].Inc == inc {
			list[i].Seq += by
		}
	}
	return list
}

// another finds another message of the same kind on its way to the node.
func (m *mutator) another(j job, e *event.Event) (messageID, bool) {
	w := j.v.worlds[0]
	own := idOf(e.Recv)
	for _, id := range j.v.addressed(w, j.n) {
		if l := w.bag[id]; id != own && id.response == own.response && !l.handled && l.msg.Kind.String() == e.Recv.Kind {
			return id, true
		}
	}
	return own, false
}

// try validates the run with the next event of a node changed (nil: left out), and
// what follows it, unless nil.
func (m *mutator) try(j job, change string, e *event.Event, rest []event.Event) {
	original := &j.v.nodes[j.n].event
	c := j.v.clone()
	d := &c.nodes[j.n]
	if rest != nil {
		d.source = &memory{Events: rest}
	}
	var err error
	if e != nil {
		d.event = *e
		err = c.admit(j.n)
	} else {
		err = c.next(j.n)
	}
	accepted := false
	if err == nil {
		var res *Result
		res, err = c.run()
		accepted = err == nil && res.Verdict == Accepted
	}
	reason := ""
	if accepted {
		reason = m.reason(j, change, e, rest)
	}
	kind := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return -1
		}
		return r
	}, change)
	m.mu.Lock()
	defer m.mu.Unlock()
	count := m.report.ByChange[kind]
	count[0]++
	m.report.Tried++
	switch {
	case !accepted:
		count[1]++
		m.report.Rejected++
	case reason != "":
		m.report.Harmless[reason]++
	default:
		m.report.Unexplained = append(m.report.Unexplained,
			Mutant{Node: original.Node.ID, Inc: original.Inc, Seq: original.Seq, Action: original.Action, Change: change})
	}
	m.report.ByChange[kind] = count
}

// reason says why a change that was accepted is harmless, if it is. changed and
// after are what [mutator.try] has been given.
func (m *mutator) reason(j job, change string, changed *event.Event, after []event.Event) string {
	v := j.v
	e := &v.nodes[j.n].event
	rest := m.rest(j)
	last := len(rest) == 0 || rest[0].Inc != e.Inc
	unread := true
	for i := range e.Send {
		unread = unread && !m.received[idOf(&e.Send[i])]
	}
	switch {
	case change == "Step":
		return reasonStep
	case (change == "Send[0].Conn.N" || change == "Send[0].Correlation" || change == "Send[0].Conn.To" && e.Recv == nil) && unread:
		return reasonUnread
	case strings.HasPrefix(change, "Send[0].Records[") && strings.HasSuffix(change, ".Count") && unread,
		change == "Send[0].Records" && unread && len(e.Send[0].Records) > 1:
		return reasonPrefix
	case change == "Args.Read" && e.Action == spec.ActionStartRead.String() && !m.refersToRead(j.n, e):
		return reasonRead
	case (change == "Send" || change == "Send[0].External" || change == "Args.Park" && e.Args.Park) && last && unread:
		return reasonDied
	case e.Action == spec.ActionRestart.String() && (change == "Durable" || change == "Durable.Election"):
		return reasonFound
	case change == "Attach" && e.Action == spec.ActionRestart.String() && m.first(j.n, e) && v.noRecords(j.n):
		return reasonBegins
	case change == "Inc" && last:
		return reasonRenumber
	case change == "(dropped)" && last && unread:
		return reasonLast
	case (change == "(dropped)" || change == "(repeated)") && e.Action == spec.ActionFlush.String():
		return reasonFlush
	case change == "(dropped)" && unread && (m.unseen(v, j.n, e, rest) || m.converges(j, after)):
		return reasonUnseen
	case change == "(repeated)" && v.receives(e) && !e.Recv.Response && m.repeatable(v, j.n, e):
		return reasonCopied
	case change == "(reordered)" && m.commute(j, changed, after):
		return reasonCommute
	case change == "Action" && resigns(e) && resigns(changed):
		return reasonResign
	case change == "(another message)" && m.alike(v, j.n, e):
		return reasonOther
	}
	return ""
}

// first says whether an event is the first of its node.
func (m *mutator) first(n int, e *event.Event) bool {
	return m.events[n][0].Inc == e.Inc && m.events[n][0].Seq == e.Seq
}

// noRecords says that a replica has no records.
func (v *validator) noRecords(n int) bool {
	r := &v.worlds[0].replicas[n]
	return r.Log.End() == 0 && r.Disk.End() == 0
}

func resigns(e *event.Event) bool {
	return e.Action == spec.ActionResign.String() || e.Action == spec.ActionCheckQuorumResign.String()
}

// unseen says whether an event shows no change of its node, or one of which
// nothing is left after the next event.
func (m *mutator) unseen(v *validator, n int, e *event.Event, rest []event.Event) bool {
	var c comparison
	v.state(&c, &v.worlds[0].replicas[n], &e.State)
	if c.n == 0 || len(rest) == 0 {
		return c.n == 0 && e.Log == nil && e.Durable == nil
	}
	next := &rest[0]
	overwritten := e.Durable == nil || e.Durable.LogEnd < 0 && next.Durable != nil && next.Durable.Election
	return e.Log == nil && overwritten && !reflect.DeepEqual(next.State, e.State)
}

// repeatable says whether the specification takes the request once more to no
// effect that shows.
func (m *mutator) repeatable(v *validator, n int, e *event.Event) bool {
	c := v.clone()
	if c.take(n) != nil {
		return false
	}
	again := *e
	again.Seq++
	c.nodes[n].event = again
	return c.take(n) == nil
}

// refersToRead says whether anything in the incarnation has the number of the read
// that an event starts.
func (m *mutator) refersToRead(n int, start *event.Event) bool {
	for i := range m.events[n] {
		e := &m.events[n][i]
		if e.Inc != start.Inc {
			continue
		}
		if e.Args.Read == start.Args.Read && e.Seq != start.Seq {
			return true
		}
		for k := range e.Send {
			if s := &e.Send[k]; !s.Response && s.Read == start.Args.Read {
				return true
			}
		}
		if r := e.Recv; r != nil && r.Response && r.Read == start.Args.Read {
			return true
		}
	}
	return false
}

// commute says whether the next two events of a node lead to the same state in
// the run as it is and with first and then the rest in their place.
func (m *mutator) commute(j job, first *event.Event, rest []event.Event) bool {
	a, b := j.v.clone(), j.v.clone()
	b.nodes[j.n].event, b.nodes[j.n].source = *first, &memory{Events: rest}
	if !a.takeOf(j.n, 2) || !b.takeOf(j.n, 2) {
		return false
	}
	x, y := a.worlds[0], b.worlds[0]
	return sameReplica(&x.replicas[j.n], &y.replicas[j.n]) && x.reading[j.n] == y.reading[j.n] && x.mute[j.n] == y.mute[j.n]
}

// converges says whether the next two events of a node lead to the same state as what is
// left of them in the rest, without the first.
func (m *mutator) converges(j job, rest []event.Event) bool {
	a, b := j.v.clone(), j.v.clone()
	b.nodes[j.n].source = &memory{Events: rest}
	if b.next(j.n) != nil || !a.takeOf(j.n, 2) || !b.takeOf(j.n, 1) {
		return false
	}
	return sameReplica(&a.worlds[0].replicas[j.n], &b.worlds[0].replicas[j.n])
}

// takeOf goes on until so many more events of a node are taken, with what others do
// in between; false if that cannot be.
func (v *validator) takeOf(n int, events int64) bool {
	for end := v.nodes[n].taken + events; v.nodes[n].taken < end; {
		k := n
		if !v.canTake(n) {
			k = v.choose()
		}
		if k < 0 || v.take(k) != nil || v.next(k) != nil {
			return false
		}
	}
	return true
}

// alike says whether handling the other message leads to the same replica.
func (m *mutator) alike(v *validator, n int, e *event.Event) bool {
	w := v.worlds[0]
	id, ok := m.another(job{v, n}, e)
	own := w.bag[idOf(e.Recv)]
	if !ok || own == nil {
		return false
	}
	var c comparison
	v.message(&c, "", &w.bag[id].msg, e.Recv)
	return c.n == 0
}

// field finds the n-th way to change a value, and changes it.
type field struct {
	left int
	path string
}

// here says whether this is the change to make.
func (f *field) here(path string) bool {
	if f.path != "" {
		return false
	}
	if f.left--; f.left < 0 {
		f.path = path
		return true
	}
	return false
}

var stateFields = []struct {
	name string
	has  event.StateFields
}{
	{"Role", event.HasRole}, {"Epoch", event.HasEpoch}, {"Leader", event.HasLeader}, {"Voted", event.HasVoted}, {"HighWatermark", event.HasHighWatermark},
	{"LogStart", event.HasLogStart}, {"LogEnd", event.HasLogEnd}, {"LastEpoch", event.HasLastEpoch}, {"Flushed", event.HasFlushed}, {"Digest", event.HasDigest},
	{"Snapshot", event.HasSnapshot}, {"Fetching", event.HasFetching},
}

func (f *field) walk(v reflect.Value, path string) {
	if f.path != "" {
		return
	}
	join := func(name string) string {
		if path == "" {
			return name
		}
		return path + "." + name
	}
	switch v.Kind() {
	case reflect.Struct:
		if s, ok := v.Addr().Interface().(*event.State); ok {
			for _, sf := range stateFields {
				if s.Has&sf.has != 0 {
					f.walk(v.FieldByName(sf.name), join(sf.name))
				}
			}
			return
		}
		for i := range v.NumField() {
			f.walk(v.Field(i), join(v.Type().Field(i).Name))
		}
	case reflect.Pointer:
		if f.here(path) {
			if !v.IsNil() {
				v.SetZero()
				return
			}
			v.Set(reflect.New(v.Type().Elem()))
			switch p := v.Interface().(type) {
			case *event.LogChange:
				p.Truncated = -1
			case *event.Durable:
				p.LogEnd = -1
			}
			return
		}
		if !v.IsNil() {
			f.walk(v.Elem(), path)
		}
	case reflect.Slice:
		if f.here(path) {
			if n := v.Len(); n > 0 {
				v.SetLen(n - 1)
			} else {
				v.Set(reflect.MakeSlice(v.Type(), 1, 1))
			}
			return
		}
		for i := range v.Len() {
			f.walk(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
		}
	case reflect.String:
		if f.here(path) {
			v.SetString(otherName(path, v.String()))
		}
	case reflect.Bool:
		if f.here(path) {
			v.SetBool(!v.Bool())
		}
	case reflect.Int16, reflect.Int32, reflect.Int64:
		if f.here(path) {
			v.SetInt(v.Int() + 1)
		}
	case reflect.Uint64:
		if f.here(path) {
			v.SetUint(v.Uint() + 1)
		}
	}
}

var vocabulary = map[string][]string{
	"Role": {"Unattached", "Prospective", "Candidate", "Leader", "Follower", "Resigned"},
	"Kind": {event.Vote, event.BeginQuorumEpoch, event.EndQuorumEpoch, event.Fetch, event.FetchSnapshot},
}

// otherName is another word that may stand in the same place.
func otherName(path, name string) string {
	if path == "Action" {
		for a := spec.ActionID(0); a < spec.NumReplicaActions; a++ {
			if a.String() == name {
				return ((a + 1) % spec.NumReplicaActions).String()
			}
		}
	}
	for end, words := range vocabulary {
		if i := slices.Index(words, name); i >= 0 && strings.HasSuffix(path, end) {
			return words[(i+1)%len(words)]
		}
	}
	switch name {
	case event.Data:
		return event.LeaderChange
	case event.LeaderChange:
		return event.Data
	}
	return name + "x"
}

func copyEvent(e *event.Event) *event.Event {
	c := *e
	message := func(m event.Message) event.Message {
		if m.Diverging != nil {
			d := *m.Diverging
			m.Diverging = &d
		}
		m.Records = slices.Clone(m.Records)
		return m
	}
	if e.Recv != nil {
		m := message(*e.Recv)
		c.Recv = &m
	}
	c.Send = nil
	for _, m := range e.Send {
		c.Send = append(c.Send, message(m))
	}
	if e.Log != nil {
		l := *e.Log
		l.Appended = slices.Clone(l.Appended)
		c.Log = &l
	}
	if e.Durable != nil {
		d := *e.Durable
		c.Durable = &d
	}
	return &c
}
