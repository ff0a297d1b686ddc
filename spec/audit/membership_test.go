package audit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
)

// withoutGuard is a guard of a change of the voter set, taken away: in a model where a
// property notices, or where nothing does for a reason.
type withoutGuard struct {
	action spec.ActionID
	guard  spec.Guard
	model  string
	set    []string
	caught string
	why    string
}

var changesUnguarded = []withoutGuard{
	{spec.ActionAddVoter, spec.IsLeader, "update-voter", nil, "UniqueEpochOffset", ""},
	{spec.ActionRemoveVoter, spec.IsLeader, "remove-two", nil, "UniqueEpochOffset", ""},
	{spec.ActionUpdateVoter, spec.IsLeader, "update-voter", nil, "UniqueEpochOffset", ""},
	{spec.ActionRemoveVoter, spec.EpochCommitted, "two-changes", nil, "CommittedStable", ""},
	{spec.ActionRemoveVoter, spec.NoUncommittedChange, "remove-two", nil, "CommittedStable", ""},
	// B and C are a majority of a set that A, alone in the set before, loses again.
	{spec.ActionAddVoter, spec.NoUncommittedChange, "voters-crash",
		[]string{"voters", "1", "observers", "2", "removes", "0", "adds", "2", "records", "0", "changing", "all", "stand", "A/A,B,C"}, "LeaderCompleteness", ""},
	{spec.ActionRemoveVoter, spec.NotLastVoter, "one-of-two", []string{"removes", "2", "changing", "all"}, "QuorumOverlap", ""},

	{spec.ActionAddVoter, spec.EpochCommitted, "update-voter", nil, "", "two additions that know nothing of each other have majorities that do not meet only from six replicas on; with a removal, RemoveVoter shows it"},
	{spec.ActionAddVoter, spec.NotInVoterSet, "update-voter", nil, "", "who is a voter already stays one: the same set again"},
	{spec.ActionRemoveVoter, spec.InVoterSet, "remove-two", nil, "", "who is no voter stays none: the same set again"},
	{spec.ActionUpdateVoter, spec.EpochCommitted, "update-voter", nil, "", "the set stays as it is, and so does every majority"},
	{spec.ActionUpdateVoter, spec.NoUncommittedChange, "update-voter", nil, "", "the set stays as it is, and so does every majority"},
	{spec.ActionUpdateVoter, spec.InVoterSet, "update-voter", nil, "", "the set stays as it is, whoever it is about"},
}

// Every guard of a change of the voter set is missed by a property if it is taken away, or
// there is a reason why none has to; and every one has a line.
func TestChangesOfVotersNeedTheirGuards(t *testing.T) {
	left := map[spec.ActionID][]spec.Guard{}
	for _, c := range changesUnguarded {
		left[c.action] = append(left[c.action], c.guard)
		t.Run(c.action.String()+"."+c.guard.String(), func(t *testing.T) {
			named, ok := spec.ModelNamed(c.model)
			require.True(t, ok)
			m := *named
			for i := 0; i < len(c.set); i += 2 {
				require.NoError(t, m.Set(c.set[i], c.set[i+1]))
			}
			opt := checker.Options{}
			if c.caught != "" {
				opt.Properties = []string{c.caught}
			} else {
				for _, p := range spec.Properties {
					if p.Restates == "" {
						opt.Properties = append(opt.Properties, p.Name)
					}
				}
			}
			res, err := checker.Run(checker.Interned(spec.NewSystem(&m, spec.Variant{DropAction: c.action, DropGuard: c.guard})), opt)
			require.NoError(t, err)
			if c.caught == "" {
				require.NotEmpty(t, c.why)
				assert.Equal(t, checker.Holds, res.Status, "it is caught: %v", res.Violations)
				return
			}
			require.Equal(t, checker.Violated, res.Status)
			assert.Equal(t, c.caught, res.Violations[0].Property)
		})
	}
	for a := spec.ActionID(0); a < spec.NumReplicaActions; a++ {
		if a.AboutMembership() {
			assert.ElementsMatch(t, spec.GuardsOf(a), left[a], a.String())
		}
	}
}
