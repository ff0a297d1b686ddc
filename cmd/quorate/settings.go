package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// setting is a constant of a model and the value that it is to have, and where that
// was said, for errors.
type setting struct{ name, value, where string }

// parseSettings reads what -set was given: NAME=VALUE each.
func parseSettings(list []string) ([]setting, error) {
	var out []setting
	for _, text := range list {
		name, value, ok := strings.Cut(text, "=")
		if !ok || name == "" {
			return nil, fmt.Errorf("-set %s: want NAME=VALUE, as epochs=3", text)
		}
		s := setting{constantName(name), strings.TrimSpace(value), "-set " + text}
		if i := slices.IndexFunc(out, func(o setting) bool { return o.name == s.name }); i >= 0 {
			return nil, fmt.Errorf("%s: %s is set already, by %s", s.where, s.name, out[i].where)
		}
		out = append(out, s)
	}
	return out, nil
}

// constantName lets a constant be written with dashes or underscores.
func constantName(name string) string {
	return strings.ReplaceAll(strings.TrimSpace(name), "_", "-")
}

// number is a constant that is a number in a range.
type number struct {
	name        string
	least, most int
	value       *int
}

// setNumbers sets the constants of a specification that has only numbers.
func setNumbers(list []setting, numbers []number) error {
	for _, s := range list {
		i := slices.IndexFunc(numbers, func(n number) bool { return n.name == s.name })
		if i < 0 {
			var names []string
			for _, n := range numbers {
				names = append(names, n.name)
			}
			return fmt.Errorf("%s: %w", s.where, unknown("constant", s.name, names))
		}
		n := numbers[i]
		v, err := strconv.Atoi(s.value)
		if err != nil || v < n.least || v > n.most {
			return fmt.Errorf("%s: %s is %s; want a number from %d to %d", s.where, s.name, s.value, n.least, n.most)
		}
		*n.value = v
	}
	return nil
}

func constantsOf(numbers []number) [][3]string {
	var list [][3]string
	for _, n := range numbers {
		list = append(list, [3]string{n.name, strconv.Itoa(*n.value), fmt.Sprintf("%d to %d", n.least, n.most)})
	}
	return list
}
