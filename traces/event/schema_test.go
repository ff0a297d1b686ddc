package event

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// validate holds a value, decoded with UseNumber, against the part of JSON
// Schema that schema.json uses. A keyword that it does not know is an error, so
// that the schema cannot say something that is not tested.
func validate(root, schema map[string]any, v any, at string) error {
	for word, arg := range schema {
		if err := keyword(root, schema, word, arg, v, at); err != nil {
			return err
		}
	}
	return nil
}

func keyword(root, schema map[string]any, word string, arg, v any, at string) error {
	fail := func() error { return fmt.Errorf("%s: %v is against %s %v", at, v, word, arg) }
	object, isObject := v.(map[string]any)
	array, isArray := v.([]any)
	switch word {
	case "$schema", "$id", "$defs", "title", "description", "then", "else":
	case "$ref":
		name := strings.TrimPrefix(arg.(string), "#/$defs/")
		return validate(root, root["$defs"].(map[string]any)[name].(map[string]any), v, at)
	case "type":
		ok := false
		switch arg {
		case "object":
			ok = isObject
		case "array":
			ok = isArray
		case "string":
			_, ok = v.(string)
		case "boolean":
			_, ok = v.(bool)
		case "integer":
			_, ok = integer(v)
		}
		if !ok {
			return fail()
		}
	case "const":
		if !reflect.DeepEqual(arg, v) {
			return fail()
		}
	case "enum":
		if !slices.Contains(arg.([]any), v) {
			return fail()
		}
	case "minimum", "maximum":
		n, ok := integer(v)
		bound, _ := integer(arg)
		if ok && (word == "minimum" && n.Cmp(bound) < 0 || word == "maximum" && n.Cmp(bound) > 0) {
			return fail()
		}
	case "pattern":
		if s, ok := v.(string); ok && !regexp.MustCompile(arg.(string)).MatchString(s) {
			return fail()
		}
	case "required":
		for _, name := range arg.([]any) {
			if _, ok := object[name.(string)]; isObject && !ok {
				return fail()
			}
		}
	case "additionalProperties":
		for name := range object {
			if _, ok := schema["properties"].(map[string]any)[name]; !ok {
				return fmt.Errorf("%s.%s: not in the schema", at, name)
			}
		}
	case "properties":
		for name, sub := range arg.(map[string]any) {
			if x, ok := object[name]; ok {
				if err := validate(root, sub.(map[string]any), x, at+"."+name); err != nil {
					return err
				}
			}
		}
	case "items", "prefixItems":
		for i, x := range array {
			sub, ok := arg.(map[string]any)
			if list, isList := arg.([]any); isList && i < len(list) {
				sub, ok = list[i].(map[string]any), true
			}
			if ok {
				if err := validate(root, sub, x, fmt.Sprintf("%s[%d]", at, i)); err != nil {
					return err
				}
			}
		}
	case "minItems", "maxItems":
		n, _ := integer(arg)
		if c := big.NewInt(int64(len(array))).Cmp(n); isArray && (word == "minItems" && c < 0 || word == "maxItems" && c > 0) {
			return fail()
		}
	case "allOf":
		for _, sub := range arg.([]any) {
			if err := validate(root, sub.(map[string]any), v, at); err != nil {
				return err
			}
		}
	case "if":
		if validate(root, arg.(map[string]any), v, at) == nil {
			return validate(root, schema["then"].(map[string]any), v, at)
		}
		if other, ok := schema["else"].(map[string]any); ok {
			return validate(root, other, v, at)
		}
	default:
		return fmt.Errorf("the schema uses the keyword %q, which this test does not know", word)
	}
	return nil
}

func integer(v any) (*big.Int, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return nil, false
	}
	return new(big.Int).SetString(n.String(), 10)
}

func parse(t testing.TB, b []byte) map[string]any {
	t.Helper()
	var v map[string]any
	require.NoError(t, generic(b, &v))
	return v
}

// generic decodes with encoding/json, keeping numbers exact.
func generic(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err == nil {
		return fmt.Errorf("more than one value")
	}
	return nil
}

// schema is parsed once: that takes longer than to hold a line to it.
var schema = sync.OnceValues(func() (root map[string]any, err error) {
	return root, generic(Schema, &root)
})

func againstSchema(t testing.TB, line []byte) error {
	var v any
	if err := generic(line, &v); err != nil {
		return err
	}
	root, err := schema()
	require.NoError(t, err)
	return validate(root, root, v, "event")
}

// Every field must be described, or the README is no documentation.
func TestSchemaDescribesEveryField(t *testing.T) {
	n := 0
	var walk func(at string, schema map[string]any)
	walk = func(at string, schema map[string]any) {
		for _, group := range []string{"properties", "$defs"} {
			fields, _ := schema[group].(map[string]any)
			for name, sub := range fields {
				n++
				sub := sub.(map[string]any)
				require.NotEmpty(t, sub["description"], "%s.%s has no description", at, name)
				walk(at+"."+name, sub)
			}
		}
	}
	walk("event", parse(t, Schema))
	require.Greater(t, n, 50)
}

// The README shows the schema; a copy that has aged is worse than none.
func TestREADMEHoldsTheSchema(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(readme), "<!-- schema: event/schema.json -->\n```json\n")
	require.True(t, ok)
	shown, _, ok := strings.Cut(rest, "```\n<!-- end of schema -->")
	require.True(t, ok)
	require.Equal(t, string(Schema), shown)
}

// Schema and decoder must agree on every line that one fault makes of a good one.
func TestSchemaAgreesWithDecoder(t *testing.T) {
	r := newRand(1)
	rounds := 300
	if testing.Short() {
		rounds = 60
	}
	accepted, refused := 0, 0
	for range rounds {
		e := randomEvent(r)
		line := AppendJSON(nil, &e)
		require.NoError(t, againstSchema(t, line), "%s", line)
		for range 20 {
			v := parse(t, line)
			damage(r, v)
			hurt, err := json.Marshal(v)
			require.NoError(t, err)
			var got Event
			decoded, valid := Decode(hurt, &got), againstSchema(t, hurt)
			require.Equal(t, valid == nil, decoded == nil, "%s\ndecoder: %v\nschema: %v", hurt, decoded, valid)
			if valid == nil {
				accepted++
			} else {
				refused++
			}
		}
	}
	require.Greater(t, accepted, 2*rounds)
	require.Greater(t, refused, 4*rounds)
}

// The example in the README is an event.
func TestREADMEExample(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	_, rest, ok := strings.Cut(string(readme), "\n## An event\n")
	require.True(t, ok)
	_, rest, ok = strings.Cut(rest, "```json\n")
	require.True(t, ok)
	example, _, ok := strings.Cut(rest, "```")
	require.True(t, ok)
	var e Event
	require.NoError(t, Decode([]byte(example), &e))
	require.NoError(t, againstSchema(t, []byte(example)))
}
