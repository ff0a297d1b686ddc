package event

import (
	"math"
	"sync"

	"github.com/quorate/quorate/traces/event/ndjson"
)

// Decode reads one line, without its newline, into e and replaces all of it. It
// refuses fields that are unknown, twice there or missing, wrong types, numbers
// out of range and anything after the object; the error is an [*ndjson.Error]
// that names the field and the byte. Nothing in e shares memory with the line or
// with what e held before, so parts of it may be kept.
func Decode(line []byte, e *Event) error {
	d := decoders.Get().(*decoder)
	err := d.decode(line, e)
	decoders.Put(d)
	return err
}

var decoders = sync.Pool{New: func() any { return new(decoder) }}

// decoder keeps the names that lines repeat, so that they are allocated once.
type decoder struct {
	ndjson.Scanner
	names map[string]string
}

func (d *decoder) decode(line []byte, e *Event) error {
	d.Reset(line)
	*e = Event{}
	d.event(e)
	d.End()
	err := d.Err()
	d.Reset(nil)
	return err
}

// name reads a string that lines repeat: an action, a kind, a directory id.
func (d *decoder) name() string { return d.keep(d.Text()) }

// keep is text as a string, which is allocated once.
func (d *decoder) keep(text []byte) string {
	if s, ok := d.names[string(text)]; ok {
		return s
	}
	s := string(text)
	const maxNames, maxLen = 256, 64 // names without end are not worth keeping
	if d.names == nil || len(d.names) >= maxNames {
		d.names = make(map[string]string)
	}
	if len(s) <= maxLen {
		d.names[s] = s
	}
	return s
}

func (d *decoder) offset() int64 { return d.Int(0, math.MaxInt64) }

func (d *decoder) int32(min int64) int32 { return int32(d.Int(min, math.MaxInt32)) }

func (d *decoder) event(e *Event) {
	const v, node, inc, seq, step, action, args, recv, send, state, log, durable, attach, detach = 1 << 0, 1 << 1,
		1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7, 1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13
	var seen uint32
	d.Object()
	for key := d.Key(true); key != nil; key = d.Key(false) {
		switch string(key) {
		case "v":
			d.Once(&seen, v)
			if got := d.Int(math.MinInt64, math.MaxInt64); got != Version && !d.Failed() {
				d.Fail("the version of the schema is %d, this program reads version %d only", got, Version)
			}
		case "node":
			d.Once(&seen, node)
			d.node(&e.Node)
		case "inc":
			d.Once(&seen, inc)
			e.Inc = d.int32(1)
		case "seq":
			d.Once(&seen, seq)
			e.Seq = d.Int(1, math.MaxInt64)
		case "step":
			d.Once(&seen, step)
			e.Step = d.offset()
		case "action":
			d.Once(&seen, action)
			e.Action = d.name()
		case "args":
			d.Once(&seen, args)
			d.args(&e.Args)
		case "recv":
			d.Once(&seen, recv)
			e.Recv = new(Message)
			d.message(e.Recv)
		case "send":
			d.Once(&seen, send)
			d.sends(e)
		case "state":
			d.Once(&seen, state)
			d.state(&e.State)
		case "log":
			d.Once(&seen, log)
			e.Log = new(LogChange)
			d.logChange(e.Log)
		case "durable":
			d.Once(&seen, durable)
			e.Durable = new(Durable)
			d.durable(e.Durable)
		case "attach":
			d.Once(&seen, attach)
			e.Attach = new(Attach)
			d.attach(e.Attach)
		case "detach":
			d.Once(&seen, detach)
			e.Detach = new(Detach)
			d.detach(e.Detach)
		default:
			d.Unknown()
		}
		if d.Failed() {
			d.In(key)
			return
		}
	}
	d.Need(seen, v, "v")
	d.Need(seen, node, "node")
	d.Need(seen, inc, "inc")
	d.Need(seen, seq, "seq")
	d.Need(seen, step, "step")
}

func (d *decoder) node(n *Node) {
	const id, dir = 1 << 0, 1 << 1
	var seen uint32
	d.Object()
	for key := d.Key(true); key != nil; key = d.Key(false) {
		switch string(key) {
		case "id":
			d.Once(&seen, id)
			n.ID = d.int32(0)
		case "dir":
			d.Once(&seen, dir)
			n.Dir = d.name()
		default:
			d.Unknown()
		}
		if d.Failed() {
			d.In(key)
			return
		}
	}
	d.Need(seen, id, "id")
}

// nodes reads a list of replica keys.
func (d *decoder) nodes() (nodes []Node) {
	d.Array()
	for i := 0; d.Element(i == 0); i++ {
		nodes = append(nodes, Node{})
		if d.node(&nodes[i]); d.Failed() {
			d.InElement(i)
			return nil
		}
	}
	return nodes
}

