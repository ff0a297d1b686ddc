package kafkasql

import (
	"fmt"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec/concern"
)

// pad makes the size of a State a multiple of 8.
const pad = 2

// Action numbers the actions.
type Action uint8

// Actions.
const (
	Append Action = iota
	RetryAppend
	RegisterWaiter
	Start
	Choose
	FetchImage
	RejectImage
	Install
	ReplayAll
	GiveUp
	Apply
	BecomeReady
	OutOfRange
	NoticeRewind
	BeginCapture
	FinishCapture
	UploadChunk
	VerifyUpload
	AbandonAttempt
	AppendCommit
	SendRequest
	ConfirmRequest
	SendLock
	ObserveCoord
	LeaseExpires
	NoteOffsets
	WriteDataChunk
	SendCommit
	TrimJournal
	TrimData
	CollectGarbage
	Crash
	Pause
	Resume
	LoseDisk
	DamageObject
	RewindJournal
	RecreateJournal
	RetentionByTime
	ClockJump
	ChangeVersion
	CleanUp
	ProbeKill
)

var actionNames = []string{
	"Append", "RetryAppend", "RegisterWaiter", "Start", "Choose", "FetchImage", "RejectImage", "Install", "ReplayAll", "GiveUp", "Apply",
	"BecomeReady", "OutOfRange", "NoticeRewind", "BeginCapture", "FinishCapture", "UploadChunk", "VerifyUpload", "AbandonAttempt", "AppendCommit",
	"SendRequest", "ConfirmRequest", "SendLock", "ObserveCoord", "LeaseExpires", "NoteOffsets", "WriteDataChunk", "SendCommit",
	"TrimJournal", "TrimData", "CollectGarbage", "Crash", "Pause", "Resume", "LoseDisk", "DamageObject", "RewindJournal", "RecreateJournal",
	"RetentionByTime", "ClockJump", "ChangeVersion", "CleanUp", "ProbeKill",
}

// mutants are taken by mutations only.
var mutants = []string{"RegisterWaiter", "TrimData", "RetentionByTime", "CleanUp", "ProbeKill"}

// String is the name of the action.
func (a Action) String() string { return actionNames[a] }

// Bounds of a model.
const (
	boundJournal checker.Bound = iota
	boundAttempts
	boundCrashes
	boundPauses
	boundTrims
	boundDamages
	boundRewinds
	boundLost
	boundMoves
	boundJumps
	boundCollected
	boundTopics
	boundDisks
	boundFailures
)

var boundNames = []string{"journal", "attempts", "crashes", "pauses", "trims", "damages", "rewinds", "lost acknowledgements", "versions", "clock jumps", "collections", "topics", "lost disks", "failed attempts"}

type machine struct {
	model *Model
	rules *Rules
	drop  concern.Drop
	info  *checker.Info
}

var _ concern.Judge[State] = (*machine)(nil)

func newMachine(model *Model, r *Rules, d concern.Drop) *machine {
	m := &machine{model: model, rules: r, drop: d}
	m.info = &checker.Info{
		Name: model.Name, Actions: actionNames, Properties: Properties, Bounds: boundNames,
		Constants: []checker.Constant{{Name: "model", Value: model.constants()}},
		Legend: "an offset is that of the next record; {1:op1 2:op3 next 3, offset 3} is a database: rows by id with the operation that made them, " +
			"the id that comes next, and the offset that it says of itself; [0 1| 2] is a journal of which offsets 0 and 1 are trimmed",
		FormatStep: m.formatStep, Hides: hides,
	}
	for i := range model.Instances {
		m.info.Processes = append(m.info.Processes, instanceName(i))
	}
	m.info.Processes = append(m.info.Processes, "clients", "operator")
	return m
}

