// Package crashtest is for tests: it crashes and fails what works on a disk, at each of
// its operations and not at some.
//
// Read [Case] first. A case is something that is done on a disk, and how a process that
// starts afterwards finds out what came of it. Then
//
//   - [Sweep] crashes it at every operation, takes every disk that the crash can leave,
//     starts on each, crashes that as well at every operation, and so on until no new
//     disk turns up;
//   - [Flushes] leaves each flush out in turn, and wants Sweep to notice;
//   - [Failures] makes every operation and every read fail, in every way.
//
// The disk is an [fs.Double]. Every disk means every subset of what was not flushed, in
// sectors ([fs.Double.Crashes]), so a case should leave few operations to be flushed at
// a time; there can be many cases.
package crashtest
