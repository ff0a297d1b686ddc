package defects

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Edit replaces a text of a source file, which must be there once.
type Edit struct {
	// File is a path in the module, with forward slashes.
	File     string
	Old, New string
}

// Blind is the environment variable that makes the checks of the simulator silent,
// in a build of the judge.
const Blind = "QUORATE_DEFECTS_BLIND"

// blind lets a run go on after it broke a property.
var blind = []Edit{
	{"impl/sim/check.go", "import (\n\t\"fmt\"\n", "import (\n\t\"fmt\"\n\t\"os\"\n"},
	{
		"impl/sim/check.go",
		"func violated(property, format string, args ...any) error {\n",
		"func violated(property, format string, args ...any) error {\n\tif os.Getenv(\"" + Blind + "\") != \"\" {\n\t\treturn nil\n\t}\n",
	},
}

// sources are the changed texts of files.
type sources map[string]string

// read takes a file as it is, unless it has been taken.
func (s sources) read(name, file string) error {
	if _, ok := s[file]; ok {
		return nil
	}
	b, err := os.ReadFile(name)
	if err == nil {
		s[file] = string(b)
	}
	return err
}

// apply makes the edits in files of the module at root. Edits of one file build upon
// each other.
func (s sources) apply(root string, edits []Edit) error {
	for _, e := range edits {
		if err := s.read(filepath.Join(root, filepath.FromSlash(e.File)), e.File); err != nil {
			return err
		}
		text := s[e.File]
		if n := strings.Count(text, e.Old); n != 1 {
			return fmt.Errorf("%s: %d times, want once:\n%s", e.File, n, e.Old)
		}
		if e.New == e.Old {
			return fmt.Errorf("%s: nothing is changed:\n%s", e.File, e.Old)
		}
		s[e.File] = strings.Replace(text, e.Old, e.New, 1)
	}
	return nil
}

// write writes the texts and what the go command wants to know of them into a
// directory, and returns the name of that file.
func (s sources) write(root, dir string) (string, error) {
	replace := map[string]string{}
	for file, text := range s {
		copied := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(copied, []byte(text), 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(root, filepath.FromSlash(file))] = copied
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, b, 0o644)
}
