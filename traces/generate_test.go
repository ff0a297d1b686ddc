package traces

import (
	"fmt"
	"math/rand/v2"

	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/event"
)

// generator walks through the specification at random and records what it does as
// an implementation would.
type generator struct {
	rng      *rand.Rand
	who      *members
	ctx      spec.Ctx
	out      spec.Outbox
	replicas []spec.Replica
	events   [][]event.Event
	inc      []int32
	seq      []int64
	step     []int64
	conns    []int64
	reads    []int64
	flight   []inFlight
	asked    []bool // a fetch is in flight
	total    int
	calm     bool // no crashes and few elections
	forgets  bool // replicas forget what they received of snapshots, which leaves no event
}

type inFlight struct {
	id     messageID
	msg    spec.Msg
	seen   event.Message
	parked bool
}

func newGenerator(seed uint64, run *Run) *generator {
	who, err := run.members()
	if err != nil {
		panic(err)
	}
	n := len(who.ids)
	g := &generator{
		rng: rand.New(rand.NewPCG(seed, 7)), who: who, ctx: spec.Ctx{Rules: spec.CleanRules(), Voters: who.voters, Dynamic: who.dynamic},
		replicas: make([]spec.Replica, n), events: make([][]event.Event, n), inc: make([]int32, n), seq: make([]int64, n), step: make([]int64, n),
		conns: make([]int64, n), reads: make([]int64, n), asked: make([]bool, n),
	}
	for i, r := range newWorld(who).replicas[:n] {
		g.replicas[i] = r
		g.start(i)
	}
	return g
}

func (g *generator) start(i int) {
	old := g.replicas[i]
	if !g.ctx.Take(spec.ActionRestart, &g.replicas[i], nil, spec.Args{}, &g.out) {
		panic("no restart")
	}
	g.inc[i]++
	g.seq[i], g.step[i], g.conns[i], g.reads[i], g.asked[i] = 0, 0, 0, 0, false
	g.emit(i, spec.ActionRestart, event.Args{}, nil, nil, &old)
}

// chain is the digest of a log.
func chain(l *spec.Log) uint64 {
	h := uint64(0)
	for _, r := range l.Runs() {
		for _, x := range [...]uint64{uint64(r.Count), uint64(r.Epoch), uint64(r.Origin), uint64(r.Kind), uint64(r.Life), uint64(r.Voters)} {
			h = (h ^ x + 1) * 0x9E3779B97F4A7C15
			h ^= h >> 29
		}
	}
	return h
}

func (g *generator) recorded(m *spec.Msg, id messageID, read int64) event.Message {
	e := event.Message{
		Conn: id.conn, Correlation: id.corr, Response: id.response, Kind: m.Kind.String(), Epoch: int32(m.Epoch),
		PreVote: m.PreVote, Granted: m.Granted, Read: read,
	}
	if m.Response {
		e.Leader, e.Error = g.who.node(m.Leader), errorCodes[m.Error]
	} else {
		e.Offset, e.LastEpoch = int64(m.Offset), int32(m.LastEpoch)
	}
	e.Snapshot, e.Position, e.Bytes, e.Size = nameOf(m.Snapshot), m.Position, m.Bytes, m.Size
	if m.Response && m.Kind == spec.Fetch {
		e.HighWatermark = int64(m.HighWatermark)
		if m.Records.End() > 0 {
			e.Offset = int64(m.Offset)
		}
		if m.Diverging {
			e.Diverging = &event.EpochEnd{Epoch: int32(m.DivergingEpoch), EndOffset: int64(m.DivergingEnd)}
		}
		e.Records = g.who.recordedAs(m.Records.Runs())
	}
	return e
}

