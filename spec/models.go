package spec

// stand lists who may stand in the epochs from 1 on.
func stand(sets ...Set) []Set { return sets }

const (
	replicaA ID = iota + 1
	replicaB
	replicaC
	replicaD
	replicaE
)

var (
	justA = SetOf(replicaA)
	justC = SetOf(replicaC)
	aOrC  = SetOf(replicaA, replicaC)
	aOrB  = SetOf(replicaA, replicaB)
)

// Models are all models.
var Models = []Model{
	{
		Name: "single", Why: "a quorum of one: it elects itself and commits what it has flushed",
		Voters: 1, PreVote: All(1), Epochs: 3, Records: 2, Crashes: 2, Reads: 1, Resigns: 1, InFlight: 1,
	},
	{
		Name: "election", Why: "elections without Pre-Vote, two messages in flight",
		Voters: 3, Epochs: 2, InFlight: 2, Silent: Kinds(BeginQuorumEpoch), MergeFlush: true,
	},
	{
		Name: "commit", Why: "a leader commits its LeaderChange record, and a client's",
		Voters: 3, Epochs: 1, Records: 1, InFlight: 1, Silent: Kinds(BeginQuorumEpoch), Stand: stand(justA),
	},
	{
		Name: "figure8", Why: "figure 8 and KAFKA-12619: A and C lead by turns, whole exchanges at once",
		Voters: 3, Epochs: 4, InFlight: 1, Immediate: Kinds(Vote, BeginQuorumEpoch, Fetch), Stand: stand(justA, justC, justA, justC),
		Silent: Kinds(BeginQuorumEpoch),
	},
}

// ModelNamed finds a model by name.
func ModelNamed(name string) (*Model, bool) {
	for i := range Models {
		if Models[i].Name == name {
			return &Models[i], true
		}
	}
	return nil, false
}
