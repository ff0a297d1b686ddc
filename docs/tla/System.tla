------------------------------- MODULE System -------------------------------
(* What a model adds around the actions, as spec/system.go and the exploration of  *)
(* checker/flat.go: messages in flight and their connections, exchanges that       *)
(* happen at once, flushes merged into writes, bounds and budgets. Every bound is  *)
(* part of a guard, so that no CONSTRAINT is needed and counts mean the same.      *)
EXTENDS Election, Fetch, Reads, Environment, History

VARIABLES
    replica, \* the replicas, by id
    network, \* the messages in flight: a bag, as a function to how many
    ghost,   \* history
    spent    \* how much of each budget
vars == <<replica, network, ghost, spent>>

---------------------------------------------------------------------------
\* The network

Put(net, m) == IF m \in DOMAIN net THEN [net EXCEPT ![m] = @ + 1]
               ELSE [x \in DOMAIN net \cup {m} |-> IF x = m THEN 1 ELSE net[x]]
Take(net, m) == IF net[m] > 1 THEN [net EXCEPT ![m] = @ - 1]
                ELSE [x \in DOMAIN net \ {m} |-> net[x]]

RECURSIVE SumOf(_, _)
SumOf(net, over) == IF over = {} THEN 0
                    ELSE LET m == CHOOSE m \in over : TRUE IN net[m] + SumOf(net, over \ {m})
InFlightNow(net) == SumOf(net, DOMAIN net)

\* One request, or its response, on each connection. A late message, whose connection
\* was closed, or a copy, is on none.
Connection(m) == IF m.response THEN <<m.dst, m.src>> ELSE <<m.src, m.dst>>
ConnectionFree(net, m) == m.late \/ \A x \in DOMAIN net : x.late \/ Connection(x) # Connection(m)

IsImmediate(m) == m.kind \in Immediate /\ ~m.late

---------------------------------------------------------------------------
\* Steps

\* What the model merges with a step: a restart after a crash, a flush after a write.
Merged(r) ==
    LET up == IF r.role = "Down" /\ ~StaysDown THEN (CHOOSE o \in Restart(r) : TRUE).next ELSE r
    IN IF MergeFlush /\ up.role # "Down" /\ ~Flushed(up)
       THEN (CHOOSE o \in Flush(up, Len(up.log)) : TRUE).next ELSE up

