package clusterid

import "github.com/quorate/quorate/spec/concern"

// Mutation is a bug put back: one rule overridden.
type Mutation = concern.Mutated[Rules]

func mutation(id, title, source, story, model, property string, override func(*Rules)) Mutation {
	return Mutation{Mutation: concern.Mutation{ID: id, Title: title, Source: source, Story: story, Model: model, Property: property}, Override: override}
}

// Mutations are all. Source has the number of docs/kip-1262.md.
var Mutations = []Mutation{
	mutation("memory-first", "the id is used before it is written", "B-M1",
		"The node registers with A, loses power, and has no id on disk: started with endpoints of B it would become a node of B.",
		"cluster-id-discovery", "PersistFirst", func(r *Rules) {
			r.Persisted = func(*Rules, *Node) bool { return true }
		}),
	mutation("memory-first-joins-other", "the id is used before it is written, and the node moves", "B-M1",
		"As memory-first: the second cluster lets in a node that the first has let in, on the same disks.",
		"cluster-id-wrong", "RightID", func(r *Rules) {
			r.Persisted = func(_ *Rules, n *Node) bool { return n.Target == NoID || n.Meta[0].usable() }
			r.Discards = false
		}),
	mutation("memory-after-one", "the id is used once one directory has it", "B-M2",
		"The other directory may be what is left after a crash.",
		"cluster-id-discovery", "PersistFirst", func(r *Rules) {
			r.Persisted = func(r *Rules, n *Node) bool {
				for d := range MaxDirs {
					if n.written(r, d) && n.Disk[d] == n.Meta[d] {
						return true
					}
				}
				return false
			}
		}),
	mutation("directory-not-flushed", "meta.properties is renamed and its directory not flushed", "B-M3",
		"The id is used and the node registered; a loss of power takes the rename back.",
		"cluster-id-discovery", "PersistFirst", func(r *Rules) {
			r.Persisted = func(r *Rules, n *Node) bool {
				for d := range MaxDirs {
					if n.online(d) && !n.written(r, d) {
						return false
					}
				}
				return true
			}
		}),
	mutation("id-uncommitted", "the id is taken from what is in the log, committed or not", "B-M4",
		"The leader is lost, and the record with it.",
		"cluster-id-discovery", "CommittedOnly", func(r *Rules) {
			r.Seen = func(n *Node, l *Log, _ uint8, _ ID) ID { return n.image(l, l.end()).Stable().ID }
		}),
	mutation("id-uncommitted-r2", "the same in R2, where the next leader draws another id", "B-M4 with R2",
		"The node has an id on disk that no cluster has, and is refused for ever by the one that it belongs to.",
		"cluster-id-r2", "RightID", func(r *Rules) {
			r.Seen = func(n *Node, l *Log, _ uint8, _ ID) ID { return n.image(l, l.end()).Stable().ID }
		}),
	mutation("id-in-transaction", "the id is taken from an open transaction", "B-M5",
		"It is committed, and its transaction is not: the next leader aborts it.",
		"cluster-id-discovery", "CommittedOnly", func(r *Rules) {
			r.Seen = func(n *Node, l *Log, hw uint8, _ ID) ID { return n.image(l, hw).ID }
		}),
	mutation("id-from-local-log", "a start takes an id that it finds in the local log", "docs/findings.md: what a log says of itself",
		"Nobody stores the high watermark, so a start cannot know whether the record was committed; it may be of a transaction that was aborted.",
		"cluster-id-discovery", "CommittedOnly", func(r *Rules) {
			r.LocalID = func(n *Node) ID { return n.image(&n.Log, n.Log.end()).ID }
			r.Discards = false
		}),
	mutation("connection-keeps-null", "a request carries the id that its connection was built with", "B-M6",
		"The connection is from before the node knew its id, so its requests go on without one, and any cluster answers them.",
		"cluster-id-discovery", "NoForget", func(r *Rules) {
			r.RequestID = func(n *Node) ID { return n.Conn }
		}),
	mutation("snapshot-unchecked", "Fetch is checked for the id and FetchSnapshot is not", "B-M7",
		"The log of B begins behind its first records, so a node of A is sent a snapshot of B.",
		"cluster-id-wrong", "Reject", func(r *Rules) {
			clean := r.Accepts
			r.Accepts = func(own, asked ID, snapshot bool) bool { return snapshot || clean(own, asked, false) }
		}),
	mutation("fetch-unchecked", "FetchSnapshot is checked for the id and Fetch is not", "B-M7, the other way round",
		"A node of A copies the log of B.",
		"cluster-id-wrong", "RightID", func(r *Rules) {
			clean := r.Accepts
			r.Accepts = func(own, asked ID, snapshot bool) bool { return !snapshot || clean(own, asked, true) }
		}),
	mutation("id-from-response", "the id is taken from what the leader says of itself", "B-M8",
		"The cluster has a metadata.version that knows no ids, or has not written its own yet: nobody may have committed to it.",
		"cluster-id-discovery", "CommittedOnly", func(r *Rules) {
			r.Seen = func(n *Node, l *Log, hw uint8, leader ID) ID { return leader }
		}),
	mutation("log-kept-over-clusters", "a node without id keeps its log when it turns to another leader", "B-M9",
		"Its endpoints are of two clusters. The first records of both have the same offsets and epochs, which is all that a fetch compares, so it goes on in B's log behind A's records.",
		"cluster-id-booting-both", "NoCrossing", func(r *Rules) { r.Discards = false }),
	mutation("voter-formats-itself", "a bootstrap controller without meta.properties formats itself", "B-M10",
		"A static voter has lost its disk, starts as if it were new, and votes again in an epoch in which it has voted.",
		"cluster-id-disks", "BootstrapNeedsFormat", func(r *Rules) {
			r.IsBootstrap = func(*Node) bool { return false }
		}),
	mutation("voter-formats-itself-votes", "the same, and what comes of it", "B-M10",
		"See voter-formats-itself.",
		"cluster-id-disks", "VoteMemory", func(r *Rules) {
			r.IsBootstrap = func(*Node) bool { return false }
		}),
	mutation("zero-decides", "a bootstrap controller is who has a zero checkpoint", "B-M11",
		"Retention has removed it long ago. The static voter loses its disk, counts as an observer, formats itself and votes.",
		"cluster-id-disks", "VoteMemory", func(r *Rules) {
			r.IsBootstrap = func(n *Node) bool { return n.Zero == 1 }
		}),
	mutation("new-directory-without-id", "a new directory beside one with an id is formatted without", "B-M12",
		"It would take the next id that comes by.",
		"cluster-id-disks", "PersistFirst", func(r *Rules) {
			r.WriteID = func(n *Node, d int) ID {
				if n.Meta[d].ID == NoID && n.Meta[1-d].ID != NoID {
					return NoID
				}
				return n.Target
			}
		}),
	mutation("first-directory-wins", "of two ids that of the metadata directory counts", "B-M13",
		"A disk of another cluster is in the machine, and the node runs with both.",
		"cluster-id-start", "DirectoriesAgree", func(r *Rules) {
			r.Agree = func(ids []ID) (ID, bool) {
				if len(ids) == 0 {
					return NoID, true
				}
				return ids[0], true
			}
			r.WriteID = func(n *Node, d int) ID {
				if n.Meta[d].ID != NoID {
					return n.Meta[d].ID
				}
				return n.Target
			}
		}),
	mutation("v1-without-id-is-new", "version 1 without a cluster id counts as a node that has to learn its id", "B-M14",
		"The file is damaged, and its node joins whatever cluster it finds.",
		"cluster-id-start", "StartTable", func(r *Rules) {
			r.Treats = func(m Meta) Meta {
				if m.Form == WithoutID {
					return Meta{Form: V2}
				}
				return m
			}
		}),
	mutation("joins-before-known", "auto-join asks before the node knows its id", "B-M15",
		"An observer becomes voter, and may lead, without an id.",
		"cluster-id-voters", "RegisteredAfterKnown", func(r *Rules) {
			r.MayJoin = func(*Node) bool { return true }
		}),
	mutation("stands-before-known", "a voter stands before it knows its id", "B-M16",
		"An operator has added an observer that has not learned its id yet.",
		"cluster-id-voters", "LeaderHasID", func(r *Rules) {
			r.MayStand = func(*Node) bool { return true }
		}),
	mutation("upgrade-draws-id", "an upgrade of metadata.version draws a new id", "B-M17",
		"Every node that was formatted with the old one is refused.",
		"cluster-id-upgrade", "UpgradeKeeps", func(r *Rules) {
			r.UpgradeID = func(int) ID { return Drawn1 }
		}),
	mutation("upgrade-in-two-batches", "an upgrade writes the id in a batch behind the metadata.version's", "B-M18",
		"The leader is lost between the two: the version is there, and the id never comes.",
		"cluster-id-upgrade", "IDGate", func(r *Rules) { r.UpgradeAtomic = false }),
	mutation("id-below-version", "an id is written below the metadata.version that knows it", "B-M19",
		"Software of that version cannot read the log.",
		"cluster-id-low", "IDGate", func(r *Rules) { r.WritesOldID = true }),
	mutation("id-rewritten", "every leader writes the id of its own meta.properties", "B-M20",
		"One of the controllers was formatted with another id.",
		"cluster-id-discovery", "OneClusterID", func(r *Rules) {
			r.Rewrites = func(k *Cluster, own ID) ID {
				if k.Epoch%2 == 0 {
					return OfB // this leader's meta.properties differs
				}
				return own
			}
		}),
	mutation("empty-registration", "a registration without id is accepted", "B-M21",
		"The node is in, and finds out afterwards which cluster it is in.",
		"cluster-id-discovery", "RegisteredAfterKnown", func(r *Rules) {
			r.MayRegister = func(*Node) bool { return true }
			r.AcceptsRegistration = func(own, asked ID) bool { return asked == own || asked == NoID }
		}),
	mutation("no-deadline", "a node that learns no id waits for ever", "B-M22",
		"The cluster has a metadata.version from before ids: nothing is ever said.",
		"cluster-id-low", "EndedWithoutID", func(r *Rules) { r.HasDeadline = false }),
	mutation("mismatch-ends", "INCONSISTENT_CLUSTER_ID ends whoever is told", "B-M23; a proposal for Kafka that was not merged",
		"One misconfigured peer ends every voter that asks it.",
		"cluster-id-voters", "RunningSurvives", func(r *Rules) { r.MismatchEnds = true }),
	mutation("adoption-draws-directory", "meta.properties is rewritten with a new directory id", "B-M24",
		"The directory id is the key of a voter, and of replicas on a broker.",
		"cluster-id-discovery", "DirectoryIDStable", func(r *Rules) {
			r.DirID = func(n *Node, d int) uint8 { return n.Meta[d].Dir + 1 }
		}),
	mutation("drawn-id-used-at-once", "a leader that draws an id uses it before it is committed", "B-M25, R2",
		"It is lost with its record; the next leader commits another one. The first leader's disks hold an id that no cluster has.",
		"cluster-id-r2", "RightID", func(r *Rules) { r.DrawsEarly = true }),
	mutation("two-drawn", "every leader writes the id that it draws", "B-M26, R2",
		"The cluster has two ids, one after the other.",
		"cluster-id-r2", "OneClusterID", func(r *Rules) {
			r.Rewrites = func(k *Cluster, _ ID) ID { return Drawn1 + ID(min(k.Drawn, 2)) }
		}),
	mutation("snapshot-without-id", "a snapshot is written without the id", "B-M27",
		"The log start moves past the bootstrap, and a node that comes late never learns its id.",
		"cluster-id-snapshot", "SnapshotCarriesID", func(r *Rules) {
			r.SnapshotID = func(Image) ID { return NoID }
		}),
	mutation("mismatch-wipes", "a node that is refused removes its meta.properties", "B-M28",
		"It was pointed at another cluster by mistake, and joins it with the disks of its own.",
		"cluster-id-wrong", "SingleID", func(r *Rules) { r.MismatchWipes = true }),
	mutation("zero-unchecked", "the id in the zero checkpoint is not compared", "B-M29",
		"meta.properties was formatted anew with another id: the controller says Y, and commits X.",
		"cluster-id-operator", "ZeroMatches", func(r *Rules) { r.ChecksZero = false }),
	mutation("no-lock", "directories are not locked before they are formatted", "B-M30",
		"Two processes format the same directories, each with a directory id of its own.",
		"cluster-id-discovery", "DirectoryIDStable", func(r *Rules) { r.Locks = false }),
}
