package httpapi_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	ch "github.com/ClickHouse/clickhouse-go/v2"
	"github.com/ClickHouse/clickhouse-go/v2/lib/driver"
	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi"
	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/clickhouse"
	"github.com/looptrace/looptrace/internal/postgres"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
	"github.com/looptrace/looptrace/test/provider"
)

// statements are what a request asked of both stores.
type statements struct {
	mu   sync.Mutex
	list []statement
}

// statement is one, with how many rows the store read for it and how many came back.
type statement struct {
	Text           string
	Read, Returned uint64
}

func (s *statements) add(one statement) {
	if strings.Contains(one.Text, "PGNotifyMany") { // River notifies its workers only so often, whoever adds a job
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, one)
}

func (s *statements) take() []statement {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.list
	s.list = nil
	return list
}

// watchedStore notes what is asked of ClickHouse.
type watchedStore struct {
	driver.Conn
	to *statements
}

func (w watchedStore) PrepareBatch(ctx context.Context, query string, options ...driver.PrepareBatchOption) (driver.Batch, error) {
	w.to.add(statement{Text: "ClickHouse: " + query})
	return w.Conn.PrepareBatch(ctx, query, options...)
}

func (w watchedStore) Exec(ctx context.Context, query string, args ...any) error {
	w.to.add(statement{Text: "ClickHouse: " + query + fmt.Sprintf(" %v", args)})
	return w.Conn.Exec(ctx, query, args...)
}

func (w watchedStore) Query(ctx context.Context, query string, args ...any) (driver.Rows, error) {
	rows := &watchedRows{to: w.to, text: "ClickHouse: " + query + fmt.Sprintf(" %v", args)}
	ctx = ch.Context(ctx, ch.WithProgress(func(p *ch.Progress) { rows.read.Add(p.Rows) }))
	found, err := w.Conn.Query(ctx, query, args...)
	if err != nil {
		w.to.add(statement{Text: rows.text})
		return nil, err
	}
	rows.Rows = found
	return rows, nil
}

// watchedRows notes the statement that found them when they are closed.
type watchedRows struct {
	driver.Rows
	to       *statements
	text     string
	read     atomic.Uint64
	returned uint64
	isNoted  bool
}

func (r *watchedRows) Next() bool {
	more := r.Rows.Next()
	if more {
		r.returned++
	}
	return more
}

func (r *watchedRows) Close() error {
	err := r.Rows.Close()
	if !r.isNoted {
		r.isNoted = true
		r.to.add(statement{Text: r.text, Read: r.read.Load(), Returned: r.returned})
	}
	return err
}

func (w watchedStore) QueryRow(ctx context.Context, query string, args ...any) driver.Row {
	w.to.add(statement{Text: "ClickHouse: " + query + fmt.Sprintf(" %v", args)})
	return w.Conn.QueryRow(ctx, query, args...)
}

// TraceQueryStart keeps the text of a statement on PostgreSQL until it has ended.
func (s *statements) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	return context.WithValue(ctx, s, data.SQL)
}

// TraceQueryEnd notes the statement with how many rows it was about.
func (s *statements) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	s.add(statement{Text: fmt.Sprint("PostgreSQL: ", ctx.Value(s)), Returned: uint64(data.CommandTag.RowsAffected())})
}

// named is something that a request can name: what the caller has, what another tenant has, and what nobody has.
type named struct{ mine, foreign, unknown string }

// nameless are the parameters and members of bodies that name nothing that is stored.
var nameless = []string{
	"status", "outcome", "replayability", "signal", "traces", "window_seconds", "start_after", "start_before", "min_duration_ms", "min_cost_usd", "min_tokens", "has_score",
	"order", "limit", "offset", "skip", "bucket_seconds", "group_by", "groups", "Last-Event-ID", "received_before", "dry_run",
	"format", "include", "full", "fold", "token_budget", "encoding", "value", "comment", "source", "key", "project",
	"valid_from", "input", "output", "cache_read", "cache_write", "cache_write_1h", "reasoning", "page", "query", "scopes", "expires_at",
	"language", "framework", "tool_names", "Idempotency-Key", "instructions",
	"description", "tags", "messages", "tools", "response_format", "model_config", "variables", "placeholders", "template_format", "missing", "note",
	"span", "map", // within a run
	"state", "until", "more_runs", // of a group of failed runs
	"revision", "other_revision", "base_revision", "max_removed", "mode", "items", "dedupe", "split", "reference_output", "schema", "across_splits", "threshold", // within a dataset
	"delimiter", "header", "sheet", "mapping", "on_error", "partial", // within a file
	"version", "other_version", "base_version", "protected", "content", "file_name", "If-Match", "If-None-Match", // a version is a number within its prompt
	"base_url", "api_key", "headers", "max_concurrency", "requests_per_minute", "monthly_budget_usd", "allow_unpriced", "start", "end",
	"prompt", "tool_answers", "max_rounds", "max_cost_usd", "thread_id", "stream", // the prompt is that of TestCompletionOfPrompt
	"metric", "margin", "power", "repeated", "a", "b", "repeats", "graders", "primary_metric", "equivalence_margin", "stop_early", "on_incompatible", "seed", "retry_failed", "sample", "target",
	"item_ids", "replace", "panel", "repeat", "side", "panels", "cache", "judge", "samples", // what evaluations name in a, b, target and panels, and items within an eval-run, are those of TestEvaluationsNameNothingForeign
	"run_filter", "sample_rate", "max_cost_usd_per_day", "catch_up", "day", // a rule's filter has no project
	"edits", "executor", "controls", "treatments", "plan", "good_runs", "max_runs", "attempt", "wait_seconds", // the connections and prompts of replays are those of TestReplaysNameNothingForeign
	"dataset",                                                                                               // the prompt and the dataset of a finding are those of TestPromoteNamesNothingForeign
	"scores", "off", "role", "confirm", "revoke_keys", "email", "token", "current_password", "new_password", // a token is for who has it
}

