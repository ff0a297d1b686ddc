//go:build interop

package interop

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Environment variables that say where things are; docs/interop.md has them.
const (
	cacheVar   = "QUORATE_INTEROP_CACHE"
	versionVar = "QUORATE_KAFKA_VERSION"
)

// fetchTimeout bounds how long Maven may take the first time.
const fetchTimeout = 150 * time.Second

// distribution is Apache Kafka as jars.
type distribution struct {
	version     string
	dir         string
	jars        []string
	java        string
	javaVersion string
}

// missingError says what this machine does not have.
type missingError struct{ what string }

func (e *missingError) Error() string { return e.what }

// pom asks for artifacts. Maven resolves them as everywhere: with the repositories,
// mirrors and proxies of its settings.
const pom = `<project xmlns="http://maven.apache.org/POM/4.0.0">
<modelVersion>4.0.0</modelVersion><groupId>quorate</groupId><artifactId>interop</artifactId><version>1</version>
<dependencies>%s</dependencies></project>
`

// newest asks for the newest Kafka, and nothing that it needs: Maven would read the
// dependencies of all versions.
const newest = `<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>[4.0.0,4.999]</version>
<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>`

// all asks for a version with its tools, but without Kafka Connect, and for the logging
// that its distribution comes with.
const all = `<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>%[1]s</version></dependency>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>%[1]s</version>
<exclusions><exclusion><groupId>org.apache.kafka</groupId><artifactId>connect-runtime</artifactId></exclusion></exclusions></dependency>
<dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>2.25.5</version></dependency>`

// resolve finds Java and the jars, in the cache or by Maven. The error is a
// missingError if this machine lacks something.
func resolve() (*distribution, error) {
	d := new(distribution)
	if err := d.findJava(); err != nil {
		return nil, err
	}
	cache := os.Getenv(cacheVar)
	if cache == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return nil, &missingError{fmt.Sprintf("no place for jars: %v; %s names one", err, cacheVar)}
		}
		cache = filepath.Join(base, "quorate", "interop")
	}
	d.version = os.Getenv(versionVar)
	if d.version == "" {
		d.version = newestIn(cache)
	}
	if d.version != "" {
		err := d.load(cache)
		if err == nil {
			return d, nil
		}
		if !errors.Is(err, os.ErrNotExist) {
			fmt.Printf("interop: fetching anew: %v\n", err)
		}
	}
	if err := d.fetch(cache); err != nil {
		return nil, err
	}
	return d, d.load(cache)
}

func (d *distribution) findJava() error {
	java := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java = filepath.Join(home, "bin", "java")
	}
	var err error
	if d.java, err = exec.LookPath(java); err != nil {
		return &missingError{"there is no java"}
	}
	out, err := exec.Command(d.java, "-version").CombinedOutput()
	m := regexp.MustCompile(`version "(\d+)[^"]*"`).FindStringSubmatch(string(out))
	if err != nil || m == nil {
		return &missingError{fmt.Sprintf("%s -version: %v %q", d.java, err, out)}
	}
	if major, _ := strconv.Atoi(m[1]); major < 17 {
		return &missingError{fmt.Sprintf("Kafka 4 needs Java 17, and %s is %s", d.java, m[1])}
	}
	d.javaVersion = "java " + m[0]
	return nil
}

var versionDir = regexp.MustCompile(`^4\.\d+\.\d+$`)

// newestIn is the newest version in the cache, empty if there is none. A newer one is
// looked for when the cache is removed.
func newestIn(cache string) string {
	entries, _ := os.ReadDir(cache) // none: nothing was fetched
	var found []string
	for _, e := range entries {
		if versionDir.MatchString(e.Name()) {
			found = append(found, e.Name())
		}
	}
	if len(found) == 0 {
		return ""
	}
	return slices.MaxFunc(found, func(a, b string) int {
		number := func(v string) (n []int) {
			for part := range strings.SplitSeq(v, ".") {
				i, _ := strconv.Atoi(part)
				n = append(n, i)
			}
			return n
		}
		return slices.Compare(number(a), number(b))
	})
}

