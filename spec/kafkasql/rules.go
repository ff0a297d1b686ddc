package kafkasql

// Variant is a protocol.
type Variant uint8

// Variants: the two of the original discussion, and the recommended one.
const (
	A Variant = iota
	B
	T
)

var variantNames = [...]string{"A", "B", "T"}

func (v Variant) String() string { return variantNames[v] }

// Rules are the decisions of an instance, by name. A mutation overrides one.
type Rules struct {
	// BlocksApply: nothing is applied while an image is copied. CopiesAtEnd: the copy shows
	// the database as it is when it ends, not as it was when it began.
	BlocksApply, CopiesAtEnd bool
	// Noted is the offset that goes with an image: img is the copy, begun and ended are what
	// the instance had applied when the copy began and ended.
	Noted func(img *DB, begun, ended uint8) uint8
	// Image is what of a database gets into an image.
	Image func(db DB) DB
	// Stamp is what an instance adds to rows that the record does not say.
	Stamp func(i int) uint8
	// Key is where an attempt uploads to, 1 and up.
	Key func(s *State, att uint8) uint8
	// Wants: an instance begins an attempt.
	Wants func(s *State, i int) bool
	// VerifiesUpload: size and digest are read again before the commit.
	VerifiesUpload bool
	// Tags: chunks of A's data topic name their attempt.
	Tags bool
	// CommitAfterLoss: whoever has read that it lost the lock commits nevertheless (A).
	CommitAfterLoss bool
	// AbortsOnRequest: the holder aborts on any foreign request, not on a foreign lock.
	AbortsOnRequest bool
	// KeepsSilence: a request that was not first is not repeated before the lock is decided.
	KeepsSilence bool
	// KeepsAsking: when the request that was first expires, one that is in the log goes on as
	// the first, and is not withdrawn (A).
	KeepsAsking bool
	// WaitersRefresh: who waits behind another request keeps its own from expiring (A).
	WaitersRefresh bool
	// Unfreezes: an attempt that is aborted gives the instance back to its clients.
	Unfreezes bool
	// FreezeHolds: a frozen instance applies nothing.
	FreezeHolds bool
	// JudgesAtEnd: a lease is judged by who has read the coordination topic to its end.
	JudgesAtEnd bool
	// LocksExpire: a lock expires if nothing is heard of its holder. ForgetsOld: one that was
	// read at a start does not count at all. TrustsSilence: who has not read a refresh takes it that there
	// is none.
	LocksExpire, ForgetsOld, TrustsSilence bool

	// Visible is what an instance knows of the commits before the end that it fixed.
	Visible func(s *State, n *Instance, c int) bool
	// Eligible: a commit may be tried. Better: x is tried before y.
	Eligible func(s *State, n *Instance, c Commit) bool
	Better   func(s *State, x, y int) bool
	// Accepts judges what was fetched of an image.
	Accepts func(s *State, n *Instance, c Commit) bool
	// FallsBack: after a commit that was rejected the next one is tried.
	FallsBack bool
	// Guesses: without an image whatever is left of the journal is replayed.
	Guesses bool
	// Resume is the offset from which the journal is read after a restore.
	Resume func(off uint8) uint8
	// Resets: whoever reads below the start of the journal goes on at its start.
	Resets bool
	// InPlace: a restore writes into the live database.
	InPlace bool
	// ReusesLocal: what is on the disk of an instance counts.
	ReusesLocal func(s *State, db *DB) bool
	// End is what an instance has to have applied to be ready.
	End func(s *State, n *Instance) uint8

	// CachedEnd: the end of the journal is one from before the start.
	CachedEnd bool

	// SkipsUnknown: records that cannot be decoded are passed over.
	SkipsUnknown bool
	// RejectedKeepsRow: a rejected operation does not advance the offset row.
	// CountsEffects: the offset row counts the operations that took effect.
	RejectedKeepsRow, CountsEffects bool
	// SplitsTransaction: the offset row is written after the operation.
	SplitsTransaction bool
	// TwoPartitions: the journal has two, and the offset is one number.
	TwoPartitions bool
	// Cleans: an instance tidies up its database by itself.
	Cleans bool

	// TrimTo is the offset up to which the journal may be trimmed.
	TrimTo func(s *State) uint8
	// Collects: an object is garbage.
	Collects func(s *State, key uint8) bool
	// TrimsData: A's data topic is trimmed up to the commit that is chosen now.
	TrimsData bool
	// ExpiresByTime: records of the journal are deleted when they are old.
	ExpiresByTime bool

	// Idempotent: the journal knows a record that it has got before.
	Idempotent bool
	// RegistersFirst: a waiter is registered before its record is appended.
	RegistersFirst bool
	// TakesEarly: writes are taken before the instance is ready.
	TakesEarly bool
	// AnswersAtAppend: a write is acknowledged before it is applied.
	AnswersAtAppend bool

	// PublishesNull: a capture that takes too long is published like one that has ended.
	PublishesNull bool
	// ProbeKills: whoever is out of traffic is taken for dead (A).
	ProbeKills bool
}

