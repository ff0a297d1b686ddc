package controller

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/node"
)

// Snapshot implements [node.Machine]: first the features, metadata.version before all
// others, then the cluster id, the records of other types, and ConfigRecords by resource
// and name. There is none without a metadata.version: it would be newer than a bootstrap
// snapshot, and hold nothing of it (MaySnapshot of spec/bootstrap). There is none within a
// transaction, which may yet be aborted.
func (s *state) Snapshot() (func(node.SnapshotWriter) error, error) {
	if s.versionNow() == 0 || s.transaction != nil {
		return nil, node.ErrNoSnapshot
	}
	first := featureRecords(s.features)
	if s.cluster != "" {
		first = append(first, metadata.AppendClusterID(nil, s.cluster))
	}
	first = slices.Concat(first, slices.DeleteFunc(slices.Clone(s.other), func(b []byte) bool { return b == nil }))
	configs := make(map[resource]map[string]string, len(s.configs))
	for r, of := range s.configs { // who reads beside it changes nothing
		configs[r] = maps.Clone(of)
	}
	return func(w node.SnapshotWriter) error { return write(w, first, configs) }, nil
}

// featureRecords are FeatureLevelRecords, metadata.version first, the others by name.
func featureRecords(levels map[string]int16) (records [][]byte) {
	names := slices.SortedFunc(maps.Keys(levels), func(a, b string) int {
		if (a == metadata.VersionFeature) != (b == metadata.VersionFeature) {
			if a == metadata.VersionFeature {
				return -1
			}
			return 1
		}
		return cmp.Compare(a, b)
	})
	for _, name := range names {
		records = append(records, metadata.AppendFeatureLevel(nil, name, levels[name]))
	}
	return records
}

// written is how many records are encoded before they are handed over.
const written = 1000

func write(w node.SnapshotWriter, first [][]byte, configs map[resource]map[string]string) error {
	for part := range slices.Chunk(first, written) {
		if err := w.Append(part); err != nil {
			return err
		}
	}
	resources := slices.SortedFunc(maps.Keys(configs), func(a, b resource) int {
		return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.name, b.name))
	})
	var records [][]byte
	for _, r := range resources {
		of := configs[r]
		for _, name := range slices.Sorted(maps.Keys(of)) {
			value := of[name]
			records = append(records, metadata.ConfigRecord{ResourceType: r.kind, ResourceName: r.name, Name: name, Value: &value}.Append(nil))
			if len(records) == written {
				if err := w.Append(records); err != nil {
					return err
				}
				records = records[:0]
			}
		}
	}
	return w.Append(records)
}

// Load implements [node.Machine].
func (s *state) Load(r node.SnapshotReader) error {
	var loaded state
	n := 0
	err := r.Records(func(b []byte) error {
		if err := loaded.replay(b); err != nil {
			return fmt.Errorf("record %d: %w", n, err)
		}
		n++
		return nil
	})
	if err == nil && loaded.transaction != nil {
		err = fmt.Errorf("a transaction begins in it, which no snapshot may have")
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.configs, s.other, s.places = loaded.configs, loaded.other, loaded.places
	s.features, s.cluster, s.last = loaded.features, loaded.cluster, r.ID().End-1
	s.supported, s.brokers, s.brokerSupport, s.transaction = loaded.supported, loaded.brokers, loaded.brokerSupport, nil
	return nil
}
