package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLiveByName asks single live models, and liveness bugs, of the specification and of
// the concerns.
func TestLiveByName(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		says []string
	}{
		{"live -model live-kafkasql-t", exitHolds, []string{"live-kafkasql-t: holds", "CheckpointCompletes", "RecoveryEnds"}},
		{"live -model live-kafkasql-t,live-cluster-id-wrong", exitHolds, []string{"live-kafkasql-t", "live-cluster-id-wrong", "StrangerEnds"}},
		{"live -mutate damaged-counts-as-recent", exitViolated, []string{
			"damaged-counts-as-recent: a commit counts as recent", "The only image is damaged", "with mutation damaged-counts-as-recent", "CheckpointCompletes", "DamageObject(image 1",
		}},
		{"live -mutate no-deadline", exitViolated, []string{"UnknownEnds", "StrangerEnds"}}, // in both models that are meant for it
		{"live -mutate no-deadline -model live-cluster-id-wrong -format json", exitViolated, []string{`{"model":"live-cluster-id-wrong","module":"clusterid","mutation":"no-deadline"`}},
		{"live -mutate wall-clock -model live-kafkasql-t", exitHolds, []string{"wall-clock: rows have the time", "CheckpointCompletes"}},
		{"live -mutate wall-clock", exitUsage, []string{"wall-clock is a bug that safety catches; say in which live model"}},
		{"live -mutate no-deadline -model live-kafkasql-t", exitUsage, []string{"no-deadline is a mutation of clusterid, and the live model live-kafkasql-t is of kafkasql"}},
		{"live -mutate no-deadlin", exitUsage, []string{`unknown mutation "no-deadlin", did you mean "no-deadline"`}},
		{"live -model live-kafkasql", exitUsage, []string{`unknown live model "live-kafkasql", did you mean "live-kafkasql-t"`}},
		{"live -help", exitHolds, []string{"live-kafkasql-writer", "live-bootstrap", "damaged-counts-as-recent", "etcd-8243"}},
		{"__complete live -model live-c", exitHolds, []string{"live-cluster-id-booting\tthe same of a cluster"}},
		{"__complete live -mutate mov", exitHolds, []string{"moving-target\tready is whoever"}},
		{"check -mutate moving-target", exitUsage, []string{"moving-target breaks what comes about in the end, which is judged by: quorate live -mutate moving-target"}},
		{"check -mutate moving-target -model kafkasql-t-endless", exitHolds, []string{"kafkasql-t-endless"}}, // no safety property sees it
		{"bugs show moving-target", exitHolds, []string{"Source: M17", "Others write all the time", "RecoveryEnds"}},
	} {
		code, stdout, stderr := quorate(strings.Fields(c.args)...)
		assert.Equal(t, c.code, code, "%s\n%s%s", c.args, stdout, stderr)
		for _, s := range c.says {
			assert.Contains(t, stdout+stderr, s, c.args)
		}
		if c.code == exitUsage {
			assert.Empty(t, stdout, c.args)
		}
	}
}

// TestLiveDrawn draws the lasso of a concern.
func TestLiveDrawn(t *testing.T) {
	for format, says := range map[string]string{"html": "<html", "svg": "<svg"} {
		file := filepath.Join(t.TempDir(), "bug")
		code, stdout, stderr := quorate("live", "-mutate", "moving-target", "-format", format, "-o", file)
		require.Equal(t, exitViolated, code, stdout+stderr)
		drawn, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.Contains(t, string(drawn), says, format)
		assert.Contains(t, string(drawn), "Apply", format)
	}
}

// TestLiveMutationsAreKnown: what a live model of a concern catches is a mutation of it.
func TestLiveMutationsAreKnown(t *testing.T) {
	for _, mu := range liveMutations() {
		assert.NotEmpty(t, mu.title, mu.id)
		assert.NotEmpty(t, mu.story, mu.id)
		assert.NotEmpty(t, mu.models, mu.id)
	}
}
