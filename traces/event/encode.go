package event

import "github.com/quorate/quorate/traces/event/ndjson"

// AppendJSON appends an event to dst as one JSON object, without a newline, and
// allocates nothing if dst has room. Fields that are absent in the schema when
// they are zero are left out; of State only the fields in Has are written. It
// writes what it is given: numbers out of range are found by [Decode].
func AppendJSON(dst []byte, e *Event) []byte {
	dst = appendNode(append(dst, `{"v":1,"node":`...), e.Node)
	dst = ndjson.AppendInt(dst, `,"inc":`, int64(e.Inc))
	dst = ndjson.AppendInt(dst, `,"seq":`, e.Seq)
	dst = ndjson.AppendInt(dst, `,"step":`, e.Step)
	if e.Action != "" {
		dst = append(dst, `,"action":`...)
		dst = ndjson.AppendText(dst, e.Action)
	}
	if e.Args != (Args{}) {
		dst = appendArgs(append(dst, `,"args":`...), e.Args)
	}
	if e.Recv != nil {
		dst = appendMessage(append(dst, `,"recv":`...), e.Recv)
	}
	if len(e.Send) > 0 {
		dst = append(dst, `,"send":[`...)
		for i := range e.Send {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = appendMessage(dst, &e.Send[i])
		}
		dst = append(dst, ']')
	}
	if e.State.Has != 0 {
		dst = appendState(append(dst, `,"state":`...), &e.State)
	}
	if e.Log != nil {
		dst = appendLog(append(dst, `,"log":`...), e.Log)
	}
	if e.Durable != nil {
		dst = appendDurable(append(dst, `,"durable":`...), e.Durable)
	}
	if e.Attach != nil {
		dst = appendAttach(append(dst, `,"attach":`...), e.Attach)
	}
	if e.Detach != nil {
		dst = ndjson.AppendInt(dst, `,"detach":{"corr":`, int64(e.Detach.Correlation))
		dst = append(dst, '}')
	}
	return append(dst, '}')
}

// closeObject ends an object that was begun after position at: the comma before
// its first field becomes its brace.
func closeObject(dst []byte, at int) []byte {
	if len(dst) == at {
		return append(dst, '{', '}')
	}
	dst[at] = '{'
	return append(dst, '}')
}

func appendArgs(dst []byte, a Args) []byte {
	at := len(dst)
	if a.Count != 0 {
		dst = ndjson.AppendInt(dst, `,"count":`, a.Count)
	}
	if a.Park {
		dst = append(dst, `,"park":true`...)
	}
	if a.Read != 0 {
		dst = ndjson.AppendInt(dst, `,"read":`, a.Read)
	}
	dst = appendSnapshot(dst, a.Snapshot)
	if a.Voter != nil {
		dst = appendNode(append(dst, `,"voter":`...), *a.Voter)
	}
	return closeObject(dst, at)
}

// appendNode writes a replica key.
func appendNode(dst []byte, n Node) []byte {
	dst = ndjson.AppendInt(dst, `{"id":`, int64(n.ID))
	if n.Dir != "" {
		dst = ndjson.AppendText(append(dst, `,"dir":`...), n.Dir)
	}
	return append(dst, '}')
}

func appendNodes(dst []byte, nodes []Node) []byte {
	dst = append(dst, '[')
	for i, n := range nodes {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendNode(dst, n)
	}
	return append(dst, ']')
}

// appendSnapshot writes a snapshot, if it is one.
func appendSnapshot(dst []byte, id SnapshotID) []byte {
	if id == (SnapshotID{}) {
		return dst
	}
	dst = ndjson.AppendInt(dst, `,"snapshot":[`, id.End)
	dst = ndjson.AppendInt(dst, `,`, int64(id.Epoch))
	return append(dst, ']')
}

func appendMessage(dst []byte, m *Message) []byte {
	dst = ndjson.AppendInt(dst, `{"conn":{"from":`, int64(m.Conn.From))
	dst = ndjson.AppendInt(dst, `,"to":`, int64(m.Conn.To))
	dst = ndjson.AppendInt(dst, `,"inc":`, int64(m.Conn.Inc))
	dst = ndjson.AppendInt(dst, `,"n":`, m.Conn.N)
	dst = ndjson.AppendInt(dst, `},"corr":`, int64(m.Correlation))
	if m.Response {
		dst = append(dst, `,"dir":"response","kind":`...)
	} else {
		dst = append(dst, `,"dir":"request","kind":`...)
	}
	dst = ndjson.AppendText(dst, m.Kind)
	if m.External {
		dst = append(dst, `,"external":true`...)
	}
	dst = ndjson.AppendInt(dst, `,"epoch":`, int64(m.Epoch))
	if m.Response || m.Leader != 0 {
		dst = ndjson.AppendInt(dst, `,"leader":`, int64(m.Leader))
	}
	if m.Error != 0 {
		dst = ndjson.AppendInt(dst, `,"error":`, int64(m.Error))
	}
	if m.PreVote {
		dst = append(dst, `,"preVote":true`...)
	}
	if m.Granted {
		dst = append(dst, `,"granted":true`...)
	}
	if m.Offset != 0 {
		dst = ndjson.AppendInt(dst, `,"offset":`, m.Offset)
	}
	if m.LastEpoch != 0 {
		dst = ndjson.AppendInt(dst, `,"lastEpoch":`, int64(m.LastEpoch))
	}
	if m.HighWatermark != 0 || m.Response && m.Kind == Fetch {
		dst = ndjson.AppendInt(dst, `,"hw":`, m.HighWatermark)
	}
	if d := m.Diverging; d != nil {
		dst = ndjson.AppendInt(dst, `,"diverging":{"epoch":`, int64(d.Epoch))
		dst = ndjson.AppendInt(dst, `,"endOffset":`, d.EndOffset)
		dst = append(dst, '}')
	}
	if len(m.Records) > 0 {
		dst = appendRuns(append(dst, `,"records":`...), m.Records)
	}
	if m.Read != 0 {
		dst = ndjson.AppendInt(dst, `,"read":`, m.Read)
	}
	dst = appendSnapshot(dst, m.Snapshot)
	if m.Position != 0 {
		dst = ndjson.AppendInt(dst, `,"position":`, m.Position)
	}
	if m.Bytes != 0 {
		dst = ndjson.AppendInt(dst, `,"bytes":`, m.Bytes)
	}
	if m.Size != 0 {
		dst = ndjson.AppendInt(dst, `,"size":`, m.Size)
	}
	return append(dst, '}')
}

