package properties

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

// What java.util.Properties.load (OpenJDK 17) makes of the texts.
func TestAsJava(t *testing.T) {
	for text, want := range map[string][]Entry{
		"":                              nil,
		"# c\n! c\n \t\f\n\r\n":         nil,
		"a=b":                           {{"a", "b", 1}},
		"a = b ":                        {{"a", "b ", 1}},
		"a:b\r\nc d\rE":                 {{"a", "b", 1}, {"c", "d", 2}, {"E", "", 3}},
		"a  :  = b":                     {{"a", "= b", 1}},
		"a==b":                          {{"a", "=b", 1}},
		`a\=b\:c\ d=e`:                  {{"a=b:c d", "e", 1}},
		"a=b\\\n   c\\\r\n\td\ne=f":     {{"a", "bcd", 1}, {"e", "f", 4}},
		"a=b\\\\\nc=d":                  {{"a", `b\`, 1}, {"c", "d", 2}},
		"a=b\\\n# no comment":           {{"a", "b# no comment", 1}},
		"a=b\\\n\nc=d":                  {{"a", "b", 1}, {"c", "d", 3}},
		"\\\n\n#c\na":                   {{"a", "", 4}},
		"# c \\\na=b":                   {{"a", "b", 2}},
		`a=\t\n\r\f\q\\\"\u0041\u00e9`:  {{"a", "\t\n\r\fq\\\"A\u00e9", 1}},
		`a=\ud83d\ude00`:                {{"a", "\U0001F600", 1}},
		"a=\U0001F600\\\U0001F600":      {{"a", "\U0001F600\U0001F600", 1}},
		`a=b\`:                          {{"a", "b", 1}},
		"a=b\n\\\n":                     {{"a", "b", 1}},
		"a=b\n\\\n ":                    {{"a", "b", 1}},
		"\\\n#c\na=b":                   {{"a", "b", 3}},
		"=b":                            {{"", "b", 1}},
		"a=1\na=2":                      {{"a", "1", 1}, {"a", "2", 2}},
		"  log.dirs = /a, \\\n    /b\n": {{"log.dirs", "/a, /b", 1}},
	} {
		have, err := Parse([]byte(text))
		require.NoError(t, err, "%q", text)
		require.Equal(t, want, have, "%q", text)
	}
}

func TestRefused(t *testing.T) {
	for text, reason := range map[string]string{
		"a=b\n\nc=\\u12":     `line 3: "\\u12" is not a \u with four hexadecimal digits`,
		`\u00g0=b`:           `line 1: "\\u00g0" is not`,
		`a=\u+123`:           `line 1: "\\u+123" is not`,
		`a=\u`:               `line 1: "\\u" is not`,
		"a=b\nc=\xff":        "line 2: is not UTF-8",
		"a=b\\\n  c\nd=\xc3": "line 3: is not UTF-8",
	} {
		_, err := Parse([]byte(text))
		require.ErrorContains(t, err, reason, "%q", text)
	}
}

func TestAppend(t *testing.T) {
	entries := []Entry{{Key: "z y", Value: " a b"}, {Key: "a=:#!", Value: "x\\y\nz=1#2!:"}}
	require.Equal(t, "a\\=\\:\\#\\!=x\\\\y\\nz\\=1\\#2\\!\\:\nz\\ y=\\ a b\n", string(Append(nil, entries)))
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"a=b", "a = b\\\n  c\nd:e", `\u0041\t=\ud83d\ude00`, "# c\n!d\n\f=\n", "a=\\", "=", "a\\\r\nb c"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		entries, err := Parse(b)
		if err != nil {
			return
		}
		lines := 1 + strings.Count(string(b), "\n") + strings.Count(string(b), "\r")
		last := 0
		for _, e := range entries {
			require.True(t, e.Line > last && e.Line <= lines)
			require.True(t, utf8.ValidString(e.Key+e.Value))
			last = e.Line
			again, err := Parse(Append(nil, []Entry{e}))
			require.NoError(t, err)
			require.Equal(t, []Entry{{e.Key, e.Value, 1}}, again)
		}
	})
}
