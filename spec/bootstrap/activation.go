package bootstrap

// What a leader's state machine does with its bootstrap.

// claim: the leader's LeaderChange is committed and everything before it replayed. Until
// then the change of leader is held back from the state machine.
func (x *Ctx) Claim(c *Controller, hw uint8) bool {
	if !x.Require(Claim, IsUp, c.Up != 0) ||
		!x.Require(Claim, IsLeader, c.Leading != 0) ||
		!x.Require(Claim, IsStandby, c.Phase == Standby) ||
		!x.Require(Claim, EpochCommitted, x.Rules.Leads(c, hw)) {
		return false
	}
	for ; c.Loaded < hw; c.Loaded++ {
		c.Image = c.Image.Apply(c.Log[c.Loaded])
	}
	c.Phase = Claimed
	return true
}

// activate decides what to write. It stands at the front of the queue, so that nothing
// is written before. QuorumController.completeActivation, ActivationRecordsGenerator.
func (x *Ctx) Activate(c *Controller) bool {
	if !x.Require(Activate, IsClaimed, c.Phase == Claimed) {
		return false
	}
	write, abort := x.Rules.MustWrite(c), x.Rules.MustAbort(c)
	if write && c.Source == Ancient && c.Old == 0 || abort && !x.Transactions {
		x.Fail(c) // the content cannot be used; a transaction cannot be ended
		return true
	}
	c.Writes, c.Aborts, c.Chunk = bit(write), bit(abort), 0
	c.Phase = Writing
	if x.rest(c) == 0 {
		c.Phase = Active
	}
	return true
}

func bit(b bool) uint8 {
	if b {
		return 1
	}
	return 0
}

// chunks is how many batches activation writes; rest is how many are left.
func (x *Ctx) chunks(c *Controller) []Kind {
	if c.Writes == 0 || c.Source == Empty {
		return nil
	}
	return x.Rules.Chunks(x.Transactions)
}

func (x *Ctx) rest(c *Controller) int { return int(c.Aborts) + len(x.chunks(c)) - int(c.Chunk) }

// appendChunk writes the next batch of what activation decided. What it writes itself, a
// leader replays at once.
func (x *Ctx) AppendChunk(c *Controller) bool {
	if !x.Require(AppendChunk, IsWriting, c.Phase == Writing) {
		return false
	}
	k, n := Abort, int(c.Chunk)
	if c.Aborts == 0 || n > 0 {
		k = x.chunks(c)[n-int(c.Aborts)]
	}
	content := NoContent
	if k == Version || k == Rest || k == Whole {
		content = c.Source
	}
	r := NewRecord(k, c.Epoch, content)
	c.append(r)
	c.Image = c.Image.Apply(r)
	if c.Chunk++; x.rest(c) == 0 {
		c.Phase, c.Aborts, c.Writes, c.Chunk = Active, 0, 0, 0
	}
	return true
}

// appendOrdinary is any write of a client.
func (x *Ctx) AppendOrdinary(c *Controller) bool {
	if !x.Require(AppendOrdinary, IsUp, c.Up != 0) ||
		!x.Require(AppendOrdinary, IsLeader, c.Leading != 0) ||
		!x.Require(AppendOrdinary, IsActive, x.Rules.MayWrite(c)) {
		return false
	}
	c.append(NewRecord(Ordinary, c.Epoch, NoContent))
	return true
}

// stepDown: somebody else leads. What was written and is not committed may never be.
func (x *Ctx) StepDown(c *Controller) {
	if c.Leading == 0 {
		return
	}
	c.Leading, c.Aborts, c.Writes, c.Chunk = 0, 0, 0, 0
	if c.Phase != Standby && x.Rules.Reverts {
		c.Image = c.ImageAt(c.Loaded)
	}
	c.Phase = Standby
}

// replay hands committed records to the state machine of a standby, up to the offset.
// One that is active has replayed them when it wrote them.
func (x *Ctx) Replay(c *Controller, to uint8) bool {
	if !x.Require(Replay, IsUp, c.Up != 0) ||
		!x.Require(Replay, HasMore, to > c.Loaded) {
		return false
	}
	if c.Phase == Standby {
		for i := c.Loaded; i < to; i++ {
			c.Image = c.Image.Apply(c.Log[i])
		}
	}
	c.Loaded = to
	return true
}

// takeSnapshot writes the state at the last offset that was handed over.
func (x *Ctx) TakeSnapshot(c *Controller) bool {
	if !x.Require(TakeSnapshot, IsUp, c.Up != 0) ||
		!x.Require(TakeSnapshot, SnapshotIsLater, c.Loaded > c.Snap) {
		return false
	}
	image := c.ImageAt(c.Loaded)
	if !x.Require(TakeSnapshot, StateIsStable, x.Rules.MaySnapshot(image)) {
		return false
	}
	c.Snap, c.SnapVersion, c.SnapRest = c.Loaded, image.Version, image.Rest
	return true
}

// advanceLogStart moves the log start to the snapshot.
func (x *Ctx) AdvanceLogStart(c *Controller) bool {
	if !x.Require(AdvanceLogStart, IsUp, c.Up != 0) ||
		!x.Require(AdvanceLogStart, SnapshotIsLater, c.LogStart != c.Snap) {
		return false
	}
	c.LogStart = c.Snap
	return true
}
