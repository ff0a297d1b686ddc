package event

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces/event/ndjson"
)

func TestRoundTrip(t *testing.T) {
	r := newRand(2)
	rounds := 5000
	if testing.Short() {
		rounds = 500
	}
	for range rounds {
		e := randomEvent(r)
		line := AppendJSON(nil, &e)
		var got Event
		require.NoError(t, Decode(line, &got), "%s", line)
		require.Equal(t, e, got, "%s", line)
		agree(t, line, &got)
	}
}

// Every field of every type must reach the line: a field that is added to
// event.go and not to the codec shows here.
func TestEveryFieldIsCoded(t *testing.T) {
	full := fullEvent()
	var walk func(at string, v reflect.Value)
	walk = func(at string, v reflect.Value) {
		switch v.Kind() {
		case reflect.Pointer:
			require.False(t, v.IsNil(), at)
			walk(at, v.Elem())
		case reflect.Slice:
			require.NotZero(t, v.Len(), at)
			walk(at+"[0]", v.Index(0))
		case reflect.Struct:
			for i := range v.NumField() {
				walk(at+"."+v.Type().Field(i).Name, v.Field(i))
			}
		default:
			if strings.HasSuffix(at, ".Has") || strings.HasSuffix(at, ".NoDigest") { // TestNoDigest
				return
			}
			if strings.HasSuffix(at, "[0].Kind") || strings.HasSuffix(at, "[0].Count") { // of a run of one KRaftVoters record: see TestDecodeRefuses
				return
			}
			require.False(t, v.IsZero(), "%s is not set in this test", at)
			before := AppendJSON(nil, &full)
			old := reflect.New(v.Type()).Elem()
			old.Set(v)
			switch v.Kind() {
			case reflect.Bool:
				v.SetBool(false)
			case reflect.String:
				v.SetString("other")
			case reflect.Uint64:
				v.SetUint(v.Uint() + 1)
			default:
				v.SetInt(v.Int() + 1)
			}
			after := AppendJSON(nil, &full)
			require.NotEqual(t, string(before), string(after), "%s is not in the line", at)
			var got Event
			require.NoError(t, Decode(after, &got), at)
			require.Equal(t, full, got, at)
			v.Set(old)
		}
	}
	walk("Event", reflect.ValueOf(&full))
}

func fullEvent() Event {
	m := Message{Conn: Conn{1, 2, 3, 4}, Correlation: 5, Response: true, Kind: Fetch, External: true, Epoch: 6, Leader: 7,
		Error: 8, PreVote: true, Granted: true, Offset: 9, LastEpoch: 10, HighWatermark: 11, Diverging: &EpochEnd{12, 13},
		Records: []Run{{14, KRaftVoters, 1, []Node{{53, "kR"}}}}, Read: 16, Snapshot: SnapshotID{35, 36}, Position: 37, Bytes: 38, Size: 39}
	recv := m
	recv.Diverging, recv.Records = &EpochEnd{21, 22}, []Run{{Epoch: 23, Kind: KRaftVoters, Count: 1, Voters: []Node{{53, "kS"}}}}
	return Event{Node: Node{1, "kQ"}, Inc: 2, Seq: 3, Step: 4, Action: "HandleFetchResponse", Args: Args{5, true, 6, SnapshotID{25, 26}, &Node{54, "kT"}},
		Recv: &recv, Send: []Message{m}, State: State{1<<13 - 1, "Leader", 7, 8, 9, 10, 11, 12, 13, 14, 15, SnapshotID{27, 28}, Fetching{SnapshotID{29, 30}, 31}, []Node{{55, "kU"}}},
		Log: &LogChange{16, 32, 17, []Run{{18, KRaftVoters, 1, []Node{{56, "kV"}}}}, 20, false}, Durable: &Durable{true, 21, SnapshotID{33, 34}},
		Attach: &Attach{22, []Run{{40, KRaftVoters, 1, []Node{{57, "kW"}}}}, []SnapshotID{{42, 43}}, []Node{{58, "kX"}}, 44, []int32{45}, true,
			&Leading{46, true, []ReplicaEnd{{47, 48}}, 49, 50, []int32{51}}}, Detach: &Detach{52}}
}