// isFilter are the names in a [runs.Filter].
var isFilter = map[string]bool{
	"kind": true, "search": true, "name": true, "model": true, "agent_name": true, "session_id": true, "conversation_id": true,
	"user_id": true, "tag": true, "environment": true, "release": true, "agent_release": true, "error_type": true, "prompt_id": true, "prompt_name": true, "prompt_version": true, "fingerprint": true,
}

// tenant is one tenant's data: two runs of two conversations, and one of each thing that has an id.
type tenant struct {
	session string
	key     string
	project contract.ProjectAccess
	things  map[string]string
}

// TestForeignIsAsUnknown asks as one tenant, in every parameter and body field that takes an id or a name, of every operation
// and every tool, for what another tenant has and for what nobody has. Both must get the same answer, by the same
// statements, which read as many rows and return as many: then no clock can tell them apart.
func TestForeignIsAsUnknown(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	asked := &statements{}
	e := newWatchedEnv(t, engines.Postgres(t), address, asked)
	ownerSession, ownerProject := e.SetUp(t)
	otherSession := e.AddMember(t, "bob@example.com", "owner", uuid.Nil)
	otherProject := apitest.Must[contract.Me](t, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(otherSession)), http.StatusOK).Projects[0]
	mine, foreign := tenant{session: ownerSession, project: ownerProject}, tenant{session: otherSession, project: otherProject}

	// Both tenants' rows are written at once, so that they lie in one part and in one granule.
	ours, ourRun := tenantRuns(mine.project.Id, "ours")
	theirs, theirRun := tenantRuns(foreign.project.Id, "theirs")
	apitest.StoreSpans(t, address, slices.Concat(ours, theirs)...)
	fill(t, e, &mine, "ours", ourRun)
	fill(t, e, &foreign, "theirs", theirRun)

	names := map[string]named{}
	for name := range mine.things {
		require.NotEqual(t, mine.things[name], foreign.things[name], name)
		names[name] = named{mine.things[name], foreign.things[name], beside(foreign.things[name])}
	}
	// What is noted of a credential once in a while is not a request's.
	for _, as := range []apitest.Option{apitest.Cookie(mine.session), apitest.Bearer(mine.key)} {
		require.Equal(t, http.StatusOK, e.Do(t, http.MethodGet, "/v1/me", nil, as).Code)
	}

	x := &existence{env: e, asked: asked, names: names, foreign: foreign, mine: mine}
	doc, err := openapi3.NewLoader().LoadFromData(contract.Document)
	require.NoError(t, err)
	// What writes comes last.
	for _, writes := range []bool{false, true} {
		for _, path := range slices.Sorted(maps.Keys(doc.Paths.Map())) {
			item := doc.Paths.Value(path)
			for _, method := range slices.Sorted(maps.Keys(item.Operations())) {
				operation := item.Operations()[method]
				if operation.Tags[0] == "ingest" || httpapi.IsPublic(operation) || path == "/mcp" || writes == (method == http.MethodGet) {
					continue
				}
				x.operation(t, method, path, item, operation)
			}
		}
		if !writes {
			x.tools(t)
		}
	}
	t.Log(x.probes, "pairs of requests")
}

// beside is what nobody has and stands next to a name in every order.
func beside(name string) string {
	end := name[len(name)-1]
	if end == 'f' || end == '9' || end == 'z' {
		return name[:len(name)-1] + string(end-1)
	}
	return name[:len(name)-1] + string(end+1)
}

// newWatchedEnv is an API whose statements are noted.
func newWatchedEnv(t *testing.T, postgresURL, clickhouseURL string, asked *statements) *apitest.Env {
	t.Helper()
	opened, err := postgres.Open(t.Context(), postgresURL)
	require.NoError(t, err)
	config := opened.Config()
	opened.Close()
	config.ConnConfig.Tracer = asked
	db, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	conn, err := clickhouse.Open(clickhouseURL)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, conn.Close()) })
	return apitest.NewWith(t, db, watchedStore{conn, asked}, httpapi.RateLimits{})
}

