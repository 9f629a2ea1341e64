package httpapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/agents"
	"github.com/looptrace/looptrace/controlplane/causes"
	"github.com/looptrace/looptrace/controlplane/completions"
	"github.com/looptrace/looptrace/controlplane/datasets"
	"github.com/looptrace/looptrace/controlplane/datasets/duplicates"
	"github.com/looptrace/looptrace/controlplane/diagnoses"
	"github.com/looptrace/looptrace/controlplane/evaluations"
	"github.com/looptrace/looptrace/controlplane/evaluations/execute"
	"github.com/looptrace/looptrace/controlplane/evaluations/report"
	"github.com/looptrace/looptrace/controlplane/evaluations/start"
	"github.com/looptrace/looptrace/controlplane/failures"
	"github.com/looptrace/looptrace/controlplane/findings"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/idempotency"
	"github.com/looptrace/looptrace/controlplane/identity"
	"github.com/looptrace/looptrace/controlplane/instrument"
	"github.com/looptrace/looptrace/controlplane/organizations"
	"github.com/looptrace/looptrace/controlplane/playground"
	"github.com/looptrace/looptrace/controlplane/pricing"
	"github.com/looptrace/looptrace/controlplane/projects"
	"github.com/looptrace/looptrace/controlplane/prompts"
	"github.com/looptrace/looptrace/controlplane/providers"
	"github.com/looptrace/looptrace/controlplane/recording"
	"github.com/looptrace/looptrace/controlplane/replays"
	"github.com/looptrace/looptrace/controlplane/replays/batches"
	"github.com/looptrace/looptrace/controlplane/rules"
	"github.com/looptrace/looptrace/controlplane/runs"
	"github.com/looptrace/looptrace/controlplane/views"
	"github.com/looptrace/looptrace/controlplane/work"
	"github.com/looptrace/looptrace/internal/problem"
)

// Services are the services behind the operations.
type Services struct {
	Identity      *identity.Service
	Idempotency   *idempotency.Service
	Organizations *organizations.Service
	Projects      *projects.Service
	Pricing       *pricing.Service
	Prompts       *prompts.Service
	Datasets      *datasets.Service
	Duplicates    *duplicates.Service
	Providers     *providers.Service
	Playground    *playground.Service
	Completions   *completions.Service
	Evaluations   EvaluationServices
	Replays       *replays.Service
	ReplayBatches *batches.Service
	Diagnoses     *diagnoses.Service
	Rules         *rules.Service
	Recorder      *recording.Recorder
	Views         *views.Service
	Work          *work.Queue
	Runs          *runs.Service
	Causes        *causes.Service
	Failures      *failures.Service
	Agents        *agents.Service
	Findings      *findings.Service
	Guides        *instrument.Guides
	// Tools is the MCP server.
	Tools http.Handler
	// FenceKey is the key from which the marks around recorded text are derived.
	FenceKey []byte
}

// EvaluationServices are those of evaluations: what is stored, what starts and works on them, and what reports on them.
type EvaluationServices struct {
	*evaluations.Service
	*start.Starter
	*execute.Worker
	*report.Reporter
}

// operations implements the contract, one part per subject.
type operations struct {
	accountHandlers
	agentHandlers
	agentViewHandlers
	candidateHandlers
	comparisonHandlers
	datasetHandlers
	diagnosisHandlers
	diffHandlers
	evalRuleHandlers
	evalRunHandlers
	exportHandlers
	failureHandlers
	findingHandlers
	healthHandlers
	identityHandlers
	instrumentHandlers
	invitationHandlers
	judgeHandlers
	keyHandlers
	memberHandlers
	nearDuplicateHandlers
	organizationHandlers
	outlineHandlers
	playgroundHandlers
	priceHandlers
	projectHandlers
	promptHandlers
	providerHandlers
	replayHandlers
	runHandlers
	sampleHandlers
	scoreHandlers
	statsHandlers
	streamHandlers
	threadHandlers
	viewHandlers
	workHandlers
}

var _ contract.StrictServerInterface = (*operations)(nil)

func newOperations(s Services, addresses Addresses, log *slog.Logger) *operations {
	judges := judgeHandlers{s.Evaluations, s.Prompts}
	replayed := replayHandlers{s.Replays, s.ReplayBatches, s.Prompts, s.Runs, s.Findings, judges}
	comparisons := comparisonHandlers{s.Evaluations, s.Prompts, judges, log}
	return &operations{
		accountHandlers{s.Identity},
		agentHandlers{s.Agents, s.Runs},
		agentViewHandlers{s.Runs, s.FenceKey},
		candidateHandlers{s.Causes},
		comparisons,
		datasetHandlers{s.Datasets, s.Runs, log},
		diagnosisHandlers{s.Diagnoses},
		diffHandlers{s.Runs},
		evalRuleHandlers{s.Rules, judges},
		evalRunHandlers{s.Evaluations, judges, comparisons, s.Runs},
		exportHandlers{s.Runs, log},
		failureHandlers{s.Failures},
		findingHandlers{s.Findings, replayed},
		healthHandlers{map[string]pinger{"postgresql": s.Identity, "clickhouse": s.Runs}, log},
		identityHandlers{s.Identity},
		instrumentHandlers{s.Projects, s.Guides, addresses},
		invitationHandlers{s.Identity, addresses},
		judges,
		keyHandlers{s.Identity},
		memberHandlers{s.Identity, addresses},
		nearDuplicateHandlers{s.Duplicates},
		organizationHandlers{s.Organizations, s.Runs},
		outlineHandlers{s.Runs},
		playgroundHandlers{s.Playground, s.Completions, s.Providers, s.Prompts, s.Runs},
		priceHandlers{s.Pricing},
		projectHandlers{s.Projects},
		promptHandlers{s.Prompts, s.Runs},
		providerHandlers{s.Providers},
		replayed,
		runHandlers{s.Runs, s.Prompts, s.Rules},
		sampleHandlers{s.Projects, s.Prompts, s.Datasets, s.Evaluations, s.Recorder},
		scoreHandlers{s.Runs},
		statsHandlers{s.Runs},
		streamHandlers{s.Runs},
		threadHandlers{s.Runs},
		viewHandlers{s.Views},
		workHandlers{s.Work},
	}
}

