package format

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/metaprops"
)

// Options are what a directory is formatted with.
type Options struct {
	// Node is node.id.
	Node int32
	// Controller: process.roles has controller, alone or with broker.
	Controller bool
	// StaticVoters: controller.quorum.voters is set.
	StaticVoters bool
	// Dirs are the log directories, that of the metadata log first.
	Dirs []string
	// ClusterID is --cluster-id.
	ClusterID string
	// MayLackID: the cluster id may be left out, for the first leader to draw (the second
	// revision of KIP-1262).
	MayLackID bool
	// Standalone is --standalone: where the node listens, which is to be the only voter of
	// a dynamic quorum. Nil: it is not given.
	Standalone *log.VoterEndpoint
	// Initial is --initial-controllers: the voters of a dynamic quorum.
	Initial []log.Voter
	// NoInitial is --no-initial-controllers.
	NoInitial bool
	// IgnoreFormatted is --ignore-formatted.
	IgnoreFormatted bool
	// Release is --release-version, such as 4.4-IV2; empty: the latest for production.
	Release string
	// Features are those of --feature.
	Features map[string]int16
	// Credentials are those of --add-scram.
	Credentials []metadata.ScramCredential
	// Unstable is unstable.feature.versions.enable.
	Unstable bool
	// Timestamp of what is written, in milliseconds since 1970.
	Timestamp int64
	// NewID draws directory ids.
	NewID func() metaprops.DirectoryID
}

// Plan is what is to be written. It is made by [New].
type Plan struct {
	o       Options
	version metadata.Version
	voters  []log.Voter
	kraft   int16
	records [][]byte
}

// Version is the level of metadata.version that the cluster begins with.
func (p *Plan) Version() metadata.Version { return p.version }

// MaxBootstrapBytes is the most that the records of a bootstrap may have, as one batch: the
// largest that a controller of Kafka appends (KafkaRaftClient.MAX_BATCH_SIZE_BYTES).
const MaxBootstrapBytes = 8 << 20

// maxAtomic is how many records a controller writes at once
// (QuorumController.MAX_RECORDS_PER_USER_OP): all, where there are no transactions.
const maxAtomic = 10000

