// Package concern is the schema of what a node does beside its replica: how its cluster
// begins (KIP-1170) and how it learns which one that is (KIP-1262). It is for both what
// package event is for elections, commits and snapshots: an event for each action of
// spec/bootstrap and spec/clusterid, under their names.
//
// Read [Event] first. A node has one file, concerns-N.ndjson beside its trace, to which its
// processes append one after the other: format, and then each that runs the node. What they
// say is read back from what happened: files as they are found, operations on disk when they
// have succeeded, records as they were handed over or applied. An event of a step on disk
// follows it, every other comes before what follows from it.
//
// The package is a leaf, as package event is.
package concern

// Version is the version of the schema that this package writes. A reader refuses any
// other.
const Version = 1

// Concerns.
const (
	Bootstrap = "bootstrap"  // actions of spec/bootstrap
	ClusterID = "cluster-id" // actions of spec/clusterid
)

// Event is one action of one node. Pointers are to what not every action has.
type Event struct {
	V       int    `json:"v" min:"1" max:"1" doc:"Version of this schema."`
	Node    int32  `json:"node" min:"0" doc:"node.id."`
	Process int32  `json:"process" min:"1" doc:"Numbers the processes that have written to the file, in order. A number may be left out after a torn line."`
	Seq     int64  `json:"seq" min:"1" doc:"Numbers the events of a process, from 1, without gaps."`
	Inc     int32  `json:"inc" min:"0" doc:"The incarnation of the replica in this process, as in its trace. 0: there is none yet."`
	After   int64  `json:"after" min:"0" doc:"Number of the latest event of that trace when this one was written. 0: none, or there is no trace."`
	Concern string `json:"concern" enum:"bootstrap cluster-id" doc:"Whose action it is: of spec/bootstrap or of spec/clusterid."`
	Action  string `json:"action" doc:"The name of the action in the specification."`

	Dir   int     `json:"dir,omitempty" min:"0" doc:"Log directory that is written or flushed. 0: that of the metadata log; the others as they are configured."`
	Meta  *Meta   `json:"meta,omitempty" doc:"Its meta.properties after that."`
	Found *Found  `json:"found,omitempty" doc:"What a process finds when it starts (Start of cluster-id)."`
	ID    *string `json:"clusterId,omitempty" doc:"The cluster id that a start decides on, that is adopted, set in memory, or written by an upgrade. Empty: not known."`
	Drops bool    `json:"drops,omitempty" doc:"A start drops the log, as nobody can say whose it is."`
	Fatal string  `json:"fatal,omitempty" doc:"The process ends with this error."`

	Old    bool   `json:"old,omitempty" doc:"The zero checkpoint is loaded as software before KIP-1170 does."`
	Zero   *File  `json:"zero,omitempty" doc:"The zero checkpoint: as it was loaded (Start of bootstrap), or as it is under its name (RenameZero)."`
	Legacy *File  `json:"legacy,omitempty" doc:"bootstrap.checkpoint, as it was read (Start of bootstrap)."`
	Snap   *Snap  `json:"snapshot,omitempty" doc:"The snapshot that was loaded (Start of bootstrap, InstallSnapshot), or is made (TakeSnapshot)."`
	Image  *Image `json:"image,omitempty" doc:"What the state machine has after the action, outside of an open transaction."`
	Memory string `json:"memory,omitempty" doc:"The cluster id that the state machine takes for that of the node, after the action. Empty: none."`

	Epoch   int32    `json:"epoch,omitempty" min:"0" doc:"In which the node leads (Claim, Activate, AppendChunk, AppendOrdinary, UpgradeFeatures, StepDown), or of the records (Replay)."`
	Base    int64    `json:"base,omitempty" min:"0" doc:"Replay: where the batch with these records begins. Between the last event and it are only records that are none of them."`
	End     int64    `json:"end,omitempty" min:"0" doc:"Up to where the state machine has applied the log, exclusive."`
	Records []Record `json:"records,omitempty" doc:"Records in their order: handed over (AppendChunk, UpgradeFeatures), or applied (Replay)."`
	Source  *Source  `json:"source,omitempty" doc:"Activate: where the bootstrap is from that is written."`
	Writes  *File    `json:"writes,omitempty" doc:"Activate: what of it is written, without markers of a transaction. Absent: nothing is."`
	Aborts  bool     `json:"aborts,omitempty" doc:"Activate: a transaction of a leader before is aborted."`
	Total   int      `json:"total,omitempty" min:"0" doc:"Activate: how many records are to be written, with markers."`
	Active  bool     `json:"active,omitempty" doc:"The node serves clients as active controller, after the action."`
}

