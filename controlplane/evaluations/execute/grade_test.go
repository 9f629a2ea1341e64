package execute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/grader"
)

// TestGradingEndsWithTheRequest has 50 expressions that take half a minute together, and a request that ends.
func TestGradingEndsWithTheRequest(t *testing.T) {
	t.Parallel()
	numbers := make([]int, 1000)
	input, err := json.Marshal(map[string]any{"l": numbers})
	require.NoError(t, err)
	graders := make([]*grader.Grader, 50)
	for i := range graders {
		graders[i], err = grader.Parse(fmt.Appendf(nil, `{"name":"g%d","type":"expression","expression":"input.l.all(a, input.l.all(b, input.l.all(c, a+b+c >= 0)))"}`, i), "graders")
		require.NoError(t, err)
	}
	late := errors.New("the time is over")
	ctx, end := context.WithCancelCause(t.Context())
	done := make(chan error)
	go func() {
		_, err := Grade(ctx, graders, &grader.Sample{Input: input})
		done <- err
	}()
	end(late)
	require.ErrorIs(t, <-done, late)
}
