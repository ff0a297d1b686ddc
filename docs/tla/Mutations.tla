------------------------------ MODULE Mutations ------------------------------
(* Bugs put back, each by another operator in the place of one rule, as            *)
(* spec/mutations.go. The name is that of the mutation, without what TLA+ does not *)
(* allow in names, and the rule.                                                   *)
EXTENDS Properties

\* The high watermark may move when a majority has only reached the epoch's start offset.
KAFKA_12619_MayExpose(r, hw) == hw >= r.epochStart

\* The high watermark moves to whatever a majority has flushed.
figure_8_MayExpose(r, hw) == TRUE

\* A follower acknowledges what it has not flushed.
KAFKA_10533_MayAcknowledge(r) == TRUE

\* A candidate asks for votes for records that it has not flushed.
candidate_claims_unflushed_MayClaim(r) == TRUE

\* A leader counts its own log beyond what it has flushed.
leader_counts_unflushed_OwnEnd(r) == Len(r.log)

\* A majority is (n-1)/2 voters.
majority_of_one_less_Majority(n) == (n - 1) \div 2

\* A majority is half of the voters.
majority_of_half_Majority(n) == (n + 1) \div 2

\* A fetch response is taken after the follower has become something else.
late_response_TakesLate(r, m) == m.error = "NONE" /\ ~m.diverging /\ m.epoch < r.election.epoch

\* A read is served without confirming that the leader still leads.
unconfirmed_read_IsConfirmed(r) == TRUE

\* A new leader serves reads before it has committed anything in its epoch.
read_before_commit_MayRead(r) == TRUE
=============================================================================
