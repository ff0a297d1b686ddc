package state

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/quorate/quorate/impl/registry/pace"
	"github.com/stretchr/testify/require"
)

// journal is what a test appended.
type journal struct {
	t       *testing.T
	records []Record
}

func (j *journal) add(op Op) Record {
	j.t.Helper()
	b, err := op.Encode()
	require.NoError(j.t, err)
	r := Record{Offset: int64(3 * len(j.records)), Epoch: 1, Value: b} // offsets have gaps
	j.records = append(j.records, r)
	return r
}

func open(t *testing.T, dir string) *DB {
	t.Helper()
	d, err := Open(context.Background(), filepath.Join(dir, "db"), 0)
	require.NoError(t, err)
	t.Cleanup(func() { d.Close() })
	return d
}

func (j *journal) do(d *DB, op Op) Result {
	j.t.Helper()
	results, err := d.Apply(context.Background(), []Record{j.add(op)})
	require.NoError(j.t, err)
	return results[0]
}

func register(subject, text string) Op {
	return Op{Type: OpRegister, Subject: subject, SchemaType: "AVRO", Schema: text}
}

func TestOperations(t *testing.T) {
	ctx := context.Background()
	d, j := open(t, t.TempDir()), &journal{t: t}
	require.NoError(t, d.Begin(ctx, "j1"))
	require.Error(t, d.Begin(ctx, "j2"))
	require.Equal(t, Result{ID: 1, Version: 1}, j.do(d, register("a", `"int"`)))
	require.Equal(t, Result{ID: 1, Version: 1}, j.do(d, register("a", `"int"`)), "the same again is the same")
	require.Equal(t, Result{ID: 1, Version: 1}, j.do(d, register("b", `"int"`)), "a schema has one id everywhere")
	require.Equal(t, Result{ID: 2, Version: 2}, j.do(d, register("a", `"long"`)))
	ref := register("c", `"d"`)
	ref.References = []Reference{{Name: "x", Subject: "a", Version: 2}}
	require.Equal(t, Result{ID: 3, Version: 1}, j.do(d, ref))
	ref.Schema, ref.References = `"e"`, []Reference{{Name: "x", Subject: "a", Version: 9}}
	require.Equal(t, 42201, j.do(d, ref).Refused.Code)

	require.Equal(t, 42206, j.do(d, Op{Type: OpDeleteVersion, Subject: "a", Version: 2}).Refused.Code)
	require.Equal(t, 40402, j.do(d, Op{Type: OpDeleteVersion, Subject: "a", Version: 7}).Refused.Code)
	require.Equal(t, 40407, j.do(d, Op{Type: OpDeleteVersion, Subject: "c", Version: 1, Permanent: true}).Refused.Code)
	require.Equal(t, Result{Version: 1}, j.do(d, Op{Type: OpDeleteVersion, Subject: "c", Version: 1}))
	require.Equal(t, 40406, j.do(d, Op{Type: OpDeleteVersion, Subject: "c", Version: 1}).Refused.Code)
	require.Equal(t, Result{Version: 1}, j.do(d, Op{Type: OpDeleteVersion, Subject: "c", Version: 1, Permanent: true}))
	require.Equal(t, Result{ID: 4, Version: 2}, j.do(d, register("c", `"f"`)), "neither id nor version is given twice")
	require.Equal(t, Result{Versions: []int{1, 2}}, j.do(d, Op{Type: OpDeleteSubject, Subject: "a"}))
	require.Equal(t, 40404, j.do(d, Op{Type: OpDeleteSubject, Subject: "a"}).Refused.Code)
	require.Equal(t, 40405, j.do(d, Op{Type: OpDeleteSubject, Subject: "b", Permanent: true}).Refused.Code)
	require.Equal(t, Result{Versions: []int{1, 2}}, j.do(d, Op{Type: OpDeleteSubject, Subject: "a", Permanent: true}))
	require.Equal(t, 40401, j.do(d, Op{Type: OpDeleteSubject, Subject: "a"}).Refused.Code)

	require.Equal(t, 42203, j.do(d, Op{Type: OpSetConfig, Subject: "b", Level: "X"}).Refused.Code)
	require.Equal(t, Result{Level: "FULL"}, j.do(d, Op{Type: OpSetConfig, Subject: "b", Level: "FULL"}))
	checked := register("b", `"g"`)
	checked.Level, checked.Checked = "BACKWARD", 1
	require.Equal(t, CodeChanged, j.do(d, checked).Refused.Code, "it was checked at another level")
	checked.Level = "FULL"
	require.Nil(t, j.do(d, checked).Refused)
	checked.Schema = `"h"`
	require.Equal(t, CodeChanged, j.do(d, checked).Refused.Code, "it was checked against an older version")
	require.Equal(t, Result{Level: "FULL"}, j.do(d, Op{Type: OpDeleteConfig, Subject: "b"}))
	require.Equal(t, 40408, j.do(d, Op{Type: OpDeleteConfig, Subject: "b"}).Refused.Code)

	subjects, err := d.Subjects(ctx, "", false)
	require.NoError(t, err)
	require.Equal(t, []string{"b", "c"}, subjects)
	s, err := d.Version(ctx, "c", 0, false)
	require.NoError(t, err)
	require.Equal(t, Schema{Subject: "c", Version: 2, ID: 4, Type: "AVRO", Text: `"f"`}, s)
	p, err := d.Position(ctx)
	require.NoError(t, err)
	require.Equal(t, Position{Journal: "j1", Offset: j.records[len(j.records)-1].Offset, Epoch: 1, Schema: SchemaVersion, Vocabulary: 1}, p)

	// However the records are cut into transactions, and wherever a copy is taken, the
	// rows are the same.
	want, err := d.Digest(ctx)
	require.NoError(t, err)
	for cut := 1; cut < len(j.records); cut += 3 {
		dir := t.TempDir()
		e := open(t, dir)
		require.NoError(t, e.Begin(ctx, "j1"))
		_, err := e.Apply(ctx, j.records[:cut])
		require.NoError(t, err)
		copied := filepath.Join(dir, "copy")
		require.NoError(t, e.CopyTo(ctx, copied, nil))
		img, err := Inspect(ctx, copied, true, nil)
		require.NoError(t, err)
		require.Equal(t, j.records[cut-1].Offset, img.Offset)
		c, err := Open(ctx, copied, 0)
		require.NoError(t, err)
		_, err = c.Apply(ctx, j.records[cut:])
		require.NoError(t, err)
		got, err := c.Digest(ctx)
		require.NoError(t, err)
		require.Equal(t, want, got, "cut at %d", cut)
		require.NoError(t, c.Close())
	}
}

