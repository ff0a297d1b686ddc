package event

import (
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces/event/mapped"
	"github.com/quorate/quorate/traces/event/ndjson"
)

// Both forms say the same of any event.
func TestBinaryRoundTrip(t *testing.T) {
	r := newRand(3)
	for range 5000 {
		e := randomEvent(r)
		b := AppendBinary(nil, &e)
		var got, line Event
		require.NoError(t, DecodeBinary(b, e.Node, &got))
		require.NoError(t, Decode(AppendJSON(nil, &e), &line))
		require.Equal(t, line, got)
	}
}

// A field that is added to event.go and not to the binary form shows here.
func TestEveryFieldIsInTheBinaryForm(t *testing.T) {
	full := fullEvent()
	node := full.Node
	var walk func(at string, v reflect.Value)
	walk = func(at string, v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			walk(at, v.Elem())
		case reflect.Slice:
			walk(at+"[0]", v.Index(0))
		case reflect.Struct:
			for i := range v.NumField() {
				walk(at+"."+v.Type().Field(i).Name, v.Field(i))
			}
		default:
			if strings.HasSuffix(at, ".Has") || strings.HasSuffix(at, ".NoDigest") || strings.HasSuffix(at, "[0].Kind") || strings.HasSuffix(at, "[0].Count") ||
				strings.HasPrefix(at, "Event.Node.") { // which is said once in a file
				return
			}
			old := reflect.New(v.Type()).Elem()
			old.Set(v)
			switch v.Kind() {
			case reflect.Bool:
				v.SetBool(!v.Bool())
			case reflect.String:
				v.SetString("other")
			case reflect.Uint64:
				v.SetUint(v.Uint() + 1)
			default:
				v.SetInt(v.Int() + 1)
			}
			var got Event
			require.NoError(t, DecodeBinary(AppendBinary(nil, &full), node, &got), at)
			require.Equal(t, full, got, at)
			v.Set(old)
		}
	}
	walk("Event", reflect.ValueOf(&full))
}

func TestDecodeBinaryRefuses(t *testing.T) {
	e := fullEvent()
	b := AppendBinary(nil, &e)
	var got Event
	for n := range b {
		require.Error(t, DecodeBinary(b[:n], e.Node, &got), "%d bytes of %d", n, len(b))
	}
	require.ErrorContains(t, DecodeBinary(append(b[:len(b):len(b)], 0), e.Node, &got), "1 bytes follow its end")
	for name, c := range map[string]struct {
		change func(*Event)
		field  string
	}{
		"incarnation 0":      {func(e *Event) { e.Inc = 0 }, "inc"},
		"event 0":            {func(e *Event) { e.Seq = 0 }, "seq"},
		"a negative offset":  {func(e *Event) { e.State.LogEnd = -1 }, "state.logEnd"},
		"a negative epoch":   {func(e *Event) { e.State.Epoch = -1 }, "state.epoch"},
		"a negative run":     {func(e *Event) { e.Log.Appended[0].Count = -1 }, "log.appended"},
		"a negative replica": {func(e *Event) { e.Recv.Conn.From = -2 }, "conn.from"},
	} {
		t.Run(name, func(t *testing.T) {
			e := fullEvent()
			c.change(&e)
			require.ErrorContains(t, DecodeBinary(AppendBinary(nil, &e), e.Node, &got), ": "+c.field+": ")
		})
	}
	require.ErrorContains(t, DecodeBinary([]byte{hasState, 1, 1, 1, 0, 0x80, 0x80, 0x80, 0x80, 0x40}, e.Node, &got), "state")
}

func FuzzDecodeBinary(f *testing.F) {
	r := newRand(4)
	for range 20 {
		e := randomEvent(r)
		f.Add(AppendBinary(nil, &e))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var e, again, line Event
		if DecodeBinary(b, Node{ID: 1}, &e) != nil {
			return
		}
		e.State = normal(e.State)
		require.NoError(t, DecodeBinary(AppendBinary(nil, &e), e.Node, &again))
		require.Equal(t, e, again)
		require.NoError(t, Decode(AppendJSON(nil, &e), &line), "what one form takes the other does")
	})
}

func TestBinaryAllocatesNothing(t *testing.T) {
	e := benchEvent()
	dst := make([]byte, 0, 4096)
	require.Zero(t, testing.AllocsPerRun(100, func() { dst = AppendBinary(dst[:0], &e) }))
	path := filepath.Join(t.TempDir(), "node-1"+BinaryExt)
	w, err := Create(path, e.Node)
	require.NoError(t, err)
	defer w.Close()
	e.Inc, e.Seq, e.Step, e.Attach, e.Detach = 1, 1, 1, nil, nil
	require.NoError(t, w.Write(&e))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		e.Seq++
		if err := w.Write(&e); err != nil {
			t.Error(err)
		}
	}))
}

func BenchmarkEncodeBinary(b *testing.B) {
	e := benchEvent()
	dst := AppendBinary(nil, &e)
	b.SetBytes(int64(len(dst)))
	for b.Loop() {
		dst = AppendBinary(dst[:0], &e)
	}
}

// events writes a file in the binary form that is not closed, as one whose process was
// killed.
func killedBinary(t *testing.T, path string, node Node, events ...Event) {
	w, err := OpenAppend(path, node)
	require.NoError(t, err)
	for i := range events {
		events[i].Node = node
		require.NoError(t, w.Write(&events[i]))
	}
	// The mapping is left to the end of the test's process.
}

