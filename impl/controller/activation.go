package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/metaprops"
	"github.com/quorate/quorate/impl/node"
)

// term is an epoch in which this node leads.
type term struct {
	epoch int32
	// activated is closed when activation has ended, well if active.
	activated chan struct{}
	active    bool
}

// activeEpoch is the epoch in which this node is the active controller, 0 if in none. It
// waits for an activation that is under way: nothing is written before, and nothing is
// answered that does not know of it.
func (c *Controller) activeEpoch() int32 {
	t := c.term.Load()
	if t == nil {
		return 0
	}
	<-t.activated
	if !t.active {
		return 0
	}
	return t.epoch
}

// LeaderChange implements [node.Machine]. A node that comes to lead has applied everything
// of earlier epochs, so that what it decides here to write is decided on all that there is
// (QuorumController.claim, completeActivation).
func (c *Controller) LeaderChange(l node.Leadership) {
	c.begins(start{})
	c.stepsDown()
	if !l.Self {
		c.term.Store(nil)
		return
	}
	c.claims(l.Epoch)
	t := &term{epoch: l.Epoch, activated: make(chan struct{})}
	c.term.Store(t)
	records, err := c.activation()
	c.activates(l.Epoch, records, err)
	if err == nil && len(records) == 0 {
		t.active = true
		close(t.activated)
		return
	}
	go func() {
		defer close(t.activated)
		<-c.used
		quorum := *c.quorum.Load()
		if err == nil {
			err = c.writeChunks(quorum, t.epoch, records)
		}
		switch {
		case err == nil:
			t.active = true
		case errors.Is(err, node.ErrNotLeader), errors.Is(err, node.ErrUnknown), errors.Is(err, node.ErrStopped):
			// The next leader decides anew, by what has become of this.
		default:
			quorum.Fail(fmt.Errorf("activation in epoch %d: %w", t.epoch, err))
		}
	}()
}

// activation are the records that a new leader has to write before anything else
// (ActivationRecordsGenerator). The first one writes the bootstrap; whether that was done
// is asked of the state outside of any transaction, since an open one may be aborted, and
// is, here (MustWrite and MustAbort of spec/bootstrap).
func (c *Controller) activation() ([][]byte, error) {
	var records [][]byte
	open, version := c.state.transaction != nil, c.state.version()
	if version > 0 {
		switch {
		case open && version < metadata.TransactionVersion:
			return nil, fmt.Errorf("a transaction is open, and metadata.version %s cannot end it", version)
		case open:
			slog.Warn("aborts the transaction of a leader before", "node", c.cfg.Node, "records", len(c.state.transaction))
			records = append(records, metadata.AppendAbortTransaction(nil, failover))
		}
		return records, nil
	}
	b, err := c.bootstrapRecords()
	if err != nil {
		return nil, err
	}
	slog.Info("writes the bootstrap of the cluster", "node", c.cfg.Node, "records", len(b.records), "metadata.version", b.version.String(), "source", b.source)
	if b.version < metadata.TransactionVersion {
		if open {
			return nil, fmt.Errorf("a transaction is open, and metadata.version %s of %s cannot end it", b.version, b.source)
		}
		if n := len(chunksOf(b.records, maxBatchRecords)); n > 1 {
			return nil, fmt.Errorf("the %d records of %s are too many for one batch, and metadata.version %s has no transactions", len(b.records), b.source, b.version)
		}
		return b.records, nil
	}
	if open {
		records = append(records, metadata.AppendAbortTransaction(nil, failover))
	}
	records = append(records, metadata.AppendBeginTransaction(nil, bootstrapName))
	records = append(records, b.records...)
	return append(records, metadata.AppendEndTransaction(nil)), nil
}

// What Kafka calls its transaction, and why it aborts another's.
const (
	bootstrapName = "Bootstrap records"
	failover      = "Controller failover"
)

// bootstrapRecords are the records of the source, with what follows from them.
func (c *Controller) bootstrapRecords() (bootstrap, error) {
	b, err := c.source()
	if err != nil {
		return bootstrap{}, err
	}
	own := c.knownID()
	switch {
	case b.version < metadata.ClusterIDVersion && b.cluster != "":
		return bootstrap{}, fmt.Errorf("%s has a cluster id at metadata.version %s, which has none", b.source, b.version)
	case b.version < metadata.ClusterIDVersion:
	case b.cluster == "" && own == "" && c.cfg.DrawsClusterID:
		// Nobody may use it before it is committed: this node forgets it if it is not.
		b.cluster = metaprops.NewDirectoryID().String()
		at := len(b.features)
		b.records = slices.Insert(slices.Clone(b.records), at, metadata.AppendClusterID(nil, b.cluster))
		slog.Warn("draws the cluster id", "node", c.cfg.Node, "cluster", b.cluster)
	case b.cluster == "":
		return bootstrap{}, fmt.Errorf("%s has metadata.version %s and no cluster id: this controller was not formatted properly", b.source, b.version)
	case own != "" && own != b.cluster:
		return bootstrap{}, fmt.Errorf("%s has cluster id %q, and meta.properties has %q", b.source, b.cluster, own)
	}
	if b.features["eligible.leader.replicas.version"] > 0 {
		one := "1" // min.insync.replicas of the configuration, by default
		b.records = append(slices.Clone(b.records), metadata.ConfigRecord{ResourceType: brokerResource, Name: "min.insync.replicas", Value: &one}.Append(nil))
	}
	return b, nil
}

// writeChunks writes records, as many batches as it takes, each when the one before is
// committed and applied.
func (c *Controller) writeChunks(quorum Quorum, epoch int32, records [][]byte) error {
	for _, chunk := range chunksOf(records, cmp.Or(c.chunk, maxBatchRecords)) {
		c.appends(epoch, chunk)
		if _, err := quorum.ProposeIn(context.Background(), epoch, chunk); err != nil {
			return err
		}
	}
	return nil
}

// What a batch may have (QuorumController.MAX_RECORDS_PER_BATCH, KafkaRaftClient.
// MAX_BATCH_SIZE_BYTES).
const (
	maxBatchRecords = 10_000
	maxBatchBytes   = 8 << 20
	batchOverhead   = 61 // bytes of its header
	recordOverhead  = 20 // bytes of a record beside its value, at most
)

// chunksOf cuts records into batches, of at most so many records and by bytes; none is
// empty.
func chunksOf(records [][]byte, most int) (chunks [][][]byte) {
	from, size := 0, batchOverhead
	for i, r := range records {
		n := len(r) + recordOverhead
		if i > from && (i-from == most || size+n > maxBatchBytes) {
			chunks = append(chunks, records[from:i:i])
			from, size = i, batchOverhead
		}
		size += n
	}
	if from < len(records) {
		chunks = append(chunks, records[from:])
	}
	return chunks
}
