// Package fs is the small part of a file system that a replica needs, so that
// everything it keeps on disk goes through one door.
//
// Read [FS] and [File] first. [OS] is the real one. [Double] is a disk in memory
// for tests and for the simulator:
//
//	write, truncate ──► what the process sees ──Sync──────► what is on disk
//	create, rename, … ──► names it sees      ──SyncDir───► names on disk
//	                                │
//	                             Crash: any subset of what was not flushed
//
// It numbers its operations, so that a test can crash or fail at each of them.
// Killing a process proves nothing about flushes, since the page cache
// survives; this disk does.
//
// The package has no cache, no retry and no locking between processes.
package fs
