package traces

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/quorate/quorate/spec"
)

// RunFile is the name of the file that says who took part in a run.
const RunFile = "run.json"

// Run says who took part in a run.
type Run struct {
	// Voters is the voter set in the beginning, Observers the other replicas.
	Voters    []int32 `json:"voters"`
	Observers []int32 `json:"observers,omitempty"`
	// KRaftVersion is 0 if the voter set stays as it is, and 1 if it is in the log and may
	// change (KIP-853).
	KRaftVersion int16 `json:"kraftVersion,omitempty"`
	// AsksVoters: a follower that is a voter, and whose leader does not answer, asks other
	// voters too, as an observer does. Kafka's has since 4.0
	// (KafkaRaftClient.maybeSendFetchToBestNode); ours does not.
	AsksVoters bool `json:"asksVoters,omitempty"`
	// PreVote says whose software knows pre-votes.
	PreVote PreVote `json:"preVote"`
	// Nodes are the replica keys, as far as they are known.
	Nodes []RunNode `json:"nodes,omitempty"`
	// Unlogged is what the recorder does not say. Nil: it says everything.
	Unlogged *Unlogged `json:"unlogged,omitempty"`
}

// Unlogged is what a recorder does not say, so that its absence says nothing.
type Unlogged struct {
	// Actions leave no event: they are hidden steps, of which Hidden may lie between two
	// events of a node.
	Actions []string `json:"actions,omitempty"`
	Hidden  int      `json:"hidden,omitempty"`
	// Fields of events, of those below.
	Fields []string `json:"fields,omitempty"`
}

// Fields that a recorder may leave out: how the log changed, what became durable, and the
// records of Fetch responses, of which it only says whether there are any (the bytes).
const (
	UnloggedLog     = "log"
	UnloggedDurable = "durable"
	UnloggedRecords = "records"
)

// MaxHidden is how many hidden steps there may be between two events of a node.
const MaxHidden = 16

// unlogged is Unlogged as the validator asks for it.
type unlogged struct {
	actions               [spec.NumReplicaActions]bool
	log, durable, records bool
}

// handles says whether handling a message may leave no event.
func (u *unlogged) handles() bool {
	for a, is := range u.actions {
		if is && spec.ActionID(a).Handles() {
			return true
		}
	}
	return false
}

func (u *Unlogged) check() (unlogged, error) {
	var set unlogged
	if u == nil {
		return set, nil
	}
	if u.Hidden < 0 || u.Hidden > MaxHidden {
		return set, fmt.Errorf("unlogged.hidden %d: from 0 to %d", u.Hidden, MaxHidden)
	}
	if len(u.Actions) > 0 && u.Hidden == 0 {
		return set, errors.New("unlogged.actions without unlogged.hidden: how many of them may there be between two events of a node?")
	}
	for _, name := range u.Actions {
		a, ok := spec.ActionNamed(name)
		switch {
		case !ok:
			return set, fmt.Errorf("unlogged.actions: unknown action %q", name)
		case a == spec.ActionCrash || a == spec.ActionRestart || a == spec.ActionLoseDisk:
			return set, fmt.Errorf("unlogged.actions: %s has to leave an event, or is shown by one", name)
		}
		set.actions[a] = true
	}
	for _, name := range u.Fields {
		switch name {
		case UnloggedLog:
			set.log = true
		case UnloggedDurable:
			set.durable = true
		case UnloggedRecords:
			set.records = true
		default:
			return set, fmt.Errorf("unlogged.fields: unknown field %q", name)
		}
	}
	return set, nil
}

// RunNode is a replica key: an id and the id of a log directory, empty if unknown.
type RunNode struct {
	ID  int32  `json:"id"`
	Dir string `json:"dir"`
}

// PreVote is a set of nodes: in JSON true for all, false for none, or a list.
type PreVote struct {
	All  bool
	Only []int32
}

// Has says whether a node is in the set.
func (p PreVote) Has(id int32) bool { return p.All || slices.Contains(p.Only, id) }

// UnmarshalJSON reads true, false or a list of ids.
func (p *PreVote) UnmarshalJSON(b []byte) error {
	*p = PreVote{}
	var err error
	if b = bytes.TrimSpace(b); len(b) > 0 && b[0] == '[' {
		err = json.Unmarshal(b, &p.Only)
	} else {
		err = json.Unmarshal(b, &p.All)
	}
	if err != nil {
		return fmt.Errorf("preVote: want true, false or an array of node ids, found %s", b)
	}
	return nil
}

