package checker_test

import (
	"fmt"

	"github.com/quorate/quorate/checker"
)

// A ring of three processes hands a token round. The network may deliver it twice, as
// often as the model allows: then two processes have it.
type tokenRing struct{ copies uint8 }

type member struct{ ID, HasToken uint8 }

type handover struct{ From, To uint8 }

type nothing struct{} // no ghosts: the property speaks of the present only

const (
	pass checker.ActionID = iota
	take
	duplicate
)

const oneToken checker.Props = 1

func (r *tokenRing) Info() *checker.Info {
	return &checker.Info{
		Name:    "ring",
		Actions: []string{"Pass", "Take", "Duplicate"},
		Properties: []checker.Property{
			{Name: "OneToken", Kind: checker.Invariant, Doc: "no two processes have the token"},
		},
		Processes:   []string{"A", "B", "C"},
		MaxInFlight: 2,
		Budgets:     []checker.BudgetInfo{{}, {Name: "copies", Limit: r.copies}},
		FormatStep:  func(_ int, i checker.Instance) string { return []string{"Pass", "Take", "Duplicate"}[i.Action] },
	}
}

func (r *tokenRing) Init(yield func([]member, []handover, nothing)) {
	yield([]member{{0, 1}, {1, 0}, {2, 0}}, nil, nothing{})
}

func (r *tokenRing) Local(m *member, b checker.Budget, out *checker.Steps[member, handover]) {
	if b == 0 && m.HasToken == 1 {
		s := out.Add()
		s.Instance.Action = pass
		s.Next = member{ID: m.ID}
		s.Sends[0], s.SendN = handover{m.ID, (m.ID + 1) % 3}, 1
	}
}

func (r *tokenRing) Deliver(m *member, _ *handover, out *checker.Steps[member, handover]) {
	s := out.Add()
	s.Instance.Action = take
	s.Next = member{m.ID, 1}
}

func (r *tokenRing) Network(m *handover, out *checker.Fates[handover]) {
	out.List = append(out.List, checker.Fate[handover]{
		Instance: checker.Instance{Action: duplicate}, Budget: 1, Becomes: [2]handover{*m, *m}, N: 2,
	})
}

func (r *tokenRing) Route(m *handover) checker.Route                       { return checker.Route{Dst: m.To} }
func (r *tokenRing) Observe(*nothing, *checker.View[member]) checker.Props { return 0 }
func (r *tokenRing) CheckOne(*member, *nothing) checker.Props              { return 0 }
func (r *tokenRing) DescribeGhost(*nothing) []checker.Field                { return nil }
func (r *tokenRing) DescribeMessage(m *handover) string {
	return fmt.Sprintf("token %c->%c", 'A'+m.From, 'A'+m.To)
}
func (r *tokenRing) Env([]*member, []*handover, *nothing) map[string]any { return nil }

func (r *tokenRing) CheckPair(a, b *member) checker.Props {
	if a.HasToken+b.HasToken > 1 {
		return oneToken
	}
	return 0
}

func (r *tokenRing) DescribeProcess(m *member) []checker.Field {
	return []checker.Field{{Path: "token", Value: fmt.Sprint(m.HasToken == 1)}}
}

func ExampleInterned() {
	for _, copies := range []uint8{0, 1} {
		r, err := checker.Run(checker.Interned(&tokenRing{copies}), checker.Options{Workers: 1})
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d copies: %s\n", copies, r.Status)
		for _, v := range r.Violations {
			for _, s := range v.Trace[1:] {
				fmt.Printf("  %s: %s (%s)\n", s.Actor, s.Step, s.Message)
			}
		}
	}
	// Output:
	// 0 copies: holds
	// 1 copies: violated
	//   A: Pass ()
	//   environment: Duplicate (token A->B)
	//   B: Take (token A->B)
	//   B: Pass ()
	//   B: Take (token A->B)
	//   C: Take (token B->C)
}
