package controller

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/node"
	"github.com/quorate/quorate/impl/wire"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// Ways to change the level of a feature (UpdateFeatures, UpgradeType).
const (
	upgrade         = 1
	unsafeDowngrade = 3
)

var _ node.Featured = (*Controller)(nil)

// Supported implements [node.Featured].
func (c *Controller) Supported() []wire.Feature {
	return []wire.Feature{{Name: metadata.VersionFeature, Min: int16(metadata.MinVersion), Max: int16(metadata.MaxVersion)}}
}

// Finalized implements [node.Featured]: there is nothing in it of a bootstrap that is not
// committed (KAFKA-19964).
func (c *Controller) Finalized() (levels []wire.Feature, offset int64) {
	c.mu.RLock()
	defer c.mu.RUnlock()
	if c.versionNow() == 0 {
		return nil, -1
	}
	for _, name := range slices.Sorted(maps.Keys(c.features)) {
		levels = append(levels, wire.Feature{Name: name, Finalized: c.features[name]})
	}
	return levels, c.last
}

// updateFeatures answers UpdateFeatures for metadata.version (FeatureControlManager.
// updateFeatures); other features cannot be changed here. The cluster id is in the batch of
// the first version that has one, so that neither is there without the other (KIP-1262).
func (c *Controller) updateFeatures(ctx context.Context, q *kmsg.UpdateFeaturesRequest) kmsg.Response {
	resp := kmsg.NewPtrUpdateFeaturesResponse()
	epoch, quorum := c.activeEpoch(), c.quorum.Load()
	if epoch <= 0 || quorum == nil {
		resp.ErrorCode = notController
		return resp
	}
	c.updating.Lock() // the state that decides is that of the update before
	defer c.updating.Unlock()
	var records [][]byte
	var failed *refusal
	for i, u := range q.FeatureUpdates {
		r := kmsg.NewUpdateFeaturesResponseResult()
		r.Feature = u.Feature
		refused := c.checkUpdate(q.Version, u)
		if i > 0 && refused == nil {
			refused = &refusal{invalidRequest, "metadata.version is given twice"}
		}
		if refused == nil {
			records = c.upgradeRecords(metadata.Version(u.MaxVersionLevel))
		} else if failed == nil {
			failed = refused
		}
		r.ErrorCode, r.ErrorMessage = refused.fields()
		resp.Results = append(resp.Results, r)
	}
	if failed != nil { // all or nothing
		resp.ErrorCode, resp.ErrorMessage = failed.fields()
		return resp
	}
	if q.ValidateOnly {
		return resp
	}
	var err error
	if len(records) > 0 {
		c.upgrades(epoch, records)
		_, err = (*quorum).ProposeIn(ctx, epoch, records)
	} else {
		_, err = (*quorum).Read(ctx)
	}
	resp.ErrorCode, resp.ErrorMessage = refusalOf(err).fields()
	return resp
}

// checkUpdate refuses a level that this cluster may not have now.
func (c *Controller) checkUpdate(version int16, u kmsg.UpdateFeaturesRequestFeatureUpdate) *refusal {
	was, to := c.version(), metadata.Version(u.MaxVersionLevel)
	if version == 0 {
		if u.UpgradeType = upgrade; u.AllowDowngrade {
			u.UpgradeType = 2 // one that loses nothing
		}
	}
	switch {
	case u.Feature != metadata.VersionFeature:
		return &refusal{invalidUpdateVersion, fmt.Sprintf("%s cannot be changed here: only %s", u.Feature, metadata.VersionFeature)}
	case !to.Known():
		return &refusal{invalidUpdateVersion, fmt.Sprintf("metadata.version %d is not supported: want %d to %d", to, metadata.MinVersion, metadata.MaxVersion)}
	case u.UpgradeType < upgrade || u.UpgradeType > unsafeDowngrade:
		return &refusal{invalidRequest, fmt.Sprintf("unknown upgrade type %d", u.UpgradeType)}
	case to < was && u.UpgradeType == upgrade:
		return &refusal{invalidUpdateVersion, fmt.Sprintf("metadata.version is %s: the downgrade to %s must be asked for as one", was, to)}
	case to < was && was >= metadata.ClusterIDVersion && to < metadata.ClusterIDVersion && u.UpgradeType != unsafeDowngrade:
		return &refusal{invalidUpdateVersion, fmt.Sprintf("metadata.version %s has no cluster id: the downgrade from %s would lose it, and so must be an unsafe one", to, was)}
	case to > was && to >= metadata.ClusterIDVersion && c.knownID() == "":
		return &refusal{featureUpdateFailed, "this controller does not know its cluster id, which metadata.version " + to.String() + " has in the log"}
	}
	if wrong := c.unsupported(to); wrong != "" {
		return &refusal{featureUpdateFailed, wrong}
	}
	return nil
}

// upgradeRecords are those of another metadata.version, the id that the cluster has behind
// it, never a new one: that would lock out all who know theirs.
func (c *Controller) upgradeRecords(to metadata.Version) (records [][]byte) {
	if to == c.version() {
		return nil
	}
	records = append(records, metadata.AppendFeatureLevel(nil, metadata.VersionFeature, int16(to)))
	if to >= metadata.ClusterIDVersion {
		records = append(records, metadata.AppendClusterID(nil, c.knownID()))
	}
	return records
}

// unsupported says who cannot read what another metadata.version writes.
func (c *Controller) unsupported(to metadata.Version) string {
	c.mu.RLock()
	defer c.mu.RUnlock()
	for id, has := range c.supported {
		if to < has.Min || to > has.Max {
			return fmt.Sprintf("controller %d supports metadata.version %s to %s", id, has.Min, has.Max)
		}
	}
	for id, has := range c.brokerSupport {
		if to < has.Min || to > has.Max {
			return fmt.Sprintf("broker %d supports metadata.version %s to %s", id, has.Min, has.Max)
		}
	}
	if c.brokers && to > metadata.LatestProduction {
		return fmt.Sprintf("there are brokers, which no release of Kafka lets have metadata.version %s", to)
	}
	return ""
}
