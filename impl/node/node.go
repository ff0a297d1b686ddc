package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/driver"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/wire"
	"github.com/quorate/quorate/traces/event"
)

const (
	// queued bounds the inputs that wait for the loop, and the clients' operations.
	queued = 1024
	// closeTimeout bounds how long a leader that closes waits for others to take
	// notice.
	closeTimeout = time.Second
)

// Node is a replica that runs.
type Node struct {
	cfg         Config
	coreCfg     core.Config
	codec       *wire.Codec
	incarnation int32
	listener    net.Listener
	clients     net.Listener // nil: none

	inputs    chan input
	ops       chan *clientOp
	asks      chan func()   // what somebody wants to know of the replica
	clean     chan struct{} // the log start may have to move; room for one
	resign    chan struct{}
	ctx       context.Context // ends when the node stops
	cancel    context.CancelFunc
	wg        sync.WaitGroup // all goroutines but the loop
	ended     chan struct{}  // closed after the loop
	done      chan struct{}  // closed after the last goroutine
	accepted  atomic.Uint64
	state     atomic.Pointer[State]
	fsys      fs.FS
	applier   *applier
	values    *Values // the machine, if the configuration has none
	closeOnce sync.Once
	// inconsistent: a peer is of another cluster.
	inconsistent atomic.Bool
	net          network
	book         book

	mu    sync.Mutex
	conns map[net.Conn]struct{} // guarded by mu
	err   error                 // why the node stopped; guarded by mu

	flushMu   sync.Mutex
	flushID   core.FlushID // 0: none is asked for; guarded by flushMu
	flushEnd  core.Offset  // guarded by flushMu
	flushWake chan struct{}

	// Owned by the loop.
	start      time.Time
	began      time.Time // of the step in progress, if there is an Observer
	replica    *core.Replica
	driver     *driver.Driver
	trace      *event.Writer // nil: none
	pending    *pending      // nil: no trace
	optional   bool          // the node goes on if the trace cannot be written
	tracing    tracing
	steps      int64 // as the driver counts them
	unlock     func()
	effects    core.Effects
	peers      map[core.ReplicaID]*outConn
	opened     int64
	inbound    map[core.ConnID]*inConn
	waiting    map[core.ClientID][]*clientOp
	client     core.ClientID
	sends      []send
	results    []finished
	voterSet   *core.VoterSet  // in force, as others have been told
	saidChange atomic.Int64    // when a refused change of it was logged last, in nanoseconds since 1970
	followed   *core.ReplicaID // the leader so far, of a node without a cluster id
	resigned   bool
	deadline   time.Time // of a close in progress
}

// input is an input of the core with what the loop must know besides.
type input struct {
	core.Input
	link     driver.Link
	from     *outConn // InputResponse, InputRequestFailed
	broken   bool     // from is of no more use
	accepted *inConn  // InputRequest
	header   wire.Header
}

// send is what is kept back until the events of the step are written.
type send struct {
	to      *outConn
	request outRequest
	back    *inConn
	frame   *frame
}

// State is what can be seen of a node from outside.
type State struct {
	core.State
	ID          core.ReplicaID
	Incarnation int32
	// Applied is the offset up to which the state machine has applied what is committed.
	Applied int64
	// VoterSet is the voter set in force, committed or not. It is not to be changed.
	VoterSet *core.VoterSet
}

// Start starts a replica. It returns when the replica serves, which does not mean
// that there is a leader.
func Start(cfg Config) (*Node, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	cfg.defaults()
	n := &Node{
		cfg: cfg, codec: cfg.codec(), start: time.Now(),
		inputs: make(chan input, queued), ops: make(chan *clientOp, queued), asks: make(chan func()), clean: make(chan struct{}, 1), resign: make(chan struct{}),
		ended: make(chan struct{}), done: make(chan struct{}), conns: map[net.Conn]struct{}{}, flushWake: make(chan struct{}, 1),
		peers: map[core.ReplicaID]*outConn{}, inbound: map[core.ConnID]*inConn{}, waiting: map[core.ClientID][]*clientOp{},
		unlock: func() {}, listener: cfg.Listener,
	}
	n.effects.Reuse = true // an event is encoded within its step
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.net.init(&n.cfg)
	n.codec.Told = func(id core.ReplicaID, e wire.Endpoint) { n.book.told(id, hostPort(e.Host, e.Port)) }
	if cfg.Machine == nil {
		n.values = new(Values)
		n.cfg.Machine = n.values
	}
	n.applier = newApplier(n, n.cfg.Machine)
	if err := n.open(); err != nil {
		n.release()
		return nil, err
	}
	n.useVoters()
	n.publish()
	n.wg.Go(n.flusher)
	n.wg.Go(n.applier.run)
	n.wg.Go(n.cleaner)
	n.wg.Go(n.joiner)
	for i, addr := range n.cfg.Bootstrap {
		n.wg.Go(func() { n.bootstrap(addr, i) })
	}
	n.wg.Go(func() { n.accept(n.listener, 0, n.serveReplica) })
	if n.clients != nil {
		n.wg.Go(func() { n.accept(n.clients, 1024, n.serveClient) })
	}
	go n.run()
	return n, nil
}

