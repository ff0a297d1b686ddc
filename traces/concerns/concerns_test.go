package concerns

import (
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces"
	replicaevent "github.com/quorate/quorate/traces/event"
	event "github.com/quorate/quorate/traces/event/concern"
)

// recorded is a run of real processes with all five concerns: three controllers and two
// observers that learned their cluster id, the first by Fetch and the second by FetchSnapshot.
const recorded = "../recorded/five-1"

// run is what the nodes of a run recorded, by node, to be edited.
type run struct {
	t      *testing.T
	events map[int32][]event.Event
	inputs map[int32]Input
	alone  bool // without the traces of replicas
}

// replicas are the traces of the run, read once.
var replicas = sync.OnceValues(func() (map[int32]traces.Input, error) {
	all := map[int32]traces.Input{}
	recs, err := traces.Recordings(recorded)
	if err != nil {
		return nil, err
	}
	for _, in := range recs[0].Inputs {
		source, err := in.Open()
		if err != nil {
			return nil, err
		}
		var events []replicaevent.Event
		for err == nil {
			var e replicaevent.Event
			if err = source.Read(&e); err == nil {
				events = append(events, e)
			}
		}
		if err != io.EOF {
			return nil, err
		}
		all[events[0].Node.ID] = traces.Events(in.Name, events)
		if err := source.(io.Closer).Close(); err != nil {
			return nil, err
		}
	}
	return all, nil
})

func open(t *testing.T) *run {
	all, err := replicas()
	require.NoError(t, err)
	r := &run{t: t, events: map[int32][]event.Event{}, inputs: map[int32]Input{}}
	for node, replica := range all {
		in := File(filepath.Join(recorded, event.FileName(node)))
		in.Replica = &replica
		source, err := in.Open()
		require.NoError(t, err)
		for {
			var e event.Event
			if err := source.Read(&e); err == io.EOF {
				break
			} else {
				require.NoError(t, err)
			}
			r.events[e.Node] = append(r.events[e.Node], e)
			r.inputs[e.Node] = in
		}
		require.NoError(t, source.(io.Closer).Close())
	}
	require.Len(t, r.events, 5)
	return r
}

// find is the place of the n-th event of an action.
func (r *run) find(node int32, action string, n int) int {
	r.t.Helper()
	for i, e := range r.events[node] {
		if e.Action == action {
			if n--; n < 0 {
				return i
			}
		}
	}
	r.t.Fatalf("node %d has no such %s", node, action)
	return -1
}

// of is the first event of an action.
func (r *run) of(node int32, action string) *event.Event {
	r.t.Helper()
	return &r.events[node][r.find(node, action, 0)]
}

// move puts an event of a node to another place.
func (r *run) move(node int32, from, to int) {
	e := r.events[node][from]
	r.events[node] = slices.Insert(slices.Delete(r.events[node], from, from+1), to, e)
	for i := range r.events[node] {
		if i > 0 && r.events[node][i-1].Process == r.events[node][i].Process {
			r.events[node][i].Seq = r.events[node][i-1].Seq + 1
		} else {
			r.events[node][i].Seq = 1
		}
	}
}

func (r *run) drop(node int32, at int) {
	r.events[node] = slices.Delete(r.events[node], at, at+1)
}

func (r *run) validate(o Options) *Result {
	r.t.Helper()
	var inputs []Input
	for node, events := range r.events {
		in := Events(filepath.Base(r.inputs[node].Name), events)
		if !r.alone {
			in.Replica = r.inputs[node].Replica
		}
		inputs = append(inputs, in)
	}
	res, err := Validate(inputs, o)
	require.NoError(r.t, err)
	return res
}

// Files are found beside the traces, and held against each other as they lie there.
func TestFind(t *testing.T) {
	recs, err := traces.Recordings(recorded)
	require.NoError(t, err)
	require.Len(t, recs, 1)
	inputs, err := Find(recs[0].Inputs)
	require.NoError(t, err)
	require.Len(t, inputs, 5)
	for _, in := range inputs {
		require.NotNil(t, in.Replica, in.Name)
	}
	res, err := Validate(inputs, Options{})
	require.NoError(t, err)
	require.Equal(t, traces.Accepted, res.Verdict)
}