// between calls a function whenever it is asked for its error, which a copy does after each
// step.
type between struct {
	context.Context
	call func()
}

func (b between) Err() error {
	b.call()
	return b.Context.Err()
}

// A copy that others write beside, between any two of its steps, is of one moment; also
// where it is read at a pace.
func TestCopyBesideWriter(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	d, j := open(t, dir), &journal{t: t}
	for i := range 300 {
		j.do(d, register(fmt.Sprint("s", i%20), strings.Repeat("x", 2000)+fmt.Sprint(i)))
	}
	want, err := d.Digest(ctx)
	require.NoError(t, err)
	steps, last := 0, j.records[len(j.records)-1].Offset
	copied := filepath.Join(dir, "copy")
	require.NoError(t, d.CopyTo(between{ctx, func() {
		if steps++; steps < 50 { // a copy that begins anew after each write ends too
			j.do(d, register("other", fmt.Sprint("y", steps)))
		}
	}}, copied, nil))
	require.Greater(t, steps, 3)
	for _, p := range []*pace.Pacer{nil, pace.New(0.9)} {
		img, err := Inspect(ctx, copied, true, p)
		require.NoError(t, err)
		require.Equal(t, last, img.Offset)
		require.Equal(t, want, img.Digest)
	}
	require.ErrorIs(t, d.CopyTo(ctx, copied, nil), os.ErrExist)
	// What is wrong with a file is said at a pace as well.
	b, err := os.ReadFile(copied)
	require.NoError(t, err)
	clear(b[8192:12288])
	require.NoError(t, os.WriteFile(copied, b, 0o644))
	_, err = Inspect(ctx, copied, false, pace.New(0.9))
	require.Error(t, err)
	_, err = Inspect(ctx, filepath.Join(dir, "none"), false, pace.New(0.9))
	require.ErrorIs(t, err, os.ErrNotExist)
	canceled, cancel := context.WithCancel(ctx)
	cancel()
	require.ErrorIs(t, d.CopyTo(canceled, filepath.Join(dir, "other"), nil), context.Canceled)
}

