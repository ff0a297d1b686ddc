------------------------------- MODULE History -------------------------------
(* What properties remember of the past, as spec/history.go. No action sees it. It *)
(* is part of the state, here as there, so that counts are of the same states.     *)
EXTENDS Transition

NewGhost ==
    [\* The records below the highest high watermark that any leader ever had, and for
     \* each the epoch of the leader that exposed it first.
     exposed |-> <<>>, exposedIn |-> <<>>,
     \* The records that no later leader may lack: a majority of the voters, all of them
     \* in epoch e, had flushed a record of e behind them; and for each its e.
     chosen |-> <<>>, chosenIn |-> <<>>,
     \* Where each epoch started, by epoch.
     starts |-> <<>>,
     \* For each leader with a read under way, how much was exposed when it began.
     readFloor |-> [i \in Replicas |-> 0]]

\* Whether a step of a replica may change the history.
Concerns(old, now) ==
    \/ now.role = "Leader" /\ (old.role # "Leader" \/ now.highWatermark # old.highWatermark)
    \/ old.reading # now.reading
    \/ old.disk # now.disk

Repeated(n, e) == [k \in 1..n |-> e]

\* Who leads an epoch, and where it starts. Ordered by epoch, so that the history does
\* not depend on the order in which leaders of different epochs came up.
NoteLeader(starts, now) ==
    LET me == [offset |-> now.epochStart, epoch |-> now.election.epoch, leader |-> now.id,
               previous |-> IF now.epochStart > 0 THEN now.log[now.epochStart].epoch ELSE 0]
    IN IF \E k \in DOMAIN starts : starts[k].epoch = me.epoch /\ starts[k].leader = me.leader
       THEN starts
       ELSE SelectSeq(starts, LAMBDA s : s.epoch <= me.epoch) \o <<me>> \o SelectSeq(starts, LAMBDA s : s.epoch > me.epoch)

\* A majority in the epoch of now that have flushed a record of that epoch: the prefix
\* that they share is chosen. Replicas that are down count: a crash may leave more than
\* was known to be flushed, and they come back with it.
NoteChosen(g, all, now) ==
    LET e == now.election.epoch
        holders  == {i \in Voters : all[i].election.epoch = e /\ LastEpoch(all[i].disk) = e}
        majority == Cardinality(Voters) \div 2 + 1
        \* The holder behind which majority - 1 others have flushed at least as much.
        before(i, j) == Len(all[i].disk) > Len(all[j].disk) \/ (Len(all[i].disk) = Len(all[j].disk) /\ i < j)
        by   == all[CHOOSE i \in holders : Cardinality({j \in holders : before(j, i)}) = majority - 1].disk
        from == Len(g.chosen)
    IN IF e = 0 \/ Cardinality(holders) < majority \/ Len(by) <= from THEN g
       ELSE [g EXCEPT !.chosen = @ \o Slice(by, from, Len(by)), !.chosenIn = @ \o Repeated(Len(by) - from, e)]

\* The history after a step of replica i from old.
Observe(g, all, i, old) ==
    LET now == all[i]
        led == IF now.role = "Leader" /\ old.role # "Leader" THEN [g EXCEPT !.starts = NoteLeader(@, now)] ELSE g
        chose == NoteChosen(led, all, now)
        from == Len(chose.exposed)
        upTo == Min(now.highWatermark, Len(now.log))
        shown == IF now.role = "Leader" /\ now.highWatermark > from
                 THEN [chose EXCEPT !.exposed = @ \o Slice(now.log, from, upTo),
                                    !.exposedIn = @ \o Repeated(upTo - from, now.election.epoch)]
                 ELSE chose
    IN IF now.reading /\ (~old.reading \/ now.readRound # old.readRound)
       THEN [shown EXCEPT !.readFloor[i] = Len(shown.exposed)]
       ELSE IF old.reading /\ ~now.reading THEN [shown EXCEPT !.readFloor[i] = 0]
       ELSE shown

\* Whether each epoch in a log begins where its leader began it, behind a record of the
\* same epoch as there.
Follows(starts, log) ==
    /\ Ascending(log)
    /\ \A k \in 1..Len(log) :
         LET previous == IF k = 1 THEN 0 ELSE log[k - 1].epoch
             begins   == {n \in DOMAIN starts : starts[n].epoch = log[k].epoch}
         IN \/ log[k].epoch = previous
            \/ /\ begins # {}
               /\ LET s == starts[CHOOSE n \in begins : \A o \in begins : n <= o]
                  IN s.offset = k - 1 /\ s.previous = previous

\* Whether a leader of the given epoch lacks a record of history that was established
\* in an earlier epoch, or in its own.
Missing(log, epoch, history, in) ==
    \E k \in (CommonPrefix(log, history) + 1)..Len(in) : in[k] <= epoch

\* A majority of the voters has flushed everything below the high watermark of a
\* leader, and the last of it is of its epoch.
FlushedByMajority(all, leader) ==
    LET hw == leader.highWatermark
    IN /\ hw > 0 /\ hw <= Len(leader.log) /\ leader.log[hw].epoch = leader.election.epoch
       /\ Cardinality({i \in Voters : CommonPrefix(all[i].disk, leader.log) >= hw}) >= Cardinality(Voters) \div 2 + 1
=============================================================================
