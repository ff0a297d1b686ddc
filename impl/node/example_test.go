package node_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node"
)

// words is a state machine: the words that were said.
type words struct{ said []string }

func (w *words) Apply(b node.Batch) error {
	for _, r := range b.Records {
		w.said = append(w.said, string(r.Value))
	}
	return nil
}

func (w *words) Snapshot() (func(node.SnapshotWriter) error, error) {
	cut := w.said[:len(w.said):len(w.said)] // what is in it never changes
	return func(to node.SnapshotWriter) error {
		for _, word := range cut {
			if err := to.Append([][]byte{[]byte(word)}); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

func (w *words) Load(r node.SnapshotReader) error {
	var said []string
	if err := r.Records(func(b []byte) error { said = append(said, string(b)); return nil }); err != nil {
		return err
	}
	w.said = said
	return nil
}

func (w *words) LeaderChange(l node.Leadership) {
	if l.Self {
		fmt.Println("leads epoch", l.Epoch)
	}
}

// A quorum of one replicates a state machine: records go in by Propose, and Read says when
// what is read from the machine is as new as it can be.
func Example() {
	slog.SetLogLoggerLevel(slog.LevelError)
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	w := new(words)
	n, err := node.Start(node.Config{
		ID: 1, Dir: dir, Voters: []node.Voter{{ID: 1, Addr: "127.0.0.1:9091"}}, Listen: "127.0.0.1:0", Machine: w,
		Core: core.Config{ElectionTimeout: 10},
	})
	if err != nil {
		panic(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	var offset int64
	for { // until it leads
		offset, _, err = n.Propose(ctx, [][]byte{[]byte("hello"), []byte("world")})
		if !errors.Is(err, node.ErrNotLeader) {
			break
		}
		time.Sleep(time.Millisecond)
	}
	fmt.Println("committed at", offset, err)
	if _, err := n.Read(ctx); err == nil {
		fmt.Println(strings.Join(w.said, " "))
	}
	fmt.Println(n.Close())
	_, err = n.Read(ctx)
	fmt.Println(err)
	// Output:
	// leads epoch 1
	// committed at 1 <nil>
	// hello world
	// <nil>
	// node is stopped
}

// What an error says of an append.
func ExampleOpError() {
	err := error(&node.OpError{Code: core.NotLeaderOrFollower, Leader: 2})
	var failed *node.OpError
	if errors.Is(err, node.ErrNotLeader) && !errors.Is(err, node.ErrUnknown) && errors.As(err, &failed) {
		fmt.Println("nothing has happened; ask node", failed.Leader)
	}
	// Output:
	// nothing has happened; ask node 2
}
