// Package daemon is the command line of a node: what kraftd start does, and what
// cmd/tracegen starts many of.
package daemon

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/quorate/quorate/impl/controller"
	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/metrics"
	"github.com/quorate/quorate/impl/node"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

// stopTimeout bounds how long a node that was told to stop may take: a leader waits a
// second for the others to take notice, and the rest is for disks.
const stopTimeout = 10 * time.Second

// Start runs a node as its flags or its configuration file say until it fails or the
// process is told to stop: by SIGINT or SIGTERM, on which a leader resigns first; a
// second one stops it at once. name is what it is called in messages. It returns an
// exit code.
func Start(name string, args []string, stdout, stderr io.Writer) int {
	o, err := parse(name, args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return exitOK
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v (see -help)\n", name, err)
		return exitUsage
	}
	all := slog.New(o.logs(stderr))
	slog.SetDefault(all)
	log := all.With("node", int(o.node.ID))
	for _, w := range o.warnings {
		log.Warn(w)
	}
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer close(hangups)
	defer signal.Stop(hangups)
	go reload(o.node.TLS, hangups, log)
	if err := o.run(log, signals, stdout); err != nil {
		fmt.Fprintf(stderr, "%s: node %d: %v\n", name, o.node.ID, err)
		return exitFailed
	}
	return exitOK
}

// run runs the node. The error is nil if it was told to stop, and did.
func (o *options) run(log *slog.Logger, signals <-chan os.Signal, stdout io.Writer) error {
	record := &recorder{cfg: &o.node}
	if o.file != nil {
		record.dir = o.file.Quorate.TraceDir
	}
	if err := record.resume(); err != nil {
		return err
	}
	if o.file != nil {
		if err := o.recordConcerns(); err != nil {
			return err
		}
		defer o.concerns.Close()
		release, err := o.claim(log)
		if err != nil {
			return err
		}
		defer release()
	}
	tracker := metrics.NewTracker(core.ReplicaKey{ID: o.node.ID, Directory: o.node.Directory}, o.node.Voters)
	o.node.Observer = &observer{tracker: tracker, log: log, zero: o.zeroDeleted(), voter: o.becomesVoter()}
	var endpoint net.Listener
	if o.metrics != "" {
		var err error
		if endpoint, err = net.Listen("tcp", o.metrics); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
		server := &http.Server{Handler: record.handler(metrics.Handler(tracker, o.stuck())), ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Second}
		go server.Serve(endpoint)
		defer server.Close()
	}
	deadline := time.Now().Add(time.Hour)
	if o.observes() {
		deadline = time.Now().Add(o.file.Quorum.Registration)
	}
	for {
		err := o.serve(log, tracker, record, endpoint, signals, stdout, deadline)
		if !errors.Is(err, node.ErrOtherLeader) {
			return err
		}
		log.Warn("begins anew", "why", err)
		if err := dropLog(o.node.Dir); err != nil {
			return err
		}
		o.leaves()
	}
}

// observes says whether this node is an observer of a quorum, as far as its configuration
// says: it may be a voter of a dynamic voter set.
func (o *options) observes() bool { return o.file != nil && !o.file.IsVoter() }

