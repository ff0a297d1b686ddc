----------------------------- MODULE Environment -----------------------------
(* Crashes and restarts of one replica, as spec/environment.go. What happens to    *)
(* messages stands in System.                                                      *)
EXTENDS Transition

\* The logs that a crash may leave: of an append that was not flushed any prefix, of a
\* truncation that was not flushed nothing, all or a part; where something was appended
\* before a truncation was flushed, the old tail may stand behind the new one.
Survivors(r) ==
    LET common == FlushedEnd(r)
        mixed  == {Slice(r.log, 0, o) \o Slice(r.disk, o, Len(r.disk)) : o \in (common + 1)..(Min(Len(r.log), Len(r.disk)) - 1)}
    IN {Slice(r.log, 0, o) : o \in common..Len(r.log)}
       \cup {Slice(r.disk, 0, o) : o \in common..Len(r.disk)}
       \cup {l \in mixed : Ascending(l)}

\* The process stops, and the machine may lose power. The quorum-state file is
\* replaced whole.
Crash(r, kept) ==
    IF /\ IsUp:: r.role # "Down"
       /\ KeepInRange:: kept \in Survivors(r)
    THEN {Outcome([LeaveRole(r) EXCEPT !.role = "Down", !.log = kept, !.disk = kept,
                                       !.highWatermark = Unknown, !.election = r.stored], {}, kept, FALSE)}
    ELSE {}

\* The process stops and its directory is gone; it comes back under its old id.
LoseDisk(r) ==
    IF IsUp:: r.role # "Down"
    THEN Done([NewReplica(r.id) EXCEPT !.role = "Down"])
    ELSE {}

\* A process starts from its disk, by the rules of QuorumState.initialize.
Restart(r) ==
    IF ~(IsDown:: r.role = "Down") THEN {}
    ELSE IF r.stored.epoch < LastEpoch(r.log) THEN Done(BecomeUnattached(r, LastEpoch(r.log)))
    ELSE LET found == [r EXCEPT !.election = r.stored]
             role  == RoleAtStart(found)
         IN Done([found EXCEPT !.role = role, !.granted = IF role = "Candidate" THEN {r.id} ELSE @])
=============================================================================
