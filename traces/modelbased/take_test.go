package modelbased_test

import (
	"fmt"
	"slices"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/modelbased"
)

// reason is why the code does not take a step of a graph, in the state that it is in.
type reason uint8

// Reasons. Each is checked where it is given: by what the core does when it is asked.
const (
	taken reason = iota
	passedThrough
	unreached
	answersOlder
	answersEnded
	answersLate
	asksOnce
	announcesOnce
	tellsOnce
	fetchesOne
	abandonsBad
	timerStill
	parksIdle
	otherwise
	numReasons
)

var reasons = [numReasons]string{
	taken:         "taken",
	passedThrough: "the state is within a step of the code, which goes on at once",
	unreached:     "only steps that the code does not take lead to the state",
	answersOlder:  "the message answers a request that the replica has given up since, when its role changed; it counts as lost",
	answersEnded:  "the message answers a request of a process that has ended; it counts as lost",
	answersLate:   "the message is an answer on a connection that was closed; it counts as lost",
	asksOnce:      "a voter that has refused is not asked again",
	announcesOnce: "a leader says that it leads until it is answered, then with each heartbeat, and is at an end with them",
	tellsOnce:     "a voter that knows that the leader has resigned is not told again",
	fetchesOne:    "a replica has one fetch in flight at most",
	abandonsBad:   "a snapshot is abandoned only when it proves to be bad",
	timerStill:    "the timer of a follower stands still while it verifies a snapshot",
	parksIdle:     "a fetch is parked only if there is nothing to tell it",
	otherwise:     "whether the code gets there depends on what the state does not show, as who has refused a vote: it did not, on the ways tried",
}

// done is an action that a core has taken, by the specification.
type done struct {
	action  spec.ActionID
	message *spec.Msg
	park    bool
	after   spec.Replica
}

// take has the cores take an edge that leaves the state where they are. An error is a
// difference between specification and implementation.
func (c *cluster) take(k int32) (reason, error) {
	e := &c.g.Edges[k]
	if e.Replica < 0 {
		c.change(e)
		c.arrive(k)
		return taken, c.settle(nil)
	}
	n := c.members[e.Replica]
	acts, why, err := c.perform(n, e.Step, e.Message)
	if err != nil || why != taken {
		return why, err
	}
	touched := []*member{n}
	if len(acts) > 0 && acts[0].action != e.Step.Action {
		// Something else was due. Where that leads is where the cores are.
		return otherwise, c.goOn(n, acts, touched)
	}
	last := e.Step
	var later []deferred
	for i := range e.Chain {
		l := &e.Chain[i]
		if l.Step == nil {
			c.remove(c.find(l.Message))
			continue
		}
		if len(acts) > 1 {
			// It goes on at once, and the exchange with it: neither sees the other.
			later = append(later, deferred{n, acts[1:]})
		}
		n, last = c.members[l.Replica], l.Step
		touched = append(touched, n)
		if acts, why, err = c.perform(n, l.Step, l.Message); err != nil || why != taken {
			c.over = true // an exchange of which the code takes a part: that is no state of the graph
			return why, err
		}
	}
	if len(acts) > 0 && acts[0].action != last.Action {
		return otherwise, fmt.Errorf("%v takes %s, and not %s", n.id, acts[0].action, last.Action)
	}
	c.arrive(k)
	for _, d := range later {
		if err := c.goOn(d.member, d.acts, nil); err != nil || c.over {
			return taken, err
		}
	}
	if len(acts) > 0 {
		acts = acts[1:]
	}
	return taken, c.goOn(n, acts, touched)
}

// deferred is what a core did in a step of an exchange that goes on elsewhere.
type deferred struct {
	member *member
	acts   []done
}

// goOn finds the edges of what a core has done in the same step.
func (c *cluster) goOn(n *member, acts []done, touched []*member) error {
	for i, a := range acts {
		if c.merged(a.action) {
			continue
		}
		for j := i + 1; j < len(acts) && c.merged(acts[j].action); j++ {
			a.after = acts[j].after
		}
		k := c.edge(int8(n.id-1), &a)
		if k < 0 {
			c.over = true
			return nil
		}
		c.arrive(k)
	}
	return c.settle(touched)
}

// merged says whether the model has an action in the same step as the one before.
func (c *cluster) merged(a spec.ActionID) bool {
	return a == spec.ActionFlush && c.g.Model.MergeFlush || a == spec.ActionRestart && !c.g.Model.StaysDown
}