// api has the middleware around the operations.
type api struct {
	identity    *identity.Service
	idempotency *idempotency.Service
	operations  map[string]*operation
	policy      access.Policy
	limits      RateLimits
	gates       map[class]*gate
	addresses   Addresses
	crossOrigin *http.CrossOriginProtection
	metrics     *metrics
	log         *slog.Logger
}

// New returns the API as an HTTP handler.
func New(services Services, limits RateLimits, addresses Addresses, log *slog.Logger) (*gin.Engine, error) {
	doc, err := contract.Read()
	if err != nil {
		return nil, err
	}
	reference, err := newReference(addresses)
	if err != nil {
		return nil, err
	}
	a := &api{
		identity: services.Identity, idempotency: services.Idempotency, limits: limits, addresses: addresses,
		crossOrigin: http.NewCrossOriginProtection(), metrics: newMetrics(), gates: newGates(), log: log,
	}
	if a.operations, a.policy, err = readOperations(doc); err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	op := newOperations(services, addresses, log)

	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.ContextWithFallback = true // a handler's context ends with its request
	engine.UseRawPath = true          // an encoded slash belongs to a session's id
	engine.HandleMethodNotAllowed = true
	engine.RedirectTrailingSlash = false
	engine.Use(addresses.identify, a.observe, a.recoverPanic, secureHeaders)
	engine.NoRoute(func(c *gin.Context) { a.fail(c, errNoRoute) })
	engine.NoMethod(func(c *gin.Context) { a.fail(c, errMethodNotAllowed) })

	engine.GET("/metrics", a.metrics.serve)
	engine.GET("/v1/openapi.json", a.ownHost, reference.serveDocument)
	engine.GET("/v1/docs", a.ownHost, reference.servePage)
	engine.GET("/v1/docs/style.css", a.ownHost, reference.serveStyle)
	engine.GET("/v1/docs/script.js", a.ownHost, reference.serveScript)
	engine.GET("/llms.txt", a.ownHost, func(c *gin.Context) {
		if err := op.serveLLMsText(c); err != nil {
			a.fail(c, err)
		}
	})
	engine.POST("/mcp", a.ownHost, a.ownOrigin, a.begin, a.authenticate, a.limit, a.enter, a.work, a.caller, gin.WrapH(services.Tools))

	// All other operations of the contract. The document declares their access and limits.
	all := engine.Group("", a.begin, a.ownSite, a.private(a.authenticate), a.private(a.limit), a.private(a.enter), a.validate, a.private(a.authorize), compress, a.idempotent, a.private(a.work))
	contract.RegisterHandlersWithOptions(all, contract.NewStrictHandlerWithOptions(op, []contract.StrictMiddlewareFunc{ownContext}, contract.StrictGinServerOptions{
		HandlerErrorFunc:         a.fail,
		RequestErrorHandlerFunc:  a.unreadable,
		ResponseErrorHandlerFunc: a.unwritten,
	}), contract.GinServerOptions{ErrorHandler: func(c *gin.Context, err error, _ int) { a.unreadable(c, err) }})
	return engine, nil
}

// private skips the middleware for public operations.
func (a *api) private(middleware gin.HandlerFunc) gin.HandlerFunc {
	return func(c *gin.Context) {
		if callOf(c.Request.Context()).operation.public {
			c.Next()
			return
		}
		middleware(c)
	}
}

// unreadable answers a request that the document allows but the generated types cannot hold.
func (a *api) unreadable(c *gin.Context, err error) { a.fail(c, unheld(err)) }

// unheld says what generated types cannot hold without their names.
func unheld(err error) error {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		what := "is of type " + wrong.Value + ", which does not belong here"
		if strings.HasPrefix(wrong.Value, "number") {
			what = "is " + wrong.Value + ", which is not an integer or out of range"
		}
		return problem.InvalidField(strings.TrimSuffix("body."+wrong.Field, "."), what)
	}
	if name, ok := strings.CutPrefix(err.Error(), "Invalid format for parameter "); ok {
		name, _, _ = strings.Cut(name, ":")
		return problem.InvalidField("query."+name, "has a value that cannot be read or is out of range")
	}
	return problem.InvalidField("request", "has a value that cannot be read or is out of range")
}

// unwritten ends a request whose answer could not be written.
func (a *api) unwritten(c *gin.Context, err error) {
	if c.Writer.Written() { // the client disconnected
		c.Abort()
		return
	}
	a.fail(c, fmt.Errorf("write answer: %w", err))
}

// ownContext gives an operation a copy of its context. Gin reuses the original for the next request, while a deadline that expires at the
// end of the request may still read it.
func ownContext(operation contract.StrictHandlerFunc, _ string) contract.StrictHandlerFunc {
	return func(c *gin.Context, request any) (any, error) { return operation(c.Copy(), request) }
}
