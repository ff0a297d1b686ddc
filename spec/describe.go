package spec

import (
	"fmt"
	"strings"

	"github.com/quorate/quorate/checker"
)

// pack fits the parameters of a step of a model into 32 bits.
func pack(a Args) uint32 {
	p := uint32(a.Dst|a.Voter)&0xff | uint32(a.Keep)&0xff<<8 | uint32(a.Count)&0x7ff<<16 | uint32(a.Size)&0xf<<27
	if a.Park {
		p |= 1 << 31
	}
	return p
}

// UnpackArgs are the parameters of a step of a model.
func UnpackArgs(i checker.Instance) Args {
	if ActionID(i.Action).AboutMembership() {
		return Args{Voter: ID(i.Args & 0xff)}
	}
	return Args{
		Dst: ID(i.Args & 0xff), Keep: int(i.Args >> 8 & 0xff),
		Count: int64(i.Args >> 16 & 0x7ff), Size: int64(i.Args >> 27 & 0xf), Park: i.Args>>31 == 1,
	}
}

// formatStep prints a step as a reader of the KIPs would say it.
func formatStep(m *Model, who int, i checker.Instance) string {
	a, args := ActionID(i.Action), UnpackArgs(i)
	var with []string
	switch a {
	case ActionSendVoteRequest, ActionSendBeginQuorumEpoch, ActionSendEndQuorumEpoch, ActionSendFetch, ActionSendFetchSnapshot:
		with = append(with, "to "+args.Dst.String())
	case ActionFlush:
		with = append(with, fmt.Sprintf("up to %d", args.Count))
	case ActionTakeSnapshot:
		with = append(with, fmt.Sprintf("of all below %d", args.Count))
	case ActionAdvanceLogStart:
		with = append(with, fmt.Sprintf("to %d", args.Count))
	case ActionHandleFetchSnapshotRequest:
		with = append(with, fmt.Sprintf("%d of %d parts", args.Count, args.Size))
	case ActionAppend:
		with = append(with, fmt.Sprintf("%d record", args.Count))
	case ActionHandleFetchRequest:
		if args.Park {
			with = append(with, "parked")
		} else {
			with = append(with, fmt.Sprintf("%d records", args.Count))
		}
	case ActionAddVoter, ActionRemoveVoter, ActionUpdateVoter:
		with = append(with, args.Voter.String())
	case ActionCrash:
		with = append(with, fmt.Sprintf("survivor %d", args.Keep))
	}
	name := a.String()
	if (a == ActionCrash || a == ActionLoseDisk) && !m.StaysDown {
		name += " and Restart"
	}
	if m.MergeFlush && (a == ActionAppend || a == ActionAppendLeaderChange || a == ActionHandleFetchResponse || a.AboutMembership()) {
		name += " and Flush"
	}
	if len(with) == 0 {
		return name
	}
	return name + "(" + strings.Join(with, ", ") + ")"
}

func offsetText(o Offset) string {
	if o == Unknown {
		return "unknown"
	}
	return fmt.Sprint(int64(o))
}

// String lists the runs: L1A is the LeaderChange record of A's epoch 1, 1Ax2 are
// two client records of it, V1A{AB} is a voter set that A wrote in it and K1A the
// KRaftVersion record before the first of those.
func (l *Log) String() string {
	var out []string
	for _, r := range l.Runs() {
		who := r.Origin.String()
		if r.Origin == Nobody {
			who = ""
		}
		t := fmt.Sprintf("%d%s", r.Epoch, who)
		if r.Life > 0 {
			t += strings.Repeat("'", int(r.Life))
		}
		switch r.Kind {
		case LeaderChange:
			t = "L" + t
		case KRaftVersion:
			t = "K" + t
		case KRaftVoters:
			t = "V" + t + r.Voters.String()
		}
		if r.Count > 1 || r.Kind == Data {
			t += fmt.Sprintf("x%d", r.Count)
		}
		out = append(out, t)
	}
	return "[" + strings.Join(out, " ") + "]"
}

