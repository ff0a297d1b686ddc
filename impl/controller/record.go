package controller

import (
	"errors"
	"slices"

	"github.com/quorate/quorate/impl/concern"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/snapshot"
	event "github.com/quorate/quorate/traces/event/concern"
)

// What is recorded of a controller: the actions of spec/bootstrap, and those of
// spec/clusterid that are the state machine's. See package impl/concern.

// record completes an event with what the machine is after it. It is for the machine's
// goroutine.
func (c *Controller) record(e event.Event) {
	if c.cfg.Trace == nil {
		return
	}
	c.mu.RLock()
	e.Image = &event.Image{Level: int16(c.versionNow()), Cluster: c.cluster, Open: c.transaction != nil}
	c.mu.RUnlock()
	e.Memory, e.Active = c.knownID(), c.serves()
	c.cfg.Trace.Record(e)
}

// serves says whether the node is the active controller, without waiting for it.
func (c *Controller) serves() bool {
	t := c.term.Load()
	if t == nil {
		return false
	}
	select {
	case <-t.activated:
		return t.active
	default:
		return false
	}
}

// start is what the machine begins with.
type start struct {
	zero    bool // the zero checkpoint, with these records
	records [][]byte
	snap    *event.Snap
	old     bool  // the zero checkpoint as a snapshot
	failed  error // the node ends with it
}

// begins records once with what.
func (c *Controller) begins(s start) {
	if c.begun || c.cfg.Trace == nil {
		return
	}
	c.begun = true
	e := event.Event{Concern: event.Bootstrap, Action: "Start", Snap: s.snap, Old: s.old}
	if s.snap != nil {
		e.End = s.snap.End
	}
	if s.failed != nil {
		e.Fatal = s.failed.Error()
	}
	if s.zero {
		f := concern.FileOf(s.records, nil)
		e.Zero = &f
	}
	if l := c.cfg.Legacy; l.Name != "" || l.Err != nil {
		_, err := newBootstrap(l.Name, l.Records)
		if err = errors.Join(err, l.Err); len(l.Records) == 0 {
			err = l.Err
		}
		f := concern.FileOf(l.Records, err)
		e.Legacy = &f
	}
	c.record(e)
}

// loaded records that a snapshot has taken the place of what there was. failed: the node ends
// with that.
func (c *Controller) loaded(id snapshot.ID, failed error) {
	if c.cfg.Trace == nil {
		return
	}
	snap := &event.Snap{End: id.End, Epoch: id.Epoch}
	switch {
	case id.End == 0:
		c.begins(start{zero: true, old: true, failed: failed})
	case !c.begun:
		c.begins(start{snap: snap, failed: failed})
	default:
		e := event.Event{Concern: event.Bootstrap, Action: "InstallSnapshot", Snap: snap, End: id.End}
		if failed != nil {
			e.Fatal = failed.Error()
		}
		c.record(e)
	}
}

// replayed records a batch, unless nothing in it means anything here. failed: the node ends
// with that.
func (c *Controller) replayed(b node.Batch, failed error) {
	if c.cfg.Trace == nil {
		return
	}
	var values [][]byte
	for _, r := range b.Records {
		values = append(values, r.Value)
	}
	records := concern.RecordsOf(values)
	if !slices.ContainsFunc(records, func(r event.Record) bool { return r.Kind != event.Data }) {
		return
	}
	e := event.Event{Concern: event.Bootstrap, Action: "Replay", Epoch: b.Epoch, Base: b.Base, End: b.End, Records: records}
	if failed != nil {
		e.Fatal = failed.Error()
	}
	c.record(e)
}

func (c *Controller) adopts(id string) {
	c.record(event.Event{Concern: event.ClusterID, Action: "Adopt", ID: &id})
}

func (c *Controller) remembers(id string) {
	c.record(event.Event{Concern: event.ClusterID, Action: "SetMemory", ID: &id})
}

func (c *Controller) claims(epoch int32) {
	c.record(event.Event{Concern: event.Bootstrap, Action: "Claim", Epoch: epoch})
}

// stepsDown records that the node leads no more, if it did.
func (c *Controller) stepsDown() {
	if t := c.term.Load(); t != nil {
		c.record(event.Event{Concern: event.Bootstrap, Action: "StepDown", Epoch: t.epoch})
	}
}

// activates records what a leader has decided to write.
func (c *Controller) activates(epoch int32, records [][]byte, failed error) {
	if c.cfg.Trace == nil {
		return
	}
	e := event.Event{Concern: event.Bootstrap, Action: "Activate", Epoch: epoch, Total: len(records)}
	if failed != nil {
		e.Fatal = failed.Error()
	}
	var written [][]byte
	for _, r := range records {
		switch concern.RecordOf(r).Kind {
		case event.Abort:
			e.Aborts = true
		case event.Begin, event.EndOfTx:
		default:
			written = append(written, r)
		}
	}
	if len(written) > 0 {
		f := concern.FileOf(written, nil)
		e.Writes = &f
		if b, err := c.source(); err == nil {
			e.Source = &event.Source{From: event.FromDefault, File: concern.FileOf(b.records, nil)}
			switch b.source {
			case c.cfg.ZeroName:
				e.Source.From = event.FromZero
			case c.cfg.Legacy.Name:
				e.Source.From = event.FromLegacy
			}
		}
	}
	c.record(e)
}

// appends records the next batch of an activation, before it is handed to the replica.
func (c *Controller) appends(epoch int32, chunk [][]byte) {
	c.hands(event.Event{Action: "AppendChunk", Epoch: epoch, Records: concern.RecordsOf(chunk)})
}

// upgrades records another metadata.version, before it is handed to the replica.
func (c *Controller) upgrades(epoch int32, records [][]byte) {
	id := c.knownID()
	c.hands(event.Event{Action: "UpgradeFeatures", Epoch: epoch, Records: concern.RecordsOf(records), ID: &id})
}

// writes records the first write of a client in an epoch, which stands for all.
func (c *Controller) writes(epoch int32) {
	if c.served.Swap(epoch) != epoch {
		c.hands(event.Event{Action: "AppendOrdinary", Epoch: epoch})
	}
}

// hands completes an event of who writes, which is not the machine's goroutine.
func (c *Controller) hands(e event.Event) {
	if c.cfg.Trace == nil {
		return
	}
	e.Concern, e.Memory, e.Active = event.Bootstrap, c.knownID(), c.serves()
	c.cfg.Trace.Record(e)
}

// Snapshot implements [node.Machine].
func (c *Controller) Snapshot() (func(node.SnapshotWriter) error, error) {
	write, err := c.state.Snapshot()
	if err == nil {
		c.record(event.Event{Concern: event.Bootstrap, Action: "TakeSnapshot", End: c.last + 1})
	}
	return write, err
}