\* All ways for replica i of w to handle m.
Deliver(r, m) ==
    CASE m.kind = "Vote" -> IF m.response THEN HandleVoteResponse(r, m) ELSE HandleVoteRequest(r, m)
      [] m.kind = "BeginQuorumEpoch" -> IF m.response THEN HandleBeginQuorumEpochResponse(r, m)
                                        ELSE HandleBeginQuorumEpochRequest(r, m)
      [] m.kind = "EndQuorumEpoch" -> IF m.response THEN HandleEndQuorumEpochResponse(r, m)
                                      ELSE HandleEndQuorumEpochRequest(r, m)
      [] m.kind = "Fetch" /\ m.response -> HandleFetchResponse(r, m)
      [] OTHER -> UNION {HandleFetchRequest(r, m, count, FALSE) : count \in 0..Len(r.log)}
                  \* Parked again: nothing happens.
                  \cup IF Park THEN {o \in HandleFetchRequest(r, m, 0, TRUE) : o.keep => Merged(o.next) # r} ELSE {}

(* A step under way is w: replicas, network and history so far, and the way that   *)
(* led there, so that two ways to one state are two steps. Apply carries out what  *)
(* comes of an action of replica i, and then delivers each immediate message that  *)
(* it sends, in every way, and that of their answers; an answer may be lost.       *)
RECURSIVE Apply(_, _, _, _), Settle(_, _, _)
Apply(w, i, o, inner) ==
    LET sends  == {m \in o.sends : ~(m.response /\ m.kind \in Silent)}
        now    == {m \in sends : IsImmediate(m)}
        queued == sends \ now
        old    == w.replica[i]
        next   == Merged(o.next)
        all    == [w.replica EXCEPT ![i] = next]
        after  == [replica |-> all,
                   network |-> IF queued = {} THEN w.network ELSE Put(w.network, CHOOSE m \in queued : TRUE),
                   ghost   |-> IF Concerns(old, next) THEN Observe(w.ghost, all, i, old) ELSE w.ghost,
                   way     |-> w.way]
    IN IF /\ \A m \in sends : ConnectionFree(w.network, m)
          /\ queued # {} => InFlightNow(w.network) < InFlight
       THEN Settle(after, now, inner)
       ELSE {}
Settle(w, pending, answer) ==
    IF pending = {} THEN {w}
    ELSE LET m == CHOOSE m \in pending : TRUE
         IN (IF answer THEN {[w EXCEPT !.way = Append(@, -1)]} ELSE {})
            \cup UNION {Apply([w EXCEPT !.way = Append(@, o.arg)], m.dst, o, TRUE) : o \in Deliver(w.replica[m.dst], m)}

Now == [replica |-> replica, network |-> network, ghost |-> ghost, way |-> <<>>]
Becomes(w) == replica' = w.replica /\ network' = w.network /\ ghost' = w.ghost

\* Replica i takes one of some outcomes of an action.
By(i, outcomes) == \E o \in outcomes : \E w \in Apply(Now, i, o, FALSE) : Becomes(w)
Free(i, outcomes) == By(i, outcomes) /\ UNCHANGED spent
Spend(budget) == spent[budget] < Limit[budget] /\ spent' = [spent EXCEPT ![budget] = @ + 1]
Paid(i, outcomes, budget) == Spend(budget) /\ By(i, outcomes)

\* What a model adds to guards. These have no \/, of which TLC would make two steps.

\* An action that raises the epoch, if the model has room.
Room(i) == replica[i].election.epoch + 1 <= Epochs
StandsIn(i, e) == IF Stand = <<>> THEN TRUE ELSE e <= Len(Stand) /\ i \in Stand[e]

\* Whom a replica without a leader asks.
Asks(r, dst) == IF r.role = "Follower" THEN dst = r.election.leader
                ELSE IF Bootstrap THEN TRUE ELSE r.id \notin Voters

\* Whom a leader tells: those that have not fetched, and those that are to confirm.
Tells(r, dst) == IF r.end[dst] = Unknown THEN TRUE ELSE r.reading /\ dst \notin r.confirmed

---------------------------------------------------------------------------
\* Next: one line for each action

StepBecomeProspective(i)  == Free(i, BecomeProspective(replica[i]))
StepBecomeCandidate(i)    == /\ Room(i) /\ StandsIn(i, replica[i].election.epoch + 1)
                             /\ Free(i, BecomeCandidate(replica[i]))
StepAbandonPreVote(i)     == Free(i, AbandonPreVote(replica[i]))
StepBecomeLeader(i)       == Free(i, BecomeLeader(replica[i]))
StepAppendLeaderChange(i) == Free(i, AppendLeaderChange(replica[i]))
StepFlush(i)              == ~MergeFlush /\ Free(i, Flush(replica[i], Len(replica[i].log)))
StepLeaveResigned(i)      == Room(i) /\ Free(i, LeaveResigned(replica[i]))
StepServeRead(i)          == Free(i, ServeRead(replica[i]))
StepRestart(i)            == Free(i, Restart(replica[i]))

StepSendVoteRequest(i, dst)      == Free(i, SendVoteRequest(replica[i], dst))
StepSendBeginQuorumEpoch(i, dst) == Tells(replica[i], dst) /\ Free(i, SendBeginQuorumEpoch(replica[i], dst))
StepSendEndQuorumEpoch(i, dst)   == Free(i, SendEndQuorumEpoch(replica[i], dst))
StepSendFetch(i, dst)            == Asks(replica[i], dst) /\ Free(i, SendFetch(replica[i], dst))

StepAppend(i)            == Paid(i, AppendRecord(replica[i]), "records")
StepCrash(i)             == Paid(i, UNION {Crash(replica[i], kept) : kept \in Survivors(replica[i])}, "crashes")
StepLoseDisk(i)          == Paid(i, LoseDisk(replica[i]), "disks")
StepStartRead(i)         == Paid(i, StartRead(replica[i]), "reads")
StepResign(i)            == ~CheckQuorum /\ Paid(i, Resign(replica[i]), "resigns")
StepCheckQuorumResign(i) == CheckQuorum /\ Paid(i, CheckQuorumResign(replica[i]), "resigns")

\* The handlers, one for each message in flight.
StepHandle(m) ==
    /\ \E o \in Deliver(replica[m.dst], m) :
         \E w \in Apply([Now EXCEPT !.network = IF o.keep THEN @ ELSE Take(@, m)], m.dst, o, FALSE) : Becomes(w)
    /\ UNCHANGED spent
StepHandleVoteRequest(m)              == m.kind = "Vote" /\ ~m.response /\ StepHandle(m)
StepHandleVoteResponse(m)             == m.kind = "Vote" /\ m.response /\ StepHandle(m)
StepHandleBeginQuorumEpochRequest(m)  == m.kind = "BeginQuorumEpoch" /\ ~m.response /\ StepHandle(m)
StepHandleBeginQuorumEpochResponse(m) == m.kind = "BeginQuorumEpoch" /\ m.response /\ StepHandle(m)
StepHandleEndQuorumEpochRequest(m)    == m.kind = "EndQuorumEpoch" /\ ~m.response /\ StepHandle(m)
StepHandleEndQuorumEpochResponse(m)   == m.kind = "EndQuorumEpoch" /\ m.response /\ StepHandle(m)
StepHandleFetchRequest(m)             == m.kind = "Fetch" /\ ~m.response /\ StepHandle(m)
StepHandleFetchResponse(m)            == m.kind = "Fetch" /\ m.response /\ StepHandle(m)

\* What the environment does to a message: it is lost; it is copied, and the copy is
\* late; its connection is closed, and it is late itself.
Late(m) == [m EXCEPT !.late = TRUE]
Drop(m) == network' = Take(network, m) /\ UNCHANGED <<replica, ghost, spent>>
Duplicate(m) ==
    LET rest == Take(network, m)
    IN /\ Spend("late")
       /\ InFlightNow(rest) + 2 <= InFlight
       /\ network' = Put(Put(rest, m), Late(m))
       /\ UNCHANGED <<replica, ghost>>
CloseConnection(m) ==
    /\ ~m.late
    /\ Spend("late")
    /\ network' = Put(Take(network, m), Late(m))
    /\ UNCHANGED <<replica, ghost>>

Init ==
    /\ replica = [i \in Replicas |-> NewReplica(i)]
    /\ network = [m \in {} |-> 0]
    /\ ghost = NewGhost
    /\ spent = [budget \in DOMAIN Limit |-> 0]

Next ==
    \/ \E i \in Replicas :
         \/ StepBecomeProspective(i) \/ StepBecomeCandidate(i) \/ StepAbandonPreVote(i)
         \/ StepBecomeLeader(i) \/ StepAppendLeaderChange(i) \/ StepFlush(i)
         \/ StepLeaveResigned(i) \/ StepServeRead(i) \/ StepRestart(i)
         \/ StepAppend(i) \/ StepCrash(i) \/ StepLoseDisk(i) \/ StepStartRead(i)
         \/ StepResign(i) \/ StepCheckQuorumResign(i)
         \/ \E dst \in Replicas :
              \/ StepSendVoteRequest(i, dst) \/ StepSendBeginQuorumEpoch(i, dst)
              \/ StepSendEndQuorumEpoch(i, dst) \/ StepSendFetch(i, dst)
    \/ \E m \in DOMAIN network :
         \/ StepHandleVoteRequest(m) \/ StepHandleVoteResponse(m)
         \/ StepHandleBeginQuorumEpochRequest(m) \/ StepHandleBeginQuorumEpochResponse(m)
         \/ StepHandleEndQuorumEpochRequest(m) \/ StepHandleEndQuorumEpochResponse(m)
         \/ StepHandleFetchRequest(m) \/ StepHandleFetchResponse(m)
         \/ Drop(m) \/ Duplicate(m) \/ CloseConnection(m)

Spec == Init /\ [][Next]_vars
=============================================================================
