package crashtest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/stretchr/testify/require"
)

// replace is a case that puts "new" in place of "old" by a function, and a start that is
// a function too.
func replace(write func(d *fs.Double) error, start func(d *fs.Double) error) Case[string] {
	return Case[string]{
		Name:   "replace",
		Before: func(t testing.TB, d *fs.Double) (string, error) { return "old", fs.WriteFile(d, "f", []byte("old")) },
		Do: func(t testing.TB, d *fs.Double, s string) (string, error) {
			if err := write(d); err != nil {
				return "old new", err
			}
			return "new", nil
		},
		Recover: func(t testing.TB, d *fs.Double, s string) (string, error) {
			if err := start(d); err != nil {
				return s, err
			}
			b, err := fs.ReadFile(d, "f")
			require.NoError(t, err)
			require.Contains(t, s, string(b))
			require.NotEmpty(t, b)
			return string(b), nil
		},
		Key: func(s string) string { return s },
	}
}

func whole(d *fs.Double) error { return fs.WriteFile(d, "f", []byte("new")) }
func flush(d *fs.Double) error { return d.SyncDir("/") }

// in steps of one operation each, but those left out.
func steps(left ...int) func(d *fs.Double) error {
	return func(d *fs.Double) error {
		f, err := d.Create("t")
		if err != nil {
			return err
		}
		for i, step := range []func() error{
			func() error { _, err := f.WriteAt([]byte("new"), 0); return err }, f.Sync,
			func() error { return d.Rename("t", "f") }, func() error { return d.SyncDir("/") },
		} {
			skip := false
			for _, l := range left {
				skip = skip || l == i
			}
			if skip {
				continue
			}
			if err := step(); err != nil {
				return err
			}
		}
		return nil
	}
}

func TestSweep(t *testing.T) {
	r := Sweep(t, []Case[string]{replace(whole, flush)})
	require.Equal(t, 5, r.Points)
	require.Equal(t, 2, r.Outcomes)
	for what, c := range map[string]Case[string]{
		"content": replace(steps(1), flush), "name": replace(steps(3), flush),
		"start does not flush the name that it goes by": replace(whole, func(*fs.Double) error { return nil }),
		"panic":          replace(whole, func(d *fs.Double) error { panic("x") }),
		"start destroys": replace(whole, func(d *fs.Double) error { _, err := d.Create("f"); return err }),
		// Only a crash in the start shows it.
		"start destroys and mends": replace(whole, func(d *fs.Double) error {
			b, err := fs.ReadFile(d, "f")
			if err != nil {
				return err
			}
			return errors.Join(flush(d), d.Remove("f"), flush(d), fs.WriteFile(d, "f", b))
		}),
	} {
		s := sweep[string]{t: t, c: &c}
		require.Error(t, s.run(), what)
	}
}

func TestFlushes(t *testing.T) {
	start := func(d *fs.Double) error {
		b, err := fs.ReadFile(d, "f")
		return errors.Join(err, fs.WriteFile(d, "f", b))
	}
	twice := func(d *fs.Double) error { return errors.Join(whole(d), flush(d)) }
	Flushes(t, []Case[string]{replace(whole, start)}, nil)
	p := &probe{TB: t}
	Flushes(p, []Case[string]{replace(twice, start)}, nil)
	require.ErrorContains(t, p.failed, "nothing is wrong without syncdir")
	p = &probe{TB: t}
	Flushes(p, []Case[string]{replace(whole, start)}, map[string]string{"no such flush": "why"})
	require.ErrorContains(t, p.failed, `no flush is "no such flush"`)
}

func TestFailures(t *testing.T) {
	require.Equal(t, 4*(5+1)+1, Failures(t, []Case[string]{replace(whole, flush)}))
	for what, write := range map[string]func(d *fs.Double) error{
		"nobody says":   func(d *fs.Double) error { _ = whole(d); return nil },
		"does not name": func(d *fs.Double) error { return unnamed(whole(d)) },
		"not that of":   func(d *fs.Double) error { return vague(whole(d)) },
	} {
		f := failures[string]{sweep[string]{t: t, c: ref(replace(write, flush)), seen: map[string]bool{}, outcomes: map[string]bool{}}, 0}
		require.ErrorContains(t, f.run(), what)
	}
}

func ref[T any](v T) *T { return &v }

func unnamed(err error) error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		err = e
	}
	return err
}

func vague(err error) error {
	if err != nil {
		return fmt.Errorf("it failed")
	}
	return nil
}