func (d *decoder) args(a *Args) {
	const count, park, read, snapshot, voter = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 4
	var seen uint32
	d.Object()
	for key := d.Key(true); key != nil; key = d.Key(false) {
		switch string(key) {
		case "count":
			d.Once(&seen, count)
			a.Count = d.offset()
		case "park":
			d.Once(&seen, park)
			a.Park = d.Bool()
		case "read":
			d.Once(&seen, read)
			a.Read = d.offset()
		case "snapshot":
			d.Once(&seen, snapshot)
			a.Snapshot = d.snapshot()
		case "voter":
			d.Once(&seen, voter)
			a.Voter = new(Node)
			d.node(a.Voter)
		default:
			d.Unknown()
		}
		if d.Failed() {
			d.In(key)
			return
		}
	}
}

func (d *decoder) sends(e *Event) {
	d.Array()
	for i := 0; d.Element(i == 0); i++ {
		e.Send = append(e.Send, Message{})
		if d.message(&e.Send[i]); d.Failed() {
			d.InElement(i)
			return
		}
	}
}

func (d *decoder) state(s *State) {
	d.Object()
	var seen uint32
	for key := d.Key(true); key != nil; key = d.Key(false) {
		switch string(key) {
		case "role":
			d.Once(&seen, uint32(HasRole))
			s.Role = d.name()
		case "epoch":
			d.Once(&seen, uint32(HasEpoch))
			s.Epoch = d.int32(0)
		case "leader":
			d.Once(&seen, uint32(HasLeader))
			s.Leader = d.int32(-1)
		case "voted":
			d.Once(&seen, uint32(HasVoted))
			s.Voted = d.int32(-1)
		case "hw":
			d.Once(&seen, uint32(HasHighWatermark))
			s.HighWatermark = d.Int(-1, math.MaxInt64)
		case "logStart":
			d.Once(&seen, uint32(HasLogStart))
			s.LogStart = d.offset()
		case "logEnd":
			d.Once(&seen, uint32(HasLogEnd))
			s.LogEnd = d.offset()
		case "lastEpoch":
			d.Once(&seen, uint32(HasLastEpoch))
			s.LastEpoch = d.int32(-1)
		case "flushed":
			d.Once(&seen, uint32(HasFlushed))
			s.Flushed = d.offset()
		case "digest":
			d.Once(&seen, uint32(HasDigest))
			s.Digest = d.Hex()
		case "snapshot":
			d.Once(&seen, uint32(HasSnapshot))
			s.Snapshot = d.snapshot()
		case "fetching":
			d.Once(&seen, uint32(HasFetching))
			s.Fetching = d.fetching()
		case "voters":
			d.Once(&seen, uint32(HasVoters))
			s.Voters = d.nodes()
		default:
			d.Unknown()
		}
		if d.Failed() {
			d.In(key)
			return
		}
	}
	s.Has = StateFields(seen)
}

func (d *decoder) logChange(l *LogChange) {
	const truncated, base, appended, digest, reset = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 4
	var seen uint32
	l.Truncated = -1
	d.Object()
	for key := d.Key(true); key != nil; key = d.Key(false) {
		switch string(key) {
		case "truncated":
			d.Once(&seen, truncated)
			l.Truncated = d.Int(-1, math.MaxInt64)
		case "reset":
			d.Once(&seen, reset)
			l.Reset = d.Int(1, math.MaxInt64)
		case "base":
			d.Once(&seen, base)
			l.Base = d.offset()
		case "appended":
			d.Once(&seen, appended)
			l.Appended = d.runs()
		case "digest":
			d.Once(&seen, digest)
			l.Digest = d.Hex()
		default:
			d.Unknown()
		}
		if d.Failed() {
			d.In(key)
			return
		}
	}
	d.Need(seen, base, "base")
	l.NoDigest = seen&digest == 0
}

func (d *decoder) durable(x *Durable) {
	const election, logEnd, snapshot = 1 << 0, 1 << 1, 1 << 2
	var seen uint32
	x.LogEnd = -1
	d.Object()
	for key := d.Key(true); key != nil; key = d.Key(false) {
		switch string(key) {
		case "election":
			d.Once(&seen, election)
			x.Election = d.Bool()
		case "logEnd":
			d.Once(&seen, logEnd)
			x.LogEnd = d.Int(-1, math.MaxInt64)
		case "snapshot":
			d.Once(&seen, snapshot)
			x.Snapshot = d.snapshot()
		default:
			d.Unknown()
		}
		if d.Failed() {
			d.In(key)
			return
		}
	}
}