// MarshalJSON writes what UnmarshalJSON reads.
func (p PreVote) MarshalJSON() ([]byte, error) {
	if p.Only != nil {
		return json.Marshal(p.Only)
	}
	return json.Marshal(p.All)
}

// ReadRun reads a run.json. It refuses fields that it does not know; where the run
// comes from (kind, seed) is of no concern here.
func ReadRun(path string) (*Run, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var file struct {
		Run
		Kind json.RawMessage `json:"kind"`
		Seed json.RawMessage `json:"seed"`
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, inJSON(err))
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, fmt.Errorf("%s: something follows the object", path)
	}
	r := &file.Run
	if len(r.Voters) == 0 {
		return nil, fmt.Errorf("%s: no voters", path)
	}
	if _, err := r.members(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if _, err := r.Unlogged.check(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// inJSON says what is wrong with a text in terms of JSON, and not of Go.
func inJSON(err error) error {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("the file is empty: want an object")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the object ends too soon")
	case !errors.As(err, &wrong):
		return errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	want := "an object"
	switch wrong.Type.Kind() {
	case reflect.Int16, reflect.Int32, reflect.Int:
		want = "a whole number of " + strconv.Itoa(wrong.Type.Bits()) + " bits"
	case reflect.Slice:
		want = "an array"
	case reflect.String:
		want = "a string"
	case reflect.Bool:
		want = "true or false"
	}
	field := strings.TrimPrefix(wrong.Field, "Run.")
	if field == "" {
		return fmt.Errorf("byte %d: want %s, found %s", wrong.Offset, want, wrong.Value)
	}
	return fmt.Errorf("byte %d: %s: want %s, found %s", wrong.Offset, field, want, wrong.Value)
}

// dir is the id of the log directory of a node, empty if it is not known.
func (r *Run) dir(id int32) string {
	for _, n := range r.Nodes {
		if n.ID == id {
			return n.Dir
		}
	}
	return ""
}

// members maps node ids to replicas of the specification, in ascending order.
type members struct {
	ids    []int32  // by index
	voters spec.Set // in the beginning
	pre    [spec.MaxReplicas]bool
	// dynamic: the voters may change. dirs are the directories of the nodes, as far as they
	// are known.
	dynamic bool
	dirs    map[int32]string
}

func (r *Run) members() (*members, error) {
	m := &members{ids: slices.Concat(r.Voters, r.Observers), dynamic: r.KRaftVersion == 1, dirs: map[int32]string{}}
	if r.KRaftVersion < 0 || r.KRaftVersion > 1 {
		return nil, fmt.Errorf("kraftVersion %d: there are 0 and 1", r.KRaftVersion)
	}
	slices.Sort(m.ids)
	if len(m.ids) > spec.MaxReplicas {
		return nil, fmt.Errorf("%d replicas, the specification has room for %d", len(m.ids), spec.MaxReplicas)
	}
	for i, id := range m.ids {
		if id < 0 {
			return nil, fmt.Errorf("node %d: ids are from 0", id)
		}
		if i > 0 && id == m.ids[i-1] {
			return nil, fmt.Errorf("node %d is listed twice", id)
		}
		if slices.Contains(r.Voters, id) {
			m.voters = m.voters.With(spec.ID(i + 1))
		}
		m.pre[i] = r.PreVote.Has(id)
	}
	for i, n := range r.Nodes {
		if n.Dir != "" {
			m.dirs[n.ID] = n.Dir
		}
		if m.index(n.ID) < 0 {
			return nil, fmt.Errorf("node %d of nodes is no voter and no observer", n.ID)
		}
		if slices.ContainsFunc(r.Nodes[:i], func(o RunNode) bool { return o.ID == n.ID }) {
			return nil, fmt.Errorf("node %d is listed twice in nodes", n.ID)
		}
	}
	for _, id := range r.PreVote.Only {
		if m.index(id) < 0 {
			return nil, fmt.Errorf("node %d of preVote is no voter and no observer", id)
		}
	}
	return m, nil
}

// index is the place of a node, -1 if it takes no part.
func (m *members) index(node int32) int { return slices.Index(m.ids, node) }

// spec is the replica of the specification that a node id stands for. -1 is
// nobody; ok is false for a node that takes no part.
func (m *members) spec(node int32) (id spec.ID, ok bool) {
	if node == -1 {
		return spec.Nobody, true
	}
	i := m.index(node)
	return spec.ID(i + 1), i >= 0
}

// node is the node id of a replica, -1 for nobody.
func (m *members) node(id spec.ID) int32 {
	if id == spec.Nobody {
		return -1
	}
	return m.ids[id-1]
}
