package main

import (
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSimCheck: runs are judged in memory, and nothing is written of those that are fine.
func TestSimCheck(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := tracegen("-sim", "-check", "-seeds", "1-6", "-twice", "3", "-parallel", "2", "-ticks", "2000", "-out", dir)
	require.Equal(t, exitOK, code, stderr)
	require.Contains(t, stdout, "checked: 6 runs in ")
	require.Contains(t, stdout, ", 0 failed; 2 made twice and compared; ")
	require.Contains(t, stdout, "by the specification, in so many runs: ")
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, files)

	code, stdout, stderr = tracegen("-sim", "-check", "-seeds", "3", "-for", "1ms", "-all-met", "-no-faults", "-ticks", "500", "-out", dir)
	require.Equal(t, exitViolated, code, stdout)
	require.Regexp(t, `in \d+ runs there never was: TruncatedDivergence, `, stderr)
}

// TestSimCheckFails: a run that fails is written, and the line that is printed makes it
// again.
func TestSimCheckFails(t *testing.T) {
	dir := t.TempDir()
	code, stdout, stderr := tracegen("-sim", "-check", "-seeds", "1-100", "-lose-disks", "-quiet", "-out", dir)
	require.Equal(t, exitViolated, code, stdout)
	first := regexp.MustCompile(`tracegen: seed (\d+): (.*)`).FindStringSubmatch(stderr)
	require.NotNil(t, first, stderr)
	_, err := os.Stat(filepath.Join(dir, "seed-"+first[1], "node-1.ndjson.zst"))
	require.NoError(t, err)

	line := regexp.MustCompile(`again: tracegen (.*)`).FindStringSubmatch(stderr)
	require.NotNil(t, line, stderr)
	require.Contains(t, line[1], "-lose-disks=true")
	code, _, again := tracegen(strings.Fields(strings.Replace(line[1], "DIR", t.TempDir(), 1))...)
	require.Equal(t, exitViolated, code)
	require.Contains(t, again, first[0])

	// And so does the smaller run.
	small := regexp.MustCompile(`smaller, by \d+ runs: (\d+) steps instead of (\d+), (\d+) faults instead of (\d+)\nagain: tracegen (.*)`).FindStringSubmatch(stderr)
	require.NotNil(t, small, stderr)
	number := func(i int) int {
		n, err := strconv.Atoi(small[i])
		require.NoError(t, err)
		return n
	}
	require.Less(t, number(1), number(2)/2)
	require.Less(t, number(3), number(4)/2)
	script := regexp.MustCompile(`(?m)^ +\d+ +\d+\.\d+ ms +[a-z-]+.*$`)
	require.Len(t, script.FindAllString(stderr, -1), min(number(3), 30))
	args := strings.Fields(strings.Replace(small[5], "DIR", t.TempDir(), 1))
	code, _, again = tracegen(append(args, "-shrink", "0")...)
	require.Equal(t, exitViolated, code)
	require.Equal(t, shape(first[2]), shape(regexp.MustCompile(`tracegen: seed \d+: (.*)`).FindStringSubmatch(again)[1]))
	code, printed, _ := tracegen(append(append([]string{"-script"}, slices.DeleteFunc(args, func(a string) bool { return a == "-check" })...), "-out", t.TempDir(), "-no-events")...)
	require.Contains(t, []int{exitOK, exitViolated}, code) // without the specification it may pass
	require.Len(t, script.FindAllString(printed, -1), number(3))
}

func shape(text string) string {
	return regexp.MustCompile(`[0-9a-f]*[0-9][0-9a-f]*`).ReplaceAllString(text, "#")
}

// TestSimCheckArgs: what is left out has a name.
func TestSimCheckArgs(t *testing.T) {
	for _, args := range [][]string{{"-without", "bug"}, {"-only", "bug"}, {"-skip", "x"}, {"-heals", "-1"}, {"-check", "-shrink", "-1"}} {
		code, _, stderr := tracegen(append(append([]string{"-sim"}, args...), "-out", t.TempDir())...)
		require.Equal(t, exitUsage, code)
		require.Contains(t, stderr, args[len(args)-2])
	}
	code, stdout, stderr := tracegen("-sim", "-only", "none", "-script", "-ticks", "1000", "-seeds", "1-3", "-no-events", "-out", t.TempDir())
	require.Equal(t, exitOK, code, stderr)
	require.NotContains(t, stdout, " ms ")
	require.Contains(t, stdout, "progress after the faults, in rounds of timeouts: a leader within ")
}

func TestSeedsOf(t *testing.T) {
	list := func(ranges [][2]uint64, more int) (all []uint64) {
		next := seedsOf(ranges, func() bool { more--; return more >= 0 })
		for {
			seed, ok := next()
			if !ok {
				return all
			}
			all = append(all, seed)
		}
	}
	require.Equal(t, []uint64{7}, list([][2]uint64{{7, 7}}, 0))
	require.Equal(t, []uint64{1, 2, 9, 4, 5, 6, 7}, list([][2]uint64{{1, 2}, {9, 9}, {4, 5}}, 2))
	require.Equal(t, []uint64{math.MaxUint64}, list([][2]uint64{{math.MaxUint64, math.MaxUint64}}, 2))
}
