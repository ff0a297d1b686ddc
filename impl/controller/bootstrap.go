package controller

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/node"
)

// bootstrap is what the first leader writes, before it knows whether it has to.
type bootstrap struct {
	source   string
	records  [][]byte
	version  metadata.Version
	features map[string]int16
	cluster  string
}

// Legacy is a bootstrap.checkpoint, as it was found at the start.
type Legacy struct {
	// Name of the file; empty: there is none.
	Name    string
	Records [][]byte
	// Err says which file could not be read and why. It matters only if it is needed.
	Err error
}

// LoadBootstrap implements [node.Bootstrapper]: it keeps what the zero checkpoint has, and
// applies nothing of it. A zero checkpoint with no metadata records leaves the choice to
// bootstrap.checkpoint or the default; one with some comes before both (KIP-1170).
func (c *Controller) LoadBootstrap(r node.SnapshotReader) error {
	var records [][]byte
	err := r.Records(func(b []byte) error {
		records = append(records, slices.Clone(b))
		return nil
	})
	if err != nil {
		return err
	}
	defer func() { c.begins(start{zero: true, records: records}) }()
	if len(records) == 0 {
		return nil
	}
	b, err := newBootstrap(c.cfg.ZeroName, records)
	if err != nil {
		return err
	}
	if own := c.knownID(); own != "" && b.cluster != "" && own != b.cluster {
		return fmt.Errorf("it has cluster id %q, and meta.properties has %q", b.cluster, own)
	}
	slog.Info("loaded a bootstrap", "node", c.cfg.Node, "source", b.source, "records", len(records), "metadata.version", b.version.String(), "digest", digest(records))
	if c.cfg.Legacy.Name != "" {
		slog.Warn("there are two bootstraps: the zero checkpoint is taken, and bootstrap.checkpoint is ignored",
			"node", c.cfg.Node, "zero", c.cfg.ZeroName, "ignored", c.cfg.Legacy.Name)
	}
	c.zero = &b
	return nil
}

// digest tells the bootstraps of controllers apart in their logs: they should be equal, and
// nobody else compares them.
func digest(records [][]byte) string {
	h := sha256.New()
	for _, r := range records {
		h.Write(r)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// source chooses where the bootstrap comes from, and reads it as far as that has not been
// done: what is not needed may be ancient.
func (c *Controller) source() (bootstrap, error) {
	if c.zero != nil {
		return *c.zero, nil
	}
	l := c.cfg.Legacy
	switch {
	case l.Err != nil:
		return bootstrap{}, l.Err
	case l.Name != "" && len(l.Records) > 0:
		return newBootstrap(l.Name, l.Records)
	}
	version := c.cfg.DefaultVersion
	if version == 0 {
		version = metadata.LatestProduction
	}
	return newBootstrap("the default", [][]byte{metadata.AppendFeatureLevel(nil, metadata.VersionFeature, int16(version))})
}

// newBootstrap looks into records that are to be written, and refuses what could not be
// applied.
func newBootstrap(source string, records [][]byte) (bootstrap, error) {
	b := bootstrap{source: source, records: records}
	var s state
	for i, r := range records {
		if d, err := metadata.Decode(r); err == nil && slices.Contains([]uint64{
			metadata.TypeBeginTransaction, metadata.TypeEndTransaction, metadata.TypeAbortTransaction,
		}, d.Type) {
			return b, fmt.Errorf("%s: record %d: %s in a bootstrap", source, i, d)
		}
		if err := s.replay(r); err != nil {
			return b, fmt.Errorf("%s: record %d: %w", source, i, err)
		}
	}
	b.version, b.features, b.cluster = s.versionNow(), s.features, s.cluster
	switch {
	case b.version == 0:
		return b, fmt.Errorf("%s: %w", source, errNoVersion)
	case !b.version.Known():
		return b, fmt.Errorf("%s: metadata.version %s is not supported: want %s to %s", source, b.version, metadata.MinVersion, metadata.MaxVersion)
	}
	return b, nil
}

var errNoVersion = errors.New("a bootstrap without a metadata.version")
