// Command counter counts, on three nodes in one process: the smallest state machine that
// impl/node can replicate. It adds, kills the leader, adds again, and prints what every
// node has in the end.
package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/quorate/quorate/impl/core"
	"github.com/quorate/quorate/impl/node"
)

// counter is the state machine: each record is a number to add.
type counter struct{ value atomic.Int64 }

// Apply implements [node.Machine].
func (c *counter) Apply(b node.Batch) error {
	for _, r := range b.Records {
		n, used := binary.Varint(r.Value)
		if used != len(r.Value) {
			return errors.New("a record is not a number")
		}
		c.value.Add(n)
	}
	return nil
}

// Snapshot implements [node.Machine]: one record has the number.
func (c *counter) Snapshot() (func(node.SnapshotWriter) error, error) {
	now := binary.AppendVarint(nil, c.value.Load())
	return func(w node.SnapshotWriter) error { return w.Append([][]byte{now}) }, nil
}

// Load implements [node.Machine].
func (c *counter) Load(r node.SnapshotReader) error {
	var value int64
	if err := r.Records(func(b []byte) error { value, _ = binary.Varint(b); return nil }); err != nil {
		return err
	}
	c.value.Store(value)
	return nil
}

// LeaderChange implements [node.Machine].
func (c *counter) LeaderChange(node.Leadership) {}

func main() {
	dir, err := os.MkdirTemp("", "counter")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	values, err := run(dir)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(values)
}

// run adds 1, 2, … 10 and kills the leader in between. It returns the value of each node.
func run(dir string) (values []int64, err error) {
	var voters []node.Voter
	var listeners []net.Listener
	for id := range core.ReplicaID(3) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		listeners = append(listeners, l)
		voters = append(voters, node.Voter{ID: id + 1, Addr: l.Addr().String()})
	}
	counters, nodes := make([]*counter, 3), make([]*node.Node, 3)
	begin := func(i int, l net.Listener) (err error) {
		counters[i] = new(counter)
		nodes[i], err = node.Start(node.Config{
			ID: voters[i].ID, Dir: filepath.Join(dir, fmt.Sprint(voters[i].ID)), Voters: voters, Machine: counters[i],
			Listener: l, Listen: voters[i].Addr, Core: core.Config{ElectionTimeout: 150, FetchTimeout: 400},
		})
		return err
	}
	for i, l := range listeners {
		if err := begin(i, l); err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, nodes[i].Close()) }()
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for n := range int64(10) {
		led, err := add(ctx, nodes, n+1)
		if err != nil {
			return nil, err
		}
		if n == 4 {
			nodes[led].Kill()
			if err := begin(led, nil); err != nil {
				return nil, err
			}
		}
	}
	for _, c := range counters {
		for c.value.Load() != 55 && ctx.Err() == nil {
			time.Sleep(time.Millisecond) // it hears of the last ones a little later
		}
		values = append(values, c.value.Load())
	}
	return values, nil
}

// add has a number added once, by whichever node leads.
func add(ctx context.Context, nodes []*node.Node, n int64) (leader int, err error) {
	record := binary.AppendVarint(nil, n)
	for i := 0; ctx.Err() == nil; i = (i + 1) % len(nodes) {
		_, _, err := nodes[i].Propose(ctx, [][]byte{record})
		switch {
		case err == nil:
			return i, nil
		case errors.Is(err, node.ErrUnknown):
			return 0, err // to add it again might add it twice
		}
		time.Sleep(5 * time.Millisecond)
	}
	return 0, ctx.Err()
}
