package controller

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// The bytes are those of the published layout: frame version, type and version as
// unsigned varints, then int8, compact strings (length+1 as a varint), no tagged fields.
func TestRecordLayout(t *testing.T) {
	long := string(make([]byte, 200))
	for _, of := range []struct {
		record ConfigRecord
		bytes  []byte
		text   string
	}{
		{
			ConfigRecord{2, "foo", "segment.ms", kmsg.StringPtr("7")},
			[]byte("\x01\x04\x00" + "\x02" + "\x04foo" + "\x0bsegment.ms" + "\x027" + "\x00"),
			`{"type":"CONFIG_RECORD","version":0,"data":{"resourceType":2,"resourceName":"foo","name":"segment.ms","value":"7"}}`,
		},
		{
			ConfigRecord{4, "", "x", nil},
			[]byte("\x01\x04\x00" + "\x04" + "\x01" + "\x02x" + "\x00" + "\x00"),
			`{"type":"CONFIG_RECORD","version":0,"data":{"resourceType":4,"resourceName":"","name":"x","value":null}}`,
		},
		{
			ConfigRecord{4, "1", "y", &long},
			[]byte("\x01\x04\x00" + "\x04" + "\x021" + "\x02y" + "\xc9\x01" + long + "\x00"),
			"",
		},
	} {
		require.Equal(t, of.bytes, of.record.Append(nil))
		r, err := Decode(of.bytes)
		require.NoError(t, err)
		require.Equal(t, of.record, *r.Config)
		if of.text != "" {
			require.Equal(t, of.text, r.String())
		}
		for n := range of.bytes {
			_, err := Decode(of.bytes[:n])
			require.ErrorIs(t, err, ErrRecord, "%d bytes", n)
		}
		_, err = Decode(append(of.bytes[:len(of.bytes):len(of.bytes)], 0))
		require.ErrorIs(t, err, ErrRecord)
	}
	// A tagged field of a later Kafka is skipped.
	r, err := Decode([]byte("\x01\x04\x00\x02\x02f\x02n\x02v\x01\x05\x03abc"))
	require.NoError(t, err)
	require.Equal(t, "v", *r.Config.Value)

	r, err = Decode([]byte("\x01\x0c\x00" + "\x11metadata.version" + "\x00\x19" + "\x00"))
	require.NoError(t, err)
	require.Equal(t, `{"type":"FEATURE_LEVEL_RECORD","version":0,"data":{"name":"metadata.version","featureLevel":25}}`, r.String())
	r, err = Decode([]byte("\x01\x1b\x00rest"))
	require.NoError(t, err)
	require.Equal(t, `{"type":"REGISTER_CONTROLLER_RECORD","version":0,"bytes":4}`, r.String())
	r, err = Decode([]byte("\x01\xe7\x07\x02"))
	require.NoError(t, err)
	require.Equal(t, `{"type":"type 999","version":2,"bytes":0}`, r.String())
	for bad, says := range map[string]string{
		"":                                       "bad varint",
		"\x00\x04\x00":                           "frame version 0, want 1",
		"\x01\x04\x00\x02\x00\x01":               "text is null",
		"\x01\x04\x00\x02\x05foo":                "text of 4 bytes, of which 3 are there",
		"\x01\x04\x00\x02\x02\xff\x02n\x02v\x00": "not UTF-8",
		"\x01\x04\x00\x02\x02f\x02n\x02v\x01\x05\x09": "bad tagged fields",
		"\x01\x04\x00\x02\xff\xff\xff\xff\xff\xff":    "bad varint",
	} {
		_, err := Decode([]byte(bad))
		require.ErrorIs(t, err, ErrRecord)
		require.ErrorContains(t, err, says)
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(ConfigRecord{2, "foo", "segment.ms", kmsg.StringPtr("7")}.Append(nil))
	f.Add(ConfigRecord{4, "", "x", nil}.Append(nil))
	f.Add([]byte("\x01\x0c\x00\x11metadata.version\x00\x19\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := Decode(b)
		if err != nil {
			require.ErrorIs(t, err, ErrRecord)
			return
		}
		require.NotEmpty(t, r.String())
		if r.Config != nil { // what is read is written so that it is read again
			again, err := Decode(r.Config.Append(nil))
			require.NoError(t, err)
			require.Equal(t, r.Config, again.Config)
		}
		var s state
		require.NoError(t, s.replay(b))
	})
}
