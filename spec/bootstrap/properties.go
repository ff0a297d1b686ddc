package bootstrap

import "github.com/quorate/quorate/checker"

// Properties. The invariants first, numbered as in docs/kip-1170.md.
const (
	OneBootstrap checker.Props = 1 << iota
	AllOrNothing
	FirstData
	SourceOrder
	ZeroDeletedSafe
	LegacyDeletedSafe
	NoUncommittedReplay
	TransactionClosed
	SnapshotStable
	AtomicWithoutTransactions
	CommittedStable
	FormatCommit
	FormatWhole
	ApiUnknown
	Warned
	VotersBeforeData
	ActiveHasVersion
	NoNeedlessFailure

	BootstrapCommitted
	FromLegacy
	FromZero
	FromDefault
	OpenTransactionAborted
	RewrittenAfterAbort
	RewrittenAfterAbortOnly
	NothingLeftToWrite
	OrdinaryCommitted
	UncommittedBootstrapLost
	WarnedOfTwo
	ZeroDeleted
	LegacyDeleted
	ZeroBackAfterCrash
	SnapshotInstalled
	StartedOnSnapshot
	OtherZeroIgnored
	FormatRedone
	ZeroLostByCrash
	AncientIgnored
	AncientRefused
	SoftwareUpgraded
)

// Properties lists them, in the order of their bits.
var Properties = []checker.Property{
	{Name: "OneBootstrap", Doc: "A-I1: at most one set of bootstrap records ever takes effect"},
	{Name: "AllOrNothing", Doc: "A-I2: what is committed and takes effect is all of one bootstrap, or nothing"},
	{Name: "FirstData", Doc: "A-I3: no ordinary record is committed before the bootstrap takes effect"},
	{Name: "SourceOrder", Kind: checker.Always, Doc: "A-I4: what is written is what the table of cases says for the files of the controller that writes it", Subject: "AppendChunk"},
	{Name: "ZeroDeletedSafe", Doc: "A-I5: a zero checkpoint that was there and is not any more is not needed: a bootstrap is committed"},
	{Name: "LegacyDeletedSafe", Doc: "A-I6: the same of bootstrap.checkpoint"},
	{Name: "NoUncommittedReplay", Doc: "A-I7: a state machine has no metadata.version but a committed one, or one that its leader wrote itself"},
	{Name: "TransactionClosed", Doc: "A-I8: in no log does a transaction begin within another, or end or abort without one"},
	{Name: "SnapshotStable", Doc: "A-I9: a snapshot is what the committed log before it amounts to, outside any transaction and with a metadata.version"},
	{Name: "AtomicWithoutTransactions", Doc: "A-I10: without transactions a bootstrap is in one batch"},
	{Name: "CommittedStable", Kind: checker.Always, Doc: "A-I11: what was committed stays in front of what is committed later"},
	{Name: "FormatCommit", Doc: "A-I12: where there is meta.properties there is a zero checkpoint of the same run of format, with all its records, unless a newer snapshot has replaced it"},
	{Name: "FormatWhole", Doc: "no file is found under its name without its bytes"},
	{Name: "ApiUnknown", Doc: "A-I13: ApiVersions reports as finalized what is committed and has taken effect, or that nothing is known"},
	{Name: "Warned", Kind: checker.Always, Doc: "A-I14: who starts on an empty log with records in both files says so", Subject: "Start"},
	{Name: "VotersBeforeData", Doc: "A-I15: in the committed log of a dynamic quorum the voters come before any data record"},
	{Name: "ActiveHasVersion", Doc: "the log of a controller that serves sets a metadata.version, outside any open transaction"},
	{Name: "NoNeedlessFailure", Doc: "a controller whose log or snapshot sets a metadata.version does not fail over its bootstrap files"},

	{Name: "BootstrapCommitted", Kind: checker.Sometimes, Doc: "a bootstrap takes effect"},
	{Name: "FromLegacy", Kind: checker.Sometimes, Doc: "cases 1 and 2: bootstrap.checkpoint is written"},
	{Name: "FromZero", Kind: checker.Sometimes, Doc: "cases 3 and 4: the zero checkpoint is written"},
	{Name: "FromDefault", Kind: checker.Sometimes, Doc: "cases 5 and 6: the default is written"},
	{Name: "OpenTransactionAborted", Kind: checker.Sometimes, Doc: "a leader aborts a transaction that another one left open"},
	{Name: "RewrittenAfterAbort", Kind: checker.Sometimes, Doc: "a leader aborts a transaction and begins its own"},
	{Name: "RewrittenAfterAbortOnly", Kind: checker.Sometimes, Doc: "a leader writes its bootstrap where another one got as far as the abort"},
	{Name: "NothingLeftToWrite", Kind: checker.Sometimes, Doc: "a leader finds the bootstrap committed and writes none"},
	{Name: "OrdinaryCommitted", Kind: checker.Sometimes, Doc: "an ordinary record is committed"},
	{Name: "UncommittedBootstrapLost", Kind: checker.Sometimes, Doc: "a controller cuts bootstrap records that were not committed"},
	{Name: "WarnedOfTwo", Kind: checker.Sometimes, Doc: "case 4: the warning"},
	{Name: "ZeroDeleted", Kind: checker.Sometimes, Doc: "a zero checkpoint is deleted"},
	{Name: "LegacyDeleted", Kind: checker.Sometimes, Doc: "a bootstrap.checkpoint is deleted"},
	{Name: "ZeroBackAfterCrash", Kind: checker.Sometimes, Doc: "a crash brings a deleted zero checkpoint back"},
	{Name: "SnapshotInstalled", Kind: checker.Sometimes, Doc: "a controller gets the bootstrap in a snapshot"},
	{Name: "StartedOnSnapshot", Kind: checker.Sometimes, Doc: "a controller starts on a committed snapshot"},
	{Name: "OtherZeroIgnored", Kind: checker.Sometimes, Doc: "a leader whose zero checkpoint is not what was committed writes nothing"},
	{Name: "FormatRedone", Kind: checker.Sometimes, Doc: "format succeeds after a run that did not"},
	{Name: "ZeroLostByCrash", Kind: checker.Sometimes, Doc: "a crash takes a zero checkpoint whose name was not flushed"},
	{Name: "AncientIgnored", Kind: checker.Sometimes, Doc: "a controller becomes active though its bootstrap.checkpoint cannot be used"},
	{Name: "AncientRefused", Kind: checker.Sometimes, Doc: "a controller ends rather than write a bootstrap that cannot be used"},
	{Name: "SoftwareUpgraded", Kind: checker.Sometimes, Doc: "a controller comes back with software of KIP-1170"},
}

