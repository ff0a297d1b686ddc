package controller

import (
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/node"
)

// resource is what has configurations.
type resource struct {
	kind int8
	name string
}

// state is what the records so far amount to, those of an open transaction left out: they
// count when it ends. The machine's goroutine changes it.
type state struct {
	mu       sync.RWMutex
	configs  map[resource]map[string]string // guarded by mu; no empty one
	features map[string]int16               // guarded by mu; none of level 0
	cluster  string                         // of the ClusterIdRecord; guarded by mu
	last     int64                          // offset of the last record; guarded by mu
	// supported are the metadata.versions of controllers that have registered, and brokers
	// says that some broker has of which they are not known; guarded by mu, as what follows.
	supported map[int32]versions
	brokers   bool
	// brokerSupport is supported of brokers.
	brokerSupport map[int32]versions

	// Of the machine's goroutine only.
	other       [][]byte       // records of other types that still count, in order; nil: one that does not
	places      map[string]int // in other, of those of which only the last one counts
	transaction [][]byte       // a transaction that has not ended, from its begin on
}

// get is a configuration, false if it is not set.
func (s *state) get(r resource, name string) (string, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	v, ok := s.configs[r][name]
	return v, ok
}

// all are the configurations of a resource.
func (s *state) all(r resource) map[string]string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return maps.Clone(s.configs[r])
}

// version is the metadata.version, 0 if there is none yet.
func (s *state) version() metadata.Version {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.versionNow()
}

func (s *state) versionNow() metadata.Version {
	return metadata.Version(s.features[metadata.VersionFeature])
}

// ClusterID is that of the committed ClusterIdRecord, empty if there is none.
func (s *state) ClusterID() string {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.cluster
}

// Apply implements [node.Machine].
func (s *state) Apply(b node.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range b.Records {
		if err := s.replay(r.Value); err != nil {
			return fmt.Errorf("record %d: %w", r.Offset, err)
		}
	}
	s.last = b.End - 1
	return nil
}

// replay takes a record (QuorumController.replay).
func (s *state) replay(b []byte) error {
	r, err := metadata.Decode(b)
	if err != nil {
		return err
	}
	switch r.Type {
	case metadata.TypeBeginTransaction:
		if s.transaction != nil {
			return fmt.Errorf("%s within a transaction", r)
		}
		s.transaction = [][]byte{slices.Clone(b)}
		return nil
	case metadata.TypeAbortTransaction, metadata.TypeEndTransaction:
		records := s.transaction
		if records == nil {
			return fmt.Errorf("%s without a transaction", r)
		}
		if s.transaction = nil; r.Type == metadata.TypeAbortTransaction {
			return nil
		}
		for _, b := range records[1:] {
			if err := s.replay(b); err != nil {
				return err
			}
		}
		return nil
	}
	if s.transaction != nil {
		s.transaction = append(s.transaction, slices.Clone(b))
		return nil
	}
	return s.take(r, b)
}

// take takes a record that counts.
func (s *state) take(r metadata.Record, b []byte) error {
	switch {
	case r.Type == metadata.TypeNoOp:
	case r.Config != nil:
		s.set(r.Config)
	case r.Feature != "":
		s.level(r.Feature, r.Level)
	case r.ClusterID != "":
		if v := s.versionNow(); v < metadata.ClusterIDVersion {
			return fmt.Errorf("%s at metadata.version %s, which has no such record", r, v)
		}
		if s.cluster != "" && s.cluster != r.ClusterID {
			return fmt.Errorf("%s, and the cluster id is %q", r, s.cluster)
		}
		s.cluster = r.ClusterID
	case r.Scram != nil:
		s.replace(credentialName(b), b)
	case r.Type == metadata.TypeRemoveScramCredential && r.Version == 0:
		s.remove(credentialName(b))
	case r.Type == metadata.TypeRegisterController && r.Version == 0:
		s.replace(fmt.Sprintf("controller %d", r.Controller), b)
		return s.register(r.Controller, b)
	default:
		if r.Type == metadata.TypeRegisterBroker {
			s.registerBroker(b)
		}
		s.other = append(s.other, slices.Clone(b))
	}
	return nil
}

// level is a FeatureLevelRecord. Below the version that has ids there is none: that is
// what such a downgrade loses.
func (s *state) level(feature string, level int16) {
	if level == 0 {
		delete(s.features, feature)
	} else {
		if s.features == nil {
			s.features = map[string]int16{}
		}
		s.features[feature] = level
	}
	if s.versionNow() < metadata.ClusterIDVersion {
		s.cluster = ""
	}
}

// credentialName names user and mechanism of a credential, as the records that set and
// remove it have them behind their frame.
func credentialName(b []byte) string {
	const frame = 3
	name, mechanism, _ := metadata.CredentialOf(b[frame:])
	return fmt.Sprintf("credential %d %s", mechanism, name)
}

// replace keeps a record in place of the one before of the same name.
func (s *state) replace(name string, b []byte) {
	if at, ok := s.places[name]; ok {
		s.other[at] = slices.Clone(b)
		return
	}
	if s.places == nil {
		s.places = map[string]int{}
	}
	s.places[name] = len(s.other)
	s.other = append(s.other, slices.Clone(b))
}

// remove forgets the record of a name.
func (s *state) remove(name string) {
	if at, ok := s.places[name]; ok {
		s.other[at] = nil
		delete(s.places, name)
	}
}

func (s *state) set(r *metadata.ConfigRecord) {
	key := resource{r.ResourceType, r.ResourceName}
	of := s.configs[key]
	if r.Value == nil {
		if delete(of, r.Name); len(of) == 0 {
			delete(s.configs, key)
		}
		return
	}
	if of == nil {
		if s.configs == nil {
			s.configs = map[resource]map[string]string{}
		}
		of = map[string]string{}
		s.configs[key] = of
	}
	of[r.Name] = *r.Value
}
