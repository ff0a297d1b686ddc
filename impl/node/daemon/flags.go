package daemon

import (
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/quorate/quorate/impl/concern"
	"github.com/quorate/quorate/impl/config"
	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/metaprops"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/snapshot"
	event "github.com/quorate/quorate/traces/event/concern"
)

// options is what the command line says, with what its configuration file says.
type options struct {
	node     node.Config
	file     *config.Config  // nil: there is none
	dirs     []metaprops.Dir // log directories of file that are in use, that of the metadata log first
	metrics  string          // host:port; empty: none
	json     bool
	level    slog.Level
	warnings []string
	concerns *concern.Recorder // nil: nobody records
	found    *event.Found      // when the directories were read; nil: nobody records
}

// logs is where logs go.
func (o *options) logs(w io.Writer) slog.Handler {
	opts := &slog.HandlerOptions{Level: o.level}
	if o.json {
		return slog.NewJSONHandler(w, opts)
	}
	return slog.NewTextHandler(w, opts)
}

const help = `Usage: %s -config FILE [flags]
       %[1]s -id ID -dir DIR -voters ID@HOST:PORT,... [flags]

Runs one replica of a quorum until it is told to stop (SIGINT or SIGTERM; a leader
resigns first, a second signal stops it at once) or its storage fails.

With -config it is run as a file in Kafka's format says, from directories that
kraftd format has prepared. Otherwise flags say all, and a directory that is missing is
made; that is for tests.

  %[1]s -config node1.properties
  %[1]s -id 1 -dir d1 -voters 1@127.0.0.1:9091,2@127.0.0.1:9092,3@127.0.0.1:9093

Logs go to standard error. Exit codes: 0 told to stop, 1 the replica failed, 2 usage,
or an error in the configuration.

`

// withFile are the flags that may stand beside -config.
var withFile = []string{"config", "log-format", "log-level", "metrics"}

