package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Names of bugs and of live models are found, in whatever case, or the nearest is said.
func TestNamesOfBugsAndLiveModels(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		says []string
	}{
		{"bugs show wall-clok", exitUsage, []string{`unknown bug "wall-clok", did you mean "wall-clock"?`}},
		{"bugs show qqqqqqqqqq", exitUsage, []string{"unknown bug \"qqqqqqqqqq\"; `quorate bugs -list` lists them"}},
		{"bugs show NO-Truncation", exitHolds, []string{"no-truncation: a follower"}},
		{"bugs -list", exitHolds, []string{"KAFKA-12619", "wall-clock", "moving-target", "clusterid"}},
		{"bugs -list -module kafkaqsl", exitUsage, []string{`did you mean "kafkasql"`}},
		{"models", exitHolds, []string{"Live models", "live-kafkasql-t"}},
		{"models live-kafkasql-t", exitHolds, []string{"live-kafkasql-t: ", "quorate live -model live-kafkasql-t", "catches"}},
		{"why -help", exitHolds, []string{"Only models of the module election"}},
	} {
		code, stdout, stderr := quorate(strings.Fields(c.args)...)
		assert.Equal(t, c.code, code, "%s\n%s%s", c.args, stdout, stderr)
		for _, s := range c.says {
			assert.Contains(t, stdout+stderr, s, c.args)
		}
	}
}
