package log

import (
	"flag"
	"fmt"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/stretchr/testify/require"
)

// sweepScript has every kind of operation: batches that end within and at the
// edge of sectors, rolls, truncations within a segment and over several.
func sweepScript(t testing.TB) []step {
	return []step{
		save, change(t, 1), flush,
		data(t, 1, 20), data(t, 1, 700), data(t, 1, 30), flush,
		fetched(t, 1, 600, 20, 600), flush, // rolls
		save, change(t, 3), data(t, 3, 100), truncate(t, 1), data(t, 3, 1), flush,
		data(t, 3, 900), data(t, 3, 900), data(t, 3, 40), // rolls with nothing flushed
		truncate(t, 1), flush,
		change(t, 4), data(t, 4, 1100), flush,
		truncate(t, 8), save, truncate(t, 1), change(t, 5), flush, // over segments
		change(t, 6), data(t, 6, 450, 450), data(t, 6, 300), flush,
		data(t, 6, 30), data(t, 6, 1200), save, data(t, 6, 40),
	}
}

// startScript is retention and install: the start moves within a segment, to the edge
// of one and to the end of the log, over what is flushed and what is not; segments are
// deleted; the log begins anew behind its end, before it, and at its last segment.
func startScript(t testing.TB) []step {
	return []step{
		change(t, 1), data(t, 1, 700), data(t, 1, 700), flush, // rolls twice
		data(t, 1, 900), change(t, 2), data(t, 2, 900), data(t, 2, 20),
		advance(t, 2), save, deleteOld(t), data(t, 2, 10), truncate(t, 1), advance(t, 1),
		data(t, 2, 5), flush, advance(t, 0), truncate(t, 1), change(t, 3), flush, truncate(t, 1), flush,
		change(t, 4), data(t, 4, 900), data(t, 4, 900), flush, data(t, 4, 30), advance(t, 1), deleteOld(t),
		reset(t, 5), save, change(t, 6), data(t, 6, 900), data(t, 6, 900), flush, advance(t, 1),
		reset(t, -2), change(t, 8), data(t, 8, 900), data(t, 8, 900), data(t, 8, 900), flush,
		advance(t, 1), reset(t, -1), data(t, 9, 10), advance(t, 0), deleteOld(t), data(t, 9, 20),
	}
}

type named struct {
	name string
	keep fs.Chooser
}

// choices are some of the ways for a crash to keep what was not flushed when the disk had
// begun n operations.
func choices(n, random int) (all []named) {
	all = append(all, named{"all", fs.KeepAll}, named{"none", fs.KeepNone})
	for k := max(1, n-3); k <= n; k++ {
		all = append(all,
			named{fmt.Sprint("below ", k), fs.KeepBelow(k)},
			named{fmt.Sprint("lose ", k), fs.LoseOnly(k)},
			named{fmt.Sprint("only ", k), fs.KeepOnly(k)})
	}
	for seed := range random {
		all = append(all, named{fmt.Sprint("seed ", seed), fs.KeepRandom(uint64(n*1000 + seed))})
	}
	return all
}

// sweep makes each operation of the script fail in turn, restarts in many ways
// and checks what is found. It returns how many points and crashes.
func sweep(t *testing.T, cfg Config, steps []step, fault fs.Fault, random int) (points, crashes int) {
	where := "without a fault"
	defer func() {
		if t.Failed() {
			t.Logf("%+v: %s", cfg, where)
		}
	}()
	clean := fs.NewDouble()
	_, err := run(t, clean, cfg, steps, false)
	require.NoError(t, err)
	for k := 1; k <= clean.Ops(); k++ {
		d := fs.NewDouble()
		d.FailAt(k, fault)
		m, err := run(t, d, cfg, steps, false)
		if err == nil {
			continue // the fault does not apply to this operation
		}
		points++
		for _, c := range choices(d.Ops(), random) {
			crashes++
			where = fmt.Sprintf("fault %d at %d of %d, keep %s", fault, k, clean.Ops(), c.name)
			restart(t, m, d.Crash(c.keep), cfg)
		}
		// The process died, the machine did not: what Open found is durable.
		d.Restart()
		where = fmt.Sprintf("fault %d at %d of %d, process restarts", fault, k, clean.Ops())
		l, after := m.recover(t, d, cfg)
		require.NoError(t, l.Abandon())
		restart(t, after, d.Crash(fs.KeepNone), cfg)
	}
	return points, crashes
}

