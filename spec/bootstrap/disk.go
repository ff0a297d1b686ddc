package bootstrap

// Format, start, and what a loss of power leaves of files. A file is replaced by writing
// and flushing another one, renaming that, and flushing the directory; each is a step.

// What of the files beside the names is written and flushed, in Controller.Temp.
const (
	partWritten = 1 << iota
	partFlushed
	tempWritten
	tempFlushed
)

// BeginFormat starts a run of format: the directory has no meta.properties. Each run
// draws a directory id of its own. StorageTool, Formatter.
func (x *Ctx) BeginFormat(c *Controller, runs uint8) bool {
	if c.FormatRun == runs ||
		!x.Require(BeginFormat, IsDown, c.Up == 0) ||
		!x.Require(BeginFormat, NotFormatted, c.Meta == 0) ||
		!x.Require(BeginFormat, NotFormatting, c.FormatStep == 0) {
		return false
	}
	c.FormatRun++
	c.FormatStep = 1
	if x.Rules.KeepsZero(c) {
		for x.Rules.FormatSteps[c.FormatStep-1] != WriteMetaTemp {
			c.FormatStep++
		}
	}
	return true
}

// formatStep is the next disk step of the run.
func (x *Ctx) FormatStep(c *Controller) (Action, bool) {
	if c.FormatStep == 0 {
		return 0, false
	}
	a := x.Rules.FormatSteps[c.FormatStep-1]
	if !x.Require(a, IsDown, c.Up == 0) {
		return 0, false
	}
	switch a {
	case WriteZeroPart:
		c.Temp |= partWritten
	case FlushZeroPart:
		c.Temp |= partFlushed
	case RenameZero:
		if c.ZeroPending == 0 {
			c.ZeroOld, c.ZeroRunOld = c.Zero, c.ZeroRun
		}
		c.Zero, c.ZeroRun, c.ZeroPending = ZeroWith(OfZero), c.FormatRun, 1
		c.ZeroUnsynced = unless(c.Temp&partFlushed != 0)
		c.Temp &^= partWritten | partFlushed
		c.HadZero = 1
	case FlushZeroDirectory:
		c.ZeroPending, c.ZeroOld, c.ZeroRunOld = 0, 0, 0
	case WriteMetaTemp:
		c.Temp |= tempWritten
	case FlushMetaTemp:
		c.Temp |= tempFlushed
	case RenameMeta:
		c.MetaOld, c.Meta, c.MetaPending = c.Meta, c.FormatRun, 1
		c.MetaUnsynced = unless(c.Temp&tempFlushed != 0)
		c.Temp &^= tempWritten | tempFlushed
	case FlushMetaDirectory:
		c.MetaPending, c.MetaOld = 0, 0
	}
	if c.FormatStep++; int(c.FormatStep) > len(x.Rules.FormatSteps) {
		c.FormatStep, c.Temp = 0, 0
	}
	return a, true
}

func unless(b bool) uint8 {
	if b {
		return 0
	}
	return 1
}

// Survivors is how many ways there are for a loss of power to end, and lose takes one:
// each change of a name that was not flushed is kept or not, and what was not flushed of
// a file's bytes is kept or not.
const Survivors = 3 * 3 * 2

func lose(c *Controller, way int) bool {
	zero, meta, legacy := way%3, way/3%3, way/9
	if zero == 1 && c.ZeroPending == 0 || zero == 2 && c.ZeroUnsynced == 0 ||
		meta == 1 && c.MetaPending == 0 || meta == 2 && c.MetaUnsynced == 0 ||
		legacy == 1 && c.LegacyPending == 0 {
		return false
	}
	switch zero {
	case 1:
		c.Zero, c.ZeroRun = c.ZeroOld, c.ZeroRunOld
	case 2:
		c.Zero = Torn
	}
	switch meta {
	case 1:
		c.Meta = c.MetaOld
	case 2:
		c.Meta = tornMeta
	}
	if legacy == 1 {
		c.Legacy = c.LegacyOld
	}
	c.ZeroPending, c.ZeroOld, c.ZeroRunOld, c.ZeroUnsynced = 0, 0, 0, 0
	c.MetaPending, c.MetaOld, c.MetaUnsynced = 0, 0, 0
	c.LegacyPending, c.LegacyOld = 0, NoContent
	c.FormatStep, c.Temp = 0, 0
	return true
}

