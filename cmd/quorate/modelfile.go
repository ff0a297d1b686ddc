package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/quorate/quorate/checker"
	"github.com/quorate/quorate/spec"
)

// A file of models is TOML: a table [[model]] for each. Beside the constants of the
// specification, with underscores or dashes, a table has
//
//	name        what reports call it
//	why         what it is for
//	like        a model that it is like, whose constants it takes unless it has its own
//	module      instead of like: the specification ("election" unless it is said)
//	mutation    a mutation to explore it with
//	drop_guard  a guard to explore it without
//	expect      "holds", "violates PROPERTY" or "never PROPERTY"
//	distinct    how many distinct states it must give, and depth how many levels
const (
	keyName      = "name"
	keyWhy       = "why"
	keyLike      = "like"
	keyModule    = "module"
	keyMutation  = "mutation"
	keyDropGuard = "drop-guard"
	keyExpect    = "expect"
	keyDistinct  = "distinct"
	keyDepth     = "depth"
)

var modelKeys = []string{keyName, keyWhy, keyLike, keyModule, keyMutation, keyDropGuard, keyExpect, keyDistinct, keyDepth}

// modelName is what -model can name: nothing that is a pattern or a list.
var modelName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// modelTable is a [[model]] of a file.
type modelTable struct {
	file   string
	line   int
	values map[string]any
	lines  map[string]int // of keys, as they are written
}

// at says where a key stands.
func (t *modelTable) at(key string) string {
	if line := t.lines[key]; line > 0 {
		return fmt.Sprintf("%s:%d", t.file, line)
	}
	return fmt.Sprintf("%s:%d", t.file, t.line)
}

// readModels reads the models that a file describes.
func readModels(file string) ([]*entry, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	tables, err := parseModels(file, text)
	if err != nil {
		return nil, err
	}
	var list []*entry
	for _, t := range tables {
		e, err := t.entry()
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(list, func(o *entry) bool { return o.Name == e.Name }) {
			return nil, fmt.Errorf("%s: there is a model %q above", t.at(keyName), e.Name)
		}
		list = append(list, e)
	}
	return list, nil
}

// parseModels reads the tables of a file, with the lines of their keys.
func parseModels(file string, text []byte) ([]*modelTable, error) {
	var whole map[string]any
	if err := toml.Unmarshal(text, &whole); err != nil {
		var where *toml.DecodeError
		if errors.As(err, &where) {
			row, column := where.Position()
			return nil, fmt.Errorf("%s:%d:%d: %w", file, row, column, err)
		}
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	lines, tables := keyLines(text)
	for key := range whole {
		if key != "model" {
			return nil, fmt.Errorf("%s:%d: %q stands outside of a [[model]]", file, max(1, lines[key]), key)
		}
	}
	list, ok := whole["model"].([]any)
	if !ok {
		return nil, fmt.Errorf("%s:1: no [[model]]; each model is a table of that name", file)
	}
	var out []*modelTable
	for i, v := range list {
		t := &modelTable{file: file, line: 1, lines: map[string]int{}}
		if t.values, ok = v.(map[string]any); !ok {
			return nil, fmt.Errorf("%s: model is a list of something else than tables", file)
		}
		if i < len(tables) {
			t.line, t.lines = tables[i].line, tables[i].lines
		}
		out = append(out, t)
	}
	return out, nil
}

// keyLines finds the lines of the keys: those at the top, and those of each [[model]].
// The text is known to be TOML.
func keyLines(text []byte) (top map[string]int, tables []*modelTable) {
	top = map[string]int{}
	var p unstable.Parser
	p.Reset(text)
	var current *modelTable
	for p.NextExpression() {
		e := p.Expression()
		var names []string
		line := 0
		for keys := e.Key(); keys.Next(); {
			if n := keys.Node(); line == 0 {
				line = p.Shape(n.Raw).Start.Line
				names = append(names, string(n.Data))
			} else {
				names = append(names, string(n.Data))
			}
		}
		name := strings.Join(names, ".")
		switch e.Kind {
		case unstable.ArrayTable, unstable.Table:
			current = nil
			if name == "model" {
				current = &modelTable{line: line, lines: map[string]int{}}
				tables = append(tables, current)
			} else if len(names) > 0 {
				top[names[0]] = line
			}
		case unstable.KeyValue:
			if current != nil {
				current.lines[names[0]] = line
			} else {
				top[names[0]] = line
			}
		}
	}
	return top, tables
}

// text is the value of a key as text, "" if it is not there.
func (t *modelTable) text(key string) (string, error) {
	for _, name := range []string{key, strings.ReplaceAll(key, "-", "_")} {
		v, ok := t.values[name]
		if !ok {
			continue
		}
		s, ok := v.(string)
		if !ok {
			return "", fmt.Errorf("%s: %s is %v; want a text, in quotes", t.at(name), name, v)
		}
		return s, nil
	}
	return "", nil
}

// entry makes a model of a table.
func (t *modelTable) entry() (*entry, error) {
	texts := map[string]string{}
	for _, key := range []string{keyName, keyWhy, keyLike, keyModule, keyMutation, keyDropGuard, keyExpect} {
		s, err := t.text(key)
		if err != nil {
			return nil, err
		}
		texts[key] = s
	}
	if name := texts[keyName]; !modelName.MatchString(name) || name == "all" {
		return nil, fmt.Errorf("%s: name is %q; want letters, digits, and any of . _ - between them", t.at(keyName), name)
	}
	base, err := t.base(texts)
	if err != nil {
		return nil, err
	}
	settings, err := t.settings(base)
	if err != nil {
		return nil, err
	}
	e, err := base.With(settings)
	if err != nil {
		if !strings.HasPrefix(err.Error(), t.file) { // what no single line is to blame for
			err = fmt.Errorf("%s: %w", t.at(""), err)
		}
		return nil, err
	}
	e.Name = texts[keyName]
	if why := texts[keyWhy]; why != "" {
		e.Doc = why
	}
	e.Variant = Variant{Mutation: texts[keyMutation], DropGuard: texts[keyDropGuard]}
	model, err := e.New(e.Variant)
	if err != nil {
		key := keyMutation
		if e.Variant.Mutation == "" {
			key = "drop_guard"
		}
		return nil, fmt.Errorf("%s: %w", t.at(key), err)
	}
	if e.Expect, err = t.expectation(texts[keyExpect], model.Info()); err != nil {
		return nil, err
	}
	if e.Pin, err = t.pin(); err != nil {
		return nil, err
	}
	own := e.New
	e.New = func(v Variant) (checker.Runnable, error) { return own(e.variant(v)) }
	return e, nil
}

// base is the model that a table begins with.
func (t *modelTable) base(texts map[string]string) (*entry, error) {
	if like := texts[keyLike]; like != "" {
		if texts[keyModule] != "" {
			return nil, fmt.Errorf("%s: module says what like says already", t.at(keyModule))
		}
		e, err := lookUp(like)
		if err != nil {
			return nil, fmt.Errorf("%s: like: %w", t.at(keyLike), err)
		}
		return e, nil
	}
	switch texts[keyModule] {
	case "", moduleElection:
		return kraftEntry(&spec.Model{Name: texts[keyName], Why: texts[keyWhy], Voters: 3, Epochs: 1, InFlight: 1}), nil
	case moduleElect:
		return families[0], nil
	case moduleTwophase:
		return families[1], nil
	case moduleLease:
		return lookUp("lease")
	}
	return nil, fmt.Errorf("%s: %w", t.at(keyModule), unknown("module", texts[keyModule], []string{moduleElection, moduleElect, moduleTwophase, moduleLease}))
}

// settings are the keys of a table that set constants.
func (t *modelTable) settings(base *entry) ([]setting, error) {
	var known []string
	for _, c := range base.Constants() {
		known = append(known, c[0])
	}
	var list []setting
	seen := map[string]string{}
	for _, key := range slices.SortedFunc(maps.Keys(t.values), func(a, b string) int { return t.lines[a] - t.lines[b] }) {
		name := constantName(key)
		if other, twice := seen[name]; twice {
			return nil, fmt.Errorf("%s: %s is %s once more", t.at(key), key, other)
		}
		seen[name] = key
		if slices.Contains(modelKeys, name) {
			continue
		}
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%s: %w", t.at(key), unknown("key", key, slices.Concat(modelKeys, known)))
		}
		value, err := settingText(t.values[key])
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", t.at(key), key, err)
		}
		list = append(list, setting{name, value, t.at(key)})
	}
	return list, nil
}

