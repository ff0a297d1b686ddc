package spec

// all kinds of messages are exchanged at once in live models.
var allKinds = Kinds(Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch)

var claims = []string{"LeaderElectedAndStays", "AppendEnds", "CatchesUp", "StaleLeaderGivesUp"}
var preVoteClaims = append(claims[:len(claims):len(claims)], "PreVoteEnds", notProspective)

// LiveModels are all models of liveness.
var LiveModels = []LiveModel{
	{
		Model: Model{
			Name: "live-prevote", Why: "three voters with Pre-Vote",
			Voters: 3, PreVote: All(3), Epochs: 4, InFlight: 1, Immediate: allKinds, MergeFlush: true,
		},
		Prefix: 1, First: replicaA, Claims: preVoteClaims,
		Pin: LivePin{Distinct: 263067, Suffix: 240087, Fair: 30},
	},
	{
		Model: Model{
			Name: "live-old", Why: "three voters without Pre-Vote, two epochs before the faults stop",
			Voters: 3, Epochs: 5, InFlight: 1, Immediate: allKinds, MergeFlush: true,
		},
		Prefix: 2, First: replicaA, Claims: claims,
		Pin: LivePin{Distinct: 185126, Suffix: 168072, Fair: 123},
	},
	{
		Model: Model{
			Name: "live-append", Why: "a client's record, without Pre-Vote",
			Voters: 3, Epochs: 5, Records: 1, InFlight: 1, Immediate: allKinds, MergeFlush: true,
		},
		Prefix: 1, First: replicaA, Claims: claims,
		Pin: LivePin{Distinct: 32959, Suffix: 30621, Fair: 55},
	},
	{
		Model: Model{
			Name: "live-flush", Why: "writes that are flushed later, without Pre-Vote",
			Voters: 3, Epochs: 4, Crashes: 1, InFlight: 1, Immediate: allKinds,
		},
		Prefix: 1, First: replicaA, Claims: claims,
		Pin: LivePin{Distinct: 63991, Suffix: 61231, Fair: 54},
	},
	{
		Model: Model{
			Name: "live-crash", Why: "a voter that crashes, and may stay down",
			Voters: 3, Epochs: 4, PreVote: All(3), Stand: stand(aOrB), Crashes: 1, StaysDown: true, InFlight: 1, Immediate: allKinds, MergeFlush: true,
		},
		Prefix: 1, First: replicaA, Claims: preVoteClaims,
		Pin: LivePin{Distinct: 372693, Suffix: 333858, Fair: 152},
	},
	{
		Model: Model{
			Name: "live-cut-off", Why: "two of three voters are down for good",
			Voters: 3, Epochs: 4, PreVote: All(3), Stand: stand(justA), Crashes: 2, StaysDown: true, InFlight: 1, Immediate: allKinds, MergeFlush: true,
		},
		Prefix: 1, First: replicaA, CutOff: true, Claims: []string{"CutOffLeaderGivesUp"},
		Pin: LivePin{Distinct: 169310, Suffix: 1830, Fair: 222},
	},
	{
		Model: Model{
			Name: "live-observer", Why: "an observer beside three voters, one of which may be down",
			Voters: 3, Observers: 1, Epochs: 5, Crashes: 1, StaysDown: true, InFlight: 1, Immediate: allKinds, MergeFlush: true,
		},
		Prefix: 1, First: replicaA, Claims: claims,
		Pin: LivePin{Distinct: 284226, Suffix: 261842, Fair: 329},
	},
}

// LiveModelNamed finds a live model by name.
func LiveModelNamed(name string) (*LiveModel, bool) {
	for i := range LiveModels {
		if LiveModels[i].Name == name {
			return &LiveModels[i], true
		}
	}
	return nil, false
}
