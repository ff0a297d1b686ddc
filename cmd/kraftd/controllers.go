package main

import (
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/quorate/quorate/impl/config"
	kraftformat "github.com/quorate/quorate/impl/format"
	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/metaprops"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/node/daemon"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const addHelp = `Usage: kraftd quorum add-controller -bootstrap-controller HOST:PORT,... -command-config FILE [-dry-run]

Makes a controller a voter of a dynamic quorum, as kafka-metadata-quorum does. The file is the
configuration of the new controller: it and its directories say who it is and where it listens.
The controller must run, and have caught up.

`

const removeHelp = `Usage: kraftd quorum remove-controller -bootstrap-controller HOST:PORT,... -controller-id ID -controller-directory-id UUID [-command-config FILE] [-dry-run]

Makes a voter of a dynamic quorum an observer. Stop it then: with
controller.quorum.auto.join.enable it would become a voter again.

`

// changeFlags are those that both commands have.
type changeFlags struct {
	controllers, file *string
	dry               *bool
	timeout           *time.Duration
}

func changes(flags *flag.FlagSet, file string) changeFlags {
	return changeFlags{
		controllers: flags.String("bootstrap-controller", "", "host:port of nodes of the quorum, separated by commas"),
		file:        flags.String("command-config", "", file),
		dry:         flags.Bool("dry-run", false, "say what would be done"),
		timeout:     flags.Duration("timeout", 10*time.Second, "for all of it, also to wait for a leader"),
	}
}

func addController(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("quorum add-controller", flag.ContinueOnError)
	f := changes(flags, "configuration of the new controller")
	if err := parse(flags, args, addHelp, stderr); err != nil {
		return err
	}
	switch {
	case flags.NArg() > 0:
		return usagef("unexpected argument %q", flags.Arg(0))
	case *f.controllers == "":
		return usagef("-bootstrap-controller is required")
	case *f.file == "":
		return usagef("-command-config is required")
	}
	if err := checkAddresses(*f.controllers); err != nil {
		return err
	}
	v, secure, err := newController(*f.file)
	if err != nil {
		return err
	}
	q := kmsg.NewPtrAddRaftVoterRequest()
	q.VoterID, q.VoterDirectoryID, q.TimeoutMillis = v.ID, v.Directory, int32(f.timeout.Milliseconds())
	var endpoints []string
	for _, e := range v.Endpoints {
		q.Listeners = append(q.Listeners, kmsg.AddRaftVoterRequestListener{Name: e.Name, Host: e.Host, Port: e.Port})
		endpoints = append(endpoints, fmt.Sprintf("%s://%s:%d", e.Name, e.Host, e.Port))
	}
	who := fmt.Sprintf("controller %d with directory id %s and endpoints: %s", v.ID, uuid(v.Directory), strings.Join(endpoints, ", "))
	if *f.dry {
		_, err := fmt.Fprintf(stdout, "DRY RUN of adding %s\n", who)
		return err
	}
	if err := askLeader(*f.controllers, secure, q, time.Now().Add(*f.timeout)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "Added %s\n", who)
	return err
}

// newController is the voter that a configuration and its directories describe.
func newController(file string) (v log.Voter, secure *node.TLS, err error) {
	c, err := config.Load(file)
	if err != nil {
		return v, nil, usageError{err}
	}
	if !c.Controller {
		return v, nil, fmt.Errorf("%s: process.roles has no controller", file)
	}
	m, err := metaprops.Read(fs.OS{}, c.MetadataLogDir)
	if err != nil {
		return v, nil, err
	}
	if m.Directory == (metaprops.DirectoryID{}) {
		return v, nil, fmt.Errorf("%s: the directory has no id: start the controller first", c.MetadataLogDir)
	}
	v = log.Voter{ID: c.NodeID, Directory: m.Directory}
	for _, l := range c.Advertised {
		e, err := kraftformat.ParseEndpoint(l.Name, l.Addr)
		if err != nil {
			return v, nil, fmt.Errorf("%s: the voter set says where others reach the node, and %w: advertised.listeners can say it", file, err)
		}
		v.Endpoints = append(v.Endpoints, e)
	}
	if c.ControllerListener().Protocol == config.TLS {
		secure, err = daemon.TLS(c.SSL)
	}
	return v, secure, err
}

func removeController(args []string, stdout, stderr io.Writer) error {
	flags := flag.NewFlagSet("quorum remove-controller", flag.ContinueOnError)
	f := changes(flags, "properties file that says how to connect")
	id := flags.Int("controller-id", -1, "node.id of the voter")
	directory := flags.String("controller-directory-id", "", "directory.id of the voter")
	if err := parse(flags, args, removeHelp, stderr); err != nil {
		return err
	}
	given := false
	flags.Visit(func(g *flag.Flag) { given = given || g.Name == "controller-id" })
	key, err := base64.RawURLEncoding.DecodeString(*directory)
	switch {
	case flags.NArg() > 0:
		return usagef("unexpected argument %q", flags.Arg(0))
	case *f.controllers == "":
		return usagef("-bootstrap-controller is required")
	case !given:
		return usagef("-controller-id is required")
	case *id < 0 || *id > math.MaxInt32:
		return usagef("-controller-id %d: want a number from 0 to %d", *id, math.MaxInt32)
	case err != nil || len(key) != 16:
		return usagef("-controller-directory-id %q is no id of a directory", *directory)
	}
	if err := checkAddresses(*f.controllers); err != nil {
		return err
	}
	secure, err := connectBy(*f.file)
	if err != nil {
		return err
	}
	q := kmsg.NewPtrRemoveRaftVoterRequest()
	q.VoterID, q.VoterDirectoryID = int32(*id), [16]byte(key)
	who := fmt.Sprintf("KRaft controller %d with directory id %s", *id, *directory)
	if *f.dry {
		_, err := fmt.Fprintf(stdout, "DRY RUN of removing %s\n", who)
		return err
	}
	if err := askLeader(*f.controllers, secure, q, time.Now().Add(*f.timeout)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "Removed %s\n", who)
	return err
}

// askLeader finds the leader and has it change the voter set. While another node becomes
// leader it looks for that.
func askLeader(controllers string, secure *node.TLS, q kmsg.Request, deadline time.Time) error {
	for {
		err := askOnce(controllers, secure, q, deadline)
		if !errors.Is(err, errNotLeader) || time.Until(deadline) < retryAfter {
			return err
		}
		time.Sleep(retryAfter)
	}
}

func askOnce(controllers string, secure *node.TLS, q kmsg.Request, deadline time.Time) error {
	d, err := describeQuorum(strings.Split(controllers, ","), secure, deadline)
	if err != nil {
		return err
	}
	addr := d.by
	c, err := dial(addr, secure, deadline)
	if err != nil {
		return fmt.Errorf("%s %w", addr, err)
	}
	defer c.Close()
	if c.serves(kmsg.Key(q.Key())) < 0 {
		return fmt.Errorf("%s does not serve %s", addr, kmsg.NameForKey(q.Key()))
	}
	resp, err := c.do(q, q.MaxVersion())
	if err != nil {
		return fmt.Errorf("%s %w", addr, err)
	}
	var code int16
	var message *string
	switch r := resp.(type) {
	case *kmsg.AddRaftVoterResponse:
		code, message = r.ErrorCode, r.ErrorMessage
	case *kmsg.RemoveRaftVoterResponse:
		code, message = r.ErrorCode, r.ErrorMessage
	}
	switch {
	case code == 0:
		return nil
	case code == 6: // NOT_LEADER_OR_FOLLOWER
		return fmt.Errorf("%s %w", addr, errNotLeader)
	}
	return fmt.Errorf("%s %w", addr, refusal(code, message))
}
