------------------------------ MODULE Properties ------------------------------
(* The properties of spec/invariants.go, by the same names. Those that are judged  *)
(* of steps are action properties here. What must be reached at least once         *)
(* (Sometimes) has no place in TLA+.                                               *)
EXTENDS System

\* An epoch has at most one leader, ever.
ElectionSafety ==
    \A k \in 2..Len(ghost.starts) : ghost.starts[k - 1].epoch # ghost.starts[k].epoch

\* Two logs that hold a record of the same epoch at the same offset are equal up to it.
LogMatching == \A i, j \in Replicas : i < j => Matches(replica[i].log, replica[j].log)

\* A pair (epoch, offset) names one record for ever, and one past of it.
UniqueEpochOffset == \A i \in Replicas : Follows(ghost.starts, replica[i].log)

\* A leader holds every record chosen in its epoch or before.
LeaderCompleteness ==
    \A i \in Replicas : replica[i].role = "Leader" =>
        ~Missing(replica[i].log, replica[i].election.epoch, ghost.chosen, ghost.chosenIn)

\* A record below any high watermark ever exposed is never lost.
CommittedStable ==
    \A i \in Replicas :
        /\ replica[i].highWatermark <= Len(replica[i].log)
        /\ replica[i].role = "Leader" =>
             ~Missing(replica[i].log, replica[i].election.epoch, ghost.exposed, ghost.exposedIn)

\* Below their high watermarks two replicas hold the same records.
StateMachineSafety ==
    /\ \A i \in Replicas :
         LET r == replica[i]
             hw == Min(Min(r.highWatermark, Len(r.log)), Len(ghost.exposed))
         IN hw > 0 => CommonPrefix(r.log, ghost.exposed) >= hw
    /\ \A i, j \in Replicas : i < j =>
         LET hw == Min(Min(replica[i].highWatermark, replica[j].highWatermark),
                       Min(Len(replica[i].log), Len(replica[j].log)))
         IN hw > 0 => CommonPrefix(replica[i].log, replica[j].log) >= hw

\* What belongs to one role is zero in every other.
RoleFieldsClear ==
    \A i \in Replicas : LET r == replica[i] IN
        /\ r.role # "Leader" => r.epochStart = 0 /\ r.end = NoEnds /\ r.readRound = 0 /\ ~r.leaderChangeWritten
        /\ ~r.reading => r.confirmed = {} /\ r.readOffset = 0
        /\ r.reading => r.role = "Leader"
        /\ r.role \notin {"Candidate", "Prospective"} => r.granted = {}
        /\ r.role # "Follower" => ~r.hasFetched

Invariants ==
    /\ ElectionSafety /\ LogMatching /\ UniqueEpochOffset /\ LeaderCompleteness
    /\ CommittedStable /\ StateMachineSafety /\ RoleFieldsClear

---------------------------------------------------------------------------
\* Of steps. A disk that is lost takes with it what they speak of, and a crash the high
\* watermark.
KeptDisk == spent'.disks = spent.disks
Alive(i) == KeptDisk /\ spent'.crashes = spent.crashes /\ "Down" \notin {replica[i].role, replica'[i].role}

\* A read sees at least everything acknowledged before it began.
ReadSees ==
    \A i \in Replicas :
        /\ replica[i].reading /\ ~replica'[i].reading
        /\ replica'[i].role = "Leader" /\ replica'[i].election.epoch = replica[i].election.epoch
        => replica[i].readOffset >= ghost.readFloor[i]
LinearizableRead == [][ReadSees]_vars

\* A leader never changes or removes a record of its log.
OnlyAppends ==
    \A i \in Replicas : Alive(i) /\ replica[i].role = "Leader" /\ replica'[i].role = "Leader"
        => CommonPrefix(replica[i].log, replica'[i].log) = Len(replica[i].log)
LeaderAppendOnly == [][OnlyAppends]_vars

\* The epoch of a replica never goes back, over restarts too.
EpochKept == KeptDisk => \A i \in Replicas : replica'[i].election.epoch >= replica[i].election.epoch
MonotonicEpoch == [][EpochKept]_vars

\* The high watermark of a replica does not go back while its process lives, but for a
\* new leader that starts without one.
HighWatermarkKept ==
    \A i \in Replicas : Alive(i) /\ ~(replica[i].role # "Leader" /\ replica'[i].role = "Leader")
        => replica'[i].highWatermark >= replica[i].highWatermark
MonotonicHighWatermark == [][HighWatermarkKept]_vars

\* Within an epoch a replica never changes or forgets its vote.
VoteKept ==
    KeptDisk => \A i \in Replicas :
        replica'[i].election.epoch = replica[i].election.epoch /\ replica[i].election.voted # Nobody
        => replica'[i].election.voted = replica[i].election.voted
VoteOnce == [][VoteKept]_vars

\* A high watermark is on the disks of a majority, behind a record of the leader's epoch.
ExposesFlushed ==
    \A i \in Replicas :
        replica'[i].role = "Leader" /\ replica'[i].highWatermark > replica[i].highWatermark
        => FlushedByMajority(replica', replica'[i])
HwSound == [][ExposesFlushed]_vars
=============================================================================
