package quorumstate

import (
	"errors"
	"fmt"
	"math"
	"path"

	"github.com/quorate/quorate/impl/fs"
)

// FileName is the name of the file in the directory of the log.
const FileName = "quorum-state"

// None is the leader or the vote where there is none.
const None = -1

// Election is what a replica may not forget.
type Election struct {
	// Epoch is the epoch that the replica is in.
	Epoch int32
	// Leader of the epoch, None if not known.
	Leader int32
	// Voted is the replica voted for in the epoch, None if the vote is not cast.
	Voted int32
	// VotedDirectory is its directory id, all zeros if not known.
	VotedDirectory [16]byte
}

// check refuses what no replica writes (ElectionState.fromQuorumStateData).
func (e Election) check() error {
	switch {
	case e.Epoch < 0:
		return fmt.Errorf("epoch %d is negative", e.Epoch)
	case e.Epoch == math.MaxInt32: // kept free, so that an epoch can be counted up
		return fmt.Errorf("epoch %d is above the last", e.Epoch)
	case e.Leader < None:
		return fmt.Errorf("leader %d is not a replica id", e.Leader)
	case e.Voted < None:
		return fmt.Errorf("vote %d is not a replica id", e.Voted)
	case e.Voted == None && e.VotedDirectory != [16]byte{}:
		return errors.New("voted directory without a vote")
	}
	return nil
}

// Config says how the file is written.
type Config struct {
	// Version is the data_version: 1 (kraft.version 1) or 0.
	Version int16
	// Voters are written in version 0, for information only.
	Voters []int32
}

// Store is the file. It is for one goroutine.
type Store struct {
	fsys fs.FS
	name string
	cfg  Config
	err  error
}

// ErrFailed: a save failed, in this call or before. The replica must stop.
var ErrFailed = errors.New("quorum state has failed")

// New returns the store of the file of the given name, usually
// path.Join(dir, FileName). It touches nothing. It panics if cfg.Version is
// neither 0 nor 1.
func New(fsys fs.FS, name string, cfg Config) *Store {
	s := &Store{fsys: fsys, name: name, cfg: cfg}
	s.UseVersion(cfg.Version)
	return s
}

// Load returns what is in the file; found is false if there is none, and the
// election is then of epoch 0 without leader and vote. Either data_version is
// read. An error names the file; a damaged file is never taken for a missing
// one, since that would allow a second vote in an epoch.
//
// What it returns is durable: the process that saved it may have died between
// the rename and the flush of the directory, and a state that was acted on must
// not go away with a loss of power.
func (s *Store) Load() (e Election, found bool, err error) {
	e = Election{Leader: None, Voted: None}
	if s.err != nil {
		return e, false, s.err
	}
	b, err := fs.ReadFile(s.fsys, s.name)
	if errors.Is(err, fs.ErrNotExist) {
		return e, false, nil
	}
	if err != nil {
		return e, false, fmt.Errorf("load quorum state: %w", err)
	}
	read, _, err := Decode(b)
	if err != nil {
		return e, false, fmt.Errorf("%s: %w", s.name, err)
	}
	if err := s.fsys.SyncDir(path.Dir(s.name)); err != nil {
		s.err = fmt.Errorf("%w: flush directory of %s: %w", ErrFailed, s.name, err)
		return e, false, s.err
	}
	return read, true, nil
}

// UseVersion is the data_version to write from now on. Like New it panics at others than
// 0 and 1.
func (s *Store) UseVersion(version int16) {
	if version != 0 && version != 1 {
		panic(fmt.Sprintf("quorumstate: data_version %d", version))
	}
	s.cfg.Version = version
}

// Save durably replaces the file. After a failure it returns the same error for
// ever (wrapping [ErrFailed]), and so does Load.
func (s *Store) Save(e Election) error {
	if s.err != nil {
		return s.err
	}
	b, err := Encode(e, s.cfg.Version, s.cfg.Voters)
	if err == nil {
		err = fs.WriteFile(s.fsys, s.name, b)
	}
	if err != nil {
		s.err = fmt.Errorf("%w: save %s: %w", ErrFailed, s.name, err)
	}
	return s.err
}
