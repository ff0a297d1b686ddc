package concern

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ErrTorn is wrapped by the error of a line that ends too soon, as when the process that
// wrote it was killed.
var ErrTorn = errors.New("the line ends too soon")

// AppendJSON appends an event as a line, without a newline.
func AppendJSON(dst []byte, e *Event) []byte {
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	if err := w.Encode(e); err != nil {
		panic(err) // of texts and numbers alone
	}
	return append(dst, bytes.TrimSuffix(b.Bytes(), []byte("\n"))...)
}

// Decode reads a line. It refuses what the schema does not have: other fields, fields twice,
// fields of other types, numbers out of range, and what is missing.
func Decode(line []byte, e *Event) error {
	*e = Event{}
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(e); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
			return ErrTorn
		}
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("something follows the object")
	}
	if err := check(reflect.ValueOf(e).Elem()); err != nil {
		return err
	}
	// encoding/json takes names in any case, fields twice, null, and what is left out.
	given, want, err := tokens(line, AppendJSON(nil, e))
	if err != nil {
		return err
	}
	if field := difference(given, want); field != "" {
		return fmt.Errorf("the field %q is missing, there twice, or not written as the schema has it", field)
	}
	return nil
}

// tokens are the paths and values of two lines, in order of their paths.
func tokens(a, b []byte) (as, bs []string, err error) {
	if as, err = flatten(a); err == nil {
		bs, err = flatten(b)
	}
	return as, bs, err
}

// flatten lists the fields of a line as path=value.
func flatten(line []byte) (list []string, err error) {
	d := json.NewDecoder(bytes.NewReader(line))
	d.UseNumber()
	var walk func(at string) error
	walk = func(at string) error {
		t, err := d.Token()
		if err != nil {
			return err
		}
		open, isOpen := t.(json.Delim)
		if !isOpen {
			list = append(list, fmt.Sprintf("%s=%v", at, t))
			return nil
		}
		list = append(list, at+"="+open.String())
		for i := 0; d.More(); i++ {
			below := fmt.Sprintf("%s[%d]", at, i)
			if open == '{' {
				name, err := d.Token()
				if err != nil {
					return err
				}
				below = fmt.Sprintf("%s.%v", at, name)
			}
			if err := walk(below); err != nil {
				return err
			}
		}
		_, err = d.Token()
		return err
	}
	err = walk("")
	slices.Sort(list)
	return list, err
}

// difference is the first path that is not the same in both, empty if there is none.
func difference(a, b []string) string {
	for i := 0; i < max(len(a), len(b)); i++ {
		x, y := "", ""
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		if x == y {
			continue
		}
		if x == "" || y != "" && y < x {
			x = y
		}
		path, _, _ := strings.Cut(x, "=")
		return strings.TrimPrefix(path, ".")
	}
	return ""
}

// check holds values against the tags min, max, enum and pattern.
func check(v reflect.Value) error {
	for i := range v.NumField() {
		f, tag := v.Field(i), v.Type().Field(i)
		name, _, _ := strings.Cut(tag.Tag.Get("json"), ",")
		if err := checkField(f, tag.Tag); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func checkField(f reflect.Value, tag reflect.StructTag) error {
	switch f.Kind() {
	case reflect.Pointer:
		if !f.IsNil() {
			return checkField(f.Elem(), tag)
		}
	case reflect.Struct:
		return check(f)
	case reflect.Slice:
		for i := range f.Len() {
			if err := checkField(f.Index(i), ""); err != nil {
				return fmt.Errorf("[%d]: %w", i, err)
			}
		}
	case reflect.String:
		if list := tag.Get("enum"); list != "" && !slices.Contains(strings.Fields(list), f.String()) {
			return fmt.Errorf("%q is none of %s", f.String(), list)
		}
		if p := tag.Get("pattern"); p != "" && !regexp.MustCompile(p).MatchString(f.String()) {
			return fmt.Errorf("%q is not of the form %s", f.String(), p)
		}
	case reflect.Int, reflect.Int16, reflect.Int32, reflect.Int64:
		if least, err := strconv.ParseInt(tag.Get("min"), 10, 64); err == nil && f.Int() < least {
			return fmt.Errorf("%d is less than %d", f.Int(), least)
		}
		if most, err := strconv.ParseInt(tag.Get("max"), 10, 64); err == nil && f.Int() > most {
			return fmt.Errorf("%d is more than %d", f.Int(), most)
		}
	}
	return nil
}
