package controller

import (
	"context"
	"testing"

	"github.com/quorate/quorate/impl/metadata"
	"github.com/quorate/quorate/impl/node"
	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

func update(c *Controller, feature string, to metadata.Version, kind int8) (code int16, message string) {
	q := kmsg.NewPtrUpdateFeaturesRequest()
	q.Version = 1
	u := kmsg.NewUpdateFeaturesRequestFeatureUpdate()
	u.Feature, u.MaxVersionLevel, u.UpgradeType = feature, int16(to), kind
	q.FeatureUpdates = append(q.FeatureUpdates, u)
	r := c.Handle(context.Background(), q).(*kmsg.UpdateFeaturesResponse)
	if r.ErrorMessage != nil {
		message = *r.ErrorMessage
	}
	return r.ErrorCode, message
}

// An upgrade writes the cluster id that there is, in one batch with the version that first
// has it; a downgrade that loses it must be asked for as one (UpgradeKeeps, IDGate).
func TestUpdateFeatures(t *testing.T) {
	c := New(Config{ClusterID: "my cluster"})
	require.NoError(t, c.LoadBootstrap(memory{mv(v13)}))
	code, _ := update(c, "metadata.version", 33, upgrade)
	require.EqualValues(t, 41, code, "nobody leads")
	q := lead(t, c)
	require.EqualValues(t, 1, q.batches)
	id := metadata.AppendClusterID(nil, "my cluster")
	for _, step := range []struct {
		feature string
		to      metadata.Version
		kind    int8
		code    int16
		says    string
		want    memory
	}{
		{"group.version", 1, upgrade, 95, "group.version cannot be changed here", nil},
		{"metadata.version", 6, upgrade, 95, "metadata.version 6 is not supported: want 7 to 35", nil},
		{"metadata.version", 99, upgrade, 95, "is not supported", nil},
		{"metadata.version", 33, 0, 42, "unknown upgrade type 0", nil},
		{"metadata.version", 33, upgrade, 0, "", memory{mv(33)}},
		{"metadata.version", 33, upgrade, 0, "", nil},
		{"metadata.version", 30, upgrade, 95, "the downgrade to 4.3-IV0 must be asked for as one", nil},
		{"metadata.version", 30, 2, 0, "", memory{mv(30)}},
		{"metadata.version", v35, upgrade, 0, "", memory{mv(v35), id}},
		{"metadata.version", 33, 2, 95, "would lose it", nil},
		{"metadata.version", 33, unsafeDowngrade, 0, "", memory{mv(33)}},
		{"metadata.version", v35, upgrade, 0, "", memory{mv(v35), id}}, // the same again
	} {
		before, batches := len(q.records), q.batches
		code, message := update(c, step.feature, step.to, step.kind)
		require.Equal(t, step.code, code, message)
		require.Contains(t, message, step.says)
		require.Equal(t, texts(step.want), texts(q.records[before:]))
		if step.want != nil {
			require.Equal(t, batches+1, q.batches, "one batch")
		}
		if c.version() >= v35 {
			require.Equal(t, "my cluster", c.ClusterID())
		} else {
			require.Empty(t, c.ClusterID())
		}
	}
	write, err := c.Snapshot()
	require.NoError(t, err)
	var m memory
	require.NoError(t, write(&m))
	require.Equal(t, texts(memory{mv(v35), id}), texts(m), "the image has one")

	q.err = &node.OpError{Code: 6, Unknown: true}
	code, _ = update(c, "metadata.version", 33, unsafeDowngrade)
	require.EqualValues(t, 7, code)
}

// No version is written that somebody who has registered could not read.
func TestUpdateFeaturesSupport(t *testing.T) {
	c := New(Config{ClusterID: "X"})
	require.NoError(t, c.LoadBootstrap(memory{mv(v13)}))
	q := lead(t, c)
	require.Zero(t, register(t, c, asRegistered()))
	code, message := update(c, "metadata.version", v35, upgrade)
	require.EqualValues(t, 96, code)
	require.Equal(t, "controller 3 supports metadata.version 3.3-IV3 to 4.4-IV2", message)
	code, _ = update(c, "metadata.version", 33, upgrade)
	require.Zero(t, code)
	newer := asRegistered()
	newer.Features[2].MaxSupportedVersion = 35
	require.Zero(t, register(t, c, newer))
	require.NoError(t, c.Apply(node.Batch{End: 99, Records: []node.Record{{Value: metadata.AppendFrame(nil, metadata.TypeRegisterBroker, 3)}}}))
	code, message = update(c, "metadata.version", v35, upgrade)
	require.EqualValues(t, 96, code)
	require.Contains(t, message, "there are brokers")
	require.Len(t, q.records, 6)

	unknown := New(Config{})
	require.NoError(t, unknown.LoadBootstrap(memory{mv(v13)}))
	lead(t, unknown)
	code, message = update(unknown, "metadata.version", v35, upgrade)
	require.EqualValues(t, 96, code)
	require.Contains(t, message, "does not know its cluster id")

	// One update that is refused refuses all, and to validate changes nothing.
	r := kmsg.NewPtrUpdateFeaturesRequest()
	r.Version, r.ValidateOnly = 1, true
	one := kmsg.UpdateFeaturesRequestFeatureUpdate{Feature: "metadata.version", MaxVersionLevel: 20, UpgradeType: upgrade}
	r.FeatureUpdates = append(r.FeatureUpdates, one)
	require.Zero(t, unknown.Handle(context.Background(), r).(*kmsg.UpdateFeaturesResponse).ErrorCode)
	require.Equal(t, v13, unknown.version())
	r.ValidateOnly, r.FeatureUpdates = false, append(r.FeatureUpdates, one)
	require.EqualValues(t, 42, unknown.Handle(context.Background(), r).(*kmsg.UpdateFeaturesResponse).ErrorCode)
	require.Equal(t, v13, unknown.version())
	// Version 0 has downgrades by another field.
	r.Version, r.FeatureUpdates = 0, r.FeatureUpdates[:1]
	r.FeatureUpdates[0].MaxVersionLevel, r.FeatureUpdates[0].UpgradeType = 10, 0
	require.EqualValues(t, 95, unknown.Handle(context.Background(), r).(*kmsg.UpdateFeaturesResponse).ErrorCode)
	r.FeatureUpdates[0].AllowDowngrade = true
	require.Zero(t, unknown.Handle(context.Background(), r).(*kmsg.UpdateFeaturesResponse).ErrorCode)
	require.EqualValues(t, 10, unknown.version())
}
