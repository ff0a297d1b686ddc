package metadata

import "encoding/binary"

// ConfigRecord sets a configuration of a resource, or takes it away.
type ConfigRecord struct {
	ResourceType int8
	ResourceName string
	Name         string
	Value        *string // nil: it is deleted
}

// Append appends the record with its frame.
func (r ConfigRecord) Append(dst []byte) []byte {
	dst = append(AppendFrame(dst, TypeConfig, 0), byte(r.ResourceType))
	dst = AppendString(dst, r.ResourceName)
	dst = AppendString(dst, r.Name)
	if r.Value == nil {
		dst = append(dst, 0)
	} else {
		dst = AppendString(dst, *r.Value)
	}
	return append(dst, 0) // no tagged fields
}

// AppendFeatureLevel appends a FeatureLevelRecord with its frame.
func AppendFeatureLevel(dst []byte, feature string, level int16) []byte {
	dst = AppendString(AppendFrame(dst, TypeFeatureLevel, 0), feature)
	return append(binary.BigEndian.AppendUint16(dst, uint16(level)), 0)
}

// AppendClusterID appends a ClusterIdRecord (KIP-1262) with its frame. The id is not empty.
func AppendClusterID(dst []byte, id string) []byte {
	return append(AppendString(AppendFrame(dst, TypeClusterID, 0), id), 0)
}

// AppendBeginTransaction appends a BeginTransactionRecord (KIP-868) with its frame. An
// empty name is left out.
func AppendBeginTransaction(dst []byte, name string) []byte {
	return appendTagged(AppendFrame(dst, TypeBeginTransaction, 0), name)
}

// AppendEndTransaction appends an EndTransactionRecord with its frame.
func AppendEndTransaction(dst []byte) []byte {
	return append(AppendFrame(dst, TypeEndTransaction, 0), 0)
}

// AppendAbortTransaction appends an AbortTransactionRecord with its frame. An empty
// reason is left out.
func AppendAbortTransaction(dst []byte, reason string) []byte {
	return appendTagged(AppendFrame(dst, TypeAbortTransaction, 0), reason)
}

// AppendFrame appends the frame that a record of a type and version begins with.
func AppendFrame(dst []byte, kind, version uint64) []byte {
	dst = append(dst, frameVersion)
	return binary.AppendUvarint(binary.AppendUvarint(dst, kind), version)
}

// AppendString appends a compact string.
func AppendString(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s))+1)
	return append(dst, s...)
}

func appendBytes(dst, b []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(b))+1)
	return append(dst, b...)
}

// appendTagged ends a record with the tagged field 0, unless it is empty.
func appendTagged(dst []byte, text string) []byte {
	if text == "" {
		return append(dst, 0)
	}
	field := AppendString(nil, text)
	dst = append(dst, 1, 0)
	return append(binary.AppendUvarint(dst, uint64(len(field))), field...)
}
