//go:build unix

package registry_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/quorate/quorate/impl/registry/trace"
	"github.com/quorate/quorate/spec/kafkasql"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kfake"
)

// fleet is three registries, each a process, over a topic of Kafka, and who does something
// to them.
type fleet struct {
	t       *testing.T
	dir     string
	brokers string
	trace   *os.File
	began   time.Time
	mu      sync.Mutex
	history []call
	urls    [3]string
	cmds    [3]*exec.Cmd
	lives   [3]int
}

// launch starts a process, and waits until it listens.
func (f *fleet) launch(n int) {
	f.t.Helper()
	self, err := os.Executable()
	require.NoError(f.t, err)
	f.lives[n]++
	args := []string{
		"run", "--dir", filepath.Join(f.dir, fmt.Sprint("node", n)), "--brokers", f.brokers, "--topic", "journal", "--objects", filepath.Join(f.dir, "images"),
		"--listen", "127.0.0.1:0", "--every", "200ms", "--jitter", "100ms", "--grace", "500ms", "--trim", "--state-digest", "--checkpoint-cpu", "0.5",
		"--trace", f.trace.Name(),
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), childArgs+"="+strings.Join(args, "\n"))
	out, err := cmd.StdoutPipe()
	require.NoError(f.t, err)
	logged, err := os.Create(filepath.Join(f.dir, fmt.Sprintf("log-%d-%d", n, f.lives[n])))
	require.NoError(f.t, err)
	defer logged.Close()
	cmd.Stderr = logged
	require.NoError(f.t, cmd.Start())
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if addr, ok := strings.CutPrefix(lines.Text(), "listening on "); ok {
			f.mu.Lock()
			f.urls[n], f.cmds[n] = "http://"+addr, cmd
			f.mu.Unlock()
			return
		}
	}
	text, _ := os.ReadFile(logged.Name())
	require.Fail(f.t, "it does not listen", "%v: %s", cmd.Wait(), text)
}

// tell records what is done to a process.
func (f *fleet) tell(n int, action string) {
	b, err := json.Marshal(trace.Event{Action: action, Instance: fmt.Sprint("process ", n), Offset: -1})
	require.NoError(f.t, err)
	_, err = f.trace.Write(append(b, '\n'))
	require.NoError(f.t, err)
}

// end kills a process, and is told by which signal it had ended if it had before.
func (f *fleet) end(n int, s syscall.Signal) {
	cmd := f.cmds[n]
	_ = cmd.Process.Signal(s) // it may have ended: what it would read next was trimmed
	_ = cmd.Wait()
	f.tell(n, trace.Crash)
}

// suffer kills and stops processes, one after the other, until a context ends.
func (f *fleet) suffer(ctx context.Context, r *rand.Rand) (kills, stops int) {
	for {
		select {
		case <-ctx.Done():
			return kills, stops
		case <-time.After(time.Duration(50+r.IntN(250)) * time.Millisecond):
		}
		n := r.IntN(len(f.cmds))
		if r.IntN(3) == 0 {
			if f.cmds[n].Process.Signal(syscall.SIGSTOP) != nil {
				continue
			}
			f.tell(n, trace.Pause)
			time.Sleep(time.Duration(100+r.IntN(900)) * time.Millisecond)
			f.tell(n, trace.Resume)
			_ = f.cmds[n].Process.Signal(syscall.SIGCONT)
			stops++
			continue
		}
		f.end(n, syscall.SIGKILL)
		if r.IntN(2) == 0 {
			require.NoError(f.t, os.RemoveAll(filepath.Join(f.dir, fmt.Sprint("node", n))))
		}
		f.launch(n)
		kills++
	}
}

// linearizable asks of ids what there is to ask of a counter: none is given twice, and who
// asked after another was answered has a greater one. What is unknown may have any id between.
func linearizable(history []call) error {
	var known []call
	ids := map[int]bool{}
	for _, op := range history {
		if op.ID == 0 || op.Type != register {
			continue
		}
		if ids[op.ID] {
			return fmt.Errorf("id %d was given twice", op.ID)
		}
		ids[op.ID] = true
		known = append(known, op)
	}
	asked, answered := slices.Clone(known), known
	slices.SortFunc(asked, func(a, b call) int { return int(a.Call - b.Call) })
	slices.SortFunc(answered, func(a, b call) int { return int(a.Return - b.Return) })
	n, greatest := 0, call{}
	for _, op := range asked {
		for ; n < len(answered) && answered[n].Return < op.Call; n++ {
			if answered[n].ID > greatest.ID {
				greatest = answered[n]
			}
		}
		if op.ID <= greatest.ID {
			return fmt.Errorf("%+v has a smaller id than %+v, which was answered before", op, greatest)
		}
	}
	return nil
}

