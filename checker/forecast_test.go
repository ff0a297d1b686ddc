package checker

import (
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// recordedLevels are the widths of the levels of many models, by name.
func recordedLevels(t *testing.T) map[string][]uint64 {
	text, err := os.ReadFile("testdata/levels.txt")
	require.NoError(t, err)
	models := map[string][]uint64{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		words := strings.Fields(line)
		for _, word := range words[1:] {
			n, err := strconv.ParseUint(word, 10, 64)
			require.NoError(t, err)
			models[words[0]] = append(models[words[0]], n)
		}
	}
	return models
}

// Replays every model, and asks at the end of each level.
func TestForecast(t *testing.T) {
	models := recordedLevels(t)
	require.Greater(t, len(models), 30)
	for _, part := range []struct {
		done         float64
		shown, right float64 // at least these shares of the models, and of what is shown
	}{{0.25, 0, 0.9}, {0.5, 0.3, 0.9}, {0.75, 0.9, 0.9}, {0.9, 0.95, 0.95}} {
		shown, right := 0, 0
		for name, levels := range models {
			total := uint64(0)
			for _, w := range levels {
				total += w
			}
			sum, n := uint64(0), 0
			for ; float64(sum) < part.done*float64(total); n++ {
				sum += levels[n]
			}
			low, high, ok := forecast(levels[:n])
			if !ok {
				continue
			}
			shown++
			require.LessOrEqual(t, low, high)
			require.GreaterOrEqual(t, low, float64(sum), "what was seen counts")
			if low <= float64(total) && float64(total) <= high {
				right++
			} else {
				t.Logf("%s at %.0f %%: %.0f to %.0f, and it was %d", name, 100*part.done, low, high, total)
			}
		}
		t.Logf("at %.0f %%: shown for %d of %d models, right for %d", 100*part.done, shown, len(models), right)
		assert.GreaterOrEqual(t, float64(shown), part.shown*float64(len(models)), "at %v", part.done)
		assert.GreaterOrEqual(t, float64(right), part.right*float64(shown), "at %v", part.done)
	}
}

func TestNoForecast(t *testing.T) {
	for name, levels := range map[string][]uint64{
		"nothing": nil, "short": {1, 10_000, 5_000}, "small": {1, 2, 3, 4, 5, 6, 7, 6, 5, 4, 3, 2, 1},
		"grows": {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192},
		"ended": {1, 2, 4, 8, 16, 32, 640, 1280, 2560, 5120, 1024, 20, 4, 0},
	} {
		_, _, ok := forecast(levels)
		assert.False(t, ok, name)
	}
	assert.Empty(t, forecastText(nil, 0, 1))
}

func TestForecastText(t *testing.T) {
	levels := recordedLevels(t)["elect3_4"]
	sum := uint64(0)
	for _, w := range levels[:20] {
		sum += w
	}
	assert.Regexp(t, `^, about [\d.]+( M)? to [\d.]+ M states, \d+ s to \d+ (s|min) left$`, forecastText(levels[:20], sum, 20_000))
	assert.Equal(t, "45 s", durationText(45*time.Second))
	assert.Equal(t, "3 min", durationText(170*time.Second))
	assert.Equal(t, "2.5 h", durationText(150*time.Minute))
}
