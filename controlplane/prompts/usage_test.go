package prompts_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/controlplane/httpapi/apitest"
	"github.com/looptrace/looptrace/controlplane/httpapi/contract"
	"github.com/looptrace/looptrace/internal/runmodel"
	"github.com/looptrace/looptrace/test/engines"
)

// TestPromptUsage links runs to versions by what spans name, and by the text of the system message.
func TestPromptUsage(t *testing.T) {
	t.Parallel()
	address := engines.ClickHouse(t)
	e := apitest.NewOn(t, engines.Postgres(t), address)
	owner, project := e.SetUp(t)
	as := apitest.Cookie(owner)
	triage := e.CreatePrompt(t, as, project.Id, "triage", "You route tickets.", "You route {{product}} tickets.")
	// The same text twice in a project links nothing.
	e.CreatePrompt(t, as, project.Id, "a", "Be brief.")
	e.CreatePrompt(t, as, project.Id, "b", "Be brief.")

	now := time.Now().UTC().Add(-time.Minute).Truncate(time.Microsecond)
	run := func(change func(call *runmodel.Span)) uuid.UUID {
		spans := apitest.AgentRun(project.Id, now, "tool", "failed", func(*runmodel.Span) {})
		call := &spans[1]
		call.Kind = runmodel.KindLLM
		change(call)
		apitest.StoreSpans(t, address, spans)
		return spans[0].RunID
	}
	byName := run(func(call *runmodel.Span) { call.PromptName, call.PromptVersion = "triage", "2" })
	byID := run(func(call *runmodel.Span) { call.PromptID, call.PromptVersion = triage.Id.String(), "2" })
	unknown := run(func(call *runmodel.Span) { call.PromptName, call.PromptVersion = "triage", "9" })
	byText := run(func(call *runmodel.Span) { call.InstructionsTextID = runmodel.SystemTextID("You route tickets.") })
	run(func(call *runmodel.Span) { call.InstructionsTextID = runmodel.SystemTextID("Be brief.") })
	run(func(*runmodel.Span) {})

	usage := apitest.Must[contract.PromptUsage](t, e.Do(t, http.MethodGet, "/v1/prompts/"+triage.Id.String()+"/usage", nil, as), http.StatusOK)
	assert.Equal(t, int64(4), usage.Total.Count)
	type row struct {
		runs, linked int64
		exists       bool
	}
	rows := map[string]row{}
	for _, v := range usage.Versions {
		rows[*v.Version] = row{v.Totals.Count, v.LinkedByContent, v.Exists}
	}
	assert.Equal(t, map[string]row{"2": {2, 0, true}, "9": {1, 0, false}, "1": {1, 1, true}}, rows)
	for _, name := range []string{"a", "b"} {
		page := apitest.Must[contract.PromptPage](t, e.Do(t, http.MethodGet, "/v1/prompts?name="+name, nil, as), http.StatusOK)
		none := apitest.Must[contract.PromptUsage](t, e.Do(t, http.MethodGet, "/v1/prompts/"+page.Data[0].Id.String()+"/usage", nil, as), http.StatusOK)
		assert.Zero(t, none.Total.Count)
	}

	found := func(query string) (ids []uuid.UUID) {
		t.Helper()
		page := apitest.Must[contract.RunPage](t, e.Do(t, http.MethodGet, "/v1/runs?project_id="+project.Id.String()+query, nil, as), http.StatusOK)
		for _, r := range page.Data {
			ids = append(ids, r.RunId)
		}
		return ids
	}
	assert.ElementsMatch(t, []uuid.UUID{byName, unknown, byText}, found("&prompt_name=triage"))
	assert.ElementsMatch(t, []uuid.UUID{byText}, found("&prompt_name=triage&prompt_version=1"))
	assert.ElementsMatch(t, []uuid.UUID{byName}, found("&prompt_name=triage&prompt_version=2"))
	assert.ElementsMatch(t, []uuid.UUID{byID, byText}, found("&prompt_id="+triage.Id.String()))
	assert.Empty(t, found("&prompt_name=a"))

	read := apitest.Must[contract.Run](t, e.Do(t, http.MethodGet, "/v1/runs/"+byText.String(), nil, as), http.StatusOK)
	require.Len(t, read.Prompts, 1)
	assert.Equal(t, "triage", *read.Prompts[0].Name)
	assert.Equal(t, "1", *read.Prompts[0].Version)

	// A version with the text of another one takes the link from both.
	e.CreatePrompt(t, as, project.Id, "c", "You route tickets.")
	assert.Empty(t, found("&prompt_name=triage&prompt_version=1"))
	assert.Empty(t, apitest.Must[contract.Run](t, e.Do(t, http.MethodGet, "/v1/runs/"+byText.String(), nil, as), http.StatusOK).Prompts)
}
