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
	justB = SetOf(replicaB)
	justC = SetOf(replicaC)
	aOrC  = SetOf(replicaA, replicaC)
	aOrB  = SetOf(replicaA, replicaB)
)

// Models are all models.
var Models = append(fixedModels, membershipModels...)

// fixedModels are those in which the voter set is what it is.
var fixedModels = []Model{
	{
		Name: "single", Why: "a quorum of one: it elects itself, commits what it has flushed, restarts, reads, resigns",
		Voters: 1, PreVote: All(1), Epochs: 3, Records: 2, Crashes: 2, Reads: 1, Resigns: 1, InFlight: 1, StaysDown: true,
	},
	{
		Name: "pair", Why: "two voters: a majority is both",
		Voters: 2, PreVote: All(2), Epochs: 3, Records: 1, Crashes: 1, InFlight: 2, StaysDown: true, Bootstrap: true,
	},
	{
		Name: "election", Why: "elections without Pre-Vote, two messages in flight",
		Voters: 3, Epochs: 2, InFlight: 2, Silent: Kinds(BeginQuorumEpoch), MergeFlush: true,
	},
	{
		Name: "prevote", Why: "Pre-Vote: prospective voters, and followers that refuse them",
		Voters: 3, PreVote: All(3), Epochs: 2, InFlight: 1, Silent: Kinds(BeginQuorumEpoch), MergeFlush: true,
	},
	{
		Name: "prevote-exchanges", Why: "Pre-Vote, whole exchanges at once",
		Voters: 3, PreVote: All(3), Epochs: 2, InFlight: 1, Immediate: Kinds(Vote, BeginQuorumEpoch, Fetch, EndQuorumEpoch), Silent: Kinds(BeginQuorumEpoch),
		Stand: stand(justA, justC), Resigns: 1, MergeFlush: true,
	},
	{
		Name: "upgrade", Why: "a rolling upgrade: A knows pre-votes, B and C do not",
		Voters: 3, PreVote: SetOf(replicaA), Epochs: 2, InFlight: 1, Silent: Kinds(BeginQuorumEpoch), MergeFlush: true,
	},
	{
		Name: "commit", Why: "a leader commits its LeaderChange record, and a client's",
		Voters: 3, Epochs: 1, Records: 1, InFlight: 1, Silent: Kinds(BeginQuorumEpoch), Stand: stand(justA),
	},
	{
		Name: "figure8", Why: "figure 8 and KAFKA-12619: A and C lead by turns, whole exchanges at once",
		Voters: 3, Epochs: 4, InFlight: 1, Immediate: Kinds(Vote, BeginQuorumEpoch, Fetch), Silent: Kinds(BeginQuorumEpoch),
		Stand: stand(justA, justC, justA, justC),
	},
	{
		Name: "figure8-messages", Why: "figure 8 with single messages: A, C, A, C",
		Voters: 3, Epochs: 4, InFlight: 1, Silent: Kinds(BeginQuorumEpoch),
		Stand: stand(justA, justC, justA, justC),
	},
	{
		Name: "leader-restart", Why: "KAFKA-10527: a leader that loses its unflushed tail",
		Voters: 3, Epochs: 1, Records: 2, Crashes: 1, StaysDown: true, InFlight: 1, Silent: Kinds(BeginQuorumEpoch), Stand: stand(justA),
	},
	{
		Name: "vote-restart", Why: "KAFKA-10661 and votes over a restart",
		Voters: 3, Epochs: 1, Crashes: 1, StaysDown: true, InFlight: 1, Silent: Kinds(BeginQuorumEpoch), Stand: stand(aOrC),
	},
	{
		Name: "flush", Why: "KAFKA-10533: what is acknowledged and what is on disk",
		Voters: 3, Epochs: 2, Records: 0, Crashes: 1, InFlight: 1, Immediate: Kinds(Vote, BeginQuorumEpoch, Fetch), Silent: Kinds(BeginQuorumEpoch), Stand: stand(justA, justC),
	},
	{
		Name: "divergence", Why: "KAFKA-13141: a follower with records that its leader never had",
		Voters: 3, Epochs: 3, Records: 1, InFlight: 1, Silent: Kinds(BeginQuorumEpoch), Stand: stand(justA, justC, justA),
	},
	{
		Name: "truncation-flush", Why: "a crash between a truncation and its flush",
		Voters: 3, Epochs: 3, Records: 1, Crashes: 1, InFlight: 1, Silent: Kinds(BeginQuorumEpoch), Immediate: Kinds(Vote, BeginQuorumEpoch, Fetch), Stand: stand(justC, justA, justC),
	},
	{
		Name: "truncation", Why: "a follower that has diverged, whole exchanges at once",
		Voters: 3, Epochs: 2, InFlight: 1, Immediate: Kinds(Vote, BeginQuorumEpoch, Fetch), Silent: Kinds(BeginQuorumEpoch), Stand: stand(justA, justC),
	},
	{
		Name: "late-leader", Why: "a fetch response that arrives when its follower leads",
		Voters: 3, Epochs: 4, InFlight: 1, Immediate: Kinds(Vote, BeginQuorumEpoch), Silent: Kinds(BeginQuorumEpoch),
		Stand: stand(justA, justC, justB, justC), MergeFlush: true,
	},
	{
		Name: "late", Why: "messages that outlive their connection, and copies",
		Voters: 3, Epochs: 2, Late: 1, InFlight: 2, Silent: Kinds(BeginQuorumEpoch), Stand: stand(justA, aOrC),
	},
	{
		Name: "reads", Why: "linearizable reads over a change of leader",
		Voters: 3, Epochs: 2, Reads: 1, InFlight: 1, Stand: stand(justA, justC), Immediate: Kinds(Vote),
	},
	{
		Name: "resign", Why: "leaders that are shut down",
		Voters: 3, PreVote: All(3), Epochs: 2, Resigns: 1, InFlight: 1, Immediate: Kinds(Vote), Silent: Kinds(BeginQuorumEpoch), MergeFlush: true,
	},
	{
		Name: "check-quorum", Why: "leaders that are cut off give up",
		Voters: 3, Epochs: 2, Resigns: 1, InFlight: 1, Silent: Kinds(BeginQuorumEpoch), CheckQuorum: true, MergeFlush: true,
	},
	{
		Name: "observer", Why: "an observer finds the leader and follows",
		Voters: 2, Observers: 1, Epochs: 2, Records: 1, InFlight: 1, Silent: Kinds(BeginQuorumEpoch), Stand: stand(justA, aOrB), MergeFlush: true,
	},
	{
		Name: "observer-three", Why: "an observer beside three voters, over a change of leader",
		Voters: 3, Observers: 1, Epochs: 2, Records: 2, InFlight: 1, Silent: Kinds(BeginQuorumEpoch), Immediate: Kinds(Vote), Stand: stand(justA, aOrC), MergeFlush: true,
	},
	{
		Name: "reads-two", Why: "two linearizable reads, and votes that are asked for meanwhile",
		Voters: 3, Epochs: 2, Records: 1, Reads: 2, InFlight: 1, Stand: stand(justA, justC), Immediate: Kinds(Vote, Fetch), MergeFlush: true,
	},
	{
		Name: "four", Why: "four voters: an even majority",
		Voters: 4, Epochs: 1, InFlight: 2, Silent: Kinds(BeginQuorumEpoch), Stand: stand(aOrC),
	},
	{
		Name: "five", Why: "five voters",
		Voters: 5, Epochs: 1, InFlight: 1, Silent: Kinds(BeginQuorumEpoch), MergeFlush: true,
	},
	{
		Name: "five-votes", Why: "five voters, a copied message",
		Voters: 5, Epochs: 1, Late: 1, InFlight: 2, Silent: Kinds(BeginQuorumEpoch, Fetch), Stand: stand(aOrC), MergeFlush: true,
	},
	{
		Name: "four-epochs", Why: "the plain box: anybody stands, four epochs, one message in flight",
		Voters: 3, Epochs: 4, InFlight: 1, Silent: Kinds(BeginQuorumEpoch), Stand: stand(aOrC, aOrC, aOrC, aOrC),
	},
	{
		Name: "prevote-epochs", Why: "Pre-Vote over three epochs: A or C stand",
		Voters: 3, PreVote: All(3), Epochs: 3, InFlight: 1, Silent: Kinds(BeginQuorumEpoch), Stand: stand(aOrC, aOrC, aOrC), MergeFlush: true,
	},
	{
		Name: "four-two-epochs", Why: "four voters, two epochs",
		Voters: 4, Epochs: 2, InFlight: 1, Silent: Kinds(BeginQuorumEpoch), MergeFlush: true,
	},
	{
		Name: "divergence-rounds", Why: "several rounds of divergence: A, C, A, C lead, with a client's record",
		Voters: 3, Epochs: 4, Records: 1, InFlight: 1, Silent: Kinds(BeginQuorumEpoch), Immediate: Kinds(Vote), Stand: stand(justA, justC, justA, justC), MergeFlush: true,
	},
	{
		Name: "crashes", Why: "two crashes over two epochs, everything else at once",
		Voters: 3, Epochs: 3, Records: 1, Crashes: 2, InFlight: 1, Silent: Kinds(BeginQuorumEpoch), Immediate: Kinds(Vote, BeginQuorumEpoch, Fetch), Stand: stand(justA, justC, justA), Deep: true,
	},
	{
		Name: "five-epochs", Why: "A or C stand in five epochs",
		Voters: 3, Epochs: 5, InFlight: 1, Silent: Kinds(BeginQuorumEpoch), Stand: stand(aOrC, aOrC, aOrC, aOrC, aOrC), Deep: true,
	},
	{
		Name: "six-epochs", Why: "A stands first, then A or C in five more epochs: more than a thousand million states",
		Voters: 3, Epochs: 6, InFlight: 1, Silent: Kinds(BeginQuorumEpoch), Stand: stand(justA, aOrC, aOrC, aOrC, aOrC, aOrC), Deep: true,
	},
	{
		Name: "three-in-flight", Why: "three messages in flight",
		Voters: 3, Epochs: 2, InFlight: 3, Silent: Kinds(BeginQuorumEpoch), Stand: stand(justA, aOrC),
	},
	{
		Name: "parked", Why: "fetches that wait at the leader",
		Voters: 3, Epochs: 2, Records: 1, InFlight: 2, Silent: Kinds(BeginQuorumEpoch), Immediate: Kinds(Vote), Stand: stand(justA, justC), Park: true, MergeFlush: true,
	},
	{
		Name: "snapshot", Why: "snapshots: the log starts later, and whoever is behind or has nothing fetches a snapshot in two parts",
		Voters: 3, Epochs: 1, Records: 1, Snapshots: 2, Parts: 2, InFlight: 1, Immediate: Kinds(Vote, BeginQuorumEpoch, Fetch), Silent: Kinds(BeginQuorumEpoch),
		Stand: stand(justA), MergeFlush: true,
	},
	{
		Name: "snapshot-diverged", Why: "a snapshot for a follower that has diverged, whole exchanges at once",
		Voters: 3, Epochs: 3, Snapshots: 1, InFlight: 1, Immediate: Kinds(Vote, BeginQuorumEpoch, Fetch, FetchSnapshot), Silent: Kinds(BeginQuorumEpoch),
		Stand: stand(justA, justC, justA), MergeFlush: true,
	},
	{
		Name: "snapshot-transfer", Why: "a new leader while a snapshot is on its way in two parts",
		Voters: 3, Epochs: 2, Snapshots: 2, Parts: 2, InFlight: 1, Immediate: Kinds(Vote, BeginQuorumEpoch, Fetch), Silent: Kinds(BeginQuorumEpoch),
		Stand: stand(justA, justC), MergeFlush: true,
	},
	{
		Name: "snapshot-crash", Why: "a crash around snapshots: what is on disk",
		Voters: 3, Epochs: 2, Snapshots: 2, Crashes: 1, InFlight: 1, Immediate: Kinds(Vote, BeginQuorumEpoch, Fetch, FetchSnapshot), Silent: Kinds(BeginQuorumEpoch),
		Stand: stand(justA, justC),
	},
	{
		Name: "snapshot-late", Why: "snapshots with single messages, one of which outlives its connection or is copied",
		Voters: 2, Observers: 1, Epochs: 1, Records: 1, Snapshots: 2, Late: 1, InFlight: 2, Immediate: Kinds(Vote, BeginQuorumEpoch), Silent: Kinds(BeginQuorumEpoch),
		Stand: stand(justA), MergeFlush: true,
	},
	{
		Name: "snapshot-epochs", Why: "snapshots over three epochs, with a client's record, fetches with single messages",
		Voters: 3, Epochs: 3, Records: 1, Snapshots: 2, Parts: 2, InFlight: 1, Immediate: Kinds(Vote, BeginQuorumEpoch), Silent: Kinds(BeginQuorumEpoch),
		Stand: stand(justA, justC, justA), MergeFlush: true, Deep: true,
	},
	{
		Name: "lost-disk", Why: "a voter that comes back under its old id without its disk",
		Voters: 3, Epochs: 2, Disks: 1, InFlight: 1, Silent: Kinds(BeginQuorumEpoch), Stand: stand(justA, justC), Unsafe: "CommittedStable",
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
