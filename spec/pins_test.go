package spec

import (
	"flag"
	"fmt"
	"go/format"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/quorate/quorate/checker"
)

var update = flag.Bool("update", false, "write pins.go anew, deep models left as they are")

// smallModel is the number of states up to which a model runs in every test.
const smallModel = 500_000

// Small models give what is pinned; `quorate check` holds all of them to it.
func TestPins(t *testing.T) {
	var lines []string
	for i := range Models {
		m := &Models[i]
		pin, pinned := m.Pin()
		if !*update && (m.Deep || pin.Distinct > smallModel) {
			continue
		}
		if m.Deep && *update {
			if pinned {
				lines = append(lines, line(m.Name, pin))
			}
			continue
		}
		res, err := checker.Run(checker.Interned(NewSystem(m, Variant{})), checker.Options{Projected: true, KeepGoing: true})
		require.NoError(t, err, m.Name)
		got := Pin{Distinct: res.Distinct, Projected: res.Projected, Depth: res.Depth}
		lines = append(lines, line(m.Name, got))
		if *update {
			continue
		}
		assert.Equal(t, pin, got, m.Name)
		for _, v := range res.Violations {
			assert.NotEmpty(t, m.Unsafe, "%s violates %s", m.Name, v.Property)
		}
		if m.Unsafe != "" {
			var names []string
			for _, v := range res.Violations {
				names = append(names, v.Property)
			}
			assert.Contains(t, names, m.Unsafe, "%s is expected to be unsafe", m.Name)
		}
	}
	if *update {
		text := "package spec\n\n// pins has a line for each model; TestPins writes it anew with -update.\nvar pins = map[string]Pin{\n" + strings.Join(lines, "") + "}\n"
		formatted, err := format.Source([]byte(text))
		require.NoError(t, err)
		require.NoError(t, os.WriteFile("pins.go", formatted, 0o644))
	}
}

func line(name string, p Pin) string {
	return fmt.Sprintf("\t%q: {Distinct: %d, Projected: %d, Depth: %d},\n", name, p.Distinct, p.Projected, p.Depth)
}