// A log that began with a snapshot of another replica has no digest.
func TestNoDigest(t *testing.T) {
	e := Event{Node: Node{ID: 1}, Inc: 1, Seq: 1, Log: &LogChange{Truncated: -1, Reset: 7, Base: 7, NoDigest: true}}
	line := AppendJSON(nil, &e)
	require.Contains(t, string(line), `"log":{"reset":7,"base":7}`)
	var got Event
	require.NoError(t, Decode(line, &got))
	require.Equal(t, e, got)
}

func TestDecodeRefuses(t *testing.T) {
	head := `{"v":1,"node":{"id":1},"inc":1,"seq":1,"step":1`
	request := `"conn":{"from":1,"to":2,"inc":1,"n":1},"corr":1,"dir":"request","kind":"Vote","epoch":1`
	response := strings.Replace(request, "request", "response", 1)
	for _, c := range []struct{ line, want string }{
		{``, "the line ends too soon (byte 0 of the line)"},
		{`hello`, `want an object, found 'h' (byte 0 of the line)`},
		{`[]`, `want an object, found an array (byte 0 of the line)`},
		{`{"v":2}`, `v: the version of the schema is 2, this program reads version 1 only (byte 6 of the line)`},
		{`{"v":1,"v":1}`, `v: a duplicate field (byte 11 of the line)`},
		{`{"v":1}`, `the field "node" is missing (byte 6 of the line)`},
		{head + `,}`, `want a field name, found '}' (byte 48 of the line)`},
		{head + `}}`, `something follows the object (byte 48 of the line)`},
		{head + `} {}`, `something follows the object (byte 49 of the line)`},
		{head + `,"foo":1}`, `foo: a field that the schema does not have (byte 54 of the line)`},
		{head + `,"V":1}`, `V: a field that the schema does not have (byte 52 of the line)`},
		{head + `,"state":{"hw":-2}}`, `state.hw: -2 is out of range (-1 to 9223372036854775807) (byte 62 of the line)`},
		{head + `,"state":{"hw":1.0}}`, `state.hw: want an integer, without fraction or exponent (byte 62 of the line)`},
		{head + `,"state":{"hw":1e3}}`, `state.hw: want an integer, without fraction or exponent (byte 62 of the line)`},
		{head + `,"state":{"hw":01}}`, `state.hw: a number with a leading zero (byte 62 of the line)`},
		{head + `,"state":{"hw":"1"}}`, `state.hw: want an integer, found a string (byte 62 of the line)`},
		{head + `,"state":{"hw":null}}`, `state.hw: want an integer, found null (byte 62 of the line)`},
		{head + `,"state":{"hw":99999999999999999999}}`, `state.hw: the number is out of range (-1 to 9223372036854775807) (byte 62 of the line)`},
		{head + `,"state":{"epoch":2147483648}}`, `state.epoch: 2147483648 is out of range (0 to 2147483647) (byte 65 of the line)`},
		{head + `,"state":{"digest":"00"}}`, `state.digest: want 16 hexadecimal digits, found 2 (byte 67 of the line)`},
		{head + `,"state":{"digest":"00C0FFEE00C0FFEE"}}`, `state.digest: want 16 hexadecimal digits in lower case (byte 67 of the line)`},
		{head + `,"args":{"park":1}}`, `args.park: want a boolean, found a number (byte 63 of the line)`},
		{head + `,"args":{"park":tree}}`, `args.park: want true or false (byte 63 of the line)`},
		{head + `,"action":"a` + "\x01" + `"}`, `action: a control character in a string (byte 59 of the line)`},
		{head + `,"action":"a` + "\xff" + `"}`, `action: a string that is not UTF-8 (byte 58 of the line)`},
		{head + `,"action":"\ud800"}`, `action: a \u that is no character (byte 58 of the line)`},
		{head + `,"action":"\x"}`, `action: an unknown escape (byte 58 of the line)`},
		{head + `,"recv":{}}`, `recv: the field "conn" is missing (byte 56 of the line)`},
		{head + `,"recv":{"conn":{"from":-2}}}`, `recv.conn.from: -2 is out of range (-1 to 2147483647) (byte 71 of the line)`},
		{head + `,"recv":{"dir":"up"}}`, `recv.dir: want "request" or "response", found "up" (byte 66 of the line)`},
		{head + `,"send":[{` + request + `},{` + response + `}]}`, `send[1]: the field "leader" is missing (byte 235 of the line)`},
		{head + `,"send":[{` + request + `,"error":40000}]}`, `send[0].error: 40000 is out of range (-32768 to 32767) (byte 153 of the line)`},
		{head + `,"recv":{` + request + `,"records":[[1,"Data",1],[1,"Data",0]]}}`, `recv.records[1]: 0 is out of range (1 to 9223372036854775807) (byte 178 of the line)`},
		{head + `,"recv":{` + request + `,"records":[[1,"Data"]]}}`, `recv.records[0]: want [epoch, kind, count], found fewer (byte 165 of the line)`},
		{head + `,"recv":{` + request + `,"records":[[1,"Data",1,1]]}}`, `recv.records[0]: want [epoch, kind, count], found a fourth element (byte 167 of the line)`},
		{head + `,"recv":{` + request + `,"records":[[1,"KRaftVoters",1]]}}`, `recv.records[0]: want [epoch, kind, count, voters], found fewer (byte 174 of the line)`},
		{head + `,"recv":{` + request + `,"records":[[1,"KRaftVersion",1,[]]]}}`, `recv.records[0]: want [epoch, kind, count], found a fourth element (byte 175 of the line)`},
		{head + `,"recv":{` + request + `,"records":[[1,"Data",1],[1,"KRaftVoters",2,[{"id":1}]]]}}`, `recv.records[1]: a run of 2 KRaftVoters records: each is a run of its own (byte 198 of the line)`},
		{head + `,"recv":{` + request + `,"records":[[1,"KRaftVoters",1,[{"id":1},{}]]]}}`, `recv.records[0][1]: the field "id" is missing (byte 185 of the line)`},
		{head + `,"log":{}}`, `log: the field "base" is missing (byte 55 of the line)`},
		{head + `,"log":{"base":1,"reset":0}}`, `log.reset: 0 is out of range (1 to 9223372036854775807) (byte 72 of the line)`},
		{head + `,"args":{"snapshot":[1]}}`, `args.snapshot: want [end, epoch], found fewer (byte 70 of the line)`},
		{head + `,"args":{"snapshot":[1,2,3]}}`, `args.snapshot: want [end, epoch], found a third element (byte 72 of the line)`},
		{head + `,"state":{"fetching":[1,2]}}`, `state.fetching: want [end, epoch, position], found fewer (byte 73 of the line)`},
		{head + `,"state":{"fetching":[1,2,3,4]}}`, `state.fetching: want [end, epoch, position], found a fourth element (byte 75 of the line)`},
	} {
		var e Event
		require.EqualError(t, Decode([]byte(c.line), &e), c.want, "%s", c.line)
	}
}

