package clusterid

import (
	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec/concern"
)

// What comes about in the end, for the first node.

// Atoms of a state.
const (
	isKnown   checker.Atoms = 1 << iota // it has an id
	isUnknown                           // it runs, and has none
	isOut                               // it has ended with an error, or never ran
	isAway                              // it has no vote, and the id of another cluster than its endpoints are of
	isIntact                            // its meta.properties have the one id that they ever had
)

var atomNames = []string{"known", "unknown", "out", "away", "intact"}

// Atoms implements concern.Judge.
func (m *machine) Atoms(s *State) (set checker.Atoms) {
	n := &s.N[0]
	switch n.Stage {
	case Known:
		set |= isKnown
		if n.Endpoints == atB && n.Mem == OfA && n.Role <= Observer {
			set |= isAway
		}
	case Unknown:
		set |= isUnknown
	case Exited, Down:
		set |= isOut
	}
	if n.Meta[0].ID == OfA && n.Meta[1].ID == OfA {
		set |= isIntact
	}
	return set
}

// steady: what a node and its cluster may go on to do they do, and in the end neither
// power nor leaders nor snapshots come and go.
func steady(bounds []checker.Bound, stop []Action, deadlines bool, properties ...checker.LivenessProperty) *checker.Liveness {
	l := &checker.Liveness{
		Atoms: atomNames, Properties: properties,
		Fair: concern.Fair(1, Start, WriteMeta, FlushMeta, SetMemory, Adopt),
		Finally: checker.Finally{
			Never: []checker.StepSet{concern.Steps(stop...)},
		},
		Assumes: "in the end no power is lost, no leader replaced and no snapshot taken; each step that stays possible is taken",
	}
	if deadlines {
		l.Fair = append(l.Fair, concern.Fair(1, Timeout)...)
		l.Assumes += ", and a deadline that is set passes"
	}
	for k := range MaxClusters {
		fetch := concern.Steps(Fetch)
		fetch.Processes, fetch.Mask, fetch.Args = []int{0}, 0xff, uint32(k)
		l.Fair = append(l.Fair, checker.Fairness{Name: "Fetch from cluster " + clusterName(k), Steps: []checker.StepSet{fetch}})
		for _, a := range []Action{AppendNext, AdvanceHighWatermark} {
			s := concern.Steps(a)
			s.Processes = []int{1 + k}
			l.Fair = append(l.Fair, checker.Fairness{Name: a.String() + " of cluster " + clusterName(k), Steps: []checker.StepSet{s}})
		}
	}
	for i, b := range bounds {
		l.Limits = append(l.Limits, checker.StepLimit{Bound: boundNames[b], Steps: concern.Steps(stop[i])})
	}
	return l
}

// Lives are the live models. Each is of one node.
var Lives = []concern.Live{
	{
		Name: "live-cluster-id", Why: "a node without id, a cluster that has committed one, snapshots, and power that is lost",
		Model: "cluster-id-snapshot", Set: []concern.Setting{{Name: "crashes", Value: "2"}, {Name: "failures", Value: "0"}, {Name: "timeouts", Value: "0"}},
		Pin: concern.LivePin{Distinct: 11274, Suffix: 11274, Fair: 616},
		Liveness: steady([]checker.Bound{boundCrashes, boundSnapshots, boundEpochs}, []Action{Crash, TakeSnapshot, ChangeLeader}, false,
			checker.LivenessProperty{Name: "IDLearned", Form: checker.EventuallyAlways, Q: isKnown, Doc: "a node whose cluster has committed an id knows it in the end, for ever"}),
		Mutations: []concern.LiveMutation{{ID: "snapshot-without-id", Property: "IDLearned", Stem: 8}},
	},
	{
		Name: "live-cluster-id-booting", Why: "the same of a cluster that is still to write its id, over a change of leader",
		Model: "cluster-id-discovery", Set: []concern.Setting{{Name: "crashes", Value: "1"}, {Name: "timeouts", Value: "0"}},
		Pin: concern.LivePin{Distinct: 39393, Suffix: 39393, Fair: 105},
		Liveness: steady([]checker.Bound{boundCrashes, boundEpochs}, []Action{Crash, ChangeLeader}, false,
			checker.LivenessProperty{Name: "IDLearned", Form: checker.EventuallyAlways, Q: isKnown, Doc: "a node whose cluster is to commit an id knows it in the end, for ever"}),
	},
	{
		Name: "live-cluster-id-none", Why: "a node whose cluster has a metadata.version from before ids",
		Model: "cluster-id-low", Set: []concern.Setting{{Name: "upgrades", Value: "0"}, {Name: "epochs", Value: "2"}},
		Pin: concern.LivePin{Distinct: 3973, Suffix: 3973, Fair: 6},
		Liveness: steady([]checker.Bound{boundEpochs}, []Action{ChangeLeader}, true,
			checker.LivenessProperty{Name: "UnknownEnds", Form: checker.LeadsTo, P: isUnknown, Q: isOut, Doc: "a node that runs without an id, in a cluster that has none, ends"}),
		Mutations: []concern.LiveMutation{{ID: "no-deadline", Property: "UnknownEnds", Stem: 15}},
	},
	{
		Name: "live-cluster-id-wrong", Why: "a node with an id and no vote whose endpoints are of another cluster",
		Model: "cluster-id-wrong", Set: []concern.Setting{{Name: "crashes", Value: "0"}, {Name: "snapshots", Value: "0"}, {Name: "moves", Value: "0"}},
		Pin: concern.LivePin{Distinct: 327, Suffix: 327, Fair: 50},
		Liveness: steady([]checker.Bound{boundEpochs}, []Action{ChangeLeader}, true,
			checker.LivenessProperty{Name: "StrangerEnds", Form: checker.LeadsTo, P: isAway, Q: isOut | isIntact, Doc: "a node that another cluster refuses ends, its meta.properties as they were"}),
		Mutations: []concern.LiveMutation{{ID: "no-deadline", Property: "StrangerEnds", Stem: 3}},
	},
}
