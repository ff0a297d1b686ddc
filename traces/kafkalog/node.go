package kafkalog

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// where has the lines that an event is made of, 0 if there is none.
type where struct {
	file                       string
	first, sent, role, hw, log int64
}

// recorded is an event and where it stands.
type recorded struct {
	event.Event
	at where
}

// request is one that a node received, with the events that handle it.
type request struct {
	env     envelope
	inc     int32 // of the receiver
	when    string
	events  []*recorded
	answers []*recorded // of events, those that answer it
	done    bool
}

// sending is a request that a node sent.
type sending struct {
	env      envelope
	inc      int32
	when     string
	event    *recorded
	answered bool
	answer   event.Message // if it was answered
	failed   bool          // the sender was told that it was not
	received *request
}

// node makes events of the lines of one node.
type node struct {
	id     int32
	inc    int32
	events []*recorded
	// cur is the event in progress, nil between two; handling, if it handles a request,
	// which.
	cur      *recorded
	handling *request
	known    event.State // of the replica, as far as lines have said
	wrote    bool        // the LeaderChange record of this epoch
	// traced: there was a line at TRACE. moved is the first transition that is no start,
	// and failed what could not be read before the first line at TRACE.
	traced bool
	moved  *Error
	failed error
	silent bool // the majority did not fetch

	received []*request
	sent     []*sending
	voters   []int32
	votersAt Error
}

// prefixes of lines that begin or continue an event. What follows is of the node.
var handlers = []struct {
	logger, prefix string
	take           func(n *node, l *line, rest string) error
}{
	{"KafkaRaftClient", "Received inbound message InboundRequest", (*node).inbound},
	{"KafkaRaftClient", "Received inbound message InboundResponse", (*node).answer},
	{"KafkaRaftClient", "Received inbound message ", func(_ *node, l *line, _ string) error {
		return l.fail("neither a request nor a response: %.80q", l.text)
	}},
	{"KafkaRaftClient", "Sent response OutboundResponse", (*node).respond},
	{"KafkaRaftClient", "Sent outbound request: OutboundRequest", (*node).send},
	{"KafkaRaftClient", "Ignoring response InboundResponse", (*node).ignore},
	// Of a timer: what follows has nothing to do with the message before.
	{"KafkaRaftClient", "Election timed out", (*node).timer},
	{"KafkaRaftClient", "Election was not granted", (*node).timer},
	{"KafkaRaftClient", "Transitioning to Prospective", (*node).timer},
	{"KafkaRaftClient", "Reading KRaft snapshot and log", (*node).start},
	{"KafkaRaftClient", "Starting voters are ", (*node).starting},
	{"KafkaRaftClient", "Leader appended records at base offset ", (*node).appended},
	{"KafkaRaftClient", "Follower end offset updated to ", (*node).extended},
	{"KafkaRaftClient", "Truncated to offset ", (*node).truncated},
	{"KafkaRaftClient", "Follower high watermark updated to ", (*node).highWatermark},
	{"QuorumState", completed, (*node).transition},
	{"LeaderState", "High watermark set to LogOffsetMetadata(offset=", (*node).highWatermark},
	{"FollowerState", "High watermark set to Optional[LogOffsetMetadata(offset=", (*node).highWatermark},
	{"LeaderState", "High watermark set to ", func(_ *node, l *line, _ string) error { return l.fail("no high watermark in %.80q", l.text) }},
	{"FollowerState", "High watermark set to ", func(_ *node, l *line, _ string) error { return l.fail("no high watermark in %.80q", l.text) }},
	{"LeaderState", "Did not receive fetch request from the majority", func(n *node, _ *line, _ string) error { n.silent = true; return nil }},
}

