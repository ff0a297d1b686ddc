package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSizes(t *testing.T) {
	for text, want := range map[string]uint64{
		"4096": 4 << 10, "64K": 64 << 10, "64k": 64 << 10, "500M": 500 << 20, "4G": 4 << 30, "1T": 1 << 40, "1000": 1000,
	} {
		var s size
		require.NoError(t, s.Set(text), text)
		assert.EqualValues(t, want, s, text)
		var again size
		require.NoError(t, again.Set(s.String()))
		assert.Equal(t, s, again)
	}
	for _, text := range []string{"", "0", "G", "4GB", "-1", "1.5G", "99999999999999T", "4 G", "0K"} {
		var s size
		assert.Error(t, s.Set(text), text)
	}
}

func TestStoreFlags(t *testing.T) {
	assert.Error(t, (&storeFlags{parents: "tape"}).check())
	assert.Error(t, (&storeFlags{parents: "memory", mem: 1}).check())
	assert.Error(t, (&storeFlags{every: -1}).check())
	assert.NoError(t, (&storeFlags{parents: "disk", mem: 1}).check())
}
