package main

import (
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/quorate/quorate/impl/config"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/node/daemon"
	"github.com/twmb/franz-go/pkg/kmsg"
)

const quorumHelp = `Usage: kraftd quorum describe (-status | -replication [-human-readable]) -bootstrap-controller HOST:PORT,... [-command-config FILE]
       kraftd quorum add-controller -bootstrap-controller HOST:PORT,... -command-config FILE
       kraftd quorum remove-controller -bootstrap-controller HOST:PORT,... -controller-id ID -controller-directory-id UUID

describe prints, add-controller and remove-controller change the voters; each has a -help of
its own, and what follows is that of describe.

Prints what the leader of a quorum knows, as kafka-metadata-quorum does. Any node may be
named: the leader is found through it. The file is one for Kafka's tools: security.protocol is
PLAINTEXT or SSL, and with that ssl.keystore.*, ssl.truststore.* and so on count (PEM only).

`

// errNotLeader says that a node is not the one that knows.
var errNotLeader = errors.New("is not the leader")

func quorum(args []string, stdout, stderr io.Writer) error {
	if len(args) > 0 {
		switch args[0] {
		case "add-controller":
			return addController(args[1:], stdout, stderr)
		case "remove-controller":
			return removeController(args[1:], stdout, stderr)
		}
	}
	flags := flag.NewFlagSet("quorum describe", flag.ContinueOnError)
	controllers := flags.String("bootstrap-controller", "", "host:port of nodes of the quorum, separated by commas")
	status := flags.Bool("status", false, "a summary")
	replication := flags.Bool("replication", false, "a line for each replica")
	file := flags.String("command-config", "", "properties file that says how to connect")
	human := flags.Bool("human-readable", false, "times as how long ago")
	timeout := flags.Duration("timeout", 10*time.Second, "for all of it, also to wait for nodes that start and for a leader")
	// As Kafka's tool, the flags of which may stand before the word too.
	words := slices.DeleteFunc(slices.Clone(args), func(s string) bool { return s == "describe" })
	if err := parse(flags, words, quorumHelp, stderr); err != nil {
		return err
	}
	switch {
	case len(words) == len(args):
		return usagef(`want "quorum describe", "quorum add-controller" or "quorum remove-controller"`)
	case flags.NArg() > 0:
		return usagef("unexpected argument %q", flags.Arg(0))
	case *status == *replication:
		return usagef("want one of -status and -replication")
	case *human && !*replication:
		return usagef("-human-readable is only for -replication")
	case *controllers == "":
		return usagef("-bootstrap-controller is required")
	}
	if err := checkAddresses(*controllers); err != nil {
		return err
	}
	secure, err := connectBy(*file)
	if err != nil {
		return err
	}
	q, err := describeQuorum(strings.Split(*controllers, ","), secure, time.Now().Add(*timeout))
	if err != nil {
		return err
	}
	if *status {
		return q.printStatus(stdout)
	}
	return q.printReplication(stdout, *human, time.Now())
}

// checkAddresses refuses a list that has what is no address.
func checkAddresses(list string) error {
	for addr := range strings.SplitSeq(list, ",") {
		host, port, err := net.SplitHostPort(strings.TrimSpace(addr))
		if n, err2 := strconv.ParseUint(port, 10, 16); err != nil || err2 != nil || host == "" || n == 0 {
			return usagef("-bootstrap-controller %s: %q is not host:port", list, addr)
		}
	}
	return nil
}

// connectBy reads how to connect from a file, if there is one. Nil: without TLS.
func connectBy(file string) (*node.TLS, error) {
	if file == "" {
		return nil, nil
	}
	c, err := config.LoadClient(file)
	if err != nil || c.Protocol == config.Plaintext {
		return nil, err
	}
	return daemon.TLS(c.SSL)
}

// description is what the leader says.
type description struct {
	clusterID string // "unknown" if it does not say
	by        string // the address of who says it
	kmsg.DescribeQuorumResponseTopicPartition
	nodes []kmsg.DescribeQuorumResponseNode
}

