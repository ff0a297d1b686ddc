package mutex_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/checker/examples/mutex"
)

// With a lock that only looks at who could enter all the time, a process starves:
// whenever it could enter, another one does.
func ExampleSpec() {
	m, err := mutex.New(2)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, strong := range []bool{true, false} {
		m.Strong = strong
		r, err := checker.RunLiveness(m, checker.Options{})
		if err != nil {
			fmt.Println(err)
			return
		}
		for _, p := range r.Properties {
			fmt.Printf("strong %v: %s %s\n", strong, p.Name, p.Verdict)
		}
		for _, v := range r.Violations {
			for i, s := range v.Trace {
				fmt.Printf("%d %s %s\n", i, s.Actor, s.Step)
			}
			fmt.Printf("and again from %d\n", *v.Loop)
		}
	}
	// Output:
	// strong true: EveryoneEnters holds
	// strong true: SomebodyEnters holds
	// strong false: EveryoneEnters violated
	// strong false: SomebodyEnters holds
	// 0  initial state
	// 1 p1 Ask
	// 2 p2 Ask
	// 3 p2 Enter
	// 4 p2 Leave
	// and again from 1
}

func TestSafety(t *testing.T) {
	m, err := mutex.New(mutex.MaxProcesses)
	require.NoError(t, err)
	r, err := checker.Run(m, checker.Options{})
	require.NoError(t, err)
	assert.Equal(t, checker.Holds, r.Status)
	assert.EqualValues(t, 256, r.Distinct) // 2^6 without a critical one, 6 * 2^5 with
}

func TestStarvation(t *testing.T) {
	for n := 1; n <= mutex.MaxProcesses; n++ {
		m, err := mutex.New(n)
		require.NoError(t, err)
		for _, strong := range []bool{false, true} {
			m.Strong = strong
			r, err := checker.RunLiveness(m, checker.Options{})
			require.NoError(t, err)
			starves := n > 1 && !strong // alone nobody takes the lock away
			assert.Equal(t, starves, r.Status == checker.Violated, "%d processes, strong %v", n, strong)
			assert.NotZero(t, r.Fair)
		}
	}
}

func TestBadConstants(t *testing.T) {
	for _, n := range []int{-1, 0, mutex.MaxProcesses + 1} {
		_, err := mutex.New(n)
		assert.ErrorContains(t, err, "at most 6 fit")
	}
}
