// Package story plays scripts: what happens to a small cluster, command by
// command, and what each command leaves behind.
//
// A script in testdata is played by two casts, the specification and the replica
// that the implementation consists of, and both must print the same text. The
// interface between script and cast is [Cast]; [NewSpec] is the cast of
// specification replicas, that of the implementation is in the test, since this
// package does not know the implementation.
//
//	cluster voters=3          three voters, A B C, with empty disks
//	timeout A                 the election or fetch timer of A fires
//	deliver A->B [Kind] [epoch=n]  the message from A to B arrives
//	flush A                   what A wrote becomes durable
//	append A 2                a client hands two records to A
//	read A                    a client asks A for a linearizable read
//	crash A keep=1            A loses power; of what was not flushed, records below 1 stay; A starts again
//	check-quorum A            A has not heard of a majority for too long
//	resign A                  A is asked to step down
//	add-voter A B             A is asked to make B a voter (cluster ... dynamic=on), remove-voter A B the contrary
//	snapshot A 2              the state machine of A has written a snapshot of all below 2
//	log-start A 2             the log of A is to begin at 2, where a snapshot ends
//	verified A [damaged]      the check of the snapshot that A received has ended
//	settle [without=C]        flush and deliver until nothing is left to do
//
// Between commands a replica does at once what it has to do: a candidate with a
// majority leads, a leader writes its LeaderChange record, a follower with a
// durable log fetches. Time passes only by command.
package story
