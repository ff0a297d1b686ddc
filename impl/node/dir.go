package node

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
)

// incarnationFile holds the number of the last incarnation, in decimal.
const incarnationFile = "incarnation"

// openDir makes and locks the directory of a replica. unlock is never nil.
func openDir(fsys fs.FS, dir string) (_ fs.FS, unlock func(), err error) {
	if fsys != nil {
		if err := fsys.Mkdir(dir); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, nil, fmt.Errorf("make %s: %w", dir, err)
		}
		return fsys, func() {}, fsys.SyncDir(path.Dir(dir))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, nil, err
	}
	unlock, err = LockDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	if err := (fs.OS{}).SyncDir(path.Dir(dir)); err != nil {
		unlock()
		return nil, nil, err
	}
	return fs.OS{}, unlock, nil
}

// nextIncarnation durably takes the next incarnation number, which is above least,
// that of the last event of a trace or 0. It must be called before anything is sent:
// connections are named after it. It is durable before there is a log of ours, so a
// replica that has one and neither a number nor a trace has lost it, and would name its
// connections as it did before. A log that only Kafka has used has no number, and begins
// at 1.
func nextIncarnation(fsys fs.FS, dir string, least int32) (int32, error) {
	name := path.Join(dir, incarnationFile)
	b, err := fs.ReadFile(fsys, name)
	last := int64(0)
	switch {
	case err == nil:
		last, err = strconv.ParseInt(strings.TrimSpace(string(b)), 10, 32)
		if err != nil || last < 0 {
			return 0, fmt.Errorf("%s: %q is not an incarnation", name, b)
		}
	case !errors.Is(err, fs.ErrNotExist):
		return 0, fmt.Errorf("read %s: %w", name, err)
	case least <= 0:
		files, err := fsys.List(path.Join(dir, logDir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return 0, fmt.Errorf("list %s: %w", dir, err)
		}
		if slices.Contains(files, log.PointFile) {
			return 0, fmt.Errorf("%s: missing beside a log, so the last incarnation is not known: "+
				"write a number into it that is not below any before", name)
		}
	}
	next := max(last, int64(least)) + 1
	if next > math.MaxInt32 {
		return 0, fmt.Errorf("%s: incarnations have run out", name)
	}
	return int32(next), fs.WriteFile(fsys, name, []byte(strconv.FormatInt(next, 10)+"\n"))
}
