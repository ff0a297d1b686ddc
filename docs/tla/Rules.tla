------------------------------- MODULE Rules -------------------------------
(* The decisions of the protocol, by name, as spec/rules.go. A mutation puts       *)
(* another operator in the place of one of them, in the configuration of TLC.      *)
EXTENDS State

Majority(n) == n \div 2 + 1

VotesSuffice(r) == Cardinality(r.granted \cap Voters) >= Majority(Cardinality(Voters))

Tally(r, src) == [r EXCEPT !.granted = @ \cup {src}]

\* EpochState.canGrantVote and canGrantPreVote of each role. The epoch of m is ours.
MayGrant(r, m) ==
    LET upToDate == \/ m.lastEpoch > LastEpoch(r.log)
                    \/ m.lastEpoch = LastEpoch(r.log) /\ m.offset >= Len(r.log)
    IN CASE r.role \in {"Unattached", "Prospective"} ->
              IF m.preVote THEN upToDate
              ELSE IF r.election.voted # Nobody THEN r.election.voted = m.src
              ELSE r.election.leader = Nobody /\ upToDate
         [] r.role = "Follower" -> m.preVote /\ upToDate /\ ~r.hasFetched
         [] r.role \in {"Candidate", "Resigned"} -> m.preVote /\ upToDate
         [] OTHER -> FALSE

\* What the quorum-state file holds after the election that r knows of changed.
Persist(r, old) == r.election

RoleAtStart(r) ==
    CASE r.election.leader = r.id -> "Resigned"
      [] r.election.voted = r.id /\ r.election.leader = Nobody /\ r.id \in Voters -> "Candidate"
      [] r.election.leader \notin {Nobody, r.id} -> "Follower"
      [] OTHER -> "Unattached"

MayAcknowledge(r) == Flushed(r)
MayClaim(r)       == Flushed(r)
OwnEnd(r)         == FlushedEnd(r)
MayExpose(r, hw)  == hw > r.epochStart
CountsAsProgress(r, m, valid) == valid

\* ReplicatedLog.truncateToEndOffset.
TruncationPoint(r, m) ==
    IF m.divergingEpoch = 0 THEN Min(m.divergingEnd, Len(r.log))
    ELSE LET e == EndOffsetForEpoch(r.log, m.divergingEpoch)
         IN IF e.epoch = m.divergingEpoch THEN Min(e.end, m.divergingEnd) ELSE e.end

MayAppend(r)    == ~TruncationPending(r)
TakesLate(r, m) == FALSE
MayRead(r)      == r.highWatermark # Unknown
IsConfirmed(r)  == Cardinality(r.confirmed \cap Voters) >= Majority(Cardinality(Voters))
=============================================================================
