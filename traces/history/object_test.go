package history

import (
	"bytes"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker/linear"
	"github.com/quorate/quorate/traces/event/ndjson"
)

// recorded opens a history of a real run: of three registries over a topic of Kafka that
// were killed and stopped (impl/registry, TestKilledProcesses), and of three nodes that
// nobody had formatted and that were asked for their cluster id (scenario 47 of kraftd).
func recorded(t testing.TB, name string) *Objects {
	h, err := OpenObjects(filepath.Join("testdata", name+".ndjson.zst"))
	require.NoError(t, err)
	return h
}

// edit replaces the input of an operation by a changed copy.
func edit[T any](op *linear.ObjectOp, change func(in *T)) {
	in := *op.Input.(*T)
	change(&in)
	op.Input = &in
}

func registration(op linear.ObjectOp) bool {
	return op.Input.(*linear.RegistryOp).Kind == linear.Register && op.Outcome == linear.Known
}

// found is the nth known operation of a kind on a registry.
func found(t *testing.T, h *Objects, n int, is func(in *linear.RegistryOp) bool) int {
	for i := range h.Ops {
		if in := h.Ops[i].Input.(*linear.RegistryOp); h.Ops[i].Outcome == linear.Known && is(in) {
			if n--; n < 0 {
				return i
			}
		}
	}
	t.Fatal("there is none")
	return -1
}

func TestRecordedRegistry(t *testing.T) {
	isLatest := func(in *linear.RegistryOp) bool { return in.Kind == linear.Latest && in.Version == 1 }
	for name, change := range map[string]func(t *testing.T, h *Objects) int{
		"as it was": func(*testing.T, *Objects) int { return -1 },
		"a stale read": func(t *testing.T, h *Objects) int {
			// What was latest once is read again after the next version was acknowledged.
			for i := range h.Ops {
				in, ok := h.Ops[i].Input.(*linear.RegistryOp), h.Ops[i].Outcome == linear.Known
				if !ok || !isLatest(in) {
					continue
				}
				for _, next := range h.Ops[i+1:] {
					if r := next.Input.(*linear.RegistryOp); registration(next) && r.Subject == in.Subject {
						again := h.Ops[i]
						again.Call, again.Return = next.Return+1, next.Return+2
						h.Ops = append(h.Ops, again)
						return len(h.Ops) - 1
					}
				}
			}
			t.Fatal("no subject has two versions")
			return 0
		},
		"an id twice, in subjects that have nothing in common": func(t *testing.T, h *Objects) int {
			register := func(in *linear.RegistryOp) bool { return in.Kind == linear.Register }
			first, later := found(t, h, 0, register), found(t, h, 500, register)
			id := h.Ops[first].Input.(*linear.RegistryOp).ID
			edit(&h.Ops[later], func(in *linear.RegistryOp) { in.ID = id })
			return later
		},
		"a registration is lost": func(t *testing.T, h *Objects) int {
			i := found(t, h, 100, isLatest)
			edit(&h.Ops[i], func(in *linear.RegistryOp) { in.Schema, in.ID, in.Version = "", 0, 0 })
			return i
		},
		"an id is forgotten": func(t *testing.T, h *Objects) int {
			i := found(t, h, 100, func(in *linear.RegistryOp) bool { return in.Kind == linear.ByID })
			edit(&h.Ops[i], func(in *linear.RegistryOp) { in.Schema = "" })
			return i
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := recorded(t, "registry-kills")
			require.Greater(t, len(h.Ops), 3000)
			wrong := change(t, h)
			res, err := h.Check(linear.Limits{}, "")
			require.NoError(t, err)
			if wrong < 0 {
				require.Equal(t, linear.Linearizable, res.Verdict, res.Violation)
				return
			}
			require.Equal(t, linear.NotLinearizable, res.Verdict)
			require.Equal(t, wrong, res.Violation.Later, res.Violation.Text)
		})
	}
}

func TestRecordedClusterIDs(t *testing.T) {
	h := recorded(t, "cluster-ids")
	res, err := h.Check(linear.Limits{}, "")
	require.NoError(t, err)
	require.Equal(t, linear.Linearizable, res.Verdict, res.Violation)
	none, some, last := 0, 0, -1
	for i, op := range h.Ops {
		if !op.Reads {
			continue
		}
		if last = i; op.Input.(*linear.ClusterIDOp).ID == "" {
			none++
		} else {
			some++
		}
	}
	require.NotZero(t, none, "nodes were asked before they knew")
	require.NotZero(t, some, "and after")
	for _, id := range []string{"", "another"} {
		changed := *h
		changed.Ops = slices.Clone(h.Ops)
		edit(&changed.Ops[last], func(in *linear.ClusterIDOp) { in.ID = id })
		res, err = changed.Check(linear.Limits{}, "")
		require.NoError(t, err)
		require.Equal(t, linear.NotLinearizable, res.Verdict, "%q", id)
		require.Equal(t, last, res.Violation.Later, res.Violation.Text)
	}
}

