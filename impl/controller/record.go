package controller

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"
)

// Metadata records are framed by three unsigned varints (MetadataRecordSerde): the
// version of the frame, the number of the record type, its version. The types below are
// flexible: strings and arrays are compact, and tagged fields end them.
const frameVersion = 1

// Types of metadata records that mean something here.
const (
	typeConfig           = 4
	typeFeatureLevel     = 12
	typeNoOp             = 20
	typeBeginTransaction = 23
	typeEndTransaction   = 24
	typeAbortTransaction = 25

	typeRegisterController = 27
)

// typeNames are the types that Kafka 4 writes or wrote.
var typeNames = map[uint64]string{
	0: "REGISTER_BROKER_RECORD", 1: "UNREGISTER_BROKER_RECORD", 2: "TOPIC_RECORD", 3: "PARTITION_RECORD",
	typeConfig: "CONFIG_RECORD", 5: "PARTITION_CHANGE_RECORD", 7: "FENCE_BROKER_RECORD", 8: "UNFENCE_BROKER_RECORD",
	9: "REMOVE_TOPIC_RECORD", 10: "DELEGATION_TOKEN_RECORD", 11: "USER_SCRAM_CREDENTIAL_RECORD",
	typeFeatureLevel: "FEATURE_LEVEL_RECORD", 14: "CLIENT_QUOTA_RECORD", 15: "PRODUCER_IDS_RECORD",
	17: "BROKER_REGISTRATION_CHANGE_RECORD", 18: "ACCESS_CONTROL_ENTRY_RECORD", 19: "REMOVE_ACCESS_CONTROL_ENTRY_RECORD",
	typeNoOp: "NO_OP_RECORD", 21: "ZK_MIGRATION_STATE_RECORD", 22: "REMOVE_USER_SCRAM_CREDENTIAL_RECORD",
	typeBeginTransaction: "BEGIN_TRANSACTION_RECORD", typeEndTransaction: "END_TRANSACTION_RECORD",
	typeAbortTransaction: "ABORT_TRANSACTION_RECORD", 26: "REMOVE_DELEGATION_TOKEN_RECORD", typeRegisterController: "REGISTER_CONTROLLER_RECORD",
}

// ErrRecord is wrapped by errors that say that bytes are not a metadata record.
var ErrRecord = errors.New("not a metadata record")

// ConfigRecord sets a configuration of a resource, or takes it away.
type ConfigRecord struct {
	ResourceType int8
	ResourceName string
	Name         string
	Value        *string // nil: it is deleted
}

// Append appends the record with its frame.
func (r ConfigRecord) Append(dst []byte) []byte {
	dst = append(dst, frameVersion, typeConfig, 0, byte(r.ResourceType))
	dst = appendString(dst, r.ResourceName)
	dst = appendString(dst, r.Name)
	if r.Value == nil {
		dst = append(dst, 0)
	} else {
		dst = appendString(dst, *r.Value)
	}
	return append(dst, 0) // no tagged fields
}

func appendString(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s))+1)
	return append(dst, s...)
}

// Record is a metadata record as far as it is decoded.
type Record struct {
	Type    uint64
	Version uint64
	// Config: of a ConfigRecord.
	Config *ConfigRecord
	// Feature and Level: of a FeatureLevelRecord.
	Feature string
	Level   int16
	// Controller: of a RegisterControllerRecord.
	Controller int32
	body       int // bytes after the frame
}

// Decode reads a metadata record. It keeps no part of b. Types that are not decoded here
// are not looked into. Errors wrap ErrRecord.
func Decode(b []byte) (Record, error) {
	var r Record
	d := decoder{b: b}
	if frame := d.uvarint(); d.err == nil && frame != frameVersion {
		return r, fmt.Errorf("%w: frame version %d, want %d", ErrRecord, frame, frameVersion)
	}
	r.Type, r.Version = d.uvarint(), d.uvarint()
	r.body = len(d.b)
	switch {
	case d.err != nil:
	case r.Type == typeConfig && r.Version == 0:
		c := ConfigRecord{ResourceType: int8(d.byte()), ResourceName: d.string(), Name: d.string(), Value: d.nullable()}
		d.tags()
		r.Config = &c
	case r.Type == typeFeatureLevel && r.Version == 0:
		r.Feature, r.Level = d.string(), int16(d.byte())<<8|int16(d.byte())
		d.tags()
	case r.Type == typeRegisterController && r.Version == 0:
		r.Controller = int32(d.byte())<<24 | int32(d.byte())<<16 | int32(d.byte())<<8 | int32(d.byte())
		d.b = nil // the rest is not looked into
	default:
		return r, nil
	}
	if d.err == nil && len(d.b) > 0 {
		d.fail("%d bytes after its end", len(d.b))
	}
	if d.err != nil {
		return r, fmt.Errorf("%w: %w", ErrRecord, d.err)
	}
	return r, nil
}

// String is the record as kafka-dump-log prints it with --cluster-metadata-decoder. Of a
// type that is not decoded it tells the bytes.
func (r Record) String() string {
	name := typeNames[r.Type]
	if name == "" {
		name = fmt.Sprintf("type %d", r.Type)
	}
	switch {
	case r.Config != nil:
		value := "null"
		if r.Config.Value != nil {
			value = text(*r.Config.Value)
		}
		return fmt.Sprintf(`{"type":"%s","version":%d,"data":{"resourceType":%d,"resourceName":%s,"name":%s,"value":%s}}`,
			name, r.Version, r.Config.ResourceType, text(r.Config.ResourceName), text(r.Config.Name), value)
	case r.Type == typeFeatureLevel && r.Version == 0:
		return fmt.Sprintf(`{"type":"%s","version":%d,"data":{"name":%s,"featureLevel":%d}}`, name, r.Version, text(r.Feature), r.Level)
	}
	return fmt.Sprintf(`{"type":"%s","version":%d,"bytes":%d}`, name, r.Version, r.body)
}

// text is a text in JSON.
func text(s string) string {
	b, _ := json.Marshal(s) // which fails for no string
	return string(b)
}

// decoder reads fields one after the other. After an error it reads zeros.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) fail(format string, args ...any) {
	if d.err == nil {
		d.err = fmt.Errorf(format, args...)
	}
	d.b = nil
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.fail("it ends too soon")
		return 0
	}
	v := d.b[0]
	d.b = d.b[1:]
	return v
}

func (d *decoder) uvarint() uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 || v > 1<<32-1 {
		d.fail("bad varint")
		return 0
	}
	d.b = d.b[n:]
	return v
}

func (d *decoder) nullable() *string {
	n := d.uvarint()
	if d.err != nil || n == 0 {
		return nil
	}
	if n-1 > uint64(len(d.b)) {
		d.fail("text of %d bytes, of which %d are there", n-1, len(d.b))
		return nil
	}
	s := string(d.b[:n-1])
	d.b = d.b[n-1:]
	if !utf8.ValidString(s) {
		d.fail("text that is not UTF-8")
	}
	return &s
}

func (d *decoder) string() string {
	s := d.nullable()
	if s == nil {
		d.fail("text is null")
		return ""
	}
	return *s
}

// tags skips tagged fields. None is known.
func (d *decoder) tags() {
	for range d.uvarint() {
		d.uvarint()
		size := d.uvarint()
		if d.err != nil || size > uint64(len(d.b)) {
			d.fail("bad tagged fields")
			return
		}
		d.b = d.b[size:]
	}
}
