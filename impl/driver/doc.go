// Package driver carries out what a replica core asks for: it turns the ordered
// Ops of a Step into writes to log and quorum state, completed trace events and
// messages.
//
// Read [Open], [Driver.Apply] and [Hooks]. The loop of whoever uses it is
//
//	d, err := driver.Open(fsys, dir, cfg)
//	replica, err := core.New(cfg.Core, d.Disk(), now, &out)
//	for err == nil {
//		err = d.Apply(in, link, out.Ops, hooks)   // in: nil at the start
//		in, link = next(out.Wake)
//		replica.Step(now(), in, &out)
//	}
//
// Fields of events are read back from what happened: runs and digests are those
// that the log returned, records of a response those that were read. An event
// goes to the hooks after everything that it says is durable, and before what
// it sends.
//
// Snapshots (snapshots.go) have an order of their own: one that was received has its
// name, durably, before it empties the log, and one is durable before the log starts
// at its end. [Open] makes up for a crash in between.
//
// There is no socket, timer, goroutine or clock here, and nothing is retried: an
// error of the storage or of a hook ends the replica.
package driver
