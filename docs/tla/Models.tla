------------------------------- MODULE Models -------------------------------
(* The models of spec/models.go. Written by `go run ./bench/tla -write`; a test    *)
(* holds it to the original.                                                       *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANT Model \* the name of one of them

\* a quorum of one: it elects itself, commits what it has flushed, restarts, reads, resigns.
Model_single ==
    [voters |-> 1, observers |-> 0, preVote |-> {1}, epochs |-> 3, stand |-> <<>>,
     records |-> 2, crashes |-> 2, disks |-> 0, reads |-> 1, resigns |-> 1,
     late |-> 0, inFlight |-> 1, immediate |-> {}, silent |-> {}, mergeFlush |-> FALSE,
     staysDown |-> TRUE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* two voters: a majority is both.
Model_pair ==
    [voters |-> 2, observers |-> 0, preVote |-> {1, 2}, epochs |-> 3, stand |-> <<>>,
     records |-> 1, crashes |-> 1, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 2, immediate |-> {}, silent |-> {}, mergeFlush |-> FALSE,
     staysDown |-> TRUE, bootstrap |-> TRUE, checkQuorum |-> FALSE, park |-> FALSE]

\* elections without Pre-Vote, two messages in flight.
Model_election ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 2, stand |-> <<>>,
     records |-> 0, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 2, immediate |-> {}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> TRUE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* Pre-Vote: prospective voters, and followers that refuse them.
Model_prevote ==
    [voters |-> 3, observers |-> 0, preVote |-> {1, 2, 3}, epochs |-> 2, stand |-> <<>>,
     records |-> 0, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> TRUE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* Pre-Vote, whole exchanges at once.
Model_prevote_exchanges ==
    [voters |-> 3, observers |-> 0, preVote |-> {1, 2, 3}, epochs |-> 2, stand |-> <<{1}, {3}>>,
     records |-> 0, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 1,
     late |-> 0, inFlight |-> 1, immediate |-> {"Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "Fetch"}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> TRUE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* a rolling upgrade: A knows pre-votes, B and C do not.
Model_upgrade ==
    [voters |-> 3, observers |-> 0, preVote |-> {1}, epochs |-> 2, stand |-> <<>>,
     records |-> 0, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> TRUE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* a leader commits its LeaderChange record, and a client's.
Model_commit ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 1, stand |-> <<{1}>>,
     records |-> 1, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> FALSE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* figure 8 and KAFKA-12619: A and C lead by turns, whole exchanges at once.
Model_figure8 ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 4, stand |-> <<{1}, {3}, {1}, {3}>>,
     records |-> 0, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {"Vote", "BeginQuorumEpoch", "Fetch"}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> FALSE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* figure 8 with single messages: A, C, A, C.
Model_figure8_messages ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 4, stand |-> <<{1}, {3}, {1}, {3}>>,
     records |-> 0, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> FALSE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* KAFKA-10527: a leader that loses its unflushed tail.
Model_leader_restart ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 1, stand |-> <<{1}>>,
     records |-> 2, crashes |-> 1, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> FALSE,
     staysDown |-> TRUE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* KAFKA-10661 and votes over a restart.
Model_vote_restart ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 1, stand |-> <<{1, 3}>>,
     records |-> 0, crashes |-> 1, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> FALSE,
     staysDown |-> TRUE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* KAFKA-10533: what is acknowledged and what is on disk.
Model_flush ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 2, stand |-> <<{1}, {3}>>,
     records |-> 0, crashes |-> 1, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {"Vote", "BeginQuorumEpoch", "Fetch"}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> FALSE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* KAFKA-13141: a follower with records that its leader never had.
Model_divergence ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 3, stand |-> <<{1}, {3}, {1}>>,
     records |-> 1, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> FALSE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* a crash between a truncation and its flush.
Model_truncation_flush ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 3, stand |-> <<{3}, {1}, {3}>>,
     records |-> 1, crashes |-> 1, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {"Vote", "BeginQuorumEpoch", "Fetch"}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> FALSE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* a follower that has diverged, whole exchanges at once.
Model_truncation ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 2, stand |-> <<{1}, {3}>>,
     records |-> 0, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {"Vote", "BeginQuorumEpoch", "Fetch"}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> FALSE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* a fetch response that arrives when its follower leads.
Model_late_leader ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 4, stand |-> <<{1}, {3}, {2}, {3}>>,
     records |-> 0, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {"Vote", "BeginQuorumEpoch"}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> TRUE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* messages that outlive their connection, and copies.
Model_late ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 2, stand |-> <<{1}, {1, 3}>>,
     records |-> 0, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 1, inFlight |-> 2, immediate |-> {}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> FALSE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* linearizable reads over a change of leader.
Model_reads ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 2, stand |-> <<{1}, {3}>>,
     records |-> 0, crashes |-> 0, disks |-> 0, reads |-> 1, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {"Vote"}, silent |-> {}, mergeFlush |-> FALSE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* leaders that are shut down.
Model_resign ==
    [voters |-> 3, observers |-> 0, preVote |-> {1, 2, 3}, epochs |-> 2, stand |-> <<>>,
     records |-> 0, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 1,
     late |-> 0, inFlight |-> 1, immediate |-> {"Vote"}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> TRUE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* leaders that are cut off give up.
Model_check_quorum ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 2, stand |-> <<>>,
     records |-> 0, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 1,
     late |-> 0, inFlight |-> 1, immediate |-> {}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> TRUE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> TRUE, park |-> FALSE]

\* an observer finds the leader and follows.
Model_observer ==
    [voters |-> 2, observers |-> 1, preVote |-> {}, epochs |-> 2, stand |-> <<{1}, {1, 2}>>,
     records |-> 1, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> TRUE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* an observer beside three voters, over a change of leader.
Model_observer_three ==
    [voters |-> 3, observers |-> 1, preVote |-> {}, epochs |-> 2, stand |-> <<{1}, {1, 3}>>,
     records |-> 2, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {"Vote"}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> TRUE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* two linearizable reads, and votes that are asked for meanwhile.
Model_reads_two ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 2, stand |-> <<{1}, {3}>>,
     records |-> 1, crashes |-> 0, disks |-> 0, reads |-> 2, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {"Vote", "Fetch"}, silent |-> {}, mergeFlush |-> TRUE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* four voters: an even majority.
Model_four ==
    [voters |-> 4, observers |-> 0, preVote |-> {}, epochs |-> 1, stand |-> <<{1, 3}>>,
     records |-> 0, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 2, immediate |-> {}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> FALSE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* five voters.
Model_five ==
    [voters |-> 5, observers |-> 0, preVote |-> {}, epochs |-> 1, stand |-> <<>>,
     records |-> 0, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> TRUE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* five voters, a copied message.
Model_five_votes ==
    [voters |-> 5, observers |-> 0, preVote |-> {}, epochs |-> 1, stand |-> <<{1, 3}>>,
     records |-> 0, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 1, inFlight |-> 2, immediate |-> {}, silent |-> {"BeginQuorumEpoch", "Fetch"}, mergeFlush |-> TRUE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* the plain box: anybody stands, four epochs, one message in flight.
Model_four_epochs ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 4, stand |-> <<{1, 3}, {1, 3}, {1, 3}, {1, 3}>>,
     records |-> 0, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> FALSE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* Pre-Vote over three epochs: A or C stand.
Model_prevote_epochs ==
    [voters |-> 3, observers |-> 0, preVote |-> {1, 2, 3}, epochs |-> 3, stand |-> <<{1, 3}, {1, 3}, {1, 3}>>,
     records |-> 0, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> TRUE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* four voters, two epochs.
Model_four_two_epochs ==
    [voters |-> 4, observers |-> 0, preVote |-> {}, epochs |-> 2, stand |-> <<>>,
     records |-> 0, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> TRUE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* several rounds of divergence: A, C, A, C lead, with a client's record.
Model_divergence_rounds ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 4, stand |-> <<{1}, {3}, {1}, {3}>>,
     records |-> 1, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {"Vote"}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> TRUE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* two crashes over two epochs, everything else at once.
Model_crashes ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 3, stand |-> <<{1}, {3}, {1}>>,
     records |-> 1, crashes |-> 2, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {"Vote", "BeginQuorumEpoch", "Fetch"}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> FALSE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* A or C stand in five epochs.
Model_five_epochs ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 5, stand |-> <<{1, 3}, {1, 3}, {1, 3}, {1, 3}, {1, 3}>>,
     records |-> 0, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> FALSE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* A stands first, then A or C in five more epochs: more than a thousand million states.
Model_six_epochs ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 6, stand |-> <<{1}, {1, 3}, {1, 3}, {1, 3}, {1, 3}, {1, 3}>>,
     records |-> 0, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> FALSE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* three messages in flight.
Model_three_in_flight ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 2, stand |-> <<{1}, {1, 3}>>,
     records |-> 0, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 3, immediate |-> {}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> FALSE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* fetches that wait at the leader.
Model_parked ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 2, stand |-> <<{1}, {3}>>,
     records |-> 1, crashes |-> 0, disks |-> 0, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 2, immediate |-> {"Vote"}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> TRUE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> TRUE]

\* snapshot is not here: the twin has no Snapshots.

\* snapshot-diverged is not here: the twin has no Snapshots.

\* snapshot-transfer is not here: the twin has no Snapshots.

\* snapshot-crash is not here: the twin has no Snapshots.

\* snapshot-late is not here: the twin has no Snapshots.

\* snapshot-epochs is not here: the twin has no Snapshots.

\* a voter that comes back under its old id without its disk.
Model_lost_disk ==
    [voters |-> 3, observers |-> 0, preVote |-> {}, epochs |-> 2, stand |-> <<{1}, {3}>>,
     records |-> 0, crashes |-> 0, disks |-> 1, reads |-> 0, resigns |-> 0,
     late |-> 0, inFlight |-> 1, immediate |-> {}, silent |-> {"BeginQuorumEpoch"}, mergeFlush |-> FALSE,
     staysDown |-> FALSE, bootstrap |-> FALSE, checkQuorum |-> FALSE, park |-> FALSE]

\* add-voter is not here: the twin has no Adds.

\* add-fourth is not here: the twin has no Adds.

\* remove-leader is not here: the twin has no Removes.

\* leader-leaves is not here: the twin has no Removes.

\* one-of-two is not here: the twin has no Removes.

\* remove-two is not here: the twin has no Removes.

\* two-changes is not here: the twin has no Removes.

\* update-voter is not here: the twin has no Adds.

\* voters-messages is not here: the twin has no Adds.

\* voters-late is not here: the twin has no Adds.

\* voters-snapshot is not here: the twin has no Snapshots.

\* voters-crash is not here: the twin has no Removes.

\* voters-reads is not here: the twin has no Removes.

M == CASE Model = "single" -> Model_single
       [] Model = "pair" -> Model_pair
       [] Model = "election" -> Model_election
       [] Model = "prevote" -> Model_prevote
       [] Model = "prevote-exchanges" -> Model_prevote_exchanges
       [] Model = "upgrade" -> Model_upgrade
       [] Model = "commit" -> Model_commit
       [] Model = "figure8" -> Model_figure8
       [] Model = "figure8-messages" -> Model_figure8_messages
       [] Model = "leader-restart" -> Model_leader_restart
       [] Model = "vote-restart" -> Model_vote_restart
       [] Model = "flush" -> Model_flush
       [] Model = "divergence" -> Model_divergence
       [] Model = "truncation-flush" -> Model_truncation_flush
       [] Model = "truncation" -> Model_truncation
       [] Model = "late-leader" -> Model_late_leader
       [] Model = "late" -> Model_late
       [] Model = "reads" -> Model_reads
       [] Model = "resign" -> Model_resign
       [] Model = "check-quorum" -> Model_check_quorum
       [] Model = "observer" -> Model_observer
       [] Model = "observer-three" -> Model_observer_three
       [] Model = "reads-two" -> Model_reads_two
       [] Model = "four" -> Model_four
       [] Model = "five" -> Model_five
       [] Model = "five-votes" -> Model_five_votes
       [] Model = "four-epochs" -> Model_four_epochs
       [] Model = "prevote-epochs" -> Model_prevote_epochs
       [] Model = "four-two-epochs" -> Model_four_two_epochs
       [] Model = "divergence-rounds" -> Model_divergence_rounds
       [] Model = "crashes" -> Model_crashes
       [] Model = "five-epochs" -> Model_five_epochs
       [] Model = "six-epochs" -> Model_six_epochs
       [] Model = "three-in-flight" -> Model_three_in_flight
       [] Model = "parked" -> Model_parked
       [] Model = "lost-disk" -> Model_lost_disk

Voters   == 1..M.voters
Replicas == 1..(M.voters + M.observers)
\* The replicas whose software knows pre-votes, and those of the others, if some do.
PreVote  == M.preVote
Old      == IF PreVote = {} THEN {} ELSE Replicas \ PreVote
Epochs   == M.epochs
\* For each epoch who may stand in it; empty: anybody.
Stand    == M.stand
Limit    == [records |-> M.records, crashes |-> M.crashes, disks |-> M.disks,
             reads |-> M.reads, resigns |-> M.resigns, late |-> M.late]
InFlight    == M.inFlight
Immediate   == M.immediate
Silent      == M.silent
MergeFlush  == M.mergeFlush
StaysDown   == M.staysDown
Bootstrap   == M.bootstrap
CheckQuorum == M.checkQuorum
Park        == M.park
=============================================================================
