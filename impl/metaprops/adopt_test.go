package metaprops

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/fs/crashtest"
	"github.com/stretchr/testify/require"
)

// mind is what may be found of a node with two directories: which cluster ids, "" for none,
// and once it has used its directory ids, which.
type mind struct {
	ids  []string
	dirs []DirectoryID
}

var paths = []string{"m", "a"}

// startOn is the start of a broker: it decides, and writes what is missing. It draws ids
// that depend on nothing else.
func startOn(fsys fs.FS, draw byte) (Decision, []Dir, error) {
	set, err := Load(fsys, paths)
	if err != nil {
		return Decision{}, nil, err
	}
	n := byte(0) // no directory gets the id of another
	for _, d := range set.Dirs {
		if d.Formatted {
			n++
		}
	}
	d, err := set.Decide(Start{Node: 4}, func() DirectoryID { n++; return DirectoryID{15: draw + n, 0: 1} })
	if err != nil {
		return d, nil, err
	}
	var failed []error
	offline := func(d Dir, err error) { failed = append(failed, err) }
	if err := Settle(fsys, set.Dirs, paths[0], offline); err != nil {
		return d, nil, err
	}
	err = errors.Join(append(failed, Persist(fsys, d.Write, paths[0], offline))...)
	dirs := slices.Clone(set.Dirs)
	for i := range dirs {
		for _, w := range d.Write {
			if w.Path == dirs[i].Path {
				dirs[i].Properties, dirs[i].Formatted = w.Properties, true
			}
		}
	}
	return d, dirs, err
}

func adoptionCases() (all []crashtest.Case[mind]) {
	prepare := func(t testing.TB, d *fs.Double) {
		for _, dir := range paths {
			require.NoError(t, d.Mkdir(dir))
		}
	}
	recover := func(t testing.TB, d *fs.Double, s mind) (mind, error) {
		decision, dirs, err := startOn(d, 100)
		if err != nil {
			return s, err
		}
		if !slices.Contains(s.ids, decision.ClusterID) {
			return s, fmt.Errorf("it starts with id %q, allowed are %q", decision.ClusterID, s.ids)
		}
		for i, dir := range dirs {
			if s.dirs != nil && dir.Directory != s.dirs[i] {
				return s, fmt.Errorf("directory id %s of %s was %s", dir.Directory, dir.Path, s.dirs[i])
			}
		}
		now := mind{ids: []string{decision.ClusterID}, dirs: []DirectoryID{dirs[0].Directory, dirs[1].Directory}}
		again, _, err := startOn(d, 200)
		if err != nil || len(again.Write) > 0 || again.ClusterID != decision.ClusterID {
			return s, fmt.Errorf("the next start writes %v and has %q: %w", again.Write, again.ClusterID, err)
		}
		return now, nil
	}
	// live: who has no id yet may go to another cluster, and then has that one's alone.
	live := func(t testing.TB, d *fs.Double, s mind) error {
		decision, dirs, err := startOn(d, 100)
		require.NoError(t, err)
		want := decision.ClusterID
		if want == "" {
			want = "B"
			require.NoError(t, Persist(d, Adopting(dirs, want), paths[0], nil))
		}
		set, err := Load(d.Crash(fs.KeepNone), paths)
		require.NoError(t, err)
		for _, dir := range set.Dirs {
			require.Equal(t, want, dir.ClusterID)
		}
		return set.Check(4, want)
	}
	key := func(s mind) string { return fmt.Sprint(s) }
	return []crashtest.Case[mind]{
		{
			Name: "write without an id",
			Before: func(t testing.TB, d *fs.Double) (mind, error) {
				prepare(t, d)
				return mind{ids: []string{""}}, nil
			},
			Do: func(t testing.TB, d *fs.Double, s mind) (mind, error) {
				_, dirs, err := startOn(d, 0)
				if err != nil {
					return s, err
				}
				return mind{ids: s.ids, dirs: []DirectoryID{dirs[0].Directory, dirs[1].Directory}}, nil
			},
			Recover: recover, Live: live, Key: key,
		},
		{
			Name: "adopt",
			Before: func(t testing.TB, d *fs.Double) (mind, error) {
				prepare(t, d)
				_, dirs, err := startOn(d, 0)
				return mind{ids: []string{""}, dirs: []DirectoryID{dirs[0].Directory, dirs[1].Directory}}, err
			},
			Do: func(t testing.TB, d *fs.Double, s mind) (mind, error) {
				either := mind{ids: []string{"", "A"}, dirs: s.dirs}
				set, err := Load(d, paths)
				if err != nil {
					return s, err
				}
				if err := Persist(d, Adopting(set.Dirs, "A"), paths[0], func(Dir, error) {}); err != nil {
					return either, err
				}
				// It is in memory now, and so in requests.
				return mind{ids: []string{"A"}, dirs: s.dirs}, nil
			},
			Recover: recover, Live: live, Key: key,
		},
	}
}

// TestEveryCrashOfAdoption: whatever disk step of writing meta.properties without an id, or
// of adopting one, is the last, the next start has no id or that one, the one if it was
// used, and the directory ids that were used; and completes what is missing by itself.
func TestEveryCrashOfAdoption(t *testing.T) { crashtest.Sweep(t, adoptionCases()) }

// TestEveryFlushOfAdoption: each of the flushes is needed for that.
func TestEveryFlushOfAdoption(t *testing.T) { crashtest.Flushes(t, adoptionCases(), nil) }
