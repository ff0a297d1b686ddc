package checker_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/checker/examples/lease"
)

func ExampleRun() {
	m, err := lease.New(2, 3) // two clients, three fencing tokens
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := checker.Run(m, checker.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Status, r.Distinct, r.Generated, r.Depth)
	for _, p := range r.Properties {
		fmt.Println(p.Name, p.Verdict)
	}
	for _, b := range r.Bounds {
		fmt.Println("not explored beyond:", b.Name, "in", b.States, "states")
	}
	// Output:
	// holds 112 336 8
	// NoStaleWrite holds
	// TwoBelieve reached
	// not explored beyond: tokens in 28 states
}

func ExampleRun_counterexample() {
	m, _ := lease.New(2, 2)
	m.NoFencing = true
	r, err := checker.Run(m, checker.Options{Workers: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	v := r.Violations[0]
	last := v.Trace[len(v.Trace)-1]
	fmt.Println(v.Property, "after", last.Actor, last.Step)
	for _, c := range checker.Changes(v.Trace[len(v.Trace)-2].Fields, last.Fields) {
		fmt.Println(c)
	}
	// Output:
	// NoStaleWrite after c1 Write(token 1)
	// storage.last write: token 2 -> token 1
}

func ExampleFind() {
	m, _ := lease.New(3, 3)
	r, err := checker.Find(m, "believers == 3", checker.Options{Workers: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Status, "in", len(r.Witness)-1, "steps")

	_, err = checker.Find(m, "belivers == 3", checker.Options{})
	fmt.Println(strings.SplitN(err.Error(), "\n", 2)[0])
	// Output:
	// found in 5 steps
	// predicate: unknown name belivers (1:1)
}

func ExampleGraph() {
	m, _ := lease.New(1, 1)
	g, err := checker.Graph(m, 10)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range g.Steps[:3] {
		fmt.Println(s.Source, s.Step, s.Target)
	}
	m, _ = lease.New(4, 9)
	_, err = checker.Graph(m, 10)
	fmt.Println(errors.Is(err, checker.ErrTooManyStates))
	// Output:
	// 0 Acquire(token 1) 1
	// 1 Write(token 1) 2
	// 1 Release 3
	// true
}

// A trace need not say all of a state.
func ExampleReplay() {
	trace, err := checker.ReadITF(strings.NewReader(`{"states": [
		{"lock": {"holder": "nobody"}},
		{"lock": {"holder": "c1"}},
		{"lock": {"holder": "c2"}}]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	m, _ := lease.New(2, 2)
	r, err := checker.Replay(context.Background(), m, trace, 1000)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Accepted, "at state", r.Rejection.State)
	near := r.Rejection.Nearest[0]
	fmt.Println(near.Actor, near.Step)
	fmt.Println(near.Differs[0])
	// Output:
	// false at state 2
	// c1 Write(token 1)
	// lock.holder: the trace has c2, the model c1
}

// ExampleErase shows how a command treats specifications of any kind alike.
func ExampleErase() {
	two, _ := lease.New(2, 2)
	three, _ := lease.New(3, 2)
	for _, m := range []checker.Runnable{checker.Erase(two), checker.Erase(three)} {
		r, err := m.Run(checker.Options{Workers: 2})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(m.Info().Name, r.Status, r.Distinct)
	}
	// Output:
	// lease2_2 holds 44
	// lease3_2 holds 81
}

func ExampleResult_WriteText() {
	m, _ := lease.New(1, 1)
	r, err := checker.Find(m, "stored == 1", checker.Options{Workers: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = checker.WriteTrace(os.Stdout, r.Witness)
	// Output:
	//     0  initial state
	//          c1: believes no lock
	//          lock: holder nobody, token 0
	//          storage: last write token 0, newest token 0
	//     1  c1: Acquire(token 1)
	//          c1.believes: no lock -> token 1
	//          lock.holder: nobody -> c1
	//          lock.token: 0 -> 1
	//     2  c1: Write(token 1)
	//          storage.last write: token 0 -> token 1
	//          storage.newest: token 0 -> token 1
	//        then
	//          c1: believes token 1
	//          lock: holder c1, token 1
	//          storage: last write token 1, newest token 1
}
