package story_test

import (
	"fmt"
	"slices"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/spec"
	"github.com/quorate/quorate/traces/story"
)

// Timeouts of the replicas, in ticks: so long that a timer fires only where a
// command makes it fire, and that only one does.
const (
	longTimeout = 1_000_000
	never       = 1_000_000_000_000
)

// coreCast plays with replicas of the implementation, on a disk and a network that
// are a few slices.
type coreCast struct {
	cluster  story.Cluster
	machines []*machine
	network  []wire
	parked   []wire
	conn     core.ConnID
}

// machine is a replica, its clock and its disk.
type machine struct {
	id        spec.ID
	core      *core.Replica
	now       core.Ticks
	log, disk spec.Log
	stored    core.Election
	found     bool
	flush     *core.Op // the last flush that was asked for
	waits     map[spec.ID]wire
	incoming  *wire // the message being handled
	served    []spec.Offset
	out       core.Effects
	disks     snapshotDisk
	checks    bool           // a new voter is to be asked what it can do
	refused   core.ErrorCode // the last change of the voter set
}

// wire is a message on its way.
type wire struct {
	opener, acceptor spec.ID
	conn             core.ConnID
	correlation      int32
	message          core.Message
	records          spec.Log
	offset           spec.Offset // that the request asked for
	preVote          bool
	read             int64
}

func newCore(c story.Cluster) (story.Cast, error) {
	s := &coreCast{cluster: c}
	for i := 1; i <= c.Voters+c.Observers; i++ {
		s.machines = append(s.machines, &machine{id: spec.ID(i)})
	}
	for _, m := range s.machines {
		if err := s.boot(m); err != nil {
			return nil, err
		}
	}
	s.calm()
	return s, nil
}

func (s *coreCast) boot(m *machine) error {
	cfg := core.Config{
		ID: core.ReplicaID(m.id), PreVote: s.cluster.PreVote, Bootstrap: []core.ReplicaID{1},
		ElectionTimeout: longTimeout, FetchTimeout: longTimeout, RequestTimeout: never, RetryBackoff: 1,
		MaxFetchWait: never, MaxSnapshotBytes: 1, ElectionBackoffMax: longTimeout, Seed: uint64(m.id),
	}
	for i := 1; i <= s.cluster.Voters; i++ {
		cfg.Voters = append(cfg.Voters, core.ReplicaKey{ID: core.ReplicaID(i)})
	}
	if s.cluster.Dynamic {
		cfg.Voters, cfg.Directory = nil, voter(m.id).Key.Directory
	}
	state := core.DiskState{Election: m.stored, HasElection: m.found, LogEnd: core.Offset(m.log.End()),
		LogStart: core.Offset(m.disks.start), Snapshots: m.disks.held}
	kept := m.log.Slice(m.disks.start, m.log.End())
	at := state.LogStart
	for _, r := range kept.Runs() {
		if n := len(state.Epochs); n == 0 || state.Epochs[n-1].Epoch != core.Epoch(r.Epoch) {
			state.Epochs = append(state.Epochs, core.EpochStart{Epoch: core.Epoch(r.Epoch), Start: at})
		}
		at += core.Offset(r.Count)
	}
	if s.cluster.Dynamic {
		state.VoterSets = s.voterSets(m)
	}
	m.waits, m.flush, m.disks.verify = map[spec.ID]wire{}, nil, nil
	r, err := core.New(cfg, state, m.now, &m.out)
	if err != nil {
		return err
	}
	m.core = r
	s.carryOut(m, r.State())
	return nil
}

func (s *coreCast) at(id spec.ID) *machine { return s.machines[id-1] }

func (s *coreCast) step(m *machine, in core.Input) {
	before := m.core.State()
	m.core.Step(m.now, &in, &m.out)
	s.carryOut(m, before)
	if m.checks {
		m.checks = false
		s.step(m, core.Input{Kind: core.InputVoterChecked, Client: changeClient})
	}
}

