package httpapi_test

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/access"
	"github.com/looptrace/looptrace/controlplane/httpapi"
	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/controlplane/idempotency"
	"github.com/looptrace/looptrace/test/engines"
)

func retryKey(key string) apitest.Option { return apitest.Header(idempotency.Header, key) }

// requireSame holds a retry's answer to the first.
func requireSame(t *testing.T, first, retry *httptest.ResponseRecorder) {
	t.Helper()
	require.Equal(t, first.Code, retry.Code, retry.Body)
	require.Equal(t, first.Body.String(), retry.Body.String())
	for _, name := range httpapi.KeptHeaders {
		require.Equal(t, first.Header().Get(name), retry.Header().Get(name), name)
	}
}

func TestRetryGetsTheFirstAnswer(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	body := contract.KeyCreate{ProjectId: project.Id, Name: "continuous integration", Scopes: []contract.Scope{contract.ScopeRunsRead}}
	mint := func(key string, options ...apitest.Option) *httptest.ResponseRecorder {
		return e.Do(t, http.MethodPost, "/v1/keys", body, append(options, retryKey(key))...)
	}
	ann := apitest.Cookie(session)
	first := mint("a", ann)
	minted := apitest.Must[contract.KeyWithSecret](t, first, http.StatusCreated)
	require.NotEmpty(t, first.Header().Get("Location"))
	requireSame(t, first, mint("a", ann))
	assert.NotEqual(t, first.Header().Get("X-Request-Id"), mint("a", ann).Header().Get("X-Request-Id"), "the log tells requests apart")
	assert.Equal(t, 1, e.Count(t, "SELECT count(*) FROM api_keys"))
	// A session is another, its user is not.
	requireSame(t, first, mint("a", apitest.Cookie(apitest.SessionOf(t, e.Login(t, apitest.Password)))))

	// The database has neither the secret nor the client's key.
	var id, request, answer []byte
	require.NoError(t, e.DB.QueryRow(t.Context(), "SELECT id, request, answer FROM kept_answers").Scan(&id, &request, &answer))
	_, secret, _ := strings.Cut(minted.Key, ".")
	for _, column := range [][]byte{id, request, answer} {
		for _, text := range []string{minted.Key, secret, minted.PublicId, body.Name} {
			assert.NotContains(t, string(column), text)
		}
	}

	// What refuses is an answer too; the key of another request is a mistake.
	twice := contract.ProjectCreate{WorkspaceId: project.WorkspaceId, Name: project.Name}
	taken := e.Do(t, http.MethodPost, "/v1/projects", twice, ann, retryKey("a")) // of another operation
	apitest.Golden(t, "idempotency_kept_refusal", taken)
	requireSame(t, taken, e.Do(t, http.MethodPost, "/v1/projects", twice, ann, retryKey("a")))
	twice.Name = "Another"
	apitest.Golden(t, "idempotency_key_reused", e.Do(t, http.MethodPost, "/v1/projects", twice, ann, retryKey("a")))
	rotate := func(id uuid.UUID) *httptest.ResponseRecorder {
		return e.Do(t, http.MethodPost, "/v1/keys/"+id.String()+"/_actions/rotate", nil, ann, retryKey("rotate"))
	}
	rotated := rotate(minted.Id)
	second := apitest.Must[contract.KeyWithSecret](t, rotated, http.StatusCreated)
	requireSame(t, rotated, rotate(minted.Id))
	apitest.Golden(t, "idempotency_key_reused", rotate(second.Id))

	// Another caller has keys of its own, whoever it is.
	admin := e.Mint(t, session, project.Id, contract.ScopeAdmin)
	other := apitest.Must[contract.KeyWithSecret](t, mint("a", apitest.Bearer(admin.Key)), http.StatusCreated)
	assert.NotEqual(t, minted.Key, other.Key)
	stranger := e.AddMember(t, "bob@example.com", "owner", uuid.Nil)
	assert.Equal(t, http.StatusNotFound, mint("a", apitest.Cookie(stranger)).Code)

	// A day later nothing is known of it.
	e.Clock.Advance(24*time.Hour - time.Second)
	ann = apitest.Cookie(apitest.SessionOf(t, e.Login(t, apitest.Password)))
	requireSame(t, first, mint("a", ann))
	e.Clock.Advance(2 * time.Second)
	assert.NotEqual(t, minted.Key, apitest.Must[contract.KeyWithSecret](t, mint("a", ann), http.StatusCreated).Key)
}

