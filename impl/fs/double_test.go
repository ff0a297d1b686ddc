package fs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func create(t *testing.T, fsys FS, name, content string) File {
	t.Helper()
	f, err := fsys.Create(name)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte(content), 0)
	require.NoError(t, err)
	return f
}

// read returns the content of a file, "-" if it is missing.
func read(t *testing.T, fsys FS, name string) string {
	t.Helper()
	b, err := ReadFile(fsys, name)
	if errors.Is(err, ErrNotExist) {
		return "-"
	}
	require.NoError(t, err)
	return string(b)
}

// TestBoth does the same on a real disk and on the double.
func TestBoth(t *testing.T) {
	for _, c := range []struct {
		fsys FS
		root string
	}{{OS{}, t.TempDir()}, {NewDouble(), "/"}} {
		t.Run(fmt.Sprintf("%T", c.fsys), func(t *testing.T) {
			fsys, dir := c.fsys, c.root+"/d"
			require.ErrorIs(t, fsys.SyncDir(dir), ErrNotExist)
			_, err := fsys.List(dir)
			require.ErrorIs(t, err, ErrNotExist)
			_, err = fsys.Create(dir + "/x")
			require.ErrorIs(t, err, ErrNotExist)
			require.NoError(t, fsys.Mkdir(dir))
			require.ErrorIs(t, fsys.Mkdir(dir), ErrExist)
			_, err = fsys.Open(dir + "/x")
			require.ErrorIs(t, err, ErrNotExist)
			require.ErrorIs(t, fsys.Remove(dir+"/x"), ErrNotExist)
			require.ErrorIs(t, fsys.Rename(dir+"/x", dir+"/y"), ErrNotExist)

			f := create(t, fsys, dir+"/x", "hello")
			_, err = f.WriteAt([]byte("!"), 7)
			require.NoError(t, err)
			require.NoError(t, f.Sync())
			assert.Equal(t, "hello\x00\x00!", read(t, fsys, dir+"/x"))
			require.NoError(t, f.Truncate(2))
			require.NoError(t, f.Truncate(4))
			size, err := f.Size()
			require.NoError(t, err)
			assert.EqualValues(t, 4, size)
			b := make([]byte, 6)
			n, err := f.ReadAt(b, 1)
			assert.Equal(t, io.EOF, err)
			assert.Equal(t, "e\x00\x00", string(b[:n]))
			_, err = f.ReadAt(b, 9)
			assert.Equal(t, io.EOF, err)

			create(t, fsys, dir+"/a", "a").Close()
			create(t, fsys, dir+"/b", "b").Close()
			create(t, fsys, dir+"/b", "").Close() // emptied
			assert.Equal(t, "", read(t, fsys, dir+"/b"))
			require.NoError(t, fsys.Rename(dir+"/a", dir+"/b"))
			require.NoError(t, fsys.SyncDir(dir))
			assert.Equal(t, "a", read(t, fsys, dir+"/b"))
			names, err := fsys.List(dir)
			require.NoError(t, err)
			assert.Equal(t, []string{"b", "x"}, names)
			require.NoError(t, fsys.Remove(dir+"/b"))
			require.NoError(t, f.Close())
		})
	}
}

// outcomes crashes in every way there is and returns what is found.
func outcomes(t *testing.T, d *Double, look func(*Double) string) map[string]bool {
	all := map[string]bool{}
	for _, disk := range d.Crashes() {
		after := disk()
		all[look(after)] = true
		assert.Equal(t, look(after), look(after.Crash(KeepNone)), "all of it is durable")
		require.Less(t, len(all), 1000)
	}
	return all
}

func set(all ...string) map[string]bool {
	m := map[string]bool{}
	for _, s := range all {
		m[s] = true
	}
	return m
}

