// Package linear decides whether the history of a replicated log, as its clients
// saw it, is linearizable.
//
// Read [Op] and [Check] first. An append that returns its offset, and a read that
// returns the end offset, give away their place in the order; what is left to
// test is that the places are taken once, and that no operation returned before
// one that precedes it in the log was called:
//
//	sort by offset:   append@0  read→1  append@1  append@2  read→3 …
//	walk backward:    the earliest return of all that follow ≥ the call of each
//
// That is exact and takes n log n. Appends of unknown outcome are placed by the
// committed log or by the reads that saw them; those that could be in holes are
// matched to the holes by time. Only where digests must be guessed does a search
// remain, and that window goes to porcupine, whose limits make the verdict
// [Undecided], never wrong.
//
// [LogModel] and [RegisterModel] are the same questions asked of porcupine, for
// small histories, for pictures, and as the judge of Check in the tests.
//
// [CheckObject] decides histories of other objects by search, key by key: [KeyValue],
// [ClusterID], and [Registry], part by part.
//
// The package knows nothing of Kafka, reads no clock but for limits, and does not
// collect histories.
package linear
