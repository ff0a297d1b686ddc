package event

import (
	"encoding/binary"
)

// The binary form of an event has the fields of its line in another writing, for a node
// that records all the time: a fifth of the processor time, a quarter of the bytes. What
// it says is the same. The node is not in it; it is said once in a file.
//
// Numbers are varints, those that may be negative in zigzag; a text is its length and its
// bytes; a set of flags says which of the optional parts follow, in their order.

// Flags of an event.
const (
	hasArgs = 1 << iota
	hasRecv
	hasSend
	hasState
	hasLog
	hasDurable
	hasAttach
	hasDetach
	eventFlags = 1<<iota - 1
)

// Flags of Args.
const (
	argCount = 1 << iota
	argPark
	argRead
	argSnapshot
	argVoter
	argFlags = 1<<iota - 1
)

// Flags of a message.
const (
	msgResponse = 1 << iota
	msgExternal
	msgPreVote
	msgGranted
	msgLeader
	msgError
	msgOffset
	msgLastEpoch
	msgHighWatermark
	msgDiverging
	msgRecords
	msgRead
	msgSnapshot
	msgPosition
	msgBytes
	msgSize
	msgFlags = 1<<iota - 1
)

// Flags of a change of the log, and of what became durable.
const (
	logTruncated = 1 << iota
	logReset
	logAppended
	logDigest
	logFlags = 1<<iota - 1

	durableElection = 1
	durableLogEnd   = 2
	durableSnapshot = 4
	durableFlags    = 7
)

// Flags of Attach and of Leading.
const (
	attachSnapshots = 1 << iota
	attachVoters
	attachSize
	attachGranted
	attachFetched
	attachLeading
	attachFlags = 1<<iota - 1

	leadingChange = 1
	leadingEnds   = 2
	leadingFlags  = 3
)

// AppendBinary appends an event, but for its node, to dst in the binary form. It
// allocates nothing if dst has room. As [AppendJSON] it leaves out what is absent in the
// schema, and writes what it is given.
func AppendBinary(dst []byte, e *Event) []byte {
	var flags uint64
	set := func(flag uint64, there bool) {
		if there {
			flags |= flag
		}
	}
	set(hasArgs, e.Args != (Args{}))
	set(hasRecv, e.Recv != nil)
	set(hasSend, len(e.Send) > 0)
	set(hasState, e.State.Has != 0)
	set(hasLog, e.Log != nil)
	set(hasDurable, e.Durable != nil)
	set(hasAttach, e.Attach != nil)
	set(hasDetach, e.Detach != nil)
	dst = append(dst, byte(flags))
	dst = putUint(dst, uint64(e.Inc))
	dst = putUint(dst, uint64(e.Seq))
	dst = putUint(dst, uint64(e.Step))
	dst = putText(dst, e.Action)
	if flags&hasArgs != 0 {
		dst = putArgs(dst, &e.Args)
	}
	if flags&hasRecv != 0 {
		dst = putMessage(dst, e.Recv)
	}
	if flags&hasSend != 0 {
		dst = putUint(dst, uint64(len(e.Send)))
		for i := range e.Send {
			dst = putMessage(dst, &e.Send[i])
		}
	}
	if flags&hasState != 0 {
		dst = putState(dst, &e.State)
	}
	if flags&hasLog != 0 {
		dst = putLog(dst, e.Log)
	}
	if flags&hasDurable != 0 {
		dst = putDurable(dst, e.Durable)
	}
	if flags&hasAttach != 0 {
		dst = putAttach(dst, e.Attach)
	}
	if flags&hasDetach != 0 {
		dst = putInt(dst, int64(e.Detach.Correlation))
	}
	return dst
}

func putUint(dst []byte, v uint64) []byte {
	for v >= 0x80 {
		dst = append(dst, byte(v)|0x80)
		v >>= 7
	}
	return append(dst, byte(v))
}

func putInt(dst []byte, v int64) []byte { return putUint(dst, uint64(v)<<1^uint64(v>>63)) }

func putText(dst []byte, s string) []byte {
	return append(putUint(dst, uint64(len(s))), s...)
}

func putSnapshot(dst []byte, id SnapshotID) []byte {
	return putInt(putInt(dst, id.End), int64(id.Epoch))
}

