package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/registry"
	"github.com/quorate/quorate/impl/registry/journal"
	"github.com/quorate/quorate/impl/registry/server"
	"github.com/quorate/quorate/impl/registry/trace"
	"github.com/spf13/cobra"
)

type runFlags struct {
	dir, listen, objects, trace string
	// Of the embedded journal.
	id             int32
	voters, peers  []string
	cluster        string
	brokers        []string
	topic          string
	allowRetention bool
	every, jitter  time.Duration
	grace          time.Duration
	cpu            float64
	least          int64
	keep           int
	trim, accept   bool
	digest         bool
}

func (c *command) run() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Serve a registry until it is interrupted",
		Example: `  registry run --dir data --objects images --listen 127.0.0.1:8081 --every 1h --trim
  registry run --dir data1 --id 1 --voters 1@h1:9093,2@h2:9093,3@h3:9093 --peers 1=http://h1:8081,2=http://h2:8081,3=http://h3:8081 --objects /shared/images
  registry run --dir data --brokers kafka:9092 --topic kafkasql-journal --objects images`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return c.serve(cmd.Context(), &f) },
	}
	p := cmd.Flags()
	p.StringVar(&f.dir, "dir", "", "directory of the files of this instance (must be given)")
	p.StringVar(&f.listen, "listen", "127.0.0.1:8081", "where to serve HTTP")
	p.StringVar(&f.objects, "objects", "", "where images are: a directory that all instances share; none: no checkpoints")
	p.StringVar(&f.trace, "trace", "", "file to which events are appended")
	p.Int32Var(&f.id, "id", 1, "id of this node of the embedded journal")
	p.StringSliceVar(&f.voters, "voters", nil, "id@host:port of all nodes of the embedded journal; none: this one alone")
	p.StringSliceVar(&f.peers, "peers", nil, "id=URL of the registries of all nodes")
	p.StringVar(&f.cluster, "cluster-id", "registry", "cluster id that all nodes have")
	p.StringSliceVar(&f.brokers, "brokers", nil, "host:port of brokers of Kafka, whose topic is the journal then")
	p.StringVar(&f.topic, "topic", "kafkasql-journal", "topic of the journal; that of checkpoints has -checkpoints after it")
	p.BoolVar(&f.allowRetention, "allow-retention", false, "take a topic from which brokers delete by time or size")
	p.DurationVar(&f.every, "every", 0, "age of the newest checkpoint at which another is made; 0: none is")
	p.DurationVar(&f.jitter, "jitter", 30*time.Second, "by how much the first look is put off at random, at most")
	p.Int64Var(&f.least, "least", 1, "records that the newest checkpoint must lie back for another")
	p.IntVar(&f.keep, "keep", 2, "images that are kept, at least 2")
	p.DurationVar(&f.grace, "grace", time.Hour, "how long others are kept: longer than any restore takes")
	p.Float64Var(&f.cpu, "checkpoint-cpu", registry.DefaultCheckpointCPU, "share of one CPU that checkpoints take, more than 0; 1: all that they get")
	p.BoolVar(&f.trim, "trim", false, "trim the journal after each checkpoint, up to the oldest image that is kept")
	p.BoolVar(&f.digest, "state-digest", false, "have checkpoints say the digest of all rows")
	p.BoolVar(&f.accept, "accept-new-journal", false, "start empty if all checkpoints are of another journal")
	return cmd
}

// SpareThreads is by how much GOMAXPROCS is above the number of CPUs. A copy of the
// database computes for long without a pause. If there are no more threads than CPUs, Go
// lets others wait for up to 10 ms each time; the operating system gives a thread that
// wakes up its turn at once.
const SpareThreads = 3

