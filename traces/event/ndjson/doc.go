// Package ndjson reads and writes files of one JSON object a line, strictly and
// fast: integers only, no unknown and no duplicate fields, and every fault named
// by field, line and byte.
//
// Read [Scanner] first (one line), then [Lines] (a file, compressed or not).
// Traces and client histories are such files; the package knows nothing of what
// is in them. It is not a general JSON parser: there is no null, no fraction, no
// tree of values.
package ndjson