var hides = []string{
	"the journal is one log that does not fail; what becomes of its own replicas is in package spec",
	"a consumer learns of a rewound or re-created journal before it reads on; what it served in between is not judged",
	"whoever trims or collects reads the images that justify it again in the same step",
	"an image is two halves, and is fetched in one step",
	"refreshes of a lease: in a model with bounded clocks a lease expires only if its holder has ended, has given up or is paused",
	"times: in the other models whatever waits for a time may find it passed",
}

func instanceName(i int) string { return string(rune('A' + i)) }

// Info implements concern.Spec.
func (m *machine) Info() *checker.Info { return m.info }

// Init implements concern.Spec.
func (m *machine) Init(yield func(*State)) {
	s := State{Journal: 1, JEpoch: 1}
	for i := range m.model.Instances {
		n := &s.I[i]
		n.Version = 1
		if m.model.Versions != nil {
			n.Version = m.model.Versions[i]
		}
		if i < m.model.Up {
			n.Phase, n.DB = Ready, DB{Journal: 1, Schema: n.Version}
		}
	}
	for range m.model.Written {
		m.write(&s)
		for i := range m.model.Up {
			m.apply(&s, i)
		}
	}
	yield(&s)
}

// Next implements concern.Spec.
func (m *machine) Next(s *State, yield func(concern.Step[State]), bounded func(checker.Bound)) {
	g := give{m: m, s: s, t: *s, yield: yield, bounded: bounded}
	for i := range m.model.Instances {
		if s.I[i].Paused == 1 {
			g.budget(i, Resume, 0, nil, 0, 0, m.resume(&g.t, i))
			continue
		}
		m.starts(&g, i)
		m.works(&g, i)
		switch {
		case !m.takesPart(i):
		case m.model.Variant == A:
			m.locks(&g, i)
		default:
			m.captures(&g, i)
		}
		m.suffers(&g, i)
	}
	m.others(&g)
}

// give hands steps on.
type give struct {
	m       *machine
	s       *State
	t       State
	yield   func(concern.Step[State])
	bounded func(checker.Bound)
}

// by is a step that is free.
func (g *give) by(p int, a Action, arg uint32, ok bool) {
	if ok {
		if g.m.model.Endless {
			g.m.slide(&g.t)
		}
		violated, reached := g.m.judge(a, arg, p, g.s, &g.t)
		g.yield(concern.Step[State]{Process: p, Instance: checker.Instance{Action: checker.ActionID(a), Args: arg}, Next: &g.t, Violated: violated, Reached: reached})
	}
	g.t = *g.s
}

// budget is a step that a model allows so often.
func (g *give) budget(p int, a Action, arg uint32, used *uint8, limit uint8, b checker.Bound, ok bool) {
	switch {
	case used == nil:
		g.by(p, a, arg, ok)
	case limit == 0 || !ok:
		g.t = *g.s
	case *used == limit:
		g.bounded(b)
		g.t = *g.s
	default:
		*used++
		g.by(p, a, arg, true)
	}
}

func (m *machine) starts(g *give, i int) {
	n := &g.s.I[i]
	g.by(i, Start, uint32(g.s.N), m.start(&g.t, i))
	if c, ok := m.candidate(g.s, n); ok && n.Phase == Choosing {
		g.by(i, Choose, image(g.s, g.s.Commits[c]), m.choose(&g.t, i))
	}
	if n.Cand != 0 {
		arg := image(g.s, g.s.Commits[n.Cand-1])
		g.by(i, FetchImage, arg, m.fetchImage(&g.t, i))
		g.by(i, RejectImage, arg, m.rejectImage(&g.t, i))
		g.by(i, Install, arg, m.install(&g.t, i))
	}
	g.by(i, ReplayAll, uint32(g.s.LogStart), m.replayAll(&g.t, i))
	g.by(i, GiveUp, uint32(g.s.LogStart), m.giveUp(&g.t, i))
	g.by(i, BecomeReady, uint32(n.Pos), m.becomeReady(&g.t, i))
	g.by(i, OutOfRange, uint32(n.Pos), m.outOfRange(&g.t, i))
	g.by(i, NoticeRewind, uint32(n.Pos), m.noticeRewind(&g.t, i))
}

