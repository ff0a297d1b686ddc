package spec_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/checker/checkertest"
	"github.com/quorate/quorate/spec"
)

const (
	a = spec.ID(iota + 1)
	b
	c
	d
)

// symmetricModels are small: each state is held against all its images.
var symmetricModels = []spec.Model{
	{
		Name: "two", Voters: 2, PreVote: spec.All(2), Epochs: 1, InFlight: 1, StaysDown: true, Bootstrap: true,
	},
	{
		Name: "three", Voters: 3, Epochs: 1, InFlight: 1, MergeFlush: true,
		Immediate: spec.Kinds(spec.Vote, spec.BeginQuorumEpoch, spec.Fetch), Silent: spec.Kinds(spec.BeginQuorumEpoch),
	},
	{
		Name: "reads", Voters: 2, Epochs: 1, InFlight: 1, Reads: 1, Records: 1, Resigns: 1, MergeFlush: true, Immediate: spec.Kinds(spec.Vote),
	},
	{
		Name: "crash", Voters: 2, Epochs: 2, InFlight: 1, Crashes: 1, Immediate: spec.Kinds(spec.Vote, spec.Fetch, spec.BeginQuorumEpoch),
	},
	{
		Name: "observers", Voters: 1, Observers: 2, Epochs: 1, InFlight: 1, Late: 1, Park: true, MergeFlush: true,
	},
	{
		Name: "snapshots", Voters: 1, Observers: 2, Epochs: 1, InFlight: 1, Snapshots: 1, Parts: 2, MergeFlush: true, Immediate: spec.Kinds(spec.Fetch),
	},
	{
		Name: "who may stand", Voters: 3, Epochs: 1, InFlight: 1, MergeFlush: true, Immediate: spec.Kinds(spec.Vote, spec.BeginQuorumEpoch),
		Silent: spec.Kinds(spec.BeginQuorumEpoch), Stand: []spec.Set{spec.SetOf(a, c)},
	},
	{
		Name: "upgrade", Voters: 3, PreVote: spec.SetOf(b), Epochs: 1, InFlight: 1, MergeFlush: true, Immediate: spec.Kinds(spec.Fetch, spec.Vote, spec.BeginQuorumEpoch),
		Silent: spec.Kinds(spec.BeginQuorumEpoch),
	},
}

// TestSymmetry holds the renaming of replicas against all states of small models.
func TestSymmetry(t *testing.T) {
	for i := range symmetricModels {
		m := &symmetricModels[i]
		t.Run(m.Name, func(t *testing.T) {
			sys := spec.NewSystem(m, spec.Variant{})
			orbits, err := checker.VerifySymmetry(sys, 5_000)
			require.NoError(t, err)
			r, err := checker.Run(checker.Interned(sys), checker.Options{})
			require.NoError(t, err)
			t.Logf("%d states, %d orbits", r.Distinct, orbits)
			assert.Less(t, orbits, int(r.Distinct)*2/3)
			checkertest.CompareEngines(t, func() checker.System[spec.Replica, spec.Msg, spec.Ghost] {
				return spec.NewSystem(m, spec.Variant{})
			}, checker.Options{Symmetry: true})
		})
	}
}

func TestInterchangeable(t *testing.T) {
	for _, row := range []struct {
		model   spec.Model
		variant spec.Variant
		want    [][]uint8
	}{
		{spec.Model{Voters: 3, Epochs: 2}, spec.Variant{}, [][]uint8{{0, 1, 2}}},
		{spec.Model{Voters: 2, Observers: 2, Epochs: 2}, spec.Variant{}, [][]uint8{{0, 1}, {2, 3}}},
		{spec.Model{Voters: 3, Epochs: 2, PreVote: spec.SetOf(b)}, spec.Variant{}, [][]uint8{{0, 2}, {1}}},
		{spec.Model{Voters: 4, Epochs: 1, Stand: []spec.Set{spec.SetOf(a, d)}}, spec.Variant{}, [][]uint8{{0, 3}, {1, 2}}},
		{spec.Model{Voters: 3, Epochs: 2, Stand: []spec.Set{spec.SetOf(a), spec.SetOf(b)}}, spec.Variant{}, [][]uint8{{0}, {1}, {2}}},
		{spec.Model{Voters: 3, Epochs: 2}, spec.Variant{DropGuard: spec.HasMajority, On: spec.SetOf(a)}, [][]uint8{{0}, {1, 2}}},
	} {
		assert.Equal(t, row.want, spec.NewSystem(&row.model, row.variant).Interchangeable(), row.model.Constants())
	}
}
