// Package metaprops keeps meta.properties, the file by which a directory knows which
// node of which cluster it belongs to.
//
// Read [Properties], [Load], [Set.Check] and [Set.Decide] first. A node has one file in each
// of its log directories; [Load] reads them all, Check refuses those of another node or
// cluster, Decide is the table by which a node starts, and [Write] replaces one file as a
// whole.
//
// Versions 0, 1 and 2 are read, and 1 and 2 written (Kafka's MetaProperties, and the
// version 2 of KIP-1262, in which the cluster id may be missing). The package does not
// lock directories: who starts or formats a node does that.
package metaprops

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/properties"
)

// FileName is the name of the file in a log directory.
const FileName = "meta.properties"

// NoNode says that a file of version 0 has no node id.
const NoNode int32 = -1

// DirectoryID is the id of a directory; zero: it has none.
type DirectoryID [16]byte

// String is the id as Kafka writes it, unpadded base64url; empty if there is none.
func (d DirectoryID) String() string {
	if d == (DirectoryID{}) {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(d[:])
}

// ParseDirectoryID is the inverse of String for ids that a directory may have.
func ParseDirectoryID(s string) (DirectoryID, error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(s)
	if err != nil || len(b) != len(DirectoryID{}) {
		return DirectoryID{}, fmt.Errorf("%q is not 16 bytes in base64url", s)
	}
	if id := DirectoryID(b); !id.reserved() {
		return id, nil
	}
	return DirectoryID{}, fmt.Errorf("%q is %w", s, errReserved)
}

// errReserved is wrapped by errors of ids that no directory may have.
var errReserved = errors.New("reserved")

// reserved: Kafka gives the first hundred ids a meaning (DirectoryId.reserved).
func (d DirectoryID) reserved() bool {
	return binary.BigEndian.Uint64(d[:]) == 0 && binary.BigEndian.Uint64(d[8:]) < 100
}

// NewDirectoryID returns a random id (a UUID of version 4). It is not reserved, and
// its text does not start with a dash, which a command line would take for a flag
// (Uuid.randomUuid). Cluster ids are made alike.
func NewDirectoryID() DirectoryID {
	for {
		var id DirectoryID
		rand.Read(id[:]) // never fails
		id[6] = id[6]&0x0f | 0x40
		id[8] = id[8]&0x3f | 0x80
		if !id.reserved() && id.String()[0] != '-' {
			return id
		}
	}
}

// Properties is the content of a file.
type Properties struct {
	// Version is 0, 1 or 2.
	Version int
	// ClusterID is any text; empty: not known (versions 0 and 2).
	ClusterID string
	// NodeID is node.id, in version 0 broker.id. NoNode: not stated (version 0).
	NodeID int32
	// Directory is directory.id.
	Directory DirectoryID
	// Other are the entries that mean nothing here. Encode keeps them.
	Other []properties.Entry
}

// Keys of the file. In version 0 node.id is broker.id.
const (
	keyVersion   = "version"
	keyCluster   = "cluster.id"
	keyNode      = "node.id"
	keyBroker    = "broker.id"
	keyDirectory = "directory.id"
)

// Decode parses the content of a file.
func Decode(content []byte) (Properties, error) {
	entries, err := properties.Parse(content)
	if err != nil {
		return Properties{}, err
	}
	values := map[string]string{}
	for _, e := range entries {
		values[e.Key] = strings.TrimSpace(e.Value)
	}
	p := Properties{NodeID: NoNode}
	if v, ok := values[keyVersion]; ok {
		if p.Version, err = strconv.Atoi(v); err != nil || p.Version < 0 || p.Version > 2 {
			return Properties{}, fmt.Errorf("version %q is not 0, 1 or 2", v)
		}
	}
	key := keyNode
	if p.Version == 0 {
		key = keyBroker
	}
	if v, ok := values[key]; ok {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil || n < 0 {
			return Properties{}, fmt.Errorf("%s %q is not from 0 to %d", key, v, math.MaxInt32)
		}
		p.NodeID = int32(n)
	} else if p.Version > 0 {
		return Properties{}, fmt.Errorf("%s is missing", key)
	}
	if p.ClusterID = values[keyCluster]; p.ClusterID == "" {
		if _, stated := values[keyCluster]; stated || p.Version == 1 {
			return Properties{}, fmt.Errorf("%s is missing or empty", keyCluster)
		}
	}
	if v, ok := values[keyDirectory]; ok {
		if p.Directory, err = ParseDirectoryID(v); err != nil {
			return Properties{}, fmt.Errorf("%s %w", keyDirectory, err)
		}
	}
	seen := map[string]bool{keyVersion: true, key: true, keyCluster: true, keyDirectory: true}
	for _, e := range entries {
		if !seen[e.Key] {
			seen[e.Key] = true
			p.Other = append(p.Other, properties.Entry{Key: e.Key, Value: values[e.Key]})
		}
	}
	return p, nil
}

// Encode returns the content of a file. Keys are sorted: the same properties have the
// same bytes.
func (p Properties) Encode() []byte {
	entries := append([]properties.Entry{{Key: keyVersion, Value: strconv.Itoa(p.Version)}}, p.Other...)
	if p.ClusterID != "" {
		entries = append(entries, properties.Entry{Key: keyCluster, Value: p.ClusterID})
	}
	if p.NodeID != NoNode {
		key := keyNode
		if p.Version == 0 {
			key = keyBroker
		}
		entries = append(entries, properties.Entry{Key: key, Value: strconv.Itoa(int(p.NodeID))})
	}
	if p.Directory != (DirectoryID{}) {
		entries = append(entries, properties.Entry{Key: keyDirectory, Value: p.Directory.String()})
	}
	return properties.Append(nil, entries)
}

// Read reads the file of a directory. An error wraps [fs.ErrNotExist] if it has none.
func Read(fsys fs.FS, dir string) (Properties, error) {
	name := path.Join(dir, FileName)
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		return Properties{}, err
	}
	p, err := Decode(b)
	if err != nil {
		return Properties{}, fmt.Errorf("%s: %w", name, err)
	}
	return p, nil
}