func (c *command) serve(ctx context.Context, f *runFlags) error {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.NumCPU() + SpareThreads)
	}
	if f.dir == "" {
		return usageError{errors.New("--dir must be given")}
	}
	if f.keep < 2 {
		return usageError{fmt.Errorf("--keep is %d, and must be at least 2", f.keep)}
	}
	for _, d := range []struct {
		flag string
		less bool
	}{{"every", f.every < 0}, {"jitter", f.jitter < 0}, {"grace", f.grace < 0}, {"least", f.least < 0}} {
		if d.less {
			return usageError{fmt.Errorf("--%s is less than 0", d.flag)}
		}
	}
	if !(f.cpu > 0 && f.cpu <= 1) {
		return usageError{fmt.Errorf("--checkpoint-cpu is %v, and must be more than 0 and at most 1", f.cpu)}
	}
	store, err := c.store(ctx, f.objects)
	if err != nil {
		return err
	}
	j, quorum, err := f.journal(ctx)
	if err != nil {
		return err
	}
	defer j.Close()
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	cfg := registry.Config{
		Dir: filepath.Join(f.dir, "registry"), Journal: j, Objects: store, Keep: f.keep, Grace: f.grace, Every: f.every, Jitter: f.jitter,
		Least: f.least, Trim: f.trim, CheckpointCPU: f.cpu, StateDigest: f.digest, AcceptNewJournal: f.accept, Version: version(), Metrics: metrics,
	}
	if f.trace != "" {
		w, err := os.OpenFile(f.trace, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
		if err != nil {
			return err
		}
		defer w.Close()
		cfg.Trace = trace.NewRecorder(w)
	}
	l, err := net.Listen("tcp", f.listen)
	if err != nil {
		return err
	}
	r, err := registry.Start(cfg)
	if err != nil {
		l.Close()
		return err
	}
	s := &http.Server{Handler: server.New(server.Config{Registry: r, Quorum: quorum, Gatherer: metrics}), ReadHeaderTimeout: 10 * time.Second}
	serving := make(chan error, 1)
	go func() { serving <- s.Serve(l) }()
	fmt.Println("listening on", l.Addr())
	select {
	case <-ctx.Done():
	case err = <-serving:
	case <-r.Done():
	}
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if e := s.Shutdown(stop); e != nil {
		s.Close()
	}
	return errors.Join(err, r.Close(), cfg.Trace.Err())
}

// journal opens the journal; quorum is the same, if it is the embedded one.
func (f *runFlags) journal(ctx context.Context) (j journal.Journal, quorum *journal.KRaft, err error) {
	if len(f.brokers) > 0 {
		k, err := journal.OpenKafka(ctx, journal.KafkaConfig{
			Brokers: f.brokers, Topic: f.topic, Checkpoints: f.topic + "-checkpoints", Replication: -1, AllowRetention: f.allowRetention,
		})
		if err != nil {
			return nil, nil, err
		}
		return k, nil, nil
	}
	cfg := node.Config{ID: core.ReplicaID(f.id), Dir: filepath.Join(f.dir, "journal"), ClusterID: f.cluster}
	if len(f.voters) == 0 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, nil, err
		}
		cfg.Listener = l
		f.voters = []string{fmt.Sprintf("%d@%s", f.id, l.Addr())}
	}
	for _, v := range f.voters {
		id, addr, ok := strings.Cut(v, "@")
		n, err := strconv.ParseInt(id, 10, 32)
		if err != nil || !ok {
			return nil, nil, usageError{fmt.Errorf("--voters: %q is not id@host:port", v)}
		}
		cfg.Voters = append(cfg.Voters, node.Voter{ID: core.ReplicaID(n), Addr: addr})
		if int32(n) == f.id {
			cfg.Listen = addr
		}
	}
	peers := server.Peers{}
	for _, p := range f.peers {
		id, u, ok := strings.Cut(p, "=")
		n, err := strconv.ParseInt(id, 10, 32)
		if err != nil || !ok || u == "" {
			return nil, nil, usageError{fmt.Errorf("--peers: %q is not id=URL", p)}
		}
		peers[int32(n)] = strings.TrimSuffix(u, "/")
	}
	if !slices.ContainsFunc(cfg.Voters, func(v node.Voter) bool { return v.ID == cfg.ID }) {
		return nil, nil, usageError{fmt.Errorf("--voters does not name node %d, which --id says this one is", f.id)}
	}
	if len(cfg.Voters) > 1 && len(peers) < len(cfg.Voters) {
		return nil, nil, usageError{errors.New("--peers must name the registries of all voters: a write goes to the one that leads")}
	}
	quorum, err = journal.OpenKRaft(cfg, peers)
	return quorum, quorum, err
}