// Meta is meta.properties of a log directory.
type Meta struct {
	Form      string `json:"form" enum:"missing unreadable V0 V1 V2" doc:"Version of the file, or why there is none that counts."`
	Cluster   string `json:"cluster,omitempty" doc:"cluster.id. Empty: it has none."`
	Directory string `json:"directory,omitempty" doc:"directory.id. Empty: it has none."`
	Unflushed bool   `json:"unflushed,omitempty" doc:"The bytes were not flushed before they got their name, or were written in place."`
}

// Forms of meta.properties.
const (
	Missing    = "missing"
	Unreadable = "unreadable"
	V0         = "V0"
	V1         = "V1"
	V2         = "V2"
)

// Found is what a process finds of a node when it starts.
type Found struct {
	Role     string `json:"role" enum:"broker observer static-voter dynamic-voter" doc:"What the node is configured as."`
	R2       bool   `json:"r2,omitempty" doc:"Voters of a static quorum need no format (the second revision of KIP-1262)."`
	Dirs     []Meta `json:"dirs" doc:"meta.properties of each log directory, that of the metadata log first."`
	Zero     bool   `json:"zero,omitempty" doc:"There is a file with the name of the zero checkpoint."`
	ZeroID   string `json:"zeroClusterId,omitempty" doc:"The cluster id in the zero checkpoint, if that is the latest snapshot."`
	Legacy   bool   `json:"legacy,omitempty" doc:"There is a bootstrap.checkpoint."`
	SnapID   string `json:"snapshotClusterId,omitempty" doc:"The cluster id in the latest snapshot of what was committed."`
	Snapshot int64  `json:"snapshot,omitempty" min:"0" doc:"Where that snapshot ends, exclusive. 0: there is none."`
	Log      bool   `json:"log,omitempty" doc:"There is a log, a snapshot of one, or the state of a replica."`
}

// Roles.
const (
	Broker       = "broker"
	Observer     = "observer"
	StaticVoter  = "static-voter"
	DynamicVoter = "dynamic-voter"
)

// File is the metadata records of a bootstrap.
type File struct {
	Unusable bool   `json:"unusable,omitempty" doc:"It cannot be read, or not be written by this software."`
	Records  int    `json:"records,omitempty" min:"0" doc:"How many records. 0: it has only records of Raft."`
	Level    int16  `json:"level,omitempty" min:"0" doc:"Level of metadata.version."`
	Cluster  string `json:"cluster,omitempty" doc:"Cluster id in it."`
	Digest   string `json:"digest,omitempty" pattern:"^([0-9a-f]{16})?$" doc:"64 bits of the SHA-256 of the values of its records, one after the other."`
}

// Snap names a snapshot.
type Snap struct {
	End   int64 `json:"end" min:"0" doc:"Offset where it ends, exclusive."`
	Epoch int32 `json:"epoch" min:"0" doc:"Epoch of its last record."`
}

// Image is the state of a metadata state machine, as far as bootstrap and cluster id go.
type Image struct {
	Level   int16  `json:"level" min:"0" doc:"Level of metadata.version. 0: it has none."`
	Cluster string `json:"cluster,omitempty" doc:"Cluster id of the ClusterIdRecord."`
	Open    bool   `json:"open,omitempty" doc:"A transaction is open."`
}

// Source is where a bootstrap is from.
type Source struct {
	From string `json:"from" enum:"zero legacy default" doc:"The zero checkpoint, bootstrap.checkpoint, or what software makes up that finds neither."`
	File File   `json:"file" doc:"What is in it."`
}

// Sources of a bootstrap.
const (
	FromZero    = "zero"
	FromLegacy  = "legacy"
	FromDefault = "default"
)

// Record is one metadata record, or several in a row that mean nothing here.
type Record struct {
	Kind    string `json:"kind" enum:"Begin End Abort Version ClusterID Data" doc:"BeginTransactionRecord, EndTransactionRecord, AbortTransactionRecord, FeatureLevelRecord of metadata.version, ClusterIdRecord; Data is any other."`
	Level   int16  `json:"level,omitempty" min:"0" doc:"Version: the level."`
	Cluster string `json:"cluster,omitempty" doc:"ClusterID: the id."`
	Count   int    `json:"count,omitempty" min:"0" doc:"Data: how many."`
}

// Kinds of records.
const (
	Begin        = "Begin"
	EndOfTx      = "End"
	Abort        = "Abort"
	MetaVersion  = "Version"
	ClusterIDRec = "ClusterID"
	Data         = "Data"
)
