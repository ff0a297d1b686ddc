package metadata

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode/utf8"
)

// Metadata records are framed by three unsigned varints (MetadataRecordSerde): the
// version of the frame, the number of the record type, its version. The types below are
// flexible: strings and arrays are compact, and tagged fields end them.
const frameVersion = 1

// Types of metadata records that mean something here (MetadataRecordType).
const (
	TypeRegisterBroker        = 0
	TypeConfig                = 4
	TypeScramCredential       = 11
	TypeFeatureLevel          = 12
	TypeNoOp                  = 20
	TypeBeginTransaction      = 23
	TypeEndTransaction        = 24
	TypeAbortTransaction      = 25
	TypeRemoveScramCredential = 22
	TypeRegisterController    = 27
	// TypeClusterID is that of KIP-1262's ClusterIdRecord. No released Kafka has it: the
	// proposal's branch had 29, which another record (KIP-1312) has taken since, and this
	// is the next one that is free.
	TypeClusterID = 30
)

// typeNames are the types that Kafka 4 writes or wrote.
var typeNames = map[uint64]string{
	TypeRegisterBroker: "REGISTER_BROKER_RECORD", 1: "UNREGISTER_BROKER_RECORD", 2: "TOPIC_RECORD", 3: "PARTITION_RECORD",
	TypeConfig: "CONFIG_RECORD", 5: "PARTITION_CHANGE_RECORD", 7: "FENCE_BROKER_RECORD", 8: "UNFENCE_BROKER_RECORD",
	9: "REMOVE_TOPIC_RECORD", 10: "DELEGATION_TOKEN_RECORD", TypeScramCredential: "USER_SCRAM_CREDENTIAL_RECORD",
	TypeFeatureLevel: "FEATURE_LEVEL_RECORD", 14: "CLIENT_QUOTA_RECORD", 15: "PRODUCER_IDS_RECORD",
	17: "BROKER_REGISTRATION_CHANGE_RECORD", 18: "ACCESS_CONTROL_ENTRY_RECORD", 19: "REMOVE_ACCESS_CONTROL_ENTRY_RECORD",
	TypeNoOp: "NO_OP_RECORD", 21: "ZK_MIGRATION_STATE_RECORD", TypeRemoveScramCredential: "REMOVE_USER_SCRAM_CREDENTIAL_RECORD",
	TypeBeginTransaction: "BEGIN_TRANSACTION_RECORD", TypeEndTransaction: "END_TRANSACTION_RECORD",
	TypeAbortTransaction: "ABORT_TRANSACTION_RECORD", 26: "REMOVE_DELEGATION_TOKEN_RECORD", TypeRegisterController: "REGISTER_CONTROLLER_RECORD",
	28: "CLEAR_ELR_RECORD", 29: "UNREGISTER_CONTROLLER_RECORD", TypeClusterID: "CLUSTER_ID_RECORD",
}

// ErrRecord is wrapped by errors that say that bytes are not a metadata record.
var ErrRecord = errors.New("not a metadata record")

