package peer

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/quorate/quorate/checker"
)

// QuorateResult is what a run of `quorate check -json` found.
type QuorateResult struct {
	Run
	checker.Result
}

// Quorate runs our checker on a model, as a process like the others.
func Quorate(ctx context.Context, program, model string, args ...string) (*QuorateResult, error) {
	r, err := Do(ctx, "", program, append([]string{"check", "-json", "-model", model}, args...)...)
	if err != nil {
		return nil, err
	}
	res := &QuorateResult{Run: *r}
	if err := json.Unmarshal([]byte(r.Output), &res.Result); err != nil || res.Result.Distinct == 0 {
		return nil, fmt.Errorf("%s check -model %s: no result: %v\n%s", program, model, err, r.Tail(5))
	}
	return res, nil
}