// passed are prefixes of lines that say nothing that another line does not, by logger.
var passed = map[string][]string{
	"KafkaRaftClient": {
		"Starting request manager", "Registered the listener", "Setting the next offset of", "Completed commit of", "Notifying listener",
		"Failed to commit", "Vote request ", "Leader high watermark updated", "Completing delayed fetch", "Re-elect as candidate",
		"Insufficient remaining votes", "Become candidate due to", "Election has timed out", "Beginning graceful shutdown", "Graceful shutdown",
		"Latest snapshot", "Did not complete", "Connection for",
	},
	"QuorumState":      {"Attempting durable transition", "Voted for candidate"},
	"UnattachedState":  {"Rejecting vote request", "Rejecting Vote request"},
	"FollowerState":    {"Rejecting vote request", "Rejecting Vote request"},
	"CandidateState":   {"Rejecting vote request", "Rejecting Vote request"},
	"ProspectiveState": {"Rejecting vote request", "Rejecting Vote request"},
	"LeaderState":      {"Rejecting vote request", "Rejecting Vote request"},
	"ResignedState":    {"Rejecting vote request", "Rejecting Vote request"},
	"internals.KRaftControlRecordStateMachine": {"Loading snapshot"},
}

func (n *node) timer(*line, string) error {
	n.end()
	return nil
}

// untraced is the error of a log that cannot be judged: the node moves from role to role,
// and no line says which messages made it do so. nil if that is not so.
func (n *node) untraced() error {
	if n.traced || n.moved == nil {
		return nil
	}
	at := *n.moved
	at.Err = fmt.Errorf("node %d: no line at TRACE, of no message; %s must be at TRACE from the process's start: a log at INFO or DEBUG cannot be judged",
		n.id, strings.TrimSuffix(raft, "."))
	return &at
}

// next is take; what cannot be read before the first line at TRACE is an error only once
// there is one, or at the end, since untraced says more.
func (n *node) next(l *line) (known bool, err error) {
	if l.level == "TRACE" {
		n.traced = true
		if n.failed != nil {
			return true, n.failed
		}
	}
	if n.failed != nil {
		return true, nil
	}
	if known, err = n.take(l); err != nil && !n.traced && n.moved != nil {
		n.failed, err = err, nil
	}
	return known, err
}

// take takes the next line of the node. known is false if lines of this kind are not.
func (n *node) take(l *line) (known bool, err error) {
	for i := range handlers {
		h := &handlers[i]
		if h.logger != l.logger {
			continue
		}
		if rest, ok := strings.CutPrefix(l.text, h.prefix); ok {
			return true, h.take(n, l, rest)
		}
	}
	list := passed[l.logger]
	for _, prefix := range list {
		if strings.HasPrefix(l.text, prefix) {
			return true, nil
		}
	}
	return !ofProtocol(l.logger), nil
}

// ofProtocol says whether a class is part of the protocol. Logs, listeners, threads are
// not.
func ofProtocol(logger string) bool {
	switch logger {
	case "KafkaRaftClient", "QuorumState", "LeaderState", "FollowerState":
		return true
	}
	return passed[logger] != nil
}

// begin ends the event in progress, and begins another.
func (n *node) begin(l *line, action spec.ActionID) (*recorded, error) {
	if n.inc == 0 {
		return nil, l.fail("node %d acts before it starts: the log has to begin with the start of the process", n.id)
	}
	n.end()
	n.cur = &recorded{at: where{file: l.file, first: l.at}}
	n.cur.Action, n.cur.Inc = action.String(), n.inc
	return n.cur, nil
}

// end ends the event in progress.
func (n *node) end() {
	if n.cur == nil {
		return
	}
	if n.handling != nil && n.cur.Action == spec.ActionHandleFetchRequest.String() && !n.handling.done {
		n.cur.Args.Park = true
	}
	n.cur.State = n.known
	n.events = append(n.events, n.cur)
	n.cur, n.handling = nil, nil
}

// cutOff forgets an event in the midst of which the process ended, or its log: what was
// received has records, and no line says that they were appended.
func (n *node) cutOff() {
	if e := n.cur; e != nil && e.Action == spec.ActionHandleFetchResponse.String() && e.Recv.Error == 0 && e.Recv.Bytes > 0 && e.at.log == 0 {
		n.cur = nil
	}
}

