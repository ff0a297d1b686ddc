package judge

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	recorder "github.com/quorate/quorate/impl/concern"
	"github.com/quorate/quorate/impl/controller"
	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/metaprops"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/snapshot"
	"github.com/quorate/quorate/traces/concerns"
	"github.com/quorate/quorate/traces/defects"
	"github.com/quorate/quorate/traces/event/concern"
)

// TestBootstrapSeeds lets controllers bootstrap clusters over a log that is only a list, as
// spec/bootstrap and spec/clusterid have it: leaders are lost at every point, with what they
// wrote or without, and processes with their machines. The properties are theirs, too; and
// what each node has recorded is held against the specification, by itself and together.
func TestBootstrapSeeds(t *testing.T) {
	slog.SetDefault(slog.New(slog.DiscardHandler))
	var r defects.Report
	first := uint64(0)
	for seed := uint64(1); seed <= *last; seed++ {
		r.Seeds = seed
		for _, blind := range []bool{false, true} {
			if blind && len(r.Found) == 0 && *out == "" {
				break // nothing that would have ended the run
			}
			c, err := bootstrapRun(seed, blind)
			if err != nil && !blind {
				r.Note(defects.Simulation, seed, number.ReplaceAllString(err.Error(), "n"))
			}
			if r.By(defects.Trace) != nil {
				break
			}
			what, err := c.recorded()
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if what != "" {
				r.Note(defects.Trace, seed, what)
			}
		}
		if err := r.Write(*out); err != nil {
			t.Fatal(err)
		}
		if len(r.Found) > 0 && first == 0 {
			first = seed
		}
		if first > 0 && enough(&r, seed-first) {
			break
		}
	}
	if *out == "" {
		for _, f := range r.Found {
			t.Errorf("seed %d: %s: %s", f.Seed, f.By, f.What)
		}
	}
}

// Who is who: voters are formatted, and the others learn the cluster id, but for a
// stranger, which was formatted for another cluster.
const (
	voters   = 3
	learners = 2
	stranger = voters + learners
	nodes    = stranger + 1
)

// cluster is a run.
type cluster struct {
	rng     *rand.Rand
	log     [][]byte // all records, committed or not
	parsed  []metadata.Record
	texts   []string
	batches []int // ends of batches in it
	hw      int
	nodes   [nodes]*member
	epoch   int32
	want    []string // the bootstrap, as text
	id      string   // of the cluster, empty if it has none
	version metadata.Version
	legacy  controller.Legacy
	zero    [][]byte
	epochs  []int32 // of batches
	// blind: a property that does not hold does not end the run.
	blind bool

	mu     sync.Mutex
	events [nodes][]concern.Event // guarded by mu
}

// record is the recorder of a process of a node.
func (c *cluster) record(m *member) *recorder.Recorder {
	m.process++
	process, seq := m.process, int64(0)
	return recorder.New(func(e *concern.Event) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if m.process != process {
			return nil // a goroutine of a process that is gone
		}
		seq++
		e.V, e.Node, e.Process, e.Seq = concern.Version, m.id, process, seq
		c.events[m.id-1] = append(c.events[m.id-1], *e)
		return nil
	})
}

// recorded holds what was recorded against the specification, and says what is no behaviour
// of it.
func (c *cluster) recorded() (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var inputs []concerns.Input
	for i := range c.events {
		if events := slices.Clone(c.events[i]); len(events) > 0 {
			inputs = append(inputs, concerns.Events(fmt.Sprintf("node %d", i+1), events))
		}
	}
	res, err := concerns.Validate(inputs, concerns.Options{})
	if err != nil || res.Rejection == nil {
		return "", err
	}
	r := res.Rejection
	text := r.Action + ": " + r.Why
	if len(r.Differences) > 0 {
		d := r.Differences[0]
		text += fmt.Sprintf(": %s: specification %s, recorded %s", d.Field, d.Spec, d.Recorded)
	}
	return number.ReplaceAllString(text, "n"), nil
}