func (g *generator) emit(i int, a spec.ActionID, args event.Args, recv, sent *event.Message, old *spec.Replica) {
	r := &g.replicas[i]
	g.seq[i]++
	if g.rng.IntN(3) > 0 || g.seq[i] == 1 {
		g.step[i]++
	}
	e := event.Event{
		Node: event.Node{ID: g.who.ids[i], Dir: "dir"}, Inc: g.inc[i], Seq: g.seq[i], Step: g.step[i], Action: a.String(), Args: args,
		State: event.State{
			Has: event.HasRole | event.HasEpoch | event.HasLeader | event.HasVoted | event.HasHighWatermark | event.HasLogStart |
				event.HasLogEnd | event.HasLastEpoch | event.HasFlushed | event.HasDigest | event.HasSnapshot | event.HasFetching,
			Role: r.Role.String(), Epoch: int32(r.Election.Epoch), Leader: g.who.node(r.Election.Leader), Voted: g.who.node(r.Election.Voted),
			HighWatermark: int64(r.HighWatermark), LogEnd: int64(r.Log.End()), LastEpoch: int32(r.Log.LastEpoch()),
			Flushed: int64(r.FlushedEnd()), Digest: chain(&r.Log), LogStart: int64(r.LogStart), Snapshot: nameOf(r.Snapshots.Latest()),
			Fetching: event.Fetching{Snapshot: nameOf(r.Fetching.Snapshot), Position: r.Fetching.Position},
		},
	}
	if g.who.dynamic && (a == spec.ActionRestart || r.Voters != old.Voters) {
		e.State.Has |= event.HasVoters
		e.State.Voters = g.who.recordedVoters(g.ctx.VotersOf(r))
	}
	if recv != nil {
		m := *recv
		e.Recv = &m
	}
	if sent != nil {
		e.Send = []event.Message{*sent}
	}
	common := spec.CommonPrefix(&old.Log, &r.Log)
	if common < old.Log.End() || common < r.Log.End() {
		if a != spec.ActionRestart {
			e.Log = &event.LogChange{Truncated: -1, Base: int64(common), Digest: chain(&r.Log)}
			if common < old.Log.End() {
				e.Log.Truncated = int64(common)
			}
			tail := r.Log.Slice(common, r.Log.End())
			e.Log.Appended = g.who.recordedAs(tail.Runs())
		}
	}
	if a == spec.ActionInstallSnapshot {
		e.Log = &event.LogChange{Truncated: -1, Reset: int64(r.LogStart), Base: int64(r.LogStart), Digest: chain(&r.Log)}
	}
	switch {
	case a == spec.ActionRestart:
		e.Durable = &event.Durable{Election: true, LogEnd: int64(r.Log.End())}
	case a == spec.ActionFlush:
		e.Durable = &event.Durable{LogEnd: int64(r.Disk.End())}
	case a == spec.ActionInstallSnapshot:
		e.Durable = &event.Durable{LogEnd: int64(r.Disk.End()), Snapshot: nameOf(r.Snapshots.Latest())}
	case a == spec.ActionTakeSnapshot:
		e.Durable = &event.Durable{LogEnd: -1, Snapshot: nameOf(r.Snapshots.Latest())}
	case r.Stored != old.Stored:
		e.Durable = &event.Durable{Election: true, LogEnd: -1}
	}
	g.events[i] = append(g.events[i], e)
	g.total++
}

// local tries an action that handles no message.
func (g *generator) local(i int, a spec.ActionID, args spec.Args) bool {
	old := g.replicas[i]
	if !g.ctx.Take(a, &g.replicas[i], nil, args, &g.out) {
		return false
	}
	var recorded event.Args
	switch a {
	case spec.ActionAppend:
		recorded.Count = args.Count
	case spec.ActionAddVoter, spec.ActionRemoveVoter, spec.ActionUpdateVoter:
		recorded.Voter = &event.Node{ID: g.who.node(args.Voter), Dir: "dir"}
	case spec.ActionStartRead:
		g.reads[i]++
		recorded.Read = g.reads[i]
	case spec.ActionServeRead:
		recorded.Read = g.reads[i]
	case spec.ActionTakeSnapshot:
		recorded.Snapshot = nameOf(g.replicas[i].Snapshots.Latest())
	case spec.ActionAdvanceLogStart:
		recorded.Snapshot = nameOf(g.replicas[i].Snapshots.First())
	case spec.ActionInstallSnapshot:
		recorded.Snapshot = nameOf(old.Fetching.Snapshot)
	}
	var sent *event.Message
	for _, m := range g.out.Messages() {
		g.conns[i]++
		id := messageID{conn: event.Conn{From: g.who.ids[i], To: g.who.node(m.Dst), Inc: g.inc[i], N: g.conns[i]}, corr: int32(g.conns[i])}
		read := int64(0)
		if m.Read != 0 {
			read = g.reads[i]
		}
		s := g.recorded(&m, id, read)
		sent = &s
		g.flight = append(g.flight, inFlight{id: id, msg: m, seen: s})
	}
	g.emit(i, a, recorded, nil, sent, &old)
	return true
}