// serve runs the node once.
func (o *options) serve(log *slog.Logger, tracker *metrics.Tracker, record *recorder, endpoint net.Listener, signals <-chan os.Signal, stdout io.Writer, deadline time.Time) error {
	d := &discovery{log: log, o: o, begun: make(chan struct{})}
	// With the provisional client protocol it replicates values, else configurations.
	var configs *controller.Controller
	if o.node.ClientListen == "" {
		configs = d.controller()
		d.controllers = configs
		o.node.Machine, o.node.Service = configs, configs
	}
	o.node.Discover = o.observes() && o.node.ClusterID == ""
	n, err := node.Start(o.node)
	if err != nil {
		return err
	}
	d.node = n
	o.watch(n)
	close(d.begun)
	if configs != nil {
		configs.Use(n)
	}
	record.node.Store(n)
	tracker.Watch(n.Network)
	serves := fmt.Sprintf("node %d incarnation %d serves %s", o.node.ID, n.State().Incarnation, n.Addr())
	if addr := n.ClientAddr(); addr != nil {
		serves += fmt.Sprintf(", clients %s", addr)
	}
	if endpoint != nil {
		serves += fmt.Sprintf(", metrics %s", endpoint.Addr())
	}
	fmt.Fprintln(stdout, serves)
	log.Info("started", "incarnation", n.State().Incarnation, "dir", o.node.Dir, "listen", n.Addr().String(), "logEnd", n.State().LogEnd)
	if o.observes() {
		go func() {
			voter, err := d.letIn(deadline)
			if err == nil && !voter && configs != nil && n.ClusterID() != "" { // else it has ended
				err = d.register(deadline)
			}
			if errors.Is(err, errLate) {
				o.gaveUp(err)
			}
			if err != nil {
				n.Fail(err)
			}
		}()
	}
	select {
	case s := <-signals:
		log.Info("stops", "signal", s.String(), "role", n.State().Role.String())
		err = stop(n, signals)
	case <-n.Done():
		err = n.Err()
	}
	if err != nil {
		log.Error("stopped", "error", err)
		return fmt.Errorf("stopped: %w", err)
	}
	log.Info("stopped", "logEnd", n.State().LogEnd)
	return nil
}

// legacy is the bootstrap.checkpoint of a directory that Kafka up to 4.3 has formatted. One
// that cannot be read is no error before somebody needs it.
func (o *options) legacy() controller.Legacy {
	b, ok, err := metadata.ReadLegacy(fs.OS{}, o.node.Dir)
	if !ok && err == nil {
		return controller.Legacy{}
	}
	return controller.Legacy{Name: b.File, Records: b.Records, Err: err}
}

// stop stops a node, a leader by resigning, within a bounded time.
func stop(n *node.Node, signals <-chan os.Signal) error {
	closed := make(chan error, 1)
	go func() { closed <- n.Close() }()
	select {
	case err := <-closed:
		return err
	case s := <-signals:
		return fmt.Errorf("at once, by a second signal (%s)", s)
	case <-time.After(stopTimeout):
		return fmt.Errorf("not within %v of being told to", stopTimeout)
	}
}

// stuck is how long a step may last before the node does not count as alive. A replica
// steps at least as often as its longest timer runs out: [T, 2T) of the election, or
// that of a fetch.
func (o *options) stuck() time.Duration {
	ticks := 2*max(o.node.Core.ElectionTimeout, 1000) + max(o.node.Core.FetchTimeout, 2000)
	return 3 * time.Duration(ticks) * time.Millisecond
}

// observer hands states on to metrics, and logs what a replica becomes.
type observer struct {
	tracker *metrics.Tracker
	log     *slog.Logger
	last    node.State
	// zero looks whether the zero checkpoint is gone, voter whether the node is a voter now.
	// Nil: nobody asks.
	zero  func()
	voter func(node.State)
}

// Stepped implements [node.Observer].
func (o *observer) Stepped(began, ended time.Time, s node.State) {
	o.tracker.Stepped(began, ended, s)
	if s.Role != o.last.Role || s.Epoch != o.last.Epoch || s.Leader != o.last.Leader {
		leader := any("none")
		if s.Leader != core.NoReplica {
			leader = int(s.Leader)
		}
		o.log.Info("is "+s.Role.String(), "epoch", int(s.Epoch), "leader", leader, "logEnd", int64(s.LogEnd), "highWatermark", int64(s.HighWatermark))
	}
	if o.zero != nil && s.LogStart != o.last.LogStart {
		o.zero()
	}
	if o.voter != nil {
		o.voter(s)
	}
	o.last = s
}