// Describe lists the parts of a replica for a reader.
func Describe(r *Replica) []checker.Field {
	fields := []checker.Field{
		{Path: "role", Value: r.Role.String()},
		{Path: "epoch", Value: fmt.Sprint(r.Election.Epoch)},
		{Path: "leader", Value: r.Election.Leader.String()},
		{Path: "voted", Value: r.Election.Voted.String()},
		{Path: "log", Value: r.Log.String()},
		{Path: "flushed", Value: offsetText(r.FlushedEnd())},
		{Path: "highWatermark", Value: offsetText(r.HighWatermark)},
	}
	add := func(path, value string, show bool) {
		if show {
			fields = append(fields, checker.Field{Path: path, Value: value})
		}
	}
	add("quorumState", fmt.Sprintf("epoch %d leader %s voted %s", r.Stored.Epoch, r.Stored.Leader, r.Stored.Voted), r.Stored != r.Election)
	add("disk", r.Disk.String(), r.TruncationPending())
	add("voters", r.Voters.String(), r.Voters != 0)
	add("granted", r.Granted.String(), r.Granted != 0)
	add("hasFetched", "yes", r.HasFetched)
	add("logStart", offsetText(r.LogStart), r.LogStart > 0)
	add("snapshots", r.Snapshots.String(), len(r.Snapshots.All()) > 0)
	add("fetching", r.Fetching.String(), r.Fetching.Snapshot.End > 0)
	if r.Role == Leader {
		var ends []string
		for i, e := range r.End {
			if e != Unknown {
				ends = append(ends, fmt.Sprintf("%s:%d", ID(i+1), e))
			}
		}
		add("endOffsets", strings.Join(ends, " "), true)
		add("epochStartOffset", offsetText(r.EpochStart), true)
		add("reading", fmt.Sprintf("round %d at %d, confirmed by %s", r.ReadRound, r.ReadOffset, r.Confirmed), r.Reading)
	}
	return fields
}

// String prints a message in one line.
func (m *Msg) String() string {
	name := m.Kind.String()
	if m.PreVote {
		name = "Pre" + name
	}
	var b strings.Builder
	if m.Response {
		fmt.Fprintf(&b, "%sResponse %s->%s epoch %d", name, m.Src, m.Dst, m.Epoch)
	} else {
		fmt.Fprintf(&b, "%s %s->%s epoch %d", name, m.Src, m.Dst, m.Epoch)
	}
	switch {
	case m.Error != NoErrorCode:
		fmt.Fprintf(&b, " %s", m.Error)
	case m.Kind == Vote && m.Response:
		fmt.Fprintf(&b, " granted %v", m.Granted)
	case m.Kind == Vote:
		fmt.Fprintf(&b, " log end %d last epoch %d", m.Offset, m.LastEpoch)
	case m.Kind == FetchSnapshot && !m.Response:
		fmt.Fprintf(&b, " %s from %d", m.Snapshot, m.Position)
	case m.Kind == FetchSnapshot:
		fmt.Fprintf(&b, " %s from %d: %d of %d", m.Snapshot, m.Position, m.Bytes, m.Size)
	case m.Kind == Fetch && m.Snapshot.End > 0:
		fmt.Fprintf(&b, " for offset %d: snapshot %s", m.Offset, m.Snapshot)
	case m.Kind == Fetch && !m.Response:
		fmt.Fprintf(&b, " offset %d last epoch %d", m.Offset, m.LastEpoch)
	case m.Kind == Fetch && m.Diverging:
		fmt.Fprintf(&b, " for offset %d: diverging epoch %d ends at %d", m.Offset, m.DivergingEpoch, m.DivergingEnd)
	case m.Kind == Fetch:
		fmt.Fprintf(&b, " from %d: %s high watermark %s", m.Offset, m.Records.String(), offsetText(m.HighWatermark))
	}
	if m.Response && m.Leader != Nobody {
		fmt.Fprintf(&b, " leader %s", m.Leader)
	}
	if m.Read != 0 {
		fmt.Fprintf(&b, " read %d", m.Read)
	}
	if m.Late {
		b.WriteString(" (late)")
	}
	return b.String()
}

