package event

import "github.com/quorate/quorate/traces/event/ndjson"

func appendAttach(dst []byte, a *Attach) []byte {
	at := len(dst)
	dst = ndjson.AppendInt(dst, `,"corr":`, int64(a.Correlation))
	dst = appendRuns(append(dst, `,"log":`...), a.Log)
	if len(a.Snapshots) > 0 {
		dst = append(dst, `,"snapshots":[`...)
		for i, id := range a.Snapshots {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = ndjson.AppendInt(dst, `[`, id.End)
			dst = ndjson.AppendInt(dst, `,`, int64(id.Epoch))
			dst = append(dst, ']')
		}
		dst = append(dst, ']')
	}
	if len(a.Voters) > 0 {
		dst = appendNodes(append(dst, `,"voters":`...), a.Voters)
	}
	if a.FetchingSize != 0 {
		dst = ndjson.AppendInt(dst, `,"fetchingSize":`, a.FetchingSize)
	}
	if len(a.Granted) > 0 {
		dst = appendIDs(append(dst, `,"granted":`...), a.Granted)
	}
	if a.Fetched {
		dst = append(dst, `,"fetched":true`...)
	}
	if a.Leading != nil {
		dst = appendLeading(append(dst, `,"leading":`...), a.Leading)
	}
	return closeObject(dst, at)
}

func appendLeading(dst []byte, l *Leading) []byte {
	at := len(dst)
	dst = ndjson.AppendInt(dst, `,"epochStart":`, l.EpochStart)
	if l.LeaderChange {
		dst = append(dst, `,"leaderChange":true`...)
	}
	if len(l.Ends) > 0 {
		dst = append(dst, `,"ends":[`...)
		for i, e := range l.Ends {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = ndjson.AppendInt(dst, `[`, int64(e.ID))
			dst = ndjson.AppendInt(dst, `,`, e.Offset)
			dst = append(dst, ']')
		}
		dst = append(dst, ']')
	}
	if l.Read != 0 {
		dst = ndjson.AppendInt(dst, `,"read":`, l.Read)
	}
	if l.ReadOffset != 0 {
		dst = ndjson.AppendInt(dst, `,"readOffset":`, l.ReadOffset)
	}
	if len(l.Confirmed) > 0 {
		dst = appendIDs(append(dst, `,"confirmed":`...), l.Confirmed)
	}
	return closeObject(dst, at)
}

func appendIDs(dst []byte, ids []int32) []byte {
	dst = append(dst, '[')
	for i, id := range ids {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = ndjson.AppendInt(dst, ``, int64(id))
	}
	return append(dst, ']')
}

func (d *decoder) attach(a *Attach) {
	const corr, log, snapshots, size, granted, fetched, leading, voters = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5, 1 << 6, 1 << 7
	var seen uint32
	d.Object()
	for key := d.Key(true); key != nil; key = d.Key(false) {
		switch string(key) {
		case "corr":
			d.Once(&seen, corr)
			a.Correlation = d.int32(0)
		case "log":
			d.Once(&seen, log)
			a.Log = d.runs()
		case "snapshots":
			d.Once(&seen, snapshots)
			d.Array()
			for i := 0; d.Element(i == 0); i++ {
				if a.Snapshots = append(a.Snapshots, d.snapshot()); d.Failed() {
					d.InElement(i)
					break
				}
			}
		case "voters":
			d.Once(&seen, voters)
			a.Voters = d.nodes()
		case "fetchingSize":
			d.Once(&seen, size)
			a.FetchingSize = d.offset()
		case "granted":
			d.Once(&seen, granted)
			a.Granted = d.ids()
		case "fetched":
			d.Once(&seen, fetched)
			a.Fetched = d.Bool()
		case "leading":
			d.Once(&seen, leading)
			a.Leading = new(Leading)
			d.leading(a.Leading)
		default:
			d.Unknown()
		}
		if d.Failed() {
			d.In(key)
			return
		}
	}
	d.Need(seen, corr, "corr")
	d.Need(seen, log, "log")
}

func (d *decoder) leading(l *Leading) {
	const start, change, ends, read, offset, confirmed = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 4, 1 << 5
	var seen uint32
	d.Object()
	for key := d.Key(true); key != nil; key = d.Key(false) {
		switch string(key) {
		case "epochStart":
			d.Once(&seen, start)
			l.EpochStart = d.offset()
		case "leaderChange":
			d.Once(&seen, change)
			l.LeaderChange = d.Bool()
		case "ends":
			d.Once(&seen, ends)
			d.Array()
			for i := 0; d.Element(i == 0); i++ {
				if l.Ends = append(l.Ends, d.end()); d.Failed() {
					d.InElement(i)
					break
				}
			}
		case "read":
			d.Once(&seen, read)
			l.Read = d.offset()
		case "readOffset":
			d.Once(&seen, offset)
			l.ReadOffset = d.offset()
		case "confirmed":
			d.Once(&seen, confirmed)
			l.Confirmed = d.ids()
		default:
			d.Unknown()
		}
		if d.Failed() {
			d.In(key)
			return
		}
	}
	d.Need(seen, start, "epochStart")
}

func (d *decoder) detach(x *Detach) {
	const corr = 1 << 0
	var seen uint32
	d.Object()
	for key := d.Key(true); key != nil; key = d.Key(false) {
		if string(key) == "corr" {
			d.Once(&seen, corr)
			x.Correlation = d.int32(0)
		} else {
			d.Unknown()
		}
		if d.Failed() {
			d.In(key)
			return
		}
	}
	d.Need(seen, corr, "corr")
}

// ids reads a list of replica ids.
func (d *decoder) ids() (ids []int32) {
	d.Array()
	for i := 0; d.Element(i == 0); i++ {
		if ids = append(ids, d.int32(0)); d.Failed() {
			d.InElement(i)
			return nil
		}
	}
	return ids
}

// end reads [id, offset].
func (d *decoder) end() (e ReplicaEnd) {
	d.Array()
	d.item(true, endShape)
	e.ID = d.int32(0)
	d.item(false, endShape)
	e.Offset = d.offset()
	if d.Element(false) {
		d.Fail("want %s, found a third element", endShape)
	}
	return e
}

const endShape = "[id, offset]"