// describeQuorum asks nodes until one is the leader: those that are given, and those
// that they name. While a quorum has none it waits for one, and so it does while nobody
// listens at any of the addresses: nodes that were started just now do not yet.
func describeQuorum(addrs []string, secure *node.TLS, deadline time.Time) (*description, error) {
	for began := time.Now(); ; {
		q, again, err := describeOnce(slices.Clone(addrs), secure, deadline)
		if errors.Is(err, errNotLeader) && time.Until(deadline) < retryAfter {
			return nil, fmt.Errorf("no leader is found within %v: %w", time.Since(began).Round(time.Second), err)
		}
		if err == nil || !again || time.Until(deadline) < retryAfter {
			return q, err
		}
		time.Sleep(retryAfter)
	}
}

const retryAfter = 100 * time.Millisecond

// describeOnce asks each node once. again: what failed may pass.
func describeOnce(addrs []string, secure *node.TLS, deadline time.Time) (q *description, again bool, err error) {
	var errs []error
	refused := 0
	for i := 0; i < len(addrs); i++ {
		addr := strings.TrimSpace(addrs[i])
		q, others, err := describeBy(addr, secure, deadline)
		if err == nil {
			return q, false, nil
		}
		if errors.Is(err, syscall.ECONNREFUSED) {
			refused++
		}
		errs = append(errs, fmt.Errorf("%s %w", addr, err))
		for _, other := range others {
			if !slices.Contains(addrs, other) {
				addrs = append(addrs, other)
			}
		}
	}
	err = errors.Join(errs...)
	return nil, refused == len(errs) || errors.Is(err, errNotLeader), err
}

// describeBy asks one node. If it is not the leader, others are the addresses of the
// quorum, if it tells them.
func describeBy(addr string, secure *node.TLS, deadline time.Time) (q *description, others []string, err error) {
	c, err := dial(addr, secure, deadline)
	if err != nil {
		return nil, nil, err
	}
	defer c.Close()
	cluster, others := "unknown", []string(nil)
	if c.serves(kmsg.DescribeCluster) >= 1 {
		req := kmsg.NewPtrDescribeClusterRequest()
		req.EndpointType = 2 // controllers
		resp, err := c.do(req, 1)
		if err != nil {
			return nil, nil, err
		}
		if r := resp.(*kmsg.DescribeClusterResponse); r.ErrorCode == 0 {
			cluster = r.ClusterID
			for _, b := range r.Brokers {
				others = append(others, fmt.Sprintf("%s:%d", b.Host, b.Port))
			}
		}
	}
	if c.serves(kmsg.DescribeQuorum) < 0 {
		return nil, nil, errors.New("does not serve DescribeQuorum")
	}
	req := kmsg.NewPtrDescribeQuorumRequest()
	req.Topics = []kmsg.DescribeQuorumRequestTopic{{
		Topic: "__cluster_metadata", Partitions: []kmsg.DescribeQuorumRequestTopicPartition{{Partition: 0}},
	}}
	resp, err := c.do(req, 2)
	if err != nil {
		return nil, nil, err
	}
	r := resp.(*kmsg.DescribeQuorumResponse)
	if r.ErrorCode != 0 {
		return nil, nil, refusal(r.ErrorCode, r.ErrorMessage)
	}
	if len(r.Topics) != 1 || len(r.Topics[0].Partitions) != 1 {
		return nil, nil, fmt.Errorf("answers about %d topics", len(r.Topics))
	}
	for _, n := range r.Nodes {
		for _, l := range n.Listeners {
			others = append(others, fmt.Sprintf("%s:%d", l.Host, l.Port))
		}
	}
	p := r.Topics[0].Partitions[0]
	if p.ErrorCode == 6 { // NOT_LEADER_OR_FOLLOWER
		return nil, others, errNotLeader
	}
	if p.ErrorCode != 0 {
		return nil, nil, refusal(p.ErrorCode, p.ErrorMessage)
	}
	q = &description{cluster, addr, p, r.Nodes}
	if q.leader() == nil {
		return nil, nil, fmt.Errorf("names leader %d, which is neither among the voters nor among the observers", p.LeaderID)
	}
	return q, nil, nil
}

