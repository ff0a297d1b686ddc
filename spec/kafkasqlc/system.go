package kafkasqlc

import (
	"fmt"
	"strings"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec/concern"
)

// pad makes the size of a State a multiple of 8.
const pad = 8

// Action numbers the actions.
type Action uint8

// Actions.
const (
	Append Action = iota
	Start
	ScanSnapshots
	Bootstrap
	Skip
	Apply
	BecomeReady
	Trigger
	Dump
	AppendSnapshotRecord
	WaiterTimeout
	Crash
	LoseDisk
	RetentionByTime
)

var actionNames = []string{
	"Append", "Start", "ScanSnapshots", "Bootstrap", "Skip", "Apply", "BecomeReady", "Trigger", "Dump", "AppendSnapshotRecord", "WaiterTimeout",
	"Crash", "LoseDisk", "RetentionByTime",
}

// String is the name of the action.
func (a Action) String() string { return actionNames[a] }

// Bounds of a model.
const (
	boundJournal checker.Bound = iota
	boundSnapshots
	boundCrashes
	boundExpired
	boundDisks
)

var boundNames = []string{"journal", "snapshots", "crashes", "expired records", "lost disks"}

// Rules are the decisions of C that are gaps, by name, each taken so that it holds.
type Rules struct {
	// ExpiresByTime: records of the journal are deleted when they are old.
	// ExpiresUnread: also such as who is up has not read.
	ExpiresByTime, ExpiresUnread bool
	// TwoAtOnce: an instance may be asked for another snapshot before it has made the one.
	TwoAtOnce bool
	// TimesOut: who waits for a snapshot goes when it has taken too long.
	TimesOut bool
	// AnyBoot: the marker of any instance that starts makes one ready.
	AnyBoot bool
	// BootsFirst: the marker is appended before the snapshots are looked through.
	BootsFirst bool
}

// Model is a box that is explored to the end.
type Model struct {
	Name, Why string
	// Instances, of which all are ready in the beginning.
	Instances int
	// Operations that clients append, and snapshots that are asked for.
	Operations, Snapshots   uint8
	Crashes, Expired, Disks uint8
	Decides                 func(r *Rules)
	Unsafe                  string
}

// Models are all models.
var Models = []Model{
	{
		Name: "kafkasqlc", Why: "C with its gaps closed: nothing is deleted, a snapshot is asked for when the one before it is there, and waited for",
		Instances: 2, Operations: 1, Snapshots: 2, Crashes: 2, Expired: 3, Disks: 1,
	},
	{
		Name: "kafkasqlc-as-shipped", Why: "C as it was shipped: records may be deleted by age, there is one slot for who asks, and who waits gives up",
		Instances: 1, Operations: 2, Snapshots: 2, Crashes: 1, Expired: 3, Disks: 1, Unsafe: "NoHole",
		Decides: func(r *Rules) { r.ExpiresByTime, r.TwoAtOnce, r.TimesOut = true, true, true },
	},
}

func (m *Model) constants() string {
	return fmt.Sprintf("C: instances %d, operations %d, snapshots %d, crashes %d, expired records %d, lost disks %d", m.Instances, m.Operations, m.Snapshots, m.Crashes, m.Expired, m.Disks)
}

type machine struct {
	model *Model
	rules *Rules
	info  *checker.Info
}

var _ concern.Spec[State] = (*machine)(nil)

func newMachine(model *Model, r *Rules) *machine {
	m := &machine{model: model, rules: r}
	m.info = &checker.Info{
		Name: model.Name, Actions: actionNames, Properties: Properties, Bounds: boundNames,
		Constants:  []checker.Constant{{Name: "model", Value: model.constants()}},
		Legend:     "a database is the offsets of the operations in it; [| op snapshot 1 op] is a journal, deleted up to the bar",
		FormatStep: m.formatStep, Hides: []string{
			"times: whatever waits may find that it has waited too long",
			"rows: what an operation does to them is in package kafkasql",
			"a file is written in one step; half of one is in package kafkasql",
		},
	}
	for i := range model.Instances {
		m.info.Processes = append(m.info.Processes, instanceName(i))
	}
	m.info.Processes = append(m.info.Processes, "clients")
	return m
}

func instanceName(i int) string { return string(rune('A' + i)) }

// Info implements concern.Spec.
func (m *machine) Info() *checker.Info { return m.info }

// Init implements concern.Spec.
func (m *machine) Init(yield func(*State)) {
	var s State
	for i := range m.model.Instances {
		s.I[i].Phase = Ready
	}
	yield(&s)
}

