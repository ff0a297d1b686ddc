package checker

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// The Informal Trace Format of Apalache (its ADR 015) is JSON: variables by name in
// each state, and the state to which a lasso goes back. Fields of a description become
// variables by the part of their path before the first dot, as records of the rest.
// Messages in flight are a map from their text to the number of copies.

// itfMeta is what the format allows beside variables.
const itfMeta = "#meta"

// networkPart begins the paths of messages in flight.
const networkPart = "network"

// WriteITF writes the behaviour in the Informal Trace Format. Each state says in its
// metadata which step led to it.
func (d *Behaviour) WriteITF(w io.Writer) error {
	trace := d.Trace
	if d.Loop != nil && *d.Loop < len(trace)-1 && slices.Equal(trace[len(trace)-1].Fields, trace[*d.Loop].Fields) {
		trace = trace[:len(trace)-1] // it repeats the first of the loop
	}
	shapes := map[string]bool{} // whether a variable is a record
	var vars []string
	for _, s := range trace {
		for _, f := range s.Fields {
			part, _, record := strings.Cut(f.Path, ".")
			if _, known := shapes[part]; !known {
				vars = append(vars, part)
			}
			shapes[part] = shapes[part] || record
		}
	}
	if _, known := shapes[networkPart]; !known && hasMessages(trace) {
		vars, shapes[networkPart] = append(vars, networkPart), true
	}
	var states []any
	for i, s := range trace {
		state := map[string]any{itfMeta: itfStep(i, s)}
		for _, v := range vars {
			state[v] = itfVariable(v, s.Fields, shapes[v])
		}
		states = append(states, state)
	}
	meta := map[string]any{
		"format": "ITF", "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
		"source": "quorate", "description": d.Title,
	}
	if len(d.Verdict) > 0 {
		meta["verdict"] = d.Verdict
	}
	out := map[string]any{itfMeta: meta, "params": []string{}, "vars": vars, "states": states}
	if d.Loop != nil {
		out["loop"] = *d.Loop
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	return e.Encode(out)
}

func hasMessages(trace []TraceStep) bool {
	return slices.ContainsFunc(trace, func(s TraceStep) bool { return s.Message != "" || len(s.Sends) > 0 })
}

func itfStep(i int, s TraceStep) map[string]any {
	meta := map[string]any{"index": i, "step": s.Step}
	if s.Actor != "" {
		meta["actor"] = s.Actor
	}
	if s.Message != "" {
		meta["message"] = s.Message
	}
	return meta
}

// itfVariable is the value of a variable of a state.
func itfVariable(name string, fields []Field, record bool) any {
	if bag, ok := messagesOf(name, fields); ok {
		entries := [][]any{}
		for _, f := range bag {
			entries = append(entries, []any{f.Path, itfScalar(f.Value)})
		}
		return map[string]any{"#map": entries}
	}
	values := map[string]any{}
	for _, f := range fields {
		part, rest, _ := strings.Cut(f.Path, ".")
		switch {
		case part != name:
		case !record:
			return itfScalar(f.Value)
		default:
			values[rest] = itfScalar(f.Value)
		}
	}
	if !record {
		return map[string]any{"#unserializable": "absent"}
	}
	return values
}

// messagesOf reads the messages in flight of a state of a System, as their text and
// the number of copies; ok is false if the variable is something else.
func messagesOf(name string, fields []Field) (bag []Field, ok bool) {
	if name != networkPart {
		return nil, false
	}
	for _, f := range fields {
		part, text, _ := strings.Cut(f.Path, ".")
		if part != networkPart {
			continue
		}
		n := "1"
		if rest, many := strings.CutPrefix(f.Value, "in flight, "); many {
			n = strings.TrimSuffix(rest, " copies")
		} else if f.Value != "in flight" {
			return nil, false
		}
		bag = append(bag, Field{text, n})
	}
	return bag, true
}

// itfScalar is a value as ITF has it: numbers and truth values as such, whatever else
// as text.
func itfScalar(text string) any {
	switch text {
	case "true", "false":
		return text == "true"
	}
	if n, ok := new(big.Int).SetString(text, 10); ok && n.String() == text {
		return map[string]any{"#bigint": text}
	}
	return text
}

// ITF is a behaviour that was read: what it says of each state.
type ITF struct {
	// States have, for each, the values that it gives, by path and in order.
	States [][]Field
	// Network has, for each state that gives all messages in flight, what they are,
	// with the number of copies; nil for the others.
	Network [][]Field
	// Loop is the state that follows the last one, if any.
	Loop *int
}

// ReadITF reads a behaviour in the Informal Trace Format. Only the variables named are
// kept, or all if none is.
func ReadITF(r io.Reader, only ...string) (*ITF, error) {
	var file struct {
		Vars   []string                     `json:"vars"`
		States []map[string]json.RawMessage `json:"states"`
		Loop   *int                         `json:"loop"`
	}
	d := json.NewDecoder(r)
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf("ITF: %w", jsonError(err))
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("ITF: there is more after the end of the trace")
	}
	if len(file.States) == 0 {
		return nil, errors.New("ITF: no states")
	}
	if l := file.Loop; l != nil && (*l < 0 || *l >= len(file.States)) {
		return nil, fmt.Errorf("ITF: loop goes back to state %d; there are 0 to %d", *l, len(file.States)-1)
	}
	out := &ITF{Loop: file.Loop}
	for i, s := range file.States {
		if s == nil {
			return nil, fmt.Errorf("ITF: state %d is null", i)
		}
		var names []string
		for name := range s {
			if name != itfMeta {
				names = append(names, name)
			}
		}
		for _, name := range file.Vars {
			if _, ok := s[name]; !ok {
				return nil, fmt.Errorf("ITF: state %d says nothing of variable %q", i, name)
			}
		}
		slices.Sort(names)
		var fields, network []Field
		for _, name := range names {
			if len(only) > 0 && !slices.Contains(only, name) {
				continue
			}
			if err := readITFVariable(name, s[name], &fields, &network); err != nil {
				return nil, fmt.Errorf("ITF: state %d: %w", i, err)
			}
		}
		out.States, out.Network = append(out.States, fields), append(out.Network, network)
	}
	for _, name := range only {
		if _, ok := file.States[0][name]; !ok {
			return nil, fmt.Errorf("ITF: state 0 says nothing of variable %q", name)
		}
	}
	return out, nil
}

