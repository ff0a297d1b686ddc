package metadata

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
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
	f.Add(AppendClusterID(AppendFrame(nil, 1, 1), "c")[3:])
	f.Add(AppendBeginTransaction(nil, "b"))
	f.Add(AppendAbortTransaction(nil, "c"))
	f.Add(AppendEndTransaction(nil))
	f.Add(ScramCredential{"a", ScramSHA256, []byte("s"), []byte("k"), []byte("v"), 4096}.Append(nil))
	f.Add([]byte("\x01\x00\x03\x00\x00\x00\x04\x00incarnation---!\x00\x00\x00\x00\x00\x00\x00\x05\x02\x02p\x02h\x23\x84\x00\x00\x00\x02\x02v\x00\x07\x00\x21\x00\x00\x01\x00\x00"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if _, _, err := BrokerFeatures(b); err != nil {
			require.ErrorIs(t, err, ErrRecord)
		}
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
		if r.Scram != nil {
			again, err := Decode(r.Scram.Append(nil))
			require.NoError(t, err)
			require.Equal(t, r.Scram, again.Scram)
		}
	})
}

// The bytes are those of Kafka 4.4.0: of a log that its controller began, and of a zero
// checkpoint that kafka-storage format --add-scram wrote. That of ClusterIdRecord is as
// KIP-1262 describes it.
func TestBootstrapRecords(t *testing.T) {
	alice := ScramCredential{Name: "alice", Mechanism: ScramSHA256, Salt: []byte("1lv4pdnw4fwq7notcxm0ycve2"), Iterations: 8192,
		StoredKey: unhex(t, "5d322aa071e8decb1c758c7270bd3bba1f2eb661e7f5f5ed8eac8317aec28d25"),
		ServerKey: unhex(t, "65ae77476c8434848dedf1cbed6531ae216457b71f6eb3b7f82b44a6d31b4cf1")}
	for _, of := range []struct {
		have, hex, text string
	}{
		{string(AppendBeginTransaction(nil, "Bootstrap records")), "011700010012" + "12426f6f747374726170207265636f726473",
			`{"type":"BEGIN_TRANSACTION_RECORD","version":0,"data":{"name":"Bootstrap records"}}`},
		{string(AppendBeginTransaction(nil, "")), "01170000", `{"type":"BEGIN_TRANSACTION_RECORD","version":0,"data":{}}`},
		{string(AppendEndTransaction(nil)), "01180000", `{"type":"END_TRANSACTION_RECORD","version":0,"data":{}}`},
		{string(AppendAbortTransaction(nil, "x")), "0119000100020278", `{"type":"ABORT_TRANSACTION_RECORD","version":0,"data":{"reason":"x"}}`},
		{string(AppendFeatureLevel(nil, "group.version", 1)), "010c000e67726f75702e76657273696f6e000100",
			`{"type":"FEATURE_LEVEL_RECORD","version":0,"data":{"name":"group.version","featureLevel":1}}`},
		{string(AppendClusterID(nil, "my cluster")), "011e000b6d7920636c757374657200", `{"type":"CLUSTER_ID_RECORD","version":0,"data":{"clusterId":"my cluster"}}`},
		{string(alice.Append(nil)), "010b0006616c696365011a316c763470646e773466777137" + "6e6f7463786d307963766532" +
			"215d322aa071e8decb1c758c7270bd3bba1f2eb661e7f5f5ed8eac8317aec28d25" +
			"2165ae77476c8434848dedf1cbed6531ae216457b71f6eb3b7f82b44a6d31b4cf1" + "0000200000",
			`{"type":"USER_SCRAM_CREDENTIAL_RECORD","version":0,"data":{"name":"alice","mechanism":1,"salt":"MWx2NHBkbnc0ZndxN25vdGN4bTB5Y3ZlMg==",` +
				`"storedKey":"XTIqoHHo3sscdYxycL07uh8utmHn9fXtjqyDF67CjSU=","serverKey":"Za53R2yENISN7fHL7WUxriFkV7cfbrO3+CtEptMbTPE=","iterations":8192}}`},
	} {
		require.Equal(t, of.hex, hex.EncodeToString([]byte(of.have)))
		r, err := Decode([]byte(of.have))
		require.NoError(t, err)
		require.Equal(t, of.text, r.String())
		for n := range of.have {
			_, err := Decode([]byte(of.have[:n]))
			require.ErrorIs(t, err, ErrRecord, "%x", of.have[:n])
		}
		_, err = Decode([]byte(of.have + "\x00"))
		require.ErrorIs(t, err, ErrRecord)
	}
	// What Kafka was given to make it of.
	salted, err := base64.StdEncoding.DecodeString("mT0yyUUxnlJaC99HXgRTSYlbuqa4FSGtJCJfTMvjYCE=")
	require.NoError(t, err)
	require.Equal(t, alice, ScramSHA256.Credential("alice", alice.Salt, salted, 8192))
	for bad, says := range map[string]string{
		"\x01\x1e\x00\x01\x00":                  "empty cluster id",
		"\x01\x17\x00\x01\x00\x02\x09a":         "bad tagged field 0",
		"\x01\x17\x00\x01\x00\x09\x02":          "bad tagged fields",
		"\x01\x0b\x00\x02a\x01\x00":             "bytes are null",
		"\x01\x0b\x00\x02a\x01\x09abc":          "8 bytes, of which 3 are there",
		"\x01\x0c\x00\x02a\x00\x01\x01\x01\x05": "bad tagged fields",
	} {
		_, err := Decode([]byte(bad))
		require.ErrorIs(t, err, ErrRecord)
		require.ErrorContains(t, err, says)
	}
}

