package scenarios

import (
	"testing"

	"github.com/stretchr/testify/require"
)

var _ = add(2, "broker: meta.properties V1 in each directory, and nothing else", func(t *testing.T) {
	p := newPlace(t, broker...)
	p.formatted("-t", "X")
	require.ElementsMatch(t, []string{"d0/meta.properties", "d1/meta.properties"}, p.names())
	for i := range 2 {
		m := p.meta(i)
		require.Equal(t, 1, m.Version)
		require.Equal(t, "X", m.ClusterID)
		require.EqualValues(t, 4, m.NodeID)
	}
	require.NotEqual(t, p.meta(0).Directory, p.meta(1).Directory)
})