// tenantRuns are runs in which everything that can be asked for bears the tenant's name, and the first one of them.
func tenantRuns(project uuid.UUID, name string) (list [][]runmodel.Span, first []runmodel.Span) {
	now := time.Now().UTC().Add(-time.Minute).Truncate(time.Microsecond)
	for i := range 4 {
		message := []string{name + " failed", name + " is away"}[i%2]
		spans := apitest.AgentRun(project, now.Add(-time.Duration(i)*time.Second), name+"-tool", message, func(root *runmodel.Span) {
			root.Name, root.Kind, root.AgentName, root.ErrorType = name+"-name", name, name+"-agent", name+"-error"
			root.SessionID, root.ConversationID, root.UserID = fmt.Sprint(name, "-session", i/2), name+"-conversation", name+"-user"
			root.Environment, root.Release = name+"-environment", name+"-release"
			root.PromptID, root.PromptName, root.PromptVersion = promptID(name).String(), name+"-prompt-name", name+"-version"
			root.Tags, root.Metadata = []string{name + "-tag"}, map[string]string{name + "_tier": name + "-value"}
			root.Inputs = name + "word"
		})
		spans[1].RequestModel, spans[1].AgentParts = name+"-model", map[string]string{runmodel.PartInstructions: name}
		list = append(list, spans)
	}
	return list, list[0]
}

// promptID is the id of the prompt that the tenant's runs name.
func promptID(name string) uuid.UUID { return uuid.NewSHA1(uuid.NameSpaceOID, []byte(name)) }

// fillPrompt makes a prompt with a version and an alias.
func fillPrompt(t *testing.T, e *apitest.Env, session string, project, id uuid.UUID, name string) {
	t.Helper()
	e.Exec(t, `INSERT INTO prompts (id, project_id, name, description, tags, created_at, updated_at) VALUES ($1, $2, $3, $4, $5, now(), now())`,
		id, project, name+"-name", name+"word", []string{name + "-tag"})
	apitest.Must[contract.PromptVersionEntry](t, e.Do(t, http.MethodPost, "/v1/prompts/"+id.String()+"/versions", apitest.PromptVersion(name), apitest.Cookie(session)), http.StatusCreated)
	apitest.Must[contract.PromptAliasMoved](t, e.Do(t, http.MethodPost, "/v1/prompts/"+id.String()+"/aliases", map[string]any{"alias": name + "-alias", "version": 1}, apitest.Cookie(session)), http.StatusCreated)
}

// fillDataset makes a dataset with an item, a cancelled import and a check, and returns their ids.
func fillDataset(t *testing.T, e *apitest.Env, session string, project uuid.UUID, name string) (dataset, item, imported string) {
	t.Helper()
	id := e.CreateDataset(t, apitest.Cookie(session), project, name, name+"-key", name+"word").Id
	items := apitest.Must[contract.DatasetItemPage](t, e.Do(t, http.MethodGet, "/v1/datasets/"+id.String()+"/items", nil, apitest.Cookie(session)), http.StatusOK)
	started := e.SendFile(t, apitest.Cookie(session), id, "", apitest.TypeCSV, "input\n1\n")
	e.Exec(t, "UPDATE imports SET status = 'cancelled', finished_at = now() WHERE finished_at IS NULL") // a project has only a few at once
	e.CheckNearDuplicates(t, apitest.Cookie(session), id, "{}", http.StatusAccepted)
	return id.String(), items.Data[0].Id.String(), started.Id.String()
}

