------------------------------- MODULE Commit -------------------------------
(* What a leader writes, and how far it exposes it, as spec/commit.go.             *)
EXTENDS Transition

OwnRecord(r, kind) == [epoch |-> r.election.epoch, origin |-> r.id, kind |-> kind]

\* A new leader writes the first record of its epoch. KIP-595; KAFKA-12619.
AppendLeaderChange(r) ==
    IF /\ IsLeader:: r.role = "Leader"
       /\ LeaderChangeMissing:: ~r.leaderChangeWritten
       /\ TruncationFlushed:: MayAppend(r)
    THEN Done([r EXCEPT !.log = Append(@, OwnRecord(r, "LeaderChange")), !.leaderChangeWritten = TRUE])
    ELSE {}

\* A client hands a record to the leader: Append in spec/, a name that TLA+ has taken.
AppendRecord(r) ==
    IF /\ IsLeader:: r.role = "Leader"
       /\ LeaderChangePresent:: r.leaderChangeWritten
    THEN Done([r EXCEPT !.log = Append(@, OwnRecord(r, "Data"))])
    ELSE {}

\* The high watermark of a leader moves to the largest offset that a majority of the
\* voters have flushed, if that commits a record of its own epoch, and never back.
AdvanceHighWatermark(r) ==
    LET end == [v \in Voters |-> IF v = r.id THEN OwnEnd(r) ELSE r.end[v]]
        majority == Max(Majority(Cardinality(Voters)), 1)
        reached == {n \in {end[v] : v \in Voters} : Cardinality({v \in Voters : end[v] >= n}) >= majority}
        hw == CHOOSE n \in reached : \A o \in reached : o <= n
    IN IF hw <= r.highWatermark \/ ~MayExpose(r, hw) THEN r ELSE [r EXCEPT !.highWatermark = hw]
=============================================================================