// CaseOf is the table of cases: what an empty log is to be given, by bootstrap.checkpoint
// and zero checkpoint. It is written out, and shares nothing with Rules.SourceOf.
func CaseOf(legacy Content, zero ZeroFile) Content {
	type files struct {
		legacy  bool
		zero    bool
		records bool
	}
	table := map[files]string{
		{true, false, false}:  "legacy",  // 1
		{true, true, false}:   "legacy",  // 2
		{false, true, true}:   "zero",    // 3
		{true, true, true}:    "zero",    // 4
		{false, false, false}: "default", // 5
		{false, true, false}:  "default", // 6
	}
	switch table[files{legacy != NoContent, zero != NoZero, zero.Content() != NoContent}] {
	case "legacy":
		return legacy
	case "zero":
		return zero.Content()
	}
	return Default
}

// Check implements concern.Spec.
func (m *machine) Check(s *State) (bad checker.Props) {
	all := EffectOf(&s.Committed, s.HighWatermark)
	took := all.Stable()
	if all.Bootstraps > 1 {
		bad |= OneBootstrap
	}
	if took.Version != took.Rest {
		bad |= AllOrNothing
	}
	if all.Early {
		bad |= FirstData
	}
	if m.model.Dynamic && all.Bare {
		bad |= VotersBeforeData
	}
	for i := range m.model.Controllers {
		bad |= m.checkOne(s, &s.C[i], took)
	}
	return bad
}

func (m *machine) checkOne(s *State, c *Controller, took Image) (bad checker.Props) {
	if c.HadZero == 1 && c.Zero == NoZero && took.Version == NoContent && c.ZeroPending == 1 && c.FormatStep == 0 {
		bad |= ZeroDeletedSafe
	}
	if m.model.Runs == 0 && c.HadZero == 1 && c.Zero == NoZero && took.Version == NoContent {
		bad |= ZeroDeletedSafe
	}
	if c.HadLegacy == 1 && c.Legacy == NoContent && took.Version == NoContent {
		bad |= LegacyDeletedSafe
	}
	end := c.Log.end()
	own := EffectOf(&c.Log, end)
	if c.Up == 1 && c.Image.Version != NoContent {
		known := c.Image.Version == took.Version || sets(&s.Committed, s.HighWatermark, c.Image.Version)
		if !known && !(c.Leading == 1 && sets(&c.Log, end, c.Image.Version)) {
			bad |= NoUncommittedReplay
		}
	}
	if own.Broken {
		bad |= TransactionClosed
	}
	if c.Snap > 0 {
		at := EffectOf(&s.Committed, min(c.Snap, s.HighWatermark))
		if at.Tx != 0 || c.Snap > s.HighWatermark || at.Version == NoContent || at.Version != c.SnapVersion || at.Rest != c.SnapRest {
			bad |= SnapshotStable
		}
	}
	if !m.model.Transactions {
		for _, r := range c.Log[:end] {
			if k := r.Kind(); k == Version || k == Rest {
				bad |= AtomicWithoutTransactions
			}
		}
	}
	if m.model.Runs > 0 && c.Meta != 0 && c.FormatStep == 0 && c.Snap == 0 && (c.Zero.Content() == NoContent || c.ZeroRun != c.Meta) {
		bad |= FormatCommit
	}
	if c.Zero == Torn || c.Meta == tornMeta {
		bad |= FormatWhole
	}
	if c.Up == 1 {
		v, known := m.Rules.Reports(c)
		if known != (v != NoContent) || known && v != took.Version {
			bad |= ApiUnknown
		}
	}
	if c.Phase == Active {
		if at := c.ImageAt(end); at.Tx != 0 || at.Version == NoContent {
			bad |= ActiveHasVersion
		}
	}
	if c.Phase == Fatal {
		if c.ImageAt(end).Stable().Version != NoContent {
			bad |= NoNeedlessFailure
		}
	}
	return bad
}