func (n *node) inbound(l *line, rest string) error {
	env, err := payload(rest)
	if errors.Is(err, errNotRaft) {
		n.end()
		return nil
	}
	if err != nil {
		return l.fail("a request: %w", err)
	}
	m := env.msg
	if m.Response {
		return l.fail("a %s as a request", env.class)
	}
	if env.peer < 0 || env.peer == n.id { // a consumer, or the node itself
		n.end()
		return nil
	}
	e, err := n.begin(l, handlerOf(&m))
	if err != nil {
		return err
	}
	e.Recv = &m
	n.handling = &request{env: env, inc: n.inc, when: l.when, events: []*recorded{e}}
	n.received = append(n.received, n.handling)
	return nil
}

func handlerOf(m *event.Message) spec.ActionID {
	kinds := map[string]spec.Kind{event.Vote: spec.Vote, event.Fetch: spec.Fetch, event.BeginQuorumEpoch: spec.BeginQuorumEpoch, event.EndQuorumEpoch: spec.EndQuorumEpoch}
	return spec.HandlerOf(&spec.Msg{Kind: kinds[m.Kind], Response: m.Response})
}

func (n *node) respond(l *line, rest string) error {
	out, in, found := strings.Cut(rest, " to inbound request ")
	if !found {
		return l.fail("a response without its request")
	}
	env, err := payload(out)
	if errors.Is(err, errNotRaft) {
		return nil
	}
	if err != nil {
		return l.fail("a response: %w", err)
	}
	to, err := payload(in)
	switch {
	case err != nil:
		return l.fail("the request of a response: %w", err)
	case !env.msg.Response || to.msg.Response || env.msg.Kind != to.msg.Kind:
		return l.fail("a %s to a %s", env.class, to.class)
	case env.local:
		return l.fail("error %d", env.msg.Error)
	case to.peer < 0, to.peer == n.id:
		return nil
	}
	var r *request
	for i := len(n.received) - 1; i >= 0 && r == nil; i-- {
		if o := n.received[i]; o.inc == n.inc && !o.done && o.env.corr == to.corr && contentOf(o.env.peer, n.id, &o.env.msg) == contentOf(to.peer, n.id, &to.msg) {
			r = o
		}
	}
	if r == nil {
		return l.fail("a response to a request that was not received, or has been answered: correlation %d of %d; was %s* at TRACE from the process's start?", to.corr, to.peer, raft)
	}
	e := r.events[0]
	if n.handling != r && to.msg.Kind == event.Fetch { // it was parked
		if n.timedOut(l, r, &env.msg) {
			return nil
		}
		if e, err = n.begin(l, spec.ActionHandleFetchRequest); err != nil {
			return err
		}
		m := r.env.msg
		e.Recv = &m
		n.handling = r
		r.events = append(r.events, e)
	}
	complete(&env.msg, &to.msg)
	r.done = true
	r.answers = append(r.answers, e)
	e.Send, e.at.sent = []event.Message{env.msg}, l.at
	return nil
}

// timedOut notes an answer of nothing to a fetch that was parked, if there is something to
// fetch by now. A timer of another thread decides that, so the line may come after an
// append which the answer knows nothing of, and stands where the answer has to be: before
// it (KafkaRaftClient.handleFetchRequest, the TimeoutException).
func (n *node) timedOut(l *line, r *request, m *event.Message) bool {
	if m.Error != 0 || m.Bytes > 0 || m.Diverging != nil || m.Snapshot != (event.SnapshotID{}) || n.known.LogEnd <= r.env.msg.Offset {
		return false
	}
	n.end()
	at := len(n.events)
	for at > 0 && n.events[at-1].Inc == n.inc && n.events[at-1].Action == spec.ActionAppend.String() && n.events[at-1].State.LogEnd > r.env.msg.Offset {
		at--
	}
	if at == 0 || at == len(n.events) {
		return false
	}
	e := &recorded{at: where{file: l.file, first: n.events[at].at.first, sent: l.at}}
	got, answer := r.env.msg, *m
	complete(&answer, &got)
	e.Action, e.Inc, e.State = spec.ActionHandleFetchRequest.String(), n.inc, n.events[at-1].State
	e.Recv, e.Send = &got, []event.Message{answer}
	n.events = slices.Insert(n.events, at, e)
	r.events, r.answers, r.done = append(r.events, e), append(r.answers, e), true
	return true
}

