package bootstrap

// MaxControllers and MaxLog bound a state.
const (
	MaxControllers = 3
	MaxLog         = 22
)

// Content is a set of bootstrap records, named by where it came from. It is two records
// in the log: the metadata.version and the rest.
type Content uint8

// Contents. NoContent is the absence of a file, or of a value.
const (
	NoContent Content = iota
	// Default is what software without any file makes up: its latest metadata.version.
	Default
	// OfLegacy is in bootstrap.checkpoint, OfZero in the zero checkpoint, OfOther in the
	// zero checkpoint of another run of format.
	OfLegacy
	OfZero
	OfOther
	// Ancient is in a bootstrap.checkpoint below the minimum of the software: it cannot
	// be used.
	Ancient
	// Both and Empty are what mutations make of two files and of none.
	Both
	Empty
)

var contentNames = [...]string{"-", "default", "legacy", "zero", "other", "ancient", "both", "empty"}

func (c Content) String() string { return contentNames[c] }

// ZeroFile is what a controller finds under the name of the zero checkpoint.
type ZeroFile uint8

// Zero checkpoints. From zeroData on: metadata records of that Content.
const (
	// NoZero: there is none.
	NoZero ZeroFile = iota
	// ControlOnly has kraft.version and voters and no metadata records, as software before
	// KIP-1170 writes it.
	ControlOnly
	// Torn has its name, and not its bytes.
	Torn
	zeroData
)

// ZeroWith is a zero checkpoint with these metadata records.
func ZeroWith(c Content) ZeroFile { return zeroData + ZeroFile(c) }

// Content is what metadata records the checkpoint holds.
func (z ZeroFile) Content() Content {
	if z < zeroData {
		return NoContent
	}
	return Content(z - zeroData)
}

func (z ZeroFile) String() string {
	switch z {
	case NoZero:
		return "-"
	case ControlOnly:
		return "control records only"
	case Torn:
		return "torn"
	}
	return z.Content().String()
}

// Kind is what a record is.
type Kind uint8

// Kinds of records. Each is a batch of its own, the finest that there is.
const (
	NoRecord Kind = iota
	// LeaderChange, and LeaderChange with KRaftVersion and Voters in one control batch.
	LeaderChange
	LeaderChangeVoters
	// Begin, End and Abort mark a transaction (KIP-868).
	Begin
	End
	Abort
	// Version is the metadata.version, Rest the other bootstrap records, Whole both in one
	// batch.
	Version
	Rest
	Whole
	// Ordinary is what anybody else writes.
	Ordinary
)

var kindText = [...]string{"", "L", "V", "begin", "end", "abort", "version", "rest", "all", "other"}

// Record is a record with its epoch and, of bootstrap records, its content.
type Record uint16

// NewRecord packs a record.
func NewRecord(k Kind, epoch uint8, c Content) Record {
	return Record(k) | Record(epoch)<<4 | Record(c)<<8
}

// Kind, Epoch and Content are the parts of a record.
func (r Record) Kind() Kind       { return Kind(r & 0xf) }
func (r Record) Epoch() uint8     { return uint8(r >> 4 & 0xf) }
func (r Record) Content() Content { return Content(r >> 8) }
func (r Record) control() bool {
	return r.Kind() == LeaderChange || r.Kind() == LeaderChangeVoters
}

// Image is the state of the metadata state machine: which content its metadata.version
// and the rest of its bootstrap came from. In a transaction Stable has what was before.
type Image struct {
	Version, Rest             Content
	Tx                        uint8
	StableVersion, StableRest Content
}

// Stable is the image without an open transaction.
func (m Image) Stable() Image {
	if m.Tx == 0 {
		return m
	}
	return Image{Version: m.StableVersion, Rest: m.StableRest}
}

// Apply replays a record.
func (m Image) Apply(r Record) Image {
	switch r.Kind() {
	case Begin:
		if m.Tx == 0 {
			return Image{Version: m.Version, Rest: m.Rest, Tx: 1, StableVersion: m.Version, StableRest: m.Rest}
		}
	case End:
		return Image{Version: m.Version, Rest: m.Rest}
	case Abort:
		return m.Stable()
	case Version:
		m.Version = r.Content()
	case Rest:
		m.Rest = r.Content()
	case Whole:
		m.Version, m.Rest = r.Content(), r.Content()
	}
	return m
}

// Log is the records of a controller, without gaps; what is beyond the end is zero.
type Log [MaxLog]Record

// end is the offset of the next record.
func (l *Log) end() uint8 {
	n := uint8(0)
	for n < MaxLog && l[n] != 0 {
		n++
	}
	return n
}

// common is the length of the common prefix.
func common(a, b *Log) uint8 {
	n := uint8(0)
	for n < MaxLog && a[n] == b[n] && a[n] != 0 {
		n++
	}
	return n
}

// Phase is how far a leader has come.
type Phase uint8