// A line that was cut anywhere is torn; nothing else is.
func TestEveryPrefixIsTorn(t *testing.T) {
	r := newRand(3)
	rounds := 100
	if testing.Short() {
		rounds = 20
	}
	for range rounds {
		e := randomEvent(r)
		line := AppendJSON(nil, &e)
		for n := range line {
			var got Event
			err := Decode(line[:n], &got)
			require.True(t, isTorn(err), "%v: %s", err, line[:n])
			require.LessOrEqual(t, err.(*ndjson.Error).Offset, n)
		}
	}
}

// agree holds the decoder against encoding/json: what is written again from the
// decoded event must be, as generic maps, what the line was, but for fields at
// the value that their absence means.
func agree(t testing.TB, line []byte, e *Event) {
	t.Helper()
	want, got := parse(t, line), parse(t, AppendJSON(nil, e))
	prune(want)
	prune(got)
	require.Equal(t, want, got, "%s", line)
}

// prune takes fields away that mean nothing, from both sides of a comparison.
func prune(event map[string]any) {
	none := func(object map[string]any, names ...string) {
		for _, name := range names {
			if number, ok := object[name].(json.Number); ok && (number == "-0" || number == "0") || object[name] == false || object[name] == "" {
				delete(object, name)
			}
			if list, ok := object[name].([]any); ok && len(list) == 0 {
				delete(object, name)
			}
		}
	}
	message := func(v any) {
		m, _ := v.(map[string]any)
		none(m, "external", "leader", "error", "preVote", "granted", "offset", "lastEpoch", "hw", "records", "read")
	}
	message(event["recv"])
	list, _ := event["send"].([]any)
	for _, m := range list {
		message(m)
	}
	none(event, "send", "action")
	node, _ := event["node"].(map[string]any)
	none(node, "dir")
	args, _ := event["args"].(map[string]any)
	none(args, "count", "park", "read")
	log, _ := event["log"].(map[string]any)
	none(log, "appended")
	durable, _ := event["durable"].(map[string]any)
	none(durable, "election")
	attach, _ := event["attach"].(map[string]any)
	none(attach, "snapshots", "fetchingSize", "granted", "fetched")
	leading, _ := attach["leading"].(map[string]any)
	none(leading, "leaderChange", "ends", "read", "readOffset", "confirmed")
	for _, o := range []struct {
		object map[string]any
		name   string
	}{{log, "truncated"}, {durable, "logEnd"}} {
		if o.object[o.name] == json.Number("-1") {
			delete(o.object, o.name)
		}
	}
	for _, name := range []string{"args", "state"} {
		if o, ok := event[name].(map[string]any); ok && len(o) == 0 {
			delete(event, name)
		}
	}
	zero(event)
}