// complete fills in what a response is only known to say from its request.
func complete(m, request *event.Message) {
	m.PreVote = request.PreVote
	// Of an epoch before all that the leader's log has, ending at the zero checkpoint, Kafka
	// names that checkpoint's epoch (KafkaRaftLog.endOffsetForEpoch), which no log has; the
	// specification knows no such checkpoint, and names the epoch that was asked for. The
	// follower cuts its log to the same offset.
	if d := m.Diverging; d != nil && *d == (event.EpochEnd{}) && request.LastEpoch > 0 {
		d.Epoch = request.LastEpoch
	}
	if m.Kind == event.Fetch && m.Bytes > 0 {
		m.Offset = request.Offset
	}
}

var sends = map[string]spec.ActionID{
	event.Vote: spec.ActionSendVoteRequest, event.Fetch: spec.ActionSendFetch,
	event.BeginQuorumEpoch: spec.ActionSendBeginQuorumEpoch, event.EndQuorumEpoch: spec.ActionSendEndQuorumEpoch,
}

func (n *node) send(l *line, rest string) error {
	env, err := payload(rest)
	if errors.Is(err, errNotRaft) {
		return nil
	}
	if err != nil {
		return l.fail("a request: %w", err)
	}
	if env.msg.Response {
		return l.fail("a %s as a request", env.class)
	}
	if env.peer == n.id {
		// A replica that knows no leader asks one of controller.quorum.bootstrap.servers, and
		// may draw itself (since KIP-853). It learns nothing from its own answer.
		n.end()
		return nil
	}
	e, err := n.begin(l, sends[env.msg.Kind])
	if err != nil {
		return err
	}
	m := env.msg
	m.Conn = event.Conn{From: n.id, To: env.peer, Inc: n.inc, N: 1}
	e.Send, e.at.sent = []event.Message{m}, l.at
	n.sent = append(n.sent, &sending{env: env, inc: n.inc, when: l.when, event: e})
	return nil
}

func (n *node) answer(l *line, rest string) error {
	env, err := payload(rest)
	if errors.Is(err, errNotRaft) {
		return nil
	}
	if err != nil {
		return l.fail("a response: %w", err)
	}
	if !env.msg.Response {
		return l.fail("a %s as a response", env.class)
	}
	var to *sending
	for i := len(n.sent) - 1; i >= 0 && to == nil; i-- {
		if s := n.sent[i]; s.inc == n.inc && s.env.corr == env.corr && s.env.msg.Kind == env.msg.Kind {
			to = s
		}
	}
	n.end()
	if env.local && to != nil {
		to.failed = true
	}
	if env.local || to == nil || to.answered {
		return nil // nobody answered, or to what this process did not ask
	}
	m := env.msg
	complete(&m, &to.env.msg)
	to.answered, to.answer = true, m
	e, err := n.begin(l, handlerOf(&m))
	if err != nil {
		return err
	}
	m.Conn = to.event.Send[0].Conn
	e.Recv = &m
	return nil
}

// ignore: the response just received was of no use any more, as if it had been lost.
func (n *node) ignore(l *line, _ string) error {
	if n.cur == nil || n.cur.Recv == nil || !n.cur.Recv.Response {
		return nil
	}
	n.cur = nil
	return nil
}

func (n *node) start(l *line, _ string) error {
	n.cutOff()
	n.end()
	n.inc++
	n.known, n.wrote, n.silent = event.State{}, false, false
	_, err := n.begin(l, spec.ActionRestart)
	return err
}

func (n *node) starting(l *line, rest string) error {
	var ids []int32
	for f := (fields{text: rest}); f.has("=VoterNode("); {
		f.from("VoterNode(")
		ids = append(ids, f.int32("ReplicaKey(id="))
		if f.err != nil {
			return l.fail("the voters: %w", f.err)
		}
	}
	if len(ids) == 0 {
		return l.fail("no voters in it: a static quorum is needed")
	}
	if n.voters != nil && !slices.Equal(n.voters, ids) {
		return l.fail("node %d starts with voters %v, before with %v", n.id, ids, n.voters)
	}
	n.voters, n.votersAt = ids, Error{File: l.file, Line: l.at}
	return nil
}