// TestScramPassword: a password that Kafka 4.4.0 salted, with the salt that it drew.
func TestScramPassword(t *testing.T) {
	salt := []byte("14r6vm6a2vu8e7uk3u926jaztl")
	salted, err := ScramSHA512.SaltPassword("pw", salt, 4096)
	require.NoError(t, err)
	c := ScramSHA512.Credential("bob", salt, salted, 4096)
	require.Equal(t, "07ccb0b3ef821659b80a964d224ad20b80595ef2581d065d18e28f3c040d2cd0c1ffdd9e54160d970de437df8fb3787209a079bd64bc24616509a3db208da3ad",
		hex.EncodeToString(c.StoredKey))
	require.Equal(t, "62c8eec22f7b70d7006bf9a56dfb671b22ebc2e84447c3ae88ae03a99bcbdd817e6faa37e042ed8f4321831690ed727f4aab72b114c58e8826d9345cee947941",
		hex.EncodeToString(c.ServerKey))
	require.NotContains(t, fmt.Sprintf("%v %+v", c, c), "7", "messages do not tell keys")
}

func unhex(t *testing.T, s string) []byte {
	b, err := hex.DecodeString(s)
	require.NoError(t, err)
	return b
}

// TestVersions: names and levels are those of kafka-storage version-mapping.
func TestVersions(t *testing.T) {
	for name, level := range map[string]Version{
		"3.3-IV3": 7, "3.4-IV0": 8, "3.4": 8, "3.5-IV2": 11, "3.5": 11, "3.6": 14, "3.7": 19, "3.8": 20, "3.9": 21, "3.9.1": 21, "4.0-IV0": 22, "4.0": 25,
		"4.1": 27, "4.2": 29, "4.3": 30, "4.3-IV0": 30, "4.4-IV1": 32, "4.4": 33, "4.4-IV2": 33, "4.5-IV0": 34, "4.5-IV1": 35,
	} {
		v, err := ParseVersion(name)
		require.NoError(t, err)
		require.Equal(t, level, v, name)
	}
	for v := MinVersion; v <= MaxVersion; v++ {
		again, err := ParseVersion(v.String())
		require.NoError(t, err)
		require.Equal(t, v, again)
	}
	for _, bad := range []string{"", "3.3-IV2", "3.2", "4.5", "4.5-IV2", "4.4-IV3", "4", "4.4.x", "4.4.", "9.9"} {
		_, err := ParseVersion(bad)
		require.ErrorContains(t, err, "want one of 3.3-IV3, 3.4-IV0", bad)
	}
	require.Equal(t, "level 6", (MinVersion - 1).String())
	require.Equal(t, "level 36", (MaxVersion + 1).String())
	require.False(t, (MinVersion-1).Known() || (MaxVersion+1).Known())
}