// edge is the one with which a replica does from here what a core has done, -1 if there
// is none.
func (c *cluster) edge(replica int8, a *done) int32 {
	first, end := c.g.From(c.at)
	for k := first; k < end; k++ {
		e := &c.g.Edges[k]
		if e.Replica != replica || e.Step.Action != a.action || (e.Message >= 0) != (a.message != nil) || e.Step.Args.Park != a.park {
			continue
		}
		if a.message != nil && c.g.Messages[e.Message] != *a.message {
			continue
		}
		if c.g.Replicas[c.g.States[e.To].Replicas[replica]] == a.after {
			return k
		}
	}
	return -1
}

func (c *cluster) arrive(k int32) {
	c.at = c.g.Edges[k].To
	c.path = append(c.path, k)
	c.hit(k)
}

// settle demands that cores and specification are where the graph is.
func (c *cluster) settle(touched []*member) error {
	for _, n := range touched {
		if err := c.compare(n); err != nil {
			return err
		}
	}
	if i := within(c.g, c.at); i > 0 {
		return fmt.Errorf("%v has something to do, and does not do it: it stays %s", c.members[i-1].id, text(&c.members[i-1].spec))
	}
	s := &c.g.States[c.at]
	for _, n := range touched {
		if i := n.id - 1; n.spec != c.g.Replicas[s.Replicas[i]] {
			return fmt.Errorf("%v is not where the graph is: %s", n.id, apart(&c.g.Replicas[s.Replicas[i]], &n.spec))
		}
	}
	if len(c.network) != len(s.InFlight()) {
		return fmt.Errorf("%d messages in flight, in the graph %d", len(c.network), len(s.InFlight()))
	}
	for _, m := range s.InFlight() {
		if c.find(m) == nil {
			return fmt.Errorf("%s is not in flight", c.g.Messages[m].String())
		}
	}
	return nil
}

func (c *cluster) find(m int32) *wire {
	msg := &c.g.Messages[m]
	for _, w := range c.network {
		if w.msg == *msg {
			return w
		}
	}
	return nil
}

func (c *cluster) remove(w *wire) {
	c.network = slices.DeleteFunc(c.network, func(o *wire) bool { return o == w })
}

// change does what the environment does to a message.
func (c *cluster) change(e *modelbased.Edge) {
	w := c.find(e.Message)
	switch e.Step.Action {
	case spec.ActionDrop:
		c.remove(w)
	case spec.ActionDuplicate:
		late := *w
		late.msg.Late = true
		c.conn++
		late.conn = c.conn
		c.network = append(c.network, &late)
	case spec.ActionCloseConnection:
		w.msg.Late = true
	}
}

// perform has a core do what a step begins with.
func (c *cluster) perform(n *member, s *modelbased.Step, message int32) ([]done, reason, error) {
	if s.Action.Handles() {
		return c.deliver(n, s, c.find(message))
	}
	switch s.Action {
	case spec.ActionSendVoteRequest, spec.ActionSendBeginQuorumEpoch, spec.ActionSendEndQuorumEpoch, spec.ActionSendFetch, spec.ActionSendFetchSnapshot:
		return c.release(n, s.Action, &c.g.Messages[s.Sends[0]])
	case spec.ActionBecomeProspective, spec.ActionBecomeCandidate, spec.ActionAbandonPreVote, spec.ActionLeaveResigned, spec.ActionCheckQuorumResign:
		return c.fire(n, s.Action)
	case spec.ActionFlush:
		f := n.flush
		if f == nil {
			return nil, otherwise, fmt.Errorf("%v has something to flush, and the code does not know it", n.id)
		}
		n.flush, n.disk = nil, n.log
		return c.input(n, core.Input{Kind: core.InputFlushed, Flush: f.Flush, End: f.End}, nil, spec.Args{})
	case spec.ActionAppend:
		n.client = max(n.client, readClient) + 1
		return c.input(n, core.Input{Kind: core.InputAppend, Client: n.client, Records: [][]byte{{1}}}, nil, s.Args)
	case spec.ActionStartRead:
		return c.input(n, core.Input{Kind: core.InputRead, Client: readClient}, nil, s.Args)
	case spec.ActionResign:
		return c.input(n, core.Input{Kind: core.InputResign}, nil, s.Args)
	case spec.ActionCrash, spec.ActionLoseDisk:
		return c.crash(n, s)
	case spec.ActionRestart:
		return c.start(n)
	case spec.ActionTakeSnapshot, spec.ActionAdvanceLogStart, spec.ActionInstallSnapshot, spec.ActionAbandonSnapshot:
		return c.snapshot(n, s)
	}
	return nil, passedThrough, nil // what a core has to do, it has done
}

