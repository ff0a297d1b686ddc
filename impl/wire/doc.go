// Package wire is the part of Kafka's protocol that replicas speak to each other:
// frames, headers, and the bodies of Vote, BeginQuorumEpoch, EndQuorumEpoch, Fetch and
// FetchSnapshot, to and from [core.Message], of ApiVersions, and of what describes a quorum.
//
// Read [Codec] first. A request and its response:
//
//	int32 size │ header: key, version, correlation, client id │ body
//	int32 size │ header: correlation                          │ body
//
// Headers and bodies of flexible versions have tagged fields; the response header
// of ApiVersions never has. The bodies are those of franz-go's kmsg; the response
// of Fetch, which carries the records, is written by hand and tested against it.
//
// A reader of bytes from outside has three answers: a message for the core, a
// refusal with a Kafka error code, or an error, after which the connection is to
// be closed. It never panics and allocates no more than a constant factor of the
// bytes that have arrived.
//
// What no replica can mean (a negative epoch or offset, say) is [Request.Invalid], and
// answered as Kafka does by [Request.Answer], so that neither the core nor a trace has to
// deal with it.
//
// The package has no connection, no goroutine and no clock. Record batches are
// bytes here; see package log for what they must be.
package wire
