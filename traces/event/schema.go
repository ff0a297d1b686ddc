package event

import _ "embed"

// Schema is the JSON Schema of a line of a trace. It and [Decode] accept the
// same lines, but that JSON Schema cannot refuse duplicate fields and takes 1.0
// for an integer.
//
//go:embed schema.json
var Schema []byte
