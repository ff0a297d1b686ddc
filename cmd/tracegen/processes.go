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
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
)

// processes are the nodes of a run, each a process that this program started.
type processes struct {
	dir, work string
	snapshots int64    // bytes of records between two; 0: none
	net       *network // nil: nodes call each other directly
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
	voters         string // where this node finds the others
	dir            string
	disk           *disk // nil: its files are on a disk with others
	cmd            *exec.Cmd
	stdin          io.Closer
	stderr         bytes.Buffer
	ended          chan struct{} // closed when cmd has ended
	wanted         bool          // we ended it; guarded by processes.mu
	filled         bool          // there was no space on its disk; guarded by processes.mu
}

// newProcesses prepares n nodes, with proxies between them if they are asked for.
func newProcesses(n int, dir, work string, snapshots int64, proxies bool) (*processes, error) {
	addrs, err := freeAddrs(2 * n)
	if err != nil {
		return nil, err
	}
	c := &processes{dir: dir, work: work, snapshots: snapshots}
	listen := addrs[:n]
	for i := range n {
		c.all = append(c.all, &process{id: i + 1, listen: listen[i], client: addrs[n+i], dir: filepath.Join(work, fmt.Sprint(i+1))})
	}
	find := slices.Repeat([][]string{listen}, n)
	if proxies {
		if c.net, find, err = newNetwork(listen); err != nil {
			return nil, err
		}
	}
	for i, p := range c.all {
		var voters []string
		for j, addr := range find[i] {
			voters = append(voters, fmt.Sprintf("%d@%s", j+1, addr))
		}
		p.voters = strings.Join(voters, ",")
	}
	return c, nil
}

// newDisks gives each node a disk of its own.
func (c *processes) newDisks() error {
	for _, p := range c.all {
		d, err := newDisk(p.dir)
		if err != nil {
			return err
		}
		p.disk, p.dir = d, filepath.Join(p.dir, "node")
	}
	return nil
}

// close ends what lies between and below the nodes, none of which runs any more.
func (c *processes) close() error {
	var errs error
	if c.net != nil {
		c.net.close()
	}
	for _, p := range c.all {
		if p.disk != nil {
			errs = errors.Join(errs, p.disk.close())
		}
	}
	return errs
}

// signal sends a signal to a node, if it runs.
func (c *processes) signal(i int, s os.Signal) error {
	err := c.all[i].cmd.Process.Signal(s)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
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
		"-id", fmt.Sprint(p.id), "-dir", p.dir, "-voters", p.voters,
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
	c.mu.Lock()
	p.cmd, p.ended, p.wanted, p.filled = cmd, make(chan struct{}), false, false
	c.mu.Unlock()
	go c.wait(p, cmd, p.ended)
	return nil
}

// wait notes how a process ended.
func (c *processes) wait(p *process, cmd *exec.Cmd, ended chan struct{}) {
	err := cmd.Wait()
	c.mu.Lock()
	said := p.stderr.String()
	if !p.wanted && !(p.filled && strings.Contains(said, noSpace)) {
		c.died = append(c.died, fmt.Errorf("node %d ended by itself: %w: %s", p.id, err, tail(said)))
	}
	c.mu.Unlock()
	close(ended)
}

// noSpace is what a node says of a disk that is full.
const noSpace = "no space left on device"

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

// fullDisks ends all nodes, and says of which of them, or of the directory of the run, there
// is no space on the disk: why a run does not go on, where that is so.
func (c *processes) fullDisks() error {
	c.killAll()
	var errs []error
	for _, p := range c.all {
		for line := range strings.Lines(p.stderr.String()) {
			if strings.Contains(line, noSpace) {
				errs = append(errs, fmt.Errorf("node %d says: %s", p.id, tail(line)))
				break
			}
		}
	}
	for _, dir := range []string{c.dir, c.work} {
		if err := tryDisk(dir); errors.Is(err, syscall.ENOSPC) {
			errs = append(errs, fmt.Errorf("there is no space left on the disk of %s", dir))
		}
	}
	return errors.Join(errs...)
}

// tryDisk says whether a directory takes another file of some size.
func tryDisk(dir string) error {
	f, err := os.CreateTemp(dir, ".space-")
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 1<<20))
	return errors.Join(err, f.Close(), os.Remove(f.Name()))
}