func (n *node) transition(l *line, _ string) error {
	s, from, err := transition(l.text, n.id)
	if err != nil {
		return l.fail("%w", err)
	}
	if from != "" && n.moved == nil {
		n.moved = &Error{File: l.file, Line: l.at}
	}
	action, own := spec.ActionID(0), true
	switch s.Role {
	case "Leader":
		action, n.wrote = spec.ActionBecomeLeader, false
	case "Candidate":
		action = spec.ActionBecomeCandidate
	case "Prospective":
		action = spec.ActionBecomeProspective
	case "Resigned":
		if action = spec.ActionResign; n.silent {
			action = spec.ActionCheckQuorumResign
		}
		n.silent = false
	default:
		switch byItself := n.cur == nil || n.cur.Recv == nil; {
		case from == "Resigned" && byItself:
			action = spec.ActionLeaveResigned
		case from == "Prospective" && byItself:
			action = spec.ActionAbandonPreVote
		default:
			own = false
		}
	}
	switch {
	case from == "": // a start
		if n.cur == nil || n.cur.Action != spec.ActionRestart.String() {
			return l.fail("a transition from nothing, and no start before it")
		}
	case own:
		if _, err := n.begin(l, action); err != nil {
			return err
		}
	case n.cur == nil || n.cur.Action == spec.ActionRestart.String():
		return l.fail("a transition to %s that no message and no timer explains: was %s* at TRACE from the process's start?", s.Role, raft)
	}
	n.cur.at.role = l.at
	const election = event.HasRole | event.HasEpoch | event.HasLeader | event.HasVoted | event.HasHighWatermark
	log := n.known
	n.known = s
	n.known.Has |= log.Has &^ election
	n.known.LogEnd, n.known.LastEpoch = log.LogEnd, log.LastEpoch
	return nil
}

func (n *node) highWatermark(l *line, rest string) error {
	f := fields{text: rest}
	hw := f.int64("")
	if f.err != nil {
		return l.fail("the high watermark: %w", f.err)
	}
	if n.cur == nil {
		return l.fail("the high watermark moves, and nothing moves it")
	}
	if a := n.cur.Action; a == spec.ActionAppend.String() || a == spec.ActionAppendLeaderChange.String() {
		// Of one voter: it counts what it appends before it flushes it (docs/divergence.md).
		if _, err := n.begin(l, spec.ActionFlush); err != nil {
			return err
		}
	}
	n.cur.at.hw = l.at
	n.known.HighWatermark, n.known.Has = hw, n.known.Has|event.HasHighWatermark
	return nil
}

// logEnd notes where the log ends.
func (n *node) logEnd(l *line, end int64, last int32) {
	n.known.LogEnd, n.known.LastEpoch = end, last
	n.known.Has |= event.HasLogEnd | event.HasLastEpoch
	n.cur.at.log = l.at
}

func (n *node) appended(l *line, rest string) error {
	f := fields{text: rest}
	base := f.int64("")
	end, last := f.offsetAndEpoch()
	if f.err != nil {
		return l.fail("an append: %w", f.err)
	}
	action := spec.ActionAppend
	if !n.wrote {
		action, n.wrote = spec.ActionAppendLeaderChange, true
	}
	e, err := n.begin(l, action)
	if err != nil {
		return err
	}
	if action == spec.ActionAppend {
		if e.Args.Count = end - base; e.Args.Count < 1 {
			return l.fail("an append of %d records", e.Args.Count)
		}
	}
	n.logEnd(l, end, last)
	return nil
}

func (n *node) extended(l *line, rest string) error {
	f := fields{text: rest}
	end, last := f.offsetAndEpoch()
	if f.err != nil {
		return l.fail("an append: %w", f.err)
	}
	if n.cur == nil {
		return l.fail("an append, and nothing was received")
	}
	n.logEnd(l, end, last)
	return nil
}

func (n *node) truncated(l *line, rest string) error {
	f := fields{text: rest}
	end := f.int64("")
	if f.err != nil {
		return l.fail("a truncation: %w", f.err)
	}
	if n.cur == nil {
		return l.fail("a truncation, and nothing was received")
	}
	n.logEnd(l, end, 0)
	n.known.Has &^= event.HasLastEpoch
	return nil
}