func TestRetryKeysAreHeldToTheDocument(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	create := func(options ...apitest.Option) *httptest.ResponseRecorder {
		return e.Do(t, http.MethodPost, "/v1/projects", contract.ProjectCreate{WorkspaceId: project.WorkspaceId, Name: "New"}, append(options, apitest.Cookie(session))...)
	}
	for _, key := range []string{"", " ", "a b", "ä", "a\x7f", strings.Repeat("k", 256)} {
		w := create(retryKey(key))
		require.Equal(t, http.StatusUnprocessableEntity, w.Code, "%q: %s", key, w.Body)
		assert.Contains(t, w.Body.String(), `"location":"header.Idempotency-Key"`)
	}
	two := func(r *http.Request) { r.Header[idempotency.Header] = []string{"a", "b"} }
	assert.Equal(t, http.StatusUnprocessableEntity, create(two).Code)
	assert.Equal(t, 0, e.Count(t, "SELECT count(*) FROM kept_answers"))
	assert.Equal(t, http.StatusCreated, create(retryKey(strings.Repeat("k", 255))).Code)
	// A request that is refused before it begins leaves its key free.
	bad := e.Do(t, http.MethodPost, "/v1/projects", `{"name":""}`, apitest.Cookie(session), retryKey("b"))
	require.Equal(t, http.StatusUnprocessableEntity, bad.Code)
	w := e.Do(t, http.MethodPost, "/v1/projects", contract.ProjectCreate{WorkspaceId: project.WorkspaceId, Name: "Newer"}, apitest.Cookie(session), retryKey("b"))
	assert.Equal(t, http.StatusCreated, w.Code)
}

// storesNothing are POSTs that may be sent again as they are.
var storesNothing = []string{
	"estimateComparison", "estimateEvalRun", "gradeSample", "checkGate", "planGate", "previewCompletion", "openInPlayground", "renderPrompt", "renderPromptVersion", "previewEvalRule",
}

// TestDocumentNamesRetries at each POST that takes them, which is each that asks for a credential, but for logout, for what stores nothing and
// for files, which are too large to be compared with those of a first attempt.
func TestDocumentNamesRetries(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(contract.Document)
	require.NoError(t, err)
	posts := 0
	for path, item := range doc.Paths.Map() {
		for method, operation := range item.Operations() {
			takes := slices.ContainsFunc(operation.Parameters, func(p *openapi3.ParameterRef) bool { return p.Ref == "#/components/parameters/IdempotencyKey" })
			may := method == http.MethodPost && !httpapi.IsPublic(operation) && operation.Tags[0] != "ingest" && path != "/mcp" && path != "/v1/logout" && path != "/v1/playground/completions" && operation.Extensions[httpapi.StreamBodyExtension] != true && !slices.Contains(storesNothing, operation.OperationID)
			assert.Equal(t, may, takes, "%s %s", method, path)
			if takes {
				posts++
			}
		}
	}
	assert.Equal(t, 55, posts)
}

// TestKeptAnswersAreBounded: who may only read keeps nothing, and who may write keeps so many bytes.
func TestKeptAnswersAreBounded(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	body := map[string]any{"project_id": project.Id, "version": apitest.PromptVersion("x")}
	w := e.Do(t, http.MethodPost, "/v1/prompts/_actions/render", body, apitest.Cookie(session), retryKey("a"))
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	assert.Equal(t, 0, e.Count(t, "SELECT count(*) FROM kept_answers"))

	answers, err := idempotency.New(e.DB, nil, bytes.Repeat([]byte{7}, 32), e.Clock.Now)
	require.NoError(t, err)
	ann, bob := &access.Principal{User: &access.User{ID: uuid.New()}}, &access.Principal{User: &access.User{ID: uuid.New()}}
	keep := func(p *access.Principal, key string, size int) {
		claim, _, err := answers.Begin(t.Context(), p, idempotency.Attempt{Key: key})
		require.NoError(t, err)
		require.NoError(t, answers.Keep(t.Context(), claim, make([]byte, size)))
		e.Clock.Advance(time.Second)
	}
	isKept := func(p *access.Principal, key string) bool {
		claim, kept, err := answers.Begin(t.Context(), p, idempotency.Attempt{Key: key})
		require.NoError(t, err)
		if kept == nil {
			require.NoError(t, answers.Release(t.Context(), claim))
		}
		return kept != nil
	}
	keep(bob, "0", 6<<20)
	for _, key := range []string{"1", "2", "3"} {
		keep(ann, key, 6<<20)
	}
	assert.False(t, isKept(ann, "1"), "the oldest goes")
	assert.True(t, isKept(ann, "2"))
	assert.True(t, isKept(ann, "3"))
	assert.True(t, isKept(bob, "0"), "another's stays")
	require.NoError(t, answers.RemoveExpired(t.Context()))
	assert.True(t, isKept(ann, "3"))
}