func TestRecorded(t *testing.T) {
	res := open(t).validate(Options{})
	require.Nil(t, res.Rejection)
	require.Equal(t, traces.Accepted, res.Verdict)
	require.Equal(t, 75, res.Of(event.Bootstrap))
	require.Equal(t, 108, res.Of(event.ClusterID))
	require.Equal(t, 2, res.Events[event.ClusterID]["Adopt"])
	require.Equal(t, 1, res.Events[event.Bootstrap]["AppendChunk"])
	require.Equal(t, 53, res.Tied)
	require.Equal(t, 16, res.Ends)
	require.Zero(t, res.Hidden)
	r := open(t)
	r.alone = true
	require.Equal(t, traces.Accepted, r.validate(Options{}).Verdict, "without the traces of the replicas")
	for node := range open(t).events { // any of them may be missing
		r := open(t)
		delete(r.events, node)
		require.Nil(t, r.validate(Options{}).Rejection, "without node %d", node)
	}
}

// What is edited is no behaviour any more, and the rejection names the event, the action and
// what is wrong with it.
func TestEdited(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(r *run) (node int32, at int) // and where it must be rejected
		why  string
		text string
	}{
		"adopted before it is committed": {func(r *run) (int32, int) {
			to := r.find(4, "Replay", 0)
			r.move(4, r.find(4, "Adopt", 0), to)
			return 4, to
		}, "Adopt is not enabled: guard IDCommitted is false", ""},
		"in memory before it is on disk": {func(r *run) (int32, int) {
			to := r.find(4, "Adopt", 0) + 1
			r.move(4, r.find(4, "SetMemory", 1), to)
			return 4, to
		}, "SetMemory is not enabled: guard IsPersisted is false", ""},
		"in memory before one directory is flushed": {func(r *run) (int32, int) {
			at := r.find(4, "SetMemory", 1)
			require.Equal(r.t, "FlushMeta", r.events[4][at-1].Action)
			r.move(4, at, at-1)
			return 4, at - 1
		}, "SetMemory is not enabled: guard IsPersisted is false", ""},
		"in memory and never adopted": {func(r *run) (int32, int) {
			at := r.find(4, "Adopt", 0)
			to := r.find(4, "SetMemory", 1)
			r.events[4] = append(r.events[4][:at], r.events[4][to:]...)
			return 4, at
		}, "SetMemory is not enabled: guard IsWriting is false", ""},
		"another id is adopted": {func(r *run) (int32, int) {
			other := "B"
			r.of(4, "Adopt").ID = &other
			return 4, r.find(4, "Adopt", 0)
		}, "Adopt is possible with another effect", "clusterId: specification A, recorded B"},
		"another id is written": {func(r *run) (int32, int) {
			at := r.find(4, "Adopt", 0) + 1
			r.events[4][at].Meta.Cluster = "B"
			return 4, at
		}, "WriteMeta is possible with another effect", "recorded V2 cluster B directory"},
		"another directory id": {func(r *run) (int32, int) {
			at := r.find(4, "Adopt", 0) + 1
			r.events[4][at].Meta.Directory = "AAAAAAAAAAAAAAAAAAAAAA"
			return 4, at
		}, "WriteMeta is possible with another effect", "recorded V2 cluster A directory AAAAAAAAAAAAAAAAAAAAAA"},
		"written in place": {func(r *run) (int32, int) {
			at := r.find(4, "Adopt", 0) + 1
			r.events[4][at].Meta.Unflushed = true
			return 4, at
		}, "WriteMeta is possible with another effect", "meta.unflushed: specification false, recorded true"},
		"the metadata directory first": {func(r *run) (int32, int) {
			at := r.find(4, "Adopt", 0) + 1
			r.events[4][at].Dir, r.events[4][at].Meta.Directory = 0, r.events[4][at+2].Meta.Directory
			return 4, at
		}, "WriteMeta is not enabled: guard DataFirst is false", ""},
		"known, and found unknown": {func(r *run) (int32, int) {
			at := r.find(4, "Start", 2)
			require.Equal(r.t, event.ClusterID, r.events[4][at].Concern)
			r.events[4][at].Found.Dirs[0].Cluster = ""
			return 4, at
		}, "a crash does not leave what was found", "meta.properties: specification V2 cluster A"},
		"end without begin": {func(r *run) (int32, int) {
			at := r.find(2, "Replay", 0)
			e := &r.events[2][at]
			e.Records, e.Base = e.Records[1:], e.Base+1
			return 2, at
		}, "", ""},
		"a transaction is left open": {func(r *run) (int32, int) {
			leader, at := r.leader()
			chunk := &r.events[leader][at]
			chunk.Records = chunk.Records[:len(chunk.Records)-1]
			for node := range r.events {
				for i, e := range r.events[node] {
					if e.Action == "Replay" && e.Base == 1 {
						r.events[node][i].Records = chunk.Records
						r.events[node][i].End--
						r.events[node][i].Image = &event.Image{Open: true}
					}
				}
			}
			return leader, -1
		}, "", ""},
		"the bootstrap is written twice": {func(r *run) (int32, int) {
			first, at := r.leader()
			once := r.events[first][at-1]
			require.Equal(r.t, "Activate", once.Action)
			for node, events := range r.events {
				for i, e := range events {
					if e.Action == "Activate" && e.Writes == nil {
						events[i].Writes, events[i].Source, events[i].Total = once.Writes, once.Source, once.Total
						return node, i
					}
				}
			}
			return -1, -1
		}, "Activate is possible with another effect", "writes: specification false, recorded true"},
		"nobody aborts": {func(r *run) (int32, int) {
			first, at := r.leader()
			r.events[first][at-1].Aborts = true
			return first, at - 1
		}, "Activate is possible with another effect", "aborts: specification false, recorded true"},
		"another bootstrap than that of the zero checkpoint": {func(r *run) (int32, int) {
			first, at := r.leader()
			e := &r.events[first][at-1]
			e.Source.File.Digest, e.Source.From = "0123456789abcdef", event.FromLegacy
			return first, at - 1
		}, "Activate is possible with another effect", "source: specification zero, recorded legacy"},
		"active before all is handed over": {func(r *run) (int32, int) {
			first, at := r.leader()
			r.events[first][at].Active = true
			return first, at
		}, "AppendChunk is possible with another effect", "active: specification false, recorded true"},
		"activated and not claimed": {func(r *run) (int32, int) {
			first, at := r.leader()
			r.drop(first, at-2)
			return first, at - 2
		}, "the machine was not told that it leads epoch 1", ""},
		"claimed and never elected": {func(r *run) (int32, int) {
			first, at := r.leader()
			r.events[first][at-2].Epoch = 7
			return first, at - 2
		}, "Claim is not enabled: guard EpochCommitted is false", ""},
		"applied before it is committed": {func(r *run) (int32, int) {
			first, at := r.leader()
			require.Equal(r.t, "Replay", r.events[first][at+1].Action)
			r.events[first][at+1].After = r.events[first][at].After
			return first, at + 1
		}, "the machine has applied the log up to 11, and its replica knew it to be committed up to", "NoUncommittedReplay"},
		"applied of another epoch": {func(r *run) (int32, int) {
			at := r.find(2, "Replay", 0)
			r.events[2][at].Epoch = 9
			return 2, at
		}, "the log of the replica has no records of epoch 9 from offset 1 to 11", ""},
		"a bootstrap counts as committed": {func(r *run) (int32, int) {
			at := r.find(2, "Start", 1)
			require.Equal(r.t, event.Bootstrap, r.events[2][at].Concern)
			r.events[2][at].Image.Level = 35
			return 2, at
		}, "Start is possible with another effect", "image.level: specification 0, recorded 35"},
		"another zero checkpoint than format has written": {func(r *run) (int32, int) {
			at := r.find(2, "Start", 1)
			r.events[2][at].Zero.Digest = "0123456789abcdef"
			return 2, at
		}, "Start is possible with another effect", "digest 0123456789abcdef"},
		"named before it is flushed": {func(r *run) (int32, int) {
			at := r.find(3, "RenameZero", 0)
			r.move(3, at, at-1)
			return 3, at - 1
		}, "the next step of format is FlushZeroPart", ""},
		"meta.properties before the zero checkpoint": {func(r *run) (int32, int) {
			at := r.find(3, "WriteMetaTemp", 0)
			r.drop(3, at-1)
			return 3, at - 1
		}, "the next step of format is FlushZeroDirectory", ""},
		"deleted with nothing in its place": {func(r *run) (int32, int) {
			to := r.find(1, "TakeSnapshot", 0)
			r.move(1, r.find(1, "DeleteZero", 0), to)
			return 1, to
		}, "DeleteZero is not enabled: guard FileReplaced is false", ""},
		"a snapshot of something else": {func(r *run) (int32, int) {
			at := r.find(1, "TakeSnapshot", 0)
			r.events[1][at].Image.Cluster = ""
			return 1, at
		}, "TakeSnapshot is possible with another effect", "image.clusterId: specification A, recorded none"},
		"a snapshot that lacks the id": {func(r *run) (int32, int) {
			at := r.find(5, "InstallSnapshot", 0)
			r.events[5][at].Image.Cluster = ""
			return 5, at
		}, "InstallSnapshot is possible with another effect", "SnapshotCarriesID"},
		"two nodes apply different records": {func(r *run) (int32, int) {
			at := r.find(3, "Replay", 0)
			r.events[3][at].Records[1].Level = 34
			r.events[3][at].Records = slices.DeleteFunc(r.events[3][at].Records, func(r event.Record) bool { return r.Kind == event.ClusterIDRec })
			r.events[3][at].Image = &event.Image{Level: 34}
			r.events[3] = r.events[3][:at+1]
			return 3, at
		}, "", ""},
		"registered before it knows": {func(r *run) (int32, int) {
			to := r.find(4, "Adopt", 0)
			r.move(4, r.find(4, "Register", 0), to)
			return 4, to
		}, "Register is not enabled: guard IsKnown is false", ""},
		"registered with another id": {func(r *run) (int32, int) {
			other := "B"
			r.of(4, "Register").ID = &other
			return 4, r.find(4, "Register", 0)
		}, "Register is possible with another effect", "clusterId: specification A, recorded B"},
		"registered twice": {func(r *run) (int32, int) {
			at := r.find(4, "Register", 0)
			r.events[4] = slices.Insert(r.events[4], at, r.events[4][at])
			return 4, at + 1
		}, "Register is not enabled: guard NotRegistered is false", ""},
		"a process goes on that has ended": {func(r *run) (int32, int) {
			at := r.find(4, "Timeout", 0)
			e := r.events[4][at]
			e.Seq++
			r.events[4] = append(r.events[4], e)
			return 4, at + 1
		}, "the process has said that it ends", ""},
		"an action that there is not": {func(r *run) (int32, int) {
			r.of(4, "Adopt").Action = "Elect"
			return 4, r.find(4, "Elect", 0)
		}, "there is no action of this name that a node takes", ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := open(t)
			node, at := c.edit(r)
			res := r.validate(Options{})
			require.Equal(t, traces.Rejected, res.Verdict)
			text := res.Rejection.Text()
			t.Log("\n" + text)
			if at >= 0 {
				require.EqualValues(t, at+1, res.Rejection.Line, text)
				require.Equal(t, node, res.Rejection.Node, text)
				require.Equal(t, r.events[node][at].Action, res.Rejection.Action, text)
				require.True(t, strings.HasPrefix(text, res.Rejection.File+":"), text)
			}
			require.Contains(t, res.Rejection.Why, c.why)
			require.Contains(t, text, c.text)
		})
	}
}

// leader is who has written the bootstrap, and where it handed it over.
func (r *run) leader() (node int32, at int) {
	for node, events := range r.events {
		if at := slices.IndexFunc(events, func(e event.Event) bool { return e.Action == "AppendChunk" }); at >= 0 {
			return node, at
		}
	}
	r.t.Fatal("nobody has")
	return 0, 0
}