// broken is a property that does not hold, unless nobody looks.
func (c *cluster) broken(format string, args ...any) error {
	if c.blind {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// member is a node: its disk, and its process.
type member struct {
	c       *cluster
	id      int32
	disk    *fs.Double
	dirs    []string
	known   string // cluster id that it has acted on
	control *controller.Controller
	set     metaprops.Set
	applied int
	refused bool // it has ended, because it is of another cluster
	leads   int32
	process int32
	trace   *recorder.Recorder

	proposals chan proposal
	active    chan struct{}
	failed    chan error
}

type proposal struct {
	records [][]byte
	answer  chan error
}

func bootstrapRun(seed uint64, blind bool) (*cluster, error) {
	c := &cluster{rng: rand.New(rand.NewPCG(seed, 0x626f6f74)), blind: blind}
	return c, c.run()
}

func (c *cluster) run() error {
	c.draw()
	for i := range c.nodes {
		if err := c.format(i); err != nil {
			return err
		}
	}
	for range 12 {
		if err := c.lead(c.nodes[c.rng.IntN(voters)], false); err != nil {
			return err
		}
		for range 4 {
			m := c.nodes[c.rng.IntN(nodes)]
			if m.control == nil {
				if err := m.start(); err != nil {
					return err
				}
			}
			if err := m.apply(m.applied + c.rng.IntN(c.hw-m.applied+1)); err != nil {
				return err
			}
			if c.rng.IntN(4) == 0 {
				m.crash()
			}
		}
	}
	// At last nothing goes wrong.
	if err := c.lead(c.nodes[c.rng.IntN(voters)], true); err != nil {
		return err
	}
	for _, m := range c.nodes {
		if m.control == nil {
			if err := m.start(); err != nil {
				return err
			}
		}
		if err := m.apply(c.hw); err != nil {
			return err
		}
	}
	if c.id != "" && !c.nodes[stranger].refused {
		return c.broken("CommittedClusterId: a node of another cluster has applied the cluster id")
	}
	return nil
}

// draw chooses what the cluster begins with.
func (c *cluster) draw() {
	c.version = []metadata.Version{12, metadata.TransactionVersion, metadata.ClusterIDVersion, metadata.ClusterIDVersion}[c.rng.IntN(4)]
	bootstrap := [][]byte{metadata.AppendFeatureLevel(nil, metadata.VersionFeature, int16(c.version))}
	if c.version >= metadata.ClusterIDVersion {
		c.id = "cluster-x"
		bootstrap = append(bootstrap, metadata.AppendClusterID(nil, c.id))
	}
	n := c.rng.IntN(4)
	if c.version >= metadata.TransactionVersion && c.rng.IntN(16) == 0 {
		n = 10_005 // two batches
	}
	for i := range n {
		value := fmt.Sprint(i)
		bootstrap = append(bootstrap, metadata.ConfigRecord{ResourceType: 4, Name: "setting." + value, Value: &value}.Append(nil))
	}
	other := "1"
	legacy := controller.Legacy{Name: "bootstrap.checkpoint", Records: [][]byte{
		bootstrap[0], metadata.ConfigRecord{ResourceType: 4, Name: "from.legacy", Value: &other}.Append(nil),
	}}
	switch {
	case c.version >= metadata.ClusterIDVersion || c.rng.IntN(2) == 0:
		if c.zero = bootstrap; c.rng.IntN(2) == 0 {
			c.legacy = legacy // there are both: the zero checkpoint counts
		}
	default:
		legacy.Records = bootstrap
		c.legacy = legacy
	}
	c.want = textsOf(bootstrap)
}

func textsOf(records [][]byte) (list []string) {
	for _, b := range records {
		r, err := metadata.Decode(b)
		if err != nil {
			return append(list, err.Error())
		}
		list = append(list, r.String())
	}
	return list
}

// format prepares the directories of a node.
func (c *cluster) format(i int) error {
	m := &member{c: c, id: int32(i + 1), disk: fs.NewDouble()}
	c.nodes[i] = m
	for k := range 1 + c.rng.IntN(3) {
		dir := fmt.Sprintf("/d%d", k)
		m.dirs = append(m.dirs, dir)
		if err := fs.MkdirAll(m.disk, dir); err != nil {
			return err
		}
		id := ""
		switch {
		case i < voters:
			if id = c.id; id == "" {
				id = "cluster-x"
			}
		case i == stranger:
			id = "cluster-z"
		default:
			continue // it learns
		}
		p := metaprops.Properties{Version: 1, ClusterID: id, NodeID: m.id, Directory: metaprops.NewDirectoryID()}
		if err := metaprops.Write(m.disk, dir, p); err != nil {
			return err
		}
	}
	return m.start()
}

// start is a process: it reads its directories, and begins with an empty state.
func (m *member) start() error {
	set, err := metaprops.Load(m.disk, m.dirs)
	if err != nil {
		return err
	}
	m.trace = m.c.record(m)
	d, err := set.Decide(metaprops.Start{Node: m.id, Bootstrap: m.id <= voters}, metaprops.NewDirectoryID)
	m.recordStart(set, d, err)
	if err != nil {
		return fmt.Errorf("Startable: %w", err)
	}
	var broken error
	switch {
	case m.known != "" && d.ClusterID != m.known:
		broken = m.c.broken("ClusterIdNotForgotten: a node starts with cluster id %q, and had acted on %q", d.ClusterID, m.known)
	case m.id > voters && m.id <= stranger && d.ClusterID != "" && d.ClusterID != m.c.committedID():
		broken = m.c.broken("OnlyCommittedClusterId: a node starts with %q, and committed is %q", d.ClusterID, m.c.committedID())
	}
	if broken != nil {
		return broken
	}
	if m.id > voters {
		m.known = d.ClusterID // perhaps of an adoption that its process was told had failed
	}
	fsys := m.trace.FS(m.disk, m.dirs, false)
	if err := metaprops.Settle(fsys, set.Dirs, m.dirs[0], m.fails); err != nil {
		return err
	}
	if err := metaprops.Persist(fsys, d.Write, m.dirs[0], m.fails); err != nil {
		return err
	}
	m.remembers(d.ClusterID)
	m.set, m.applied, m.leads = d.Online, 0, 0
	m.proposals, m.active, m.failed = make(chan proposal), make(chan struct{}), make(chan error)
	m.control = controller.New(controller.Config{
		Node: m.id, ClusterID: d.ClusterID, Learn: m.learn, Legacy: m.c.legacy, ZeroName: "zero checkpoint", Trace: m.trace,
	})
	if m.id <= voters && m.c.zero != nil {
		if err := m.control.LoadBootstrap(checkpoint(m.c.zero)); err != nil {
			return err
		}
		if m.control.ClusterID() != "" {
			if err := m.c.broken("UncommittedIsNoState: a cluster id is known from the zero checkpoint alone"); err != nil {
				return err
			}
		}
	}
	m.control.Use(m)
	return nil
}

// recordStart records what a process finds and decides, as the daemon does.
func (m *member) recordStart(set metaprops.Set, d metaprops.Decision, err error) {
	f := &concern.Found{Role: concern.Broker, Legacy: m.c.legacy.Name != ""}
	if m.id <= voters {
		f.Role, f.Zero = concern.StaticVoter, m.c.zero != nil
	}
	for _, dir := range set.Dirs {
		f.Dirs = append(f.Dirs, recorder.MetaOf(dir))
	}
	e := concern.Event{Concern: concern.ClusterID, Action: "Start", Found: f, ID: &d.ClusterID}
	if err != nil {
		e.ID, e.Fatal = nil, err.Error()
	}
	m.trace.Record(e)
}

// fails records that a data directory goes offline.
func (m *member) fails(d metaprops.Dir, _ error) {
	m.trace.Record(concern.Event{Concern: concern.ClusterID, Action: "FailMeta", Dir: slices.Index(m.dirs, d.Path)})
}

// remembers records that a node uses its cluster id, or looks for it.
func (m *member) remembers(id string) {
	m.trace.Record(concern.Event{Concern: concern.ClusterID, Action: "SetMemory", ID: &id})
}

type checkpoint [][]byte

func (c checkpoint) ID() snapshot.ID { return snapshot.ID{} }

func (c checkpoint) Records(yield func([]byte) error) error {
	for _, r := range c {
		if err := yield(r); err != nil {
			return err
		}
	}
	return nil
}

// learn makes a cluster id durable, on a disk that may fail.
func (m *member) learn(id string) error {
	if committed := m.c.committedID(); committed != id {
		if err := m.c.broken("OnlyCommittedClusterId: %q is learned, and committed is %q", id, committed); err != nil {
			return err
		}
	}
	if m.c.rng.IntN(3) == 0 {
		at := 1 + m.c.rng.IntN(8)
		m.disk.Fail(func(fs.Op) fs.Fault {
			if at--; at == 0 {
				return fs.Error
			}
			return fs.None
		})
	}
	err := metaprops.Persist(m.trace.FS(m.disk, m.dirs, false), metaprops.Adopting(m.set.Dirs, id), m.dirs[0], m.fails)
	m.disk.Fail(nil)
	if err != nil {
		return errFailing
	}
	m.remembers(id)
	m.known = id
	after, err := metaprops.Read(m.disk.Crash(fs.KeepNone), m.dirs[0])
	if err != nil || after.ClusterID != id {
		return m.c.broken("ClusterIdDurable: after a crash the directory of the log has %q, %v", after.ClusterID, err)
	}
	return nil
}

var errFailing = errors.New("the disk failed")

// crash ends process and machine.
func (m *member) crash() {
	m.disk = m.disk.Crash(fs.KeepRandom(m.c.rng.Uint64()))
	m.control = nil
}

// apply gives a node what is committed up to a place, batch by batch.
func (m *member) apply(to int) error {
	for m.applied < to && m.control != nil {
		end := to
		for _, e := range m.c.batches {
			if e > m.applied {
				end = min(e, to)
				break
			}
		}
		b := node.Batch{Base: int64(m.applied), End: int64(end), Epoch: m.c.epochOf(m.applied)}
		for i, r := range m.c.log[m.applied:end] {
			b.Records = append(b.Records, node.Record{Offset: int64(m.applied + i), Value: r})
		}
		before := m.c.idWithin(m.applied)
		err := m.control.Apply(b)
		stranger := m.id == stranger+1
		switch {
		case errors.Is(err, errFailing):
			m.crash()
			return nil
		case err != nil && stranger && m.c.idWithin(end) != "":
			m.refused = true
			m.control, m.applied = nil, 0
			return nil
		case err != nil:
			return fmt.Errorf("Applicable: %w", err)
		}
		var broken error
		id := m.c.idWithin(end)
		switch {
		case stranger && before == "" && id != "":
			broken = m.c.broken("CommittedClusterId: a node of another cluster has applied the cluster id")
		case m.control.ClusterID() != id:
			broken = m.c.broken("CommittedClusterId: the state has %q, committed is %q", m.control.ClusterID(), id)
		case id != "" && m.id > voters && m.known != id:
			broken = m.c.broken("ClusterIdLearned: a node has applied a cluster id and not learned it")
		}
		if broken != nil {
			return broken
		}
		m.applied = end
	}
	return nil
}

// effective are the places of the records below one that count: not markers, and nothing
// of a transaction that is open or aborted.
func (c *cluster) effective(below int) (list []int) {
	begun := -1
	for i := range below {
		switch c.parsed[i].Type {
		case metadata.TypeBeginTransaction:
			begun = len(list)
		case metadata.TypeAbortTransaction:
			list, begun = list[:max(begun, 0)], -1
		case metadata.TypeEndTransaction:
			begun = -1
		default:
			list = append(list, i)
		}
	}
	if begun >= 0 {
		list = list[:begun]
	}
	return list
}

// append adds a batch to the log.
func (c *cluster) append(records [][]byte) {
	for _, b := range records {
		r, err := metadata.Decode(b)
		text := r.String()
		if err != nil {
			text = err.Error()
		}
		c.log, c.parsed, c.texts = append(c.log, b), append(c.parsed, r), append(c.texts, text)
	}
	c.batches, c.epochs = append(c.batches, len(c.log)), append(c.epochs, c.epoch)
}

// epochOf is the epoch of the record at a place.
func (c *cluster) epochOf(at int) int32 {
	for i, end := range c.batches {
		if at < end {
			return c.epochs[i]
		}
	}
	return 0
}

// cut takes back what is not committed.
func (c *cluster) cut() {
	c.log, c.parsed, c.texts = c.log[:c.hw], c.parsed[:c.hw], c.texts[:c.hw]
	for len(c.batches) > 0 && c.batches[len(c.batches)-1] > c.hw {
		c.batches, c.epochs = c.batches[:len(c.batches)-1], c.epochs[:len(c.batches)-1]
	}
}

func (c *cluster) idWithin(below int) (id string) {
	if c.id == "" {
		return ""
	}
	for _, i := range c.effective(below) {
		if c.parsed[i].ClusterID != "" {
			id = c.parsed[i].ClusterID
		}
	}
	return id
}

// committedID counts the batch that is being applied, which is committed.
func (c *cluster) committedID() string { return c.idWithin(c.hw) }

// bootstrapped says whether the bootstrap is committed: once, and nothing else.
func (c *cluster) bootstrapped() (bool, error) {
	var have []string
	for _, i := range c.effective(c.hw) {
		have = append(have, c.texts[i])
	}
	switch {
	case len(have) == 0:
		return false, nil
	case slices.Equal(have, c.want):
		return true, nil
	case len(have) > len(c.want):
		return true, c.broken("OneBootstrap: it is committed more than once")
	case len(have) < len(c.want):
		return true, c.broken("AllOrNothing: a part of it is committed")
	}
	return true, c.broken("BootstrapChosen: another one is committed")
}

// lead has a voter lead until it is active, or until it is lost.
func (c *cluster) lead(m *member, calm bool) error {
	if m.control != nil && m.leads > 0 {
		m.crash() // a term is one process here
	}
	if m.control == nil {
		if err := m.start(); err != nil {
			return err
		}
	}
	// What was written and not committed has survived, or is cut off.
	if keep := c.rng.IntN(2) == 0; keep {
		c.hw = len(c.log)
	} else {
		c.cut()
	}
	if _, err := c.bootstrapped(); err != nil {
		return err
	}
	if err := m.apply(c.hw); err != nil || m.control == nil {
		return err
	}
	c.epoch++
	m.leads = c.epoch
	control := m.control
	control.LeaderChange(node.Leadership{Epoch: c.epoch, Leader: core.ReplicaID(m.id), Self: true})
	asked := make(chan struct{})
	go func() { // it answers when activation has ended, and reads if it went well
		control.Handle(context.Background(), kmsg.NewPtrIncrementalAlterConfigsRequest())
		close(asked)
	}()
	for {
		select {
		case err := <-m.failed:
			<-asked
			return fmt.Errorf("Activates: %w", err)
		case <-m.active:
			<-asked
			if done, err := c.bootstrapped(); err != nil {
				return err
			} else if !done {
				// It goes on writing as it likes: the run has to end.
				return errors.New("ActiveAfterBootstrap: a controller is active, and the bootstrap is not committed")
			}
			return nil
		case <-asked: // not active
			if calm {
				return c.broken("Progress: nothing goes wrong, and the leader is not active")
			}
			return nil
		case p := <-m.proposals:
			c.append(p.records)
			if !calm && c.rng.IntN(3) == 0 { // it is deposed, with an append that may yet be committed
				p.answer <- node.ErrUnknown
				<-asked
				m.crash()
				return nil
			}
			c.hw = len(c.log)
			if err := m.apply(c.hw); err != nil || m.control == nil {
				p.answer <- node.ErrStopped
				<-asked
				return err
			}
			if _, err := c.bootstrapped(); err != nil {
				return err
			}
			p.answer <- nil
		}
	}
}

// ProposeIn implements [controller.Quorum].
func (m *member) ProposeIn(_ context.Context, _ int32, records [][]byte) (int64, error) {
	p := proposal{answer: make(chan error)}
	for _, r := range records {
		p.records = append(p.records, slices.Clone(r))
	}
	m.proposals <- p
	return 0, <-p.answer
}

// Read implements [controller.Quorum].
func (m *member) Read(context.Context) (int64, error) {
	m.active <- struct{}{}
	return 0, nil
}

// Leader implements [controller.Quorum].
func (m *member) Leader() core.ReplicaID { return core.ReplicaID(m.id) }

// Fail implements [controller.Quorum].
func (m *member) Fail(err error) { m.failed <- err }