// fill makes one of each thing that has an id, and says what the tenant's things are called.
func fill(t *testing.T, e *apitest.Env, of *tenant, name string, run []runmodel.Span) {
	t.Helper()
	as := apitest.Cookie(of.session)
	project := "/v1/projects/" + of.project.Id.String()
	runID := run[0].RunID.String()
	key := e.Mint(t, of.session, of.project.Id, contract.ScopeAdmin)
	of.key = key.Key
	price := apitest.Must[contract.Price](t, e.Do(t, http.MethodPost, project+"/prices", contract.PriceWrite{Model: name + "word", Input: 1, Output: 2}, as), http.StatusCreated)
	view := apitest.Must[contract.View](t, e.Do(t, http.MethodPost, project+"/views", contract.ViewCreate{Page: contract.ViewPageRuns, Name: name + "-name"}, as), http.StatusCreated)
	score := apitest.Must[contract.Score](t, e.Do(t, http.MethodPost, "/v1/runs/"+runID+"/scores", `{"name":"`+name+`-score","value":1,"comment":"good"}`, as), http.StatusCreated)
	apitest.Must[contract.Project](t, e.Do(t, http.MethodPatch, project, map[string]string{"name": name + "-name"}, as), http.StatusOK)
	e.Exec(t, "UPDATE projects SET sample = true WHERE id = $1", of.project.Id) // so that loading samples is refused: there is no ingest
	fillPrompt(t, e, of.session, of.project.Id, promptID(name), name)
	e.CreatePrompt(t, as, of.project.Id, name+"-folder/inner")
	dataset, item, imported := fillDataset(t, e, of.session, of.project.Id, name+"-name")
	connection := e.Connect(t, as, of.project.Id, "openai", provider.Start(t, provider.Options{}), "")
	apitest.Must[contract.Provider](t, e.Do(t, http.MethodPatch, "/v1/providers/"+connection.Id.String(), map[string]string{"name": name + "-name"}, as), http.StatusOK)
	scenario := createScenario(t, e, as, of.project.Id, name+"-name")
	comparison, evalRun, evaluated := e.FillEvaluations(t, as, of.project.Id, connection.Id, name)
	replayed, batch := e.FillReplay(t, as, runID), e.FillReplayBatch(t, as, of.project.Id.String(), runID)
	fingerprint := apitest.Must[contract.Run](t, e.Do(t, http.MethodGet, "/v1/runs/"+runID, nil, as), http.StatusOK).Failure.Fingerprint
	diagnosis := e.FillDiagnosis(t, as, of.project.Id.String(), connection.Id.String(), fingerprint)
	span := runmodel.FormatSpanID(run[2].SpanID)
	e.AddMember(t, name+"-viewer@example.com", "viewer", of.project.OrganizationId)
	invitation := apitest.Must[contract.InvitationWithLink](t, e.Do(t, http.MethodPost, "/v1/invitations",
		contract.InvitationCreate{OrganizationId: &of.project.OrganizationId, Role: contract.RoleViewer}, as), http.StatusCreated)
	sessions := apitest.Must[contract.SessionList](t, e.Do(t, http.MethodGet, "/v1/me/sessions", nil, as), http.StatusOK)
	of.things = map[string]string{
		"organization_id": of.project.OrganizationId.String(), "member_id": e.UserID(t, name+"-viewer@example.com").String(),
		"invitation_id": invitation.Id.String(), "user_session_id": sessions.Data[0].Id.String(),
		"project_id": of.project.Id.String(), "workspace_id": of.project.WorkspaceId.String(), "run_id": runID, "run_ids": runID, "other_run_id": runID,
		"span_id": span, "focus": span, "score_id": score.Id.String(), "id": score.Id.String(),
		"key_id": key.Id.String(), "price_id": price.Id.String(), "view_id": view.Id.String(), "fingerprint": fingerprint,
		"session_id": name + "-session0", "conversation_id": name + "-conversation", "user_id": name + "-user", "name": name + "-name",
		"kind": name, "model": name + "-model", "agent_name": name + "-agent", "tag": name + "-tag", "environment": name + "-environment",
		"release": name + "-release", "agent_release": runmodel.Totals(run).AgentRelease, "agent": name + "-agent", "error_type": name + "-error", "prompt_id": promptID(name).String(), "prompt_name": name + "-prompt-name", "alias": name + "-alias",
		"dataset_id": dataset, "item_id": item, "import_id": imported, "source_run_id": runID, "source_span_id": span,
		"provider_id": connection.Id.String(), "scenario_id": scenario.Id.String(), "replay_id": replayed, "batch_id": batch, "diagnosis_id": diagnosis, "finding_id": e.FillFinding(t, as, of.project.Id.String(), fingerprint),
		"comparison_id": comparison, "eval_run_id": evalRun, "dataset_item_id": evaluated, "candidate": evalRun, "baseline": evalRun, "eval_rule_id": fillRule(t, e, as, of.project.Id, name+"-name"),
		"branch": name + "-branch", "commit": name + "-commit", "score_name": name + "-score",
		"folder": name + "-folder", "prompt_version": name + "-version",
		"search": name + "word", "prefix": name, "field": "metadata." + name + "_tier", "provider": name + "-provider",
	}
}

// existence asks for things that are another tenant's and for things that are nobody's.
type existence struct {
	env           *apitest.Env
	asked         *statements
	names         map[string]named
	mine, foreign tenant
	probes        int
}

// request is one request, without who asks.
type request struct {
	method, path string
	query        url.Values
	body         any
	options      []apitest.Option
}

// probe is a parameter or body field that takes an id or a name. Its requests have there what pick chooses.
type probe struct {
	at   string
	make func(pick func(named) string) request
	// of are the things that are named there.
	of []named
	// filters tells that it only selects among what the caller has; one caller is enough.
	filters bool
}

func pickForeign(n named) string { return n.foreign }
func pickUnknown(n named) string { return n.unknown }

