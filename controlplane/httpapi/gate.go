package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/internal/problem"
)

// Extensions of an operation about the work that it does.
const (
	classExtension    = "x-class"
	placesExtension   = "x-places"           // how many places a request takes: one is about a MiB of memory
	deadlineExtension = "x-deadline-seconds" // of a bounded operation
	answerExtension   = "x-answer-seconds"   // in which a cheap read begins its answer, for clients: it limits its own queries
)

// class says what bounds the work of an operation.
type class string

const (
	// cheap operations read and write a few rows. They need no place.
	cheap class = "cheap"
	// bounded operations compute while the client waits. They have a deadline.
	bounded class = "bounded"
	// streamed operations take as long as the client reads, or as long as a model that they wait for.
	streamed class = "streamed"
	// durable operations leave their work to a job or to another service. They need no place.
	durable class = "durable"
)

// defaultPlaces and defaultDeadline are those of operations without the extensions.
const (
	defaultPlaces   = 16
	defaultDeadline = 10 * time.Second
)

// places are how many places of a class there are: for a user or a key, for a project, and for the process.
type places struct{ caller, project, all int }

// classPlaces are the places of the classes that need them. Those of bounded ones are the memory that the process has for them.
var classPlaces = map[class]places{
	bounded:  {64, 128, 256},
	streamed: {500, 1000, 5000},
}

// readWork reads the extensions about the work of an operation.
func (op *operation) readWork(extensions map[string]any) error {
	name, _ := extensions[classExtension].(string)
	op.class, op.places, op.deadline = class(name), defaultPlaces, defaultDeadline
	if !slices.Contains([]class{cheap, bounded, streamed, durable}, op.class) {
		return fmt.Errorf("operation %s must have %s: cheap, bounded, streamed or durable", op.id, classExtension)
	}
	most, gated := classPlaces[op.class]
	if n, ok := extensions[placesExtension]; ok {
		given, isNumber := n.(float64)
		op.places = int(given)
		if !isNumber || !gated || op.places < 1 || op.places > most.caller {
			return fmt.Errorf("operation %s has %s: %v, which its class %s does not have", op.id, placesExtension, n, op.class)
		}
	}
	if n, ok := extensions[deadlineExtension]; ok {
		given, isNumber := n.(float64)
		op.deadline = time.Duration(given) * time.Second
		if !isNumber || op.class != bounded || op.deadline <= 0 || op.deadline >= op.writeTimeout {
			return fmt.Errorf("operation %s has %s: %v; a bounded one may have a number below its write timeout", op.id, deadlineExtension, n)
		}
	}
	if n, ok := extensions[answerExtension]; ok {
		given, isNumber := n.(float64)
		if answer := time.Duration(given) * time.Second; !isNumber || op.class != cheap || op.route.Method != http.MethodGet || answer <= defaultDeadline || answer >= op.writeTimeout {
			return fmt.Errorf("operation %s has %s: %v; a cheap read may have a number above %.0f, below its write timeout", op.id, answerExtension, n, defaultDeadline.Seconds())
		}
	}
	return nil
}

// gate has the places of one class.
type gate struct {
	places
	mu       sync.Mutex
	taken    int
	callers  map[string]int
	projects map[uuid.UUID]int
}

func newGates() map[class]*gate {
	gates := map[class]*gate{}
	for name, n := range classPlaces {
		gates[name] = &gate{places: n, callers: map[string]int{}, projects: map[uuid.UUID]int{}}
	}
	return gates
}

// enter takes n places of a caller in the projects that the request may concern. It reports false if the caller or all of the projects have
// no more.
func (g *gate) enter(caller string, projects []uuid.UUID, n int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	full := func(project uuid.UUID) bool { return g.projects[project]+n > g.project }
	if g.callers[caller]+n > g.caller || len(projects) > 0 && !slices.ContainsFunc(projects, func(p uuid.UUID) bool { return !full(p) }) {
		return false
	}
	g.callers[caller] += n
	for _, project := range projects {
		g.projects[project] += n
	}
	return true
}

func (g *gate) leave(caller string, projects []uuid.UUID, n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.callers[caller] -= n; g.callers[caller] == 0 {
		delete(g.callers, caller)
	}
	for _, project := range projects {
		if g.projects[project] -= n; g.projects[project] == 0 {
			delete(g.projects, project)
		}
	}
}