// restart opens the log after a crash, lets it live on, and crashes again.
func restart(t *testing.T, m model, d *fs.Double, cfg Config) {
	l, after := m.recover(t, d, cfg)
	again := d.Crash(fs.KeepNone) // all that Open kept is durable
	l2, _ := after.recover(t, again, cfg)
	require.NoError(t, l2.Abandon())
	e := max(after.epoch(), 1)
	for _, s := range []step{data(t, e, 30), change(t, e+1), flush, truncate(t, 1), flush, data(t, e+2, 300), flush} {
		require.NoError(t, s(l, &after))
	}
	after.check(t, l)
	require.NoError(t, l.Abandon())
	checkpoint, err := fs.ReadFile(d.Crash(fs.KeepNone), testDir+"/"+epochFile)
	require.NoError(t, err)
	require.Equal(t, string(renderEpochs(l.Epochs())), string(checkpoint))
	l, _ = after.recover(t, d.Crash(fs.KeepNone), cfg)
	require.NoError(t, l.Abandon())
}

// TestCrashSweep is of long scripts, in which a crash can leave too much to try it all;
// TestEveryCrash is of short ones.
func TestCrashSweep(t *testing.T) {
	for _, cfg := range some(testConfigs) {
		points, crashes := sweep(t, cfg, sweepScript(t), fs.Crash, 2)
		t.Logf("%+v: %d crash points, %d crashes", cfg, points, crashes)
	}
}

// some is less than all in a short run.
func some(all []Config) []Config {
	if testing.Short() {
		return all[:1]
	}
	return all
}

// scripts: 60 take two minutes.
var scripts = flag.Uint64("scripts", 3, "number of random scripts to crash at every operation")

// TestStartSweep is TestCrashSweep for what moves the start.
func TestStartSweep(t *testing.T) {
	for _, cfg := range some(testConfigs) {
		points, crashes := sweep(t, cfg, startScript(t), fs.Crash, 1)
		t.Logf("%+v: %d crash points, %d crashes", cfg, points, crashes)
	}
	points, crashes := sweep(t, testConfigs[0], startScript(t), fs.Error, 0)
	t.Logf("errors: %d points, %d crashes", points, crashes)
}

func TestCrashSweepRandomScripts(t *testing.T) {
	points, crashes := 0, 0
	n := *scripts
	if testing.Short() {
		n = min(n, 1)
	}
	for seed := range n {
		p, c := sweep(t, testConfigs[seed%3], randomScript(t, 100+seed, 30), fs.Crash, 2)
		points, crashes = points+p, crashes+c
	}
	t.Logf("%d scripts: %d crash points, %d crashes", n, points, crashes)
}

func TestFailureSweep(t *testing.T) {
	for _, fault := range []fs.Fault{fs.Error, fs.TornWrite, fs.DiskFull} {
		points, crashes := sweep(t, testConfigs[fault%3], sweepScript(t), fault, 1)
		t.Logf("fault %d: %d points, %d crashes", fault, points, crashes)
	}
}

// TestOpenSweep crashes the opening of a log whose last process died with a new
// segment that was not flushed: what Open writes last must not become durable
// before what it speaks of.
func TestOpenSweep(t *testing.T) {
	cfg := testConfigs[0]
	crashes := 0
	for k := 1; ; k++ {
		d := fs.NewDouble()
		m, err := run(t, d, cfg, []step{change(t, 1), data(t, 1, 1500), flush, data(t, 1, 900), data(t, 1, 30)}, false)
		require.NoError(t, err)
		d.FailAt(d.Ops()+k, fs.Crash)
		l, _, err := Open(d, testDir, cfg)
		for _, c := range choices(d.Ops(), 20) {
			crashes++
			restart(t, m, d.Crash(c.keep), cfg)
		}
		if err == nil {
			require.NoError(t, l.Abandon())
			t.Logf("%d crash points, %d crashes", k-1, crashes)
			return
		}
	}
}