// operation probes every parameter and body field of one operation of the document.
func (x *existence) operation(t *testing.T, method, path string, item *openapi3.PathItem, operation *openapi3.Operation) {
	t.Helper()
	var probes []probe
	var filters []string
	parameters := slices.Concat(item.Parameters, operation.Parameters)
	base := func(at map[string]string) request { return x.base(t, method, path, parameters, operation, at) }
	whole := probe{at: "path", make: func(pick func(named) string) request {
		at := map[string]string{}
		for _, ref := range parameters {
			if ref.Value.In == openapi3.ParameterInPath || ref.Value.Name == "project_id" && ref.Value.Required {
				at[ref.Value.In+" "+ref.Value.Name] = pick(x.names[ref.Value.Name])
			}
		}
		return base(at)
	}}
	for _, ref := range parameters {
		p := ref.Value
		at := p.In + " " + p.Name
		n, ok := x.names[p.Name]
		switch {
		case p.Name == "metadata":
			key, value := x.metadata()
			probes = append(probes, probe{at: at, of: []named{key, value}, filters: true, make: func(pick func(named) string) request {
				r := base(nil)
				r.query.Set("metadata["+pick(key)+"]", pick(value))
				return r
			}})
			continue
		case p.Name == "cursor":
			if of, ok := x.cursor(t, path, parameters); ok {
				probes = append(probes, probe{at: at, of: of, filters: true, make: func(pick func(named) string) request {
					return base(map[string]string{at: pick(of[0])})
				}})
			} else {
				require.NotContains(t, []string{"/v1/runs", "/v1/threads"}, path)
			}
			continue
		case !ok:
			require.Contains(t, nameless, p.Name, "%s %s: may the parameter name what another tenant has?", method, path)
			continue
		}
		if p.In == openapi3.ParameterInPath {
			whole.of = append(whole.of, n)
		}
		filter := p.In == openapi3.ParameterInQuery && p.Name != "project_id"
		if filter && isFilter[p.Name] && path != "/v1/runs" {
			filters = append(filters, p.Name) // each alone is asked of the list of runs; one function reads them all
			continue
		}
		probes = append(probes, probe{at: at, of: []named{n}, filters: filter, make: func(pick func(named) string) request {
			return base(map[string]string{at: pick(n)})
		}})
	}
	if len(whole.of) > 1 {
		probes = append(probes, whole)
	}
	if operation.RequestBody != nil {
		schema := operation.RequestBody.Value.Content.Get("application/json").Schema.Value
		probes = append(probes, x.members(t, method+" "+path, base, schema)...)
	}
	for _, p := range probes {
		x.ask(t, p)
	}
	if len(filters) > 0 {
		var of []named
		for _, name := range filters {
			of = append(of, x.names[name])
		}
		x.ask(t, probe{at: "all filters", of: of, filters: true, make: func(pick func(named) string) request {
			at := map[string]string{}
			for _, name := range filters {
				at["query "+name] = pick(x.names[name])
			}
			return base(at)
		}})
	}
}

// base returns a request that names what the caller has, except at the places that are given.
func (x *existence) base(
	t *testing.T, method, path string, parameters openapi3.Parameters, operation *openapi3.Operation, at map[string]string,
) request {
	t.Helper()
	r := request{method: method, path: path, query: url.Values{}}
	for _, ref := range parameters {
		p := ref.Value
		value, given := at[p.In+" "+p.Name]
		if !given {
			value = x.names[p.Name].mine
		}
		if (strings.HasSuffix(p.Name, "version") || strings.HasSuffix(p.Name, "revision")) && p.In == openapi3.ParameterInPath {
			value = "1"
		}
		if p.In == openapi3.ParameterInQuery && labelled[p.Name] != "" {
			value = labelled[p.Name]
		}
		switch {
		case p.In == openapi3.ParameterInPath:
			r.path = strings.ReplaceAll(r.path, "{"+p.Name+"}", url.PathEscape(value))
		case given || p.Required:
			r.query.Set(p.Name, value)
		case p.Name == "organization_id" && at["query workspace_id"] == "": // either is needed
			r.query.Set(p.Name, value)
		case p.Name == "window_seconds": // a list that finds nothing looks ever further back
			r.query.Set(p.Name, "3600")
		}
	}
	if operation.RequestBody != nil {
		r.body = x.body(t, operation.RequestBody.Value.Content.Get("application/json").Schema.Value, nil)
	}
	return r
}

// labelled are the parameters that say which label is removed.
var labelled = map[string]string{"panel": "right", "side": "a", "repeat": "1"}

// members are the places in a body where something is named.
func (x *existence) members(t *testing.T, operation string, base func(map[string]string) request, schema *openapi3.Schema) []probe {
	t.Helper()
	var probes []probe
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		property := schema.Properties[name].Value
		n, ok := x.names[name]
		switch {
		case name == "filter": // a RunFilter instead of the other members; it has what the parameters of the list have
			var of []named
			for name := range isFilter {
				require.Contains(t, property.Properties, name)
				of = append(of, x.names[name])
			}
			withFilter := func(filter map[string]any) map[string]any {
				body := map[string]any{"filter": filter}
				for _, name := range schema.Required {
					body[name] = x.names[name].mine
				}
				return body
			}
			probes = append(probes, probe{at: "body filter", of: of, filters: true, make: func(pick func(named) string) request {
				r := base(nil)
				filter := map[string]any{"project_id": x.names["project_id"].mine}
				for name := range isFilter {
					filter[name] = pick(x.names[name])
				}
				filter["kind"] = []string{pick(x.names["kind"])}
				r.body = withFilter(filter)
				return r
			}}, probe{at: "body filter.project_id", of: []named{x.names["project_id"]}, make: func(pick func(named) string) request {
				r := base(nil)
				r.body = withFilter(map[string]any{"project_id": pick(x.names["project_id"])})
				return r
			}})
			continue
		case name == "metadata":
			key, value := x.metadata()
			probes = append(probes, probe{at: "body metadata", of: []named{key, value}, make: func(pick func(named) string) request {
				r := base(nil)
				r.body = x.body(t, schema, map[string]any{name: map[string]string{pick(key): pick(value)}})
				return r
			}})
			continue
		case !ok:
			require.Contains(t, nameless, name, "%s: may the member name what another tenant has?", operation)
			continue
		}
		probes = append(probes, probe{at: "body " + name, of: []named{n}, make: func(pick func(named) string) request {
			r := base(nil)
			var value any = pick(n)
			if property.Type.Is(openapi3.TypeArray) {
				value = []string{pick(n)}
			}
			r.body = x.body(t, schema, map[string]any{name: value})
			return r
		}})
	}
	return probes
}

