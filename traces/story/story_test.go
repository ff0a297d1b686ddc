package story_test

import (
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/quorate/quorate/traces/story"
)

// Every story is played by the specification and by the implementation, and both
// must print what stands in the script.
func TestStories(t *testing.T) {
	casts := []struct {
		name string
		new  func(story.Cluster) (story.Cast, error)
	}{{"spec", story.NewSpec}, {"core", newCore}}
	for _, c := range casts {
		t.Run(c.name, func(t *testing.T) {
			datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
				p := story.Play{New: c.new}
				datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
					var args []string
					for _, a := range d.CmdArgs {
						args = append(args, a.String())
					}
					out, err := p.Command(d.Cmd, args)
					if err != nil {
						return "error: " + err.Error() + "\n"
					}
					return out
				})
			})
		})
	}
}