// open opens files and listeners and makes the core, with the effects of its start.
func (n *Node) open() (err error) {
	fsys, unlock, err := openDir(n.cfg.FS, n.cfg.Dir)
	if err != nil {
		return err
	}
	n.unlock, n.fsys = unlock, fsys
	var last event.Event
	var found bool
	if n.cfg.Trace != "" {
		if last, found, err = event.Last(n.cfg.Trace); err != nil {
			if err = n.without(err); err != nil {
				return err
			}
		}
	}
	if n.incarnation, err = nextIncarnation(fsys, n.cfg.Dir, last.Inc); err != nil {
		return err
	}
	if found && last.Inc == n.incarnation-1 {
		if err := untold(fsys, n.logDir(), &last); err != nil {
			return err
		}
	}
	n.coreCfg = n.cfg.core(n.incarnation)
	n.driver, err = driver.Open(fsys, n.logDir(), driver.Config{
		Core: n.coreCfg, Log: n.cfg.Log, QuorumState: n.cfg.quorumState(), Incarnation: n.incarnation,
	})
	if err != nil {
		return err
	}
	if cut := n.driver.Recovered(); cut.CutBytes > 0 {
		slog.Warn("cut a torn tail off the log", "node", n.cfg.ID, "file", cut.File, "byte", cut.Pos, "bytes", cut.CutBytes, "end", cut.End, "reason", cut.Reason)
	}
	if n.cfg.Trace != "" {
		if found {
			err = completeTrace(n.cfg.Trace, n.cfg.Dir, &last, n.driver)
		}
		if err == nil {
			err = n.openTrace()
		}
		if err != nil {
			if err = n.without(err); err != nil {
				return err
			}
		}
	}
	if n.listener == nil {
		addr := n.cfg.Listen
		if addr == "" {
			addr = "127.0.0.1:0"
		}
		if n.listener, err = net.Listen("tcp", addr); err != nil {
			return err
		}
	}
	if n.cfg.ClientListen != "" {
		if n.clients, err = net.Listen("tcp", n.cfg.ClientListen); err != nil {
			return err
		}
	}
	if n.coreCfg.Directory != (core.DirectoryID{}) {
		own, err := n.ownVoter()
		if err != nil {
			return err
		}
		n.coreCfg.Info = driver.Info(own)
	}
	return n.guarded(func() error {
		if n.replica, err = core.New(n.coreCfg, n.driver.Disk(), n.now(), &n.effects); err != nil {
			return fmt.Errorf("%s: %w", n.cfg.Dir, err)
		}
		return nil
	})
}

func (n *Node) openTrace() (err error) {
	if n.trace, err = event.OpenAppend(n.cfg.Trace, n.self()); err != nil {
		return err
	}
	n.tracing.begin(n.cfg.Trace)
	if have := n.trace.LastIncarnation(); have >= n.incarnation {
		return fmt.Errorf("%s: is of incarnation %d, and this is incarnation %d", n.cfg.Trace, have, n.incarnation)
	}
	if n.cfg.FS == nil { // else a crash is not of this process
		if n.pending, err = openPending(n.cfg.Dir); err != nil {
			return err
		}
	}
	disk := n.driver.Disk()
	n.coreCfg.Attach = !n.trace.Begun() && (n.incarnation > 1 || disk.HasElection || disk.LogEnd > 0)
	n.optional = n.cfg.TraceOptional
	return nil
}

// without goes on without a trace that cannot be written, if the node may.
func (n *Node) without(err error) error {
	if !n.cfg.TraceOptional {
		return err
	}
	slog.Error("records no trace: it cannot be continued", "node", n.cfg.ID, "file", n.cfg.Trace, "error", err)
	if n.trace != nil {
		n.trace.Close()
	}
	n.cfg.Trace, n.trace, n.pending, n.coreCfg.Trace = "", nil, nil, false
	n.tracing.path.Store(nil)
	return nil
}

// self names the node in its trace.
func (n *Node) self() event.Node {
	return event.Node{ID: int32(n.cfg.ID), Dir: n.cfg.Directory.String()}
}