// Phases of a controller.
const (
	Standby Phase = iota
	// Claimed: its LeaderChange is committed and replayed, activation is next in its queue.
	Claimed
	// Writing: some of what activation writes is in its log.
	Writing
	// Active: it serves.
	Active
	// Fatal: it ended itself rather than start or become active.
	Fatal
)

var phaseNames = [...]string{"standby", "claimed", "writing", "active", "fatal"}

func (p Phase) String() string { return phaseNames[p] }

// Controller is one controller: its disk, its memory, and two ghosts.
type Controller struct {
	// Log is flushed as soon as it is written: see package spec for what is not. Records
	// below LogStart are ghosts, only snapshots say what they were.
	Log      Log
	LogStart uint8
	Epoch    uint8
	// Snap is the end offset of the latest committed snapshot, 0 if there is none, with
	// what it holds.
	Snap                  uint8
	SnapVersion, SnapRest Content
	// Zero is the zero checkpoint, Legacy the content of bootstrap.checkpoint. Old and
	// LegacyOld are what a loss of power may bring back, if Pending says so: the change of
	// the name has not been flushed. Unsynced: the bytes have not.
	Zero, ZeroOld               ZeroFile
	Legacy, LegacyOld           Content
	ZeroPending, LegacyPending  uint8
	ZeroUnsynced, MetaUnsynced  uint8
	Meta, MetaOld, MetaPending  uint8 // meta.properties: 0 missing, else the run of format that wrote it
	ZeroRun, ZeroRunOld         uint8 // the run that wrote Zero: the directory id among its voters
	FormatStep, FormatRun, Temp uint8

	Up      uint8
	Old     uint8 // software before KIP-1170
	Leading uint8
	Phase   Phase
	// Source is the bootstrap that the process would write, Warned that it has said that
	// there are two.
	Source Content
	Warned uint8
	// Loaded is up to where committed records were handed to the state machine.
	Loaded uint8
	Image  Image
	// Aborts and Writes are what activation decided to write, Chunk how much of it is.
	Aborts, Writes, Chunk uint8

	// HadZero and HadLegacy are ghosts: the file was there.
	HadZero, HadLegacy uint8
}

// State is a whole cluster, with the ghosts that properties need.
type State struct {
	C [MaxControllers]Controller
	// Committed is the longest log that was ever committed, up to HighWatermark.
	Committed     Log
	HighWatermark uint8
	Crashes       uint8
	Others        uint8
	Reformats     uint8
	Snapshots     uint8
	Unused        [pad]uint8 // makes the size a multiple of 8
}

// Torn meta.properties.
const tornMeta = 0xff

// ImageAt is what replay from the latest snapshot gives at an offset.
func (c *Controller) ImageAt(offset uint8) Image {
	var m Image
	from := uint8(0)
	if c.Snap > 0 && c.Snap <= offset {
		m, from = Image{Version: c.SnapVersion, Rest: c.SnapRest}, c.Snap
	}
	for i := from; i < offset; i++ {
		m = m.Apply(c.Log[i])
	}
	return m
}

func (c *Controller) append(r Record) { c.Log[c.Log.end()] = r }

// lastEpoch is the epoch of the last record.
func (c *Controller) lastEpoch() uint8 {
	if n := c.Log.end(); n > 0 {
		return c.Log[n-1].Epoch()
	}
	return 0
}

// hasVoters says whether a voter set is in the log, or in a snapshot of it.
func (c *Controller) hasVoters() bool {
	if c.Snap > 0 {
		return true
	}
	for _, r := range c.Log[:c.Log.end()] {
		if r.Kind() == LeaderChangeVoters {
			return true
		}
	}
	return false
}

// Effect is what a log does once it is committed: without what was aborted, or is open.
type Effect struct {
	Image
	// Bootstraps counts the sets of bootstrap records that took effect.
	Bootstraps uint8
	// Early: an ordinary record was committed before the bootstrap took effect.
	Early bool
	// Bare: a data record was committed before any voters.
	Bare bool
	// Broken: a transaction within a transaction, or the end of none.
	Broken bool
}

// EffectOf applies a log.
func EffectOf(l *Log, end uint8) (e Effect) {
	open, voters := uint8(0), false
	for _, r := range l[:end] {
		switch r.Kind() {
		case LeaderChange:
			continue
		case LeaderChangeVoters:
			voters = true
			continue
		case Begin:
			e.Broken = e.Broken || e.Tx != 0
			open = 0
		case Version:
			if e.Tx != 0 {
				open++
			} else {
				e.Bootstraps++
			}
		case Whole:
			e.Bootstraps++
		case End:
			e.Broken = e.Broken || e.Tx == 0
			e.Bootstraps += open
			open = 0
		case Abort:
			e.Broken = e.Broken || e.Tx == 0
			open = 0
		case Ordinary:
			e.Early = e.Early || e.Bootstraps == 0
		}
		e.Bare = e.Bare || !voters
		e.Image = e.Apply(r)
	}
	return e
}
