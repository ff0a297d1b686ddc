package registry_test

import (
	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
)

func expandBytes(t tester, b []byte) []byte {
	z, err := zstd.NewReader(nil)
	require.NoError(t, err)
	defer z.Close()
	out, err := z.DecodeAll(b, nil)
	require.NoError(t, err)
	return out
}

func compressBytes(t tester, b []byte) []byte {
	z, err := zstd.NewWriter(nil)
	require.NoError(t, err)
	return z.EncodeAll(b, nil)
}