func TestCrashOfNames(t *testing.T) {
	d := NewDouble()
	look := func(d *Double) string { return read(t, d, "old") + read(t, d, "new") }
	f := create(t, d, "old", "1")
	require.NoError(t, f.Sync())
	assert.Equal(t, set("--", "1-"), outcomes(t, d, look), "a flushed file without a flushed name")
	require.NoError(t, d.SyncDir("/"))
	assert.Equal(t, set("1-"), outcomes(t, d, look))

	require.NoError(t, create(t, d, "new", "2").Sync())
	require.NoError(t, d.SyncDir("/"))
	require.NoError(t, d.Rename("old", "new"))
	assert.Equal(t, set("12", "-1"), outcomes(t, d, look), "a rename is atomic")
	require.NoError(t, d.Remove("new"))
	assert.Equal(t, set("12", "-1", "--", "1-"), outcomes(t, d, look), "any subset")
	require.NoError(t, d.SyncDir("/"))
	assert.Equal(t, set("--"), outcomes(t, d, look))

	d = NewDouble()
	require.NoError(t, d.Mkdir("d"))
	require.NoError(t, create(t, d, "d/f", "1").Sync())
	require.NoError(t, d.SyncDir("d"))
	assert.Equal(t, set("-", "1"), outcomes(t, d, func(d *Double) string { return read(t, d, "d/f") }))
}

func TestCrashOfContent(t *testing.T) {
	d := NewDouble()
	look := func(d *Double) string { return strings.ReplaceAll(read(t, d, "f"), "\x00", "0") }
	f := create(t, d, "f", "abc")
	require.NoError(t, d.SyncDir("/"))
	assert.Equal(t, set("", "000", "abc"), outcomes(t, d, look), "a length without content")
	require.NoError(t, f.Sync())
	assert.Equal(t, set("abc"), outcomes(t, d, look))

	_, err := f.WriteAt([]byte("D"), 3)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("E"), 4)
	require.NoError(t, err)
	assert.Equal(t, set("abc", "abc0", "abc00", "abcD", "abcD0", "abcDE"), outcomes(t, d, look),
		"a sector is as it was at some moment: no E without D")
	require.NoError(t, f.Sync())
	require.NoError(t, f.Truncate(1))
	_, err = f.WriteAt([]byte("x"), 1)
	require.NoError(t, err)
	assert.Equal(t, set("abcDE", "a", "a0", "ax", "axcDE"), outcomes(t, d, look),
		"what was cut off comes back behind what was written since")
	require.NoError(t, f.Sync())

	long := strings.Repeat("y", SectorSize+1)
	_, err = f.WriteAt([]byte(long), 2)
	require.NoError(t, err)
	short := func(d *Double) string {
		s := look(d)
		return fmt.Sprint(len(s), " ", s[:2], "…", s[len(s)-1:])
	}
	assert.Equal(t, set("2 ax…x", "512 ax…y", "515 ax…0", "515 ax…y"), outcomes(t, d, short), "a write is torn at a sector")

	create(t, d, "f", "new")
	assert.Contains(t, outcomes(t, d, look), "", "emptied, and the new content lost")
}

func TestFailedSync(t *testing.T) {
	d := NewDouble()
	f := create(t, d, "f", "abc")
	require.NoError(t, f.Sync())
	require.NoError(t, d.SyncDir("/"))
	_, err := f.WriteAt([]byte("def"), 3)
	require.NoError(t, err)
	d.FailAt(d.Ops()+1, Error)
	require.ErrorIs(t, f.Sync(), ErrInjected)
	require.NoError(t, f.Sync(), "another one succeeds")
	assert.Equal(t, "abcdef", read(t, d, "f"), "the process sees it")
	assert.Equal(t, "abc\x00\x00\x00", read(t, d.Crash(KeepAll), "f"), "the disk never gets it")
	_, err = f.WriteAt([]byte("def"), 3)
	require.NoError(t, err)
	require.NoError(t, f.Sync())
	assert.Equal(t, "abcdef", read(t, d.Crash(KeepNone), "f"), "unless it is written again")
}