func appendRuns(dst []byte, runs []Run) []byte {
	dst = append(dst, '[')
	for i := range runs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = ndjson.AppendInt(dst, `[`, int64(runs[i].Epoch))
		dst = ndjson.AppendText(append(dst, ','), runs[i].Kind)
		dst = ndjson.AppendInt(dst, `,`, runs[i].Count)
		if runs[i].Kind == KRaftVoters {
			dst = appendNodes(append(dst, ','), runs[i].Voters)
		}
		dst = append(dst, ']')
	}
	return append(dst, ']')
}

func appendState(dst []byte, s *State) []byte {
	at := len(dst)
	if s.Has&HasRole != 0 {
		dst = ndjson.AppendText(append(dst, `,"role":`...), s.Role)
	}
	if s.Has&HasEpoch != 0 {
		dst = ndjson.AppendInt(dst, `,"epoch":`, int64(s.Epoch))
	}
	if s.Has&HasLeader != 0 {
		dst = ndjson.AppendInt(dst, `,"leader":`, int64(s.Leader))
	}
	if s.Has&HasVoted != 0 {
		dst = ndjson.AppendInt(dst, `,"voted":`, int64(s.Voted))
	}
	if s.Has&HasHighWatermark != 0 {
		dst = ndjson.AppendInt(dst, `,"hw":`, s.HighWatermark)
	}
	if s.Has&HasLogStart != 0 {
		dst = ndjson.AppendInt(dst, `,"logStart":`, s.LogStart)
	}
	if s.Has&HasLogEnd != 0 {
		dst = ndjson.AppendInt(dst, `,"logEnd":`, s.LogEnd)
	}
	if s.Has&HasLastEpoch != 0 {
		dst = ndjson.AppendInt(dst, `,"lastEpoch":`, int64(s.LastEpoch))
	}
	if s.Has&HasFlushed != 0 {
		dst = ndjson.AppendInt(dst, `,"flushed":`, s.Flushed)
	}
	if s.Has&HasDigest != 0 {
		dst = ndjson.AppendHex(append(dst, `,"digest":`...), s.Digest)
	}
	if s.Has&HasSnapshot != 0 {
		dst = appendSnapshot(dst, s.Snapshot)
	}
	if s.Has&HasFetching != 0 {
		dst = ndjson.AppendInt(dst, `,"fetching":[`, s.Fetching.Snapshot.End)
		dst = ndjson.AppendInt(dst, `,`, int64(s.Fetching.Snapshot.Epoch))
		dst = ndjson.AppendInt(dst, `,`, s.Fetching.Position)
		dst = append(dst, ']')
	}
	if s.Has&HasVoters != 0 {
		dst = appendNodes(append(dst, `,"voters":`...), s.Voters)
	}
	return closeObject(dst, at)
}

func appendLog(dst []byte, l *LogChange) []byte {
	at := len(dst)
	if l.Truncated != -1 {
		dst = ndjson.AppendInt(dst, `,"truncated":`, l.Truncated)
	}
	if l.Reset != 0 {
		dst = ndjson.AppendInt(dst, `,"reset":`, l.Reset)
	}
	dst = ndjson.AppendInt(dst, `,"base":`, l.Base)
	if len(l.Appended) > 0 {
		dst = appendRuns(append(dst, `,"appended":`...), l.Appended)
	}
	if !l.NoDigest {
		dst = ndjson.AppendHex(append(dst, `,"digest":`...), l.Digest)
	}
	return closeObject(dst, at)
}

func appendDurable(dst []byte, d *Durable) []byte {
	at := len(dst)
	if d.Election {
		dst = append(dst, `,"election":true`...)
	}
	if d.LogEnd != -1 {
		dst = ndjson.AppendInt(dst, `,"logEnd":`, d.LogEnd)
	}
	dst = appendSnapshot(dst, d.Snapshot)
	return closeObject(dst, at)
}
