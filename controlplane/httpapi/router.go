package httpapi

import (
	_ "embed"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/gin-gonic/gin"

	"github.com/looptrace/looptrace/controlplane/failures"
	"github.com/looptrace/looptrace/controlplane/identity"
	"github.com/looptrace/looptrace/controlplane/instrument"
	"github.com/looptrace/looptrace/controlplane/mcpserver"
)

//go:embed openapi.yaml
var document []byte

// api implements the operations of the contract.
type api struct {
	identity    *identity.Service
	runs        Runs
	failures    *failures.Service
	limits      RateLimits
	log         *slog.Logger
	metrics     *metrics
	validator   *validator
	crossOrigin *http.CrossOriginProtection
	// fenceKey decides the marks around recorded text.
	fenceKey  []byte
	guides    *instrument.Guides
	addresses Addresses
}

var _ StrictServerInterface = (*api)(nil)

// New returns the API as an HTTP handler.
func New(identities *identity.Service, runs Runs, limits RateLimits, addresses Addresses, log *slog.Logger) (*gin.Engine, error) {
	doc, err := openapi3.NewLoader().LoadFromData(document)
	if err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	reference, err := newReference(doc)
	if err != nil {
		return nil, err
	}
	guides, err := instrument.New()
	if err != nil {
		return nil, fmt.Errorf("read the instrument guide: %w", err)
	}
	a := &api{
		identity: identities, runs: runs, failures: failures.New(runs), limits: limits, log: log,
		metrics: newMetrics(), validator: newValidator(doc), crossOrigin: http.NewCrossOriginProtection(),
		fenceKey: identities.DeriveKey("marks around recorded text"), guides: guides, addresses: addresses,
	}

	gin.SetMode(gin.ReleaseMode)
	engine := gin.New()
	engine.ContextWithFallback = true // a handler's context ends with its request
	engine.UseRawPath = true          // an encoded slash belongs to a session's id
	engine.HandleMethodNotAllowed = true
	engine.RedirectTrailingSlash = false
	if err := engine.SetTrustedProxies(trustedProxies); err != nil {
		return nil, fmt.Errorf("set trusted proxies: %w", err)
	}
	engine.Use(identify, a.observe, a.recoverPanic, secureHeaders)
	engine.NoRoute(func(c *gin.Context) { a.fail(c, errNoRoute) })
	engine.NoMethod(func(c *gin.Context) { a.fail(c, errMethodNotAllowed) })

	op := a.operations()

	// At whatever host: an orchestrator asks by the address of a container, and the answers hold nothing of what was recorded.
	engine.GET("/healthz", op.Healthz)
	engine.GET("/readyz", op.Readyz)
	engine.GET("/metrics", a.metrics.serve)
	engine.GET("/v1/openapi.json", a.ownHost, reference.serveDocument)
	engine.GET("/v1/docs", a.ownHost, reference.servePage)
	engine.GET("/v1/docs/style.css", a.ownHost, reference.serveStyle)
	engine.GET("/llms.txt", a.ownHost, a.serveLLMsText)

	public := engine.Group("/v1", a.ownSite, a.validate)
	public.GET("/setup", op.GetSetup)
	public.POST("/setup", op.Setup)
	public.POST("/login", op.Login)

	tools, err := mcpserver.New(mcpserver.Config{Runs: runs, Caller: toolCaller, FenceKey: a.fenceKey, Log: log})
	if err != nil {
		return nil, fmt.Errorf("make the MCP server: %w", err)
	}
	engine.POST("/mcp", a.ownHost, a.ownOrigin, a.authenticate, a.limit, gin.WrapH(tools))

	private := engine.Group("/v1", a.ownHost, a.sameOrigin, a.authenticate, a.limit, a.validate)
	private.POST("/logout", op.Logout) // of this session: what another of the user was answered does not end it
	private.Use(a.idempotent)
	private.GET("/me", op.GetMe)

	private.GET("/projects", op.ListProjects)
	private.POST("/projects", op.CreateProject)
	private.GET("/projects/:project_id", op.GetProject)
	private.PATCH("/projects/:project_id", op.UpdateProject)
	private.GET("/projects/:project_id/limits", op.GetProjectLimits)
	private.PUT("/projects/:project_id/limits", op.SetProjectLimits)

	private.GET("/projects/:project_id/prices", op.ListPrices)
	private.POST("/projects/:project_id/prices", op.CreatePrice)
	private.GET("/projects/:project_id/prices/_unpriced", op.ListUnpricedModels)
	private.PUT("/projects/:project_id/prices/:price_id", op.SetPrice)
	private.DELETE("/projects/:project_id/prices/:price_id", op.DeletePrice)
	private.GET("/projects/:project_id/views", op.ListViews)
	private.POST("/projects/:project_id/views", op.CreateView)
	private.PATCH("/projects/:project_id/views/:view_id", op.UpdateView)
	private.DELETE("/projects/:project_id/views/:view_id", op.DeleteView)

	private.GET("/keys", op.ListKeys)
	private.POST("/keys", op.CreateKey)
	private.GET("/keys/:key_id", op.GetKey)
	private.DELETE("/keys/:key_id", op.RevokeKey)
	private.POST("/keys/:key_id/_actions/rotate", op.RotateKey)

	private.GET("/agent/instrument-guide", op.GetInstrumentGuide)

	private.GET("/runs", op.ListRuns)
	private.GET("/runs/stats", op.GetRunStats)
	private.GET("/runs/stream", op.StreamRuns)
	private.GET("/runs/fields", op.ListRunFields)
	private.GET("/runs/fields/:field/values", op.ListRunFieldValues)
	private.GET("/runs/:run_id", op.GetRun)
	private.GET("/runs/:run_id/agent-view", op.GetAgentView)
	private.GET("/runs/:run_id/outline", compress, op.GetOutline)
	private.GET("/agent/failed-runs", compress, op.ListFailedRuns)
	private.GET("/agent/failed-runs/:fingerprint", op.GetFailedRuns)
	private.GET("/runs/:run_id/diff/:other_run_id", compress, op.DiffRuns)
	private.GET("/runs/:run_id/spans", op.ListSpans)
	private.GET("/runs/:run_id/spans/:span_id", op.GetSpan)
	private.POST("/runs/_actions/delete", op.DeleteRuns)
	private.GET("/runs/export", compress, op.ExportRuns)
	private.GET("/threads", op.ListThreads)
	private.GET("/threads/:session_id", op.GetThread)
	private.GET("/runs/:run_id/scores", op.ListScores)
	private.POST("/runs/:run_id/scores", op.PutScore)
	private.DELETE("/runs/:run_id/scores/:score_id", op.DeleteScore)

	return engine, nil
}

