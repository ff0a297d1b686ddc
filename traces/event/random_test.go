package event

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
)

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// damage changes one value somewhere in a decoded line, or takes it away, or
// adds a field.
func damage(r *rand.Rand, object map[string]any) {
	values := []any{nil, true, "x", "request", "response", "Fetch", "Vote", "0123456789abcdef", []any{}, map[string]any{},
		json.Number("0"), json.Number("-1"), json.Number("-2"), json.Number("1"), json.Number("2147483648"), json.Number("40000"),
		json.Number("9223372036854775807"), json.Number("9223372036854775808"), []any{[]any{json.Number("1"), "Data", json.Number("2")}},
		"KRaftVoters", []any{map[string]any{"id": json.Number("1")}},
		[]any{[]any{json.Number("1"), "KRaftVoters", json.Number("1"), []any{map[string]any{"id": json.Number("3"), "dir": "kQ"}}}}}
	keys := make([]string, 0, len(object))
	for k := range object {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	if len(keys) > 0 {
		key := keys[r.IntN(len(keys))]
		switch sub := object[key].(type) {
		case map[string]any:
			if r.IntN(4) > 0 {
				damage(r, sub)
				return
			}
		case []any:
			if len(sub) > 0 && r.IntN(4) > 0 {
				i := r.IntN(len(sub))
				if o, ok := sub[i].(map[string]any); ok {
					damage(r, o)
				} else if run, ok := sub[i].([]any); ok && len(run) > 0 {
					run[r.IntN(len(run))] = values[r.IntN(len(values))]
					if r.IntN(3) == 0 {
						sub[i] = run[:r.IntN(len(run))]
					}
				} else {
					sub[i] = values[r.IntN(len(values))]
				}
				return
			}
		}
		switch r.IntN(5) {
		case 0:
			delete(object, key)
			return
		default:
			object[key] = values[r.IntN(len(values))]
			return
		}
	}
	object["extra"] = true
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

func offset(r *rand.Rand, min int64) int64 {
	return pick(r, min, 0, 1, r.Int64N(1000), r.Int64(), math.MaxInt64)
}

func number(r *rand.Rand, min int32) int32 {
	return pick(r, min, 0, 1, r.Int32N(1000), r.Int32(), math.MaxInt32)
}

func text(r *rand.Rand) string {
	return pick(r, "", "Append", "HandleFetchResponse", "a\"b\\c", "\x00\x1f\u007f", "é漢😀\u2028", "kQ_-")
}

// randomEvent is an event that survives coding: fields that are not written when
// absent have the value that absence means.
func randomEvent(r *rand.Rand) Event {
	e := Event{
		Node: Node{number(r, 0), text(r)}, Inc: max(1, number(r, 1)), Seq: max(1, offset(r, 1)),
		Step: offset(r, 0), Action: text(r),
	}
	if r.IntN(2) == 0 {
		e.Args = Args{Count: offset(r, 0), Park: r.IntN(2) == 0, Read: offset(r, 0), Snapshot: randomSnapshot(r)}
		if r.IntN(4) == 0 {
			e.Args.Voter = &Node{number(r, 0), text(r)}
		}
	}
	if r.IntN(2) == 0 {
		m := randomMessage(r)
		e.Recv = &m
	}
	for range r.IntN(4) {
		e.Send = append(e.Send, randomMessage(r))
	}
	e.State = State{StateFields(r.IntN(1 << 13)), text(r), number(r, 0), number(r, -1), number(r, -1), offset(r, -1),
		offset(r, 0), offset(r, 0), number(r, -1), offset(r, 0), r.Uint64(),
		randomSnapshot(r), Fetching{SnapshotID{offset(r, 0), number(r, 0)}, offset(r, 0)}, randomNodes(r)}
	e.State = normal(e.State)
	if r.IntN(2) == 0 {
		e.Log = &LogChange{offset(r, -1), offset(r, 0), offset(r, 0), randomRuns(r), r.Uint64(), false}
		if r.IntN(4) == 0 {
			e.Log.Digest, e.Log.NoDigest = 0, true
		}
	}
	if r.IntN(2) == 0 {
		e.Durable = &Durable{r.IntN(2) == 0, offset(r, -1), randomSnapshot(r)}
	}
	if r.IntN(4) == 0 {
		e.Attach = randomAttach(r)
	}
	if r.IntN(8) == 0 {
		e.Detach = &Detach{number(r, 0)}
	}
	return e
}

func randomAttach(r *rand.Rand) *Attach {
	a := &Attach{Correlation: number(r, 0), Log: randomRuns(r), Voters: randomNodes(r), FetchingSize: offset(r, 0), Granted: randomIDs(r), Fetched: r.IntN(2) == 0}
	for range r.IntN(3) {
		a.Snapshots = append(a.Snapshots, SnapshotID{offset(r, math.MinInt64), number(r, math.MinInt32)})
	}
	if r.IntN(2) == 0 {
		l := &Leading{EpochStart: offset(r, 0), LeaderChange: r.IntN(2) == 0, Read: offset(r, 0), ReadOffset: offset(r, 0), Confirmed: randomIDs(r)}
		for range r.IntN(3) {
			l.Ends = append(l.Ends, ReplicaEnd{number(r, 0), offset(r, 0)})
		}
		a.Leading = l
	}
	return a
}

func randomNodes(r *rand.Rand) (nodes []Node) {
	for range r.IntN(3) {
		nodes = append(nodes, Node{number(r, 0), text(r)})
	}
	return nodes
}

func randomIDs(r *rand.Rand) (ids []int32) {
	for range r.IntN(3) {
		ids = append(ids, number(r, 0))
	}
	return ids
}

// normal clears what Has does not claim.
func normal(s State) State {
	n := State{Has: s.Has}
	if s.Has&HasRole != 0 {
		n.Role = s.Role
	}
	if s.Has&HasEpoch != 0 {
		n.Epoch = s.Epoch
	}
	if s.Has&HasLeader != 0 {
		n.Leader = s.Leader
	}
	if s.Has&HasVoted != 0 {
		n.Voted = s.Voted
	}
	if s.Has&HasHighWatermark != 0 {
		n.HighWatermark = s.HighWatermark
	}
	if s.Has&HasLogStart != 0 {
		n.LogStart = s.LogStart
	}
	if s.Has&HasLogEnd != 0 {
		n.LogEnd = s.LogEnd
	}
	if s.Has&HasLastEpoch != 0 {
		n.LastEpoch = s.LastEpoch
	}
	if s.Has&HasFlushed != 0 {
		n.Flushed = s.Flushed
	}
	if s.Has&HasDigest != 0 {
		n.Digest = s.Digest
	}
	if s.Has&HasSnapshot != 0 {
		n.Snapshot = s.Snapshot
		if n.Snapshot == (SnapshotID{}) {
			n.Has &^= HasSnapshot
		}
	}
	if s.Has&HasFetching != 0 {
		n.Fetching = s.Fetching
	}
	if s.Has&HasVoters != 0 {
		n.Voters = s.Voters
	}
	return n
}

func randomMessage(r *rand.Rand) Message {
	m := Message{
		Conn: Conn{number(r, -1), number(r, -1), number(r, 0), offset(r, 0)}, Correlation: number(r, math.MinInt32),
		Response: r.IntN(2) == 0, Kind: pick(r, Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch, FetchSnapshot, text(r)), External: r.IntN(8) == 0,
		Epoch: number(r, -1), Leader: number(r, -1), Error: int16(r.Uint32()), PreVote: r.IntN(2) == 0, Granted: r.IntN(2) == 0,
		Offset: offset(r, -1), LastEpoch: number(r, -1), HighWatermark: offset(r, -1), Records: randomRuns(r), Read: offset(r, 0),
		Snapshot: randomSnapshot(r), Position: offset(r, math.MinInt64), Bytes: offset(r, 0), Size: offset(r, math.MinInt64),
	}
	if r.IntN(3) == 0 {
		m.Diverging = &EpochEnd{number(r, -1), offset(r, -1)}
	}
	return m
}

func randomSnapshot(r *rand.Rand) SnapshotID {
	if r.IntN(2) == 0 {
		return SnapshotID{}
	}
	return SnapshotID{offset(r, math.MinInt64), number(r, math.MinInt32)}
}

func randomRuns(r *rand.Rand) []Run {
	var runs []Run
	for range r.IntN(3) {
		run := Run{Epoch: number(r, 0), Kind: pick(r, Data, LeaderChange, KRaftVersion, KRaftVoters, text(r)), Count: max(1, offset(r, 1))}
		if run.Kind == KRaftVoters {
			run.Count, run.Voters = 1, randomNodes(r)
		}
		runs = append(runs, run)
	}
	return runs
}
