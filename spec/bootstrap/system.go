package bootstrap

import (
	"fmt"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec/concern"
)

// pad makes the size of a State a multiple of 8.
const pad = 1

// Action numbers the actions.
type Action uint8

// Actions.
const (
	BeginFormat Action = iota
	WriteZeroPart
	FlushZeroPart
	RenameZero
	FlushZeroDirectory
	WriteMetaTemp
	FlushMetaTemp
	RenameMeta
	FlushMetaDirectory
	Start
	Elect
	AppendLeaderChange
	Claim
	Activate
	AppendChunk
	AppendOrdinary
	Truncate
	Replicate
	InstallSnapshot
	InstallZero
	Commit
	Replay
	TakeSnapshot
	AdvanceLogStart
	DeleteZero
	DeleteLegacy
	Crash
	Reformat
	numActions
)

var actionNames = []string{
	"BeginFormat", "WriteZeroPart", "FlushZeroPart", "RenameZero", "FlushZeroDirectory", "WriteMetaTemp", "FlushMetaTemp", "RenameMeta",
	"FlushMetaDirectory", "Start", "Elect", "AppendLeaderChange", "Claim", "Activate", "AppendChunk", "AppendOrdinary", "Truncate",
	"Replicate", "InstallSnapshot", "InstallZero", "Commit", "Replay", "TakeSnapshot", "AdvanceLogStart", "DeleteZero", "DeleteLegacy",
	"Crash", "Reformat",
}

// String is the name of the action.
func (a Action) String() string { return actionNames[a] }

// Bounds of a model.
const (
	boundEpochs checker.Bound = iota
	boundStand
	boundLog
	boundCrashes
	boundOthers
	boundSnapshots
	boundReformats
	boundRuns
)

var boundNames = []string{"epochs", "who may stand", "log length", "crashes", "ordinary records", "snapshots", "reformats", "runs of format"}

// machine is the actions of a model under a mutation.
type machine struct {
	Ctx
	model *Model
	info  *checker.Info
}

var _ concern.Spec[State] = (*machine)(nil)

// newMachine is a model under rules, without a guard.
func newMachine(m *Model, r *Rules, d concern.Drop) *machine {
	x := &machine{Ctx: Ctx{Rules: r, Transactions: m.Transactions, Dynamic: m.Dynamic, Drop: d}, model: m}
	x.info = &checker.Info{
		Name: m.Name, Actions: actionNames, Properties: Properties, Bounds: boundNames,
		Constants:  []checker.Constant{{Name: "model", Value: m.constants()}},
		Legend:     "[L1 begin1 version1(zero)] is a log: the LeaderChange of epoch 1, then records of it, with the source of bootstrap records; V is a LeaderChange with the voters; what is below | is only in the snapshot",
		FormatStep: formatStep,
		Hides:      hides,
	}
	for i := range m.Controllers {
		x.info.Processes = append(x.info.Processes, name(i))
	}
	return x
}

var hides = []string{
	"the log is abstract: an election, a fetch with its answer, and a commit are one step each, and what is appended is flushed; package spec has them with messages and flushes",
	"a leader learns a commit only while a majority still follows it",
	"records are batches of their own, and a bootstrap is two of them: its metadata.version and the rest; sizes are not modelled",
	"times: a timer may fire whenever its action is enabled",
}

func name(i int) string { return string(rune('A' + i)) }

// formatStep prints a step.
func formatStep(_ int, i checker.Instance) string {
	a, to := Action(i.Action), int(i.Args)
	switch a {
	case Elect:
		return fmt.Sprintf("%s(with the vote of %s)", a, name(to))
	case Truncate, Replicate, InstallSnapshot, InstallZero:
		return fmt.Sprintf("%s(from %s)", a, name(to))
	case Start:
		if to == 1 {
			return "Start(software before KIP-1170)"
		}
	case Crash:
		if to > 0 {
			return fmt.Sprintf("Crash(%s)", lost(to))
		}
	case Reformat:
		if to == 1 {
			return "Reformat(everything removed before)"
		}
		return "Reformat(meta.properties removed before)"
	}
	return a.String()
}

// lost says what a loss of power took.
func lost(way int) string {
	text := ""
	for _, part := range []struct {
		now  int
		what [3]string
	}{
		{way % 3, [3]string{"", "the change of the zero checkpoint's name", "the bytes of the zero checkpoint"}},
		{way / 3 % 3, [3]string{"", "the change of meta.properties' name", "the bytes of meta.properties"}},
		{way / 9, [3]string{"", "the removal of bootstrap.checkpoint", ""}},
	} {
		if part.now > 0 {
			if text != "" {
				text += " and "
			}
			text += part.what[part.now]
		}
	}
	return text + " lost"
}

// Info implements concern.Spec.
func (m *machine) Info() *checker.Info { return m.info }

// Init implements concern.Spec.
func (m *machine) Init(yield func(*State)) {
	for _, files := range m.model.Files {
		var s State
		for i := range m.model.Controllers {
			c := &s.C[i]
			f := files[min(i, len(files)-1)]
			c.Legacy, c.Zero = f.Legacy, f.Zero
			c.HadLegacy, c.HadZero = bit(f.Legacy != NoContent), bit(f.Zero != NoZero)
			if m.model.Runs == 0 {
				c.Meta, c.FormatRun, c.ZeroRun = 1, 1, bit(f.Zero != NoZero)
			}
			c.Old = bit(m.model.OldSoftware)
		}
		yield(&s)
	}
}

