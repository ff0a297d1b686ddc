package spec

// atOnce are exchanges of which models of membership have no single messages.
var atOnce = Kinds(Vote, BeginQuorumEpoch, Fetch)

// membershipModels are those in which the voter set changes (KIP-853).
var membershipModels = []Model{
	{
		Name: "add-voter", Why: "a third voter joins two, from empty disks: the first leader writes the set, and a candidate may be unknown to those who vote for it",
		Voters: 2, Observers: 1, Epochs: 3, Adds: 1, InFlight: 1, Immediate: atOnce, Silent: Kinds(BeginQuorumEpoch), Stand: stand(aOrB, aOrC, aOrC), MergeFlush: true,
	},
	{
		Name: "add-fourth", Why: "a fourth voter joins three: the majority grows with the set",
		Voters: 3, Observers: 1, Epochs: 2, Adds: 1, Records: 1, InFlight: 1, Immediate: atOnce, Silent: Kinds(BeginQuorumEpoch), Stand: stand(justA, SetOf(replicaB, replicaD)), MergeFlush: true, Formed: true,
	},
	{
		Name: "remove-leader", Why: "a leader takes itself out of four voters, and commits that and a client's record without counting itself, or loses both to another",
		Voters: 4, Epochs: 2, Removes: 1, Changing: justA, Records: 1, InFlight: 1, Immediate: atOnce, Silent: Kinds(BeginQuorumEpoch), Stand: stand(justA, justC), MergeFlush: true, Formed: true,
	},
	{
		Name: "leader-leaves", Why: "with Pre-Vote: a leader that was taken out resigns and goes on as an observer, while another is elected without it",
		Voters: 3, PreVote: All(3), Epochs: 2, Removes: 1, Changing: justA, InFlight: 1, Immediate: atOnce | Kinds(EndQuorumEpoch), Silent: Kinds(BeginQuorumEpoch, EndQuorumEpoch), Stand: stand(justA, aOrB), MergeFlush: true, Formed: true,
	},
	{
		Name: "one-of-two", Why: "of two voters the leader is taken out, and stops before the other has the record: it has to be elected once more, from outside of its own set",
		Voters: 2, Epochs: 4, Removes: 1, Changing: justA, InFlight: 1, Immediate: atOnce, Silent: Kinds(BeginQuorumEpoch), Stand: stand(justA, justB, justA, justB), MergeFlush: true, Formed: true,
	},
	{
		Name: "remove-two", Why: "two of three voters are removed one after the other, until one decides alone",
		Voters: 3, Epochs: 2, Removes: 2, Records: 1, InFlight: 1, Immediate: atOnce, Silent: Kinds(BeginQuorumEpoch), Stand: stand(justA, aOrB), MergeFlush: true, Formed: true,
	},
	{
		Name: "two-changes", Why: "changes of two leaders, of which one knows nothing of the other's (raft-dev 2015)",
		Voters: 4, Epochs: 3, Removes: 2, Changing: SetOf(replicaA, replicaD), InFlight: 1, Immediate: atOnce, Silent: Kinds(BeginQuorumEpoch), Stand: stand(justA, justB, justA), MergeFlush: true, Formed: true,
	},
	{
		Name: "update-voter", Why: "a voter is described anew in the set, before and after another joins",
		Voters: 2, Observers: 1, Epochs: 2, Adds: 1, Updates: 1, InFlight: 1, Immediate: atOnce, Silent: Kinds(BeginQuorumEpoch), Stand: stand(justA, All(3)), MergeFlush: true, Formed: true,
	},
	{
		Name: "voters-messages", Why: "a voter joins and one leaves, with single messages, two in flight",
		Voters: 2, Observers: 1, Epochs: 2, Adds: 1, Removes: 1, InFlight: 2, Silent: Kinds(BeginQuorumEpoch), Stand: stand(justA, All(3)), MergeFlush: true, Formed: true,
	},
	{
		Name: "voters-late", Why: "the same, and one message outlives its connection or is copied",
		Voters: 2, Observers: 1, Epochs: 2, Adds: 1, Removes: 1, Late: 1, InFlight: 2, Silent: Kinds(BeginQuorumEpoch), Stand: stand(justA, All(3)), MergeFlush: true, Formed: true, Deep: true,
	},
	{
		Name: "voters-snapshot", Why: "the voter set is in a snapshot, and the log begins behind it",
		Voters: 2, Observers: 1, Epochs: 2, Adds: 1, Removes: 1, Snapshots: 1, InFlight: 1, Immediate: atOnce | Kinds(FetchSnapshot), Silent: Kinds(BeginQuorumEpoch), Stand: stand(justA, All(3)), MergeFlush: true, Formed: true,
	},
	{
		Name: "voters-crash", Why: "a crash takes a change of the voter set that was not flushed, and a restart reads the set that is left",
		Voters: 3, Epochs: 2, Removes: 2, Records: 1, Crashes: 1, Changing: SetOf(replicaB, replicaC), InFlight: 1, Immediate: atOnce, Silent: Kinds(BeginQuorumEpoch), Stand: stand(justA, justB), Formed: true,
	},
	{
		Name: "voters-reads", Why: "a linearizable read while the set changes, by a leader that is taken out of it",
		Voters: 3, Epochs: 2, Removes: 1, Reads: 1, InFlight: 1, Immediate: atOnce, Stand: stand(justA, aOrC), MergeFlush: true, Formed: true,
	},
}
