package crashtest

import (
	"fmt"
	"runtime/debug"
	"testing"

	"github.com/quorate/quorate/impl/fs"
)

// Case is something that is done on a disk. S is what is known of the outcome: what may
// be found after a crash.
//
// A function that finds something wrong returns an error, or fails its testing.TB, which
// is not that of the test. They must do the same whenever they are called.
type Case[S any] struct {
	Name string
	// Before prepares an empty disk. All of it is durable before Do begins.
	Before func(t testing.TB, d *fs.Double) (S, error)
	// Do does what the case is about, and returns what may be found from now on: also
	// beside an error, which says that it could not go on.
	Do func(t testing.TB, d *fs.Double, s S) (S, error)
	// Recover is a new process. It is an error if what it finds is not what s allows. It
	// returns what will be found from now on: that, and nothing else.
	Recover func(t testing.TB, d *fs.Double, s S) (S, error)
	// Live, if it is there, uses what was recovered.
	Live func(t testing.TB, d *fs.Double, s S) error
	// Key tells what s allows. Two that allow the same have one key.
	Key func(s S) string
}

// try calls f with a testing.TB of its own. What f fails, and a panic, is its error.
func try(t testing.TB, f func(testing.TB) error) (err error) {
	p := &probe{TB: t}
	defer func() {
		switch r := recover(); r {
		case nil, any(stopped{}):
			if p.failed != nil {
				err = p.failed
			}
		default:
			err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
		}
	}()
	return f(p)
}

// probe notes failures instead of failing the test.
type probe struct {
	testing.TB
	failed error
}

type stopped struct{}

func (p *probe) Errorf(format string, args ...any) {
	if p.failed == nil {
		p.failed = fmt.Errorf(format, args...)
	}
}
func (p *probe) Error(args ...any)                 { p.Errorf("%s", fmt.Sprint(args...)) }
func (p *probe) Fatal(args ...any)                 { p.Error(args...); p.FailNow() }
func (p *probe) Fatalf(format string, args ...any) { p.Errorf(format, args...); p.FailNow() }
func (p *probe) Fail()                             { p.Errorf("failed") }
func (p *probe) FailNow()                          { p.Fail(); panic(stopped{}) }
func (p *probe) Failed() bool                      { return p.failed != nil }
func (p *probe) Helper()                           {}

// begin returns a disk on which Before was done and is durable.
func (c *Case[S]) begin(t testing.TB) (d *fs.Double, s S, err error) {
	d = fs.NewDouble()
	err = try(t, func(t testing.TB) (err error) {
		s, err = c.Before(t, d)
		return err
	})
	d.FlushAll()
	if err != nil {
		err = fmt.Errorf("%s: before: %w", c.Name, err)
	}
	return d, s, err
}

func (c *Case[S]) do(t testing.TB, d *fs.Double, s S) (S, error) {
	err := try(t, func(t testing.TB) (err error) {
		s, err = c.Do(t, d, s)
		return err
	})
	return s, err
}

func (c *Case[S]) recover(t testing.TB, d *fs.Double, s S) (after S, err error) {
	err = try(t, func(t testing.TB) (err error) {
		after, err = c.Recover(t, d, s)
		return err
	})
	return after, err
}