// snapshotSize is that of every snapshot, in bytes.
const snapshotSize = 7

func fetches(m *spec.Msg) bool { return m.Kind == spec.Fetch || m.Kind == spec.FetchSnapshot }

// deliver hands a message in flight to who it is for.
func (g *generator) deliver(at int) {
	f := g.flight[at]
	remove := func() { g.flight = append(g.flight[:at], g.flight[at+1:]...) }
	i := g.who.index(f.id.receiver())
	if g.inc[g.who.index(f.id.conn.From)] != f.id.conn.Inc && f.id.response {
		remove()
		return
	}
	a := spec.HandlerOf(&f.msg)
	old := g.replicas[i]
	var args spec.Args
	if a == spec.ActionHandleFetchRequest {
		args.Count = int64(old.Log.End()) - int64(f.msg.Offset)
		if args.Count > 1 && g.rng.IntN(3) == 0 {
			args.Count = 1 + g.rng.Int64N(args.Count)
		}
		args.Park = old.Role == spec.Leader && args.Count <= 0 && !f.parked && g.rng.IntN(2) == 0
	}
	if a == spec.ActionHandleFetchSnapshotRequest {
		args = spec.Args{Count: g.rng.Int64N(snapshotSize + 1), Size: snapshotSize}
	}
	taken := false
	for _, try := range []spec.Args{args, {Count: 0, Size: args.Size}, {Count: 0, Park: true}} {
		if taken = g.ctx.Take(a, &g.replicas[i], &f.msg, try, &g.out); taken {
			args = try
			break
		}
	}
	if !taken {
		panic(fmt.Sprintf("%v cannot be handled", f.msg))
	}
	if fetches(&f.msg) && f.msg.Response {
		g.asked[i] = false
	}
	args.Park = args.Park && len(g.out.Messages()) == 0
	var sent *event.Message
	if args.Park {
		g.flight[at].parked = true
	} else {
		remove()
	}
	for _, m := range g.out.Messages() {
		s := g.recorded(&m, f.id.other(), f.seen.Read)
		sent = &s
		g.flight = append(g.flight, inFlight{id: f.id.other(), msg: m, seen: s})
	}
	g.emit(i, a, event.Args{Park: args.Park}, &f.seen, sent, &old)
}

func (g *generator) crash(i int) {
	logs := spec.Survivors(&g.replicas[i])
	if !g.ctx.Take(spec.ActionCrash, &g.replicas[i], nil, spec.Args{Keep: g.rng.IntN(len(logs))}, &g.out) {
		panic("no crash")
	}
	g.start(i)
}