func putNode(dst []byte, n Node) []byte { return putText(putInt(dst, int64(n.ID)), n.Dir) }

func putNodes(dst []byte, nodes []Node) []byte {
	dst = putUint(dst, uint64(len(nodes)))
	for _, n := range nodes {
		dst = putNode(dst, n)
	}
	return dst
}

func putIDs(dst []byte, ids []int32) []byte {
	dst = putUint(dst, uint64(len(ids)))
	for _, id := range ids {
		dst = putInt(dst, int64(id))
	}
	return dst
}

func putRuns(dst []byte, runs []Run) []byte {
	dst = putUint(dst, uint64(len(runs)))
	for i := range runs {
		r := &runs[i]
		dst = putInt(dst, int64(r.Epoch))
		dst = putText(dst, r.Kind)
		dst = putInt(dst, r.Count)
		if r.Kind == KRaftVoters {
			dst = putNodes(dst, r.Voters)
		}
	}
	return dst
}

func putArgs(dst []byte, a *Args) []byte {
	at := len(dst)
	dst = append(dst, 0)
	var flags byte
	if a.Count != 0 {
		flags |= argCount
		dst = putInt(dst, a.Count)
	}
	if a.Park {
		flags |= argPark
	}
	if a.Read != 0 {
		flags |= argRead
		dst = putInt(dst, a.Read)
	}
	if a.Snapshot != (SnapshotID{}) {
		flags |= argSnapshot
		dst = putSnapshot(dst, a.Snapshot)
	}
	if a.Voter != nil {
		flags |= argVoter
		dst = putNode(dst, *a.Voter)
	}
	dst[at] = flags
	return dst
}

func putMessage(dst []byte, m *Message) []byte {
	at := len(dst)
	dst = append(dst, 0, 0) // its flags
	dst = putInt(dst, int64(m.Conn.From))
	dst = putInt(dst, int64(m.Conn.To))
	dst = putInt(dst, int64(m.Conn.Inc))
	dst = putInt(dst, m.Conn.N)
	dst = putInt(dst, int64(m.Correlation))
	dst = putText(dst, m.Kind)
	dst = putInt(dst, int64(m.Epoch))
	var flags uint16
	if m.Response {
		flags |= msgResponse
	}
	if m.External {
		flags |= msgExternal
	}
	if m.PreVote {
		flags |= msgPreVote
	}
	if m.Granted {
		flags |= msgGranted
	}
	if m.Leader != 0 {
		flags |= msgLeader
		dst = putInt(dst, int64(m.Leader))
	}
	if m.Error != 0 {
		flags |= msgError
		dst = putInt(dst, int64(m.Error))
	}
	if m.Offset != 0 {
		flags |= msgOffset
		dst = putInt(dst, m.Offset)
	}
	if m.LastEpoch != 0 {
		flags |= msgLastEpoch
		dst = putInt(dst, int64(m.LastEpoch))
	}
	if m.HighWatermark != 0 {
		flags |= msgHighWatermark
		dst = putInt(dst, m.HighWatermark)
	}
	if m.Diverging != nil {
		flags |= msgDiverging
		dst = putInt(putInt(dst, int64(m.Diverging.Epoch)), m.Diverging.EndOffset)
	}
	if len(m.Records) > 0 {
		flags |= msgRecords
		dst = putRuns(dst, m.Records)
	}
	if m.Read != 0 {
		flags |= msgRead
		dst = putInt(dst, m.Read)
	}
	if m.Snapshot != (SnapshotID{}) {
		flags |= msgSnapshot
		dst = putSnapshot(dst, m.Snapshot)
	}
	if m.Position != 0 {
		flags |= msgPosition
		dst = putInt(dst, m.Position)
	}
	if m.Bytes != 0 {
		flags |= msgBytes
		dst = putInt(dst, m.Bytes)
	}
	if m.Size != 0 {
		flags |= msgSize
		dst = putInt(dst, m.Size)
	}
	binary.LittleEndian.PutUint16(dst[at:], flags)
	return dst
}