// crash ends the process, and the machine.
func (x *Ctx) Crash(c *Controller, way int) bool {
	if !x.Require(Crash, IsRunning, c.Up != 0 || c.FormatStep != 0) || !lose(c, way) {
		return false
	}
	x.stop(c)
	return true
}

// stop ends the process.
func (x *Ctx) stop(c *Controller) {
	c.Up, c.Leading, c.Phase, c.Warned, c.Loaded = 0, 0, Standby, 0, 0
	c.Aborts, c.Writes, c.Chunk = 0, 0, 0
	c.Image = Image{}
	if x.Rules.ForgetsSource {
		c.Source = NoContent
	}
}

// Fail ends the process with an error, which is no loss of power.
func (x *Ctx) Fail(c *Controller) {
	x.stop(c)
	c.Phase = Fatal
}

// start reads the files and hands the latest snapshot to the state machine: the zero
// checkpoint through handleLoadBootstrap, any other through handleLoadSnapshot. Whether
// there is a voter set in the zero checkpoint is Raft's business. QuorumController,
// KafkaRaftClient.
func (x *Ctx) Start(c *Controller, old uint8) bool {
	if !x.Require(Start, IsDown, c.Up == 0) ||
		!x.Require(Start, NotFormatting, c.FormatStep == 0) ||
		!x.Require(Start, IsFormatted, c.Meta != 0 && c.Meta != tornMeta) ||
		!x.Require(Start, ZeroReadable, c.Zero != Torn) {
		return false
	}
	c.Phase, c.Old = Standby, old
	if x.Rules.DecodesAtStart && c.Legacy == Ancient && old == 0 {
		x.Fail(c)
		return true
	}
	c.Up = 1
	zero := NoZero
	if x.Rules.LoadsZero(c) {
		zero = c.Zero
		if x.Rules.Warns(c) {
			c.Warned = 1
		}
	}
	c.Image, c.Loaded = c.ImageAt(c.Snap), c.Snap
	if x.Rules.LoadsAsCommitted(c) {
		if zero.Content() != NoContent {
			c.Image = Image{Version: zero.Content(), Rest: zero.Content()}
		}
		zero = NoZero
	}
	if c.Source == NoContent {
		c.Source = x.Rules.SourceOf(c.Legacy, zero)
	}
	return true
}

// deleteZero removes the zero checkpoint, as any snapshot that a newer one replaces. The
// removal is not flushed, so that the file may be back after a loss of power.
func (x *Ctx) DeleteZero(c *Controller) bool {
	if !x.Require(DeleteZero, IsUp, c.Up != 0) ||
		!x.Require(DeleteZero, HasFile, c.Zero != NoZero) ||
		!x.Require(DeleteZero, FileReplaced, x.Rules.MayDeleteZero(c)) {
		return false
	}
	c.ZeroOld, c.ZeroRunOld, c.ZeroPending = c.Zero, c.ZeroRun, 1
	c.Zero, c.ZeroRun = NoZero, 0
	return true
}

// deleteLegacy removes bootstrap.checkpoint, which KIP-1170 allows once it is not needed.
func (x *Ctx) DeleteLegacy(c *Controller) bool {
	if !x.Require(DeleteLegacy, IsUp, c.Up != 0) ||
		!x.Require(DeleteLegacy, HasFile, c.Legacy != NoContent) ||
		!x.Require(DeleteLegacy, FileReplaced, x.Rules.MayDeleteLegacy(c)) {
		return false
	}
	c.LegacyOld, c.LegacyPending = c.Legacy, 1
	c.Legacy = NoContent
	return true
}

// reformat is what an operator does to a controller that is down: remove
// meta.properties, or everything, and format again, with other records.
func (x *Ctx) Reformat(c *Controller, everything bool) bool {
	if !x.Require(Reformat, IsDown, c.Up == 0) ||
		!x.Require(Reformat, NotFormatting, c.FormatStep == 0) ||
		!x.Require(Reformat, IsFormatted, c.Meta != 0) {
		return false
	}
	if everything {
		source := c.Source
		*c = Controller{Source: source}
	}
	c.FormatRun++
	c.Meta, c.ZeroRun = c.FormatRun, c.FormatRun
	c.Zero, c.HadZero = ZeroWith(OfOther), 1
	return true
}
