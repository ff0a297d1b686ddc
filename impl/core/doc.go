// Package core is one KRaft replica as a pure function: one input in, a list of
// effects out, in the order in which they must be carried out.
//
// Read [Replica.Step], [Input] and [Op] first. The loop of every driver is
//
//	replica, err := core.New(cfg, disk, now, &out) // effects of the start
//	for {
//		for i := range out.Ops {
//			carryOut(&out.Ops[i])          // in order; Persist is durable before the next
//		}
//		in := next(out.Wake)                   // a message, Flushed, a client, or a Tick at Wake
//		replica.Step(now(), in, &out)
//	}
//
// There is one file for each concern: roles.go (transitions), election.go,
// leader.go (begin, end and check quorum), fetch_leader.go, fetch_follower.go,
// commit.go (appends and the high watermark), reads.go, snapshots.go (taken, and the
// log start), snapshot_leader.go, snapshot_follower.go, requests.go (one request in
// flight per peer, and timers), events.go (what a trace records), and the pure parts
// quorum.go, log.go and disk.go. Which voter set is in force is in voters.go, and how a
// leader changes it in membership.go. An action of the specification is one function of
// that name.
//
// The package has no clock, randomness, file, socket, goroutine or lock: time is
// an argument, random timeouts come from [Config.Seed]. It holds no record bytes,
// only where the log starts and ends, its flushed end, where each epoch starts, and
// which snapshots there are. It does not know cluster ids, addresses, formats or
// checksums: the driver checks those before it hands a message over.
package core
