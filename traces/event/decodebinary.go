package event

import (
	"encoding/binary"
	"fmt"
	"math"
)

// DecodeBinary reads an event of a node from its binary form into e and replaces all of
// it. It refuses what [Decode] refuses of a line, numbers out of range say, flags that
// are unknown, and bytes after the end; the error names the field and the byte. Nothing in
// e shares memory with b or with what e held before.
func DecodeBinary(b []byte, node Node, e *Event) error {
	d := binaryDecoder{b: b}
	return d.decode(node, e)
}

// binaryDecoder reads fields until the first fault, after which all are zero.
type binaryDecoder struct {
	b     []byte
	at    int
	names *decoder // keeps texts that repeat; nil: keeps none
	err   error
}

func (d *binaryDecoder) decode(node Node, e *Event) error {
	*e = Event{Node: node}
	d.event(e)
	if d.err == nil && d.at < len(d.b) {
		d.fail("event", "%d bytes follow its end", len(d.b)-d.at)
	}
	return d.err
}

func (d *binaryDecoder) fail(field, format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf("byte %d: %s: %s", d.at, field, fmt.Sprintf(format, args...))
	}
	d.at = len(d.b)
}

func (d *binaryDecoder) uint(field string) uint64 {
	// Most numbers are short.
	if d.at < len(d.b) && d.b[d.at] < 0x80 {
		d.at++
		return uint64(d.b[d.at-1])
	}
	v, n := binary.Uvarint(d.b[d.at:])
	switch {
	case n == 0:
		d.fail(field, "the event ends within it")
		return 0
	case n < 0:
		d.fail(field, "a number of more than 64 bits")
		return 0
	}
	d.at += n
	return v
}

func (d *binaryDecoder) int(field string, min, max int64) int64 {
	u := d.uint(field)
	v := int64(u>>1) ^ -int64(u&1)
	if d.err != nil {
		return 0
	}
	if v < min || v > max {
		d.fail(field, "%d is not in [%d, %d]", v, min, max)
		return 0
	}
	return v
}

func (d *binaryDecoder) offset(field string) int64 { return d.int(field, 0, math.MaxInt64) }

func (d *binaryDecoder) int32(field string, min int64) int32 {
	return int32(d.int(field, min, math.MaxInt32))
}

// positive reads a number that is written without a sign, as it is never negative.
func (d *binaryDecoder) positive(field string, min uint64, max uint64) uint64 {
	v := d.uint(field)
	if d.err == nil && (v < min || v > max) {
		d.fail(field, "%d is not in [%d, %d]", v, min, max)
		return 0
	}
	return v
}

func (d *binaryDecoder) bytes(field string, n int) []byte {
	if n > len(d.b)-d.at {
		d.fail(field, "the event ends within it")
		return nil
	}
	d.at += n
	return d.b[d.at-n : d.at]
}

func (d *binaryDecoder) flags(field string, known byte) byte {
	b := d.bytes(field, 1)
	if b == nil {
		return 0
	}
	if b[0]&^known != 0 {
		d.fail(field, "unknown flags %#x", b[0]&^known)
		return 0
	}
	return b[0]
}

func (d *binaryDecoder) text(field string) string {
	b := d.bytes(field, int(d.positive(field, 0, math.MaxInt32)))
	if d.names == nil {
		return string(b)
	}
	return d.names.keep(b)
}

func (d *binaryDecoder) digest(field string) uint64 {
	if b := d.bytes(field, 8); b != nil {
		return binary.LittleEndian.Uint64(b)
	}
	return 0
}

// count reads how many elements follow, each of which has at least so many bytes.
func (d *binaryDecoder) count(field string, min int, size int) int {
	n := d.positive(field, uint64(min), math.MaxInt32)
	if int(n) > (len(d.b)-d.at)/size {
		d.fail(field, "%d elements, and %d bytes", n, len(d.b)-d.at)
		return 0
	}
	return int(n)
}