// carryOut does what the replica asked for.
func (s *coreCast) carryOut(m *machine, before core.State) {
	now := m.core.State()
	if before.Role != now.Role || before.Epoch != now.Epoch || before.Leader != now.Leader {
		clear(m.waits)
		s.parked = slices.DeleteFunc(s.parked, func(w wire) bool { return w.opener == m.id })
	}
	for i := range m.out.Ops {
		op := &m.out.Ops[i]
		switch op.Kind {
		case core.OpPersist:
			m.stored, m.found = op.Election, true
		case core.OpAppendLeaderChange:
			m.log.Append(spec.Run{Count: 1, Epoch: spec.Epoch(op.Epoch), Origin: m.id, Kind: spec.LeaderChange})
			if op.VoterSet != nil {
				m.log.Append(spec.Run{Count: 1, Epoch: spec.Epoch(op.Epoch), Origin: m.id, Kind: spec.KRaftVersion})
				m.log.Append(spec.Run{Count: 1, Epoch: spec.Epoch(op.Epoch), Origin: m.id, Kind: spec.KRaftVoters, Voters: setOf(op.VoterSet)})
			}
		case core.OpAppendVoters:
			m.log.Append(spec.Run{Count: 1, Epoch: spec.Epoch(op.Epoch), Origin: m.id, Kind: spec.KRaftVoters, Voters: setOf(op.VoterSet)})
		case core.OpCheckVoter:
			m.checks = true
		case core.OpAppendData:
			m.log.Append(spec.Run{Count: int64(len(op.Records)), Epoch: spec.Epoch(op.Epoch), Origin: m.id, Kind: spec.Data})
		case core.OpAppendRaw:
			news := m.incoming.records.Slice(0, spec.Offset(op.End-op.Base))
			m.log.AppendAll(&news)
		case core.OpTruncate:
			m.log.TruncateTo(spec.Offset(op.End))
		case core.OpFlush:
			f := *op
			m.flush = &f
		case core.OpSendRequest:
			s.conn++
			w := wire{
				opener: m.id, acceptor: spec.ID(op.Peer), conn: s.conn, correlation: op.Correlation, message: op.Message,
				offset: spec.Offset(op.Message.Offset), preVote: op.Message.PreVote, read: op.Message.Read,
			}
			m.waits[w.acceptor] = w
			looking := w.message.Kind == core.Fetch && w.message.MaxWait == 0
			if looking && (int(m.id) <= s.cluster.Voters || setOf(m.core.VoterSet().Voters).Has(m.id)) {
				continue // voters look for a leader; left out of stories
			}
			s.network = append(s.network, w)
		case core.OpReceiveSnapshot, core.OpVerifySnapshot, core.OpAbandonSnapshot, core.OpInstallSnapshot, core.OpAdvanceLogStart:
			m.carryOutSnapshot(op)
		case core.OpSendResponse:
			s.respond(m, op)
		case core.OpComplete:
			if op.Client == changeClient {
				m.refused = op.Result.Error
			}
			if op.Result.Error == core.None && op.Client == readClient {
				m.served = append(m.served, spec.Offset(op.Result.Offset))
			}
		}
	}
}

// respond sends an answer, if whoever asked still waits for it.
func (s *coreCast) respond(m *machine, op *core.Op) {
	request := m.incoming
	if request == nil || request.conn != op.Conn {
		at := slices.IndexFunc(s.parked, func(w wire) bool { return w.conn == op.Conn })
		if at < 0 {
			return
		}
		w := s.parked[at]
		s.parked = slices.Delete(s.parked, at, at+1)
		request = &w
	}
	answer := *request
	answer.message = op.Message
	if op.Message.Kind == core.Fetch && op.ReadTo > op.Message.Offset {
		answer.records = m.log.Slice(spec.Offset(op.Message.Offset), spec.Offset(op.ReadTo))
	}
	if op.Message.Kind == core.FetchSnapshot && op.MaxBytes > 0 {
		answer.message.Chunk = make([]byte, op.MaxBytes)
		answer.records = m.log.Slice(0, spec.Offset(op.Message.SnapshotID.End))
	}
	if s.waited(answer) {
		s.network = append(s.network, answer)
	}
	if m.incoming == request {
		m.incoming = nil // answered
	}
}

func (s *coreCast) waited(w wire) bool { return s.at(w.opener).waits[w.acceptor].conn == w.conn }

