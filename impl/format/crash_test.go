package format

import (
	"errors"
	"fmt"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/fs/crashtest"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/metaprops"
	"github.com/stretchr/testify/require"
)

// known is how many of the directories are formatted for sure, of all that were to be.
type known struct{ done, all int }

// drawer draws ids: the first that are not on the disk, so that a process draws others than
// those before, and there are few in all.
type drawer struct {
	used map[metaprops.DirectoryID]bool
}

func (w *drawer) next() metaprops.DirectoryID {
	for n := byte(1); ; n++ {
		if id := (metaprops.DirectoryID{0: 1, 15: n}); !w.used[id] {
			w.used[id] = true
			return id
		}
	}
}

func newDrawer(d *fs.Double) *drawer {
	d = d.Clone() // whose reads do not fail, and do not count
	w := &drawer{map[metaprops.DirectoryID]bool{}}
	set, _ := metaprops.Load(d, dirs)
	for _, dir := range set.Dirs {
		w.used[dir.Directory] = true
	}
	b, _, _ := metadata.ReadZero(d, dirs[0])
	for _, v := range b.Voters {
		w.used[v.Directory] = true
	}
	return w
}

// crashCase formats the directories p/d0, of the metadata log, and p/d1.
type crashCase struct {
	name string
	with func(o *Options)
	// before is what else is on the disk.
	before func(d *fs.Double) error
	// formatted says that p/d1 is formatted before.
	formatted bool
	// again: the process after a crash is format, and not a start.
	again bool
}

var dirs = []string{"p/d0", "p/d1"}

func (c crashCase) plan(d *fs.Double) *Plan {
	o := Options{Node: 1, Controller: true, StaticVoters: true, Dirs: dirs, ClusterID: "X", IgnoreFormatted: true, Timestamp: 7, NewID: newDrawer(d).next}
	c.with(&o)
	p, err := New(o)
	if err != nil {
		panic(err)
	}
	return p
}

// of is a sweep over format, a start, format once more and a start.
func (c crashCase) of() crashtest.Case[known] {
	// format is a process that formats, or finds that all is formatted.
	format := func(d *fs.Double, k *known) error {
		return c.plan(d).Run(d, func(Formatted) { k.done++ })
	}
	return crashtest.Case[known]{
		Name: c.name,
		Before: func(t testing.TB, d *fs.Double) (known, error) {
			if c.before == nil {
				return known{0, len(dirs)}, nil
			}
			k := known{0, len(dirs)}
			if c.formatted {
				k.done++
			}
			return k, c.before(d)
		},
		Do: func(t testing.TB, d *fs.Double, k known) (known, error) {
			err := format(d, &k)
			return k, err
		},
		// A process that would start looks at what is there, and changes nothing. Directories
		// that were reported as formatted are, data directories first; a controller whose
		// metadata directory is formatted has its bootstrap, whole and its own.
		Recover: func(t testing.TB, d *fs.Double, k known) (known, error) {
			if err := c.check(d, k); err != nil || !c.again {
				return k, err
			}
			if err := format(d, &k); err != nil {
				return k, err
			}
			k = known{len(dirs), len(dirs)}
			return k, c.check(d, k)
		},
		Live: func(t testing.TB, d *fs.Double, k known) error {
			if err := format(d, &k); err != nil {
				return err
			}
			return c.check(d.Crash(fs.KeepNone), known{len(dirs), len(dirs)})
		},
		Key: func(k known) string { return fmt.Sprint(k) },
	}
}

func (c crashCase) check(d *fs.Double, k known) error {
	set, err := metaprops.Load(d, dirs)
	if err != nil {
		return err
	}
	formatted := 0
	for _, dir := range set.Dirs {
		if dir.Formatted {
			formatted++
		}
	}
	plan := c.plan(d)
	switch meta := set.Dirs[0]; {
	case formatted < k.done:
		return fmt.Errorf("%d directories are formatted, and %d were said to be", formatted, k.done)
	case meta.Formatted && formatted < len(dirs):
		return errors.New("the metadata directory is formatted before the others")
	case meta.Formatted && plan.o.Controller:
		if err := c.checkZero(d, plan, meta.Directory); err != nil {
			return err
		}
	}
	local, err := metadata.ReadLocal(d, dirs[0])
	if err != nil {
		return err
	}
	_, err = set.Decide(metaprops.Start{
		Node: 1, Zero: local.ZeroClusterID, Bootstrap: metaprops.IsBootstrap(plan.o.Controller, plan.o.StaticVoters && plan.o.Controller, local.HasZero, false),
	}, newDrawer(d).next)
	if err != nil && formatted == len(dirs) {
		return fmt.Errorf("all are formatted, and no start: %w", err)
	}
	if err == nil && formatted < len(dirs) && plan.o.Controller && local.HasZero {
		return errors.New("a start on directories that are not all formatted")
	}
	return nil
}

func (c crashCase) checkZero(d *fs.Double, plan *Plan, directory metaprops.DirectoryID) error {
	b, ok, err := metadata.ReadZero(d, dirs[0])
	switch {
	case err != nil:
		return err
	case !ok:
		return errors.New("meta.properties without a zero checkpoint")
	case len(b.Records) != len(plan.records):
		return fmt.Errorf("a bootstrap of %d records, want %d", len(b.Records), len(plan.records))
	case len(b.Voters) != len(plan.voters):
		return fmt.Errorf("%d voters, want %d", len(b.Voters), len(plan.voters))
	case plan.o.Standalone != nil && b.Voters[0].Directory != directory:
		return errors.New("the voter is in another directory")
	}
	return nil
}

func crashCases() (all []crashtest.Case[known]) {
	endpoint := log.VoterEndpoint{Name: "C", Host: "h", Port: 9}
	for _, c := range []crashCase{
		{name: "static", with: func(o *Options) {}},
		{name: "standalone", with: func(o *Options) { o.StaticVoters, o.Standalone = false, &endpoint }},
		{name: "broker", with: func(o *Options) { o.Controller = false }},
		{
			name: "again", with: func(o *Options) { o.StaticVoters, o.Standalone = false, &endpoint },
			// What a process left behind that was killed before meta.properties.
			before: func(d *fs.Double) error {
				c := crashCase{with: func(o *Options) { o.StaticVoters, o.Standalone = false, &endpoint }}
				return errors.Join(c.plan(d).Run(d, func(Formatted) {}), d.Remove("p/d0/"+metaprops.FileName), d.Remove("p/d1/"+metaprops.FileName))
			},
		},
		{
			name: "metadata only", with: func(o *Options) {}, formatted: true,
			before: func(d *fs.Double) error {
				p := metaprops.Properties{Version: 1, ClusterID: "X", NodeID: 1, Directory: newDrawer(d).next()}
				return errors.Join(d.Mkdir("p"), d.Mkdir("p/d1"), metaprops.Write(d, "p/d1", p))
			},
		},
	} {
		all = append(all, c.of())
		c.name, c.again = c.name+", format again", true
		all = append(all, c.of())
	}
	return all
}

// TestEveryCrash: whatever a loss of power leaves, a start finds directories that are not
// formatted or that are whole, and format, run again, makes them whole.
func TestEveryCrash(t *testing.T) {
	total := crashtest.Sweep(t, crashCases())
	require.Greater(t, total.Points, 50)
}

// TestEveryFlush: each of the flushes is needed for that.
func TestEveryFlush(t *testing.T) { crashtest.Flushes(t, crashCases(), nil) }

// TestEveryFailure: what fails is said, by operation and file, and can be done again.
func TestEveryFailure(t *testing.T) { crashtest.Failures(t, crashCases()) }