// Record is a metadata record as far as it is decoded.
type Record struct {
	Type    uint64
	Version uint64
	// Config: of a ConfigRecord.
	Config *ConfigRecord
	// Scram: of a UserScramCredentialRecord.
	Scram *ScramCredential
	// Feature and Level: of a FeatureLevelRecord.
	Feature string
	Level   int16
	// ClusterID: of a ClusterIdRecord.
	ClusterID string
	// Text: the name of a BeginTransactionRecord, the reason of an AbortTransactionRecord.
	// Nil: none is given.
	Text *string
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
	if d.err == nil && r.Version > 0 {
		return r, nil
	}
	switch r.Type {
	case TypeConfig:
		r.Config = &ConfigRecord{ResourceType: int8(d.byte()), ResourceName: d.string(), Name: d.string(), Value: d.nullable()}
		d.tags()
	case TypeScramCredential:
		r.Scram = &ScramCredential{Name: d.string(), Mechanism: ScramMechanism(d.byte()),
			Salt: d.bytes(), StoredKey: d.bytes(), ServerKey: d.bytes(), Iterations: d.int32()}
		d.tags()
	case TypeFeatureLevel:
		r.Feature, r.Level = d.string(), d.int16()
		d.tags()
	case TypeClusterID:
		if r.ClusterID = d.string(); d.err == nil && r.ClusterID == "" {
			d.fail("an empty cluster id")
		}
		d.tags()
	case TypeBeginTransaction, TypeAbortTransaction:
		r.Text = d.tagged()
	case TypeEndTransaction:
		d.tags()
	case TypeRegisterController:
		r.Controller = d.int32()
		d.b = nil // the rest is not looked into
	default:
		if d.err == nil {
			return r, nil
		}
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
	case r.Scram != nil:
		return fmt.Sprintf(`{"type":"%s","version":%d,"data":{"name":%s,"mechanism":%d,"salt":%s,"storedKey":%s,"serverKey":%s,"iterations":%d}}`,
			name, r.Version, text(r.Scram.Name), r.Scram.Mechanism, base64Text(r.Scram.Salt), base64Text(r.Scram.StoredKey),
			base64Text(r.Scram.ServerKey), r.Scram.Iterations)
	case r.Type == TypeClusterID && r.Version == 0:
		return fmt.Sprintf(`{"type":"%s","version":%d,"data":{"clusterId":%s}}`, name, r.Version, text(r.ClusterID))
	case r.Text != nil && r.Type == TypeBeginTransaction:
		return fmt.Sprintf(`{"type":"%s","version":%d,"data":{"name":%s}}`, name, r.Version, text(*r.Text))
	case r.Text != nil:
		return fmt.Sprintf(`{"type":"%s","version":%d,"data":{"reason":%s}}`, name, r.Version, text(*r.Text))
	case r.Version == 0 && (r.Type == TypeBeginTransaction || r.Type == TypeEndTransaction || r.Type == TypeAbortTransaction):
		return fmt.Sprintf(`{"type":"%s","version":%d,"data":{}}`, name, r.Version)
	case r.Type == TypeFeatureLevel && r.Version == 0:
		return fmt.Sprintf(`{"type":"%s","version":%d,"data":{"name":%s,"featureLevel":%d}}`, name, r.Version, text(r.Feature), r.Level)
	}
	return fmt.Sprintf(`{"type":"%s","version":%d,"bytes":%d}`, name, r.Version, r.body)
}

// text is a text in JSON.
func text(s string) string {
	b, _ := json.Marshal(s) // which fails for no string
	return string(b)
}

// base64Text is bytes in JSON, as Jackson writes them.
func base64Text(b []byte) string { return `"` + base64.StdEncoding.EncodeToString(b) + `"` }

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

// bytes are compact bytes that cannot be null.
func (d *decoder) bytes() []byte {
	n := d.uvarint()
	if d.err == nil && n == 0 {
		d.fail("bytes are null")
	}
	if d.err != nil {
		return nil
	}
	if n-1 > uint64(len(d.b)) {
		d.fail("%d bytes, of which %d are there", n-1, len(d.b))
		return nil
	}
	b := slices.Clone(d.b[:n-1])
	d.b = d.b[n-1:]
	return b
}

func (d *decoder) int16() int16 { return int16(d.byte())<<8 | int16(d.byte()) }

func (d *decoder) int32() int32 { return int32(d.int16())<<16 | int32(uint16(d.int16())) }

// tagged reads tagged fields, and returns the text that the one of tag 0 is.
func (d *decoder) tagged() (first *string) {
	for range d.uvarint() {
		tag, size := d.uvarint(), d.uvarint()
		if d.err != nil || size > uint64(len(d.b)) {
			d.fail("bad tagged fields")
			return nil
		}
		field := decoder{b: d.b[:size]}
		d.b = d.b[size:]
		if tag > 0 {
			continue
		}
		if first = field.nullable(); field.err != nil || len(field.b) > 0 {
			d.fail("bad tagged field 0")
			return nil
		}
	}
	return first
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
