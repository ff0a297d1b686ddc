package traces

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/traces/event"
)

// TestPicture: the picture of a rejection ends with the event that cannot be, has an arrow
// for each message of its past that is both sent and handled there, and the field that
// differs.
func TestPicture(t *testing.T) {
	arrows := 0
	for seed := range uint64(10) {
		all := read(t, generate(seed, three, 300, false))
		var e *event.Event
		for i := len(all[1]) / 2; e == nil; i++ {
			if all[1][i].Recv != nil {
				e = &all[1][i]
			}
		}
		e.State.HighWatermark += 1000
		res, err := Validate(write(all), Options{Run: three})
		require.NoError(t, err)
		require.Equal(t, Rejected, res.Verdict)
		b := res.Rejection.Behaviour("run")
		last := b.Trace[len(b.Trace)-1]
		require.Equal(t, "node 7", b.Processes[last.Process])
		require.Contains(t, last.Step, fmt.Sprintf("%s node:%d", e.Action, res.Rejection.Line))
		require.Contains(t, strings.Join(b.Verdict, "\n"), "state.hw")
		sent := map[string]bool{}
		for _, s := range b.Trace {
			if sent[s.Message] {
				arrows++
			}
			for _, m := range s.Sends {
				sent[m.Message] = true
			}
		}
		var svg, itf bytes.Buffer
		require.NoError(t, b.WriteSVG(&svg))
		require.Contains(t, svg.String(), "</svg>")
		require.NoError(t, b.WriteITF(&itf))
		require.Contains(t, itf.String(), `"format": "ITF"`)
	}
	require.Greater(t, arrows, 10)
}