// sums has the checksum of each jar, as sha256sum prints it.
const sums = "SHA256SUMS"

// load checks the jars of the cache.
func (d *distribution) load(cache string) error {
	d.dir = filepath.Join(cache, d.version)
	text, err := os.ReadFile(filepath.Join(d.dir, sums))
	if err != nil {
		return err
	}
	d.jars = nil
	for line := range strings.Lines(string(text)) {
		want, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || name != filepath.Base(name) {
			return fmt.Errorf("%s: line %q", filepath.Join(d.dir, sums), line)
		}
		jar := filepath.Join(d.dir, name)
		b, err := os.ReadFile(jar)
		if err != nil {
			return err
		}
		if have := fmt.Sprintf("%x", sha256.Sum256(b)); have != want {
			return fmt.Errorf("%s has checksum %s, want %s", jar, have, want)
		}
		d.jars = append(d.jars, jar)
	}
	if len(d.jars) == 0 {
		return fmt.Errorf("%s is empty", filepath.Join(d.dir, sums))
	}
	return nil
}

// fetch has Maven copy the jars into the cache. The directory gets its name when it is
// whole.
func (d *distribution) fetch(cache string) error {
	mvn, err := exec.LookPath("mvn")
	if err != nil {
		return &missingError{fmt.Sprintf("Kafka's jars are not in %s, and there is no mvn to fetch them", cache)}
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return &missingError{err.Error()}
	}
	tmp, err := os.MkdirTemp(cache, "fetching")
	if err != nil {
		return &missingError{err.Error()}
	}
	defer os.RemoveAll(tmp)
	ctx, cancel := context.WithTimeout(context.Background(), fetchTimeout)
	defer cancel()
	copyJars := func(dependencies, to string) error {
		file := filepath.Join(tmp, to+".xml")
		if err := os.WriteFile(file, fmt.Appendf(nil, pom, dependencies), 0o644); err != nil {
			return err
		}
		// -C: a download whose checksum is not that of the repository fails.
		cmd := exec.CommandContext(ctx, mvn, "-B", "-q", "-C", "-f", file, "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies",
			"-DincludeScope=runtime", "-DoutputDirectory="+filepath.Join(tmp, to))
		out, err := cmd.CombinedOutput()
		if ctx.Err() != nil {
			return &missingError{fmt.Sprintf("Maven did not fetch Kafka's jars in %v", fetchTimeout)}
		}
		if err != nil {
			return &missingError{fmt.Sprintf("Maven cannot resolve Kafka's jars: %v\n%s", err, firstLines(string(out), 10))}
		}
		return nil
	}
	if d.version == "" {
		if err := copyJars(newest, "newest"); err != nil {
			return err
		}
		found, err := filepath.Glob(filepath.Join(tmp, "newest", "kafka_2.13-*.jar"))
		if err != nil || len(found) != 1 {
			return fmt.Errorf("the newest Kafka is one jar, not %q (%v)", found, err)
		}
		d.version = strings.TrimSuffix(strings.TrimPrefix(filepath.Base(found[0]), "kafka_2.13-"), ".jar")
	}
	if err := copyJars(fmt.Sprintf(all, d.version), "all"); err != nil {
		return err
	}
	dir := filepath.Join(tmp, "all")
	jars, err := filepath.Glob(filepath.Join(dir, "*.jar"))
	if err != nil {
		return err
	}
	var list []byte
	for _, jar := range jars {
		b, err := os.ReadFile(jar)
		if err != nil {
			return err
		}
		list = fmt.Appendf(list, "%x  %s\n", sha256.Sum256(b), filepath.Base(jar))
	}
	if err := os.WriteFile(filepath.Join(dir, sums), list, 0o644); err != nil {
		return err
	}
	to := filepath.Join(cache, d.version)
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	return os.Rename(dir, to)
}

func firstLines(s string, n int) string {
	lines := strings.SplitAfterN(s, "\n", n+1)
	return strings.Join(lines[:min(n, len(lines))], "")
}
