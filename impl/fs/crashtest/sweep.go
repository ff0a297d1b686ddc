package crashtest

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/quorate/quorate/impl/fs"
)

// Result says how much was tried.
type Result struct {
	// Points are the operations of Do that were crashed.
	Points int
	// Disks are those that crashes can leave, each counted once for each S.
	Disks int
	// Recoveries are the operations of Recover that were crashed, on all disks.
	Recoveries int
	// Outcomes is how many different ones were recovered.
	Outcomes int
}

func (r *Result) add(o Result) {
	r.Points += o.Points
	r.Disks += o.Disks
	r.Recoveries += o.Recoveries
	r.Outcomes += o.Outcomes
}

// String returns the numbers on one line.
func (r Result) String() string {
	return fmt.Sprintf("%d crash points, %d disks, %d crash points of recoveries, %d outcomes", r.Points, r.Disks, r.Recoveries, r.Outcomes)
}

// Sweep crashes each case at every operation and recovers every disk that this can
// leave; each recovery is crashed in the same way, until no new disk turns up. At every
// operation of Do the process is also killed without the machine and started again; that
// start is crashed at every operation, and unless the run is short it is killed at every
// operation too, and the start after that crashed. The first thing that is wrong fails
// the test.
func Sweep[S any](t *testing.T, cases []Case[S]) (total Result) {
	t.Helper()
	for i := range cases {
		t.Run(cases[i].Name, func(t *testing.T) {
			s := sweep[S]{t: t, c: &cases[i]}
			if !testing.Short() {
				s.kills = 1
			}
			if err := s.run(); err != nil {
				t.Fatal(err)
			}
			t.Log(s.Result)
			total.add(s.Result)
		})
	}
	t.Logf("TOTAL %d cases: %s", len(cases), total)
	return total
}

type sweep[S any] struct {
	t testing.TB
	c *Case[S]
	Result
	left     *site // the flush that is left out, if one is
	kills    int   // how many starts in a row are killed, after a first kill
	seen     map[string]bool
	outcomes map[string]bool
	todo     []found[S]
}

// found is a disk that a crash left.
type found[S any] struct {
	disk *fs.Double
	s    S
	how  *how
}

// how a disk came about: the last step, in an operation if that has a number, and the
// one before.
type how struct {
	what   string
	op     fs.Op
	before *how
}

func (h *how) String() string {
	step := h.what
	if h.op.N > 0 {
		step += fmt.Sprintf(" (%v)", h.op)
	}
	if h.before == nil {
		return step
	}
	return h.before.String() + "; " + step
}

func (s *sweep[S]) run() error {
	s.seen, s.outcomes = map[string]bool{}, map[string]bool{}
	for k := 1; ; k++ {
		crashed, err := s.point(k)
		if err != nil {
			return err
		}
		if err := s.rest(); err != nil {
			return err
		}
		if !crashed {
			s.Outcomes = len(s.outcomes)
			return nil
		}
		s.Points++
	}
}

// point crashes operation k of Do. crashed is false if there are fewer.
func (s *sweep[S]) point(k int) (crashed bool, err error) {
	d, known, err := s.c.begin(s.t)
	if err != nil {
		return false, err
	}
	h := &how{what: fmt.Sprintf("crash in operation %d", k)}
	s.arm(d, k, &h.op)
	known, err = s.c.do(s.t, d, known)
	d.Fail(nil)
	if crashed = d.Dead(); err != nil && !crashed {
		return false, fmt.Errorf("do: %w", err)
	}
	if !crashed {
		h = &how{what: "crash at the end"}
	}
	s.crash(d, known, h)
	d.Restart()
	return crashed, s.recover(d, known, &how{what: "kill instead of " + h.String()}, s.kills)
}

// arm makes the disk crash in its k-th operation from now on, 0: in none.
func (s *sweep[S]) arm(d *fs.Double, k int, last *fs.Op) {
	at := d.Ops() + k
	d.Fail(func(op fs.Op) fs.Fault {
		if last != nil {
			*last = op
		}
		switch {
		case op.N == at:
			return fs.Crash
		case s.left != nil && s.left.is(op):
			return fs.Unflushed
		}
		return fs.None
	})
}

// crash notes every disk that a crash now can leave.
func (s *sweep[S]) crash(d *fs.Double, known S, h *how) {
	key := sha256.Sum256([]byte(s.c.Key(known)))
	for print, after := range d.Crashes() {
		id := string(key[:]) + string(print[:])
		if !s.seen[id] {
			s.seen[id] = true
			s.Disks++
			s.todo = append(s.todo, found[S]{after(), known, h})
		}
	}
}

// rest recovers all disks, and those that crashes in that leave.
func (s *sweep[S]) rest() error {
	for len(s.todo) > 0 {
		f := s.todo[len(s.todo)-1]
		s.todo = s.todo[:len(s.todo)-1]
		if err := s.live(f); err != nil {
			return err
		}
		if err := s.recover(f.disk, f.s, f.how, 0); err != nil {
			return err
		}
	}
	return nil
}

// recover starts on a disk, and notes every disk that a crash in any operation of the
// start can leave, or a crash after it. Before an operation that flushes, a crash leaves
// all that it leaves in the operations since the flush before: to lose these wholly is
// one way to crash. The start is killed in each operation as well, if kills is not 0,
// and so is the start after that while kills lasts.
func (s *sweep[S]) recover(d *fs.Double, known S, h *how, kills int) error {
	var killed []found[S]
	s.arm(d, 0, nil)
	d.Watch(func(op fs.Op, now func() *fs.Double) {
		s.Recoveries++
		if kills > 0 {
			killed = append(killed, found[S]{now(), known, &how{"kill in the start", op, h}})
		}
		if op.Kind == fs.OpSync || op.Kind == fs.OpSyncDir {
			s.crash(now(), known, &how{"crash in the start", op, h})
		}
	})
	after, err := s.c.recover(s.t, d, known)
	d.Fail(nil)
	d.Watch(nil)
	if err != nil {
		return fmt.Errorf("%s: %w", h, err)
	}
	s.outcomes[s.c.Key(after)] = true
	s.crash(d, after, &how{what: "crash after the start", before: h})
	for _, f := range killed {
		if err := s.recover(f.disk, f.s, f.how, kills-1); err != nil {
			return err
		}
	}
	return nil
}

// live lets a process live on a disk.
func (s *sweep[S]) live(f found[S]) error {
	if s.c.Live == nil {
		return nil
	}
	d := f.disk.Clone()
	s.arm(d, 0, nil)
	after, err := s.c.recover(s.t, d, f.s)
	if err == nil {
		err = try(s.t, func(t testing.TB) error { return s.c.Live(t, d, after) })
	}
	if err != nil {
		return fmt.Errorf("%s; start: %w", f.how, err)
	}
	return nil
}
