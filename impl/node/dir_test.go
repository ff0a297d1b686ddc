package node

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/quorate/quorate/impl/fs"
	"github.com/quorate/quorate/impl/log"
	"github.com/quorate/quorate/traces/event"
	"github.com/stretchr/testify/require"
)

func TestNextIncarnation(t *testing.T) {
	for _, c := range []struct {
		file  string // "-": none
		least int32
		log   bool
		want  int32
		says  string
	}{
		{"-", 0, false, 1, ""},
		{"-", 7, false, 8, ""}, // what the trace says
		{"-", 7, true, 8, ""},
		{"-", 0, true, 0, "missing beside a log"},
		{"0\n", 0, true, 1, ""},
		{"3\n", 0, true, 4, ""},
		{"3", 7, true, 8, ""},
		{"7", 3, true, 8, ""},
		{"7", 7, true, 8, ""},
		{"2147483646", 0, true, 1<<31 - 1, ""},
		{"2147483647", 0, true, 0, "run out"},
		{"1", 1<<31 - 1, true, 0, "run out"},
		{"2147483648", 0, true, 0, "not an incarnation"},
		{"-1", 0, true, 0, "not an incarnation"},
		{"", 0, true, 0, "not an incarnation"},
	} {
		d := fs.NewDouble()
		require.NoError(t, d.Mkdir("d"))
		if c.file != "-" {
			require.NoError(t, fs.WriteFile(d, "d/"+incarnationFile, []byte(c.file)))
		}
		require.NoError(t, d.Mkdir("d/"+logDir))
		require.NoError(t, fs.WriteFile(d, "d/"+logDir+"/00000000000000000000.log", nil))
		if c.log { // else it is Kafka's
			require.NoError(t, fs.WriteFile(d, "d/"+logDir+"/"+log.PointFile, nil))
		}
		for range 2 { // and no refusal makes it good
			have, err := nextIncarnation(d, "d", c.least)
			if c.says != "" {
				require.ErrorContains(t, err, c.says, "%+v", c)
				require.ErrorContains(t, err, "d/"+incarnationFile)
				continue
			}
			require.NoError(t, err, "%+v", c)
			require.Equal(t, c.want, have, "%+v", c)
			break
		}
	}
}

// A replica never takes a number again that its trace, or its directory, has seen.
func TestIncarnationAndTrace(t *testing.T) {
	c := newCluster(t, 1, true, nil)
	c.append("a")
	c.kill(0)
	cfg := c.config(0)
	file := filepath.Join(cfg.Dir, incarnationFile)
	write := func(text string) { require.NoError(t, os.WriteFile(file, []byte(text), 0o644)) }
	restart := func(want int32) {
		c.start(0)
		require.Equal(t, want, c.nodes[0].State().Incarnation)
		c.append("b")
		c.kill(0)
	}
	refused := func(says string) {
		_, err := Start(cfg)
		require.ErrorContains(t, err, says)
	}
	write("9")
	restart(10)
	write("4") // an older copy
	restart(11)
	require.NoError(t, os.Remove(file))
	restart(12) // the trace knows
	events := readTrace(t, cfg.Trace)
	require.Equal(t, int32(12), events[len(events)-1].Inc)

	// A trace that ends in a torn line has the number of an event before it.
	f, err := os.OpenFile(cfg.Trace, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	line := event.AppendJSON(nil, &events[len(events)-1])
	_, err = f.Write(line[:len(line)/2])
	require.NoError(t, err)
	require.NoError(t, f.Close())
	text, err := os.ReadFile(cfg.Trace)
	require.NoError(t, err)
	for _, last := range []string{"4", "11"} { // 5, 12
		write(last)
		require.NoError(t, os.WriteFile(cfg.Trace, text, 0o644))
		refused("is of incarnation 12, and this is incarnation ")
	}
	require.NoError(t, os.WriteFile(cfg.Trace, text, 0o644))
	require.NoError(t, os.Remove(file))
	refused("missing beside a log")
	write("12")
	restart(13)

	require.NoError(t, os.Remove(file))
	require.NoError(t, os.Remove(cfg.Trace))
	refused("missing beside a log")
	refused("missing beside a log")
}
