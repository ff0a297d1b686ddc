package spec

// Crash: the process stops, and the machine may lose power: of what was not
// flushed the file system may keep any part, so the log becomes one of Survivors.
// The quorum-state file is replaced whole, so it is what was stored last; a snapshot and
// the log start are durable when they are there.
func Crash(c *Ctx, r *Replica, a Args, _ *Outbox) bool {
	if !c.Require(IsUp, r.Role != Down) {
		return false
	}
	logs := Survivors(r)
	if !c.Require(KeepInRange, a.Keep >= 0 && a.Keep < len(logs)) {
		return false
	}
	kept := logs[a.Keep]
	leaveRole(r)
	r.Role = Down
	r.Log, r.Disk = kept, kept
	r.HighWatermark = Unknown
	r.Fetching = Fetching{}
	r.Snapshots.losePower()
	r.Election = r.Stored
	c.takeVoters(r, Started) // what the next start reads
	return true
}

// Survivors are the logs that a crash may leave, the least first: of an append
// that was not flushed any prefix of its batches (recovery cuts at the first one
// that is not whole), of a truncation that was not flushed nothing, all or a part.
// Where something was appended before a truncation was flushed, batches of the
// old tail may stand behind those of the new one: nothing tells them apart.
func Survivors(r *Replica) []Log {
	var logs []Log
	keep := func(l Log) {
		for i := range logs {
			if logs[i].SameAs(&l) {
				return
			}
		}
		logs = append(logs, l)
	}
	common := CommonPrefix(&r.Log, &r.Disk)
	for o := common; o <= r.Log.End(); o++ {
		if !r.Log.cutsBatch(o) {
			keep(r.Log.Slice(0, o))
		}
	}
	for o := common; o <= r.Disk.End(); o++ {
		if !r.Disk.cutsBatch(o) {
			keep(r.Disk.Slice(0, o))
		}
	}
	for o := common + 1; o < min(r.Log.End(), r.Disk.End()); o++ {
		if r.Log.cutsBatch(o) || r.Disk.cutsBatch(o) {
			continue
		}
		mixed := r.Log.Slice(0, o)
		rest := r.Disk.Slice(o, r.Disk.End())
		mixed.AppendAll(&rest)
		if mixed.ascending() {
			keep(mixed)
		}
	}
	return logs
}

// LoseDisk: the process stops and its directory is gone, and the replica comes
// back under its old id. A voter that does so can break safety; KIP-853 prevents
// it with directory ids. Here it is an action to show just that.
func LoseDisk(c *Ctx, r *Replica, _ Args, _ *Outbox) bool {
	if !c.Require(IsUp, r.Role != Down) {
		return false
	}
	if r.Log.large == 0 {
		*r = NewReplica(r.ID, r.Version)
	} else {
		*r = NewLargeReplica(r.ID, r.Version)
	}
	r.Role = Down
	return true
}

// Restart: a process starts from its disk, by Kafka's rules: one that led comes
// back resigned, one that stood and knows no leader comes back as candidate of the
// same epoch, and a vote is never forgotten. KAFKA-10527, KAFKA-10661;
// QuorumState.initialize, but for a candidate that found a leader
// (docs/divergence.md).
func Restart(c *Ctx, r *Replica, _ Args, _ *Outbox) bool {
	if !c.Require(IsDown, r.Role == Down) {
		return false
	}
	if last := r.Log.LastEpoch(); r.Stored.Epoch < last {
		c.becomeUnattached(r, last)
		return true
	}
	r.Election = r.Stored
	role := c.Rules.RoleAtStart(c, r)
	r.Role = role
	if role == Candidate {
		r.Granted = SetOf(r.ID)
	}
	return true
}

// NetworkAction is something that happens to a message in flight.
type NetworkAction uint8

// What the environment does. A message on a connection that was closed, and a
// copy, are late: they may arrive at any time, and no longer keep the sender from
// asking again (Kafka allows one request in flight on a connection).
const (
	Drop NetworkAction = iota
	Duplicate
	CloseConnection
)
