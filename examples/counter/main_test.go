package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCounter(t *testing.T) {
	values, err := run(t.TempDir())
	require.NoError(t, err)
	require.Equal(t, []int64{55, 55, 55}, values)
}
