package scenarios

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/quorate/quorate/impl/metadata"
	"github.com/stretchr/testify/require"
)

// fresh is what the log of a new quorum has: LeaderChange, and the bootstrap.
func fresh(records ...string) [][]string { return [][]string{{"LeaderChange"}, records} }

// has waits until the log of a node is these batches.
func (p *place) has(want [][]string) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("the log is %v", want), func() bool { return slices.EqualFunc(want, p.batches(), slices.Equal) })
}

var _ = add(10, "case 3, static, three nodes: one transaction, told of when it is committed", func(t *testing.T) {
	q := newQuorum(t, 3, "A", append(bootstrapOf("A"), credentials(1)...))
	q.start(0)
	eventually(t, "it is reached", func() bool { _, _, ok := features(t, q.addrs[0]); return ok })
	epoch, levels, ok := features(t, q.addrs[0])
	require.True(t, ok)
	require.EqualValues(t, -1, epoch, "nothing is committed, whatever the zero checkpoint has")
	require.Empty(t, levels)
	q.start(1, 2)
	for i, p := range q.places {
		eventually(t, "the bootstrap is in the log", func() bool { return len(p.data()) > 0 })
		b := p.batches()
		require.Equal(t, inTransaction(append(bootstrapOf("A"), credentials(1)...)...), b[len(b)-1])
		require.Equal(t, "LeaderChange", b[0][0])
		eventually(t, "it is told of", func() bool { epoch, levels, _ = features(t, q.addrs[i]); return epoch >= 0 })
		require.Equal(t, map[string]int16{"metadata.version": 35}, levels)
		require.FileExists(t, p.path(zeroName))
	}
})

var _ = add(12, "case 3 below 3.6-IV1: one batch, without a transaction", func(t *testing.T) {
	q := newQuorum(t, 1, "A", [][]byte{mv(8), setting("a", "1")})
	q.start()
	q.places[0].has(fresh(text(mv(8), setting("a", "1"))...))
})

var _ = add(13, "case 1: bootstrap.checkpoint and no zero checkpoint", func(t *testing.T) {
	q := newQuorum(t, 1, "A", nil)
	q.places[0].legacy(mv(20), setting("a", "1"))
	q.start()
	q.places[0].has(fresh(inTransaction(mv(20), setting("a", "1"))...))
})

var _ = add(15, "case 4: the zero checkpoint is taken, and there is one warning that names both", func(t *testing.T) {
	q := newQuorum(t, 1, "A", [][]byte{mv(21)})
	p := q.places[0]
	p.legacy(mv(20), setting("a", "1"))
	s := q.start()[0]
	p.has(fresh(inTransaction(mv(21))...))
	var warnings []string
	for line := range strings.Lines(s.said()) {
		if strings.Contains(line, "level=WARN") && strings.Contains(line, "two bootstraps") {
			warnings = append(warnings, line)
		}
	}
	require.Len(t, warnings, 1)
	require.Contains(t, warnings[0], p.path(zeroName))
	require.Contains(t, warnings[0], p.path("d0/"+metadata.LegacyFile))
})

var _ = add(16, "case 5: the default where it needs no id; an id that is missing is fatal", func(t *testing.T) {
	q := newQuorum(t, 1, "A", nil)
	q.start()
	q.places[0].has(fresh(inTransaction(mv(metadata.LatestProduction))...))

	q = newQuorum(t, 1, "A", [][]byte{mv(idVersion)})
	q.start()[0].fails("and no cluster id: this controller was not formatted properly")
	q.places[0].has([][]string{{"LeaderChange"}})
})

var _ = add(17, "a bootstrap.checkpoint that is too old, and is not needed, is not looked at", func(t *testing.T) {
	q := newQuorum(t, 1, "A", nil)
	p := q.places[0]
	p.legacy(mv(1))
	p.history(1, leaderChange, [][]byte{mv(20)})
	s := q.start()[0]
	eventually(t, "it leads", func() bool { return len(p.batches()) == 3 })
	q.set("a", "1")
	s.runs()
	require.Equal(t, text(mv(20), setting("a", "1")), p.data())
	s.kill()

	empty := newQuorum(t, 1, "A", nil) // and where it is needed it is said
	empty.places[0].legacy(mv(1))
	empty.start()[0].fails(metadata.LegacyFile, "metadata.version level 1 is not supported")
	require.Empty(t, empty.places[0].data())
})