// image packs an image and its offset.
func image(s *State, c Commit) uint32 {
	if c.Att == 0 {
		return 0
	}
	return uint32(c.Att) | uint32(s.Atts[c.Att-1].Off)<<4
}

func (m *machine) works(g *give, i int) {
	n := &g.s.I[i]
	if n.Pos < g.s.N {
		r := g.s.J[n.Pos]
		g.by(i, Apply, uint32(n.Pos)|uint32(r.Kind)<<4|uint32(r.Number)<<8, m.apply(&g.t, i))
	}
	if n.Pos+1 < g.s.N {
		r := g.s.J[n.Pos+1]
		g.by(i, Apply, uint32(n.Pos+1)|uint32(r.Kind)<<4|uint32(r.Number)<<8, m.applyOther(&g.t, i))
	}
	g.by(i, CleanUp, 0, m.cleanUp(&g.t, i))
	if !m.model.Clients {
		return
	}
	r, _ := m.operation(g.s)
	arg := uint32(g.s.N) | uint32(r.Kind)<<4 | uint32(r.Number)<<8
	g.by(i, Append, arg, m.request(&g.t, i, false))
	g.budget(i, Append, arg|1<<12, &g.t.Lost, m.model.Lost, boundLost, m.request(&g.t, i, true))
	g.by(i, RetryAppend, uint32(n.Unsure), m.retryAppend(&g.t, i))
	g.by(i, RegisterWaiter, uint32(n.Unregistered), m.register(&g.t, i))
}

func (m *machine) captures(g *give, i int) {
	n := &g.s.I[i]
	if n.Phase == Ready && n.Att == 0 && int(g.s.NAtts) == m.model.Attempts && m.model.Attempts > 0 && n.DB.Off > 0 && m.rules.Wants(g.s, i) {
		g.bounded(boundAttempts)
	}
	g.by(i, BeginCapture, uint32(g.s.NAtts+1)|uint32(n.Pos)<<4, m.beginCapture(&g.t, i))
	if n.Att == 0 {
		return
	}
	arg := uint32(n.Att) | uint32(g.s.Atts[n.Att-1].Off)<<4
	if ok := m.finishCapture(&g.t, i); ok {
		g.by(i, FinishCapture, uint32(n.Att)|uint32(g.t.Atts[n.Att-1].Off)<<4, true)
	}
	g.t = *g.s
	half := uint32(1)
	if n.Step == HalfUploaded {
		half = 2
	}
	g.by(i, UploadChunk, arg|half<<8, m.uploadChunk(&g.t, i, false))
	g.budget(i, UploadChunk, arg|half<<8|1<<12, &g.t.Damages, m.model.Damages, boundDamages, m.model.LosesUploads && m.uploadChunk(&g.t, i, true))
	g.by(i, VerifyUpload, arg, m.verifyUpload(&g.t, i))
	g.by(i, AbandonAttempt, arg, m.abandonAttempt(&g.t, i, false))
	g.budget(i, AbandonAttempt, arg|1<<12, &g.t.Failures, m.model.Failures, boundFailures, m.abandonAttempt(&g.t, i, true))
	g.by(i, AppendCommit, arg, m.appendCommit(&g.t, i, false))
	if !m.model.Clients {
		g.budget(i, AppendCommit, arg|1<<12, &g.t.Lost, m.model.Lost, boundLost, m.appendCommit(&g.t, i, true))
	}
}

