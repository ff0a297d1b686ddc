// Command jugs measures four litres with a jug of three and a jug of five. It is a whole
// program around the checker, in one file: the one of docs/checker.md, "In a module of
// your own".
package main

import (
	"fmt"
	"log"
	"os"

	"github.com/quorate/quorate/checker"
)

// state is how much is in each jug. Its size must be a multiple of 8.
type state struct {
	Small, Big uint8
	_          [6]uint8
}

const (
	small, big = 3, 5

	fourMeasured checker.Props = 1 << 0
)

type jugs struct{}

func (jugs) Info() *checker.Info {
	return &checker.Info{
		Name:       "jugs",
		Actions:    []string{"FillSmall", "FillBig", "EmptySmall", "EmptyBig", "SmallToBig", "BigToSmall"},
		Properties: []checker.Property{{Name: "FourMeasured", Kind: checker.Sometimes, Doc: "the big jug has four litres"}},
	}
}

func (jugs) Init(out *checker.Sink[state]) {
	*out.Slot() = state{}
	out.Commit(-1, checker.Instance{}, 0, 0)
}

func (jugs) Next(s *state, out *checker.Sink[state]) {
	toBig, toSmall := min(s.Small, big-s.Big), min(s.Big, small-s.Small)
	for action, next := range [...]state{
		{Small: small, Big: s.Big},
		{Small: s.Small, Big: big},
		{Small: 0, Big: s.Big},
		{Small: s.Small, Big: 0},
		{Small: s.Small - toBig, Big: s.Big + toBig},
		{Small: s.Small + toSmall, Big: s.Big - toSmall},
	} {
		*out.Slot() = next
		out.Commit(-1, checker.Instance{Action: checker.ActionID(action)}, 0, 0)
	}
}

func (jugs) Check(s *state) (violated, reached checker.Props) {
	if s.Big == 4 {
		reached = fourMeasured
	}
	return 0, reached
}

func (jugs) Describe(s *state) []checker.Field {
	return []checker.Field{{Path: "jugs.small", Value: fmt.Sprint(s.Small)}, {Path: "jugs.big", Value: fmt.Sprint(s.Big)}}
}

func (jugs) Env(s *state) map[string]any {
	return map[string]any{"small": int(s.Small), "big": int(s.Big)}
}

func main() {
	r, err := checker.Find(jugs{}, "big == 4", checker.Options{Workers: 1})
	if err != nil {
		log.Fatal(err)
	}
	if err := r.WriteText(os.Stdout); err != nil {
		log.Fatal(err)
	}
	if r.Status != checker.Found {
		os.Exit(r.Status.ExitCode())
	}
}
