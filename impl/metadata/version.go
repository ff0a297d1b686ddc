package metadata

import (
	"fmt"
	"strconv"
	"strings"
)

// Version is a level of the feature metadata.version: which records a log may have
// (MetadataVersion).
type Version int16

// Names of features.
const (
	VersionFeature      = "metadata.version"
	KRaftVersionFeature = "kraft.version"
)

// Levels that mean something here.
const (
	MinVersion           Version = 7  // 3.3-IV3: the least of Kafka 4
	ScramVersion         Version = 11 // 3.5-IV2: credentials may be written by format
	RegistersControllers Version = 15 // 3.7-IV0: RegisterControllerRecord
	TransactionVersion   Version = 13 // 3.6-IV1: BeginTransactionRecord and the others
	// LatestProduction is what format writes if nothing is said.
	LatestProduction Version = 33 // 4.4-IV2
	// ClusterIDVersion is the first that allows a ClusterIdRecord (KIP-1262). No released
	// Kafka has it: the level of the proposal's branch was taken since, and this is the next
	// one that is free. It is the only one here that Kafka 4.4 does not know.
	ClusterIDVersion Version = 35
	MaxVersion               = ClusterIDVersion
)

// release is a line of versions: 4.0-IV0, 4.0-IV1, …
type release struct {
	name  string
	first Version
	// production is the level that the name alone stands for; 0: none is for production yet.
	production Version
}

// releases are those that Kafka 4.4 knows, and what comes after it.
var releases = []release{
	{"3.3", 7, 7}, {"3.4", 8, 8}, {"3.5", 9, 11}, {"3.6", 12, 14}, {"3.7", 15, 19}, {"3.8", 20, 20}, {"3.9", 21, 21},
	{"4.0", 22, 25}, {"4.1", 26, 27}, {"4.2", 28, 29}, {"4.3", 30, 30}, {"4.4", 31, 33}, {"4.5", 34, 0},
}

// String is the name of a version, such as 4.4-IV2.
func (v Version) String() string {
	for i, r := range releases {
		last := MaxVersion
		if i+1 < len(releases) {
			last = releases[i+1].first - 1
		}
		if v < r.first || v > last {
			continue
		}
		number := v - r.first
		if r.name == "3.3" {
			number += 3 // the first that Kafka 4 knows is its fourth
		}
		return fmt.Sprintf("%s-IV%d", r.name, number)
	}
	return fmt.Sprintf("level %d", int16(v))
}

// Known says whether it is a version that there is.
func (v Version) Known() bool { return v >= MinVersion && v <= MaxVersion }

// ParseVersion reads a name such as 4.4-IV2, or 4.4 or 4.4.1 for what that release is
// meant for production (MetadataVersion.fromVersionString).
func ParseVersion(name string) (Version, error) {
	for v := MinVersion; v <= MaxVersion; v++ {
		if v.String() == name {
			return v, nil
		}
	}
	for _, r := range releases {
		patch, ok := strings.CutPrefix(name, r.name+".")
		if _, err := strconv.ParseUint(patch, 10, 16); (name == r.name || ok && err == nil) && r.production > 0 {
			return r.production, nil
		}
	}
	var known []string
	for v := MinVersion; v <= MaxVersion; v++ {
		known = append(known, v.String())
	}
	return 0, fmt.Errorf("%q is not a %s: want one of %s", name, VersionFeature, strings.Join(known, ", "))
}