func (m *machine) locks(g *give, i int) {
	n := &g.s.I[i]
	if n.Phase == Ready && n.Step == Idle && int(g.s.NAtts) == m.model.Attempts && n.DB.Off > 0 && m.rules.Wants(g.s, i) {
		g.bounded(boundAttempts)
	}
	if int(g.s.NCoord) == m.model.Unread && !m.model.LockOnly {
		g.bounded(boundTopics)
	}
	g.by(i, SendRequest, 0, m.sendRequest(&g.t, i))
	g.by(i, ConfirmRequest, 0, m.confirmRequest(&g.t, i))
	g.by(i, SendLock, 0, m.sendLock(&g.t, i))
	if n.CoordPos < g.s.NCoord {
		c := g.s.Coord[n.CoordPos]
		arg := uint32(c.Kind) | uint32(instanceOf(c.By))<<4
		if m.observeCoord(&g.t, i) {
			if n.Step >= Locked && g.t.I[i].Step == Idle {
				arg |= 1 << 8
			}
			g.by(i, ObserveCoord, arg, true)
		}
		g.t = *g.s
	}
	g.by(i, LeaseExpires, uint32(instanceOf(max(n.Holder, n.FirstBy))), m.leaseExpires(&g.t, i))
	if m.model.LockOnly {
		m.lockOnly(g, i)
		return
	}
	g.by(i, NoteOffsets, uint32(g.s.NAtts+1)|uint32(n.Pos)<<4, m.noteOffsets(&g.t, i))
	if n.Att == 0 {
		return
	}
	arg := uint32(n.Att) | uint32(g.s.Atts[n.Att-1].Off)<<4
	half := uint32(1)
	if n.Step == HalfUploaded {
		half = 2
	}
	g.by(i, WriteDataChunk, arg|half<<8, m.writeDataChunk(&g.t, i, false))
	if !m.rules.Idempotent {
		g.budget(i, WriteDataChunk, arg|half<<8|1<<12, &g.t.Lost, m.model.Lost, boundLost, m.writeDataChunk(&g.t, i, true))
	}
	g.by(i, SendCommit, arg, m.sendCommit(&g.t, i))
}

func (m *machine) suffers(g *give, i int) {
	n := &g.s.I[i]
	if m.model.LockOnly {
		g.by(i, Crash, 0, m.crash(&g.t, i))
		g.by(i, Pause, 0, m.pause(&g.t, i))
		return
	}
	g.budget(i, Crash, 0, &g.t.Crashes, m.model.Crashes, boundCrashes, m.crash(&g.t, i))
	g.budget(i, Pause, 0, &g.t.Pauses, m.model.Pauses, boundPauses, m.pause(&g.t, i))
	if m.model.KeepDisk {
		g.budget(i, LoseDisk, 0, &g.t.Disks, m.model.Disks, boundDisks, m.loseDisk(&g.t, i))
	}
	g.budget(i, ClockJump, uint32(n.Ahead), &g.t.Jumps, m.model.Jumps, boundJumps, m.clockJump(&g.t, i))
	for _, v := range []uint8{1, 2} {
		g.budget(i, ChangeVersion, uint32(v), &g.t.Moves, m.model.Moves, boundMoves, m.changeVersion(&g.t, i, v))
	}
}

func (m *machine) others(g *give) {
	clients, operator := m.model.Instances, m.model.Instances+1
	r, more := m.operation(g.s)
	if more && g.s.N == MaxJournal {
		g.bounded(boundJournal)
	}
	if !m.model.Clients {
		g.by(clients, Append, uint32(g.s.N)|uint32(r.Kind)<<4|uint32(r.Number)<<8, m.write(&g.t))
	}
	g.budget(operator, TrimJournal, uint32(min(m.rules.TrimTo(g.s), g.s.N)), &g.t.Trims, m.model.Trims, boundTrims, m.trimJournal(&g.t))
	g.budget(operator, RetentionByTime, uint32(g.s.LogStart+1), &g.t.Trims, m.model.Trims, boundTrims, m.retentionByTime(&g.t))
	g.budget(operator, TrimData, 0, &g.t.Collected, m.model.Collections, boundCollected, m.trimData(&g.t))
	for key := uint8(1); key <= g.s.NAtts; key++ {
		arg := uint32(key) | uint32(g.s.Atts[key-1].Off)<<4
		g.budget(operator, CollectGarbage, arg, &g.t.Collected, m.model.Collections, boundCollected, m.collectGarbage(&g.t, key))
		if !m.model.LosesUploads {
			g.budget(-1, DamageObject, arg, &g.t.Damages, m.model.Damages, boundDamages, m.damageObject(&g.t, key))
		}
	}
	for to := g.s.LogStart; to < g.s.N; to++ {
		g.budget(-1, RewindJournal, uint32(to), &g.t.Rewinds, m.model.Rewinds, boundRewinds, m.rewindJournal(&g.t, to))
	}
	if m.model.Recreates {
		g.budget(-1, RecreateJournal, 0, &g.t.Rewinds, m.model.Rewinds, boundRewinds, g.s.Journal == 1 && m.recreateJournal(&g.t))
	}
}

