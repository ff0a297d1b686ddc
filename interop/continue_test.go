//go:build interop

package interop

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestContinueKafka: a directory that kafka-storage formatted and a Kafka controller
// filled is opened and continued by kraftd, and then by Kafka again, and so on. Each is
// killed, or stopped, in turn.
func TestContinueKafka(t *testing.T) {
	m := cluster(t, 1)[0]
	m.formatKafka(t, "interop-continue-kafka")
	m.startKafka(t)
	continued(t, m)
}

// TestContinueKraftd is the same of a directory that kraftd formatted and filled.
func TestContinueKraftd(t *testing.T) {
	m := cluster(t, 1)[0]
	m.formatKraftd(t, "interop-continue-kraftd")
	m.startKraftd(t)
	continued(t, m)
}

// continued has a node that runs fill its log, and the others go on with it, in turn.
func continued(t *testing.T, m *member) {
	all := []*member{m}
	var before []byte // the log so far
	for i := range 4 {
		_, s := awaitLeader(t, all)
		m.setConfigs(t, 10+i) // they differ from those before
		_, after := awaitLeader(t, all)
		require.Equal(t, s.epoch, after.epoch)
		require.Greater(t, after.highWatermark, s.highWatermark)
		now := bytesBelow(t, m, after.highWatermark)
		require.Greater(t, len(now), len(before))
		require.True(t, bytes.Equal(before, now[:len(before)]), "%s has changed what was committed", m.kind())
		before = now
		t.Logf("%s led epoch %d up to offset %d", m.kind(), s.epoch, after.highWatermark)
		if i == 3 {
			m.process.stop(t)
			return
		}
		if i == 1 {
			m.process.kill()
		} else {
			m.process.stop(t)
		}
		if m.java {
			m.startKraftd(t)
		} else {
			m.startKafka(t)
		}
	}
}

// bytesBelow is the log below an offset.
func bytesBelow(t *testing.T, m *member, end int64) (b []byte) {
	for _, batch := range batchesOf(t, m.dir) {
		if batch.Base < end {
			b = append(b, batch.Bytes...)
		}
	}
	return b
}
