package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/impl/controller"
	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/metaprops"
	"github.com/quorate/quorate/impl/node"
)

// discovery is how a node that has no cluster id comes to know it (KIP-1262):
//
//	unknown ─ committed ClusterIdRecord ─► every meta.properties durable ─► in memory
type discovery struct {
	log   *slog.Logger
	o     *options
	begun chan struct{} // closed when node is set
	node  *node.Node
	// controllers is the machine, nil if it is another.
	controllers *controller.Controller
}

// controller is the machine of the node.
func (d *discovery) controller() *controller.Controller {
	o := d.o
	cfg := controller.Config{
		Node: int32(o.node.ID), ClusterID: o.node.ClusterID, Nodes: o.node.Voters, Voters: d.voters, Learn: d.learn,
		Trace: o.concerns, Legacy: o.legacy(), ZeroName: filepath.Join(o.node.Dir, logDir, metadata.ZeroID.FileName()),
	}
	if o.file == nil {
		return controller.New(cfg)
	}
	if o.node.ClusterID == "" && o.file.IsVoter() {
		cfg.DrawsClusterID, cfg.DefaultVersion = true, metadata.ClusterIDVersion
	}
	if o.file.Quorate.DeleteLegacy {
		cfg.Loaded = func() error { return o.deleteLegacy(d.log) }
	}
	return controller.New(cfg)
}

// voters are where the voters of a dynamic voter set can be reached; false: it is static.
func (d *discovery) voters() (nodes []node.Voter, dynamic bool) {
	select {
	case <-d.begun:
	default:
		return nil, false
	}
	voters, dynamic := d.node.Voters()
	if !dynamic {
		return nil, false
	}
	for _, v := range voters {
		to := node.Voter{ID: core.ReplicaID(v.ID), Directory: v.Directory}
		for _, e := range v.Endpoints {
			if to.Addr == "" || e.Name == d.o.node.ListenerName {
				to.Addr = net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
			}
		}
		nodes = append(nodes, to)
	}
	return nodes, true
}

// learn makes an id that is committed durable in every directory, that of the metadata
// log last, and only then the node's. The machine waits for it.
func (d *discovery) learn(id string) error {
	if d.o.file != nil {
		if err := d.o.persist(metaprops.Adopting(d.o.dirs, id), d.log); err != nil {
			return fmt.Errorf("persist cluster id %q: %w", id, err)
		}
	}
	<-d.begun
	d.o.remembers(id)
	d.node.LearnClusterID(id)
	d.log.Info("learned the cluster id", "cluster", id)
	return nil
}

// deleteLegacy removes bootstrap.checkpoint. A committed snapshot has set metadata.version,
// so nobody will need it any more.
func (o *options) deleteLegacy(log *slog.Logger) error {
	dir := o.node.Dir
	name := filepath.Join(dir, metadata.LegacyFile)
	if err := os.Remove(name); err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}
	o.legacyDeleted()
	log.Info("deleted the bootstrap that is not needed any more", "file", name)
	return fs.OS{}.SyncDir(dir)
}

// letIn waits until an observer has been let in by the leader of its cluster: its id is
// known, and a leader has told it what is committed. At the deadline it says why not. A
// voter of a dynamic voter set waits for nothing.
func (d *discovery) letIn(deadline time.Time) (voter bool, err error) {
	n := d.node
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for n.ClusterID() == "" || n.State().HighWatermark < 0 {
		if set := n.State().VoterSet; set.Dynamic() {
			if v, ok := set.Find(d.o.node.ID); ok && v.Key.Directory == d.o.node.Directory {
				return true, nil
			}
		}
		select {
		case <-n.Done():
			return false, nil
		case <-tick.C:
		}
		if !time.Now().Before(deadline) {
			return false, d.late()
		}
	}
	return false, nil
}

// late is why a node gives up.
func (d *discovery) late() error {
	var voters []string
	for _, v := range d.o.node.Voters {
		voters = append(voters, v.Addr)
	}
	voters = append(voters, d.o.node.Bootstrap...)
	from, timeout := strings.Join(voters, ", "), d.o.file.Quorum.Registration
	id := d.node.ClusterID()
	switch {
	case id == "" && d.node.State().HighWatermark < 0:
		return fmt.Errorf("%w: within %v none of %s has answered as leader of a quorum", errLate, timeout, from)
	case id == "":
		return fmt.Errorf("%w: the log of %s has no cluster id after %v. It has one from metadata.version %s (level %d) on: "+
			"upgrade the cluster to it, or format this node with -cluster-id", errLate, from, timeout, metadata.ClusterIDVersion, metadata.ClusterIDVersion)
	case d.node.Inconsistent():
		return fmt.Errorf("%w: this node is of cluster %q, and %s answers INCONSISTENT_CLUSTER_ID", errLate, id, from)
	}
	return fmt.Errorf("%w: within %v none of %s has answered as leader of cluster %q", errLate, timeout, from, id)
}

// errLate is wrapped by why an observer was not let in.
var errLate = errors.New("not let in (initial.broker.registration.timeout.ms)")