// body has what a schema asks for, of the caller's, and the given members.
func (x *existence) body(t *testing.T, schema *openapi3.Schema, given map[string]any) map[string]any {
	t.Helper()
	body := map[string]any{}
	required := slices.Clone(schema.Required)
	if schema.Properties["run_ids"] != nil {
		required = append(required, "run_ids")
		if schema.Properties["project_id"] != nil {
			required = append(required, "project_id")
		}
	}
	if schema.Properties["comment"] != nil {
		required = append(required, "comment")
	}
	if schema.Properties["provider_id"] != nil && schema.Properties["messages"] != nil { // a completion
		required = append(required, "messages")
		body["model_config"] = map[string]any{"model": "text"}
	}
	if _, ok := given["workspace_id"]; !ok && schema.Properties["organization_id"] != nil {
		required = append(required, "organization_id")
	}
	values := map[string]any{
		"role": "viewer", "state": "open", "token": "none", "current_password": apitest.Password + "?", "new_password": apitest.Password,
		"messages": apitest.PromptVersion("")["messages"], "version": 1, "protected": false, "content": "{}",

		"target": map[string]any{"external": true}, "sample": map[string]any{"output": "x"}, "samples": []any{map[string]any{"output": "x"}},
		"judge":      map[string]any{"name": "j", "provider_id": x.names["provider_id"].mine, "model_config": map[string]any{"model": "text"}, "ready_made": "helpfulness"},
		"run_filter": "", "sample_rate": 1, "panel": "right", "side": "a", "repeat": 1, "value": true, "graders": []any{json.RawMessage(apitest.ExactGrader)}, "metric": "correct", "margin": 0,
		"a": x.side(), "b": x.side(), "items": []any{map[string]any{"item_id": x.names["dataset_item_id"].mine, "repeat": 1, "output": 1}},
		"edits": []any{json.RawMessage(apitest.LongTimeouts)},
		"page":  "runs", "query": "", "scopes": []string{"runs:read"}, "input": 1, "output": 2, "comment": "good", "run_ids": []string{x.names["run_ids"].mine},
		"scores": []any{}, "off": []any{},
	}
	for _, name := range required {
		if name == "candidate" && schema.Properties[name].Value.Type.Is(openapi3.TypeObject) { // of a finding
			body[name] = map[string]any{"kind": "order", "title": uuid.NewString()}
			continue
		}
		if value, ok := values[name]; ok {
			body[name] = value
			if name == "content" && schema.Properties[name].Value.Type.Is(openapi3.TypeObject) {
				body[name] = map[string]any{"messages": []any{}}
			}
			if name == "version" && schema.Properties[name].Value.Type.Is(openapi3.TypeObject) {
				body[name] = apitest.PromptVersion("")
			}
		} else {
			require.NotEmpty(t, x.names[name].mine, name)
			body[name] = x.names[name].mine
			if choices := schema.Properties[name].Value.Enum; len(choices) > 0 {
				body[name] = choices[0]
			}
		}
	}
	maps.Copy(body, given)
	return body
}

// side is a configuration of a comparison.
func (x *existence) side() map[string]any {
	return map[string]any{"provider_id": x.names["provider_id"].mine, "messages": apitest.PromptVersion("")["messages"], "model_config": map[string]any{"model": "text"}}
}

func (x *existence) metadata() (key, value named) {
	return named{"ours_tier", "theirs_tier", beside("theirs_tier")}, named{"ours-value", "theirs-value", beside("theirs-value")}
}

