// Command configs sets and reads configurations of topics with kadm, the admin client of
// franz-go, at whichever node of a quorum leads. It serves the demo (quickstart.sh), and
// shows how a Go program administers kraftd.
//
//	configs -bootstrap 127.0.0.1:9091,127.0.0.1:9092 set TOPIC NAME VALUE
//	configs -bootstrap … fill TOPIC N     as many changes, one after the other
//	configs -bootstrap … get TOPIC
//	configs free N                        N free ports of loopback
//
// It exits with 0 if that was done, 1 if not, 2 for a usage error.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	bootstrap := flag.String("bootstrap", "", "addresses of the nodes, comma-separated")
	timeout := flag.Duration("timeout", 30*time.Second, "how long to look for a leader")
	flag.Parse()
	err := run(*bootstrap, *timeout, flag.Args())
	if errors.Is(err, errUsage) {
		fmt.Fprintln(os.Stderr, "usage: configs [flags] set TOPIC NAME VALUE | fill TOPIC N | get TOPIC | free N")
		os.Exit(2)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "configs:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage")

func run(bootstrap string, timeout time.Duration, args []string) error {
	if len(args) == 2 && args[0] == "free" {
		return free(args[1])
	}
	if bootstrap == "" || len(args) < 2 {
		return errUsage
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(strings.Split(bootstrap, ",")...), kgo.RetryTimeout(time.Second))
	if err != nil {
		return err
	}
	defer cl.Close()
	adm := kadm.NewClient(cl)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	switch topic := args[1]; {
	case args[0] == "set" && len(args) == 4:
		return set(ctx, adm, topic, args[2], args[3])
	case args[0] == "fill" && len(args) == 3:
		n, err := strconv.Atoi(args[2])
		if err != nil || n < 1 {
			return errUsage
		}
		for i := range n {
			if err := set(ctx, adm, topic, "segment.ms", strconv.Itoa(1000+i)); err != nil {
				return fmt.Errorf("change %d of %d: %w", i+1, n, err)
			}
		}
		return nil
	case args[0] == "get" && len(args) == 2:
		return get(ctx, adm, topic)
	}
	return errUsage
}

// set sets a configuration.
func set(ctx context.Context, adm *kadm.Client, topic, name, value string) error {
	return atLeader(ctx, func() error {
		rs, err := adm.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: name, Value: &value}}, topic)
		if err != nil {
			return err
		}
		return rs[0].Err
	})
}

// get prints the configurations of a topic.
func get(ctx context.Context, adm *kadm.Client, topic string) error {
	return atLeader(ctx, func() error {
		rs, err := adm.DescribeTopicConfigs(ctx, topic)
		if err != nil {
			return err
		}
		if rs[0].Err != nil {
			return rs[0].Err
		}
		for _, c := range rs[0].Configs {
			fmt.Printf("%s %s=%s\n", topic, c.Key, c.MaybeValue())
		}
		return nil
	})
}

// atLeader does something until it was the leader that was asked: kadm asks any node for
// configurations of topics, and only the leader answers. What is set twice is set once.
func atLeader(ctx context.Context, do func() error) error {
	for {
		err := do()
		if err == nil || errors.Is(err, kerr.InvalidConfig) || errors.Is(err, kerr.InvalidRequest) || errors.Is(err, kerr.InvalidTopicException) {
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// free prints ports of loopback that are free now.
func free(count string) error {
	n, err := strconv.Atoi(count)
	if err != nil || n < 1 || n > 100 {
		return errUsage
	}
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return err
		}
		defer l.Close() // all at the end, so that they differ
		fmt.Println(l.Addr().(*net.TCPAddr).Port)
	}
	return nil
}
