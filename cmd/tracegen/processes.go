package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// processes are the nodes of a run, each a process that this program started.
type processes struct {
	dir, work string
	voters    string
	snapshots int64 // bytes of records between two; 0: none
	all       []*process
	// killed and started count; only the run's own goroutine changes them.
	killed, started int

	mu   sync.Mutex
	died []error // processes that ended by themselves; guarded by mu
}

// process is a node and the process that it is now.
type process struct {
	id             int
	listen, client string // addresses
	cmd            *exec.Cmd
	stdin          io.Closer
	stderr         bytes.Buffer
	ended          chan struct{} // closed when cmd has ended
	wanted         bool          // we ended it; guarded by processes.mu
}

func newProcesses(n int, dir, work string, snapshots int64) (*processes, error) {
	addrs, err := freeAddrs(2 * n)
	if err != nil {
		return nil, err
	}
	c := &processes{dir: dir, work: work, snapshots: snapshots}
	var voters []string
	for i := range n {
		p := &process{id: i + 1, listen: addrs[2*i], client: addrs[2*i+1]}
		c.all = append(c.all, p)
		voters = append(voters, fmt.Sprintf("%d@%s", p.id, p.listen))
	}
	c.voters = strings.Join(voters, ",")
	return c, nil
}

// freeAddrs are addresses of loopback with ports that are free now.
func freeAddrs(n int) (addrs []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // all at the end, so that they differ
		addrs = append(addrs, l.Addr().String())
	}
	return addrs, nil
}

// start starts a node that does not run.
func (c *processes) start(i int) error {
	p := c.all[i]
	if p.cmd != nil {
		select {
		case <-p.ended:
		default:
			return nil
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self,
		"-id", fmt.Sprint(p.id), "-dir", filepath.Join(c.work, fmt.Sprint(p.id)), "-voters", c.voters,
		"-listen", p.listen, "-client", p.client, "-trace", filepath.Join(c.dir, fmt.Sprintf("node-%d.events", p.id)),
		"-election-timeout", "300ms", "-fetch-timeout", "800ms", "-request-timeout", "1s", "-cluster-id", "tracegen",
		// The log is to start at the latest snapshot.
		"-snapshot-bytes", fmt.Sprint(c.snapshots), "-retention-bytes", "1")
	cmd.Env = append(os.Environ(), nodeVariable+"=1")
	p.stderr.Reset()
	cmd.Stderr = &p.stderr
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	c.started++
	p.cmd, p.ended, p.wanted = cmd, make(chan struct{}), false
	go c.wait(p, cmd, p.ended)
	return nil
}

// wait notes how a process ended.
func (c *processes) wait(p *process, cmd *exec.Cmd, ended chan struct{}) {
	err := cmd.Wait()
	c.mu.Lock()
	if !p.wanted {
		c.died = append(c.died, fmt.Errorf("node %d ended by itself: %w: %s", p.id, err, tail(p.stderr.String())))
	}
	c.mu.Unlock()
	close(ended)
}

// tail is what a process said, without the middle if it is long.
func tail(s string) string {
	if limit := 4000; len(s) > limit {
		s = s[:limit/2] + " … " + s[len(s)-limit/2:]
	}
	return strings.TrimSpace(s)
}

// end sends a signal to a node and waits for its end, at most for a time.
func (c *processes) end(p *process, s os.Signal, limit time.Duration) bool {
	if p.cmd == nil {
		return true
	}
	c.mu.Lock()
	p.wanted = true
	c.mu.Unlock()
	p.cmd.Process.Signal(s)
	select {
	case <-p.ended:
		return true
	case <-time.After(limit):
		return false
	}
}

// kill is kill -9.
func (c *processes) kill(i int) {
	c.end(c.all[i], syscall.SIGKILL, 10*time.Second)
	c.killed++
}

// killAll leaves no process behind.
func (c *processes) killAll() {
	for _, p := range c.all {
		c.end(p, syscall.SIGKILL, 10*time.Second)
	}
}

// stopAll tells all nodes to stop, and returns an error if one had ended before or
// does not end well.
func (c *processes) stopAll() error {
	var errs []error
	for _, p := range c.all {
		if !c.end(p, syscall.SIGTERM, 10*time.Second) {
			errs = append(errs, fmt.Errorf("node %d does not stop", p.id))
		} else if code := p.cmd.ProcessState.ExitCode(); code != 0 {
			errs = append(errs, fmt.Errorf("node %d stopped with exit code %d: %s", p.id, code, tail(p.stderr.String())))
		}
	}
	return errors.Join(append(errs, c.deaths())...)
}

// deaths are the ends of processes that nobody asked for.
func (c *processes) deaths() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(c.died...)
}