func (d *binaryDecoder) event(e *Event) {
	flags := d.flags("event", eventFlags)
	e.Inc = int32(d.positive("inc", 1, math.MaxInt32))
	e.Seq = int64(d.positive("seq", 1, math.MaxInt64))
	e.Step = int64(d.positive("step", 0, math.MaxInt64))
	e.Action = d.text("action")
	if flags&hasArgs != 0 {
		d.args(&e.Args)
	}
	if flags&hasRecv != 0 {
		e.Recv = new(Message)
		d.message("recv", e.Recv)
	}
	if flags&hasSend != 0 {
		n := d.count("send", 1, 9)
		e.Send = make([]Message, n)
		for i := range e.Send {
			d.message("send", &e.Send[i])
		}
	}
	if flags&hasState != 0 {
		d.state(&e.State)
	}
	if flags&hasLog != 0 {
		e.Log = new(LogChange)
		d.logChange(e.Log)
	}
	if flags&hasDurable != 0 {
		e.Durable = &Durable{LogEnd: -1}
		flags := d.flags("durable", durableFlags)
		e.Durable.Election = flags&durableElection != 0
		if flags&durableLogEnd != 0 {
			e.Durable.LogEnd = d.offset("durable.logEnd")
		}
		if flags&durableSnapshot != 0 {
			e.Durable.Snapshot = d.snapshot("durable.snapshot")
		}
	}
	if flags&hasAttach != 0 {
		e.Attach = new(Attach)
		d.attach(e.Attach)
	}
	if flags&hasDetach != 0 {
		e.Detach = &Detach{Correlation: d.int32("detach.corr", 0)}
	}
}

func (d *binaryDecoder) snapshot(field string) (id SnapshotID) {
	id.End = d.int(field, math.MinInt64, math.MaxInt64)
	id.Epoch = d.int32(field, math.MinInt32)
	return id
}

func (d *binaryDecoder) node(field string) (n Node) {
	n.ID = d.int32(field, 0)
	n.Dir = d.text(field)
	return n
}

func (d *binaryDecoder) nodes(field string) (nodes []Node) {
	for range d.count(field, 0, 2) {
		nodes = append(nodes, d.node(field))
	}
	return nodes
}

func (d *binaryDecoder) ids(field string) (ids []int32) {
	for range d.count(field, 0, 1) {
		ids = append(ids, d.int32(field, 0))
	}
	return ids
}

func (d *binaryDecoder) runs(field string) []Run {
	n := d.count(field, 0, 3)
	if n == 0 {
		return nil
	}
	runs := make([]Run, n)
	for i := range runs {
		r := &runs[i]
		r.Epoch = d.int32(field, 0)
		r.Kind = d.text(field)
		r.Count = d.int(field, 1, math.MaxInt64)
		if r.Kind == KRaftVoters {
			r.Voters = d.nodes(field)
		}
		if why := r.wrong(); why != "" {
			d.fail(field, "[%d]: %s", i, why)
		}
	}
	return runs
}

func (d *binaryDecoder) args(a *Args) {
	flags := d.flags("args", argFlags)
	if flags&argCount != 0 {
		a.Count = d.offset("args.count")
	}
	a.Park = flags&argPark != 0
	if flags&argRead != 0 {
		a.Read = d.offset("args.read")
	}
	if flags&argSnapshot != 0 {
		a.Snapshot = d.snapshot("args.snapshot")
	}
	if flags&argVoter != 0 {
		n := d.node("args.voter")
		a.Voter = &n
	}
}

func (d *binaryDecoder) message(field string, m *Message) {
	var flags uint16
	if b := d.bytes(field, 2); b != nil {
		flags = binary.LittleEndian.Uint16(b) // all 16 are known
	}
	m.Conn.From = d.int32("conn.from", -1)
	m.Conn.To = d.int32("conn.to", -1)
	m.Conn.Inc = d.int32("conn.inc", 0)
	m.Conn.N = d.offset("conn.n")
	m.Correlation = d.int32("corr", math.MinInt32)
	m.Kind = d.text("kind")
	m.Epoch = d.int32("epoch", -1)
	m.Response, m.External = flags&msgResponse != 0, flags&msgExternal != 0
	m.PreVote, m.Granted = flags&msgPreVote != 0, flags&msgGranted != 0
	if flags&msgLeader != 0 {
		m.Leader = d.int32("leader", -1)
	}
	if flags&msgError != 0 {
		m.Error = int16(d.int("error", math.MinInt16, math.MaxInt16))
	}
	if flags&msgOffset != 0 {
		m.Offset = d.int("offset", -1, math.MaxInt64)
	}
	if flags&msgLastEpoch != 0 {
		m.LastEpoch = d.int32("lastEpoch", -1)
	}
	if flags&msgHighWatermark != 0 {
		m.HighWatermark = d.int("hw", -1, math.MaxInt64)
	}
	if flags&msgDiverging != 0 {
		m.Diverging = new(EpochEnd)
		m.Diverging.Epoch = d.int32("diverging.epoch", -1)
		m.Diverging.EndOffset = d.int("diverging.endOffset", -1, math.MaxInt64)
	}
	if flags&msgRecords != 0 {
		m.Records = d.runs("records")
	}
	if flags&msgRead != 0 {
		m.Read = d.offset("read")
	}
	if flags&msgSnapshot != 0 {
		m.Snapshot = d.snapshot("snapshot")
	}
	if flags&msgPosition != 0 {
		m.Position = d.int("position", math.MinInt64, math.MaxInt64)
	}
	if flags&msgBytes != 0 {
		m.Bytes = d.offset("bytes")
	}
	if flags&msgSize != 0 {
		m.Size = d.int("size", math.MinInt64, math.MaxInt64)
	}
}