// samples are a history of each object, with every type of line.
var samples = map[string]string{
	KeyValue: `{"v":1,"type":"history","object":"key-value","run":"r","clock":"ns"}
{"type":"get","client":1,"call":1,"return":2,"outcome":"ok","key":"a"}
{"type":"put","client":1,"call":3,"return":4,"outcome":"ok","key":"a","value":"1"}
{"type":"get","client":1,"call":5,"return":6,"outcome":"ok","key":"a","value":"1"}
{"type":"compare-and-set","client":1,"call":7,"return":8,"outcome":"ok","key":"a","value":"2","old":"1","set":true}
{"type":"delete","client":2,"call":9,"return":10,"outcome":"unknown","key":"a"}
{"type":"mark","what":"leader change","from":3,"to":4,"note":"killed"}
`,
	Registry: `{"v":1,"type":"history","object":"registry","run":"r","clock":"ns"}
{"type":"latest","client":1,"call":1,"return":2,"outcome":"ok","subject":"s"}
{"type":"register","client":1,"call":3,"return":4,"outcome":"ok","subject":"s","schema":"x","id":7}
{"type":"register","client":1,"call":5,"return":6,"outcome":"unknown","subject":"s","schema":"y"}
{"type":"latest","client":1,"call":7,"return":8,"outcome":"ok","subject":"s","schema":"x","id":7,"version":1}
{"type":"by-id","client":1,"call":9,"return":10,"outcome":"ok","schema":"x","id":7}
{"type":"by-id","client":1,"call":11,"return":12,"outcome":"ok","id":8}
`,
	ClusterID: `{"v":1,"type":"history","object":"cluster-id","run":"r","clock":"ns"}
{"type":"know","client":1,"call":1,"return":2,"outcome":"ok","node":"1","cluster":""}
{"type":"take","client":0,"call":0,"return":9,"outcome":"unknown","node":"1","cluster":"A"}
{"type":"know","client":1,"call":3,"return":4,"outcome":"ok","node":"1","cluster":"A"}
`,
}

func TestObjectLines(t *testing.T) {
	for object, text := range samples {
		h, err := ReadObjects(bytes.NewBufferString(text), "f")
		require.NoError(t, err)
		require.Equal(t, object, h.Object)
		var out bytes.Buffer
		require.NoError(t, h.Write(&out))
		require.Equal(t, text, out.String())
		res, err := h.Check(linear.Limits{}, "")
		require.NoError(t, err)
		require.Equal(t, linear.Linearizable, res.Verdict, "%s: %+v", object, res.Violation)
	}
	require.ErrorContains(t, (&Objects{Object: "queue"}).Write(&bytes.Buffer{}), `no histories of the object "queue"`)
	head := func(object string) string {
		return `{"v":1,"type":"history","object":"` + object + `","run":"r","clock":"ns"}` + "\n"
	}
	op := func(kind, rest string) string {
		return `{"type":"` + kind + `","client":1,"call":3,"return":4,` + rest + `}`
	}
	for _, c := range []struct{ data, want string }{
		{"", "an empty file"},
		{head("queue"), `f:1: byte 40: object: want key-value, registry or cluster-id, found "queue"`},
		{`{"v":1,"type":"history","run":"r","clock":"ns"}`, `the field "object" is missing`},
		{op("get", `"outcome":"ok","key":"a"`), `want the header of a history, found a line of type get`},
		{head(KeyValue) + head(KeyValue), "a second header"},
		{head(KeyValue) + op("register", `"outcome":"ok"`), `a history of the object key-value has no line of type "register"`},
		{head(KeyValue) + op("put", `"outcome":"ok","key":"a"`), `the field "value" is missing`},
		{head(KeyValue) + op("put", `"outcome":"ok","key":"a","value":"b","old":"c"`), `a line of type put and this outcome has no field "old"`},
		{head(KeyValue) + op("get", `"outcome":"unknown","key":"a","value":"b"`), `no field "value"`},
		{head(KeyValue) + op("compare-and-set", `"outcome":"ok","key":"a","value":"b","old":""`), `the field "set" is missing`},
		{head(KeyValue) + `{"type":"get","client":1,"call":3,"return":2,"outcome":"ok","key":"a"}`, "returned at 2, before it was called at 3"},
		{head(KeyValue) + `{"type":"mark","what":"x","from":3,"to":2}`, "a mark that ends at 2, before it begins at 3"},
		{head(KeyValue) + op("get", `"outcome":"maybe"`), `outcome: want ok, unknown or fail, found "maybe"`},
		{head(Registry) + op("latest", `"outcome":"ok","subject":"s","schema":"x","id":1`), `the field "version" is missing`},
		{head(Registry) + op("latest", `"outcome":"ok","subject":"s","id":1`), `no field "id"`},
		{head(Registry) + op("register", `"outcome":"ok","subject":"s","schema":"x"`), `the field "id" is missing`},
		{head(Registry) + op("register", `"outcome":"ok","subject":"s","schema":"","id":1`), "an empty schema"},
		{head(Registry) + op("by-id", `"outcome":"ok","id":0`), "id"},
		{head(ClusterID) + op("take", `"outcome":"ok","node":"1","cluster":""`), "an empty cluster id"},
		{head(ClusterID) + op("know", `"outcome":"ok","nodes":"1"`), "nodes: a field that the schema does not have"},
		{head(ClusterID) + `{"type":"know"`, "f:2"},
	} {
		_, err := ReadObjects(bytes.NewBufferString(c.data), "f")
		require.ErrorContains(t, err, c.want, c.data)
	}
}

// What is read can be written and read again, and nothing panics.
func FuzzReadObjects(f *testing.F) {
	for _, text := range samples {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		h, err := ReadObjects(bytes.NewReader(data), "f")
		if err != nil {
			var at *ndjson.FileError
			if len(data) > 0 {
				require.ErrorAs(t, err, &at)
			}
			return
		}
		var out bytes.Buffer
		require.NoError(t, h.Write(&out))
		again, err := ReadObjects(&out, "f")
		require.NoError(t, err)
		require.Equal(t, h, again)
		if len(h.Ops) < 8 {
			_, err = h.Check(linear.Limits{Time: 10 * time.Millisecond}, "")
			require.NoError(t, err)
		}
	})
}
