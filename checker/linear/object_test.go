package linear_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker/linear"
)

// history is operations one after the other, each of client 1 and ten long, unless it says
// otherwise.
func history(ops ...linear.ObjectOp) []linear.ObjectOp {
	for i := range ops {
		if ops[i].Return == 0 {
			ops[i].Client, ops[i].Call, ops[i].Return = 1, int64(20*i), int64(20*i+10)
		}
	}
	return ops
}

func kv(key string, in linear.KeyValueOp) linear.ObjectOp {
	return linear.ObjectOp{Key: key, Input: &in, Reads: in.Kind == linear.Get}
}

func put(key, value string) linear.ObjectOp {
	return kv(key, linear.KeyValueOp{Kind: linear.Put, Value: value})
}

func get(key, value string) linear.ObjectOp {
	return kv(key, linear.KeyValueOp{Kind: linear.Get, Value: value, There: value != ""})
}

func cas(key, old, value string, set bool) linear.ObjectOp {
	return kv(key, linear.KeyValueOp{Kind: linear.CompareAndSet, Old: old, Value: value, There: set})
}

func reg(subject, schema string, id int32) linear.ObjectOp {
	return linear.ObjectOp{Input: &linear.RegistryOp{Kind: linear.Register, Subject: subject, Schema: schema, ID: id}}
}

func latest(subject string, version, id int32, schema string) linear.ObjectOp {
	return linear.ObjectOp{Reads: true, Input: &linear.RegistryOp{Kind: linear.Latest, Subject: subject, Schema: schema, ID: id, Version: version}}
}

func byID(id int32, schema string) linear.ObjectOp {
	return linear.ObjectOp{Reads: true, Input: &linear.RegistryOp{Kind: linear.ByID, Schema: schema, ID: id}}
}

func knows(node, id string) linear.ObjectOp {
	return linear.ObjectOp{Key: node, Reads: true, Input: &linear.ClusterIDOp{ID: id}}
}

func takes(node, id string) linear.ObjectOp {
	return linear.ObjectOp{Key: node, Input: &linear.ClusterIDOp{Set: true, ID: id}}
}

func unknown(op linear.ObjectOp) linear.ObjectOp {
	op.Outcome, op.Client, op.Call, op.Return = linear.Unknown, 2, 1, 1
	return op
}

func failed(op linear.ObjectOp) linear.ObjectOp {
	op.Outcome = linear.Failed
	return op
}

