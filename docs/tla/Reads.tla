-------------------------------- MODULE Reads --------------------------------
(* Linearizable reads by read index, as spec/reads.go.                             *)
EXTENDS Transition

\* The leader notes its high watermark, which must be of its own epoch.
StartRead(r) ==
    IF /\ IsLeader:: r.role = "Leader"
       /\ NotReading:: ~r.reading
       /\ EpochCommitted:: MayRead(r)
    THEN Done([r EXCEPT !.reading = TRUE, !.readRound = @ + 1, !.confirmed = {r.id},
                        !.readOffset = Max(r.highWatermark, 0)])
    ELSE {}

\* A majority has confirmed the leader since the read began.
ServeRead(r) ==
    IF /\ IsLeader:: r.role = "Leader"
       /\ IsReading:: r.reading
       /\ ReadConfirmed:: IsConfirmed(r)
    THEN Done([r EXCEPT !.reading = FALSE, !.confirmed = {}, !.readOffset = 0])
    ELSE {}
=============================================================================
