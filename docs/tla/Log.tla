-------------------------------- MODULE Log --------------------------------
(* A log is a sequence of records [epoch, origin, kind]; offsets count from 0 and  *)
(* ends are exclusive, so the record at offset o is log[o + 1]. As spec/log.go,    *)
(* where successive equal records are one run.                                     *)
EXTENDS Integers, Sequences, FiniteSets

Min(a, b) == IF a < b THEN a ELSE b
Max(a, b) == IF a > b THEN a ELSE b

LastEpoch(log) == IF log = <<>> THEN 0 ELSE log[Len(log)].epoch

\* The records from offset from up to offset to.
Slice(log, from, to) == SubSeq(log, from + 1, to)

\* The offset up to which two sequences are the same.
CommonPrefix(a, b) ==
    IF a = b THEN Len(a)
    ELSE LET n == Min(Len(a), Len(b))
             differ == {k \in 1..n : a[k] # b[k]}
         IN IF differ = {} THEN n ELSE (CHOOSE k \in differ : \A o \in differ : k <= o) - 1

Ascending(log) == \A k \in 2..Len(log) : log[k - 1].epoch <= log[k].epoch

\* The largest epoch not above e in the log and the offset where it ends; if all are
\* larger e itself, ending where the log begins. KIP-595.
EndOffsetForEpoch(log, e) ==
    LET upTo == {k \in 1..Len(log) : log[k].epoch <= e}
    IN IF upTo = {} THEN [epoch |-> e, end |-> 0]
       ELSE LET k == CHOOSE k \in upTo : \A o \in upTo : o <= k
            IN [epoch |-> log[k].epoch, end |-> k]

\* Log matching of two logs: beyond the common prefix they share no (epoch, offset).
Matches(a, b) ==
    \A k \in (CommonPrefix(a, b) + 1)..Min(Len(a), Len(b)) : a[k].epoch # b[k].epoch
=============================================================================
