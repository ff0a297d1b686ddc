package metadata

// Feature is one that Kafka 4.4 has beside metadata.version and kraft.version.
type Feature struct {
	Name string
	// from are the levels of metadata.version from which format sets level 1, 2 and so on by
	// default; 0: it never does. The length is the highest level.
	from []Version
	// needs is the least metadata.version for any level but 0.
	needs Version
}

// features by name, in the order in which format writes them. What they are at which
// metadata.version, and what they need, is what kafka-storage version-mapping and
// feature-dependencies of 4.4.0 print.
var features = []Feature{
	{"eligible.leader.replicas.version", []Version{26}, 23},
	{"group.version", []Version{22}, MinVersion},
	{"share.version", []Version{28, 31}, MinVersion},
	{"streams.version", []Version{29}, MinVersion},
	{"transaction.version", []Version{0, 24}, MinVersion},
}

// FeatureNames are the names of all features but metadata.version and kraft.version, in the
// order in which format writes them.
func FeatureNames() (names []string) {
	for _, f := range features {
		names = append(names, f.Name)
	}
	return names
}

// FeatureOf is the feature of a name; false if there is none.
func FeatureOf(name string) (Feature, bool) {
	for _, f := range features {
		if f.Name == name {
			return f, true
		}
	}
	return Feature{}, false
}

// Max is the highest level.
func (f Feature) Max() int16 { return int16(len(f.from)) }

// Default is the level that format sets at a metadata.version.
func (f Feature) Default(v Version) int16 {
	for level := f.Max(); level > 0; level-- {
		if from := f.from[level-1]; from > 0 && v >= from {
			return level
		}
	}
	return 0
}

// Needs is the least metadata.version for a level.
func (f Feature) Needs(level int16) Version {
	if level == 0 {
		return MinVersion
	}
	return f.needs
}
