----------------------------- MODULE Transition -----------------------------
(* How a replica leaves a role and takes another, as spec/transition.go.           *)
EXTENDS Rules

NoEnds == [j \in Replicas |-> 0]

\* Clears everything that belongs to the present role.
LeaveRole(r) ==
    [r EXCEPT !.epochStart = 0, !.end = NoEnds, !.readOffset = 0, !.granted = {},
              !.hasFetched = FALSE, !.leaderChangeWritten = FALSE, !.reading = FALSE,
              !.confirmed = {}, !.readRound = 0]

\* Changes what the replica knows of the election, durably.
Elect(r, e) ==
    LET next == [r EXCEPT !.election = e]
    IN [next EXCEPT !.stored = Persist(next, r.election)]

\* A newer epoch without a known leader.
BecomeUnattached(r, e) ==
    Elect([LeaveRole(r) EXCEPT !.role = "Unattached"], [epoch |-> e, leader |-> Nobody, voted |-> Nobody])

\* The leader of this or a newer epoch is known; a vote given in this one is kept.
BecomeFollower(r, e, leader) ==
    Elect([LeaveRole(r) EXCEPT !.role = "Follower"],
          [epoch |-> e, leader |-> leader,
           voted |-> IF e = r.election.epoch THEN r.election.voted ELSE Nobody])

\* Takes what a message says of an epoch not older than ours.
\* KafkaRaftClient.maybeTransition.
Transition(r, e, leader) ==
    IF NewerEpoch:: e > r.election.epoch
    THEN IF leader \notin {Nobody, r.id} THEN BecomeFollower(r, e, leader) ELSE BecomeUnattached(r, e)
    ELSE IF leader \notin {Nobody, r.id} /\ r.role \in {"Unattached", "Prospective", "Candidate"}
    THEN BecomeFollower(r, e, leader)
    ELSE r

\* What every response is asked first: the replica after it, and whether the response
\* is to be handled further. KafkaRaftClient.maybeHandleCommonResponse.
Learn(r, m) ==
    IF ~(NotStale:: m.epoch >= r.election.epoch) \/ m.error = "UNKNOWN_LEADER_EPOCH"
    THEN [next |-> r, further |-> FALSE]
    ELSE IF m.epoch > r.election.epoch \/ m.error \in {"FENCED_LEADER_EPOCH", "NOT_LEADER_OR_FOLLOWER"}
    THEN [next |-> Transition(r, m.epoch, m.leader), further |-> FALSE]
    ELSE [next |-> IF NamesLeader:: m.leader # Nobody /\ r.election.leader = Nobody
                   THEN Transition(r, m.epoch, m.leader) ELSE r,
          further |-> (NoError:: m.error = "NONE")]
=============================================================================
