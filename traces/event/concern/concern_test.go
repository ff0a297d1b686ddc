package concern

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write schema.json anew")

// schemaOf makes the JSON Schema of a type.
func schemaOf(t reflect.Type, tag reflect.StructTag) map[string]any {
	s := map[string]any{}
	if doc := tag.Get("doc"); doc != "" {
		s["description"] = doc
	}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem(), tag)
	case reflect.Struct:
		fields, required := map[string]any{}, []string{}
		for i := range t.NumField() {
			f := t.Field(i)
			name, option, _ := strings.Cut(f.Tag.Get("json"), ",")
			fields[name] = schemaOf(f.Type, f.Tag)
			if option == "" {
				required = append(required, name)
			}
		}
		s["type"], s["properties"], s["additionalProperties"] = "object", fields, false
		if len(required) > 0 {
			s["required"] = required
		}
	case reflect.Slice:
		s["type"], s["items"] = "array", schemaOf(t.Elem(), "")
	case reflect.String:
		s["type"] = "string"
		if list := tag.Get("enum"); list != "" {
			s["enum"] = strings.Fields(list)
		}
		if p := tag.Get("pattern"); p != "" {
			s["pattern"] = p
		}
	case reflect.Bool:
		s["type"] = "boolean"
	default:
		s["type"] = "integer"
		bits := t.Bits()
		least, most := -int64(1)<<(bits-1), int64(math.MaxInt64)>>(64-bits)
		if n, err := strconv.ParseInt(tag.Get("min"), 10, 64); err == nil {
			least = n
		}
		if n, err := strconv.ParseInt(tag.Get("max"), 10, 64); err == nil {
			most = n
		}
		s["minimum"], s["maximum"] = least, most
	}
	return s
}

// The schema is what the tags say, and so what Decode holds a line to.
func TestSchema(t *testing.T) {
	s := schemaOf(reflect.TypeFor[Event](), "")
	s["$schema"], s["title"] = "https://json-schema.org/draft/2020-12/schema", "An event of bootstrap or cluster id"
	want, err := json.MarshalIndent(s, "", "  ")
	require.NoError(t, err)
	want = append(want, '\n')
	if *update {
		require.NoError(t, os.WriteFile("schema.json", want, 0o644))
		return
	}
	require.Equal(t, string(want), string(Schema), "go test ./traces/event/concern -run TestSchema -update")
}

// Every field says what it is.
func TestFieldsAreDescribed(t *testing.T) {
	n := 0
	for _, of := range []reflect.Type{
		reflect.TypeFor[Event](), reflect.TypeFor[Meta](), reflect.TypeFor[Found](), reflect.TypeFor[File](), reflect.TypeFor[Snap](),
		reflect.TypeFor[Image](), reflect.TypeFor[Source](), reflect.TypeFor[Record](),
	} {
		for i := range of.NumField() {
			n++
			require.NotEmpty(t, of.Field(i).Tag.Get("doc"), "%s.%s", of, of.Field(i).Name)
		}
	}
	require.Greater(t, n, 50)
}

// fill gives a value random content that the schema allows.
func fill(r *rand.Rand, v reflect.Value, tag reflect.StructTag) {
	optional := strings.Contains(tag.Get("json"), "omitempty")
	if optional && r.IntN(3) == 0 {
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(r, v.Elem(), "")
	case reflect.Struct:
		for i := range v.NumField() {
			fill(r, v.Field(i), v.Type().Field(i).Tag)
		}
	case reflect.Slice:
		n := 1 + r.IntN(3)
		v.Set(reflect.MakeSlice(v.Type(), n, n))
		for i := range n {
			fill(r, v.Index(i), "")
		}
	case reflect.String:
		list := strings.Fields(tag.Get("enum"))
		if tag.Get("pattern") != "" {
			list = []string{"0123456789abcdef"}
		}
		if len(list) == 0 {
			list = []string{"A", "an error: \"é\" <\\>\n", "4jrjVCwAQ6-5X0mjzL_1Bw"}
		}
		v.SetString(list[r.IntN(len(list))])
	case reflect.Bool:
		v.SetBool(true)
	default:
		v.SetInt(1)
		if tag.Get("max") == "" {
			v.SetInt(1 + r.Int64N(1000))
		}
	}
}

func random(r *rand.Rand) (e Event) {
	fill(r, reflect.ValueOf(&e).Elem(), "")
	return e
}

func TestRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		e := random(r)
		line := AppendJSON(nil, &e)
		var got Event
		require.NoError(t, Decode(line, &got), "%s", line)
		require.Equal(t, e, got)
		for cut := r.IntN(9); cut < len(line); cut += 1 + r.IntN(60) {
			require.ErrorIs(t, Decode(line[:cut], &got), ErrTorn, "%s", line[:cut])
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	good := `{"v":1,"node":1,"process":1,"seq":1,"inc":0,"after":0,"concern":"bootstrap","action":"Claim","epoch":3}`
	var e Event
	require.NoError(t, Decode([]byte(good), &e))
	require.NoError(t, Decode([]byte(`{"action":"Claim","epoch":3, "v":1,"node":1,"process":1,"seq":1,"inc":0,"after":0,"concern":"bootstrap"}`), &e), "in another order")
	for _, c := range []struct{ old, new, says string }{
		{`"v":1`, `"v":2`, "v: 2 is more than 1"},
		{`"v":1`, `"V":1`, `"V"`},
		{`"node":1,`, ``, `"node"`},
		{`"node":1,`, `"node":1,"node":1,`, `"node"`},
		{`"node":1`, `"node":-1`, "node: -1 is less than 0"},
		{`"node":1`, `"node":1.5`, "1.5"},
		{`"node":1`, `"node":null`, `"node"`},
		{`"seq":1`, `"seq":0`, "seq: 0 is less than 1"},
		{`"bootstrap"`, `"election"`, `"election" is none of bootstrap cluster-id`},
		{`"epoch":3`, `"epochs":3`, "epochs"},
		{`"epoch":3`, `"epoch":0`, `"epoch"`}, // one that is left out
		{`"epoch":3`, `"zero":{"records":1,"digest":"xyz"}`, "zero: digest: "},
		{`"epoch":3`, `"records":[{"kind":"Begin"},{"kind":"Bogus"}]`, `records: [1]: kind: "Bogus" is none of`},
		{`}`, `}{}`, "something follows"},
	} {
		bad := strings.Replace(good, c.old, c.new, 1)
		err := Decode([]byte(bad), &e)
		require.ErrorContains(t, err, c.says, "%s", bad)
		require.NotErrorIs(t, err, ErrTorn)
	}
}