// settingText is a value as flags have it: lists with commas, lists of lists with
// slashes between them.
func settingText(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case bool:
		return strconv.FormatBool(v), nil
	case []any:
		var texts []string
		nested := 0
		for _, item := range v {
			text, err := settingText(item)
			if err != nil {
				return "", err
			}
			if inner, ok := item.([]any); ok {
				nested++
				if len(inner) == 0 {
					text = "none"
				}
				if strings.Contains(text, "/") {
					return "", errors.New("a list of lists of lists")
				}
			}
			texts = append(texts, text)
		}
		switch {
		case len(v) == 0:
			return "none", nil
		case nested == len(v):
			return strings.Join(texts, "/"), nil
		case nested > 0:
			return "", errors.New("a list of lists and of other things")
		}
		return strings.Join(texts, ","), nil
	}
	return "", fmt.Errorf("%v is neither a number, a truth value, a text nor a list", value)
}

// expectation reads how a run must end.
func (t *modelTable) expectation(text string, info *checker.Info) (expectation, error) {
	if text == "" {
		return expectation{}, nil
	}
	verdict, property, _ := strings.Cut(text, " ")
	switch {
	case verdict == "holds" && property == "":
		return expectation{verdict: verdict}, nil
	case verdict != "violates" && verdict != "never" || property == "":
		return expectation{}, fmt.Errorf(`%s: expect is %q; want "holds", "violates PROPERTY" or "never PROPERTY"`, t.at(keyExpect), text)
	}
	var names []string
	for _, p := range info.Properties {
		if p.Name == property {
			if (p.Kind == checker.Sometimes) != (verdict == "never") {
				return expectation{}, fmt.Errorf("%s: %s is of the kind %s: it cannot be that a run %s it", t.at(keyExpect), property, p.Kind, map[string]string{"never": "never reaches", "violates": "violates"}[verdict])
			}
			return expectation{verdict: verdict, property: property}, nil
		}
		names = append(names, p.Name)
	}
	return expectation{}, fmt.Errorf("%s: expect: %w", t.at(keyExpect), unknown("property", property, names))
}

// pin reads the numbers that a model must give.
func (t *modelTable) pin() (*spec.Pin, error) {
	var pin spec.Pin
	found := false
	for _, key := range []string{keyDistinct, keyDepth} {
		v, ok := t.values[key]
		if !ok {
			continue
		}
		n, isNumber := v.(int64)
		if !isNumber || n < 1 {
			return nil, fmt.Errorf("%s: %s is %v; want a number from 1", t.at(key), key, v)
		}
		found = true
		if key == keyDistinct {
			pin.Distinct = uint64(n)
		} else {
			pin.Depth = int(n)
		}
	}
	if !found {
		return nil, nil
	}
	return &pin, nil
}