// jsonError says where.
func jsonError(err error) error {
	var syntax *json.SyntaxError
	var typed *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("%w, at byte %d", err, syntax.Offset)
	case errors.As(err, &typed):
		return fmt.Errorf("%s is a %s, at byte %d", typed.Field, typed.Value, typed.Offset)
	case errors.Is(err, io.EOF):
		return errors.New("the file is empty")
	}
	return err
}

func readITFVariable(path string, raw json.RawMessage, fields, network *[]Field) error {
	d := json.NewDecoder(strings.NewReader(string(raw)))
	d.UseNumber()
	var value any
	if err := d.Decode(&value); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if m, ok := value.(map[string]any); ok && path == networkPart && m["#map"] != nil {
		pairs, err := itfPairs(path, m["#map"])
		if err != nil {
			return err
		}
		slices.SortFunc(pairs, func(a, b Field) int { return strings.Compare(a.Path, b.Path) })
		for i, p := range pairs {
			if n, err := strconv.Atoi(p.Value); err != nil || n < 1 {
				return fmt.Errorf("%s: %s copies of %q", path, p.Value, p.Path)
			}
			if i > 0 && pairs[i-1].Path == p.Path {
				return fmt.Errorf("%s: %q twice", path, p.Path)
			}
		}
		if pairs == nil {
			pairs = []Field{}
		}
		*network = pairs
		return nil
	}
	return readITFValue(path, value, fields)
}

// readITFValue adds the scalars of a value by their paths.
func readITFValue(path string, value any, fields *[]Field) error {
	text, ok, err := itfText(value)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if ok {
		*fields = append(*fields, Field{path, text})
		return nil
	}
	record, ok := value.(map[string]any)
	if !ok {
		return fmt.Errorf("%s: a sequence cannot be compared; give numbers, truth values, text or records of them", path)
	}
	if text, ok := record["#unserializable"]; ok {
		if text == "absent" {
			return nil
		}
		return fmt.Errorf("%s: a value that could not be written", path)
	}
	if pairs, ok := record["#map"]; ok {
		list, err := itfPairs(path, pairs)
		if err != nil {
			return err
		}
		for _, p := range list {
			*fields = append(*fields, Field{path + "." + p.Path, p.Value})
		}
		return nil
	}
	var names []string
	for name := range record {
		if strings.HasPrefix(name, "#") {
			return fmt.Errorf("%s: a %s cannot be compared; give numbers, truth values, text or records of them", path, name)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := readITFValue(path+"."+name, record[name], fields); err != nil {
			return err
		}
	}
	return nil
}

// itfPairs reads a map whose keys and values are scalars.
func itfPairs(path string, value any) ([]Field, error) {
	list, ok := value.([]any)
	if !ok {
		return nil, fmt.Errorf("%s: #map is no list", path)
	}
	var out []Field
	for _, entry := range list {
		pair, ok := entry.([]any)
		if !ok || len(pair) != 2 {
			return nil, fmt.Errorf("%s: an entry of #map is no pair", path)
		}
		var texts [2]string
		for i, v := range pair {
			text, ok, err := itfText(v)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", path, err)
			}
			if !ok {
				return nil, fmt.Errorf("%s: an entry of #map is neither number, truth value nor text", path)
			}
			texts[i] = text
		}
		out = append(out, Field{texts[0], texts[1]})
	}
	return out, nil
}

// itfText is a scalar as a description has it; ok is false for anything else.
func itfText(value any) (text string, ok bool, err error) {
	switch v := value.(type) {
	case string:
		return v, true, nil
	case bool:
		return strconv.FormatBool(v), true, nil
	case json.Number:
		n, ok := new(big.Int).SetString(v.String(), 10)
		if !ok {
			return "", false, fmt.Errorf("%s is no whole number", v)
		}
		return n.String(), true, nil
	case map[string]any:
		big0, ok := v["#bigint"]
		if !ok {
			return "", false, nil
		}
		digits, isText := big0.(string)
		n, isNumber := new(big.Int).SetString(digits, 10)
		if !isText || !isNumber {
			return "", false, fmt.Errorf("#bigint is %v, no number as text", big0)
		}
		return n.String(), true, nil
	case nil:
		return "", false, errors.New("null is no value")
	}
	return "", false, nil
}