// input gives a core an input, and holds all that it does against the specification.
func (c *cluster) input(n *member, in core.Input, incoming *wire, args spec.Args) ([]done, reason, error) {
	acts, err := c.step(n, in, incoming)
	if err != nil {
		return nil, otherwise, err
	}
	list, err := c.follow(n, acts, incoming, args)
	return list, taken, err
}

// follow holds actions against the specification. Sends are not listed.
func (c *cluster) follow(n *member, acts []action, incoming *wire, args spec.Args) ([]done, error) {
	var list []done
	for _, a := range acts {
		of := incoming
		if a.send != nil && a.send.Kind == core.OpSendResponse && (of == nil || of.conn != a.send.Conn) {
			of = c.parked(a.send.Conn)
			args = spec.Args{Count: int64(n.spec.Log.End() - of.msg.Offset)}
		}
		if err := c.verify(n, a, of, args); err != nil {
			return nil, err
		}
		if a.event == nil {
			continue
		}
		id, _ := spec.ActionNamed(a.event.Action)
		if a.send != nil && a.send.Kind == core.OpSendRequest {
			continue
		}
		d := done{action: id, park: a.event.Args.Park, after: n.spec}
		if id.Handles() {
			msg := of.msg
			d.message = &msg
		}
		list = append(list, d)
	}
	for c.g.Model.MergeFlush && n.flush != nil {
		f := n.flush
		n.flush, n.disk = nil, n.log
		more, err := c.step(n, core.Input{Kind: core.InputFlushed, Flush: f.Flush, End: f.End}, nil)
		if err != nil {
			return nil, err
		}
		flushed, err := c.follow(n, more, nil, spec.Args{})
		if err != nil {
			return nil, err
		}
		list = append(list, flushed...)
	}
	return list, nil
}

// parked is the request of a connection that waits at a leader.
func (c *cluster) parked(conn core.ConnID) *wire {
	at := slices.IndexFunc(c.network, func(w *wire) bool { return w.parked && w.conn == conn })
	return c.network[at]
}

// release lets a request leave that a core has sent, or sends now.
func (c *cluster) release(n *member, a spec.ActionID, want *spec.Msg) ([]done, reason, error) {
	dst := want.Dst - 1
	var all []done
	most := 3
	if a == spec.ActionSendFetch {
		most = 24 // whom it asks is drawn
	}
	for try := range most {
		if w := n.held[dst]; w != nil && w.msg == *want && w.gen == n.gen {
			n.held[dst] = nil
			c.network = append(c.network, w)
			return nil, taken, nil
		}
		for i := range n.waits {
			if n.waits[i] == 0 || a != spec.ActionSendFetch && a != spec.ActionSendFetchSnapshot && i != int(dst) {
				continue
			}
			if c.underway(n, spec.ID(i+1)) {
				return nil, fetchesOne, nil
			}
			in := core.Input{Kind: core.InputRequestFailed, Peer: core.ReplicaID(i + 1), Correlation: n.waits[i], Error: core.BrokerNotAvailable}
			n.waits[i], n.held[i] = 0, nil
			list, _, err := c.input(n, in, nil, spec.Args{})
			if err != nil {
				return nil, otherwise, err
			}
			all = append(all, list...)
		}
		n.now += 2
		if a == spec.ActionSendBeginQuorumEpoch && try > 0 {
			if n.heartbeats == 0 {
				break
			}
			n.heartbeats--
			n.now += longTimeout / 2
		}
		list, _, err := c.input(n, core.Input{Kind: core.InputTick}, nil, spec.Args{})
		if err != nil {
			return nil, otherwise, err
		}
		if all = append(all, list...); len(all) > 0 {
			return all, taken, nil // as time goes by
		}
	}
	switch a {
	case spec.ActionSendVoteRequest:
		return nil, asksOnce, nil
	case spec.ActionSendBeginQuorumEpoch:
		return nil, announcesOnce, nil
	case spec.ActionSendEndQuorumEpoch:
		return nil, tellsOnce, nil
	}
	return nil, otherwise, fmt.Errorf("%v does not take %s to %v, which it may", n.id, a, want.Dst)
}

// underway says whether a request that a member still waits for is in flight, or its
// answer.
func (c *cluster) underway(n *member, dst spec.ID) bool {
	return slices.ContainsFunc(c.network, func(w *wire) bool {
		return w.opener == n.id && w.acceptor == dst && w.gen == n.gen && w.correlation == n.waits[dst-1] && !w.msg.Late
	})
}