// New holds options to the rules of kafka-storage format that need no disk.
func New(o Options) (*Plan, error) {
	p := &Plan{o: o}
	for _, rule := range []func() error{p.quorum, p.versions, p.credentials, p.clusterID, p.bootstrap} {
		if err := rule(); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// dynamic: one of the flags of dynamic quorums is given, and it is one.
func (o *Options) dynamic() bool {
	return !o.StaticVoters && (o.Standalone != nil || o.Initial != nil || o.NoInitial)
}

// quorum is about the flags that say who the first voters are.
func (p *Plan) quorum() error {
	o := &p.o
	given := 0
	for _, is := range []bool{o.Standalone != nil, o.Initial != nil, o.NoInitial} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		return errors.New("-standalone, -initial-controllers and -no-initial-controllers exclude each other")
	case o.Standalone != nil && !o.Controller:
		return errors.New("-standalone is for controllers, and process.roles has none")
	case o.StaticVoters && (o.Standalone != nil || o.Initial != nil):
		return errors.New("controller.quorum.voters is set, and with it the voters are static: " +
			"for a dynamic quorum (-standalone, -initial-controllers) set controller.quorum.bootstrap.servers in its place")
	case o.Controller && !o.StaticVoters && given == 0:
		return errors.New("controller.quorum.voters is not set, so it has to be said who the first voters are: " +
			"want one of -standalone, -initial-controllers and -no-initial-controllers")
	}
	if o.dynamic() {
		p.kraft = 1
	}
	if level, ok := o.Features[metadata.KRaftVersionFeature]; ok && level != p.kraft {
		if o.dynamic() {
			return fmt.Errorf("-feature %s=%d: a dynamic quorum has %[1]s 1", metadata.KRaftVersionFeature, level)
		}
		return fmt.Errorf("-feature %s=%d: want 0, unless controller.quorum.voters is not set and one of -standalone, "+
			"-initial-controllers and -no-initial-controllers is given", metadata.KRaftVersionFeature, level)
	}
	switch {
	case o.Standalone != nil:
		p.voters = []log.Voter{{ID: o.Node, Directory: o.NewID(), Endpoints: []log.VoterEndpoint{*o.Standalone}, MaxVersion: 1}}
	case o.Initial != nil:
		p.voters = o.Initial
	}
	return nil
}

// versions is about metadata.version and the other features.
func (p *Plan) versions() error {
	o := &p.o
	level, ok := o.Features[metadata.VersionFeature]
	p.version = metadata.LatestProduction
	switch {
	case ok && o.Release != "":
		return fmt.Errorf("-release-version and -feature %s exclude each other", metadata.VersionFeature)
	case ok:
		if p.version = metadata.Version(level); !p.version.Known() {
			return fmt.Errorf("-feature %s=%d: want %d to %d", metadata.VersionFeature, level, metadata.MinVersion, metadata.MaxVersion)
		}
	case o.Release != "":
		var err error
		if p.version, err = metadata.ParseVersion(o.Release); err != nil {
			return fmt.Errorf("-release-version %w", err)
		}
	}
	if p.version > metadata.LatestProduction && !o.Unstable {
		return fmt.Errorf("%s %s is not for production yet: unstable.feature.versions.enable=true allows it", metadata.VersionFeature, p.version)
	}
	for _, name := range slices.Sorted(maps.Keys(o.Features)) {
		if name == metadata.VersionFeature || name == metadata.KRaftVersionFeature {
			continue
		}
		f, ok := metadata.FeatureOf(name)
		if !ok {
			return fmt.Errorf("-feature %s: there is none of this name: want %s", name, strings.Join(metadata.FeatureNames(), ", "))
		}
		if level := o.Features[name]; level < 0 || level > f.Max() {
			return fmt.Errorf("-feature %s=%d: want 0 to %d", name, level, f.Max())
		} else if needs := f.Needs(level); p.version < needs {
			return fmt.Errorf("-feature %s=%d needs %s %s or later, and this is %s", name, level, metadata.VersionFeature, needs, p.version)
		}
	}
	return nil
}

func (p *Plan) credentials() error {
	if len(p.o.Credentials) > 0 && p.version < metadata.ScramVersion {
		return fmt.Errorf("-add-scram needs %s %s or later, and this is %s", metadata.VersionFeature, metadata.ScramVersion, p.version)
	}
	for i, c := range p.o.Credentials {
		for _, other := range p.o.Credentials[:i] {
			if c.Name == other.Name && c.Mechanism == other.Mechanism {
				return fmt.Errorf("-add-scram: %s of %q is given twice", c.Mechanism, c.Name)
			}
		}
	}
	return nil
}

func (p *Plan) clusterID() error {
	switch id := p.o.ClusterID; {
	case !utf8.ValidString(id):
		return fmt.Errorf("-cluster-id %q is not UTF-8", id)
	case id == "" && !p.o.MayLackID:
		return errors.New("-cluster-id is required")
	case id == "" && p.version < metadata.ClusterIDVersion:
		return fmt.Errorf("-cluster-id may be left out from %s %s on, and this is %s: no leader could write the id that it draws",
			metadata.VersionFeature, metadata.ClusterIDVersion, p.version)
	}
	return nil
}

// bootstrap makes the records: metadata.version, the other features by name, the cluster
// id, credentials.
func (p *Plan) bootstrap() error {
	p.records = [][]byte{metadata.AppendFeatureLevel(nil, metadata.VersionFeature, int16(p.version))}
	for _, name := range metadata.FeatureNames() {
		f, _ := metadata.FeatureOf(name)
		level, ok := p.o.Features[name]
		if !ok {
			level = f.Default(p.version)
		}
		if level > 0 {
			p.records = append(p.records, metadata.AppendFeatureLevel(nil, name, level))
		}
	}
	if p.version >= metadata.ClusterIDVersion && p.o.ClusterID != "" {
		p.records = append(p.records, metadata.AppendClusterID(nil, p.o.ClusterID))
	}
	for _, c := range p.o.Credentials {
		p.records = append(p.records, c.Append(nil))
	}
	var batch log.Builder
	batch.Reset(0, 0, 0)
	for _, r := range p.records {
		batch.Add(r)
	}
	switch {
	case batch.Size() > MaxBootstrapBytes:
		return fmt.Errorf("the %d records that the cluster is to begin with have %d bytes, and a batch at most %d: give fewer credentials",
			len(p.records), batch.Size(), MaxBootstrapBytes)
	case len(p.records) > maxAtomic && p.version < metadata.TransactionVersion:
		return fmt.Errorf("the cluster is to begin with %d records, and without transactions (%s %s) at most %d can be written: give fewer credentials",
			len(p.records), metadata.VersionFeature, metadata.TransactionVersion, maxAtomic)
	}
	return nil
}