// operations returns the generated wrappers, which read parameters and bodies and write answers. Their errors
// end where all do.
func (a *api) operations() *ServerInterfaceWrapper {
	return &ServerInterfaceWrapper{
		Handler: NewStrictHandlerWithOptions(a, []StrictMiddlewareFunc{ownContext}, StrictGinServerOptions{
			HandlerErrorFunc:         a.fail,
			RequestErrorHandlerFunc:  a.unreadable,
			ResponseErrorHandlerFunc: a.unwritten,
		}),
		ErrorHandler: func(c *gin.Context, err error, _ int) { a.unreadable(c, err) },
	}
}

// unreadable answers a request that the document allows and the generated types cannot hold.
func (a *api) unreadable(c *gin.Context, err error) {
	a.fail(c, requestErrors{{Location: "request", Message: err.Error()}})
}

// unwritten ends a request whose answer could not be written.
func (a *api) unwritten(c *gin.Context, err error) {
	if c.Writer.Written() { // the client went away; nothing can be told
		c.Abort()
		return
	}
	a.fail(c, fmt.Errorf("write answer: %w", err))
}

// ownContext gives an operation a context that gin does not give to the next request: a deadline that ends just as the request does still
// looks at it.
func ownContext(operation StrictHandlerFunc, _ string) StrictHandlerFunc {
	return func(c *gin.Context, request any) (any, error) { return operation(c.Copy(), request) }
}
