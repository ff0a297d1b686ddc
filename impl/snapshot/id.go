package snapshot

import (
	"cmp"
	"fmt"
	"path"
	"strconv"
	"strings"
)

// ID names a snapshot.
type ID struct {
	// End is the offset after the last record that it covers.
	End int64
	// Epoch is the epoch of that record.
	Epoch int32
}

// String returns end and epoch as in "1000-3".
func (id ID) String() string { return fmt.Sprintf("%d-%d", id.End, id.Epoch) }

// Compare orders by epoch and then by offset (OffsetAndEpoch.compareTo).
func (id ID) Compare(other ID) int {
	return cmp.Or(cmp.Compare(id.Epoch, other.Epoch), cmp.Compare(id.End, other.End))
}

func (id ID) check() error {
	if id.End < 0 || id.Epoch < 0 {
		return fmt.Errorf("snapshot %s: negative offset or epoch", id)
	}
	return nil
}

// Ends of the names of files (Snapshots).
const (
	suffix        = ".checkpoint"
	partSuffix    = suffix + ".part"
	deletedSuffix = suffix + ".deleted"

	offsetDigits, epochDigits = 20, 10
)

func (id ID) stem() string {
	return fmt.Sprintf("%0*d-%0*d", offsetDigits, id.End, epochDigits, id.Epoch)
}

// FileName is the name of the file of a snapshot.
func (id ID) FileName() string { return id.stem() + suffix }

// Between the digits and the suffix of a .part file Kafka has a random number. Here
// it is who writes it, so that two of one snapshot do not meet.
const localPart = "-local"

func fromPart(source int32) string { return fmt.Sprintf("-from-%d", source) }

func (id ID) partName(who string) string { return id.stem() + who + partSuffix }

type kind int

const (
	other   kind = iota
	frozen       // a snapshot
	partial      // being written or received
	deleted      // being removed
)

// parse says what the file of a name is. who is the part of the name of a partial one
// that says who writes it.
func parse(name string) (id ID, who string, k kind) {
	stem := ""
	switch {
	case strings.HasSuffix(name, partSuffix):
		stem, k = strings.TrimSuffix(name, partSuffix), partial
	case strings.HasSuffix(name, deletedSuffix):
		stem, k = strings.TrimSuffix(name, deletedSuffix), deleted
	case strings.HasSuffix(name, suffix):
		stem, k = strings.TrimSuffix(name, suffix), frozen
	}
	const width = offsetDigits + 1 + epochDigits
	if len(stem) < width || k != partial && len(stem) > width {
		return ID{}, "", other
	}
	end, err1 := strconv.ParseInt(stem[:offsetDigits], 10, 64)
	epoch, err2 := strconv.ParseInt(stem[offsetDigits+1:width], 10, 32)
	id = ID{End: end, Epoch: int32(epoch)}
	if err1 != nil || err2 != nil || id.stem() != stem[:width] || id.check() != nil {
		return ID{}, "", other
	}
	return id, stem[width:], k
}

// ParseFileName returns the snapshot whose file has the name; false for all other
// files.
func ParseFileName(name string) (ID, bool) {
	id, _, k := parse(path.Base(name))
	return id, k == frozen
}

// CorruptError says which file is damaged, and where. It is never repaired.
type CorruptError struct {
	File string
	// Pos is the position in the file, in bytes, of the batch that is bad.
	Pos    int64
	Reason string
}

// Error implements error.
func (e *CorruptError) Error() string {
	return fmt.Sprintf("snapshot %s is corrupt at byte %d: %s", e.File, e.Pos, e.Reason)
}
