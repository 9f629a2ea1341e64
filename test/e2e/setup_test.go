package e2e

import (
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/looptrace/looptrace/test/product"
)

// TestSetup takes the newcomer's path in the browser, from an empty data folder to the text of a failed run for an agent. It creates a
// further ingest key there, and an admin key over REST.
func TestSetup(t *testing.T) {
	t.Parallel()
	p := &project{product: product.Start(t), Account: &product.Account{Email: "ada@example.com", Password: "a lovelace of one's own"}}
	require.False(t, p.bootstrapped(t), "there is no account yet")

	var created struct {
		ProjectID string `json:"projectId"`
		Key       string `json:"key"`
		Clicks    int    `json:"clicks"`
		Fields    int    `json:"fields"`
	}
	p.play(t, "setup", map[string]any{"email": p.Email, "password": p.Password}, &created)
	t.Logf("newcomer: %d clicks, %d fields", created.Clicks, created.Fields)
	require.Regexp(t, `^lt_[0-9A-Za-z]{16}\.[0-9A-Za-z]{49}$`, created.Key)
	p.ProjectID, p.ingestKey = created.ProjectID, created.Key
	require.True(t, p.bootstrapped(t), "the first account exists")

	answer := p.do(t, http.MethodPost, "/v1/setup", nil, map[string]string{
		"email": "eve@example.com", "password": "let me in, please", "org_name": "Eve",
	})
	assert.Equal(t, http.StatusConflict, answer.Status, "setup works once: %s", answer.Body)

	p.adminKey = p.mint(t, p.login(t), "e2e admin", "admin").Key
	id := uuid.NewString()
	p.post(t, "", 1, 0, map[string]any{"runs": []any{map[string]any{"run_id": id, "name": "after setup", "start_time": time.Now()}}})
	p.awaitRun(t, id, ofSpans(1))
}

func (p *project) bootstrapped(t *testing.T) bool {
	t.Helper()
	answer := p.do(t, http.MethodGet, "/v1/setup", nil, nil)
	require.Equal(t, http.StatusOK, answer.Status, "%s", answer.Body)
	var state struct{ Bootstrapped bool }
	require.NoError(t, json.Unmarshal(answer.Body, &state))
	return state.Bootstrapped
}

// login opens a session and returns the header that carries it.
func (p *project) login(t *testing.T) http.Header {
	t.Helper()
	answer := p.do(t, http.MethodPost, "/v1/login", nil, map[string]string{"email": p.Email, "password": p.Password})
	require.Equal(t, http.StatusOK, answer.Status, "%s", answer.Body)
	cookies := (&http.Response{Header: answer.Header}).Cookies()
	require.Len(t, cookies, 1)
	return http.Header{"Cookie": {cookies[0].Name + "=" + cookies[0].Value}}
}
