package quorumstate

import (
	"fmt"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/fs/crashtest"
	"github.com/stretchr/testify/require"
)

// elections are those of which a crash may leave any.
type elections []Election

var nobody = Election{Leader: None, Voted: None}

func crashCases() (all []crashtest.Case[elections]) {
	first := Election{Epoch: 1, Leader: None, Voted: 1, VotedDirectory: ggs}
	second := Election{Epoch: 1, Leader: 1, Voted: 1, VotedDirectory: ggs}
	for _, version := range []int16{0, 1} {
		cfg := Config{Version: version, Voters: []int32{1, 2, 3}}
		kept := func(e Election) Election { // version 0 has no directory
			if version == 0 {
				e.VotedDirectory = [16]byte{}
			}
			return e
		}
		save := func(d *fs.Double, before elections, e Election) (elections, error) {
			if err := New(d, "d/"+FileName, cfg).Save(e); err != nil {
				return append(before[:len(before):len(before)], kept(e)), err
			}
			return elections{kept(e)}, nil
		}
		all = append(all, crashtest.Case[elections]{
			Name: fmt.Sprint("two saves, version ", version),
			Before: func(t testing.TB, d *fs.Double) (elections, error) {
				return elections{nobody}, d.Mkdir("d")
			},
			Do: func(t testing.TB, d *fs.Double, s elections) (elections, error) {
				s, err := save(d, s, first)
				if err != nil {
					return s, err
				}
				return save(d, s, second)
			},
			Recover: func(t testing.TB, d *fs.Double, s elections) (elections, error) {
				e, found, err := New(d, "d/"+FileName, cfg).Load()
				if err != nil {
					return s, err
				}
				require.Equal(t, e != nobody, found)
				require.Contains(t, s, e)
				return elections{e}, nil
			},
			Live: func(t testing.TB, d *fs.Double, s elections) error {
				last := Election{Epoch: 9, Leader: None, Voted: 2}
				if _, err := save(d, s, last); err != nil {
					return err
				}
				e, _, err := New(d.Crash(fs.KeepNone), "d/"+FileName, cfg).Load()
				require.Equal(t, last, e)
				return err
			},
			Key: func(s elections) string { return fmt.Sprint(s) },
		})
	}
	return all
}

// TestEveryCrash: a vote that was saved, or that a start has found, is not taken back.
func TestEveryCrash(t *testing.T) { crashtest.Sweep(t, crashCases()) }

// TestEveryFlush: each of the flushes is needed for that.
func TestEveryFlush(t *testing.T) { crashtest.Flushes(t, crashCases(), nil) }

// TestEveryFailure: what fails is said, by operation and file, and nothing is lost.
func TestEveryFailure(t *testing.T) { crashtest.Failures(t, crashCases()) }