// begin takes n places of the process. It reports false if there are no more.
func (g *gate) begin(n int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.taken+n > g.all {
		return false
	}
	g.taken += n
	return true
}

func (g *gate) end(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.taken -= n
}

// errNoPlace is the refusal of a request whose places are taken.
func errNoPlace(op *operation) error {
	if op.class == streamed {
		return &problem.Error{
			Kind: problem.RateLimited, Code: "too_many_streams", RetryAfter: 10 * time.Second,
			Detail: "You, or your project, have too many streams, exports and completions open. Close one, or wait until one ends.",
		}
	}
	return &problem.Error{
		Kind: problem.RateLimited, Code: "too_much_at_once", RetryAfter: time.Second,
		Detail: "You, or your project, have too many requests of this kind under way. Send it again when one has ended.",
	}
}

// overdueError is why the context of a bounded operation ended.
type overdueError struct{ after time.Duration }

func (e *overdueError) Error() string { return "the work took longer than " + e.after.String() }

func (e *overdueError) problem() *problem.Error {
	return &problem.Error{
		Kind: problem.Invalid, Code: "too_much_work",
		Detail: fmt.Sprintf("The request needs more than %s of work, and was stopped. Ask for less: fewer or smaller values, or a "+
			"narrower range. Imports and exports have no such limit.", e.after),
	}
}

// overdue returns the error of a context that a deadline of the gate has ended.
func overdue(ctx context.Context) *overdueError {
	late, _ := errors.AsType[*overdueError](context.Cause(ctx))
	return late
}

// enter takes the caller's places before the body is read, so that bodies that wait count. The projects are those of the query, the path or
// the key. A request that names none may concern all that the caller sees.
func (a *api) enter(c *gin.Context) {
	request := callOf(c.Request.Context())
	op := request.operation
	gate, gated := a.gates[op.class]
	if !gated {
		c.Next()
		return
	}
	caller, projects := request.principal.ID(), projectsOf(c, request.principal)
	if !gate.enter(caller, projects, op.places) {
		a.fail(c, errNoPlace(op))
		return
	}
	defer gate.leave(caller, projects, op.places)
	c.Next()
}

// projectsOf returns the projects that a request may concern. The caller's own are the only ones that count.
func projectsOf(c *gin.Context, p *access.Principal) []uuid.UUID {
	seen := make([]uuid.UUID, len(p.Projects))
	for i := range p.Projects {
		seen[i] = p.Projects[i].ID
	}
	named := c.Param("project_id")
	if named == "" {
		named = c.Query("project_id")
	}
	if id, err := uuid.Parse(named); err == nil && slices.Contains(seen, id) {
		return []uuid.UUID{id}
	}
	return seen
}

// work takes the places of the process, and begins the deadline. It runs when the body was read: a slow client must not keep others waiting.
// An operation that reads its body itself calls begin of its call then.
func (a *api) work(c *gin.Context) {
	request := callOf(c.Request.Context())
	gate, gated := a.gates[request.operation.class]
	if !gated {
		c.Next()
		return
	}
	ctx, cancel := context.WithCancelCause(c.Request.Context())
	defer cancel(nil)
	c.Request = c.Request.WithContext(ctx)
	w := &working{gate: gate, op: request.operation, cancel: cancel}
	defer w.end()
	request.begin = w.begin
	if !w.op.streamBody {
		if err := w.begin(); err != nil {
			a.fail(c, err)
			return
		}
	}
	c.Next()
}

// working is the work of a request.
type working struct {
	gate   *gate
	op     *operation
	cancel context.CancelCauseFunc
	begun  bool
	timer  *time.Timer
}

func (w *working) begin() error {
	if !w.gate.begin(w.op.places) {
		return errNoPlace(w.op)
	}
	w.begun = true
	if w.op.class == bounded {
		w.timer = time.AfterFunc(w.op.deadline, func() { w.cancel(&overdueError{w.op.deadline}) })
	}
	return nil
}

func (w *working) end() {
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.begun {
		w.gate.end(w.op.places)
	}
}