// msg is a message in the words of the specification.
func (s *coreCast) msg(w wire) spec.Msg {
	m := w.message
	out := spec.Msg{
		Kind: spec.Kind(m.Kind), Response: m.Response, Src: w.opener, Dst: w.acceptor, Epoch: spec.Epoch(m.Epoch),
		PreVote: w.preVote, Read: uint32(w.read), Late: !s.waited(w),
	}
	out.Snapshot, out.Position, out.Size, out.Bytes = specSnapshot(m.SnapshotID), m.Position, m.Size, int64(len(m.Chunk))
	if !m.Response {
		out.Offset, out.LastEpoch = w.offset, spec.Epoch(m.LastEpoch)
		return out
	}
	out.Src, out.Dst = out.Dst, out.Src
	out.Leader, out.Granted, out.Offset = replica(m.Leader), m.Granted, w.offset
	out.Error = map[core.ErrorCode]spec.Error{
		core.None: spec.NoErrorCode, core.NotLeaderOrFollower: spec.NotLeaderOrFollower, core.FencedLeaderEpoch: spec.FencedLeaderEpoch,
		core.UnknownLeaderEpoch: spec.UnknownLeaderEpoch, core.SnapshotNotFound: spec.SnapshotNotFound,
		core.PositionOutOfRange: spec.PositionOutOfRange,
	}[m.Error]
	if m.Kind == core.Fetch {
		out.HighWatermark, out.Records = spec.Offset(m.HighWatermark), w.records
		if m.Diverging.Epoch >= 0 {
			out.Diverging, out.DivergingEpoch, out.DivergingEnd = true, spec.Epoch(m.Diverging.Epoch), spec.Offset(m.Diverging.End)
		}
	}
	return out
}

func replica(id core.ReplicaID) spec.ID {
	if id < 0 {
		return spec.Nobody
	}
	return spec.ID(id)
}

// Line implements story.Cast.
func (s *coreCast) Line(id spec.ID) story.Line {
	m := s.at(id)
	st := m.core.State()
	l := story.Line{
		Role: st.Role.String(), Epoch: spec.Epoch(st.Epoch), Leader: replica(st.Leader), Voted: replica(st.Voted.ID),
		Log: m.log, Flushed: spec.Offset(st.Flushed), HighWatermark: spec.Offset(st.HighWatermark), Served: m.served, Snapshots: m.snapshots(),
		Voters: setOf(m.core.VoterSet().Voters),
	}
	if int64(st.LogEnd) != int64(m.log.End()) {
		l.Role += fmt.Sprintf(" (thinks that its log ends at %d)", st.LogEnd)
	}
	m.served = nil
	return l
}

// Messages implements story.Cast.
func (s *coreCast) Messages() []spec.Msg {
	var out []spec.Msg
	for _, w := range s.network {
		if m := s.msg(w); !m.Response || !m.Late {
			out = append(out, m)
		}
	}
	return out
}

// Parked implements story.Cast.
func (s *coreCast) Parked() []spec.Msg {
	var out []spec.Msg
	for _, w := range s.parked {
		out = append(out, s.msg(w))
	}
	return out
}

// calm lets the shortest of times pass, so that whoever backs off goes on.
func (s *coreCast) calm() {
	for range 3 {
		for _, m := range s.machines {
			m.now += 2
			s.step(m, core.Input{Kind: core.InputTick})
		}
	}
}

// Deliver implements story.Cast.
func (s *coreCast) Deliver(msg spec.Msg) error {
	at := slices.IndexFunc(s.network, func(w wire) bool { return s.msg(w) == msg })
	if at < 0 {
		return fmt.Errorf("%s is not in flight", msg.String())
	}
	w := s.network[at]
	s.network = slices.Delete(s.network, at, at+1)
	m := s.at(msg.Dst)
	in := core.Input{Kind: core.InputRequest, Conn: w.conn, Correlation: w.correlation, Message: &w.message}
	if w.message.Response {
		in.Kind, in.Peer = core.InputResponse, core.ReplicaID(w.acceptor)
		w.message.PreVote, w.message.Read = false, 0 // not on the wire
		if w.message.Kind == core.Fetch {
			w.message.Batches, w.message.Records = batches(w)
		}
		delete(m.waits, w.acceptor)
	}
	m.incoming = &w
	s.step(m, in)
	if m.incoming != nil && !w.message.Response {
		s.parked = append(s.parked, w)
	}
	m.incoming = nil
	s.calm()
	return nil
}