// A copy that would leave no room for the database itself is not begun.
func TestNoRoom(t *testing.T) {
	ctx := context.Background()
	dir := t.TempDir()
	d, j := open(t, dir), &journal{t: t}
	j.do(d, register("a", "x"))
	there, err := free(dir)
	require.NoError(t, err)
	require.Positive(t, there)
	d.free = func(string) (int64, error) { return spare, nil }
	copied := filepath.Join(dir, "copy")
	require.ErrorIs(t, d.CopyTo(ctx, copied, nil), ErrNoRoom)
	require.NoFileExists(t, copied)
	d.free = func(string) (int64, error) { return 2 * spare, nil }
	require.NoError(t, d.CopyTo(ctx, copied, nil))
}

// A record that is not known stops everything after it, and nothing before.
func TestUnknownOperation(t *testing.T) {
	ctx := context.Background()
	d, j := open(t, t.TempDir()), &journal{t: t}
	for _, value := range []string{`{"v":2,"type":"register"}`, `{"v":1,"type":"what"}`, `x`, `{}`} {
		results, err := d.Apply(ctx, []Record{j.add(register("a", value)), {Offset: j.records[len(j.records)-1].Offset + 1, Value: []byte(value)}})
		require.ErrorIs(t, err, ErrUnknownOp)
		require.Len(t, results, 1)
		p, err := d.Position(ctx)
		require.NoError(t, err)
		require.Equal(t, j.records[len(j.records)-1].Offset, p.Offset)
	}
	_, err := d.Apply(ctx, j.records[:1])
	require.ErrorIs(t, err, ErrOrder)
}

// An older layout is brought up to date, and has the same rows; a newer one is not opened.
func TestMigrate(t *testing.T) {
	ctx := context.Background()
	path := filepath.Join(t.TempDir(), "db")
	d, err := Open(ctx, path, 1)
	require.NoError(t, err)
	(&journal{t: t}).do(d, register("a", "x"))
	before, err := d.Digest(ctx)
	require.NoError(t, err)
	require.NoError(t, d.Close())
	require.NoError(t, Migrate(ctx, path, 0))
	img, err := Inspect(ctx, path, true, nil)
	require.NoError(t, err)
	require.Equal(t, SchemaVersion, img.Schema)
	require.Equal(t, before, img.Digest)
	_, err = Open(ctx, path, 1)
	require.ErrorIs(t, err, ErrNewer)
}

func BenchmarkApply(b *testing.B) {
	ctx := context.Background()
	d, err := Open(ctx, filepath.Join(b.TempDir(), "db"), 0)
	require.NoError(b, err)
	defer d.Close()
	for _, group := range []int{1, 100} {
		b.Run(fmt.Sprint(group), func(b *testing.B) {
			p, _ := d.Position(ctx)
			for i := 0; i < b.N; i += group {
				var rs []Record
				for k := range group {
					op := register(fmt.Sprint("s", p.Offset+int64(i+k)), strings.Repeat("x", 1000)+fmt.Sprint(p.Offset, i, k))
					v, _ := op.Encode()
					rs = append(rs, Record{Offset: p.Offset + 1 + int64(i+k), Value: v})
				}
				_, err := d.Apply(ctx, rs)
				require.NoError(b, err)
			}
		})
	}
}
