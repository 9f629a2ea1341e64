package httpapi

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/gin-gonic/gin"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
)

// TestEveryOperationHasAClass reads the document of the product: an operation without a class would have no bound.
func TestEveryOperationHasAClass(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(contract.Document)
	require.NoError(t, err)
	operations, _, err := readOperations(doc)
	require.NoError(t, err)
	for name, op := range operations {
		assert.NotEmpty(t, op.class, name)
		if _, gated := classPlaces[op.class]; gated {
			assert.False(t, op.public, "%s: the places are those of a caller", name)
		}
	}
}

func TestReadWork(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ in, wrong string }{
		"no class":                    {"x-other: 1", "must have x-class"},
		"unknown class":               {"x-class: fast", "must have x-class"},
		"places of a cheap one":       {"x-class: cheap\n      x-places: 1", "x-places: 1"},
		"no places":                   {"x-class: bounded\n      x-places: 0", "x-places: 0"},
		"more places than a caller":   {"x-class: bounded\n      x-places: 65", "x-places: 65"},
		"deadline of a stream":        {"x-class: streamed\n      x-deadline-seconds: 20", "x-deadline-seconds: 20"},
		"answer of no read":           {"x-class: cheap\n      x-answer-seconds: 20", "x-answer-seconds: 20"},
		"deadline after the answer's": {"x-class: bounded\n      x-deadline-seconds: 300", "x-deadline-seconds: 300"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := openapi3.NewLoader().LoadFromData([]byte(strings.Replace(upload, "x-class: bounded\n      x-deadline-seconds: 20", c.in, 1)))
			require.NoError(t, err)
			_, _, err = readOperations(doc)
			require.ErrorContains(t, err, c.wrong)
		})
	}
}

func TestGate(t *testing.T) {
	t.Parallel()
	g := &gate{places: places{caller: 4, project: 6, all: 10}, callers: map[string]int{}, projects: map[uuid.UUID]int{}}
	mine, other := uuid.New(), uuid.New()
	in := func(projects ...uuid.UUID) []uuid.UUID { return projects }
	assert.True(t, g.enter("a", in(mine), 4))
	assert.False(t, g.enter("a", in(mine), 1), "the caller has no more")
	assert.False(t, g.enter("b", in(mine), 3), "the project has no more")
	assert.True(t, g.enter("b", in(mine), 2))
	assert.True(t, g.enter("c", in(mine, other), 2), "it may be for the other project")
	assert.True(t, g.enter("d", in(other), 4))
	assert.False(t, g.enter("e", in(mine, other), 1))
	assert.True(t, g.enter("f", nil, 1), "nothing of a project")
	g.leave("a", in(mine), 4)
	assert.True(t, g.enter("e", in(mine), 1))

	assert.True(t, g.begin(10))
	assert.False(t, g.begin(1))
	g.end(10)
	assert.True(t, g.begin(1))

	for caller, n := range map[string]int{"b": 2, "e": 1} {
		g.leave(caller, in(mine), n)
	}
	g.leave("c", in(mine, other), 2)
	g.leave("d", in(other), 4)
	g.leave("f", nil, 1)
	assert.Empty(t, g.callers)
	assert.Empty(t, g.projects)
}

// TestDeadline has an operation whose work does not end.
func TestDeadline(t *testing.T) {
	t.Parallel()
	a := &api{gates: newGates(), log: slog.New(slog.DiscardHandler)}
	op := &operation{class: bounded, places: classPlaces[bounded].caller, deadline: time.Millisecond, writeTimeout: time.Minute}
	engine := gin.New()
	engine.ContextWithFallback = true
	engine.Use(Addresses{}.identify, func(c *gin.Context) {
		callOf(c).operation, callOf(c).principal = op, &access.Principal{User: &access.User{ID: uuid.UUID{1}}}
	})
	started, halt := make(chan struct{}), make(chan struct{})
	engine.GET("/endless", a.enter, a.work, func(c *gin.Context) {
		<-c.Done()
		a.fail(c, c.Err())
	})
	engine.GET("/waiting", a.enter, func(c *gin.Context) {
		close(started)
		<-halt
		c.Status(http.StatusNoContent)
	})
	get := func(path string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		engine.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
		return w
	}
	w := get("/endless")
	assert.Equal(t, http.StatusUnprocessableEntity, w.Code)
	assert.Contains(t, w.Body.String(), `"code":"too_much_work"`)
	assert.Contains(t, w.Body.String(), "more than 1ms of work")

	ended := make(chan struct{})
	go func() {
		defer close(ended)
		assert.Equal(t, http.StatusNoContent, get("/waiting").Code)
	}()
	<-started
	w = get("/endless")
	assert.Equal(t, http.StatusTooManyRequests, w.Code)
	assert.Equal(t, "1", w.Header().Get("Retry-After"))
	assert.Contains(t, w.Body.String(), `"code":"too_much_at_once"`)
	close(halt)
	<-ended
	assert.Equal(t, http.StatusUnprocessableEntity, get("/endless").Code, "the places are free again")
	assert.Zero(t, a.gates[bounded].taken)
}

// TestOverdueIsOnlyTheGates: other ends of a context are not its deadline.
func TestOverdueIsOnlyTheGates(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	assert.Nil(t, overdue(ctx))
	cancel(errors.New("stopped"))
	assert.Nil(t, overdue(ctx))
	ctx, cancel = context.WithCancelCause(t.Context())
	cancel(&overdueError{time.Second})
	assert.Equal(t, time.Second, overdue(ctx).after)
}