func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 8 {
		e := random(r)
		f.Add(AppendJSON(nil, &e))
	}
	f.Add([]byte(`{"v":1,"node":1,"process":1,"seq":1,"inc":0,"after":0,"concern":"bootstrap","action":"Claim","dirs":[`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var e, again Event
		if Decode(line, &e) != nil {
			return
		}
		written := AppendJSON(nil, &e)
		require.NoError(t, Decode(written, &again), "%s", written)
		require.Equal(t, e, again)
	})
}

func TestFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), FileName(7))
	write := func(process int32, n int) {
		t.Helper()
		w, err := Append(name, 7)
		require.NoError(t, err)
		for i := range n {
			e := Event{Concern: Bootstrap, Action: "Claim"}
			require.NoError(t, w.Write(&e))
			require.Equal(t, [2]int64{int64(process), int64(i + 1)}, [2]int64{int64(e.Process), e.Seq})
		}
		require.NoError(t, w.Close())
		require.ErrorIs(t, w.Write(&Event{}), os.ErrClosed)
	}
	read := func() (got [][2]int64, err error) {
		r, err := Open(name)
		require.NoError(t, err)
		defer r.Close()
		for {
			var e Event
			if err = r.Read(&e); err != nil {
				return got, err
			}
			got = append(got, [2]int64{int64(e.Process), e.Seq})
		}
	}
	tear := func(text string) {
		f, err := os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteString(text)
		require.NoError(t, err)
		require.NoError(t, f.Close())
	}
	write(1, 2)
	write(2, 1)
	tear(`{"v":1,"node":7,"pro`)
	write(4, 1) // the torn line may have been the first of a third
	want := [][2]int64{{1, 1}, {1, 2}, {2, 1}, {4, 1}}
	got, err := read()
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, want, got)
	tear(`{"v":1`)
	got, err = read()
	require.ErrorIs(t, err, io.EOF, "a crash")
	require.Equal(t, want, got)
	_, err = Append(name, 8)
	require.ErrorContains(t, err, "of node 7, not of node 8")
	for text, says := range map[string]string{
		"\n": "an empty line",
		"x":  "invalid character",
	} {
		require.NoError(t, os.WriteFile(name, []byte(text+"\n"), 0o644))
		_, err = read()
		require.ErrorContains(t, err, name+":1: byte 0: ")
		require.ErrorContains(t, err, says)
	}
}

func TestReaderRefuses(t *testing.T) {
	line := func(node, process int32, seq int64) string {
		e := Event{V: 1, Node: node, Process: process, Seq: seq, Concern: ClusterID, Action: "Start"}
		return string(AppendJSON(nil, &e)) + "\n"
	}
	for name, c := range map[string]struct{ data, says string }{
		"another node":         {line(1, 1, 1) + line(2, 1, 2), ":2: byte 95: an event of node 2 among those of node 1"},
		"a gap":                {line(1, 1, 1) + line(1, 1, 3), "event 3 of process 1 after event 1"},
		"not from 1":           {line(1, 1, 2), "event 2 of process 1 after event 0"},
		"back":                 {line(1, 2, 1) + line(1, 1, 1), "process 1 after process 2"},
		"a process is gone":    {line(1, 1, 1) + line(1, 3, 1), "no torn line between"},
		"back in the trace":    {strings.Replace(line(1, 1, 1), `"after":0`, `"after":2`, 1) + line(1, 1, 2), "after event 0 of incarnation 0, which is before event 2"},
		"torn, and it goes on": {line(1, 1, 1) + "{\"v\"\n" + line(1, 1, 2), "so it was no crash"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := NewReader(bytes.NewBufferString(c.data), "f")
			require.NoError(t, err)
			var e Event
			for err = r.Read(&e); err == nil; err = r.Read(&e) {
			}
			require.ErrorContains(t, err, c.says)
			require.ErrorContains(t, r.Read(&e), c.says, "it is final")
		})
	}
}

func TestFileNames(t *testing.T) {
	for _, node := range []int32{0, 12} {
		for _, end := range []string{"", ".zst"} {
			got, ok := IsFileName(filepath.Join("dir", FileName(node)+end))
			require.True(t, ok)
			require.Equal(t, node, got)
		}
	}
	for _, name := range []string{"node-1.ndjson", "concerns-.ndjson", "concerns-x.ndjson", "concerns-1.json", "concerns--1.ndjson", fmt.Sprintf("concerns-%d.ndjson", int64(1)<<40)} {
		_, ok := IsFileName(name)
		require.False(t, ok, name)
	}
}
