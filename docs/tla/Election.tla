------------------------------ MODULE Election ------------------------------
(* Elections and resignations, as spec/election.go.                                *)
EXTENDS Transition

\* A voter's timer fired, and it asks whether it would be elected before it raises the
\* epoch. KIP-996.
BecomeProspective(r) ==
    IF /\ IsVoter:: r.id \in Voters
       /\ SupportsPreVote:: r.id \in PreVote
       /\ MayStand:: r.role \in {"Follower", "Unattached", "Candidate"}
    THEN Done([LeaveRole(r) EXCEPT !.role = "Prospective", !.granted = {r.id}])
    ELSE {}

\* A voter raises its epoch and votes for itself, durably. With Pre-Vote it needs a
\* majority that would elect it, or a voter too old to be asked. KIP-595, KIP-996.
BecomeCandidate(r) ==
    IF /\ IsVoter:: r.id \in Voters
       /\ IF r.id \in PreVote
          THEN /\ IsProspective:: r.role = "Prospective"
               /\ HasPreVotes:: Voters \cap Old # {} \/ VotesSuffice(r)
          ELSE MayStand:: r.role \in {"Follower", "Unattached", "Candidate", "Resigned"}
    THEN Done(Elect([LeaveRole(r) EXCEPT !.role = "Candidate", !.granted = {r.id}],
                    [epoch |-> r.election.epoch + 1, leader |-> Nobody, voted |-> r.id]))
    ELSE {}

\* The timer of a prospective voter fired, or it cannot win. KIP-996.
AbandonPreVote(r) ==
    IF IsProspective:: r.role = "Prospective"
    THEN Done([LeaveRole(r) EXCEPT !.role = IF r.election.leader # Nobody THEN "Follower" ELSE "Unattached"])
    ELSE {}

\* A nominee asks a voter that has not granted it yet; what it claims is durable.
SendVoteRequest(r, dst) ==
    IF /\ IsNominee:: r.role \in {"Candidate", "Prospective"}
       /\ ToOtherVoter:: dst # r.id /\ dst \in Voters
       /\ NotGranted:: dst \notin r.granted
       /\ ToPreVoter:: r.role = "Candidate" \/ dst \notin Old
       /\ LogFlushed:: MayClaim(r)
    THEN Send(r, VoteRequest(r, dst))
    ELSE {}

\* A replica adopts a newer epoch, and grants by the rules of its role; a vote is
\* durable before it is answered.
HandleVoteRequest(r, m) ==
    IF ~(IsUp:: r.role # "Down") THEN {}
    ELSE IF ~(NotStale:: m.epoch >= r.election.epoch)
    THEN Send(r, VoteResponse(r, m, "FENCED_LEADER_EPOCH", FALSE))
    ELSE LET adopted == IF NewerEpoch:: m.epoch > r.election.epoch THEN BecomeUnattached(r, m.epoch) ELSE r
             granted == VoteAllowed:: MayGrant(adopted, m)
             voted   == IF granted /\ ~m.preVote /\ (FirstVote:: adopted.election.voted = Nobody)
                        THEN Elect(adopted, [adopted.election EXCEPT !.voted = m.src]) ELSE adopted
         IN Send(voted, VoteResponse(voted, m, "NONE", granted))

\* A nominee counts the grant of a voter, once.
HandleVoteResponse(r, m) ==
    IF ~(IsUp:: r.role # "Down") THEN {}
    ELSE LET l == Learn(r, m)
             tallies == Tallying:: \/ l.next.role = "Candidate" /\ ~m.preVote
                                   \/ l.next.role = "Prospective" /\ m.preVote
         IN IF l.further /\ tallies /\ (WasGranted:: m.granted)
            THEN Done(Tally(l.next, m.src)) ELSE Done(l.next)

\* A candidate with votes of a majority leads its epoch, and knows no high watermark.
BecomeLeader(r) ==
    IF /\ IsCandidate:: r.role = "Candidate"
       /\ HasMajority:: VotesSuffice(r)
    THEN Done([Elect([LeaveRole(r) EXCEPT !.role = "Leader"], [r.election EXCEPT !.leader = r.id])
               EXCEPT !.epochStart = Len(r.log), !.highWatermark = Unknown,
                      !.end = [j \in Replicas |-> Unknown]])
    ELSE {}

\* A leader tells a voter that it leads, and has a read confirmed.
SendBeginQuorumEpoch(r, dst) ==
    IF /\ IsLeader:: r.role = "Leader"
       /\ ToOtherVoter:: dst # r.id /\ dst \in Voters
    THEN Send(r, BeginQuorumEpochRequest(r, dst))
    ELSE {}

HandleBeginQuorumEpochRequest(r, m) ==
    IF ~(IsUp:: r.role # "Down") THEN {}
    ELSE IF ~(NotStale:: m.epoch >= r.election.epoch)
    THEN Send(r, BeginQuorumEpochResponse(r, m, "FENCED_LEADER_EPOCH"))
    ELSE LET next == Transition(r, m.epoch, m.src) IN Send(next, BeginQuorumEpochResponse(next, m, "NONE"))

HandleBeginQuorumEpochResponse(r, m) ==
    IF ~(IsUp:: r.role # "Down") THEN {}
    ELSE LET l == Learn(r, m)
             fromReader == FromReader:: l.next.role = "Leader" /\ l.next.reading /\ m.read = l.next.readRound
         IN IF l.further /\ fromReader
            THEN Done([l.next EXCEPT !.confirmed = @ \cup {m.src}]) ELSE Done(l.next)

\* The leader gives up, not having been fetched from: when is a matter of time.
CheckQuorumResign(r) ==
    IF /\ IsLeader:: r.role = "Leader"
       /\ OthersVote:: Voters \ {r.id} # {}
    THEN Done([LeaveRole(r) EXCEPT !.role = "Resigned"])
    ELSE {}

\* The leader is shut down, or asked to give up.
Resign(r) ==
    IF IsLeader:: r.role = "Leader"
    THEN Done([LeaveRole(r) EXCEPT !.role = "Resigned"])
    ELSE {}

SendEndQuorumEpoch(r, dst) ==
    IF /\ IsResigned:: r.role = "Resigned"
       /\ ToOtherVoter:: dst # r.id /\ dst \in Voters
    THEN Send(r, EndQuorumEpochRequest(r, dst))
    ELSE {}

HandleEndQuorumEpochRequest(r, m) ==
    IF ~(IsUp:: r.role # "Down") THEN {}
    ELSE IF ~(NotStale:: m.epoch >= r.election.epoch)
    THEN Send(r, EndQuorumEpochResponse(r, m, "FENCED_LEADER_EPOCH"))
    ELSE LET next == Transition(r, m.epoch, m.src) IN Send(next, EndQuorumEpochResponse(next, m, "NONE"))

HandleEndQuorumEpochResponse(r, m) ==
    IF ~(IsUp:: r.role # "Down") THEN {} ELSE Done(Learn(r, m).next)

\* A resigned leader waits for others in the next epoch. KIP-996.
LeaveResigned(r) ==
    IF /\ IsResigned:: r.role = "Resigned"
       /\ SupportsPreVote:: r.id \in PreVote
    THEN Done(BecomeUnattached(r, r.election.epoch + 1))
    ELSE {}
=============================================================================
