// Command vulndb lays out Go's vulnerability reports, as the module
// golang.org/x/vulndb carries them, as the database that govulncheck reads
// (https://go.dev/doc/security/vuln/database). It is for machines that reach a
// module proxy and not the database.
//
//	vulndb MODULE-DIR OUT
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// report is what the index needs of an OSV report.
type report struct {
	ID       string    `json:"id"`
	Modified time.Time `json:"modified"`
	Aliases  []string  `json:"aliases"`
	Affected []struct {
		Package struct {
			Name string `json:"name"`
		} `json:"package"`
		Ranges []struct {
			Events []struct {
				Fixed string `json:"fixed"`
			} `json:"events"`
		} `json:"ranges"`
	} `json:"affected"`
}

type moduleVuln struct {
	ID       string    `json:"id"`
	Modified time.Time `json:"modified"`
	Fixed    string    `json:"fixed,omitempty"`
}

type module struct {
	Path  string       `json:"path"`
	Vulns []moduleVuln `json:"vulns"`
}

type vuln struct {
	ID       string    `json:"id"`
	Modified time.Time `json:"modified"`
	Aliases  []string  `json:"aliases,omitempty"`
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: vulndb MODULE-DIR OUT")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "vulndb:", err)
		os.Exit(1)
	}
}

func run(from, out string) error {
	files, err := filepath.Glob(filepath.Join(from, "data", "osv", "*.json"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return fmt.Errorf("no reports below %s", from)
	}
	modules := map[string][]moduleVuln{}
	var vulns []vuln
	var newest time.Time
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var r report
		if err := json.Unmarshal(text, &r); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		vulns = append(vulns, vuln{r.ID, r.Modified, r.Aliases})
		if r.Modified.After(newest) {
			newest = r.Modified
		}
		for _, a := range r.Affected {
			fixed := ""
			for _, g := range a.Ranges {
				for _, e := range g.Events {
					fixed = max(fixed, e.Fixed)
				}
			}
			if has := modules[a.Package.Name]; len(has) == 0 || has[len(has)-1].ID != r.ID {
				modules[a.Package.Name] = append(has, moduleVuln{r.ID, r.Modified, fixed})
			}
		}
		if err := write(filepath.Join(out, "ID", r.ID+".json"), json.RawMessage(text)); err != nil {
			return err
		}
	}
	var index []module
	for path, list := range modules {
		index = append(index, module{path, list})
	}
	slices.SortFunc(index, func(a, b module) int { return strings.Compare(a.Path, b.Path) })
	for name, content := range map[string]any{"db": map[string]time.Time{"modified": newest}, "modules": index, "vulns": vulns} {
		if err := write(filepath.Join(out, "index", name+".json"), content); err != nil {
			return err
		}
	}
	fmt.Printf("vulndb: %d reports, of %s\n", len(files), filepath.Base(from))
	return nil
}

func write(path string, content any) error {
	text, err := json.Marshal(content)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o644)
}