// DescribeProcess implements checker.System.
func (s *System) DescribeProcess(r *Replica) []checker.Field { return Describe(r) }

// DescribeMessage implements checker.System.
func (s *System) DescribeMessage(m *Msg) string { return m.String() }

// DescribeGhost implements checker.System.
func (s *System) DescribeGhost(g *Ghost) []checker.Field {
	return []checker.Field{
		{Path: "exposed", Value: g.Exposed.String()},
		{Path: "chosen", Value: g.Chosen.String()},
	}
}

// ReplicaView is a replica as a predicate of find sees it.
type ReplicaView struct {
	ID         string `expr:"id"`
	Role       string `expr:"role"`
	Epoch      int    `expr:"epoch"`
	Leader     string `expr:"leader"` // empty if none
	Voted      string `expr:"voted"`
	HW         int    `expr:"hw"`  // -1 if unknown
	End        int    `expr:"end"` // log end offset
	LastEpoch  int    `expr:"lastEpoch"`
	Flushed    int    `expr:"flushed"`
	EpochStart int    `expr:"epochStart"`
	Reading    bool   `expr:"reading"`
	Log        string `expr:"log"`
	LogStart   int    `expr:"logStart"`
	Snapshot   int    `expr:"snapshot"` // end of the latest, 0 if none
	Fetching   int    `expr:"fetching"` // end of the one that is being received, 0 if none
	Voters     string `expr:"voters"`   // the set in force, as ABC
}

// MessageView is a message in flight as a predicate of find sees it.
type MessageView struct {
	Kind      string `expr:"kind"`
	Response  bool   `expr:"response"`
	From      string `expr:"from"`
	To        string `expr:"to"`
	Epoch     int    `expr:"epoch"`
	Error     string `expr:"error"`
	PreVote   bool   `expr:"preVote"`
	Granted   bool   `expr:"granted"`
	Offset    int    `expr:"offset"`
	Diverging bool   `expr:"diverging"`
	Records   int    `expr:"records"`
	Late      bool   `expr:"late"`
	Snapshot  int    `expr:"snapshot"` // where it ends, 0 if none
	Position  int    `expr:"position"`
}

// Env implements checker.System: what a predicate of find may ask.
//
//	any(replicas, .role == "Leader" && .hw > 1)
//	count(replicas, .role == "Candidate") > 1
//	any(messages, .kind == "Fetch" && .diverging)
func (s *System) Env(replicas []*Replica, network []*Msg, g *Ghost) map[string]any {
	rs := make([]ReplicaView, 0, len(replicas))
	for _, r := range replicas {
		rs = append(rs, ReplicaView{
			ID: r.ID.String(), Role: r.Role.String(), Epoch: int(r.Election.Epoch),
			Leader: name(r.Election.Leader), Voted: name(r.Election.Voted),
			HW: int(r.HighWatermark), End: int(r.Log.End()), LastEpoch: int(r.Log.LastEpoch()),
			Flushed: int(r.FlushedEnd()), EpochStart: int(r.EpochStart), Reading: r.Reading, Log: r.Log.String(),
			Voters:   strings.Trim(s.ctx.voters(r).String(), "{}"),
			LogStart: int(r.LogStart), Snapshot: int(r.Snapshots.Latest().End), Fetching: int(r.Fetching.Snapshot.End),
		})
	}
	ms := make([]MessageView, 0, len(network))
	for _, m := range network {
		ms = append(ms, MessageView{
			Kind: m.Kind.String(), Response: m.Response, From: m.Src.String(), To: m.Dst.String(), Epoch: int(m.Epoch),
			Error: m.Error.String(), PreVote: m.PreVote, Granted: m.Granted, Offset: int(m.Offset),
			Diverging: m.Diverging, Records: int(m.Records.End()), Late: m.Late,
			Snapshot: int(m.Snapshot.End), Position: int(m.Position),
		})
	}
	return map[string]any{"replicas": rs, "messages": ms, "exposed": int(g.Exposed.End()), "chosen": int(g.Chosen.End())}
}

func name(i ID) string {
	if i == Nobody {
		return ""
	}
	return i.String()
}
