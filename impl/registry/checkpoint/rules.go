package checkpoint

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/quorate/quorate/impl/registry/journal"
)

// View is what is known of a journal when something is decided.
type View struct {
	Journal string
	journal.Bounds
	// Epoch of the record at an offset; false if it is not known.
	Epoch func(offset int64) (int32, bool)
	// Schema and Vocabulary are the newest that this binary knows.
	Schema, Vocabulary int
}

// Why a checkpoint is none to begin at.
var (
	ErrOtherJournal = errors.New("it is of another journal")
	ErrBeforeStart  = errors.New("the journal no longer has the record after it")
	ErrAhead        = errors.New("it is ahead of the journal, which has lost its tail")
	ErrOtherEpoch   = errors.New("the journal has another record at its offset: it has lost its tail, and grown again")
	ErrNewer        = errors.New("it was made by a newer version")
)

// Rules are all decisions of the protocol. A test that replaces one shows what it is for.
type Rules struct {
	// Usable says whether an image may be begun at, by its commit alone.
	Usable func(c Commit, v View) error
	// Order puts commits in the order in which they are tried.
	Order func(commits []Commit)
	// Intact says whether what was read is what was committed.
	Intact func(c Commit, size int64, sha256 string) error
	// Inside says whether the image is of the record that was committed.
	Inside func(c Commit, journal string, offset int64, epoch int32) error
	// Resume is the offset at which to read on after an image.
	Resume func(offset int64) int64
	// MayReplay says whether the journal alone has everything.
	MayReplay func(v View) bool
	// Ready says whether an instance that reads on at next may serve, where end is the end
	// of the journal after it had begun, and now tells that of now.
	Ready func(next, end int64, now func() int64) bool
	// TrimTo is up to where the journal may be trimmed, where verified are those kept that
	// were read and found good just now, and keep is how many there must be. Less than 0:
	// not at all.
	TrimTo func(verified []Commit, keep int) int64
	// Garbage says whether an image may be deleted, where kept are the ones kept, best
	// first, keep is how many there should be, and age is how long it has been there.
	Garbage func(key string, age, grace time.Duration, kept []Commit, keep int) bool
	// Due says whether a checkpoint is to be made, the newest that is there being so old
	// and the journal having grown by so many records since. Without one, age is less
	// than 0.
	Due func(age time.Duration, records int64, every time.Duration, least int64) bool
}

// DefaultRules are the rules.
func DefaultRules() Rules {
	return Rules{
		Usable: usable, Order: order, Intact: intact, Inside: inside,
		Resume:    func(offset int64) int64 { return offset + 1 },
		MayReplay: func(v View) bool { return v.Start == 0 },
		Ready:     func(next, end int64, _ func() int64) bool { return next >= end },
		TrimTo:    trimTo, Garbage: garbage, Due: due,
	}
}

func usable(c Commit, v View) error {
	switch {
	case c.Journal != v.Journal:
		return ErrOtherJournal
	case c.Offset+1 < v.Start:
		return ErrBeforeStart
	case c.Offset >= v.End:
		return ErrAhead
	case c.Schema > v.Schema || c.Vocabulary > v.Vocabulary:
		return ErrNewer
	}
	epoch, known := v.Epoch(c.Offset)
	if !known && c.Offset+1 == v.Start {
		return nil // the record itself is trimmed; by [trimTo] that of the oldest is not
	}
	if !known || epoch != c.Epoch {
		return ErrOtherEpoch
	}
	return nil
}

// order is by offset, the greatest first, and of equal ones the one committed later.
func order(commits []Commit) {
	slices.Reverse(commits)
	slices.SortStableFunc(commits, func(a, b Commit) int {
		switch {
		case a.Offset > b.Offset:
			return -1
		case a.Offset < b.Offset:
			return 1
		}
		return 0
	})
}

func intact(c Commit, size int64, sha256 string) error {
	if size != c.Size || sha256 != c.SHA256 {
		return fmt.Errorf("%s has %d bytes of digest %s, and %d of %s were committed", c.Key, size, sha256, c.Size, c.SHA256)
	}
	return nil
}

func inside(c Commit, journal string, offset int64, epoch int32) error {
	if journal != c.Journal || offset != c.Offset || epoch != c.Epoch {
		return fmt.Errorf("%s is of journal %s, offset %d, epoch %d, and %s, %d, %d were committed", c.Key, journal, offset, epoch, c.Journal, c.Offset, c.Epoch)
	}
	return nil
}

// trimTo leaves the record that the oldest image ends with, so that its epoch can be
// compared.
func trimTo(verified []Commit, keep int) int64 {
	if len(verified) < max(keep, 2) {
		return -1
	}
	oldest := verified[0].Offset
	for _, c := range verified {
		oldest = min(oldest, c.Offset)
	}
	return oldest
}

// garbage is what nobody would choose, since as many as are kept are as new: it does not
// matter then whether somebody is about to commit it. The grace period is for whoever
// began to restore it before they were there; one that is slower finds it gone, and looks
// again what there is.
func garbage(key string, age, grace time.Duration, kept []Commit, keep int) bool {
	offset, ok := OffsetOfKey(key)
	if !ok || len(kept) < keep || age < grace {
		return false
	}
	for _, c := range kept {
		if c.Offset < offset || c.Key == key {
			return false
		}
	}
	return true
}

func due(age time.Duration, records int64, every time.Duration, least int64) bool {
	if every <= 0 || records < least || records == 0 {
		return false
	}
	return age < 0 || age >= every
}