// cursor is one that the other tenant got, and the same with an id that nobody has, and these ids; false where it holds none.
func (x *existence) cursor(t *testing.T, path string, parameters openapi3.Parameters) ([]named, bool) {
	t.Helper()
	query := url.Values{"limit": {"1"}}
	for _, ref := range parameters {
		if ref.Value.In == openapi3.ParameterInPath {
			path = strings.ReplaceAll(path, "{"+ref.Value.Name+"}", url.PathEscape(x.names[ref.Value.Name].foreign))
		}
		if ref.Value.Name == "project_id" {
			query.Set("project_id", x.names["project_id"].foreign)
		}
	}
	page := apitest.Must[struct {
		NextCursor string `json:"next_cursor"`
	}](t, x.env.Do(t, http.MethodGet, path+"?"+query.Encode(), nil, apitest.Cookie(x.foreign.session)), http.StatusOK)
	raw, err := base64.RawURLEncoding.DecodeString(page.NextCursor)
	require.NoError(t, err)
	var members struct {
		ID string `json:"i"`
	}
	require.NoError(t, json.Unmarshal(raw, &members), "%s: no cursor", path)
	if members.ID == "" {
		return nil, false
	}
	other := bytes.ReplaceAll(raw, []byte(members.ID), []byte(beside(members.ID)))
	return []named{
		{foreign: page.NextCursor, unknown: base64.RawURLEncoding.EncodeToString(other)},
		{foreign: members.ID, unknown: beside(members.ID)},
	}, true
}

// tools probes every argument of every tool.
func (x *existence) tools(t *testing.T) {
	t.Helper()
	w := x.env.Do(t, http.MethodPost, "/mcp", apitest.RPC("tools/list", map[string]any{}), append(apitest.MCPHeaders, apitest.Bearer(x.mine.key))...)
	list := apitest.Must[struct {
		Result struct {
			Tools []struct {
				Name        string `json:"name"`
				InputSchema struct {
					Properties map[string]struct {
						Type any `json:"type"`
					} `json:"properties"`
					Required []string `json:"required"`
				} `json:"inputSchema"`
			} `json:"tools"`
		} `json:"result"`
	}](t, w, http.StatusOK)
	require.NotEmpty(t, list.Result.Tools)
	for _, tool := range list.Result.Tools {
		call := func(name string, value any) request {
			arguments := map[string]any{}
			for _, required := range tool.InputSchema.Required {
				arguments[required] = x.names[required].mine
			}
			if tool.InputSchema.Properties["edits"].Type != nil {
				arguments["edits"] = []any{json.RawMessage(apitest.LongTimeouts)}
			}
			arguments[name] = value
			body := apitest.RPC("tools/call", map[string]any{"name": tool.Name, "arguments": arguments})
			return request{method: http.MethodPost, path: "/mcp", options: apitest.MCPHeaders, body: body}
		}
		for _, name := range slices.Sorted(maps.Keys(tool.InputSchema.Properties)) {
			kind := tool.InputSchema.Properties[name].Type
			n, ok := x.names[name]
			p := probe{at: tool.Name + " " + name, of: []named{n}, filters: name != "project_id" && name != "run_id"}
			switch {
			case name == "metadata":
				key, value := x.metadata()
				p.of = []named{key, value}
				p.make = func(pick func(named) string) request { return call(name, map[string]string{pick(key): pick(value)}) }
			case name == "cursor":
				of, ok := x.cursor(t, "/v1/runs", openapi3.Parameters{{Value: &openapi3.Parameter{Name: "project_id", In: "query"}}})
				require.True(t, ok)
				p.of = of
				p.make = func(pick func(named) string) request { return call(name, pick(of[0])) }
			case !ok:
				require.Contains(t, nameless, name, "%s: may the argument name what another tenant has?", tool.Name)
				continue
			case kind == "array":
				p.make = func(pick func(named) string) request { return call(name, []string{pick(n)}) }
			default:
				p.make = func(pick func(named) string) request { return call(name, pick(n)) }
			}
			x.ask(t, p)
		}
	}
}

// seen is all that a caller can see of a request, and what it was for the stores.
type seen struct {
	Status     int
	Header     http.Header
	Body       string
	Statements []statement
}

// ask sends a request that names something of another tenant, and the same for what nobody has.
func (x *existence) ask(t *testing.T, p probe) {
	t.Helper()
	callers := map[string]apitest.Option{"user": apitest.Cookie(x.mine.session)}
	if !p.filters {
		callers["key"] = apitest.Bearer(x.mine.key)
	}
	for who, as := range callers {
		r := p.make(pickForeign)
		name := fmt.Sprintf("%s: %s %s at %s", who, r.method, r.path, p.at)
		foreign := x.send(t, r, as, p.of, pickForeign)
		unknown := x.send(t, p.make(pickUnknown), as, p.of, pickUnknown)
		assert.Equal(t, unknown.Status, foreign.Status, name)
		assert.Equal(t, unknown.Header, foreign.Header, name)
		// Where something of that name was made, it was the caller's own: the second one finds one more, and has ids of its own.
		made := r.method != http.MethodGet && foreign.Status < http.StatusMultipleChoices
		if !made {
			assert.Equal(t, unknown.Body, foreign.Body, name)
		}
		assert.Len(t, foreign.Statements, len(unknown.Statements), name)
		for i, f := range foreign.Statements {
			if strings.HasPrefix(f.Text, "ClickHouse") {
				assert.NotContains(t, f.Text, x.foreign.project.Id.String(), name)
			}
			if i >= len(unknown.Statements) {
				break
			}
			u := unknown.Statements[i]
			if made {
				u, f = statement{Text: uuidText.ReplaceAllString(u.Text, "UUID")}, statement{Text: uuidText.ReplaceAllString(f.Text, "UUID")}
			} else if r.method != http.MethodGet {
				u.Read, f.Read = 0, 0 // earlier writes add to it, or are merged
			}
			assert.Equal(t, u, f, name)
		}
		assert.NotEqual(t, http.StatusUnauthorized, foreign.Status, name)
		assert.Less(t, foreign.Status, http.StatusInternalServerError, name)
		if r.method == http.MethodGet {
			assert.NotContains(t, foreign.Body, "theirs", name)
		}
		x.probes++
	}
}