// now is the time on the clock of the core.
func (n *Node) now() core.Ticks { return core.Ticks(time.Since(n.start) / time.Millisecond) }

// Addr is the address of the quorum's listener.
func (n *Node) Addr() net.Addr { return n.listener.Addr() }

// ClientAddr is the address of the listener of clients, nil if there is none.
func (n *Node) ClientAddr() net.Addr {
	if n.clients == nil {
		return nil
	}
	return n.clients.Addr()
}

// State is what the node was after its last step.
func (n *Node) State() State {
	applied := max(0, n.applier.applied.Load())
	s := *n.state.Load()
	s.Applied = applied
	return s
}

// Leader is the leader that the node knows, NoReplica if none.
func (n *Node) Leader() core.ReplicaID { return n.state.Load().Leader }

// Values returns committed values from an offset on, some of them if there are many,
// of a node that was given no state machine. The caller must not change them.
func (n *Node) Values(from int64) []Value {
	if n.values == nil {
		return nil
	}
	return n.values.from(from, 0, applyBytes)
}

// Done is closed when the node has stopped, for whatever reason.
func (n *Node) Done() <-chan struct{} { return n.done }

// Err says why the node stopped, nil if it was told to.
func (n *Node) Err() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if errors.Is(n.err, ErrStopped) {
		return nil
	}
	return n.err
}

// Close stops the node. A leader resigns first and tells the others, for at most a
// second.
func (n *Node) Close() error {
	n.closeOnce.Do(func() { close(n.resign) })
	<-n.done
	return n.Err()
}

// Kill stops the node as a crash of its process would: nothing is flushed and nobody
// is told.
func (n *Node) Kill() {
	n.fail(ErrStopped)
	<-n.done
}

// LearnClusterID tells a node that was started without a cluster id which it is. From now
// on its requests have it, on all connections. It must be durable before (KIP-1262).
func (n *Node) LearnClusterID(id string) { n.codec.LearnClusterID(id) }

// ClusterID is the cluster id that the node knows, empty if none.
func (n *Node) ClusterID() string { return n.codec.Cluster() }

// Inconsistent says whether a peer has refused a request as one of another cluster. That
// ends no node by itself: a voter must not end because somebody has configured a peer of
// it wrongly.
func (n *Node) Inconsistent() bool { return n.inconsistent.Load() }

// Fail stops the node, as a storage that fails does: for a machine that finds that it
// cannot go on, at another time than when it is called. The first reason counts.
func (n *Node) Fail(err error) { n.fail(err) }

// fail stops the node for a reason. The first counts.
func (n *Node) fail(err error) {
	n.mu.Lock()
	if n.err == nil {
		n.err = err
	}
	n.mu.Unlock()
	n.cancel()
}

// give hands an input to the loop. False: the node stops.
func (n *Node) give(in input) bool {
	select {
	case n.inputs <- in:
		return true
	case <-n.ctx.Done():
		return false
	}
}

// track lists an accepted connection, to be closed when the node stops; false if it
// does already.
func (n *Node) track(c net.Conn) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.ctx.Err() != nil {
		return false
	}
	n.conns[c] = struct{}{}
	return true
}

func (n *Node) untrack(c net.Conn) {
	n.mu.Lock()
	delete(n.conns, c)
	n.mu.Unlock()
}

// flusher makes the log durable in the background. What is asked for while it works
// is done by one flush.
func (n *Node) flusher() {
	for {
		select {
		case <-n.flushWake:
		case <-n.ctx.Done():
			return
		}
		n.flushMu.Lock()
		id, end := n.flushID, n.flushEnd
		n.flushID = 0
		n.flushMu.Unlock()
		if id == 0 {
			continue
		}
		if err := n.driver.Flush(); err != nil {
			n.fail(fmt.Errorf("flush the log: %w", err))
			return
		}
		in := input{}
		in.Kind, in.Flush, in.End = core.InputFlushed, id, end
		if !n.give(in) {
			return
		}
	}
}

// release gives back what open took. The loop and all other goroutines have ended.
func (n *Node) release() {
	n.cancel()
	if n.driver != nil {
		if !n.resigned || n.Err() != nil {
			n.driver.Abandon()
		} else if err := n.driver.Close(); err != nil {
			n.mu.Lock()
			n.err = fmt.Errorf("close the log: %w", err)
			n.mu.Unlock()
		}
	}
	if n.trace != nil {
		n.trace.Close()
	}
	if n.pending != nil {
		n.pending.close(n.Err() == nil)
	}
	for _, l := range []net.Listener{n.listener, n.clients} {
		if l != nil {
			l.Close()
		}
	}
	n.unlock()
}