// zero writes -0 as 0.
func zero(v any) {
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if x == json.Number("-0") {
				v[k] = json.Number("0")
			}
			zero(x)
		}
	case []any:
		for i, x := range v {
			if x == json.Number("-0") {
				v[i] = json.Number("0")
			}
			zero(x)
		}
	}
}

func FuzzDecode(f *testing.F) {
	r := newRand(4)
	for range 30 {
		e := randomEvent(r)
		line := AppendJSON(nil, &e)
		f.Add(line)
		f.Add(line[:r.IntN(len(line))])
	}
	f.Add([]byte(` { "v" : 1 , "node" : { "id" : -0 } , "inc":1,"seq":1,"step":0,"action":"\u00e9\ud83d\ude00\/\b"} `))
	f.Fuzz(func(t *testing.T, line []byte) {
		var e Event
		err := Decode(line, &e)
		if schema := againstSchema(t, line); err == nil && schema != nil {
			t.Fatalf("decoded, but the schema says %v", schema)
		}
		if err != nil {
			var v any
			if isTorn(err) && generic(line, &v) == nil {
				t.Fatalf("a whole JSON value is no torn line")
			}
			return
		}
		agree(t, line, &e)
		var again Event
		if err := Decode(AppendJSON(nil, &e), &again); err != nil {
			t.Fatal(err)
		}
		if len(e.Send) == 0 {
			e.Send = nil
		}
		require.Equal(t, e, again)
	})
}

func benchEvent() Event {
	return Event{Node: Node{2, "kQ3vT0"}, Inc: 1, Seq: 123456, Step: 98765, Action: "HandleFetchResponse",
		Recv: &Message{Conn: Conn{2, 1, 1, 17}, Correlation: 4711, Response: true, Kind: Fetch, Epoch: 5, Leader: 1,
			Offset: 1000, HighWatermark: 990, Records: []Run{{Epoch: 5, Kind: Data, Count: 12}}},
		Send:  []Message{{Conn: Conn{2, 1, 1, 17}, Correlation: 4712, Kind: Fetch, Epoch: 5, Offset: 1012, LastEpoch: 5}},
		State: State{Has: HasRole | HasEpoch | HasLogEnd | HasHighWatermark, Role: "Follower", Epoch: 5, LogEnd: 1012, HighWatermark: 990},
		Log:   &LogChange{Truncated: -1, Base: 1000, Appended: []Run{{Epoch: 5, Kind: Data, Count: 12}}, Digest: 0xc0ffee}, Durable: &Durable{LogEnd: 1012}}
}

func TestEncodeAllocatesNothing(t *testing.T) {
	e := benchEvent()
	buf := make([]byte, 0, 4096)
	require.Zero(t, testing.AllocsPerRun(100, func() { buf = AppendJSON(buf[:0], &e) }))
}

func BenchmarkEncode(b *testing.B) {
	e := benchEvent()
	var buf []byte
	b.ReportAllocs()
	for b.Loop() {
		buf = AppendJSON(buf[:0], &e)
	}
	b.SetBytes(int64(len(buf)))
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}

func BenchmarkDecode(b *testing.B) {
	e := benchEvent()
	line := AppendJSON(nil, &e)
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if err := Decode(line, &e); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
}
