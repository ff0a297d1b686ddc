-------------------------------- MODULE Fetch --------------------------------
(* Replication: followers pull, as spec/fetch.go.                                  *)
EXTENDS Commit

\* A follower asks its leader for what comes after its log, and so acknowledges all of
\* it (KAFKA-10533). A replica without a leader, and an observer, ask whom they know.
SendFetch(r, dst) ==
    IF /\ IsFetcher:: r.role \in {"Follower", "Unattached"}
       /\ ToOther:: dst \notin {r.id, Nobody}
       /\ ToLeader:: r.role = "Unattached" \/ r.id \notin Voters \/ dst = r.election.leader
       /\ LogFlushed:: MayAcknowledge(r)
    THEN Send(r, FetchRequest(r, dst))
    ELSE {}

\* A leader answers with any non-empty prefix of the records that follow, or with the
\* point where the logs part; a valid fetch acknowledges everything before it. One that
\* finds nothing new may be parked.
HandleFetchRequest(r, m, count, park) ==
    LET error == CASE m.epoch < r.election.epoch -> "FENCED_LEADER_EPOCH"
                   [] m.epoch > r.election.epoch -> "UNKNOWN_LEADER_EPOCH"
                   [] m.epoch = r.election.epoch /\ ~(ServesFetch:: r.role = "Leader") -> "NOT_LEADER_OR_FOLLOWER"
                   [] OTHER -> "NONE"
        fork  == EndOffsetForEpoch(r.log, m.lastEpoch)
        valid == m.offset = 0 \/ (fork.epoch = m.lastEpoch /\ m.offset <= fork.end)
        most  == IF error = "NONE" /\ valid THEN Len(r.log) - m.offset ELSE 0
        \* A leader notes what the fetch acknowledges.
        noted == IF /\ FetchIsValid:: CountsAsProgress(r, m, valid)
                    /\ OfVoter:: m.src \in Voters
                 THEN AdvanceHighWatermark([r EXCEPT !.end[m.src] = m.offset]) ELSE r
        answer == FetchResponse(noted, m, "NONE")
    IN IF ~(IsUp:: r.role # "Down") THEN {}
       ELSE IF ~(PrefixInRange:: count >= 0 /\ count <= most /\ (count > 0 \/ most = 0 \/ park)) THEN {}
       ELSE IF error # "NONE" THEN {Outcome(r, {FetchResponse(r, m, error)}, count, park)}
       ELSE IF park THEN {Outcome(noted, {}, count, TRUE)}
       ELSE {Outcome(noted,
                     {IF valid THEN [answer EXCEPT !.records = Slice(r.log, m.offset, m.offset + count)]
                      ELSE [answer EXCEPT !.diverging = TRUE, !.divergingEpoch = fork.epoch, !.divergingEnd = fork.end]},
                     count, FALSE)}

\* A follower cuts its log where it left the leader's, or appends what it was sent, and
\* takes the high watermark as far as its own log goes.
HandleFetchResponse(r, m) ==
    LET l == IF TakesLate(r, m) THEN [next |-> r, further |-> TRUE] ELSE Learn(r, m)
        f == l.next
        fromLeader == FromLeader:: f.role = "Follower" /\ f.election.leader = m.src
        got == IF f.role = "Follower" THEN [f EXCEPT !.hasFetched = TRUE] ELSE f
        cut == Min(TruncationPoint(got, m), Len(got.log))
        filled == [got EXCEPT !.log = @ \o m.records]
        hw == Min(m.highWatermark, Len(filled.log))
    IN IF ~(IsUp:: r.role # "Down") THEN {}
       ELSE IF ~l.further \/ ~(TakesLate(r, m) \/ fromLeader) THEN Done(f)
       ELSE IF ~(AnswersFetch:: m.offset = Len(f.log) /\ m.lastEpoch = LastEpoch(f.log)) THEN Done(f)
       ELSE IF FetchDiverges:: m.diverging THEN Done([got EXCEPT !.log = Slice(@, 0, cut)])
       ELSE IF m.records # <<>> /\ ~(TruncationFlushed:: MayAppend(got)) THEN Done(got)
       ELSE IF MovesForward:: hw > filled.highWatermark THEN Done([filled EXCEPT !.highWatermark = hw])
       ELSE Done(filled)

\* Everything up to an offset becomes durable, a truncation as well; what a leader has
\* flushed counts as replicated on itself.
Flush(r, count) ==
    IF /\ IsUp:: r.role # "Down"
       /\ SomethingToFlush:: ~Flushed(r)
       /\ FlushInRange:: count >= FlushedEnd(r) /\ count <= Len(r.log)
    THEN LET next == [r EXCEPT !.disk = Slice(r.log, 0, count)]
         IN Done(IF r.role = "Leader" THEN AdvanceHighWatermark(next) ELSE next)
    ELSE {}
=============================================================================
