package clusterid

// Bounds of a state. Directory 0 is the metadata directory.
const (
	MaxClusters = 2
	MaxNodes    = 2
	MaxDirs     = 2
	MaxLog      = 16
)

// ID is a cluster id.
type ID uint8

// Ids: those of clusters A and B, and those that leaders draw.
const (
	NoID ID = iota
	OfA
	OfB
	Drawn1
	Drawn2
	Drawn3
	Drawn4
)

var idNames = [...]string{"-", "A", "B", "G1", "G2", "G3", "G4"}

func (i ID) String() string { return idNames[i] }

// idOf is the id that cluster k was formatted with.
func idOf(k int) ID { return ID(k + 1) }

// Form says how meta.properties of a directory is found.
type Form uint8

// Forms. Broken, VersionZero (without an id) and WithoutID (version 1 without the id that
// it must have) cannot be used.
const (
	Missing Form = iota
	Broken
	VersionZero
	WithoutID
	V1
	V2
)

var formNames = [...]string{"missing", "unreadable", "version 0 without id", "version 1 without id", "V1", "V2"}

// Meta is meta.properties of a directory: its form, its cluster id, its directory id.
type Meta struct {
	Form Form
	ID   ID
	Dir  uint8
}

// usable says whether the file can be read.
func (m Meta) usable() bool { return m.Form == V1 || m.Form == V2 }

// Kind is what a record is.
type Kind uint8

// Kinds of records; each is a batch.
const (
	NoRecord Kind = iota
	LeaderChange
	Begin
	End
	Abort
	// Version is a metadata.version that knows no ClusterIdRecord, NewVersion one that does.
	Version
	NewVersion
	// ClusterID is the ClusterIdRecord, Upgrade a NewVersion with one behind it, in a batch.
	ClusterID
	Upgrade
	// Downgrade goes back to a Version, and drops the id.
	Downgrade
)

var kindNames = [...]string{"", "L", "begin", "end", "abort", "version", "new-version", "id", "upgrade", "downgrade"}

// Record is a record with its epoch, its id, and, as a ghost, the cluster that it is of.
type Record uint16

// NewRecord packs a record of cluster k.
func NewRecord(k Kind, epoch uint8, cluster int, id ID) Record {
	return Record(k) | Record(epoch)<<4 | Record(cluster+1)<<8 | Record(id)<<10
}

// Kind and the others are the parts of a record.
func (r Record) Kind() Kind    { return Kind(r & 0xf) }
func (r Record) Epoch() uint8  { return uint8(r >> 4 & 0xf) }
func (r Record) Origin() uint8 { return uint8(r >> 8 & 3) }
func (r Record) ID() ID        { return ID(r >> 10) }

// Log is the records from offset 0, what is beyond the end zero.
type Log [MaxLog]Record

func (l *Log) end() uint8 {
	n := uint8(0)
	for n < MaxLog && l[n] != 0 {
		n++
	}
	return n
}

func (l *Log) lastEpoch() uint8 {
	if n := l.end(); n > 0 {
		return l[n-1].Epoch()
	}
	return 0
}

func common(a, b *Log) uint8 {
	n := uint8(0)
	for n < MaxLog && a[n] == b[n] && a[n] != 0 {
		n++
	}
	return n
}

// Image is what records amount to: whether the metadata.version is set (1) and knows
// cluster ids (2), and the id. In a transaction Old has what was before.
type Image struct {
	Version, OldVersion uint8
	ID, OldID           ID
	Tx                  bool
}

func (m Image) Stable() Image {
	if m.Tx {
		return Image{Version: m.OldVersion, ID: m.OldID}
	}
	return m
}

func (m Image) Apply(r Record) Image {
	switch r.Kind() {
	case Begin:
		m.Tx, m.OldVersion, m.OldID = true, m.Version, m.ID
	case End:
		return Image{Version: m.Version, ID: m.ID}
	case Abort:
		return m.Stable()
	case Version:
		m.Version = 1
	case NewVersion:
		m.Version = 2
	case ClusterID:
		m.ID = r.ID()
	case Upgrade:
		m.Version, m.ID = 2, r.ID()
	case Downgrade:
		m.Version, m.ID = 1, NoID
	}
	return m
}