func TestLinearizable(t *testing.T) {
	ok := []call{{ID: 2, Call: 1, Return: 4}, {ID: 1, Call: 2, Return: 3}, {Call: 0, Return: 9}, {ID: 3, Call: 5, Return: 6}}
	for i := range ok {
		ok[i].Type = register
	}
	require.NoError(t, linearizable(ok))
	twice := append(slices.Clone(ok), call{Type: register, ID: 3, Call: 5, Return: 6})
	require.ErrorContains(t, linearizable(twice), "twice")
	back := append(slices.Clone(ok), call{Type: register, ID: 4, Call: 7, Return: 8}, call{Type: register, ID: 5, Call: 1, Return: 6})
	require.ErrorContains(t, linearizable(back), "smaller")
}

// What processes do that are killed and stopped again and again is, step by step, what the
// specification allows, however long it goes on.
func TestKilledProcesses(t *testing.T) {
	records, faults := int64(10_000), 30
	if testing.Short() {
		records, faults = 1_000, 6
	}
	cluster, err := kfake.NewCluster(kfake.NumBrokers(3))
	require.NoError(t, err)
	t.Cleanup(cluster.Close)
	f := &fleet{t: t, began: time.Now(), dir: t.TempDir(), brokers: strings.Join(cluster.ListenAddrs(), ",")}
	f.trace, err = os.OpenFile(filepath.Join(f.dir, "trace"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o644)
	require.NoError(t, err)
	t.Cleanup(func() { f.trace.Close() })
	t.Cleanup(func() { // those that a failure leaves
		for _, cmd := range f.cmds {
			if cmd != nil {
				_ = cmd.Process.Kill()
			}
		}
	})
	for n := range f.cmds {
		f.launch(n)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*patience)
	defer cancel()
	var acknowledged atomic.Int64
	var wg sync.WaitGroup
	for client := range 8 {
		wg.Go(func() { f.write(ctx, client, &acknowledged) })
	}
	enough := context.WithoutCancel(ctx)
	enough, stop := context.WithCancel(enough)
	kills, stops := 0, 0
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for acknowledged.Load() < records || kills+stops < faults {
		require.NoError(t, ctx.Err(), "%d records, %d kills and %d stops", acknowledged.Load(), kills, stops)
		one, done := context.WithTimeout(enough, time.Second)
		k, s := f.suffer(one, r)
		done()
		kills, stops = kills+k, stops+s
	}
	stop()
	cancel()
	wg.Wait()
	for n := range f.cmds {
		f.end(n, syscall.SIGTERM)
	}
	// Nothing that was acknowledged is missing, on a disk that is new.
	require.NoError(t, os.RemoveAll(filepath.Join(f.dir, "node0")))
	f.launch(0)
	var subjects []string
	require.Eventually(t, func() bool {
		resp, err := http.Get(f.urls[0] + "/subjects")
		if err != nil {
			return false
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK && json.NewDecoder(resp.Body).Decode(&subjects) == nil
	}, patience, 10*time.Millisecond)
	f.end(0, syscall.SIGTERM)
	there := map[string]bool{}
	for _, s := range subjects {
		there[s] = true
	}
	for _, op := range f.history {
		require.True(t, op.ID == 0 || op.Type != register || there[op.Subject], "%+v", op)
	}
	lines, err := os.Open(f.trace.Name())
	require.NoError(t, err)
	defer lines.Close()
	events, err := trace.Read(lines)
	require.NoError(t, err)
	require.Empty(t, trace.Judge(events, 2))
	require.NoError(t, linearizable(f.history))
	if to := os.Getenv("REGISTRY_HISTORY"); to != "" {
		f.save(to)
	}
	steps, err := kafkasql.Follow(followable(events), 2)
	require.NoError(t, err, "%d of %d steps", steps, len(events))
	t.Logf("%d writes acknowledged by 3 processes; %d kills, %d stops; %d starts, %d from an image, %d commits, %d trims, %d collected; all %d steps are of the specification",
		acknowledged.Load(), kills, stops, trace.Count(events, trace.Start), trace.Count(events, trace.Install), trace.Count(events, trace.AppendCommit),
		trace.Count(events, trace.TrimJournal), trace.Count(events, trace.CollectGarbage), steps)
	require.NotZero(t, trace.Count(events, trace.AppendCommit))
	if !testing.Short() {
		require.NotZero(t, trace.Count(events, trace.Install))
		require.NotZero(t, trace.Count(events, trace.TrimJournal))
	}
}
