// Package state is the database of a schema registry: what the operations of a journal
// make of an empty SQLite file. [DB.Apply] is the only way to change it, and a function of
// the file and of the record: no clock, no random number, nothing in memory that
// influences a result. So every instance that applied the same records has the same rows,
// and a copy of the file, taken at any moment, names the record up to which it has come.
package state

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Vocabulary is the highest version of operations that this binary knows.
const Vocabulary = 1

// The operations.
const (
	OpRegister      = "register"
	OpDeleteVersion = "delete-version"
	OpDeleteSubject = "delete-subject"
	OpSetConfig     = "set-config"
	OpDeleteConfig  = "delete-config"
)

// Op is a record of the journal. All that it needs is in it, so that to apply it is a
// function: what is generated or looked up is so before the append.
type Op struct {
	// Vocabulary is the version of the operations that has this one.
	Vocabulary int    `json:"v"`
	Type       string `json:"type"`
	// Request names who waits for the result; it has no other meaning.
	Request string `json:"req,omitempty"`
	Subject string `json:"subject,omitempty"`
	// Of OpRegister.
	SchemaType string      `json:"schemaType,omitempty"`
	Schema     string      `json:"schema,omitempty"`
	References []Reference `json:"references,omitempty"`
	// Checked is the latest version, deleted ones aside, of the subject with which the
	// schema was found to be compatible, and Level the compatibility that was asked for:
	// if there are others by now, the operation is refused and may be tried again. Level
	// "": nothing was checked and nothing is asked.
	Checked int    `json:"checked,omitempty"`
	Level   string `json:"level,omitempty"` // of OpSetConfig too
	// Of the deletions. Version 0 is the latest.
	Version   int  `json:"version,omitempty"`
	Permanent bool `json:"permanent,omitempty"`
}

// Reference of a schema to another.
type Reference struct {
	Name    string `json:"name"`
	Subject string `json:"subject"`
	Version int    `json:"version"`
}

// ErrUnknownOp: a record that this binary cannot apply. To leave it out would make the
// database, and every image of it, another one than that of binaries that can.
var ErrUnknownOp = errors.New("operation is not known to this version")

// Encode is the record of an operation.
func (o *Op) Encode() ([]byte, error) {
	o.Vocabulary = Vocabulary
	return json.Marshal(o)
}

// DecodeOp is the inverse of [Op.Encode]. Errors: ErrUnknownOp.
func DecodeOp(record []byte) (*Op, error) {
	var o Op
	if err := json.Unmarshal(record, &o); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnknownOp, err)
	}
	if o.Vocabulary < 1 || o.Vocabulary > Vocabulary {
		return nil, fmt.Errorf("%w: %q of vocabulary %d, and this binary knows %d", ErrUnknownOp, o.Type, o.Vocabulary, Vocabulary)
	}
	switch o.Type {
	case OpRegister, OpDeleteVersion, OpDeleteSubject, OpSetConfig, OpDeleteConfig:
		return &o, nil
	}
	return nil, fmt.Errorf("%w: %q", ErrUnknownOp, o.Type)
}

// Result of an operation, the same on every instance.
type Result struct {
	// Refused is why nothing was changed, nil if it was done.
	Refused  *Refusal
	ID       int
	Version  int
	Versions []int
	Level    string
}

// Refusal is an error of the registry's API: one that is the same wherever and whenever
// the operation is applied.
type Refusal struct {
	// Code as the API has it: three digits of HTTP, and two more.
	Code    int
	Message string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Message }

func refuse(code int, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Message: fmt.Sprintf(format, args...)}
}

// The refusals, with the codes that clients know.
func errSubjectNotFound(subject string) *Refusal {
	return refuse(40401, "Subject '%s' not found.", subject)
}
func errVersionNotFound(version int) *Refusal {
	return refuse(40402, "Version %d not found.", version)
}
func errSchemaNotFound(id int) *Refusal { return refuse(40403, "Schema %d not found", id) }
func errSubjectSoftDeleted(subject string) *Refusal {
	return refuse(40404, "Subject '%s' was soft deleted. Set permanent=true to delete permanently", subject)
}
func errSubjectNotSoftDeleted(subject string) *Refusal {
	return refuse(40405, "Subject '%s' was not deleted first before being permanently deleted", subject)
}
func errVersionSoftDeleted(subject string, version int) *Refusal {
	return refuse(40406, "Subject '%s' Version %d was soft deleted. Set permanent=true to delete permanently", subject, version)
}
func errVersionNotSoftDeleted(subject string, version int) *Refusal {
	return refuse(40407, "Subject '%s' Version %d was not deleted first before being permanently deleted", subject, version)
}
func errNoConfig(subject string) *Refusal {
	return refuse(40408, "Subject '%s' does not have subject-level compatibility configured", subject)
}
func errReferenced(subject string, version int) *Refusal {
	return refuse(42206, "One or more references exist to the schema {subject=%s,version=%d}.", subject, version)
}
func errBadReference(r Reference) *Refusal {
	return refuse(42201, "Invalid schema: no schema reference found for subject \"%s\" and version %d", r.Subject, r.Version)
}

// Levels of compatibility, as the API has them.
var Levels = []string{"NONE", "BACKWARD", "BACKWARD_TRANSITIVE", "FORWARD", "FORWARD_TRANSITIVE", "FULL", "FULL_TRANSITIVE"}

// DefaultLevel is the compatibility where none was set.
const DefaultLevel = "BACKWARD"

// CodeChanged is the code of a registration that was checked against versions which have
// changed meanwhile; who sees it checks again.
const CodeChanged = 40999
