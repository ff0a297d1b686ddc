package fs

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// render is all of a disk as text.
func render(t *testing.T, d *Double, dir string) (text string) {
	names, err := d.List(dir)
	require.NoError(t, err)
	for _, name := range names {
		if _, err := d.List(dir + "/" + name); err == nil {
			text += name + "{" + render(t, d, dir+"/"+name) + "} "
			continue
		}
		text += fmt.Sprintf("%s=%q ", name, read(t, d, dir+"/"+name))
	}
	return text
}

// TestCrashesAreAll: what Crashes yields is what Crash makes of every Chooser, once.
func TestCrashesAreAll(t *testing.T) {
	d := NewDouble()
	require.NoError(t, d.Mkdir("d"))
	require.NoError(t, create(t, d, "d/a", "old").Sync())
	create(t, d, "d/b", "x")
	require.NoError(t, d.SyncDir("d"))
	require.NoError(t, d.SyncDir("/"))
	create(t, d, "d/c", "new")
	require.NoError(t, d.Rename("d/a", "d/e"))
	require.NoError(t, d.Rename("d/c", "d/a"))
	require.NoError(t, d.Remove("d/b"))
	require.NoError(t, d.Mkdir("d/f"))
	create(t, d, "d/f/g", "y")

	want := map[string]bool{}
	answers(func(keep Chooser) { want[render(t, d.Crash(keep), "/")] = true })
	have, prints := map[string]bool{}, map[Fingerprint]bool{}
	for print, disk := range d.Crashes() {
		text := render(t, disk(), "/")
		assert.False(t, have[text], "twice: %s", text)
		assert.False(t, prints[print], "one fingerprint for two: %s", text)
		have[text], prints[print] = true, true
	}
	assert.Equal(t, want, have)
	assert.Greater(t, len(want), 100)
}

// TestTwoNames: a file that has two names after a crash has one content.
func TestTwoNames(t *testing.T) {
	d := NewDouble()
	create(t, d, "a", "x")
	require.NoError(t, d.SyncDir("/"))
	require.NoError(t, d.Rename("a", "b"))
	require.NoError(t, d.Rename("b", "c"))
	both := 0
	for _, disk := range d.Crashes() {
		after := disk()
		if a, c := read(t, after, "a"), read(t, after, "c"); a != "-" && c != "-" {
			both++
			assert.Equal(t, a, c)
		}
	}
	assert.Equal(t, 3, both, "empty, zeros, and x")
}

func TestClone(t *testing.T) {
	d := NewDouble()
	f := create(t, d, "a", "x")
	c := d.Clone()
	assert.Equal(t, d.Ops(), c.Ops())
	require.NoError(t, f.Sync())
	require.NoError(t, d.SyncDir("/"))
	require.NoError(t, d.Rename("a", "b"))
	assert.Equal(t, "-", read(t, c.Crash(KeepNone), "a"), "what is not flushed there is not flushed here")
	assert.Equal(t, "x", read(t, c.Crash(KeepAll), "a"))
	c.FlushAll()
	assert.Equal(t, "x", read(t, c.Crash(KeepNone), "a"))
	assert.Equal(t, "x", read(t, d.Crash(KeepNone), "a"))
}

func TestUnflushed(t *testing.T) {
	d := NewDouble()
	f := create(t, d, "a", "x")
	d.Fail(func(Op) Fault { return Unflushed })
	require.NoError(t, f.Sync())
	require.NoError(t, d.SyncDir("/"))
	require.NoError(t, d.Rename("a", "b"))
	d.Fail(nil)
	assert.Equal(t, "x", read(t, d, "b"))
	assert.Empty(t, render(t, d.Crash(KeepNone), "/"))
}

func TestReadOnly(t *testing.T) {
	d := NewDouble()
	f := create(t, d, "a", "x")
	before := render(t, d, "/")
	d.Fail(func(Op) Fault { return ReadOnly })
	_, err := f.WriteAt([]byte("y"), 0)
	require.ErrorIs(t, err, ErrReadOnly)
	require.EqualError(t, err, "write a: fs: read-only file system")
	_, err = d.Create("b")
	require.EqualError(t, err, "create b: fs: read-only file system")
	for _, failing := range []func() error{
		func() error { return f.Truncate(0) }, f.Sync, func() error { return d.Rename("a", "b") },
		func() error { return d.Remove("a") }, func() error { return d.Mkdir("c") }, func() error { return d.SyncDir("/") },
	} {
		require.ErrorIs(t, failing(), ErrReadOnly)
	}
	assert.Equal(t, before, render(t, d, "/"))
}

func TestWatch(t *testing.T) {
	d := NewDouble()
	var seen []string
	d.Watch(func(op Op, now func() *Double) { seen = append(seen, op.Kind.String()+" "+render(t, now(), "/")) })
	create(t, d, "a", "x")
	d.Watch(nil)
	require.NoError(t, d.Remove("a"))
	assert.Equal(t, []string{"create ", `write a="" `}, seen)
}