// Next implements concern.Spec.
func (m *machine) Next(s *State, yield func(concern.Step[State]), bounded func(checker.Bound)) {
	n := m.model.Controllers
	var t State
	give := func(i int, a Action, args int) {
		violated, reached := m.judge(a, args, i, s, &t)
		yield(concern.Step[State]{Process: i, Instance: checker.Instance{Action: checker.ActionID(a), Args: uint32(args)}, Next: &t, Violated: violated, Reached: reached})
	}
	// by takes a step of one controller.
	by := func(i int, a Action, args int, step func(c *Controller) bool) bool {
		t.C[i] = s.C[i]
		if !step(&t.C[i]) {
			return false
		}
		give(i, a, args)
		t = *s
		return true
	}
	// budget lists a step of one controller that the model allows so often.
	budget := func(i int, a Action, args int, used, limit uint8, b checker.Bound, count *uint8, step func(c *Controller) bool) {
		if limit == 0 {
			return
		}
		t.C[i] = s.C[i]
		if !step(&t.C[i]) {
			t.C[i] = s.C[i]
			return
		}
		if used == limit {
			bounded(b)
		} else {
			*count++
			give(i, a, args)
		}
		t = *s
	}
	t = *s
	for i := range n {
		c := &s.C[i]
		if m.model.Runs > 0 {
			if !by(i, BeginFormat, 0, func(c *Controller) bool { return m.BeginFormat(c, m.model.Runs) }) && c.FormatRun == m.model.Runs && c.Meta == 0 {
				bounded(boundRuns)
			}
			var step Action
			ok := false
			t.C[i] = *c
			if step, ok = m.FormatStep(&t.C[i]); ok {
				give(i, step, 0)
			}
			t = *s
		}
		for old := range uint8(2) {
			if old == 1 && !m.model.OldSoftware || old == 0 && m.model.OldSoftware && !m.model.Upgrades || old == 1 && c.Old == 0 {
				continue
			}
			by(i, Start, int(old), func(c *Controller) bool { return m.Start(c, old) })
		}
		known := min(s.HighWatermark, common(&c.Log, &s.Committed)) // a leader's word is of its own log
		by(i, Claim, 0, func(c *Controller) bool { return m.Claim(c, known) })
		by(i, Activate, 0, m.Activate)
		full := c.Log.end() == MaxLog
		switch {
		case !full:
			by(i, AppendLeaderChange, 0, m.appendLeaderChange)
			by(i, AppendChunk, 0, m.AppendChunk)
			budget(i, AppendOrdinary, 0, s.Others, m.model.Others, boundOthers, &t.Others, m.AppendOrdinary)
		case c.Leading == 1 && (c.lastEpoch() != c.Epoch || c.Phase == Writing):
			bounded(boundLog)
		}
		if !m.model.LazyStandbys || c.Leading == 1 && m.model.Snapshots > 0 {
			by(i, Replay, 0, func(c *Controller) bool { return m.Replay(c, known) })
		}
		if m.model.Snapshots > 0 {
			budget(i, TakeSnapshot, 0, s.Snapshots, m.model.Snapshots, boundSnapshots, &t.Snapshots, m.TakeSnapshot)
			by(i, AdvanceLogStart, 0, m.AdvanceLogStart)
		}
		if m.model.Deletions {
			by(i, DeleteZero, 0, m.DeleteZero)
			by(i, DeleteLegacy, 0, m.DeleteLegacy)
		}
		if m.model.Crashes > 0 {
			for way := range Survivors {
				budget(i, Crash, way, s.Crashes, m.model.Crashes, boundCrashes, &t.Crashes, func(c *Controller) bool { return m.Crash(c, way) })
			}
		}
		budget(i, Reformat, int(bit(m.model.Wipes)), s.Reformats, m.model.Reformats, boundReformats, &t.Reformats, func(c *Controller) bool { return m.Reformat(c, m.model.Wipes) })
		if m.commit(&t, &t.C[i]) {
			give(i, Commit, 0)
			t = *s
		}
		for j := range n {
			if (i == j) == (n > 1) {
				continue
			}
			m.stands(s, &t, i, j, give, bounded)
			l := &s.C[j]
			by(i, Truncate, j, func(c *Controller) bool { return m.truncate(c, l) })
			if !full {
				by(i, Replicate, j, func(c *Controller) bool { return m.replicate(c, l) })
			}
			by(i, InstallSnapshot, j, func(c *Controller) bool { return m.install(c, l) })
			by(i, InstallZero, j, func(c *Controller) bool { return m.installZero(c, l) })
		}
	}
}

// stands lists an election, if the model has room.
func (m *machine) stands(s, t *State, i, j int, give func(int, Action, int), bounded func(checker.Bound)) {
	if !m.elect(t, i, j) {
		return
	}
	epoch := t.C[i].Epoch
	switch stand := m.model.Stand; {
	case int(epoch) > m.model.Epochs:
		bounded(boundEpochs)
	case stand != nil && (int(epoch) > len(stand) || stand[epoch-1]>>i&1 == 0):
		bounded(boundStand)
	default:
		give(i, Elect, j)
	}
	*t = *s
}