// fire lets the timer of a role fire.
func (c *cluster) fire(n *member, a spec.ActionID) ([]done, reason, error) {
	if a == spec.ActionBecomeCandidate && n.spec.Role == spec.Prospective {
		return c.tooOld(n)
	}
	if n.verify != nil && n.spec.Role == spec.Follower {
		return nil, timerStill, nil
	}
	for range 6 {
		n.now += 2*longTimeout + 1
		list, why, err := c.input(n, core.Input{Kind: core.InputTick}, nil, spec.Args{})
		if err != nil || len(list) > 0 {
			return list, why, err
		}
	}
	return nil, otherwise, fmt.Errorf("%v does not take %s, however late it is", n.id, a)
}

// tooOld: a prospective voter finds that another does not know pre-votes.
func (c *cluster) tooOld(n *member) ([]done, reason, error) {
	for i, correlation := range n.waits {
		if peer := spec.ID(i + 1); correlation != 0 && c.ctx.Old.Has(peer) {
			in := core.Input{Kind: core.InputRequestFailed, Peer: core.ReplicaID(peer), Correlation: correlation, Error: core.UnsupportedVersion}
			list, why, err := c.input(n, in, nil, spec.Args{})
			if err != nil || len(list) > 0 {
				return list, why, err
			}
		}
	}
	return nil, passedThrough, nil
}

// deliver gives a message to a core.
func (c *cluster) deliver(n *member, s *modelbased.Step, w *wire) ([]done, reason, error) {
	if !w.msg.Response {
		return c.request(n, s, w)
	}
	m := w.message
	m.PreVote, m.Read = false, 0 // not on the wire
	if m.Kind == core.Fetch {
		m.Batches, m.Records = batches(w)
	}
	in := core.Input{Kind: core.InputResponse, Peer: core.ReplicaID(w.acceptor), Correlation: w.correlation, Message: &m}
	changes := c.g.Replicas[s.Next] != n.spec
	ignored := taken
	switch {
	case w.life != n.life:
		ignored = answersEnded
	case w.msg.Late:
		ignored = answersLate
	case w.gen != n.gen || n.waits[w.acceptor-1] != w.correlation:
		ignored = answersOlder
	}
	if ignored == answersEnded || ignored == answersLate {
		// It does not come to the core: its connection is gone.
		if !changes {
			c.remove(w)
			return nil, taken, nil
		}
		return nil, ignored, nil
	}
	before := n.core.State()
	list, why, err := c.input(n, in, w, spec.Args{})
	switch {
	case err != nil:
		return nil, why, err
	case ignored != taken && (len(list) > 0 || n.core.State() != before):
		return nil, why, fmt.Errorf("%v takes an answer to what it no longer asks: %s", n.id, w.msg.String())
	case ignored != taken && changes:
		return nil, ignored, nil
	case len(list) == 0 && changes:
		return nil, why, fmt.Errorf("%v does nothing with %s, and by the specification: %s", n.id, w.msg.String(), apart(&c.g.Replicas[s.Next], &n.spec))
	}
	c.remove(w)
	if ignored == taken {
		n.answered(w)
	}
	return list, taken, nil
}

// answered: nothing is awaited from there, unless it was asked again already.
func (n *member) answered(w *wire) {
	if n.waits[w.acceptor-1] == w.correlation {
		n.waits[w.acceptor-1] = 0
	}
}

// request gives a request to a core. How long a fetch may wait, and how much is read for
// it, is the driver's to say.
func (c *cluster) request(n *member, s *modelbased.Step, w *wire) ([]done, reason, error) {
	if w.parked && !s.Args.Park {
		return c.unpark(n, s, w)
	}
	m := w.message
	m.MaxWait = 0
	if s.Args.Park && !c.idle(n, w) {
		return nil, parksIdle, nil
	}
	if s.Args.Park {
		m.MaxWait = parkedWait
	}
	if m.Kind == core.FetchSnapshot {
		m.MaxBytes = int32(max(s.Args.Count, 1) * partBytes)
	}
	if m.Kind == core.Fetch && n.spec.Role == spec.Leader && c.g.Model.Voters <= 3 && c.ctx.Voters.Has(w.opener) {
		n.heartbeats = 2
	}
	in := core.Input{Kind: core.InputRequest, Conn: w.conn, Correlation: w.correlation, Message: &m}
	list, why, err := c.input(n, in, w, s.Args)
	if err == nil && why == taken {
		if w.parked = s.Args.Park; !w.parked {
			c.remove(w)
		}
		c.silence()
	}
	return list, why, err
}

