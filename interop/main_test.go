//go:build interop

package interop

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// kafka and kraftd are what the tests hold against each other.
var (
	kafka  *distribution
	kraftd string
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(prepare(m))
}

// prepare returns an exit code. What is missing on this machine is said, and is no
// failure.
func prepare(m *testing.M) int {
	var err error
	if kafka, err = resolve(); err != nil {
		var missing *missingError
		if errors.As(err, &missing) {
			fmt.Printf("interop: SKIPPED: everything: %v\n", err)
			return 0
		}
		fmt.Printf("interop: %v\n", err)
		return 1
	}
	fmt.Printf("interop: Apache Kafka %s, %d jars in %s, %s\n", kafka.version, len(kafka.jars), kafka.dir, kafka.javaVersion)
	dir, err := os.MkdirTemp("", "interop")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	kraftd = filepath.Join(dir, "kraftd")
	if out, err := exec.Command("go", "build", "-o", kraftd, "../cmd/kraftd").CombinedOutput(); err != nil {
		fmt.Printf("interop: build kraftd: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}