// once does one thing, or nothing.
func (g *generator) once() {
	n := len(g.replicas)
	i := g.rng.IntN(n)
	r := &g.replicas[i]
	some := func(k int) bool { return g.rng.IntN(k) == 0 }
	other := spec.ID(1 + g.rng.IntN(n))
	rare := 1
	if g.calm {
		rare = 20
	}
	if len(g.flight) > 3*n && some(2) || len(g.flight) > 0 && some(2) {
		at := g.rng.IntN(len(g.flight))
		if some(40) && !g.calm || len(g.flight) > 8*n {
			f := g.flight[at]
			if fetches(&f.msg) {
				g.asked[g.who.index(f.id.conn.From)] = false
			}
			g.flight = append(g.flight[:at], g.flight[at+1:]...)
			return
		}
		g.deliver(at)
		return
	}
	switch {
	case some(400 * rare):
		g.crash(i)
	case some(3) && g.local(i, spec.ActionBecomeLeader, spec.Args{}):
	case some(2) && g.local(i, spec.ActionAppendLeaderChange, spec.Args{WithVoters: g.who.dynamic && some(3)}):
	case r.Role == spec.Leader && g.who.dynamic && some(6) && g.change(i, other):
	case some(3) && !r.Flushed():
		from := int64(r.FlushedEnd())
		g.local(i, spec.ActionFlush, spec.Args{Count: from + g.rng.Int64N(int64(r.Log.End())-from+1)})
	case r.Role == spec.Leader && some(200*rare) && g.local(i, spec.ActionResign, spec.Args{}):
	case r.Role == spec.Leader && some(200*rare) && g.local(i, spec.ActionCheckQuorumResign, spec.Args{}):
	case r.Role == spec.Leader && some(2):
		g.local(i, spec.ActionAppend, spec.Args{Count: 1 + g.rng.Int64N(3)})
	case r.Role == spec.Leader && some(4) && g.local(i, spec.ActionStartRead, spec.Args{}):
	case r.Role == spec.Leader && some(4) && g.local(i, spec.ActionServeRead, spec.Args{}):
	case r.Role == spec.Leader && some(2):
		g.local(i, spec.ActionSendBeginQuorumEpoch, spec.Args{Dst: other})
	case r.Role == spec.Resigned && some(3):
		g.local(i, spec.ActionSendEndQuorumEpoch, spec.Args{Dst: other})
	case r.Role == spec.Resigned && some(3) && g.local(i, spec.ActionLeaveResigned, spec.Args{}):
	case r.Role == spec.Prospective && some(20) && g.local(i, spec.ActionAbandonPreVote, spec.Args{}):
	case some(2) && g.local(i, spec.ActionSendVoteRequest, spec.Args{Dst: other}):
	case some(30*rare) && r.HighWatermark > 0:
		g.local(i, spec.ActionTakeSnapshot, spec.Args{Count: 1 + g.rng.Int64N(int64(r.HighWatermark))})
	case some(10) && r.Snapshots.First().End > 0:
		of := r.Snapshots.All()
		g.local(i, spec.ActionAdvanceLogStart, spec.Args{Count: int64(of[g.rng.IntN(len(of))].End)})
	case some(2) && g.local(i, spec.ActionInstallSnapshot, spec.Args{}):
	case g.forgets && some(40) && !g.asked[i] && g.ctx.Take(spec.ActionAbandonSnapshot, r, nil, spec.Args{}, &g.out):
	case !g.asked[i] && r.Role == spec.Follower && r.Fetching.Snapshot.End > 0:
		g.asked[i] = some(2) && g.local(i, spec.ActionSendFetchSnapshot, spec.Args{Dst: r.Election.Leader})
	case !g.asked[i] && some(2) && (n == 1 || i != g.total/100%n): // each lags behind at times
		dst := other
		if r.Election.Leader != spec.Nobody {
			dst = r.Election.Leader
		}
		g.asked[i] = g.local(i, spec.ActionSendFetch, spec.Args{Dst: dst})
	case (r.Role == spec.Prospective || some(60*rare)) && g.local(i, spec.ActionBecomeCandidate, spec.Args{}):
	case (r.Role == spec.Unattached || some(60*rare)) && g.local(i, spec.ActionBecomeProspective, spec.Args{}):
	}
}

// change changes the voter set.
func (g *generator) change(i int, who spec.ID) bool {
	a := []spec.ActionID{spec.ActionAddVoter, spec.ActionRemoveVoter, spec.ActionUpdateVoter}[g.rng.IntN(3)]
	return g.local(i, a, spec.Args{Voter: who})
}

// generate records a walk of so many events.
func generate(seed uint64, run *Run, events int, calm bool) []Input {
	g := newGenerator(seed, run)
	g.calm = calm
	return g.walk(events)
}

func (g *generator) walk(events int) []Input {
	for i := 0; g.total < events; i++ {
		if i > 100*events {
			panic("the walk does not go on")
		}
		g.once()
	}
	var inputs []Input
	for i, list := range g.events {
		inputs = append(inputs, Events(fmt.Sprintf("node-%d", g.who.ids[i]), list))
	}
	return inputs
}
