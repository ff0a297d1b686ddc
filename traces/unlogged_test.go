package traces

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestUnlogged: what a recorder may leave out is of a fixed vocabulary.
func TestUnlogged(t *testing.T) {
	for _, c := range []struct {
		u    Unlogged
		want string
	}{
		{Unlogged{Actions: []string{"Flush"}, Hidden: 2, Fields: []string{"log", "durable", "records"}}, ""},
		{Unlogged{Hidden: -1}, "unlogged.hidden -1"},
		{Unlogged{Hidden: 17}, "unlogged.hidden 17: from 0 to 16"},
		{Unlogged{Actions: []string{"Flush"}}, "unlogged.actions without unlogged.hidden"},
		{Unlogged{Actions: []string{"Dance"}, Hidden: 1}, `unknown action "Dance"`},
		{Unlogged{Actions: []string{"Restart"}, Hidden: 1}, "Restart has to leave an event"},
		{Unlogged{Fields: []string{"send"}}, `unknown field "send"`},
	} {
		run := *single
		run.Unlogged = &c.u
		_, err := Validate(generate(1, single, 20, false), Options{Run: &run})
		if c.want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, c.want)
	}
}

// TestUnloggedFields: without what is not logged a run is still accepted, and refused if it
// is not said to be left out.
func TestUnloggedFields(t *testing.T) {
	said := *three
	said.Unlogged = &Unlogged{Actions: []string{"Flush"}, Hidden: 2, Fields: []string{"log", "durable"}}
	for seed := range uint64(5) {
		all := read(t, generate(seed, three, 400, true))
		for _, events := range all {
			for i := range events {
				events[i].Log, events[i].Durable = nil, nil
			}
		}
		strict, err := Validate(write(all), Options{Run: three})
		require.NoError(t, err)
		require.Equal(t, Rejected, strict.Verdict)
		res, err := Validate(write(all), Options{Run: &said})
		require.NoError(t, err)
		if res.Verdict != Accepted {
			t.Errorf("seed %d: %s", seed, res.Rejection.Text())
		}
	}
}