// sets says whether a record of the log sets that metadata.version.
func sets(l *Log, end uint8, c Content) bool {
	for _, r := range l[:end] {
		if k := r.Kind(); (k == Version || k == Whole) && r.Content() == c {
			return true
		}
	}
	return false
}

// judge gives the properties that a step breaks and reaches.
func (m *machine) judge(a Action, args, i int, s, t *State) (bad, reached checker.Props) {
	old, now := &s.C[i], &t.C[i]
	see := func(p checker.Props, ok bool) {
		if ok {
			reached |= p
		}
	}
	switch a {
	case AppendChunk:
		r := now.Log[now.Log.end()-1]
		if k := r.Kind(); k == Version || k == Whole {
			if now.Snap == 0 && r.Content() != CaseOf(now.Legacy, now.Zero) {
				bad |= SourceOrder
			}
			see(FromLegacy, r.Content() == OfLegacy)
			see(FromZero, r.Content() == OfZero || r.Content() == OfOther)
			see(FromDefault, r.Content() == Default)
		}
		see(OpenTransactionAborted, r.Kind() == Abort)
		if n := now.Log.end(); n > 1 && r.Kind() == Begin {
			see(RewrittenAfterAbort, now.Log[n-2].Kind() == Abort)
			for _, before := range now.Log[:n-2] {
				see(RewrittenAfterAbortOnly, before.Kind() == Abort && before.Epoch() < now.Epoch && old.Image.Tx == 0)
			}
		}
	case Activate:
		see(NothingLeftToWrite, now.Phase == Active && now.Image.Version != NoContent)
		see(OtherZeroIgnored, now.Phase == Active && now.Zero.Content() != NoContent && now.Zero.Content() != now.Image.Version)
		see(AncientIgnored, now.Phase == Active && now.Legacy == Ancient)
		see(AncientRefused, now.Phase == Fatal && now.Legacy == Ancient)
	case Start:
		if now.Snap == 0 && now.Old == 0 && now.Zero.Content() != NoContent && now.Legacy != NoContent {
			if now.Warned == 0 && now.Up == 1 {
				bad |= Warned
			}
			see(WarnedOfTwo, now.Warned == 1)
		}
		see(StartedOnSnapshot, now.Up == 1 && now.Snap > 0 && now.Image.Version != NoContent)
		see(SoftwareUpgraded, old.Old == 1 && now.Old == 0)
	case Commit:
		if common(&s.Committed, &t.Committed) < s.HighWatermark {
			bad |= CommittedStable
		}
		see(BootstrapCommitted, EffectOf(&t.Committed, t.HighWatermark).Bootstraps > EffectOf(&s.Committed, s.HighWatermark).Bootstraps)
		see(OrdinaryCommitted, t.Committed[t.HighWatermark-1].Kind() == Ordinary)
	case Truncate:
		for _, r := range old.Log[now.Log.end():old.Log.end()] {
			see(UncommittedBootstrapLost, r.Content() != NoContent)
		}
	case DeleteZero:
		see(ZeroDeleted, now.Zero == NoZero)
	case DeleteLegacy:
		see(LegacyDeleted, now.Legacy == NoContent)
	case InstallSnapshot:
		see(SnapshotInstalled, now.Image.Version != NoContent)
	case FlushMetaDirectory:
		see(FormatRedone, now.FormatRun > 1)
	case Crash:
		see(ZeroBackAfterCrash, old.Zero == NoZero && old.Up == 1 && now.Zero != NoZero)
		see(ZeroLostByCrash, old.Zero != NoZero && now.Zero == NoZero)
	}
	return bad, reached
}
