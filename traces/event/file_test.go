package event

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces/event/ndjson"
)

var node1 = Node{ID: 1, Dir: "kQ"}

func at(inc int32, seq, step int64) Event {
	return Event{Node: node1, Inc: inc, Seq: seq, Step: step, Action: "Append", Args: Args{Count: 1}}
}

func line(inc int32, seq, step int64) string {
	e := at(inc, seq, step)
	return string(AppendJSON(nil, &e)) + "\n"
}

// readAll returns the (inc, seq) of each event and the error at the end.
func readAll(t testing.TB, data, name string) ([][2]int64, int, error) {
	r, err := NewReader(bytes.NewBufferString(data), name)
	require.NoError(t, err)
	var got [][2]int64
	for e, err := range r.All() {
		if err != nil {
			return got, r.Torn(), err
		}
		got = append(got, [2]int64{int64(e.Inc), e.Seq})
	}
	return got, r.Torn(), nil
}

func TestReaderAccepts(t *testing.T) {
	half := line(1, 2, 1)[:40]
	cut := func(inc int32) string { // after the first digit
		s := line(inc, 1, 1)
		return s[:strings.Index(s, `"inc":`)+len(`"inc":`)+1]
	}
	for name, c := range map[string]struct {
		data string
		want [][2]int64
		torn int
	}{
		"nothing":                     {"", nil, 0},
		"incarnations":                {line(1, 1, 1) + line(1, 2, 1) + line(4, 1, 0), [][2]int64{{1, 1}, {1, 2}, {4, 1}}, 0},
		"no newline at the end":       {line(1, 1, 1) + line(1, 2, 1)[:len(line(1, 2, 1))-1], [][2]int64{{1, 1}, {1, 2}}, 0},
		"torn at the end":             {line(1, 1, 1) + half, [][2]int64{{1, 1}}, 1},
		"torn before an incarnation":  {line(1, 1, 1) + half + "\n" + line(2, 1, 0), [][2]int64{{1, 1}, {2, 1}}, 1},
		"torn twice":                  {line(1, 1, 1) + half + "\n" + line(2, 1, 1)[:40] + "\n" + line(3, 1, 0), [][2]int64{{1, 1}, {3, 1}}, 2},
		"torn in the very first line": {half + "\n" + line(2, 1, 0), [][2]int64{{2, 1}}, 1},
		"torn before it says whose":   {line(1, 1, 1) + "{\n{\n" + line(3, 1, 0), [][2]int64{{1, 1}, {3, 1}}, 2},
		"torn within the number":      {line(1, 1, 1) + cut(12) + "\n" + cut(12) + "\n" + line(12, 1, 0), [][2]int64{{1, 1}, {12, 1}}, 2},
		"torn each time":              {line(1, 1, 1) + line(2, 1, 1)[:40] + "\n" + line(3, 1, 1)[:40] + "\n" + line(4, 1, 0) + line(4, 2, 0)[:40], [][2]int64{{1, 1}, {4, 1}}, 3},
		"other ends of lines":         {strings.ReplaceAll(line(1, 1, 1)+line(1, 2, 1), "\n", "\r\n"), [][2]int64{{1, 1}, {1, 2}}, 0},
	} {
		got, torn, err := readAll(t, c.data, name)
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
		require.Equal(t, c.torn, torn, name)
	}
}

