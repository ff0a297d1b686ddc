-------------------------------- MODULE KRaft --------------------------------
(* The twin in TLA+ of the specification in spec/, to be run by TLC: see README.md *)
EXTENDS Mutations
=============================================================================
