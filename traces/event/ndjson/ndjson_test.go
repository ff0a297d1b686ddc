package ndjson

import (
	"encoding/json"
	"math"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAppendInt(t *testing.T) {
	for _, v := range []int64{0, 1, 9, 10, 99, 100, 999_999_999, 1_000_000_000, math.MaxInt64, -1, math.MinInt64} {
		require.Equal(t, `"n":`+strconv.FormatInt(v, 10), string(AppendInt(nil, `"n":`, v)))
		var s Scanner
		s.Reset(append(strconv.AppendInt(nil, v, 10), '}'))
		require.Equal(t, v, s.Int(math.MinInt64, math.MaxInt64))
		require.NoError(t, s.Err())
	}
}

func TestAppendHex(t *testing.T) {
	require.Equal(t, `"0123456789abcdef"`, string(AppendHex(nil, 0x0123456789abcdef)))
}

// Strings must be what encoding/json writes and reads, in both directions.
func FuzzText(f *testing.F) {
	for _, text := range []string{"", "plain", "a\"b\\c", "\x00\x1f\x7f", "é漢😀\u2028\ufffd", "\xff\xc3", "\\u0041", `\ud800\u0041`, `\ud83d\ude00`, "/\b\f\n\r\t"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		line := AppendText(nil, text)
		var want string
		require.NoError(t, json.Unmarshal(line, &want), "%q", line)
		var s Scanner
		s.Reset(line)
		got := string(s.Text())
		s.End()
		require.NoError(t, s.Err())
		require.Equal(t, want, got)
		theirs, err := json.Marshal(text)
		require.NoError(t, err)
		s.Reset(theirs)
		require.Equal(t, want, string(s.Text()))
		require.NoError(t, s.Err())

		// The text as the inside of a string: what is accepted is what
		// encoding/json makes of it.
		line = append(append([]byte{'"'}, text...), '"')
		s.Reset(line)
		got = string(s.Text())
		s.End()
		if s.Err() == nil {
			require.NoError(t, json.Unmarshal(line, &want), "%q", line)
			require.Equal(t, want, got)
		}
	})
}
