------------------------------- MODULE State -------------------------------
(* Replicas and messages, as spec/state.go and spec/message.go.                    *)
(*                                                                                 *)
(* An action is a function of one replica and at most one message, and gives the   *)
(* set of what may come of it: empty if a guard refuses. A guard is a label, with  *)
(* the name that it has in spec/. What a model adds stands in System.              *)
EXTENDS Log, Models

\* Replicas are numbers: 1 is A, 2 is B, and so on.
Nobody  == 0
Unknown == -1

NewReplica(i) ==
    [id |-> i, role |-> "Unattached",
     \* Log is what the process reads and writes, disk what would be left of it if the
     \* machine lost power now and nothing unflushed had reached the disk.
     log |-> <<>>, disk |-> <<>>,
     highWatermark |-> Unknown,
     \* In memory, and in the quorum-state file.
     election |-> [epoch |-> 0, leader |-> Nobody, voted |-> Nobody],
     stored   |-> [epoch |-> 0, leader |-> Nobody, voted |-> Nobody],
     \* Nominee.
     granted |-> {},
     \* Follower.
     hasFetched |-> FALSE,
     \* Leader.
     epochStart |-> 0, end |-> [j \in Replicas |-> 0], leaderChangeWritten |-> FALSE,
     reading |-> FALSE, readRound |-> 0, readOffset |-> 0, confirmed |-> {}]

IsVoterOf(r)   == r.id \in Voters
KnowsPreVote(r) == r.id \in PreVote

\* The offset below which the log is durable.
FlushedEnd(r) == CommonPrefix(r.log, r.disk)
TruncationPending(r) == FlushedEnd(r) < Len(r.disk)
Flushed(r) == r.log = r.disk

\* What comes of an action: the replica after it, what it sends (one message at most),
\* the parameter that tells it from others of the same action, and whether the message
\* that it handled stays in flight.
Outcome(next, sends, arg, keep) == [next |-> next, sends |-> sends, arg |-> arg, keep |-> keep]
Done(next)    == {Outcome(next, {}, 0, FALSE)}
Send(next, m) == {Outcome(next, {m}, 0, FALSE)}

VoteRequest(r, dst) ==
    [kind |-> "Vote", response |-> FALSE, src |-> r.id, dst |-> dst, late |-> FALSE,
     epoch |-> r.election.epoch, preVote |-> r.role = "Prospective",
     offset |-> Len(r.log), lastEpoch |-> LastEpoch(r.log)]

BeginQuorumEpochRequest(r, dst) ==
    [kind |-> "BeginQuorumEpoch", response |-> FALSE, src |-> r.id, dst |-> dst, late |-> FALSE,
     epoch |-> r.election.epoch, read |-> IF r.reading THEN r.readRound ELSE 0]

EndQuorumEpochRequest(r, dst) ==
    [kind |-> "EndQuorumEpoch", response |-> FALSE, src |-> r.id, dst |-> dst, late |-> FALSE,
     epoch |-> r.election.epoch]

FetchRequest(r, dst) ==
    [kind |-> "Fetch", response |-> FALSE, src |-> r.id, dst |-> dst, late |-> FALSE,
     epoch |-> r.election.epoch, offset |-> Len(r.log), lastEpoch |-> LastEpoch(r.log)]

\* The answers of r to m, from the state that r is in by now.
VoteResponse(r, m, error, granted) ==
    [kind |-> "Vote", response |-> TRUE, src |-> r.id, dst |-> m.src, late |-> m.late,
     epoch |-> r.election.epoch, leader |-> r.election.leader, error |-> error,
     preVote |-> m.preVote, granted |-> granted]

BeginQuorumEpochResponse(r, m, error) ==
    [kind |-> "BeginQuorumEpoch", response |-> TRUE, src |-> r.id, dst |-> m.src, late |-> m.late,
     epoch |-> r.election.epoch, leader |-> r.election.leader, error |-> error, read |-> m.read]

EndQuorumEpochResponse(r, m, error) ==
    [kind |-> "EndQuorumEpoch", response |-> TRUE, src |-> r.id, dst |-> m.src, late |-> m.late,
     epoch |-> r.election.epoch, leader |-> r.election.leader, error |-> error]

\* A Fetch response says what it answers, as a correlation id would.
FetchResponse(r, m, error) ==
    [kind |-> "Fetch", response |-> TRUE, src |-> r.id, dst |-> m.src, late |-> m.late,
     epoch |-> r.election.epoch, leader |-> r.election.leader, error |-> error,
     offset |-> m.offset, lastEpoch |-> m.lastEpoch,
     highWatermark |-> IF error = "NONE" THEN r.highWatermark ELSE Unknown,
     records |-> <<>>, diverging |-> FALSE, divergingEpoch |-> 0, divergingEnd |-> 0]
=============================================================================
