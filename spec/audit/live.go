package audit

import (
	"fmt"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec/bootstrap"
	"github.com/quorate/quorate/spec/clusterid"
	"github.com/quorate/quorate/spec/concern"
	"github.com/quorate/quorate/spec/kafkasql"
)

// RunLive judges a live model of a concern, under a mutation unless that is empty.
func RunLive(c *concern.Concern, l *concern.Live, mutation string, opt checker.Options) (*checker.LiveResult, error) {
	res, err := judge(c, l, mutation, opt)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", l.Name, err)
	}
	res.Spec = l.Name // not that of the model, of which others may ask other things
	return res, nil
}

func judge(c *concern.Concern, l *concern.Live, mutation string, opt checker.Options) (*checker.LiveResult, error) {
	made, err := c.New(l.Model, concern.Variant{Mutation: mutation, Set: l.Set})
	if err != nil {
		return nil, err
	}
	switch s := made.(type) {
	case concern.Judge[bootstrap.State]:
		return checker.RunLiveness(checker.LiveSpec[bootstrap.State](live[bootstrap.State]{listed[bootstrap.State]{s}, s, l.Liveness}), opt)
	case concern.Judge[clusterid.State]:
		return checker.RunLiveness(checker.LiveSpec[clusterid.State](live[clusterid.State]{listed[clusterid.State]{s}, s, l.Liveness}), opt)
	case concern.Judge[kafkasql.State]:
		return checker.RunLiveness(checker.LiveSpec[kafkasql.State](live[kafkasql.State]{listed[kafkasql.State]{s}, s, l.Liveness}), opt)
	}
	return nil, fmt.Errorf("concern %s has no predicates for liveness", c.Name)
}

// live hands a concern with predicates to the checker.
type live[S any] struct {
	listed[S]
	judge    concern.Judge[S]
	liveness *checker.Liveness
}

func (l live[S]) Liveness() *checker.Liveness { return l.liveness }

func (l live[S]) Atoms(s *S) checker.Atoms { return l.judge.Atoms(s) }