func TestReaderRefuses(t *testing.T) {
	other := Event{Node: Node{ID: 2}, Inc: 1, Seq: 2, Step: 1}
	half, long := line(1, 2, 1)[:40], line(1, 2, 1)[:50]
	for _, c := range []struct{ data, want string }{
		{line(1, 1, 1) + line(1, 3, 1), "f:2: byte 97: incarnation 1: event 3 follows event 1, want 2"},
		{line(1, 1, 1) + line(1, 1, 1), "f:2: byte 97: incarnation 1: event 1 follows event 1, want 2"},
		{line(1, 2, 1), "f:1: byte 0: incarnation 1 begins with event 2, want 1"},
		{line(2, 1, 1) + line(1, 1, 1), "f:2: byte 97: incarnation 1 after incarnation 2"},
		{line(1, 1, 5) + line(1, 2, 4), "f:2: byte 97: incarnation 1, event 2: step 4 after step 5"},
		{line(1, 1, 1) + string(AppendJSON(nil, &other)), `f:2: byte 97: node 2 (directory "") in the file of node 1 (directory "kQ")`},
		{line(1, 1, 1) + half + "\n" + line(1, 2, 1), "f:2: byte 137: inc: the line ends too soon (byte 40 of the line); and line 3 goes on with incarnation 1, so it was no crash"},
		{line(1, 1, 1) + half + "\n" + line(2, 2, 1), "f:3: byte 138: incarnation 2 begins with event 2, want 1"},
		{line(1, 1, 1) + long + "\n" + long, "f:3: byte 148: another torn line of incarnation 1: it may have one, its last"},
		{long + "\n" + long + "\n" + long, "f:2: byte 51: another torn line of incarnation 1: it may have one, its last"},
		{line(2, 1, 1) + long + "\n" + line(3, 1, 1), "f:2: byte 97: incarnation 1 after incarnation 2"},
		{line(1, 1, 1) + "{\n{\n{\n" + line(3, 1, 1), "f:5: byte 103: incarnation 3 after torn lines of 3 incarnations or more: each has at most one, its last"},
		{line(1, 1, 1) + "\n" + line(1, 2, 1), "f:2: byte 97: an empty line"},
		{"\x88QTRACE\n and more", "f:1: byte 0: the head is damaged: a trace in the binary form begins with \"\\x89QTRACE\\n\", and this file with \"\\x88QTRACE\\n\""},
		{"\x89QTRACE and more", "f:1: byte 0: the head is damaged: a trace in the binary form begins with \"\\x89QTRACE\\n\", and this file with \"\\x89QTRACE \""},
		{"hello\n", "f:1: byte 0: not a line of a trace: want an object, found 'h' (byte 0 of the line)"},
		{`{"v":2}` + "\n", "f:1: byte 6: v: the version of the schema is 2, this program reads version 1 only (byte 6 of the line)"},
		{line(1, 1, 1) + `{"v":1,"nope":2}`, "f:2: byte 111: nope: a field that the schema does not have (byte 14 of the line)"},
	} {
		_, _, err := readAll(t, c.data, "f")
		require.EqualError(t, err, c.want, "%s", c.data)
	}
}

// A writer that is killed at any byte and goes on leaves a file that reads.
func TestKilledAtAnyByte(t *testing.T) {
	whole := line(1, 1, 1) + line(1, 2, 1) + line(1, 3, 2)
	for n := range len(whole) + 1 {
		path := filepath.Join(t.TempDir(), "node-1.ndjson")
		require.NoError(t, os.WriteFile(path, []byte(whole[:n]), 0o644))
		w, err := OpenAppend(path, node1)
		require.NoError(t, err)
		require.LessOrEqual(t, w.LastIncarnation(), int32(1))
		require.NoError(t, w.WriteGroup([]Event{at(2, 1, 0), at(2, 2, 0)}))
		require.NoError(t, w.Close())
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		got, _, err := readAll(t, string(data), path)
		require.NoError(t, err, "%s", data)
		require.Equal(t, [][2]int64{{2, 1}, {2, 2}}, got[len(got)-2:])
		require.GreaterOrEqual(t, len(got)-2, n/len(line(1, 1, 1)))
	}
}

func TestWriterRefuses(t *testing.T) {
	for _, c := range []struct {
		events []Event
		want   string
	}{
		{[]Event{at(1, 2, 1)}, "trace of node 1: refused: incarnation 1 begins with event 2, want 1"},
		{[]Event{at(1, 1, 1), at(1, 3, 1)}, "trace of node 1: refused: incarnation 1: event 3 follows event 1, want 2"},
		{[]Event{{Node: Node{ID: 3}, Inc: 1, Seq: 1}}, `trace of node 1: refused: node 3 (directory "") in the file of node 1 (directory "kQ")`},
		{[]Event{at(0, 1, 1)}, "trace of node 1: refused: incarnation 0, they are numbered from 1"},
		{[]Event{at(1, 1, -1)}, "trace of node 1: refused: incarnation 1, event 1: step -1 is negative"},
	} {
		var b bytes.Buffer
		w := NewWriter(&b, node1)
		require.EqualError(t, w.WriteGroup(c.events), c.want)
		require.EqualError(t, w.Flush(), c.want, "an error is final")
		require.Zero(t, b.Len(), "nothing of a refused group is written")
	}
}

func TestOpenAppendRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t")
	w, err := OpenAppend(path, node1)
	require.NoError(t, err)
	first := at(3, 1, 1)
	require.NoError(t, w.WriteGroup([]Event{first}))
	require.NoError(t, w.Close())
	require.ErrorIs(t, w.Write(&first), os.ErrClosed)

	w, err = OpenAppend(path, node1)
	require.NoError(t, err)
	require.Equal(t, int32(3), w.LastIncarnation())
	again := at(3, 2, 1)
	require.ErrorContains(t, w.Write(&again), "incarnation 3 goes on after a torn line")
	w.Close()

	_, err = OpenAppend(path, Node{ID: 9})
	require.ErrorContains(t, err, `the file of node 1 (directory "kQ"), not of node 9`)
	_, err = Create(path, node1)
	require.ErrorIs(t, err, os.ErrExist)
	require.NoError(t, os.WriteFile(path, []byte("a poem\n"), 0o644))
	_, err = OpenAppend(path, node1)
	require.ErrorContains(t, err, "not a trace that can be continued")
}

// The last event may lie far before the end of the part that is looked at first.
func TestOpenAppendLongLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t")
	w, err := Create(path, node1)
	require.NoError(t, err)
	long := at(2, 1, 1)
	for range 3000 {
		long.Send = append(long.Send, Message{Kind: Vote})
	}
	require.NoError(t, w.WriteGroup([]Event{at(1, 1, 1), long}))
	require.NoError(t, w.Close())
	w, err = OpenAppend(path, node1)
	require.NoError(t, err)
	require.Equal(t, int32(2), w.LastIncarnation())
	require.NoError(t, w.Close())
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriteErrorIsFinal(t *testing.T) {
	w := NewWriter(failing{}, node1)
	e := at(1, 1, 1)
	require.NoError(t, w.Write(&e))
	require.EqualError(t, w.Flush(), "trace of node 1: disk full")
	require.EqualError(t, w.Flush(), "trace of node 1: disk full")
}

func TestCompressed(t *testing.T) {
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b)
	require.NoError(t, err)
	for seq := range int64(1000) {
		io.WriteString(z, line(1, seq+1, seq))
	}
	require.NoError(t, z.Close())
	path := filepath.Join(t.TempDir(), "node-1.ndjson.zst")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o644))
	r, err := Open(path)
	require.NoError(t, err)
	n := int64(0)
	for e, err := range r.All() {
		require.NoError(t, err)
		n++
		require.Equal(t, n, e.Seq)
		require.Equal(t, n, r.Line())
	}
	require.Equal(t, int64(1000), n)
	require.NoError(t, r.Close())

	// A compressed file is written when the run is over: cut, it is an error.
	_, _, err = readAll(t, b.String()[:b.Len()-9], "x.zst")
	var at *ndjson.FileError
	require.ErrorAs(t, err, &at)
	require.ErrorIs(t, err, io.ErrUnexpectedEOF)
	_, _, err = readAll(t, "plain text", "x.zst")
	require.ErrorContains(t, err, "the compressed stream is damaged after line 0: ")
	require.ErrorAs(t, err, &at)
}

