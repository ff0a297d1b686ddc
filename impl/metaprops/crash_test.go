package metaprops

import (
	"errors"
	"fmt"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/fs/crashtest"
	"github.com/stretchr/testify/require"
)

// files are the contents of which a crash may leave any, "" for no file.
type files []string

func crashCases() (all []crashtest.Case[files]) {
	old := Properties{Version: 1, ClusterID: "c", NodeID: 1}
	anew := Properties{Version: 1, ClusterID: "c", NodeID: 1, Directory: ggs}
	for _, before := range []*Properties{nil, &old} {
		all = append(all, crashtest.Case[files]{
			Name: map[bool]string{true: "format", false: "replace"}[before == nil],
			Before: func(t testing.TB, d *fs.Double) (files, error) {
				if before == nil {
					return files{""}, d.Mkdir("d")
				}
				return files{string(before.Encode())}, errors.Join(d.Mkdir("d"), Write(d, "d", *before))
			},
			Do: func(t testing.TB, d *fs.Double, s files) (files, error) {
				if err := Write(d, "d", anew); err != nil {
					return files{s[0], string(anew.Encode())}, err
				}
				return files{string(anew.Encode())}, nil
			},
			// Who reads the file does not make its name durable: a crash may still take it
			// back to what it was.
			Recover: func(t testing.TB, d *fs.Double, s files) (files, error) {
				p, err := Read(d, "d")
				if errors.Is(err, fs.ErrNotExist) {
					require.Contains(t, s, "")
					return s, nil
				}
				require.NoError(t, err)
				require.Contains(t, s, string(p.Encode()))
				return s, nil
			},
			Live: func(t testing.TB, d *fs.Double, s files) error {
				require.NoError(t, Write(d, "d", anew))
				p, err := Read(d.Crash(fs.KeepNone), "d")
				require.Equal(t, anew, p)
				return err
			},
			Key: func(s files) string { return fmt.Sprintf("%q", s) },
		})
	}
	return all
}

// TestEveryCrash: a crash leaves the old file or the new one, and the new one once it was
// written.
func TestEveryCrash(t *testing.T) { crashtest.Sweep(t, crashCases()) }

// TestEveryFlush: each of the flushes is needed for that.
func TestEveryFlush(t *testing.T) { crashtest.Flushes(t, crashCases(), nil) }

// TestEveryFailure: what fails is said, by operation and file, and nothing is lost.
func TestEveryFailure(t *testing.T) { crashtest.Failures(t, crashCases()) }