func TestObjects(t *testing.T) {
	deleted := kv("a", linear.KeyValueOp{Kind: linear.Delete})
	for name, c := range map[string]struct {
		object linear.Object
		ops    []linear.ObjectOp
		wrong  int // the operation that cannot be, -1 if all can
	}{
		"a store":                        {linear.KeyValue(), history(get("a", ""), put("a", "1"), put("b", "2"), get("a", "1"), cas("a", "1", "3", true), cas("a", "1", "4", false), get("a", "3"), deleted, get("a", ""), cas("a", "", "5", true), get("a", "5")), -1},
		"a stale read":                   {linear.KeyValue(), history(put("a", "1"), put("a", "2"), get("a", "1")), 2},
		"a lost write":                   {linear.KeyValue(), history(put("a", "1"), get("a", "")), 1},
		"of another key":                 {linear.KeyValue(), history(put("a", "1"), put("b", "2"), get("a", "2")), 2},
		"both were the first":            {linear.KeyValue(), history(cas("a", "", "1", true), cas("a", "", "2", true)), 1},
		"a write of unknown outcome":     {linear.KeyValue(), history(unknown(put("a", "1")), get("a", ""), get("a", "1"), get("a", "1")), -1},
		"which is undone":                {linear.KeyValue(), history(unknown(put("a", "1")), get("a", "1"), get("a", "")), 2},
		"a set of unknown outcome":       {linear.KeyValue(), history(unknown(cas("a", "x", "1", false)), put("a", "x"), get("a", "1")), -1},
		"that failed, and has an effect": {linear.KeyValue(), history(failed(put("a", "1")), get("a", "1")), 1},

		"a registry":                   {linear.Registry(), history(latest("s", 0, 0, ""), byID(1, ""), reg("s", "x", 1), reg("t", "x", 1), reg("s", "y", 7), reg("s", "x", 1), latest("s", 2, 7, "y"), latest("t", 1, 1, "x"), byID(7, "y"), byID(2, "")), -1},
		"an id of two schemas":         {linear.Registry(), history(reg("s", "x", 1), reg("s", "y", 1)), 1},
		"two ids of a schema":          {linear.Registry(), history(reg("s", "x", 1), reg("t", "x", 2)), 1},
		"a stale latest":               {linear.Registry(), history(reg("s", "x", 1), reg("s", "y", 2), latest("s", 1, 1, "x")), 2},
		"a lost registration":          {linear.Registry(), history(reg("s", "x", 1), latest("s", 0, 0, "")), 1},
		"a version twice":              {linear.Registry(), history(reg("s", "x", 1), reg("s", "x", 1), latest("s", 2, 1, "x")), 2},
		"an id that is forgotten":      {linear.Registry(), history(reg("s", "x", 1), byID(1, "")), 1},
		"registered, nobody was told":  {linear.Registry(), history(unknown(reg("s", "x", 0)), byID(4, "x"), reg("s", "y", 5), reg("s", "x", 4)), -1},
		"and its id is another's then": {linear.Registry(), history(unknown(reg("s", "x", 0)), byID(4, "x"), reg("s", "y", 4)), 2},

		"a cluster id":               {linear.ClusterID(), history(knows("1", ""), takes("1", "A"), knows("2", ""), knows("1", "A"), takes("1", "A"), unknown(takes("1", "B"))), -1},
		"an id that is forgotten, 2": {linear.ClusterID(), history(takes("1", "A"), knows("1", "")), 1},
		"another id":                 {linear.ClusterID(), history(takes("1", "A"), takes("1", "B")), 1},
		"an id out of nowhere":       {linear.ClusterID(), history(knows("1", "A")), 0},
	} {
		t.Run(name, func(t *testing.T) {
			res, err := linear.CheckObject(c.ops, c.object, linear.Limits{})
			require.NoError(t, err)
			if c.wrong < 0 {
				require.Equal(t, linear.Linearizable, res.Verdict, res.Violation)
				return
			}
			require.Equal(t, linear.NotLinearizable, res.Verdict)
			require.Equal(t, c.wrong, res.Violation.Later, res.Violation.Text)
			path := filepath.Join(t.TempDir(), "picture.html")
			require.NoError(t, linear.WriteObjectHTML(path, c.ops, c.object, res.Violation, []linear.Note{{Who: "node 1", From: 0, To: 1000, What: "BecomeLeader", Details: "epoch 3"}}))
			page, err := os.ReadFile(path)
			require.NoError(t, err)
			require.True(t, strings.Contains(string(page), "BecomeLeader"), "what the system did is beside the operations")
			require.True(t, strings.Contains(string(page), "violation"))
		})
	}
	_, err := linear.CheckObject([]linear.ObjectOp{{Call: 2, Return: 1, Input: &linear.ClusterIDOp{}}}, linear.ClusterID(), linear.Limits{})
	require.ErrorContains(t, err, "operation 0: returned at 1, before it was called at 2")
}

// Histories that a real object made, of clients at once, are accepted, many keys of many
// operations at a time; and as soon as one answer is changed they are not.
func TestManyKeys(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	o := linear.KeyValue()
	state := map[string]any{}
	var ops []linear.ObjectOp
	for i := range 1500 {
		key := fmt.Sprint(r.IntN(40))
		in := &linear.KeyValueOp{Kind: linear.KeyValueKind(r.IntN(4)), Value: fmt.Sprint(i), Old: fmt.Sprint(r.IntN(i + 1)), There: r.IntN(2) == 0}
		op := linear.ObjectOp{Client: int32(i % 20), Key: key, Call: int64(10 * i), Return: int64(10*i + 150), Reads: in.Kind == linear.Get, Input: in}
		s, ok := state[key]
		if !ok {
			s = o.Init
		}
		if in.Kind == linear.Get {
			in.Value = o.Show(s)
			in.There = in.Value != "nothing"
		}
		if ok, _ = o.Step(s, &op); !ok {
			in.There = !in.There
		}
		ok, state[key] = o.Step(s, &op)
		require.True(t, ok)
		ops = append(ops, op)
	}
	res, err := linear.CheckObject(ops, o, linear.Limits{})
	require.NoError(t, err)
	require.Equal(t, linear.Linearizable, res.Verdict, res.Reason)
	for i := range ops {
		if in := ops[i].Input.(*linear.KeyValueOp); in.Kind == linear.Get && in.There && i > 700 {
			in.Value = "never put"
			break
		}
	}
	res, err = linear.CheckObject(ops, o, linear.Limits{})
	require.NoError(t, err)
	require.Equal(t, linear.NotLinearizable, res.Verdict)
	res, err = linear.CheckObject(ops, o, linear.Limits{Ops: 10})
	require.NoError(t, err)
	require.Equal(t, linear.Undecided, res.Verdict)
}