// TestDamagedStream: damage within a compressed file is said to be that, and where
// the lines before it end.
func TestDamagedStream(t *testing.T) {
	var b bytes.Buffer
	z, err := zstd.NewWriter(&b, zstd.WithEncoderConcurrency(1))
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	for seq := range int64(20_000) {
		e := at(1, seq+1, seq)
		e.Args.Count = random.Int64N(1 << 40)
		_, err := z.Write(append(AppendJSON(nil, &e), '\n'))
		require.NoError(t, err)
	}
	require.NoError(t, z.Close())
	data := b.Bytes()
	for i := len(data) / 2; i < len(data)/2+64; i++ {
		data[i] ^= 0x55
	}
	got, _, err := readAll(t, string(data), "x.zst")
	require.NotEmpty(t, got)
	require.ErrorContains(t, err, fmt.Sprintf("x.zst:%d: ", len(got)+1))
	require.ErrorContains(t, err, fmt.Sprintf("the compressed stream is damaged after line %d: ", len(got)))
}

// TestAppendAfterTornLines: who goes on with a file learns of every incarnation that
// tore a line, and what is written then can be read.
func TestAppendAfterTornLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t")
	for _, c := range []struct {
		data string
		last int32
	}{
		{line(1, 1, 1) + line(1, 2, 1)[:50], 1},
		{line(1, 1, 1) + line(2, 1, 1)[:50], 2},
		{line(1, 1, 1) + "{\n{\n{\n", 3},
		{line(1, 1, 1)[:50], 1},
		{"{\n{\n", 1},
	} {
		require.NoError(t, os.WriteFile(path, []byte(c.data), 0o600))
		w, err := OpenAppend(path, node1)
		require.NoError(t, err)
		require.Equal(t, c.last, w.LastIncarnation(), c.data)
		next := at(c.last+1, 1, 1)
		require.NoError(t, w.WriteGroup([]Event{next}))
		require.NoError(t, w.Close())
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		_, _, err = readAll(t, string(data), path)
		require.NoError(t, err, c.data)
	}
	require.NoError(t, os.WriteFile(path, []byte(line(1, 1, 1)+line(1, 2, 1)[:50]+"\n"+line(1, 2, 1)[:50]), 0o600))
	_, err := OpenAppend(path, node1)
	require.ErrorContains(t, err, "another torn line of incarnation 1")
}

func TestLineTooLong(t *testing.T) {
	_, _, err := readAll(t, string(bytes.Repeat([]byte{' '}, ndjson.MaxLine+1)), "f")
	require.EqualError(t, err, "f:1: byte 0: a line of more than 16777216 bytes")
}

func BenchmarkReader(b *testing.B) {
	e := benchEvent()
	var data []byte
	const events = 10_000
	for i := range int64(events) {
		e.Seq = i + 1
		data = append(AppendJSON(data, &e), '\n')
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		r, err := NewReader(bytes.NewReader(data), "f")
		if err != nil {
			b.Fatal(err)
		}
		for _, err := range r.All() {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.N)*events/b.Elapsed().Seconds(), "events/s")
}

// Recording begins in the life of a replica only at the beginning of a file, and a file in
// which it has ended is not continued.
func TestAttachAndDetach(t *testing.T) {
	node := Node{ID: 1}
	name := filepath.Join(t.TempDir(), "node-1.ndjson")
	w, err := OpenAppend(name, node)
	require.NoError(t, err)
	require.False(t, w.Begun())
	at := func(inc int32, seq int64) *Event { return &Event{Node: node, Inc: inc, Seq: seq, Step: 7} }
	first, last := at(4, 1), at(4, 2)
	first.Attach, last.Detach = &Attach{}, &Detach{}
	require.NoError(t, w.Write(first))
	require.True(t, w.Begun())
	require.NoError(t, w.Write(last))
	require.ErrorContains(t, w.Write(at(5, 1)), "recording had ended with the event before")
	require.Error(t, w.Close())

	w, err = Create(name+"2", node)
	require.NoError(t, err)
	require.NoError(t, w.Write(at(4, 1)))
	again := at(5, 1)
	again.Attach = &Attach{}
	require.ErrorContains(t, w.Write(again), "recording begins, in a file that has an event")

	w, err = Create(name+"3", node)
	require.NoError(t, err)
	require.NoError(t, w.WriteGroup([]Event{*first, *last}))
	require.NoError(t, w.Close())
	_, err = OpenAppend(name+"3", node)
	require.ErrorContains(t, err, "recording has ended in it")
}