// Next implements concern.Spec.
func (m *machine) Next(s *State, yield func(concern.Step[State]), bounded func(checker.Bound)) {
	t := *s
	give := func(p int, a Action, arg uint8, ok bool) {
		if ok {
			bad, reached := m.judge(a, p, s, &t)
			yield(concern.Step[State]{Process: p, Instance: checker.Instance{Action: checker.ActionID(a), Args: uint32(arg)}, Next: &t, Violated: bad, Reached: reached})
		}
		t = *s
	}
	budget := func(p int, a Action, used *uint8, limit uint8, b checker.Bound, ok bool) {
		if ok && *used == limit {
			bounded(b)
			ok = false
		}
		if ok {
			*used++
		}
		give(p, a, 0, ok)
	}
	for i := range m.model.Instances {
		n := &s.I[i]
		give(i, Start, 0, m.start(&t, i))
		give(i, ScanSnapshots, n.Files, m.scanSnapshots(&t, i))
		give(i, Bootstrap, 0, m.bootstrap(&t, i))
		at := max(n.Pos, s.LogStart)
		give(i, Skip, at, m.skip(&t, i))
		give(i, Apply, at, m.apply(&t, i))
		give(i, BecomeReady, at, m.becomeReady(&t, i))
		if s.Asked == m.model.Snapshots && n.Phase == Ready {
			bounded(boundSnapshots)
		}
		give(i, Trigger, s.Asked+1, m.trigger(&t, i))
		give(i, Dump, at, m.dump(&t, i))
		for id := uint8(1); id <= s.Asked; id++ {
			give(i, AppendSnapshotRecord, id, m.appendSnapshotRecord(&t, i, id))
			give(i, WaiterTimeout, id, m.waiterTimeout(&t, i, id))
		}
		budget(i, Crash, &t.Crashes, m.model.Crashes, boundCrashes, m.crash(&t, i))
		budget(i, LoseDisk, &t.Disks, m.model.Disks, boundDisks, m.loseDisk(&t, i))
	}
	if s.N == MaxJournal {
		bounded(boundJournal)
	}
	give(m.model.Instances, Append, s.N, m.write(&t))
	budget(-1, RetentionByTime, &t.Expired, m.model.Expired, boundExpired, m.retentionByTime(&t))
}

// write appends an operation of a client.
func (m *machine) write(s *State) bool {
	if s.Ops == m.model.Operations || s.N == MaxJournal {
		return false
	}
	s.Ops++
	s.J[s.N] = Record{Operation, s.Ops}
	s.N++
	return true
}

func (m *machine) formatStep(_ int, i checker.Instance) string {
	a := Action(i.Action)
	switch a {
	case Append, Skip, Apply, BecomeReady, Dump:
		return fmt.Sprintf("%s(at offset %d)", a, i.Args)
	case Trigger, AppendSnapshotRecord, WaiterTimeout:
		return fmt.Sprintf("%s(snapshot %d)", a, i.Args)
	case ScanSnapshots:
		return fmt.Sprintf("%s(files %s)", a, bits(uint8(i.Args)))
	}
	return a.String()
}

func bits(b uint8) string {
	var list []string
	for n := range 8 {
		if b>>n&1 == 1 {
			list = append(list, fmt.Sprint(n))
		}
	}
	return "{" + strings.Join(list, " ") + "}"
}

// Describe implements concern.Spec.
func (m *machine) Describe(s *State) []checker.Field {
	var fields []checker.Field
	add := func(path, value string, show bool) {
		if show {
			fields = append(fields, checker.Field{Path: path, Value: value})
		}
	}
	for i := range m.model.Instances {
		n, at := &s.I[i], instanceName(i)+"."
		add(at+"phase", n.Phase.String(), true)
		add(at+"database", bits(n.Has), n.Phase >= Scanned)
		add(at+"reads", fmt.Sprintf("from offset %d", max(n.Pos, s.LogStart)), n.Phase >= Booted)
		add(at+"skips", fmt.Sprintf("up to the marker of snapshot %d", n.Skip), n.Skip != 0)
		add(at+"files", bits(n.Files), n.Files != 0)
		add(at+"requests", "wait for "+bits(n.Waits), n.Waits != 0)
		add(at+"remembers", bits(n.Slot), n.Slot != 0)
	}
	var j []string
	for off := range s.N {
		r := s.J[off]
		text := fmt.Sprintf("%s %d", kindNames[r.Kind], r.Number)
		if r.Kind == Boot {
			text = "bootstrap of " + instanceName(int(r.Number&3)-1)
		}
		j = append(j, text)
	}
	add("journal", "["+strings.Join(j[:s.LogStart], ", ")+"| "+strings.Join(j[s.LogStart:], ", ")+"]", true)
	add("snapshots topic", fmt.Sprint(s.Topic[:s.NTopic]), true)
	for id := range s.Asked {
		add(fmt.Sprintf("snapshot %d", id+1), "operations "+bits(s.Image[id]), true)
	}
	return fields
}

// InstanceView is what a predicate of find sees.
type InstanceView struct {
	ID    string `expr:"id"`
	Phase string `expr:"phase"`
	Reads int    `expr:"reads"`
	Skips int    `expr:"skips"`
}

// Env implements concern.Spec.
func (m *machine) Env(s *State) map[string]any {
	var instances []InstanceView
	for i := range m.model.Instances {
		n := &s.I[i]
		instances = append(instances, InstanceView{ID: instanceName(i), Phase: n.Phase.String(), Reads: int(n.Pos), Skips: int(n.Skip)})
	}
	return map[string]any{"instances": instances, "snapshots": int(s.NTopic), "logStart": int(s.LogStart), "logEnd": int(s.N)}
}