// idle says whether there is nothing to tell a fetch.
func (c *cluster) idle(n *member, w *wire) bool {
	r := n.spec
	if r.Role != spec.Leader || w.msg.Epoch != r.Election.Epoch || !c.ctx.Take(spec.ActionHandleFetchRequest, &r, &w.msg, spec.Args{Park: true}, &c.out) {
		return false
	}
	epoch, end := r.EndOffsetForEpoch(w.msg.LastEpoch)
	follows := w.msg.Offset == 0 || epoch == w.msg.LastEpoch && w.msg.Offset <= end
	return follows && r.Log.End() <= w.msg.Offset && core.Offset(r.HighWatermark) <= w.message.HighWatermark
}

// parkedWait is how long a fetch that is parked may wait.
const parkedWait = 100

func (c *cluster) unpark(n *member, s *modelbased.Step, w *wire) ([]done, reason, error) {
	n.now += parkedWait
	list, why, err := c.input(n, core.Input{Kind: core.InputTick}, nil, s.Args)
	if err == nil {
		c.remove(w)
		c.silence()
	}
	return list, why, err
}

// silence loses answers of which the model has none.
func (c *cluster) silence() {
	c.network = slices.DeleteFunc(c.network, func(w *wire) bool {
		return w.msg.Response && c.g.Model.Silent&spec.Kinds(w.msg.Kind) != 0
	})
}

// crash ends a process, and with it what the disk had not yet.
func (c *cluster) crash(n *member, s *modelbased.Step) ([]done, reason, error) {
	next := n.spec
	if !c.ctx.Take(s.Action, &next, nil, s.Args, &c.out) {
		return nil, otherwise, fmt.Errorf("%v may not take %s", n.id, s.Action)
	}
	if s.Action == spec.ActionCrash {
		kept := spec.Survivors(&spec.Replica{Log: n.log, Disk: n.disk})[s.Args.Keep]
		n.log, n.disk = kept, kept
	} else {
		n.log, n.disk, n.stored, n.found, n.snapshots, n.logStart = spec.Log{}, spec.Log{}, emptyFile, false, nil, 0
	}
	n.spec, n.core = next, nil
	list := []done{{action: s.Action, after: next}}
	if c.g.Model.StaysDown {
		return list, taken, nil
	}
	more, why, err := c.start(n)
	return append(list, more...), why, err
}

func (c *cluster) start(n *member) ([]done, reason, error) {
	acts, err := c.restart(n)
	if err != nil {
		return nil, otherwise, err
	}
	list, err := c.follow(n, acts, nil, spec.Args{})
	return list, taken, err
}

// snapshot does what has to do with snapshots.
func (c *cluster) snapshot(n *member, s *modelbased.Step) ([]done, reason, error) {
	switch s.Action {
	case spec.ActionTakeSnapshot:
		end := spec.Offset(s.Args.Count)
		name := core.SnapshotID{End: core.Offset(end), Epoch: core.Epoch(n.log.At(end - 1).Epoch)}
		size := int64(max(c.g.Model.Parts, 1)) * partBytes
		n.snapshots = append(slices.Clone(n.snapshots), core.Snapshot{ID: name, Size: size})
		return c.input(n, core.Input{Kind: core.InputSnapshotTaken, SnapshotID: name, Size: size}, nil, s.Args)
	case spec.ActionAdvanceLogStart:
		at := slices.IndexFunc(n.snapshots, func(h core.Snapshot) bool { return h.ID.End == core.Offset(s.Args.Count) })
		return c.input(n, core.Input{Kind: core.InputAdvanceLogStart, SnapshotID: n.snapshots[at].ID}, nil, s.Args)
	}
	v := n.verify
	if v == nil {
		if s.Action == spec.ActionAbandonSnapshot {
			return nil, abandonsBad, nil
		}
		return nil, otherwise, fmt.Errorf("%v has received a snapshot, and the code does not verify it", n.id)
	}
	n.verify = nil
	in := core.Input{Kind: core.InputSnapshotVerified, SnapshotID: v.SnapshotID, Transfer: v.Transfer}
	if s.Action == spec.ActionInstallSnapshot {
		return c.input(n, in, nil, s.Args)
	}
	in.Error = core.InvalidRequest
	// Nothing tells of it: what it sends comes from where it has forgotten the snapshot.
	if !c.ctx.Take(s.Action, &n.spec, nil, s.Args, &c.out) {
		return nil, otherwise, fmt.Errorf("%v may not take %s", n.id, s.Action)
	}
	return c.input(n, in, nil, s.Args)
}