// CleanRules are those of a variant in which every open decision is taken so that it holds.
func CleanRules(v Variant, keep int) *Rules {
	r := &Rules{
		Noted:     func(img *DB, _, _ uint8) uint8 { return img.Off },
		Image:     func(db DB) DB { return db },
		Stamp:     func(int) uint8 { return 0 },
		Key:       func(_ *State, att uint8) uint8 { return att },
		Wants:     func(*State, int) bool { return true },
		Tags:      true,
		Unfreezes: true, FreezeHolds: true, JudgesAtEnd: true, KeepsSilence: true, KeepsAsking: true, LocksExpire: true,
		VerifiesUpload: v == T,
		Visible:        func(*State, *Instance, int) bool { return true },
		FallsBack:      true,
		Resume:         func(off uint8) uint8 { return off },
		Idempotent:     true,
		RegistersFirst: true,
	}
	if v != T {
		// The cut is made by standing still, and the offset is noted beside the image.
		r.BlocksApply = true
		r.Noted = func(_ *DB, begun, _ uint8) uint8 { return begun }
	}
	r.Eligible = func(s *State, n *Instance, c Commit) bool {
		a := &s.Atts[c.Att-1]
		return c.Fenced == 0 && s.lineage(a.Journal, a.Off, a.Epoch) && a.Off >= s.LogStart && a.Img.Schema <= n.Version
	}
	r.Better = func(s *State, x, y int) bool {
		ox, oy := s.Atts[s.Commits[x].Att-1].Off, s.Atts[s.Commits[y].Att-1].Off
		return ox > oy || ox == oy && x > y
	}
	r.Accepts = func(_ *State, n *Instance, c Commit) bool {
		return n.Bad == 0 && n.First == c.Att && n.Second == c.Att
	}
	r.ReusesLocal = func(s *State, db *DB) bool {
		return db.Journal != 0 && s.lineage(db.Journal, db.Off, db.Epoch) && db.Off >= s.LogStart
	}
	r.End = func(_ *State, n *Instance) uint8 { return n.End }
	r.TrimTo = func(s *State) uint8 { return s.trimTo(keep) }
	r.Collects = func(s *State, key uint8) bool { return s.garbage(keep, key) }
	return r
}

// usable says whether an image can be restored by somebody who starts now, whatever the
// version of its program.
func (s *State) usable(c Commit) bool {
	a := &s.Atts[c.Att-1]
	return c.Fenced == 0 && s.available(c) && s.lineage(a.Journal, a.Off, a.Epoch) && a.Off >= s.LogStart
}

// kept are the images with the greatest offsets, as many as are kept, that were read again
// just now and are what their commits say.
func (s *State) kept(keep int) ([MaxCommits]Commit, int) {
	return s.best(keep, func(int) bool { return true })
}

// settled are the same of those that everybody knows who is restoring: a grace period is
// longer than a restore, unless the instance was paused.
func (s *State) settled(keep int) ([MaxCommits]Commit, int) { return s.best(keep, s.knownToAll) }

func (s *State) best(keep int, of func(commit int) bool) (list [MaxCommits]Commit, count int) {
	for i, c := range s.Commits[:s.NCommits] {
		if c.Att == 0 || !s.usable(c) || !of(i) {
			continue
		}
		at := count
		for j, other := range list[:count] {
			if other.Att == c.Att {
				at = -1 // the same commit, appended twice
				break
			}
			if at == count && s.Atts[other.Att-1].Off < s.Atts[c.Att-1].Off {
				at = j
			}
		}
		if at < 0 {
			continue
		}
		copy(list[at+1:], list[at:count])
		list[at] = c
		count = min(count+1, MaxCommits)
	}
	return list, min(count, keep)
}

// knownToAll says whether everybody who is restoring, and was not paused, fixed the end of
// the checkpoints after a commit.
func (s *State) knownToAll(commit int) bool {
	for i := range s.I {
		if n := &s.I[i]; n.restoring() && n.Lagged == 0 && int(n.CkEnd) <= commit {
			return false
		}
	}
	return true
}

// trimTo is the offset of the oldest image that is kept, if as many are kept as should be.
func (s *State) trimTo(keep int) uint8 {
	list, count := s.settled(keep)
	if count < keep {
		return 0
	}
	return s.Atts[list[count-1].Att-1].Off
}

// garbage says whether an object is of no use: it is not one of those that are kept, and
// as many as are kept have greater offsets, or the same. The key of an object has the
// offset, so this is known of one that was never committed as well. It says nothing of who
// uploads it, and needs no clock for that: a commit that comes late is never chosen.
func (s *State) garbage(keep int, key uint8) bool {
	list, count := s.settled(keep)
	for _, c := range list[:count] {
		if c.Key == key {
			return false
		}
	}
	return count == keep && s.Atts[list[count-1].Att-1].Off >= s.Atts[key-1].Off
}
