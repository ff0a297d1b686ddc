// Package checkpoint is the protocol by which a store that is fed by a journal starts from
// an image of itself instead of from the journal's beginning. An attempt writes an object
// under a name that only it uses; one record in the list of checkpoints makes it known;
// and who reads the list believes nothing of it but what it has verified. So no lock is
// needed for anything but to save work.
//
// What is decided is decided in [Rules], by functions of their arguments.
package checkpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// FormatVersion of [Commit].
const FormatVersion = 1

// Commit is the record that makes a checkpoint known. The same is kept beside the image,
// so that a list that was lost can be made anew.
type Commit struct {
	FormatVersion int `json:"formatVersion"`
	// ID is of this attempt alone, Instance of one start of a process.
	ID       string `json:"checkpointId"`
	Instance string `json:"instanceId"`
	Attempt  int    `json:"attempt"`
	// Journal, Offset and Epoch name the last record in the image: its offset alone does
	// not, since a journal may be made anew, or lose its tail and grow again.
	Journal string `json:"journalId"`
	Offset  int64  `json:"offset"`
	Epoch   int32  `json:"leaderEpoch"`
	// Key, Size and SHA256 are of the object as it is stored, compressed by Codec.
	Key    string `json:"objectKey"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
	Codec  string `json:"codec"`
	// Schema is the layout of the image's tables, Vocabulary the highest version of any
	// operation in it.
	Schema     int    `json:"dbSchemaVersion"`
	Vocabulary int    `json:"opVocabularyVersion"`
	App        string `json:"appVersion"`
	// State is the digest of the rows, if it was asked for.
	State string `json:"stateDigest,omitempty"`
	Rows  int64  `json:"rows"`
	Raw   int64  `json:"rawBytes"`
	// Time when it was committed, by the committer's clock, in milliseconds since 1970.
	// It says nothing of which one is newer.
	Time int64 `json:"timestamp"`
	// How long the stages took, and for how much of that nothing was done, so that others
	// could do something ([Manager.Share]).
	Capture, Verify, Upload, Rested time.Duration
}

// Encode is the record.
func (c *Commit) Encode() ([]byte, error) {
	c.FormatVersion = FormatVersion
	return json.Marshal(c)
}

// ErrFormat: a record that is no commit, or one of a format that this version does not
// know.
var ErrFormat = errors.New("not a checkpoint of a known format")

// Decode is the inverse of [Commit.Encode]. Errors: ErrFormat.
func Decode(record []byte) (Commit, error) {
	var c Commit
	if err := json.Unmarshal(record, &c); err != nil {
		return Commit{}, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	switch {
	case c.FormatVersion != FormatVersion:
		return Commit{}, fmt.Errorf("%w: version %d", ErrFormat, c.FormatVersion)
	case c.ID == "", c.Journal == "", c.Offset < 0, c.Size <= 0, len(c.SHA256) != 64, c.Key == "":
		return Commit{}, fmt.Errorf("%w: a field is missing or out of range", ErrFormat)
	}
	return c, nil
}

// Prefix of the keys of all images of a journal.
func Prefix(journal string) string { return "images/" + safe(journal) + "/" }

// KeyOf is where an attempt puts its image. Offsets of keys sort as numbers do.
func KeyOf(journal string, offset int64, id string) string {
	return fmt.Sprintf("%s%020d-%s%s", Prefix(journal), offset, id, imageSuffix)
}

const (
	imageSuffix = ".db.zst"
	// manifestSuffix is that of the commit beside an image.
	manifestSuffix = ".json"
)

// ManifestOf is where the commit is kept beside its image.
func ManifestOf(key string) string { return strings.TrimSuffix(key, imageSuffix) + manifestSuffix }

// OffsetOfKey is the offset in the key of an image or of its commit; false if it is no
// such key.
func OffsetOfKey(key string) (offset int64, ok bool) {
	name := key[strings.LastIndexByte(key, '/')+1:]
	if len(name) < 21 || name[20] != '-' {
		return 0, false
	}
	_, err := fmt.Sscanf(name[:20], "%d", &offset)
	return offset, err == nil && offset >= 0
}

// safe makes a name of what may be part of a key.
func safe(name string) string {
	return strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, name)
}