var _ = add(18, "another zero checkpoint beside a log changes nothing", func(t *testing.T) {
	q := newQuorum(t, 1, "A", [][]byte{mv(20)})
	p := q.places[0]
	s := q.start()[0]
	p.has(fresh(inTransaction(mv(20))...))
	s.kill()
	p.checkpoint([][]byte{mv(21), setting("a", "1")})
	q.start()
	eventually(t, "it leads again", func() bool { return len(p.batches()) == 3 })
	q.set("b", "1")
	require.Equal(t, append(inTransaction(mv(20)), text(setting("b", "1"))...), p.data())
	_, levels, _ := features(t, q.addrs[0])
	require.Equal(t, map[string]int16{"metadata.version": 20}, levels)
})

var _ = add(19, "a leader lost after the first of three chunks: aborted and written anew, each credential once", func(t *testing.T) {
	boot := slices.Concat(bootstrapOf("A"), credentials(25_000))
	q := newQuorum(t, 3, "A", boot, "metadata.log.max.record.bytes.between.snapshots=1000", "metadata.max.retention.bytes=100000000")
	first := append([][]byte{begin}, boot[:9_999]...)
	for _, p := range q.places {
		p.history(3, leaderChange, first)
	}
	watcher := newPlace(t, append(slices.Clone(broker), "controller.quorum.voters="+q.voters)...)
	watcher.launch() // it learns the id, and so publishes, only from what has ended
	q.start(1, 2)
	p := q.places[1]
	unregistered := func(list []string) []string { // the watcher registers when it can
		return slices.DeleteFunc(list, func(r string) bool { return strings.Contains(r, "REGISTER_BROKER_RECORD") })
	}
	eventually(t, "the bootstrap is written", func() bool { d := unregistered(p.data()); return d[len(d)-1] == text(end)[0] })
	want := slices.Concat(text(first...), text(abort), inTransaction(boot...))
	require.Equal(t, want, unregistered(p.data()))
	for _, b := range p.batches() {
		require.LessOrEqual(t, len(b), 10_000)
	}
	eventually(t, "the watcher has it", func() bool { return strings.Contains(watcher.read("d0/meta.properties"), "cluster.id=A") })
	eventually(t, "there is a snapshot", func() bool { return len(p.snapshots()) > 0 })
	require.Equal(t, text(boot...), unregistered(p.snapshot()), "each once")
})

var _ = add(20, "a leader whose END is local only is overruled, and truncates", func(t *testing.T) {
	boot := bootstrapOf("A")
	q := newQuorum(t, 3, "A", boot)
	q.places[0].history(3, leaderChange, [][]byte{begin, boot[0], boot[1]}, [][]byte{end})
	q.places[1].history(3, leaderChange, [][]byte{begin, boot[0], boot[1]})
	q.places[2].history(3, leaderChange, [][]byte{begin, boot[0], boot[1]})
	q.start(1, 2)
	want := slices.Concat(text(begin, boot[0], boot[1], abort), inTransaction(boot...))
	q.places[1].waitData(want...)
	q.start(0)
	q.places[0].waitData(want...)
})

var _ = add(21, "a leader lost after its END was committed: the next one writes a LeaderChange only", func(t *testing.T) {
	boot := bootstrapOf("A")
	q := newQuorum(t, 3, "A", boot)
	for _, p := range q.places {
		p.history(3, leaderChange, append(append([][]byte{begin}, boot...), end))
	}
	q.start(1, 2)
	eventually(t, "it is told of", func() bool { epoch, _, _ := features(t, q.addrs[1]); return epoch >= 0 })
	q.set("a", "1")
	d := q.places[1].data()
	require.Equal(t, append(inTransaction(boot...), text(setting("a", "1"))...), d)
})