// batches are the records of a response as batches of a byte each.
func batches(w wire) ([]core.BatchInfo, []byte) {
	var list []core.BatchInfo
	at := core.Offset(w.message.Offset)
	for _, r := range w.records.Runs() {
		end := at + core.Offset(r.Count)
		b := core.BatchInfo{Base: at, End: end, Epoch: core.Epoch(r.Epoch), Control: r.Kind != spec.Data, Count: r.Count, Size: 1}
		switch r.Kind {
		case spec.KRaftVersion:
			b.Controls = []core.ControlRecord{{Kind: core.KRaftVersionRecord}}
		case spec.KRaftVoters:
			b.Controls = []core.ControlRecord{{Kind: core.KRaftVotersRecord, Voters: votersOf(r.Voters)}}
		}
		list = append(list, b)
		at = end
	}
	return list, make([]byte, len(list))
}

// Timeout implements story.Cast.
func (s *coreCast) Timeout(id spec.ID) error {
	m := s.at(id)
	before := m.core.State()
	if before.Role == core.Leader {
		return fmt.Errorf("%s has no timer that could fire as %s", id, before.Role)
	}
	m.now += 2*longTimeout + 1
	for range 5 {
		s.step(m, core.Input{Kind: core.InputTick})
		if st := m.core.State(); st.Role != before.Role || st.Epoch != before.Epoch {
			break
		}
		m.now += 2
	}
	s.calm()
	return nil
}

// Flush implements story.Cast.
func (s *coreCast) Flush(id spec.ID) error {
	m := s.at(id)
	if m.flush == nil {
		return fmt.Errorf("%s has nothing to flush", id)
	}
	for m.flush != nil {
		f := m.flush
		m.flush, m.disk = nil, m.log
		s.step(m, core.Input{Kind: core.InputFlushed, Flush: f.Flush, End: f.End})
	}
	s.calm()
	return nil
}

const (
	appendClient core.ClientID = iota
	readClient
	changeClient
)

// Append implements story.Cast.
func (s *coreCast) Append(id spec.ID, records int) error {
	m := s.at(id)
	if m.core.State().Role != core.Leader {
		return fmt.Errorf("%s does not lead", id)
	}
	s.step(m, core.Input{Kind: core.InputAppend, Client: appendClient, Records: slices.Repeat([][]byte{{1}}, records)})
	s.calm()
	return nil
}

// Read implements story.Cast.
func (s *coreCast) Read(id spec.ID) error {
	m := s.at(id)
	if m.core.State().Role != core.Leader {
		return fmt.Errorf("%s does not lead", id)
	}
	s.step(m, core.Input{Kind: core.InputRead, Client: readClient})
	s.calm()
	return nil
}

// Crash implements story.Cast.
func (s *coreCast) Crash(id spec.ID, keep spec.Offset) error {
	m := s.at(id)
	left := spec.Survivors(&spec.Replica{Log: m.log, Disk: m.disk})
	at := slices.IndexFunc(left, func(l spec.Log) bool { return l.End() == keep })
	if at < 0 {
		return fmt.Errorf("a crash cannot leave the log of %s ending at %d", id, keep)
	}
	m.log, m.disk = left[at], left[at]
	touches := func(w wire) bool { return w.opener == id || w.acceptor == id }
	s.network = slices.DeleteFunc(s.network, touches)
	s.parked = slices.DeleteFunc(s.parked, touches)
	if err := s.boot(m); err != nil {
		return err
	}
	for _, o := range s.machines {
		if w, ok := o.waits[id]; ok && o != m {
			delete(o.waits, id)
			s.step(o, core.Input{Kind: core.InputRequestFailed, Peer: core.ReplicaID(id), Correlation: w.correlation, Error: core.BrokerNotAvailable})
		}
	}
	s.calm()
	return nil
}

// CheckQuorum implements story.Cast.
func (s *coreCast) CheckQuorum(id spec.ID) error {
	m := s.at(id)
	if m.core.State().Role != core.Leader || len(m.core.VoterSet().Voters) == 1 {
		return fmt.Errorf("%s does not lead others", id)
	}
	m.now += 2 * longTimeout
	s.step(m, core.Input{Kind: core.InputTick})
	s.calm()
	return nil
}

// Resign implements story.Cast.
func (s *coreCast) Resign(id spec.ID) error {
	m := s.at(id)
	if m.core.State().Role != core.Leader {
		return fmt.Errorf("%s does not lead", id)
	}
	s.step(m, core.Input{Kind: core.InputResign})
	s.calm()
	return nil
}