func parse(name string, args []string, stderr io.Writer) (*options, error) {
	var o options
	cfg := &o.node
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	file := flags.String("config", "", "configuration file, in Kafka's format and with its keys")
	id := flags.Int("id", -1, "id of the replica (node.id)")
	flags.StringVar(&cfg.Dir, "dir", "", "directory of all its files, made if it is missing")
	flags.StringVar(&cfg.Listen, "listen", "", "host:port to listen on for the quorum; empty: where the voters have this id")
	voters := flags.String("voters", "", "static voter set (controller.quorum.voters)")
	flags.StringVar(&cfg.ClusterID, "cluster-id", "", "cluster id; empty: none is stated or checked")
	directory := flags.String("directory-id", "", "directory id, 22 characters of base64url; empty: not known")
	flags.StringVar(&cfg.Trace, "trace", "", "file to append trace events to; empty: none are recorded")
	flags.StringVar(&cfg.ClientListen, "client", "", "host:port of the provisional client protocol (quorate.client.listener); empty: none")
	flags.BoolVar(&cfg.DisablePreVote, "no-pre-vote", false, "behave as before Kafka 4.0 (KIP-996 off)")
	fetch := flags.Int("fetch-version", 18, "highest version of Fetch: 17 or 18")
	election := flags.Duration("election-timeout", time.Second, "controller.quorum.election.timeout.ms")
	fetchTimeout := flags.Duration("fetch-timeout", 2*time.Second, "controller.quorum.fetch.timeout.ms")
	request := flags.Duration("request-timeout", 2*time.Second, "controller.quorum.request.timeout.ms")
	linger := flags.Duration("append-linger", 0, "controller.quorum.append.linger.ms")
	snapshots := flags.Int64("snapshot-bytes", 0, "metadata.log.max.record.bytes.between.snapshots; 0: no snapshots are taken")
	retention := flags.Int64("retention-bytes", 100<<20, "metadata.max.retention.bytes")
	flags.StringVar(&o.metrics, "metrics", "", "host:port of HTTP for metrics and health (quorate.metrics.listener); empty: none")
	format := flags.String("log-format", "text", "text or json")
	level := flags.String("log-level", "info", "debug, info, warn or error")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(stderr, help, name)
			flags.SetOutput(stderr)
			flags.PrintDefaults()
		}
		return nil, err
	}
	if flags.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	switch o.json = *format == "json"; {
	case !o.json && *format != "text":
		return nil, fmt.Errorf("-log-format %q: want text or json", *format)
	case !slices.Contains([]string{"debug", "info", "warn", "error"}, *level) || o.level.UnmarshalText([]byte(*level)) != nil:
		return nil, fmt.Errorf("-log-level %q: want debug, info, warn or error", *level)
	case o.metrics != "":
		if err := checkAddr(o.metrics, true); err != nil {
			return nil, fmt.Errorf("-metrics: %w", err)
		}
	}
	if *file != "" {
		var other string
		flags.Visit(func(f *flag.Flag) {
			if !slices.Contains(withFile, f.Name) {
				other = f.Name
			}
		})
		if other != "" {
			return nil, fmt.Errorf("-%s cannot be given beside -config: the file says it", other)
		}
		return &o, o.load(*file)
	}
	var err error
	switch {
	case *id < 0 || *id > math.MaxInt32:
		return nil, errors.New("-id (or -config) is required, and cannot be negative")
	case cfg.Dir == "":
		return nil, errors.New("-dir is required")
	case *fetch != 17 && *fetch != 18:
		return nil, fmt.Errorf("-fetch-version %d: want 17 or 18", *fetch)
	}
	if *snapshots < 0 || *retention < 1 {
		return nil, errors.New("-snapshot-bytes, -retention-bytes: out of range")
	}
	cfg.Snapshots.MaxBytes, cfg.Retention = *snapshots, snapshot.Retention{MaxBytes: *retention, MaxMs: -1}
	cfg.ID, cfg.MaxFetch = core.ReplicaID(*id), int16(*fetch)
	if cfg.Voters, err = parseVoters(*voters); err != nil {
		return nil, fmt.Errorf("-voters: %w", err)
	}
	if *directory != "" {
		b, err := base64.RawURLEncoding.Strict().DecodeString(*directory)
		if err != nil || len(b) != len(cfg.Directory) {
			return nil, fmt.Errorf("-directory-id %q: want 16 bytes in base64url", *directory)
		}
		cfg.Directory = core.DirectoryID(b)
	}
	for _, t := range []struct {
		flag string
		d    time.Duration
		to   *core.Ticks
		zero bool
	}{
		{"election-timeout", *election, &cfg.Core.ElectionTimeout, false},
		{"fetch-timeout", *fetchTimeout, &cfg.Core.FetchTimeout, false},
		{"request-timeout", *request, &cfg.Core.RequestTimeout, false},
		{"append-linger", *linger, &cfg.Core.AppendLinger, true},
	} {
		if t.d < 0 || t.d > time.Hour || !t.zero && t.d < time.Millisecond {
			return nil, fmt.Errorf("-%s %v: out of range", t.flag, t.d)
		}
		*t.to = core.Ticks(t.d.Milliseconds())
	}
	for _, addr := range []struct{ flag, value string }{{"listen", cfg.Listen}, {"client", cfg.ClientListen}} {
		if addr.value == "" {
			continue
		}
		if err := checkAddr(addr.value, true); err != nil {
			return nil, fmt.Errorf("-%s: %w", addr.flag, err)
		}
	}
	if cfg.Listen == "" {
		for _, v := range cfg.Voters {
			if v.ID == cfg.ID {
				cfg.Listen = v.Addr
			}
		}
	}
	return &o, nil
}

func parseVoters(text string) (voters []node.Voter, err error) {
	if text == "" {
		return nil, errors.New("none are given, want id@host:port,…")
	}
	for part := range strings.SplitSeq(text, ",") {
		id, addr, ok := strings.Cut(part, "@")
		n, err := strconv.ParseInt(id, 10, 32)
		if !ok || err != nil || n < 0 {
			return nil, fmt.Errorf("%q is not id@host:port", part)
		}
		if err := checkAddr(addr, false); err != nil {
			return nil, err
		}
		for _, v := range voters {
			if v.ID == core.ReplicaID(n) {
				return nil, fmt.Errorf("voter %d is given twice", n)
			}
		}
		voters = append(voters, node.Voter{ID: core.ReplicaID(n), Addr: addr})
	}
	return voters, nil
}

func checkAddr(addr string, anyPort bool) error {
	host, port, err := net.SplitHostPort(addr)
	n, err2 := strconv.ParseUint(port, 10, 16)
	if err != nil || err2 != nil || host == "" || n == 0 && !anyPort {
		return fmt.Errorf("%q is not host:port", addr)
	}
	return nil
}