func TestRequestsAtOnceUnderOneKey(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	const callers = 20
	answers := make([]*httptest.ResponseRecorder, callers)
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			answers[i] = e.Do(t, http.MethodPost, "/v1/keys", contract.KeyCreate{ProjectId: project.Id, Name: "ci", Scopes: []contract.Scope{contract.ScopeRunsRead}}, apitest.Cookie(session), retryKey("one"))
		})
	}
	group.Wait()
	var first *httptest.ResponseRecorder
	for _, w := range answers {
		if w.Code == http.StatusConflict {
			assert.Equal(t, "1", w.Header().Get("Retry-After"))
			assert.Contains(t, w.Body.String(), "request_under_way")
			continue
		}
		if first == nil {
			first = w
		}
		requireSame(t, first, w)
	}
	require.NotNil(t, first)
	assert.Equal(t, http.StatusCreated, first.Code)
	assert.Equal(t, 1, e.Count(t, "SELECT count(*) FROM api_keys"))
}

// TestRetryAfterACrash: a process that dies over the work leaves its claim, which ends by the clock.
func TestRetryAfterACrash(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	create := func(name string) *httptest.ResponseRecorder {
		return e.Do(t, http.MethodPost, "/v1/projects", contract.ProjectCreate{WorkspaceId: project.WorkspaceId, Name: name}, apitest.Cookie(session), retryKey("a"))
	}
	require.Equal(t, http.StatusCreated, create("New").Code)
	// As the row was while the work was done.
	e.Exec(t, "UPDATE kept_answers SET answer = NULL")
	e.Exec(t, "DELETE FROM projects WHERE name = 'New'")
	apitest.Golden(t, "idempotency_under_way", create("New"))
	e.Clock.Advance(59 * time.Second)
	apitest.Golden(t, "idempotency_under_way", create("New"))
	e.Clock.Advance(2 * time.Second)
	apitest.Golden(t, "idempotency_key_reused", create("Other"))
	again := create("New")
	require.Equal(t, http.StatusCreated, again.Code, again.Body)
	requireSame(t, again, create("New"))
}

func TestAnswersOfAServerThatFailsAreNotKept(t *testing.T) {
	t.Parallel()
	server, database := engines.ClickHouseServer(t)
	e := apitest.NewOn(t, engines.Postgres(t), server.URL(database))
	session, project := e.SetUp(t)
	run := apitest.StoreRun(t, server.URL(database), project.Id)
	score := func() *httptest.ResponseRecorder {
		return e.Do(t, http.MethodPost, "/v1/runs/"+run.String()+"/scores", map[string]any{"name": "quality", "value": 0.5}, apitest.Cookie(session), retryKey("a"))
	}
	server.Stop(t)
	apitest.Golden(t, "clickhouse_away", score())
	assert.Equal(t, 0, e.Count(t, "SELECT count(*) FROM kept_answers"))
	server.Start(t)
	var first *httptest.ResponseRecorder
	require.Eventually(t, func() bool { first = score(); return first.Code != http.StatusServiceUnavailable }, 20*time.Second, 50*time.Millisecond)
	require.Equal(t, http.StatusCreated, first.Code, first.Body)
	requireSame(t, first, score())
	scores := apitest.Must[contract.ScorePage](t, e.Do(t, http.MethodGet, "/v1/runs/"+run.String()+"/scores", nil, apitest.Cookie(session)), http.StatusOK)
	assert.Len(t, scores.Data, 1)
}

