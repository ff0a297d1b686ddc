package lease_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/checker/examples/lease"
)

func Example() {
	m, err := lease.New(2, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	m.NoFencing = true
	r, err := checker.Run(m, checker.Options{Workers: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Status)
	for _, v := range r.Violations {
		fmt.Println(v.Property, "in", len(v.Trace)-1, "steps")
		for _, s := range v.Trace[1:] {
			fmt.Printf("  %s: %s\n", s.Actor, s.Step)
		}
	}
	// Output:
	// violated
	// NoStaleWrite in 5 steps
	//   c1: Acquire(token 1)
	//   environment: Expire
	//   c2: Acquire(token 2)
	//   c2: Write(token 2)
	//   c1: Write(token 1)
}

// Two clients may think that they have the lock, with fencing too.
func ExampleSpec_find() {
	m, _ := lease.New(2, 2)
	r, err := checker.Find(m, "believers == 2 && stored == 1", checker.Options{Workers: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	_ = checker.WriteTrace(os.Stdout, r.Witness[1:4])
	// Output:
	//     0  Acquire(token 1)
	//          c1: believes token 1
	//          c2: believes no lock
	//          lock: holder c1, token 1
	//          storage: last write token 0, newest token 0
	//     1  c1: Write(token 1)
	//          storage.last write: token 0 -> token 1
	//          storage.newest: token 0 -> token 1
	//     2  environment: Expire
	//          lock.holder: c1 -> nobody
	//        then
	//          c1: believes token 1
	//          c2: believes no lock
	//          lock: holder nobody, token 1
	//          storage: last write token 1, newest token 1
}

// A counterexample can be drawn, and handed to other tools.
func ExampleSpec_draw() {
	m, _ := lease.New(2, 2)
	m.NoFencing = true
	r, err := checker.Run(m, checker.Options{Workers: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	b := r.Behaviours("")[0]
	var svg, itf bytes.Buffer
	_ = b.WriteSVG(&svg)
	_ = b.WriteITF(&itf)
	fmt.Println(b.Title)
	fmt.Println(strings.Count(svg.String(), `class="step`), "rows")

	trace, err := checker.ReadITF(&itf)
	if err != nil {
		fmt.Println(err)
		return
	}
	m.NoFencing = false
	back, err := checker.Replay(context.Background(), m, trace, 1000)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("with fencing, state", back.Rejection.State, "cannot be")
	// Output:
	// lease2_2: counterexample to NoStaleWrite, 5 steps
	// 7 rows
	// with fencing, state 5 cannot be
}

// Small models are graphs.
func ExampleSpec_graph() {
	m, _ := lease.New(1, 1)
	g, err := checker.Graph(m, 100)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(g.Nodes), "states,", len(g.Steps), "steps")
	// Output: 7 states, 11 steps
}