// ImageOf replays records from a snapshot on.
func ImageOf(l *Log, from, to uint8, snapshot Image) Image {
	m := snapshot
	for _, r := range l[from:max(from, to)] {
		m = m.Apply(r)
	}
	return m
}

// Cluster is a cluster as a node without a vote sees it.
type Cluster struct {
	// Log is that of the leader. Below Start it is in a snapshot, which has Snap.
	Log           Log
	HighWatermark uint8
	Epoch         uint8
	Start         uint8
	SnapVersion   uint8
	SnapID        ID
	// New: its bootstrap has a metadata.version that knows cluster ids.
	New uint8
	// Leader is 1 and up for a node of the model that leads (R2), External for any other,
	// Nobody for none.
	Leader  uint8
	Drawn   uint8 // how many ids were drawn
	Unused  uint8
	Unused2 uint8
}

// Who leads a cluster.
const (
	External uint8 = 0
	Nobody   uint8 = 0xff
)

// Role is what a node is configured as.
type Role uint8

// Roles. A Voter of a static quorum is named in the configuration, one of a dynamic quorum
// in its zero checkpoint.
const (
	Broker Role = iota
	Observer
	StaticVoter
	DynamicVoter
)

var roleNames = [...]string{"broker", "observer controller", "static voter", "dynamic voter"}

func (r Role) String() string { return roleNames[r] }

// Stage is how far a process has come.
type Stage uint8

// Stages. A node that is Writing brings its directories to its target: an id, or none, if
// it is formatting itself.
const (
	Down Stage = iota
	Writing
	Unknown
	Known
	Exited
)

var stageNames = [...]string{"down", "writing", "unknown", "known", "exited"}

func (s Stage) String() string { return stageNames[s] }

// Node is a node of the model: disk, memory and ghosts.
type Node struct {
	// Log is flushed when it is written. Snap is the image of the snapshot that it begins
	// with, at LogStart.
	Log         Log
	LogStart    uint8
	SnapVersion uint8
	SnapID      ID
	// Meta is what a process finds, Disk what a loss of power leaves at least.
	Meta, Disk [MaxDirs]Meta
	// Zero: there is a zero checkpoint, with ZeroID in it.
	Zero   uint8
	ZeroID ID
	Draws  uint8 // directory ids drawn

	Role      Role
	Endpoints uint8 // clusters that it may find, bit by bit; 0 before the first start

	Stage Stage
	// Mem is the id in memory, Target the one that is being written, Conn that which its
	// connection was built with.
	Mem, Target, Conn ID
	// Leader is 1 and up for the cluster that it fetches from.
	Leader uint8
	// HighWatermark is what the leader said of committed records; nobody stores it.
	HighWatermark uint8
	Offline       uint8 // directories that failed, bit by bit
	// Registered: clusters that ever let it in, bit by bit; In: this process.
	Registered uint8
	In         uint8
	Voter      uint8
	Stands     uint8
	Rejected   uint8

	// Ghosts: ids that were ever durable, bit by bit, since the disks were new; the disk of
	// a voter was lost since.
	Ever uint8
	Lost uint8
}

// State is clusters and nodes, and what a model counts.
type State struct {
	K         [MaxClusters]Cluster
	N         [MaxNodes]Node
	Crashes   uint8
	Moves     uint8
	Losses    uint8
	Failures  uint8
	Upgrades  uint8
	Snapshots uint8
	Unused    [pad]uint8
}

// image is what the node has seen up to an offset.
func (n *Node) image(l *Log, to uint8) Image {
	return ImageOf(l, n.LogStart, to, Image{Version: n.SnapVersion, ID: n.SnapID})
}

// committed is what has taken effect in the cluster.
func (c *Cluster) committed() Image { return ImageOf(&c.Log, 0, c.HighWatermark, Image{}).Stable() }

// everCommitted says whether a cluster has ever committed an id, outside of what was
// aborted or is open.
func (c *Cluster) everCommitted(id ID) bool {
	m := Image{}
	for _, r := range c.Log[:c.HighWatermark] {
		if m = m.Apply(r); m.Stable().ID == id {
			return true
		}
	}
	return false
}

// online says whether a directory is in use.
func (n *Node) online(d int) bool {
	return n.Offline>>d&1 == 0 && (n.Meta[d].usable() || n.Meta[d].Form == Missing)
}

// running says whether there is a process.
func (n *Node) running() bool { return n.Stage != Down && n.Stage != Exited }