func putState(dst []byte, s *State) []byte {
	has := s.Has
	if s.Snapshot == (SnapshotID{}) {
		has &^= HasSnapshot
	}
	dst = putUint(dst, uint64(has))
	if has&HasRole != 0 {
		dst = putText(dst, s.Role)
	}
	if has&HasEpoch != 0 {
		dst = putInt(dst, int64(s.Epoch))
	}
	if has&HasLeader != 0 {
		dst = putInt(dst, int64(s.Leader))
	}
	if has&HasVoted != 0 {
		dst = putInt(dst, int64(s.Voted))
	}
	if has&HasHighWatermark != 0 {
		dst = putInt(dst, s.HighWatermark)
	}
	if has&HasLogStart != 0 {
		dst = putInt(dst, s.LogStart)
	}
	if has&HasLogEnd != 0 {
		dst = putInt(dst, s.LogEnd)
	}
	if has&HasLastEpoch != 0 {
		dst = putInt(dst, int64(s.LastEpoch))
	}
	if has&HasFlushed != 0 {
		dst = putInt(dst, s.Flushed)
	}
	if has&HasDigest != 0 {
		dst = binary.LittleEndian.AppendUint64(dst, s.Digest)
	}
	if has&HasSnapshot != 0 {
		dst = putSnapshot(dst, s.Snapshot)
	}
	if has&HasFetching != 0 {
		dst = putInt(putSnapshot(dst, s.Fetching.Snapshot), s.Fetching.Position)
	}
	if has&HasVoters != 0 {
		dst = putNodes(dst, s.Voters)
	}
	return dst
}

func putLog(dst []byte, l *LogChange) []byte {
	at := len(dst)
	dst = putInt(append(dst, 0), l.Base)
	var flags byte
	if l.Truncated != -1 {
		flags |= logTruncated
		dst = putInt(dst, l.Truncated)
	}
	if l.Reset != 0 {
		flags |= logReset
		dst = putInt(dst, l.Reset)
	}
	if len(l.Appended) > 0 {
		flags |= logAppended
		dst = putRuns(dst, l.Appended)
	}
	if !l.NoDigest {
		flags |= logDigest
		dst = binary.LittleEndian.AppendUint64(dst, l.Digest)
	}
	dst[at] = flags
	return dst
}

func putDurable(dst []byte, d *Durable) []byte {
	at := len(dst)
	dst = append(dst, 0)
	var flags byte
	if d.Election {
		flags |= durableElection
	}
	if d.LogEnd != -1 {
		flags |= durableLogEnd
		dst = putInt(dst, d.LogEnd)
	}
	if d.Snapshot != (SnapshotID{}) {
		flags |= durableSnapshot
		dst = putSnapshot(dst, d.Snapshot)
	}
	dst[at] = flags
	return dst
}

func putAttach(dst []byte, a *Attach) []byte {
	var flags byte
	at := len(dst)
	dst = putInt(append(dst, 0), int64(a.Correlation))
	dst = putRuns(dst, a.Log)
	if len(a.Snapshots) > 0 {
		flags |= attachSnapshots
		dst = putUint(dst, uint64(len(a.Snapshots)))
		for _, id := range a.Snapshots {
			dst = putSnapshot(dst, id)
		}
	}
	if len(a.Voters) > 0 {
		flags |= attachVoters
		dst = putNodes(dst, a.Voters)
	}
	if a.FetchingSize != 0 {
		flags |= attachSize
		dst = putInt(dst, a.FetchingSize)
	}
	if len(a.Granted) > 0 {
		flags |= attachGranted
		dst = putIDs(dst, a.Granted)
	}
	if a.Fetched {
		flags |= attachFetched
	}
	if l := a.Leading; l != nil {
		flags |= attachLeading
		var change byte
		if l.LeaderChange {
			change = leadingChange
		}
		if len(l.Ends) > 0 {
			change |= leadingEnds
		}
		dst = putInt(append(dst, change), l.EpochStart)
		if len(l.Ends) > 0 {
			dst = putUint(dst, uint64(len(l.Ends)))
			for _, e := range l.Ends {
				dst = putInt(putInt(dst, int64(e.ID)), e.Offset)
			}
		}
		dst = putInt(putInt(dst, l.Read), l.ReadOffset)
		dst = putIDs(dst, l.Confirmed)
	}
	dst[at] = flags
	return dst
}