var _ = add(22, "after a snapshot and retention the zero checkpoint is gone, bootstrap.checkpoint too if asked for, and nothing is lost", func(t *testing.T) {
	q := newQuorum(t, 1, "A", bootstrapOf("A"), "metadata.log.max.record.bytes.between.snapshots=100", "metadata.max.retention.bytes=0",
		"quorate.bootstrap.checkpoint.delete=true")
	p := q.places[0]
	p.legacy(mv(20))
	s := q.start()[0]
	gone := func(name string) bool { _, err := os.Stat(p.path(name)); return os.IsNotExist(err) }
	for i := 0; len(p.snapshots()) == 0 || !gone(zeroName); i++ {
		require.False(t, gone(zeroName) && len(p.snapshots()) == 0, "gone with no snapshot in its place")
		q.set("a", fmt.Sprint(i))
	}
	require.False(t, gone("d0/"+metadata.LegacyFile), "no committed snapshot was loaded yet")
	s.kill()
	require.Equal(t, text(mv(idVersion), idRecord("A")), p.snapshot()[:2])
	before := len(p.data())
	s = q.start()[0]
	eventually(t, "bootstrap.checkpoint is deleted", func() bool { return gone("d0/" + metadata.LegacyFile) })
	eventually(t, "it leads", func() bool { epoch, _, _ := features(t, q.addrs[0]); return epoch >= 0 })
	q.set("b", "1")
	s.runs()
	require.NotContains(t, s.said(), "writes the bootstrap")
	require.LessOrEqual(t, len(p.data()), before+1)
})

// snapshots are the names of those that hold something of the log.
func (p *place) snapshots() (names []string) {
	all, err := filepath.Glob(filepath.Join(p.dir(0), metadata.LogDir, "*.checkpoint"))
	require.NoError(p.t, err)
	for _, name := range all {
		if filepath.Base(name) != metadata.ZeroID.FileName() {
			names = append(names, name)
		}
	}
	return names
}

var _ = add(23, "a controller of three that was wiped and formatted (static): its bootstrap is never written", func(t *testing.T) {
	q := newQuorum(t, 3, "A", bootstrapOf("A"))
	s := q.start()
	q.set("a", "1")
	for _, p := range q.places { // or the disk that is lost may be one of two that have what is committed
		eventually(t, "all have it", func() bool { return slices.Contains(p.data(), text(setting("a", "1"))[0]) })
	}
	p := q.places[2]
	s[2].kill()
	require.NoError(t, os.RemoveAll(p.dir(0)))
	require.NoError(t, os.RemoveAll(p.dir(1)))
	p.prepare(3, "A", append(bootstrapOf("A"), setting("never", "1")))
	again := q.start(2)[0]
	eventually(t, "it has the log", func() bool { return slices.Contains(p.data(), text(setting("a", "1"))[0]) })
	q.set("b", "1")
	for _, p := range q.places {
		eventually(t, "all have it", func() bool { return slices.Contains(p.data(), text(setting("b", "1"))[0]) })
		require.NotContains(t, p.data(), text(setting("never", "1"))[0])
	}
	require.NotContains(t, again.said(), "writes the bootstrap")
	require.FileExists(t, p.path(zeroName))
})

var _ = add(24, "new format, loaded as before KIP-1170: no bootstrap is committed, as documented, and new software repairs it", func(t *testing.T) {
	q := newQuorum(t, 1, "A", bootstrapOf("A"), "quorate.internal.before.kip1170=true")
	p := q.places[0]
	s := q.start()[0]
	q.set("a", "1")
	require.Equal(t, text(setting("a", "1")), p.data(), "a log without a metadata.version: the old loading takes the zero checkpoint for committed")
	s.kill()
	p.configure(q.configuration(0)[:6]...) // the software as it is
	q.start()
	p.waitData(append(text(setting("a", "1")), inTransaction(bootstrapOf("A")...)...)...)
})