// Write durably replaces the file of a directory, which must exist. A crash leaves
// the old file or the new one.
func Write(fsys fs.FS, dir string, p Properties) error {
	content := p.Encode()
	if _, err := Decode(content); err != nil { // it would not be read again
		return fmt.Errorf("%s: %w", path.Join(dir, FileName), err)
	}
	return fs.WriteFile(fsys, path.Join(dir, FileName), content)
}

// Dir is a log directory with what it says of itself.
type Dir struct {
	Path string
	Properties
	// Formatted: there is a file. The zero Properties are of one that has none.
	Formatted bool
	// Err says why the file cannot be read.
	Err error
}

// Set is the log directories of a node.
type Set struct {
	Dirs []Dir
}

// Load reads the files of directories. One that is missing, or has no file, is not
// formatted; one whose file cannot be read is in the set with its Err, and all of those are
// the error.
func Load(fsys fs.FS, dirs []string) (Set, error) {
	var s Set
	var errs []error
	for _, dir := range dirs {
		d := Dir{Path: dir, Properties: Properties{NodeID: NoNode}}
		switch p, err := Read(fsys, dir); {
		case err == nil:
			d.Properties, d.Formatted = p, true
		case !errors.Is(err, fs.ErrNotExist):
			d.Err = err
			errs = append(errs, err)
		}
		s.Dirs = append(s.Dirs, d)
	}
	return s, errors.Join(errs...)
}

// Check refuses directories that are not all of this node and of one cluster: the
// given one, if it is not empty. Two with one directory id are refused as well, since
// one of them must be a copy (MetaPropertiesEnsemble.verify). An error names the file
// and both sides.
func (s Set) Check(node int32, cluster string) error {
	var errs []error
	from := "the configuration"
	for i, d := range s.Dirs {
		name := path.Join(d.Path, FileName)
		if !d.Formatted {
			continue
		}
		if d.NodeID != NoNode && d.NodeID != node {
			errs = append(errs, fmt.Errorf("%s is of node %d, and the configuration has node.id %d", name, d.NodeID, node))
		}
		switch {
		case d.ClusterID == "":
		case cluster == "":
			cluster, from = d.ClusterID, name
		case d.ClusterID != cluster:
			errs = append(errs, fmt.Errorf("%s is of cluster %q, and %s of cluster %q", name, d.ClusterID, from, cluster))
		}
		for _, other := range s.Dirs[:i] {
			if d.Directory != (DirectoryID{}) && d.Directory == other.Directory {
				errs = append(errs, fmt.Errorf("%s and %s have the same directory.id %s: one is a copy",
					path.Join(other.Path, FileName), name, d.Directory))
			}
		}
	}
	return errors.Join(errs...)
}

// ClusterID is what the directories say, empty if none says anything.
func (s Set) ClusterID() string {
	for _, d := range s.Dirs {
		if d.ClusterID != "" {
			return d.ClusterID
		}
	}
	return ""
}