// formatStep says what a step does.
func (m *machine) formatStep(_ int, i checker.Instance) string {
	a, arg := Action(i.Action), i.Args
	lost := func(text string) string {
		if arg>>12&1 == 1 {
			return text
		}
		return ""
	}
	img := fmt.Sprintf("image %d at offset %d", arg&0xf, arg>>4&0xf)
	if m.model.LockOnly {
		switch a {
		case NoteOffsets, WriteDataChunk:
			return a.String()
		case SendCommit:
			return fmt.Sprintf("SendCommit(%s)", []string{"the lock is lost", "holding the lock"}[arg])
		}
	}
	switch a {
	case Append:
		return fmt.Sprintf("Append(op%d %s at offset %d%s)", arg>>8&0xf, kindNames[arg>>4&0xf], arg&0xf, lost(", acknowledgement lost"))
	case Apply:
		return fmt.Sprintf("Apply(op%d %s at offset %d)", arg>>8&0xf, kindNames[arg>>4&0xf], arg&0xf)
	case RetryAppend:
		return fmt.Sprintf("RetryAppend(op%d)", arg)
	case Start:
		return fmt.Sprintf("Start(end of journal %d)", arg)
	case Choose, FetchImage, RejectImage, Install, BeginCapture, FinishCapture, VerifyUpload, NoteOffsets, SendCommit, CollectGarbage, DamageObject:
		return fmt.Sprintf("%s(%s)", a, img)
	case AbandonAttempt:
		return fmt.Sprintf("AbandonAttempt(%s%s)", img, lost(", for a reason of its own"))
	case AppendCommit:
		return fmt.Sprintf("AppendCommit(%s%s)", img, lost(", acknowledgement lost"))
	case UploadChunk:
		return fmt.Sprintf("UploadChunk(%s, half %d%s)", img, arg>>8&0xf, lost(", not kept by the store"))
	case WriteDataChunk:
		return fmt.Sprintf("WriteDataChunk(%s, half %d%s)", img, arg>>8&0xf, lost(", twice"))
	case ReplayAll:
		return fmt.Sprintf("ReplayAll(from offset %d)", arg)
	case GiveUp:
		return fmt.Sprintf("GiveUp(offsets 0 to %d are missing)", arg-1)
	case BecomeReady, OutOfRange, NoticeRewind:
		return fmt.Sprintf("%s(at offset %d)", a, arg)
	case ObserveCoord:
		end := ""
		if arg>>8&1 == 1 {
			end = ", and aborts"
		}
		return fmt.Sprintf("ObserveCoord(%s of %s%s)", coordNames[arg&0xf], instanceName(int(arg>>4&0xf)-1), end)
	case LeaseExpires:
		return fmt.Sprintf("LeaseExpires(of %s)", instanceName(int(arg)-1))
	case TrimJournal, RetentionByTime, RewindJournal:
		return fmt.Sprintf("%s(to offset %d)", a, arg)
	case ClockJump:
		return fmt.Sprintf("ClockJump(%s)", []string{"ahead", "back"}[arg])
	case ChangeVersion:
		return fmt.Sprintf("ChangeVersion(%d)", arg)
	}
	return a.String()
}
