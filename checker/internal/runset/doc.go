// Package runset keeps a large set of 64-bit keys on disk, for a search whose
// visited states do not fit in memory.
//
// Keys arrive in sorted batches. Each batch becomes a file, a run, of sorted keys
// in pages of a fixed size: bit-packed differences under a checksum ([page]). A
// Bloom filter in memory, one for all runs, says of most absent keys that they are
// absent; the others are looked up in sorted batches too, so that a run is read from
// front to back and pages in which nothing is asked for are skipped. This is delayed
// duplicate detection: Stern and Dill, "Using magnetic disk instead of main memory in
// the Murphi verifier", CAV 1998.
package runset