// stopped ends a stream once it has begun.
type stopped struct {
	*httptest.ResponseRecorder
	stop context.CancelFunc
}

func (s stopped) Flush() {
	s.ResponseRecorder.Flush()
	if s.Header().Get("Content-Type") == "text/event-stream" {
		s.stop()
	}
}

var (
	uuidText   = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	timeText   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`)
	momentText = regexp.MustCompile(`(^|[^-\w])\d{10,}\b`) // in seconds or finer, since 1970; the end of a UUID is none
)

// sendAs sends a request and ends streams once they have begun.
func (x *existence) sendAs(t *testing.T, r request, as apitest.Option) seen {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	target := r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	var body bytes.Buffer
	if r.body != nil {
		require.NoError(t, json.NewEncoder(&body).Encode(r.body))
	}
	sent := httptest.NewRequestWithContext(ctx, r.method, target, &body)
	if r.body != nil {
		sent.Header.Set("Content-Type", "application/json")
	}
	for _, o := range append(r.options, as) {
		o(sent)
	}
	w := stopped{httptest.NewRecorder(), cancel}
	x.env.API.ServeHTTP(w, sent)
	return seen{Status: w.Code, Header: w.Header().Clone(), Body: w.Body.String()}
}

// send sends a request and returns what the caller and the stores see, without what differs between names.
func (x *existence) send(t *testing.T, r request, as apitest.Option, of []named, pick func(named) string) seen {
	t.Helper()
	x.asked.take()
	got := x.sendAs(t, r, as)
	got.Statements = x.asked.take()
	got.Header.Del("X-Request-Id")
	got.Header.Del("Content-Length")
	var names []string
	for _, n := range of {
		name := pick(n)
		names = append(names, name)
		if _, key, ok := strings.Cut(name, "metadata."); ok {
			names = append(names, key)
		}
		if id, err := strconv.ParseUint(name, 16, 64); err == nil {
			names = append(names, strconv.FormatUint(id, 10))
		}
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) }) // one may be the beginning of another
	plain := func(text string) string {
		for _, name := range names {
			text = strings.ReplaceAll(text, name, "ID")
		}
		return text
	}
	got.Body = plain(got.Body)
	got.Body = uuidText.ReplaceAllString(got.Body, "UUID")
	got.Body = momentText.ReplaceAllString(timeText.ReplaceAllString(got.Body, "TIME"), "${1}MOMENT")
	if location := got.Header.Get("Location"); location != "" {
		got.Header.Set("Location", uuidText.ReplaceAllString(plain(location), "UUID"))
	}
	for i := range got.Statements {
		got.Statements[i].Text = momentText.ReplaceAllString(plain(got.Statements[i].Text), "${1}MOMENT")
	}
	// What a request asks at once comes in any order.
	slices.SortFunc(got.Statements, func(a, b statement) int { return strings.Compare(a.Text, b.Text) })
	return got
}

// fillRule makes a rule that took a run, and returns its id.
func fillRule(t *testing.T, e *apitest.Env, as apitest.Option, project uuid.UUID, name string) string {
	t.Helper()
	body := fmt.Sprintf(`{"project_id":%q,"name":%q,"run_filter":"","sample_rate":1,"graders":[%s]}`, project, name, apitest.NumberedGrader)
	rule := apitest.Must[contract.EvalRule](t, e.Do(t, http.MethodPost, "/v1/eval-rules", body, as), http.StatusCreated)
	e.Exec(t, `INSERT INTO eval_rule_runs (rule_id, run_id, run_name, version, status, day, taken_at, next_attempt) VALUES ($1, $2, 'run', 1, 'scored', now(), now(), now())`, rule.Id, uuid.New())
	return rule.Id.String()
}

// createScenario saves a scenario with a message.
func createScenario(t *testing.T, e *apitest.Env, as apitest.Option, project uuid.UUID, name string) contract.Scenario {
	t.Helper()
	body := fmt.Sprintf(`{"project_id":%q,"name":%q,"content":{"messages":[{"role":"user","content":"Hello"}]}}`, project, name)
	return apitest.Must[contract.Scenario](t, e.Do(t, http.MethodPost, "/v1/playground/scenarios", body, as), http.StatusCreated)
}
