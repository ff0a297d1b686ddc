package bootstrap

// Rules are the decisions of one controller, by name. A mutation overrides one of them.
type Rules struct {
	// FormatSteps is the order of the disk steps of format.
	FormatSteps []Action
	// KeepsZero: a run of format leaves a zero checkpoint alone that it finds.
	KeepsZero func(c *Controller) bool
	// LoadsAsCommitted: what the zero checkpoint holds is replayed as committed state.
	LoadsAsCommitted func(c *Controller) bool
	// LoadsZero: the zero checkpoint is the latest snapshot, and so is handed over.
	LoadsZero func(c *Controller) bool
	// SourceOf chooses between bootstrap.checkpoint and what was loaded of the zero
	// checkpoint.
	SourceOf func(legacy Content, zero ZeroFile) Content
	// Warns that there are two sources.
	Warns func(c *Controller) bool
	// ForgetsSource: a process that ends takes its source with it.
	ForgetsSource bool
	// DecodesAtStart: bootstrap.checkpoint must be usable though nobody has asked for it.
	DecodesAtStart bool
	// WritesVoters: the first leader writes the voters behind its LeaderChange.
	WritesVoters func(c *Controller) bool
	// Leads: a leader's state machine takes over: its LeaderChange is committed up to hw.
	Leads func(c *Controller, hw uint8) bool
	// MustWrite: no bootstrap has been written yet.
	MustWrite func(c *Controller) bool
	// MustAbort: a transaction is open that somebody else began.
	MustAbort func(c *Controller) bool
	// Chunks is how a bootstrap is written: with a transaction, or atomically.
	Chunks func(transactions bool) []Kind
	// MayWrite: clients may be served.
	MayWrite func(c *Controller) bool
	// Reverts: a leader that is one no more forgets what was not committed.
	Reverts bool
	// AnswersZero: a follower without records is sent the zero checkpoint.
	AnswersZero func(l *Controller) bool
	// MaySnapshot: the state at an offset may become a snapshot.
	MaySnapshot func(m Image) bool
	// MayDeleteZero and MayDeleteLegacy: the file is not needed any more.
	MayDeleteZero, MayDeleteLegacy func(c *Controller) bool
	// Reports is what ApiVersions says is finalized; false: it is not known yet.
	Reports func(c *Controller) (Content, bool)
}

// withTransaction and atomically are how a bootstrap is written.
var (
	withTransaction = []Kind{Begin, Version, Rest, End}
	atomically      = []Kind{Whole}
)

// CleanRules are those of KIP-1170, with the predicate of MustWrite as it was meant.
func CleanRules() *Rules {
	return &Rules{
		FormatSteps: []Action{
			WriteZeroPart, FlushZeroPart, RenameZero, FlushZeroDirectory,
			WriteMetaTemp, FlushMetaTemp, RenameMeta, FlushMetaDirectory,
		},
		KeepsZero:        func(*Controller) bool { return false },
		LoadsAsCommitted: func(c *Controller) bool { return c.Old == 1 },
		LoadsZero:        func(c *Controller) bool { return c.Snap == 0 && c.Zero != NoZero },
		SourceOf: func(legacy Content, zero ZeroFile) Content {
			switch {
			case zero.Content() != NoContent:
				return zero.Content()
			case legacy != NoContent:
				return legacy
			}
			return Default
		},
		Warns:         func(c *Controller) bool { return c.Zero.Content() != NoContent && c.Legacy != NoContent },
		ForgetsSource: true,
		WritesVoters:  func(c *Controller) bool { return !c.hasVoters() },
		Leads: func(c *Controller, hw uint8) bool {
			return hw > 0 && c.Log.end() >= hw && c.Log[hw-1].Epoch() == c.Epoch
		},
		MustWrite: func(c *Controller) bool { return c.Image.Stable().Version == NoContent },
		MustAbort: func(c *Controller) bool { return c.Image.Tx != 0 },
		Chunks: func(transactions bool) []Kind {
			if transactions {
				return withTransaction
			}
			return atomically
		},
		MayWrite:    func(c *Controller) bool { return c.Phase == Active },
		Reverts:     true,
		AnswersZero: func(*Controller) bool { return false },
		MaySnapshot: func(m Image) bool { return m.Tx == 0 && m.Version != NoContent },
		MayDeleteZero: func(c *Controller) bool {
			return c.Snap > 0 && c.LogStart == c.Snap
		},
		MayDeleteLegacy: func(c *Controller) bool { return c.Snap > 0 && c.SnapVersion != NoContent },
		Reports: func(c *Controller) (Content, bool) {
			v := c.ImageAt(c.Loaded).Stable().Version
			return v, v != NoContent
		},
	}
}
