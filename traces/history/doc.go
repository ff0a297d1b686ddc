// Package history keeps what the clients of one run saw of the replicated log,
// and decides whether it is linearizable.
//
// Read [History] first, then [Check]. A history is a file of one JSON object a
// line, compressed with zstd if its name ends in .zst. The first line is the
// header, then come operations and marks, in any order:
//
//	{"v":1,"type":"history","run":"seed 7","clock":"tick"}
//	{"type":"append","client":3,"call":10,"return":14,"outcome":"ok","value":"3-1","offset":5}
//	{"type":"read","client":4,"call":12,"return":13,"outcome":"ok","offset":6,"value":"3-1"}
//	{"type":"append","client":3,"call":20,"return":90,"outcome":"unknown","value":"3-2"}
//	{"type":"mark","what":"leader change","from":30,"to":75}
//
// traces/README.md describes every field. Readers are strict: a client that
// appended something the file does not know would make a correct log look wrong,
// so a torn line is an error here.
//
// The checks themselves are checker/linear's; this package knows files, names of
// values and statistics. It does not record: clients do.
package history