// TestAnswerThatCannotBeKept: the work was done, and the client must know.
func TestAnswerThatCannotBeKept(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	e.Exec(t, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE EXCEPTION ''disk full'' USING ERRCODE = ''53100''; END'`)
	e.Exec(t, "CREATE TRIGGER refuse BEFORE UPDATE ON kept_answers FOR EACH ROW WHEN (NEW.answer IS NOT NULL) EXECUTE FUNCTION refuse()")
	create := func() *httptest.ResponseRecorder {
		return e.Do(t, http.MethodPost, "/v1/projects", contract.ProjectCreate{WorkspaceId: project.WorkspaceId, Name: "New"}, apitest.Cookie(session), retryKey("a"))
	}
	require.Equal(t, http.StatusCreated, create().Code)
	assert.Contains(t, e.Log.String(), "the answer could not be kept for a retry")
	apitest.Golden(t, "idempotency_under_way", create())
	e.Exec(t, "DROP TRIGGER refuse ON kept_answers")
	e.Clock.Advance(61 * time.Second)
	apitest.Golden(t, "idempotency_kept_refusal", create()) // the work was begun anew
}

// TestLogoutTakesNoKey: what another session was answered ends none.
func TestLogoutTakesNoKey(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	first, _ := e.SetUp(t)
	for _, session := range []string{first, apitest.SessionOf(t, e.Login(t, apitest.Password))} {
		logout := e.Do(t, http.MethodPost, "/v1/logout", nil, apitest.Cookie(session), retryKey("a"))
		require.Equal(t, http.StatusNoContent, logout.Code, logout.Body)
		assert.Contains(t, logout.Header().Get("Set-Cookie"), "Max-Age=0")
		assert.Equal(t, http.StatusUnauthorized, e.Do(t, http.MethodGet, "/v1/me", nil, apitest.Cookie(session)).Code, "the session has ended")
	}
}

// TestWorkOutlivesItsClient: a client that goes away finds the answer when it asks again.
func TestWorkOutlivesItsClient(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	lock, err := e.DB.Begin(t.Context())
	require.NoError(t, err)
	_, err = lock.Exec(t.Context(), "LOCK TABLE projects IN SHARE MODE") // reads pass, the creation waits
	require.NoError(t, err)
	leaving, leave := context.WithCancel(t.Context())
	create := func(options ...apitest.Option) *httptest.ResponseRecorder {
		return e.Do(t, http.MethodPost, "/v1/projects", contract.ProjectCreate{WorkspaceId: project.WorkspaceId, Name: "New"}, append(options, apitest.Cookie(session), retryKey("a"))...)
	}
	answered := make(chan *httptest.ResponseRecorder)
	go func() { answered <- create(func(r *http.Request) { *r = *r.WithContext(leaving) }) }()
	require.Eventually(t, func() bool {
		return e.Count(t, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'") > 0
	}, 5*time.Second, 50*time.Millisecond)
	leave()
	apitest.Golden(t, "idempotency_under_way", create())
	require.NoError(t, lock.Rollback(t.Context()))
	first := <-answered
	require.Equal(t, http.StatusCreated, first.Code, first.Body)
	requireSame(t, first, create())
	assert.Equal(t, 1, e.Count(t, "SELECT count(*) FROM projects WHERE name = 'New'"))
}

func TestExpiredAnswersAreRemoved(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, project := e.SetUp(t)
	e.Exec(t, `INSERT INTO kept_answers (id, request, claim, claimed_until, expires_at)
		SELECT sha256(n::text::bytea), sha256(''), uuidv7(), now(), now() - interval '1 minute' FROM generate_series(1, 2500) AS n`)
	e.Do(t, http.MethodPost, "/v1/projects", contract.ProjectCreate{WorkspaceId: project.WorkspaceId, Name: "New"}, apitest.Cookie(session), retryKey("a"))
	answers, err := idempotency.New(e.DB, nil, bytes.Repeat([]byte{7}, 32), e.Clock.Now)
	require.NoError(t, err)
	require.NoError(t, answers.RemoveExpired(t.Context()))
	assert.Equal(t, 1, e.Count(t, "SELECT count(*) FROM kept_answers"))
	e.Clock.Advance(24 * time.Hour)
	require.NoError(t, answers.RemoveExpired(t.Context()))
	assert.Equal(t, 0, e.Count(t, "SELECT count(*) FROM kept_answers"))
}

// TestThrottledAnswerIsNotKept: a retry after the wait does the work.
func TestThrottledAnswerIsNotKept(t *testing.T) {
	t.Parallel()
	e := apitest.New(t)
	session, _ := e.SetUp(t)
	change := func(current string, options ...apitest.Option) *httptest.ResponseRecorder {
		body := contract.PasswordChange{CurrentPassword: current, NewPassword: "a new password"}
		return e.Do(t, http.MethodPost, "/v1/me/_actions/change-password", body, append(options, apitest.Cookie(session))...)
	}
	for range 6 { // one more than is free
		change("wrong password")
	}
	once := apitest.Header("Idempotency-Key", "one")
	require.Equal(t, http.StatusTooManyRequests, change(apitest.Password, once).Code)
	e.Clock.Advance(time.Minute)
	assert.Equal(t, http.StatusNoContent, change(apitest.Password, once).Code)
}
