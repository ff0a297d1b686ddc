package checker

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// namesOf lists what a question may name: of a part that has parts, their names too.
func namesOf(env map[string]any) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(env)) {
		if parts := partsOf(env[name]); len(parts) > 0 {
			name += " (" + strings.Join(parts, ", ") + ")"
		}
		list = append(list, name)
	}
	return strings.Join(list, ", ")
}

func partsOf(value any) (parts []string) {
	if m, ok := value.(map[string]any); ok {
		return slices.Sorted(maps.Keys(m))
	}
	t := reflect.TypeOf(value)
	for t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer) {
		t = t.Elem()
	}
	if t == nil || t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		f := t.Field(i)
		name, ok := f.Tag.Lookup("expr")
		if !ok {
			name = f.Name
		}
		if f.IsExported() && name != "-" {
			parts = append(parts, name)
		}
	}
	return parts
}

// tellNames adds to the error of a question with an unknown name which names there are.
func tellNames(err error, env map[string]any) error {
	if !strings.Contains(err.Error(), "unknown name ") {
		return err
	}
	return fmt.Errorf("%w\nThere are: %s", err, namesOf(env))
}