func TestFaults(t *testing.T) {
	d := NewDouble()
	f := create(t, d, "f", "abcd")
	next := func(fault Fault) { d.FailAt(d.Ops()+1, fault) }
	next(Error)
	n, err := f.WriteAt([]byte("1234"), 0)
	require.ErrorIs(t, err, ErrInjected)
	assert.Zero(t, n)
	next(TornWrite)
	n, err = f.WriteAt([]byte("1234"), 0)
	require.ErrorIs(t, err, ErrInjected)
	assert.Equal(t, 2, n)
	assert.Equal(t, "12cd", read(t, d, "f"))
	for _, failing := range []func() error{
		func() error { return f.Truncate(0) },
		func() error { return d.Rename("f", "g") },
		func() error { return d.Remove("f") },
		func() error { return d.Mkdir("g") },
		func() error { return d.SyncDir("/") },
		func() error { _, err := d.Create("f"); return err },
	} {
		next(Error)
		require.ErrorIs(t, failing(), ErrInjected)
	}
	assert.Equal(t, "12cd", read(t, d, "f"))
	d.FailRead(func(n int, name string) Fault { return BitFlip })
	assert.NotEqual(t, "12cd", read(t, d, "f"))
	d.FailRead(nil)
	require.NoError(t, d.Flip("f", 0, 1))
	assert.Equal(t, "02cd", read(t, d, "f"))
	next(DiskFull)
	_, err = f.WriteAt([]byte("1234"), 4)
	require.ErrorIs(t, err, ErrNoSpace)
	_, err = f.WriteAt([]byte("1234"), 4)
	require.ErrorIs(t, err, ErrNoSpace)
	_, err = d.Create("g")
	require.ErrorIs(t, err, ErrNoSpace)
	next(Crash)
	require.ErrorIs(t, d.Rename("f", "h"), ErrCrashed)
	_, err = ReadFile(d, "h")
	require.ErrorIs(t, err, ErrCrashed)
	require.ErrorIs(t, f.Sync(), ErrCrashed)
	d.Restart()
	assert.Equal(t, "02cd12", read(t, d, "h")[:6])
}

// TestWriteFile crashes in each operation in every way.
func TestWriteFile(t *testing.T) {
	crashes := 0
	for k := 1; ; k++ {
		d := NewDouble()
		require.NoError(t, WriteFile(d, "f", []byte("old")))
		assert.Equal(t, "old", read(t, d.Crash(KeepNone), "f"))
		d.FailAt(d.Ops()+k, Crash)
		err := WriteFile(d, "f", []byte("new"))
		if err == nil {
			assert.Equal(t, "new", read(t, d.Crash(KeepNone), "f"))
			t.Logf("%d crash points, %d outcomes", k-1, crashes)
			return
		}
		for content := range outcomes(t, d, func(d *Double) string { return read(t, d, "f") }) {
			crashes++
			assert.Contains(t, []string{"old", "new"}, content)
		}
	}
}

// TestDeterminism: one seed, one disk.
// TestMkdirAll: what it made outlives the machine, and so does what a process before had
// made and not flushed.
func TestMkdirAll(t *testing.T) {
	d := NewDouble()
	require.NoError(t, MkdirAll(d, "/a/b/c"))
	d = d.Crash(KeepNone)
	_, err := d.List("/a/b/c")
	require.NoError(t, err)

	require.NoError(t, d.Mkdir("/a/x"))
	require.NoError(t, MkdirAll(d, "/a/x/y"))
	d = d.Crash(KeepNone)
	_, err = d.List("/a/x/y")
	require.NoError(t, err)
	require.NoError(t, MkdirAll(d, "/a/x/y"))
}

func TestDeterminism(t *testing.T) {
	d := NewDouble()
	for i := range 20 {
		create(t, d, fmt.Sprint("f", i), string(bytes.Repeat([]byte{byte(i)}, 2000)))
	}
	content := func(d *Double) (all string) {
		names, err := d.List("/")
		require.NoError(t, err)
		for _, name := range names {
			all += name + read(t, d, name)
		}
		return all
	}
	for seed := range uint64(5) {
		assert.Equal(t, content(d.Crash(KeepRandom(seed))), content(d.Crash(KeepRandom(seed))))
	}
	assert.NotEqual(t, content(d.Crash(KeepRandom(1))), content(d.Crash(KeepRandom(2))))
	assert.Equal(t, "2 write f0 off=0 len=2000", Op{N: 2, Kind: OpWrite, Path: "f0", Len: 2000}.String())
}
