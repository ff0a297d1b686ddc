package checker

import (
	"fmt"
	"reflect"
)

// checkInfo refuses what the engine could not report on.
func checkInfo(info *Info) error {
	switch {
	case len(info.Properties) > 64:
		return fmt.Errorf("%s has %d properties, the limit is 64", info.Name, len(info.Properties))
	case len(info.Actions) > 256:
		return fmt.Errorf("%s has %d actions, the limit is 256", info.Name, len(info.Actions))
	case len(info.Budgets) > MaxBudgets:
		return fmt.Errorf("%s has %d budgets, the limit is %d", info.Name, len(info.Budgets), MaxBudgets)
	case len(info.Bounds) > budgetBit:
		return fmt.Errorf("%s has %d bounds, the limit is %d", info.Name, len(info.Bounds), budgetBit)
	}
	return nil
}

// checkPlain refuses state types whose bytes are not their value.
func checkPlain[S any]() error {
	t := reflect.TypeFor[S]()
	if err := plainType(t, false); err != nil {
		return fmt.Errorf("state type %s: %w", t, err)
	}
	if t.Size()%8 != 0 {
		return fmt.Errorf("state type %s: size %d is not a multiple of 8", t, t.Size())
	}
	return nil
}

// plainType refuses types with padding, or whose equality is not that of their
// bytes. With pointers it allows pointers, functions and interfaces too, for
// fields that are nil whenever the engine sees the value.
func plainType(t reflect.Type, pointers bool) error {
	switch t.Kind() {
	case reflect.Bool, reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		return nil
	case reflect.Array:
		return plainType(t.Elem(), pointers)
	case reflect.Struct:
		end := uintptr(0)
		for i := range t.NumField() {
			f := t.Field(i)
			if f.Offset != end {
				return fmt.Errorf("%d bytes of padding before field %s", f.Offset-end, f.Name)
			}
			if err := plainType(f.Type, pointers); err != nil {
				return fmt.Errorf("field %s: %w", f.Name, err)
			}
			end = f.Offset + f.Type.Size()
		}
		if end != t.Size() {
			return fmt.Errorf("%d bytes of padding at the end", t.Size()-end)
		}
		return nil
	case reflect.Pointer, reflect.UnsafePointer:
		if pointers {
			return nil
		}
	}
	return fmt.Errorf("type %s: its bytes are not its value", t)
}
