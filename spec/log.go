package spec

// Offset is a position in the log, from 0. Ends are exclusive.
type Offset int64

// Unknown is the high watermark of a replica that does not know one, and the end
// offset of a replica that has not fetched.
const Unknown Offset = -1

// Epoch numbers election rounds; 0 never has a leader or a record.
type Epoch int32

// RecordKind tells what a record is for.
type RecordKind uint8

// Kinds of records.
const (
	LeaderChange RecordKind = iota // written by a leader when its epoch begins
	Data                           // written for a client
	KRaftVersion                   // written by the first leader of a quorum that can change
	KRaftVoters                    // the voter set from here on (KIP-853)
	// OwnKinds and above are of whoever puts the specification together with another. To
	// a replica they are records of a client.
	OwnKinds
)

// Run is a number of successive records that one life of one leader wrote in one
// epoch. Origin and Life make records different that would look alike: those of
// two leaders in one epoch, and those of one leader before and after it lost an
// unflushed tail (KAFKA-10527).
type Run struct {
	Count  int64
	Epoch  Epoch
	Origin ID
	Voters Set // of a KRaftVoters record
	Life   uint8
	Kind   RecordKind
}

func (a Run) sameRecords(b Run) bool {
	return a.Epoch == b.Epoch && a.Origin == b.Origin && a.Life == b.Life && a.Kind == b.Kind && a.Voters == b.Voters
}

// maxRuns is how many runs a log of a model may have: more is a model error.
const maxRuns = 10

// Log is a sequence of records from offset 0, run-length coded. It is a value:
// the checker interns it, so its bytes are canonical (unused runs are zero). A
// log made by NewLargeLog, for long traces, may outgrow the array; the checker
// never sees one.
type Log struct {
	runs  [maxRuns]Run
	end   Offset
	n     uint32
	large uint32
	more  *longLog // all the runs, once outgrown; never written again (longlog.go)
}

// NewLargeLog is an empty log without a limit.
func NewLargeLog() Log { return Log{large: 1} }

// End is the log end offset.
func (l *Log) End() Offset { return l.end }

// Runs are the runs of the log in order; the result must not be changed.
func (l *Log) Runs() []Run {
	if l.more != nil {
		return l.more.all()
	}
	return l.runs[:l.n]
}

// LastRun is the last run of the log, the zero value if it is empty.
func (l *Log) LastRun() Run {
	if runs := l.tail(); len(runs) > 0 {
		return runs[len(runs)-1]
	}
	if l.more != nil && l.more.past != nil {
		return l.more.past.last()
	}
	return Run{}
}

// LastEpoch is the epoch of the last record, 0 if there is none.
func (l *Log) LastEpoch() Epoch { return l.LastRun().Epoch }

// set replaces the runs; they are already merged.
func (l *Log) set(runs []Run) {
	large := l.large
	*l = Log{large: large}
	for _, r := range runs {
		l.end += Offset(r.Count)
	}
	if len(runs) > maxRuns {
		if large == 0 {
			panic(modelError("a log of more than %d runs", maxRuns))
		}
		l.more = &longLog{runs: append([]Run(nil), runs...)}
		return
	}
	l.n = uint32(copy(l.runs[:], runs))
}

// Append adds the records of one run.
func (l *Log) Append(r Run) {
	if r.Count == 0 {
		return
	}
	if l.more == nil {
		if l.n > 0 && l.runs[l.n-1].sameRecords(r) {
			l.runs[l.n-1].Count += r.Count
			l.end += Offset(r.Count)
			return
		}
		if l.n < maxRuns {
			l.runs[l.n] = r
			l.n++
			l.end += Offset(r.Count)
			return
		}
	}
	if l.more != nil {
		l.more = l.more.with(r)
		l.end += Offset(r.Count)
		return
	}
	l.set(append(append(make([]Run, 0, maxRuns+1), l.runs[:l.n]...), r))
}

// AppendAll adds the records of another log.
func (l *Log) AppendAll(other *Log) {
	for _, r := range other.Runs() {
		l.Append(r)
	}
}

// TruncateTo drops all records from offset to.
func (l *Log) TruncateTo(to Offset) {
	if to < l.end {
		*l = l.Slice(0, to)
	}
}

// Slice is the part of the log from one offset to another, counted from 0 again.
func (l *Log) Slice(from, to Offset) Log {
	if from <= 0 && to >= l.end {
		return *l
	}
	if l.more != nil && from <= 0 && to > 0 {
		return l.prefix(to)
	}
	var few [maxRuns]Run
	part := few[:0]
	at, runs := l.from(from)
	for _, r := range runs {
		lo, hi := max(at, from), min(at+Offset(r.Count), to)
		if at += Offset(r.Count); lo >= to {
			break
		}
		if lo < hi {
			r.Count = int64(hi - lo)
			part = append(part, r)
		}
	}
	out := Log{large: l.large}
	out.set(part)
	return out
}

// At is the record at an offset below the end, as a run of one.
func (l *Log) At(o Offset) Run {
	r, _ := l.runAt(o)
	r.Count = 1
	return r
}

// EndOffsetForEpoch is the largest epoch not above e in the log and the offset
// where it ends. If all epochs are larger it is e itself, ending where the log
// begins. KIP-595; LeaderEpochFileCache.endOffsetFor.
func (l *Log) EndOffsetForEpoch(e Epoch) (Epoch, Offset) {
	epoch, at := e, Offset(0)
	l.backward(func(r Run, end Offset) bool {
		if r.Epoch > e {
			return true
		}
		epoch, at = r.Epoch, end
		return false
	})
	return epoch, at
}

// CommonPrefix is the offset up to which two logs hold the same records.
func CommonPrefix(a, b *Log) Offset {
	at, ra, rb := apart(a, b)
	for i := 0; i < len(ra) && i < len(rb); i++ {
		if !ra[i].sameRecords(rb[i]) {
			return at
		}
		at += Offset(min(ra[i].Count, rb[i].Count))
		if ra[i].Count != rb[i].Count {
			return at
		}
	}
	return at
}

// SameAs says whether two logs hold the same records.
func (l *Log) SameAs(other *Log) bool {
	return l.end == other.end && CommonPrefix(l, other) == l.end
}

// Matches is the log matching property of two logs: where they hold a record of
// the same epoch at the same offset, they are equal up to there. Epochs within a
// log do not decrease, so it is enough that beyond the common prefix they share
// no (epoch, offset).
func Matches(a, b *Log) bool {
	at := CommonPrefix(a, b)
	for o := at; o < a.end && o < b.end; {
		ra, ea := a.runAt(o)
		rb, eb := b.runAt(o)
		if ra.Epoch == rb.Epoch {
			return false
		}
		o = min(ea, eb)
	}
	return true
}

// runAt is the run that holds offset o, and where it ends.
func (l *Log) runAt(o Offset) (Run, Offset) {
	at, runs := l.from(o)
	for _, r := range runs {
		if at += Offset(r.Count); o < at {
			return r, at
		}
	}
	panic(modelError("no record at offset %d, log end offset %d", o, l.end))
}

// ascending says whether epochs never decrease along the log.
func (l *Log) ascending() bool {
	runs := l.Runs()
	for i := 1; i < len(runs); i++ {
		if runs[i].Epoch < runs[i-1].Epoch {
			return false
		}
	}
	return true
}
