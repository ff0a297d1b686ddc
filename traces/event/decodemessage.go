package event

import "math"

func (d *decoder) message(m *Message) {
	const conn, corr, dir, kind, external, epoch, leader, code, preVote, granted, offset, lastEpoch,
		hw, diverging, records, read, snapshot, position, bytes, size = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7,
		1 << 8, 1 << 9, 1 << 10, 1 << 11, 1 << 12, 1 << 13, 1 << 14, 1 << 15,
		1 << 16, 1 << 17, 1 << 18, 1 << 19
	var seen uint32
	d.Object()
	for key := d.Key(true); key != nil; key = d.Key(false) {
		switch string(key) {
		case "conn":
			d.Once(&seen, conn)
			d.conn(&m.Conn)
		case "corr":
			d.Once(&seen, corr)
			m.Correlation = d.int32(math.MinInt32)
		case "dir":
			d.Once(&seen, dir)
			m.Response = d.direction()
		case "kind":
			d.Once(&seen, kind)
			m.Kind = d.name()
		case "external":
			d.Once(&seen, external)
			m.External = d.Bool()
		case "epoch":
			d.Once(&seen, epoch)
			m.Epoch = d.int32(-1)
		case "leader":
			d.Once(&seen, leader)
			m.Leader = d.int32(-1)
		case "error":
			d.Once(&seen, code)
			m.Error = int16(d.Int(math.MinInt16, math.MaxInt16))
		case "preVote":
			d.Once(&seen, preVote)
			m.PreVote = d.Bool()
		case "granted":
			d.Once(&seen, granted)
			m.Granted = d.Bool()
		case "offset":
			d.Once(&seen, offset)
			m.Offset = d.Int(-1, math.MaxInt64)
		case "lastEpoch":
			d.Once(&seen, lastEpoch)
			m.LastEpoch = d.int32(-1)
		case "hw":
			d.Once(&seen, hw)
			m.HighWatermark = d.Int(-1, math.MaxInt64)
		case "diverging":
			d.Once(&seen, diverging)
			m.Diverging = new(EpochEnd)
			d.epochEnd(m.Diverging)
		case "records":
			d.Once(&seen, records)
			m.Records = d.runs()
		case "read":
			d.Once(&seen, read)
			m.Read = d.offset()
		case "snapshot":
			d.Once(&seen, snapshot)
			m.Snapshot = d.snapshot()
		case "position":
			d.Once(&seen, position)
			m.Position = d.Int(math.MinInt64, math.MaxInt64)
		case "bytes":
			d.Once(&seen, bytes)
			m.Bytes = d.offset()
		case "size":
			d.Once(&seen, size)
			m.Size = d.Int(math.MinInt64, math.MaxInt64)
		default:
			d.Unknown()
		}
		if d.Failed() {
			d.In(key)
			return
		}
	}
	d.Need(seen, conn, "conn")
	d.Need(seen, corr, "corr")
	d.Need(seen, dir, "dir")
	d.Need(seen, kind, "kind")
	d.Need(seen, epoch, "epoch")
	// 0 is a replica and an offset: where a response knows neither it says -1.
	if m.Response {
		d.Need(seen, leader, "leader")
		if m.Kind == Fetch {
			d.Need(seen, hw, "hw")
		}
	}
}

func (d *decoder) direction() bool {
	text := d.Text()
	switch string(text) {
	case "request":
		return false
	case "response":
		return true
	}
	d.Fail(`want "request" or "response", found %q`, text)
	return false
}

func (d *decoder) conn(c *Conn) {
	const from, to, inc, n = 1 << 0, 1 << 1, 1 << 2, 1 << 3
	var seen uint32
	d.Object()
	for key := d.Key(true); key != nil; key = d.Key(false) {
		switch string(key) {
		case "from":
			d.Once(&seen, from)
			c.From = d.int32(-1)
		case "to":
			d.Once(&seen, to)
			c.To = d.int32(-1)
		case "inc":
			d.Once(&seen, inc)
			c.Inc = d.int32(0)
		case "n":
			d.Once(&seen, n)
			c.N = d.offset()
		default:
			d.Unknown()
		}
		if d.Failed() {
			d.In(key)
			return
		}
	}
	d.Need(seen, from, "from")
	d.Need(seen, to, "to")
	d.Need(seen, inc, "inc")
	d.Need(seen, n, "n")
}

func (d *decoder) epochEnd(e *EpochEnd) {
	const epoch, endOffset = 1 << 0, 1 << 1
	var seen uint32
	d.Object()
	for key := d.Key(true); key != nil; key = d.Key(false) {
		switch string(key) {
		case "epoch":
			d.Once(&seen, epoch)
			e.Epoch = d.int32(-1)
		case "endOffset":
			d.Once(&seen, endOffset)
			e.EndOffset = d.Int(-1, math.MaxInt64)
		default:
			d.Unknown()
		}
		if d.Failed() {
			d.In(key)
			return
		}
	}
	d.Need(seen, epoch, "epoch")
	d.Need(seen, endOffset, "endOffset")
}

// runs reads [[epoch, kind, count], …], where a KRaftVoters record has the voters as its
// fourth element.
func (d *decoder) runs() []Run {
	var runs []Run
	d.Array()
	for i := 0; d.Element(i == 0); i++ {
		var r Run
		d.Array()
		d.item(true, runShape)
		r.Epoch = d.int32(0)
		d.item(false, runShape)
		r.Kind = d.name()
		d.item(false, runShape)
		r.Count = d.Int(1, math.MaxInt64)
		if r.Kind == KRaftVoters {
			d.item(false, votersShape)
			if !d.Failed() {
				r.Voters = d.nodes()
			}
			if d.Element(false) {
				d.Fail("want %s, found a fifth element", votersShape)
			}
			if why := r.wrong(); why != "" && !d.Failed() {
				d.Fail("%s", why)
			}
		} else if d.Element(false) {
			d.Fail("want %s, found a fourth element", runShape)
		}
		if d.Failed() {
			d.InElement(i)
			return nil
		}
		runs = append(runs, r)
	}
	return runs
}

// What arrays of a fixed length hold, for errors.
const (
	runShape      = "[epoch, kind, count]"
	votersShape   = "[epoch, kind, count, voters]"
	snapshotShape = "[end, epoch]"
	fetchingShape = "[end, epoch, position]"
)

// snapshot reads [end, epoch], of any snapshot that a peer may name.
func (d *decoder) snapshot() (id SnapshotID) {
	d.Array()
	d.item(true, snapshotShape)
	id.End = d.Int(math.MinInt64, math.MaxInt64)
	d.item(false, snapshotShape)
	id.Epoch = d.int32(math.MinInt32)
	if d.Element(false) {
		d.Fail("want %s, found a third element", snapshotShape)
	}
	return id
}

// fetching reads [end, epoch, position].
func (d *decoder) fetching() (f Fetching) {
	d.Array()
	d.item(true, fetchingShape)
	f.Snapshot.End = d.offset()
	d.item(false, fetchingShape)
	f.Snapshot.Epoch = d.int32(0)
	d.item(false, fetchingShape)
	f.Position = d.offset()
	if d.Element(false) {
		d.Fail("want %s, found a fourth element", fetchingShape)
	}
	return f
}

// item moves to an element that must be there.
func (d *decoder) item(first bool, shape string) {
	if !d.Element(first) && !d.Failed() {
		d.Fail("want %s, found fewer", shape)
	}
}
