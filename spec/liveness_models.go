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
	},
	{
		Model: Model{
			Name: "live-old", Why: "three voters without Pre-Vote, two epochs before the faults stop",
			Voters: 3, Epochs: 5, InFlight: 1, Immediate: allKinds, MergeFlush: true,
		},
		Prefix: 2, First: replicaA, Claims: claims,
	},
	{
		Model: Model{
			Name: "live-append", Why: "a client's record, without Pre-Vote",
			Voters: 3, Epochs: 5, Records: 1, InFlight: 1, Immediate: allKinds, MergeFlush: true,
		},
		Prefix: 1, First: replicaA, Claims: claims,
	},
	{
		Model: Model{
			Name: "live-flush", Why: "writes that are flushed later, without Pre-Vote",
			Voters: 3, Epochs: 4, Crashes: 1, InFlight: 1, Immediate: allKinds,
		},
		Prefix: 1, First: replicaA, Claims: claims,
	},
	{
		Model: Model{
			Name: "live-crash", Why: "a voter that crashes, and may stay down",
			Voters: 3, Epochs: 4, PreVote: All(3), Crashes: 1, StaysDown: true, InFlight: 1, Immediate: allKinds, MergeFlush: true,
		},
		Prefix: 1, First: replicaA, Claims: preVoteClaims,
	},
	{
		Model: Model{
			Name: "live-cut-off", Why: "two of three voters are down for good",
			Voters: 3, Epochs: 4, PreVote: All(3), Crashes: 2, StaysDown: true, InFlight: 1, Immediate: allKinds, MergeFlush: true,
		},
		Prefix: 1, First: replicaA, CutOff: true, Claims: []string{"CutOffLeaderGivesUp"},
	},
	{
		Model: Model{
			Name: "live-observer", Why: "an observer beside three voters, one of which may be down",
			Voters: 3, Observers: 1, Epochs: 5, Crashes: 1, StaysDown: true, InFlight: 1, Immediate: allKinds, MergeFlush: true,
		},
		Prefix: 1, First: replicaA, Claims: claims,
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