func (d *binaryDecoder) state(s *State) {
	s.Has = StateFields(d.positive("state", 1, uint64(HasVoters<<1-1)))
	if s.Has&HasRole != 0 {
		s.Role = d.text("state.role")
	}
	if s.Has&HasEpoch != 0 {
		s.Epoch = d.int32("state.epoch", 0)
	}
	if s.Has&HasLeader != 0 {
		s.Leader = d.int32("state.leader", -1)
	}
	if s.Has&HasVoted != 0 {
		s.Voted = d.int32("state.voted", -1)
	}
	if s.Has&HasHighWatermark != 0 {
		s.HighWatermark = d.int("state.hw", -1, math.MaxInt64)
	}
	if s.Has&HasLogStart != 0 {
		s.LogStart = d.offset("state.logStart")
	}
	if s.Has&HasLogEnd != 0 {
		s.LogEnd = d.offset("state.logEnd")
	}
	if s.Has&HasLastEpoch != 0 {
		s.LastEpoch = d.int32("state.lastEpoch", -1)
	}
	if s.Has&HasFlushed != 0 {
		s.Flushed = d.offset("state.flushed")
	}
	if s.Has&HasDigest != 0 {
		s.Digest = d.digest("state.digest")
	}
	if s.Has&HasSnapshot != 0 {
		s.Snapshot = d.snapshot("state.snapshot")
	}
	if s.Has&HasFetching != 0 {
		s.Fetching.Snapshot.End = d.offset("state.fetching")
		s.Fetching.Snapshot.Epoch = d.int32("state.fetching", 0)
		s.Fetching.Position = d.offset("state.fetching")
	}
	if s.Has&HasVoters != 0 {
		s.Voters = d.nodes("state.voters")
	}
}

func (d *binaryDecoder) logChange(l *LogChange) {
	flags := d.flags("log", logFlags)
	l.Base, l.Truncated = d.offset("log.base"), -1
	if flags&logTruncated != 0 {
		l.Truncated = d.offset("log.truncated")
	}
	if flags&logReset != 0 {
		l.Reset = d.int("log.reset", 1, math.MaxInt64)
	}
	if flags&logAppended != 0 {
		l.Appended = d.runs("log.appended")
	}
	if l.NoDigest = flags&logDigest == 0; !l.NoDigest {
		l.Digest = d.digest("log.digest")
	}
}

func (d *binaryDecoder) attach(a *Attach) {
	flags := d.flags("attach", attachFlags)
	a.Correlation = d.int32("attach.corr", 0)
	a.Log = d.runs("attach.log")
	if flags&attachSnapshots != 0 {
		for range d.count("attach.snapshots", 1, 2) {
			a.Snapshots = append(a.Snapshots, d.snapshot("attach.snapshots"))
		}
	}
	if flags&attachVoters != 0 {
		a.Voters = d.nodes("attach.voters")
	}
	if flags&attachSize != 0 {
		a.FetchingSize = d.offset("attach.fetchingSize")
	}
	if flags&attachGranted != 0 {
		a.Granted = d.ids("attach.granted")
	}
	a.Fetched = flags&attachFetched != 0
	if flags&attachLeading == 0 {
		return
	}
	l := &Leading{}
	a.Leading = l
	change := d.flags("attach.leading", leadingFlags)
	l.LeaderChange = change&leadingChange != 0
	l.EpochStart = d.offset("attach.leading.epochStart")
	if change&leadingEnds != 0 {
		for range d.count("attach.leading.ends", 1, 2) {
			l.Ends = append(l.Ends, ReplicaEnd{d.int32("attach.leading.ends", 0), d.offset("attach.leading.ends")})
		}
	}
	l.Read = d.offset("attach.leading.read")
	l.ReadOffset = d.offset("attach.leading.readOffset")
	l.Confirmed = d.ids("attach.leading.confirmed")
}
