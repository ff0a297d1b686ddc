package concern

import _ "embed"

// Schema is the JSON Schema of a line. It is made of the tags of [Event], as [Decode] is.
//
//go:embed schema.json
var Schema []byte
