package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/spec"
)

// What the public specification of KIP-853 reaches with two servers, two epochs and no
// bound on messages: 1,952 states, and these of them in the projection.
var public853 = []string{
	"<<<<Candidate, 2, 1, <<1>>>>, <<Candidate, 2, 2, <<1>>>>>>",
	"<<<<Candidate, 2, 1, <<1>>>>, <<Follower, 1, Nil, <<1>>>>>>",
	"<<<<Candidate, 2, 1, <<1>>>>, <<Unattached, 2, Nil, <<1>>>>>>",
	"<<<<Candidate, 2, 1, <<1>>>>, <<Voted, 2, 1, <<1>>>>>>",
}

func TestEstablished(t *testing.T) {
	seen, res, err := explore(runs[0].model(), view{})
	require.NoError(t, err)
	assert.NotZero(t, res.Distinct)
	for _, s := range public853 {
		assert.True(t, seen[s], s)
	}
	assert.True(t, compare(&runs[0], seen, seen, false))
	delete(seen, public853[0])
	theirs := map[string]bool{public853[0]: true}
	assert.False(t, compare(&runs[0], seen, theirs, false), "a state that only they reach")
	assert.False(t, compare(&runs[0], seen, nil, false), "states without a name that only we reach")
	assert.True(t, compare(&runs[1], seen, nil, false), "where they were told not to look")
}

func TestView(t *testing.T) {
	sys := spec.NewSystem(runs[3].model(), spec.Variant{})
	sys.Init(func(all []spec.Replica, _ []spec.Msg, _ spec.Ghost) {
		a, b := all[0], all[1]
		a.Election = spec.Election{Epoch: 2, Leader: 1, Voted: 1}
		a.Role = spec.Resigned
		a.Log.Append(spec.Run{Count: 2, Epoch: 1, Origin: 1})
		b.Election = spec.Election{Epoch: 2, Voted: 1}
		pair := []*spec.Replica{&a, &b}
		assert.Equal(t, "<<<<Resigned, 2, 1, <<1, 1>>>>, <<Voted, 2, 1, <<>>>>>>", view{}.ours(pair))
		assert.Equal(t, "<<<<Resigned, 2, Nil, <<1, 1>>>>, <<Unattached, 2, 1, <<>>>>>>", view{preVote: true}.ours(pair))
		assert.True(t, named[1].is(view{}.ours(pair)), "it led epoch 2 and wrote nothing in it")
		a.Log.Append(spec.Run{Count: 1, Epoch: 2, Origin: 1})
		assert.False(t, named[1].is(view{}.ours(pair)))
		assert.False(t, named[2].is(view{preVote: true}.ours(pair)))
		b.Election.Voted = 2
		assert.True(t, named[2].is(view{preVote: true}.ours(pair)), "B stood, and waits in the same epoch")
		a.Role = spec.Leader
		assert.Equal(t, between, view{}.ours(pair))
	})
}

func TestConfig(t *testing.T) {
	for i := range runs {
		r := &runs[i]
		c := r.config()
		assert.Contains(t, c, "SPECIFICATION Spec")
		assert.Equal(t, r.spec == "kip_996", r.maxEpoch() == epochs+1)
		assert.Equal(t, r.behaviours == 0, strings.Contains(c, "CONSTRAINT Bound"), r.name)
	}
}
