package state

import (
	"context"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever a record is, it is applied or named as unknown.
func FuzzDecodeOp(f *testing.F) {
	for _, op := range []Op{register("a", "x"), {Type: OpDeleteSubject, Subject: "a", Permanent: true}, {Type: OpSetConfig, Level: "FULL"}} {
		b, err := op.Encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"v":1,"type":"register","references":[{}]}`))
	d, err := Open(context.Background(), filepath.Join(f.TempDir(), "db"), 0)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { d.Close() })
	offset := int64(0)
	f.Fuzz(func(t *testing.T, b []byte) {
		offset++
		_, err := DecodeOp(b)
		if err != nil {
			require.ErrorIs(t, err, ErrUnknownOp)
		}
		_, applied := d.Apply(context.Background(), []Record{{Offset: offset, Value: b}})
		require.Equal(t, err == nil, applied == nil, "%v", applied)
	})
}