// What was written is there when Write returns, whatever becomes of the process, and the
// next incarnation goes on after it.
func TestBinarySurvives(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node-1"+BinaryExt)
	node := Node{1, "kQ"}
	last, found, err := Last(path)
	require.NoError(t, err)
	require.False(t, found)
	killedBinary(t, path, node, at(1, 1, 1), at(1, 2, 1))
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Greater(t, len(b), 1<<17, "it is mapped beyond its end")
	last, found, err = Last(path)
	require.NoError(t, err)
	require.True(t, found)
	require.Equal(t, int64(2), last.Seq)

	amended := at(1, 3, 2)
	amended.Node = node
	require.NoError(t, Amend(path, &amended))
	w, err := OpenAppend(path, node)
	require.NoError(t, err)
	require.Equal(t, int32(1), w.LastIncarnation())
	e := at(1, 4, 2)
	e.Node = node
	require.ErrorContains(t, w.Write(&e), "incarnation 1")
	require.Error(t, w.Close())
	killedBinary(t, path, node, at(2, 1, 1))
	got, torn, err := readAll(t, read(t, path), "node-1"+BinaryExt)
	require.NoError(t, err)
	require.Zero(t, torn)
	require.Equal(t, [][2]int64{{1, 1}, {1, 2}, {1, 3}, {2, 1}}, got)

	_, err = OpenAppend(path, Node{2, "kQ"})
	require.ErrorContains(t, err, `the file of node 1 (directory "kQ"), not of node 2`)
	_, err = Create(path, node)
	require.ErrorIs(t, err, os.ErrExist)
}

func read(t *testing.T, path string) string {
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	return string(b)
}

// A file whose process was killed before it had a head is one without events, and is
// begun again.
func TestBinaryHardlyBegun(t *testing.T) {
	for _, size := range []int64{0, mapped.Head} {
		path := filepath.Join(t.TempDir(), "node-1"+BinaryExt)
		require.NoError(t, os.WriteFile(path, make([]byte, size), 0o644))
		got, _, err := readAll(t, read(t, path), "x")
		require.NoError(t, err)
		require.Empty(t, got)
		_, found, err := Last(path)
		require.NoError(t, err)
		require.False(t, found)
		killedBinary(t, path, Node{ID: 1}, at(1, 1, 1))
		got, _, err = readAll(t, read(t, path), "x")
		require.NoError(t, err)
		require.Len(t, got, 1)
	}
}

// A closed file is as long as its events, and recording that has ended does not go on.
func TestBinaryClosed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node-1"+BinaryExt)
	w, err := Create(path, Node{ID: 1})
	require.NoError(t, err)
	e := at(1, 1, 1)
	e.Node = Node{ID: 1}
	require.NoError(t, w.Write(&e))
	end := at(1, 2, 1)
	end.Node, end.Action, end.Detach = Node{ID: 1}, "", &Detach{}
	require.NoError(t, w.Write(&end))
	require.NoError(t, w.Close())
	require.ErrorIs(t, w.Write(&end), os.ErrClosed)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(mapped.Head+200))
	_, err = OpenAppend(path, Node{ID: 1})
	require.ErrorIs(t, err, errDetached)
}

// Whatever byte of a file is damaged or missing, reading says where, or reads what was
// written but for numbers and names that nobody can hold against anything.
func TestBinaryReaderRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "node-1"+BinaryExt)
	killedBinary(t, path, Node{1, "kQ"}, at(1, 1, 1), at(1, 2, 1), at(1, 3, 2))
	end := int(binary.LittleEndian.Uint64([]byte(read(t, path))[endPos:]))
	b := []byte(read(t, path))[:end]
	for n := range b {
		if n == 0 {
			continue // an empty file
		}
		_, _, err := readAll(t, string(b[:n]), "x")
		require.Error(t, err, "%d bytes of %d", n, len(b))
	}
	for i := range b {
		damaged := append([]byte(nil), b...)
		damaged[i] ^= 0x80
		got, _, err := readAll(t, string(damaged), "x")
		var where *ndjson.FileError
		if err == nil {
			require.LessOrEqual(t, len(got), 3)
		} else if !errors.As(err, &where) {
			t.Errorf("byte %d: %v", i, err)
		}
	}
	version := append([]byte(nil), b...)
	version[16]++
	_, _, err := readAll(t, string(version), "x")
	require.ErrorContains(t, err, "the version of the schema is 2, this program reads version 1 only")
	length := append([]byte(nil), b...)
	binary.LittleEndian.PutUint32(length[mapped.Head:], 1<<30)
	_, _, err = readAll(t, string(length), "x")
	require.ErrorContains(t, err, "x:1: byte 4096: an event of 1073741824 bytes")
}

func FuzzBinaryFile(f *testing.F) {
	dir := f.TempDir()
	w, err := Create(filepath.Join(dir, "seed"+BinaryExt), Node{1, "kQ"})
	require.NoError(f, err)
	for seq := range int64(3) {
		e := at(1, seq+1, 1)
		e.Node = Node{1, "kQ"}
		require.NoError(f, w.Write(&e))
	}
	require.NoError(f, w.Close())
	b, err := os.ReadFile(filepath.Join(dir, "seed"+BinaryExt))
	require.NoError(f, err)
	f.Add(b)
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := NewReader(strings.NewReader(string(b)), "x")
		require.NoError(t, err)
		var e Event
		for err == nil {
			err = r.Read(&e)
		}
		if err != io.EOF {
			var where *ndjson.FileError
			require.ErrorAs(t, err, &where)
		}
		path := filepath.Join(t.TempDir(), "x"+BinaryExt)
		require.NoError(t, os.WriteFile(path, b, 0o644))
		if _, _, err := Last(path); err != nil {
			return
		}
		if w, err := OpenAppend(path, Node{1, "kQ"}); err == nil {
			require.NoError(t, w.Close())
		}
	})
}