func refusal(code int16, message *string) error {
	if message == nil {
		return fmt.Errorf("answers with error %d", code)
	}
	return fmt.Errorf("answers with error %d: %s", code, *message)
}

type replica = kmsg.DescribeQuorumResponseTopicPartitionReplicaState

func (q *description) leader() *replica {
	for i := range q.CurrentVoters {
		if v := &q.CurrentVoters[i]; v.ReplicaID == q.LeaderID {
			return v
		}
	}
	for i := range q.Observers { // it has removed itself
		if o := &q.Observers[i]; o.ReplicaID == q.LeaderID {
			return o
		}
	}
	return nil
}

func (q *description) printStatus(w io.Writer) error {
	leader := q.leader()
	last := leader // the voter that is behind most
	for i := range q.CurrentVoters {
		if v := &q.CurrentVoters[i]; v.LogEndOffset < last.LogEndOffset {
			last = v
		}
	}
	lagTime := int64(-1)
	switch {
	case last == leader:
		lagTime = 0
	case leader.LastCaughtUpTimestamp >= 0 && last.LastCaughtUpTimestamp >= 0:
		lagTime = leader.LastCaughtUpTimestamp - last.LastCaughtUpTimestamp
	}
	_, err := fmt.Fprintf(w, `ClusterId:              %s
LeaderId:               %d
LeaderEpoch:            %d
HighWatermark:          %d
MaxFollowerLag:         %d
MaxFollowerLagTimeMs:   %d
CurrentVoters:          %s
CurrentObservers:       %s
`, q.clusterID, q.LeaderID, q.LeaderEpoch, q.HighWatermark, leader.LogEndOffset-last.LogEndOffset, lagTime,
		q.members(q.CurrentVoters), q.members(q.Observers))
	return err
}

// members are replicas as Kafka's tool prints them, which is nearly JSON.
func (q *description) members(all []replica) string {
	var texts []string
	for _, r := range all {
		s := fmt.Sprintf(`{"id": %d`, r.ReplicaID)
		if r.ReplicaDirectoryID != [16]byte{} {
			s += fmt.Sprintf(`, "directoryId": "%s"`, uuid(r.ReplicaDirectoryID))
		}
		var endpoints []string
		for _, n := range q.nodes {
			for _, l := range n.Listeners {
				if n.NodeID == r.ReplicaID {
					endpoints = append(endpoints, fmt.Sprintf(`"%s://%s:%d"`, l.Name, l.Host, l.Port))
				}
			}
		}
		if len(endpoints) > 0 {
			s += `, "endpoints": [` + strings.Join(endpoints, ", ") + "]"
		}
		texts = append(texts, s+"}")
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

func (q *description) printReplication(w io.Writer, human bool, now time.Time) error {
	leader := q.leader()
	rows := [][]string{{"NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status"}}
	at := func(ms int64) string {
		if ms < 0 || !human {
			return strconv.FormatInt(ms, 10)
		}
		return fmt.Sprintf("%d ms ago", max(0, now.UnixMilli()-ms))
	}
	add := func(r *replica, status string) {
		rows = append(rows, []string{
			strconv.Itoa(int(r.ReplicaID)), uuid(r.ReplicaDirectoryID), strconv.FormatInt(r.LogEndOffset, 10),
			strconv.FormatInt(leader.LogEndOffset-r.LogEndOffset, 10), at(r.LastFetchTimestamp), at(r.LastCaughtUpTimestamp), status,
		})
	}
	add(leader, "Leader")
	for i := range q.CurrentVoters {
		if v := &q.CurrentVoters[i]; v != leader {
			add(v, "Follower")
		}
	}
	for i := range q.Observers {
		if o := &q.Observers[i]; o != leader {
			add(o, "Observer")
		}
	}
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			fmt.Fprintf(&line, "%-*s\t", widths[i], cell)
		}
		if _, err := fmt.Fprintln(w, line.String()); err != nil {
			return err
		}
	}
	return nil
}

// uuid is an id as Kafka prints it, also one that is zero.
func uuid(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }
